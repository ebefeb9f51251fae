//! A plan that is passed where a snapshot is expected.

use std::fs;
use std::path::{Path, PathBuf};

use replank_facts::plan::{API_VERSION, KIND};
use replank_intake::snapshot::{Options, Snapshot};
use replank_intake::source::Source;
use replank_model::object::Object;

use crate::failure::Failure;

/// Bytes of a file that is looked into once more: a plan is small.
const PLAN_BYTES_MAX: u64 = 1 << 20;

/// The files among some sources. A directory may have a plan beside the manifests.
pub(crate) fn files(sources: &[Source]) -> Vec<PathBuf> {
    let file = |source: &Source| match source {
        Source::Path(path) => path.is_file().then(|| path.clone()),
        Source::Stdin | Source::Reader { .. } => None,
    };
    sources.iter().filter_map(file).collect()
}

/// Whether everything that was read is a plan, or what one of the files has: somebody left out `-f`.
///
/// # Errors
/// Where it is so.
pub(crate) fn refuse(snapshot: &Snapshot, files: &[PathBuf]) -> Result<(), Failure> {
    let plans = snapshot.summary.objects.get(&name_of_plans()).copied().unwrap_or(0);
    if plans == 0 {
        return Ok(());
    }
    if snapshot.summary.objects.len() == 1 {
        let name = match files {
            [only] => only.display().to_string(),
            [] | [_, ..] => "the input".to_owned(),
        };
        return Err(refusal(&name, &snapshot.objects[0], files.first().map(PathBuf::as_path)));
    }
    let found = files.iter().find_map(|file| Some((file, alone(file)?)));
    found.map_or(Ok(()), |(file, plan)| Err(refusal(&file.display().to_string(), &plan, Some(file))))
}

/// The plan of a file that has nothing else.
fn alone(file: &Path) -> Option<Object> {
    let is_small = fs::metadata(file).is_ok_and(|about| about.len() <= PLAN_BYTES_MAX);
    let read = is_small.then(|| Snapshot::load(vec![Source::Path(file.to_owned())], &Options::default()));
    let mut read = read?.ok()?;
    let is_alone = read.summary.objects.keys().eq([&name_of_plans()]);
    is_alone.then(|| read.objects.swap_remove(0))
}

/// What the summary of a snapshot calls plans.
fn name_of_plans() -> String {
    let group = API_VERSION.split_once('/').map_or(API_VERSION, |(group, _)| group);
    format!("{KIND}.{group}")
}

fn refusal(name: &str, plan: &Object, file: Option<&Path>) -> Failure {
    let passed = file.map_or("plan.yaml".to_owned(), |file| file.display().to_string());
    Failure::usage_message(format!(
        "{name} is a plan ({KIND} {}), not a snapshot of a cluster",
        plan.meta().name
    ))
    .next(format!(
        "pass the plan with -f, beside the snapshot: replank rehearse cluster.json -f {passed} (check takes -f, too)"
    ))
}
