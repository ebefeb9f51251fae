//! What was rendered from what is not plain manifests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use replank_lifecycle::scan::Report;

/// What a directory is to a renderer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Chart,
    Kustomization,
}

/// The outcome for one directory.
pub(super) struct Rendered {
    pub(super) directory: PathBuf,
    pub(super) of: Of,
    /// Its findings, at lines of what was printed.
    pub(super) report: Report,
    /// Whether all that was printed can be read.
    pub(super) is_whole: bool,
    /// Lines of what was printed that say which template comes next.
    pub(super) sources: Vec<(u32, String)>,
    /// Kinds of objects that were printed, each with its template.
    pub(super) kinds: BTreeSet<(String, String)>,
}

impl Rendered {
    /// Whether an object of such a kind came of a template: its path within the chart.
    pub(super) fn has(&self, template: &str, kind: &str) -> bool {
        self.kinds.contains(&(template.to_owned(), kind.to_owned()))
    }

    /// The template that a line of what was printed comes from. The chart's name comes first.
    pub(super) fn source_at(&self, line: u32) -> Option<&str> {
        let before = self.sources.partition_point(|(of, _)| *of <= line);
        before.checked_sub(1).map(|last| &*self.sources[last].1)
    }
}

/// What was rendered on a walk.
pub(in crate::scan) struct AllRendered {
    pub(super) all: Vec<Rendered>,
    pub(in crate::scan) failures: Vec<RenderFailure>,
}

/// What could not be rendered; its files are scanned as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scan) struct RenderFailure {
    /// The file that makes the directory a chart or a kustomization.
    pub(in crate::scan) path: String,
    pub(in crate::scan) why: String,
}

/// What messages call a path, as the walk does.
pub(super) fn name_of(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).to_string_lossy().into_owned()
}

/// The file that makes a directory what it is.
pub(super) fn head_of(directory: &Path, of: Of) -> String {
    let names: &[&str] = match of {
        Of::Chart => &["Chart.yaml"],
        Of::Kustomization => &["kustomization.yaml", "kustomization.yml", "Kustomization"],
    };
    let name = names.iter().find(|name| directory.join(name).exists()).unwrap_or(&names[0]);
    name_of(&directory.join(name))
}
