//! The rehearsal before a run: of its plan, on the cluster as it is now.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use replank_facts::coverage::Question;
use replank_facts::plan::Plan;
use replank_journal::Entry;
use replank_live::aws::Aws;
use replank_model::text::RunId;
use replank_model::time::Time;
use replank_model::view::View;

use super::args::{AwsArgs, BesidesArgs};
use super::besides::scaler;
use super::cloud::{Cloud, connect};
use super::course::Course;
use super::fits::{fits, unhealthy_of};
use super::landing::{IfMissing, Missing};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::LiveArgs;
use crate::printer::Printer;
use crate::rehearse::{Scene, rehearse_once, rolled};
use crate::releases::{are_wanted, ways_back};
use crate::report::{self, About, Timeline};
use crate::snapshot::{self, Origin, ReadArgs};

/// What the rehearsal came to.
pub(super) struct Rehearsed {
    pub(super) exit: Exit,
    /// The report, in short.
    pub(super) report: String,
    pub(super) course: Course,
    pub(super) view: View,
    pub(super) scene: Box<Scene>,
    /// The cloud behind the nodes, where Replank replaces them itself.
    pub(super) cloud: Option<Arc<Aws>>,
    /// The group that nodes move into, where it is to be made first.
    pub(super) missing: Option<Missing>,
    /// What is said of it where the run does not come to its end.
    pub(super) stays: Option<String>,
}

impl Rehearsed {
    /// What happens is compared with a rehearsal that came to its end, and with no other.
    pub(super) fn compared_with(self, printer: &mut Printer) -> Option<Self> {
        if matches!(self.exit, Exit::Passes | Exit::Findings | Exit::Incomplete) {
            return Some(self);
        }
        printer.warning(
            "a rehearsal of what is left does not come to an end: what happens is not compared with it",
        );
        None
    }
}

/// What a cluster is read from, and what is done on it besides the run.
pub(super) type ReadFrom<'a> = (&'a LiveArgs, &'a ReadArgs, &'a AwsArgs, &'a BesidesArgs);

/// Rehearses a plan on a live cluster; with a run that was begun, what is left of it.
///
/// # Errors
/// Where the cluster cannot be read.
pub(super) fn rehearse(
    from: ReadFrom<'_>,
    (plan, if_missing): (Plan, IfMissing),
    begun: Option<(RunId, Time)>,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Rehearsed, Failure> {
    let (mut scene, cloud) = scene(from, (plan, if_missing), printer)?;
    if let Some(cloud) = &cloud {
        fits(&scene.plan, &scene.facts, &cloud.meant)?;
        unhealthy_of(&scene.facts, &cloud.meant).iter().for_each(|why| printer.warning(why));
        cloud.tell_adopted(begun.as_ref().map(|(_, since)| *since), printer);
        // Of one that was begun, groups have what the run gave them.
        if begun.is_none() {
            are_wanted(&scene.plan, &cloud.meant)?;
            let back = ways_back(&scene.plan, &scene.groups, &rolled(&scene));
            back.iter().for_each(|way| printer.story(way));
        }
    }
    let (cloud, missing, stays) = match cloud {
        Some(Cloud { aws, missing, stays, .. }) => (Some(aws), missing, stays),
        None => (None, None, None),
    };
    scene.begun = begun;
    let course = Rc::new(RefCell::new(Course::of(&scene.view)));
    let sink = {
        let course = course.clone();
        Box::new(move |entry: &Entry| course.borrow_mut().take(entry))
    };
    let (rehearsed, _) = rehearse_once(&scene, 1, None, Some(sink), interrupt);
    let about = About {
        plan: &scene.plan.name,
        snapshot: &scene.name,
        stop: rehearsed.stop,
        timeline: Timeline::Shown,
        spread: None,
    };
    let report = report::short(&rehearsed.result, &about, printer.look());
    let exit = if interrupt.is_pressed() { Exit::Interrupted } else { Exit::of(rehearsed.result.verdict) };
    let course = course.borrow().clone();
    Ok(Rehearsed {
        exit,
        report,
        course,
        view: scene.view.clone(),
        scene: Box::new(scene),
        cloud,
        missing,
        stays,
    })
}

/// The cluster as it is now, with what stands behind its nodes; and the cloud, where Replank replaces them itself.
///
/// # Errors
/// Where the cluster or the account cannot be read.
pub(super) fn scene(
    (live, read, aws, besides): ReadFrom<'_>,
    (plan, if_missing): (Plan, IfMissing),
    printer: &mut Printer,
) -> Result<(Scene, Option<Cloud>), Failure> {
    let Some(origin) = Origin::of(&[], live)? else {
        return Err(Failure::usage_message("no live cluster to roll").next("pass --context or --kubeconfig"));
    };
    let input = origin.read(printer)?;
    let mut cluster = snapshot::read_at(input.sources, read, None, Question::Roll, printer)?;
    cluster.coverage = coverage::of_plan(cluster.coverage, &plan, &read.allowed());
    let mut scene = Scene::new(input.name, cluster, plan, &read.group_label)?;
    let cloud = connect(&mut scene, (aws, if_missing), printer)?;
    if let Some(flags) = &besides.autoscale {
        scaler(&mut scene, cloud.as_ref(), flags, printer)?;
    }
    Ok((scene, cloud))
}
