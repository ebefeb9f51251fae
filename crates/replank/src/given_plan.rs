//! A plan that is passed where a snapshot is expected.

use std::path::{Path, PathBuf};

use replank_facts::plan::{API_VERSION, KIND};
use replank_intake::snapshot::Snapshot;
use replank_intake::source::Source;
use replank_model::object::Object;

use crate::failure::Failure;

/// What the reader calls standard input.
const STDIN: &str = "<stdin>";

/// What somebody passed as a snapshot, as far as a plan may be passed so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// A file.
    File(PathBuf),
    /// A directory, which may have a plan beside the manifests.
    Directory(PathBuf),
    /// Standard input.
    Stdin,
}

/// What was passed, among some sources.
pub(crate) fn passed(sources: &[Source]) -> Vec<Passed> {
    let passed = |source: &Source| match source {
        Source::Path(path) if path.is_dir() => Some(Passed::Directory(path.clone())),
        Source::Path(path) => Some(Passed::File(path.clone())),
        Source::Stdin => Some(Passed::Stdin),
        Source::Reader { .. } => None,
    };
    sources.iter().filter_map(passed).collect()
}

/// Refuses what has nothing but a plan: somebody left out `-f`. The snapshot has the places of its objects.
///
/// # Errors
/// Where it is so.
pub(crate) fn refuse(snapshot: &Snapshot, passed: &[Passed]) -> Result<(), Failure> {
    let group = API_VERSION.split_once('/').map_or(API_VERSION, |(group, _)| group);
    if !snapshot.summary.objects.contains_key(&format!("{KIND}.{group}")) {
        return Ok(());
    }
    for one in passed {
        let read = snapshot.objects.iter().zip(&snapshot.places);
        let own: Vec<_> = read.filter(|(_, place)| one.has(&place.source)).collect();
        let Some((plan, place)) = own.first().filter(|_| own.iter().all(|(object, _)| is_plan(object)))
        else {
            continue;
        };
        let is = match one {
            Passed::File(path) => format!("{} is a plan", path.display()),
            Passed::Directory(path) => format!("directory {} has only a plan", path.display()),
            Passed::Stdin => "standard input is a plan".to_owned(),
        };
        let file = if *place.source == *STDIN { "-" } else { &place.source };
        let error = format!("{is} ({KIND} {}), not a snapshot of a cluster", plan.meta().name);
        return Err(Failure::usage_message(error).next(format!(
            "rehearse and check take a plan with -f, beside the snapshot: replank rehearse cluster.json -f {file}; other commands that read a snapshot take none"
        )));
    }
    Ok(())
}

/// Whether an object is a plan.
fn is_plan(object: &Object) -> bool {
    let group = |version: &str| version.split_once('/').map(|(group, _)| group.to_owned());
    object.kind_name() == KIND && group(object.api_version()) == group(API_VERSION)
}

impl Passed {
    /// Whether what the reader calls so is it, or in it.
    fn has(&self, source: &str) -> bool {
        match self {
            Self::File(path) => path.display().to_string() == source,
            Self::Directory(path) => Path::new(source).starts_with(path),
            Self::Stdin => source == STDIN,
        }
    }
}
