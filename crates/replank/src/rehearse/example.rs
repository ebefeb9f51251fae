//! The bundled example: what is rehearsed when nothing was named.

use replank_facts::coverage::Question;
use replank_intake::source::Source;
use replank_model::time::Time;

use super::{Scene, plan};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::snapshot::{self, ReadArgs};

const SNAPSHOT: &str = include_str!("../../../../examples/job-site/snapshot.yaml");
const PLAN: &str = include_str!("../../../../examples/job-site/plan.yaml");
/// What it is and what to look at.
const STORY: &str = include_str!("../../../../examples/job-site/story.txt");

/// The example's cluster and plan, after a word about it.
pub(crate) fn scene(now: Option<Time>, read: &ReadArgs, printer: &mut Printer) -> Result<Scene, Failure> {
    printer.story(STORY);
    let source = Source::bytes("examples/job-site/snapshot.yaml", SNAPSHOT);
    let cluster = snapshot::read_at(vec![source], read, now, Question::Roll, printer)?;
    let plan =
        plan::from_source(Source::bytes("examples/job-site/plan.yaml", PLAN), "examples/job-site/plan.yaml")?;
    printer.story("");
    Scene::new("the bundled example".to_owned(), cluster, plan, &read.group_label)
}
