//! The bundled example: what is rehearsed when nothing was named.

use replank_intake::source::Source;

use super::{Scene, plan};
use crate::cli::RehearseArgs;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::snapshot;

const SNAPSHOT: &str = include_str!("../../../../examples/job-site/snapshot.yaml");
const PLAN: &str = include_str!("../../../../examples/job-site/plan.yaml");
/// What it is and what to look at.
const STORY: &str = include_str!("../../../../examples/job-site/story.txt");

/// The example's cluster and plan, after a word about it.
pub(super) fn scene(args: &RehearseArgs, printer: &mut Printer) -> Result<Scene, Failure> {
    printer.story(STORY);
    let source = Source::bytes("examples/job-site/snapshot.yaml", SNAPSHOT);
    let cluster = snapshot::read_at(vec![source], &args.read, args.now, printer)?;
    let plan =
        plan::from_source(Source::bytes("examples/job-site/plan.yaml", PLAN), "examples/job-site/plan.yaml")?;
    printer.story("");
    Scene::new("the bundled example".to_owned(), cluster, plan, &args.read.group_label)
}
