//! Which files a fix may write, and which it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use replank_lifecycle::files::File;
use replank_lifecycle::finding::Finding;
use replank_lifecycle::fix::Head;
use replank_lifecycle::fix::kustomize::{Scanned, has_kustomization};

use super::args::ScanArgs;

/// Directories that were named, and those of files that were.
#[derive(Clone)]
pub(super) struct Roots(Vec<PathBuf>);

impl Roots {
    pub(super) fn new(args: &ScanArgs) -> Self {
        let root = |path: &PathBuf| if path.is_dir() { real(path) } else { parent(path) };
        Self(match &args.paths[..] {
            [] => vec![real(Path::new("."))],
            paths => paths.iter().map(root).collect(),
        })
    }

    /// Why a file is not written, though it is to be changed: it is a link that leads out of the tree.
    pub(super) fn refuses(&self, file: &File) -> Option<String> {
        let real = &file.real;
        let out = || format!("it is a link to {}, outside of what was named", real.display());
        (!self.hold(real)).then(out)
    }

    /// Whether a real path is below one of them.
    fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// Whether there may be kustomizations: those that were found, or one beside a file that was named.
    pub(super) fn have_kustomizations(&self, found: &[PathBuf]) -> bool {
        !found.is_empty() || self.0.iter().any(|root| has_kustomization(root))
    }
}

/// What is known of the files that were scanned, by their real paths.
pub(super) struct WrittenTree {
    roots: Roots,
    /// Their objects, where kustomizations may ask for them.
    heads: BTreeMap<PathBuf, Vec<Head>>,
    scanned: BTreeSet<PathBuf>,
    concerned: BTreeSet<PathBuf>,
    /// Lines that an exception lets be.
    let_be: BTreeMap<PathBuf, BTreeSet<u32>>,
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl WrittenTree {
    pub(super) fn new<W>(
        roots: Roots,
        files: &[File],
        heads: Vec<(PathBuf, Vec<Head>)>,
        findings: &[Finding],
        waived: &[(Finding, W)],
    ) -> Self {
        let by_name: BTreeMap<&str, PathBuf> =
            files.iter().map(|file| (&*file.name, file.real.clone())).collect();
        let of = |finding: &Finding| by_name.get(&*finding.place.source).cloned();
        let mut let_be: BTreeMap<PathBuf, BTreeSet<u32>> = BTreeMap::new();
        for (finding, _) in waived {
            if let Some(path) = of(finding) {
                let_be.entry(path).or_default().insert(finding.place.line);
            }
        }
        let concerned = findings.iter().filter_map(of).collect();
        let heads = heads.into_iter().collect();
        Self { roots, heads, concerned, let_be, scanned: by_name.into_values().collect() }
    }

    /// Kustomizations that may be concerned: those that were found, and those beside files.
    pub(super) fn kustomizations(&self, found: Vec<PathBuf>) -> Vec<PathBuf> {
        let beside = self.concerned.iter().map(|path| parent(path)).filter(|path| has_kustomization(path));
        found.into_iter().map(|path| real(&path)).chain(beside).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// The real directory of a path, whatever the path itself leads to.
fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    real(parent.unwrap_or(Path::new(".")))
}

impl Scanned for WrittenTree {
    fn is_concerned(&self, path: &Path) -> bool {
        self.concerned.contains(path)
    }

    fn is_written(&self, path: &Path) -> bool {
        self.scanned.contains(path) && self.roots.hold(path)
    }

    fn heads(&self, path: &Path) -> Option<&[Head]> {
        self.heads.get(path).map(Vec::as_slice)
    }

    fn lets_be(&self, path: &Path, line: u32) -> bool {
        self.let_be.get(path).is_some_and(|lines| lines.contains(&line))
    }
}
