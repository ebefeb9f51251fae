//! The files below what was named.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::File;
use super::gitignore::{Rules, Said};
use crate::scan::{Hint, TEMPLATE_ENDINGS, Values};
use crate::source::{Place, Unread};

/// Levels of directories: deeper trees are build output or a mistake.
const DEPTH_MAX: usize = 64;

/// Why there is nothing to scan.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// What was named is not there.
    #[error("{} cannot be read", .path.display())]
    Named {
        /// What was named.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What is below what was named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Files to scan, sorted by path within each of what was named.
    pub files: Vec<File>,
    /// Paths that `.gitignore` leaves out.
    pub left_out: u64,
    /// Directories with a chart.
    pub charts: Vec<PathBuf>,
    /// Directories with a kustomization.
    pub kustomizations: Vec<PathBuf>,
    /// Directories that cannot be read, and what is no regular file.
    pub unread: Vec<Unread>,
}

/// Whether `.gitignore` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignore {
    /// It does.
    Git,
    /// Everything is scanned.
    Nothing,
}

/// Finds the files below paths. What was named itself is scanned whatever its name.
///
/// # Errors
/// Where something that was named is not there.
pub fn walk(paths: &[PathBuf], ignore: Ignore) -> Result<Walk, WalkError> {
    let mut walker = Walker { walk: Walk::default(), seen: BTreeSet::new(), ignore };
    for path in paths {
        let named = |source| WalkError::Named { path: path.clone(), source };
        if fs::metadata(path).map_err(named)?.is_dir() {
            fs::read_dir(path).map_err(named)?;
            let real = fs::canonicalize(path).map_err(named)?;
            let rules = if ignore == Ignore::Git { of_parents(&real) } else { Vec::new() };
            walker.directory(path, &real, &rules, &in_chart(path), 0);
        } else {
            walker.file(path, in_chart(path.parent().unwrap_or(path)));
        }
    }
    Ok(walker.walk)
}

struct Walker {
    walk: Walk,
    /// What was taken in, by its real path: links may lead there twice.
    seen: BTreeSet<PathBuf>,
    ignore: Ignore,
}

/// Rules and the real directory they are about.
type Ruled = (PathBuf, Arc<Rules>);

impl Walker {
    fn file(&mut self, path: &Path, hint: Hint) {
        if let Some(real) = self.taken_in(path) {
            let name = path.strip_prefix(".").unwrap_or(path).to_string_lossy().into();
            self.walk.files.push(File { path: path.to_owned(), real, name, hint });
        }
    }

    /// The real path of what was not taken in before.
    fn taken_in(&mut self, path: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.seen.insert(real.clone()).then_some(real)
    }

    /// `real` is the directory by the names that rules are about.
    fn directory(&mut self, path: &Path, real: &Path, rules: &[Ruled], hint: &Hint, depth: usize) {
        if depth > DEPTH_MAX || self.taken_in(path).is_none() {
            return;
        }
        let entries = match entries(path) {
            Ok(entries) => entries,
            Err(error) => {
                let place = Place { source: path.to_string_lossy().into(), line: 1, column: 1 };
                self.walk.unread.push(Unread { place, why: error.to_string() });
                return;
            }
        };
        let mut rules = rules.to_vec();
        if self.ignore == Ignore::Git {
            rules.extend(rules_in(real, ".gitignore"));
        }
        let has = |name: &str| entries.iter().any(|(entry, _)| entry == name);
        let is_chart = has("Chart.yaml");
        if is_chart {
            self.walk.charts.push(path.to_owned());
        }
        let of_templates = if is_chart { of_chart(path) } else { Hint { in_chart: true, ..hint.clone() } };
        if has("kustomization.yaml") || has("kustomization.yml") || has("Kustomization") {
            self.walk.kustomizations.push(path.to_owned());
        }
        for (name, entry_kind) in entries {
            let is_directory = entry_kind == Entry::Directory;
            let entry = path.join(&name);
            if matches!(&*name, ".git" | ".hg" | ".svn") {
                continue;
            }
            let is_read = is_directory || is_manifest(&name, hint.in_chart) || is_packed_chart(path, &name);
            if !is_read {
                continue;
            }
            if is_left_out(&rules, &real.join(&name), is_directory) {
                self.walk.left_out += 1;
            } else if entry_kind == Entry::Other {
                // Whoever reads a pipe waits until somebody writes.
                let place = Place { source: entry.to_string_lossy().into(), line: 1, column: 1 };
                self.walk.unread.push(Unread { place, why: "it is not a regular file".to_owned() });
            } else if is_directory {
                let is_of_templates = is_chart && name == "templates";
                let hint = if is_of_templates { &of_templates } else { hint };
                self.directory(&entry, &real.join(&name), &rules, hint, depth + 1);
            } else if is_packed_chart(path, &name) {
                // Rendered with the chart that it is part of, as templates are.
                self.file(&entry, of_templates.clone());
            } else {
                self.file(&entry, hint.clone());
            }
        }
    }
}

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Directory,
    File,
    /// A pipe, socket or device.
    Other,
}

/// Names in a directory, sorted, and what each is.
fn entries(path: &Path) -> io::Result<Vec<(String, Entry)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // A link that leads nowhere is not a file.
        let Ok(metadata) = fs::metadata(entry.path()) else { continue };
        let kind = match (metadata.is_dir(), metadata.is_file()) {
            (true, _) => Entry::Directory,
            (false, true) => Entry::File,
            (false, false) => Entry::Other,
        };
        entries.push((entry.file_name().to_string_lossy().into_owned(), kind));
    }
    entries.sort();
    Ok(entries)
}

fn is_left_out(rules: &[Ruled], path: &Path, is_directory: bool) -> bool {
    // The rules nearest to the path count first.
    let said = rules.iter().rev().find_map(|(directory, rules)| {
        let relative = path.strip_prefix(directory).ok()?;
        rules.say(relative, is_directory)
    });
    said == Some(Said::LeftOut)
}

fn rules_in(directory: &Path, file: &str) -> Option<Ruled> {
    let text = fs::read(directory.join(file)).ok()?;
    Some((directory.to_owned(), Arc::new(Rules::read(&String::from_utf8_lossy(&text)))))
}

/// The rules of the directories above, up to the root of the repository that a path is in.
fn of_parents(real: &Path) -> Vec<Ruled> {
    let Some(root) = real.ancestors().find(|above| above.join(".git").exists()) else { return Vec::new() };
    let mut rules: Vec<Ruled> = Vec::new();
    let mut below: Vec<PathBuf> =
        real.ancestors().take_while(|above| *above != root).map(Path::to_owned).collect();
    below.push(root.to_owned());
    for directory in below.into_iter().rev() {
        let exclude = (directory == root).then(|| rules_in(&directory, ".git/info/exclude")).flatten();
        let own = (*directory != *real).then(|| rules_in(&directory, ".gitignore")).flatten();
        rules.extend(exclude.into_iter().chain(own));
    }
    rules
}

/// What is known of files in a directory: whether it is among the templates of a chart.
fn in_chart(path: &Path) -> Hint {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let templates =
        real.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "templates"));
    let chart = templates.filter_map(Path::parent).find(|chart| chart.join("Chart.yaml").exists());
    chart.map(of_chart).unwrap_or_default()
}

/// What is known of the templates of a chart.
fn of_chart(chart: &Path) -> Hint {
    let values = fs::read_to_string(chart.join("values.yaml"));
    let values = values.map(|text| Values::read(&text)).unwrap_or_default();
    Hint { rendered_by: None, in_chart: true, values: Arc::new(values) }
}

pub(super) fn is_manifest(name: &str, in_chart: bool) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let Some((stem, ending)) = name.rsplit_once('.') else { return name == "Kustomization" };
    match ending {
        "yaml" | "yml" | "json" | "ndjson" | "jsonl" => true,
        // `deployment.yaml.tmpl`
        _ if TEMPLATE_ENDINGS.contains(&ending) => {
            in_chart || stem.ends_with(".yaml") || stem.ends_with(".yml")
        }
        _ => false,
    }
}

fn is_packed_chart(directory: &Path, name: &str) -> bool {
    name.ends_with(".tgz") && directory.file_name().is_some_and(|directory| directory == "charts")
}
