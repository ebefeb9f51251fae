//! From a scene to results: core in charge of the simulated cluster.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::time::Instant;

use replank_advice::check::Finding;
use replank_core::{Core, interrupt, nodes_to_replace};
use replank_facts::groups::{GroupBy, group_of};
use replank_facts::plan::RunOptions;
use replank_facts::plan::{BlockingFindings, ChosenBy, Plan, Target};
use replank_journal::{Recorded, Sink};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::text::GroupName;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::engine::Engine;
use replank_protocol::limits::run_named;
use replank_rehearse::proof::Ground;
use replank_rehearse::{Actor, FindingEntry, Progress, Rehearsal, RehearsalResult, Setup, Stop, Verdict};
use replank_sim::{Durations, KubeletModel, Settings};

use super::Scene;
use super::args::Require;
use super::ordered;
use crate::check::{self, Found};
use crate::interrupt::Interrupt;
use crate::progress::Meter;

/// One rehearsal that is over.
pub(crate) struct Rehearsed {
    /// The outcome.
    pub(crate) result: RehearsalResult,
    /// Why it stopped.
    pub(crate) stop: Stop,
}

/// Pods of all clusters that are rehearsed side by side, unless two hold more: some 3 GB.
const PODS_MAX: usize = 300_000;

/// What all rehearsals of a scene have in common, found once.
struct Prepared<'a> {
    scene: &'a Scene,
    rolled: BTreeSet<GroupName>,
    durations: Arc<Durations>,
    findings: Vec<FindingEntry>,
    limit: Span,
}

/// Rehearses as Replank does, and looks on for a while: what it came to, and the rehearsal.
pub(super) fn as_replank(
    scene: &Scene,
    seed: u64,
    limit: Option<Span>,
    interrupt: &Interrupt,
) -> (Rehearsed, Rehearsal) {
    let meter = Meter::of_nodes();
    let prepared = Prepared::of(scene, limit, Remedies::Untried);
    let stage = prepared.stage(seed, None);
    prepared.play(stage, &|| interrupt.is_pressed(), &mut |progress| meter.show(progress))
}

/// Lets somebody else replace the nodes; the rehearsal, why it stopped, and when it was over.
pub(super) fn as_other(
    scene: &Scene,
    actor: &mut dyn Actor,
    seed: u64,
    limit: Option<Span>,
    interrupt: &Interrupt,
) -> (Rehearsal, Stop, Time) {
    let meter = Meter::of_nodes();
    let prepared = Prepared::of(scene, limit, Remedies::Unasked);
    // Whoever scales nodes or handles interruptions does so in each of the ways.
    let idle = Plan::of_groups(scene.plan.name.clone(), Vec::new(), Target::default());
    let mut rehearsal = prepared.stage_with(seed, None, &idle);
    let (stop, over) = rehearsal.play_by(actor, &scene.script, prepared.limit, &mut |progress| {
        meter.show(progress);
        if interrupt.is_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (rehearsal, stop, over)
}

/// What is done about the remedies of what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedies {
    /// They are proved: somebody reads them.
    Proved,
    /// They are left as they are.
    Untried,
    /// Nothing is looked for.
    Unasked,
}

impl Remedies {
    /// What is found on the ground of a scene; proofs are cut short once `is_over`, and do not count then.
    fn findings(self, scene: &Scene, ground: Ground, is_over: &dyn Fn() -> bool) -> Vec<FindingEntry> {
        match self {
            Self::Proved => {
                let stops = |ground: &Ground| stops_until(scene, ground, is_over);
                let found = Found::proved(ground, &scene.group_by, &stops);
                let found = found.with(&scene.group_by, &scene.besides);
                match is_over() {
                    true => untried(scene, &found.findings),
                    false => found.entries(&scene.coverage),
                }
            }
            Self::Untried => {
                let mut found = check::find(&ground, &scene.group_by);
                found.retain(|one| !scene.besides.stands_for(one));
                found.extend(scene.besides.find(&ground, &scene.group_by));
                Finding::sort(&mut found);
                untried(scene, &found)
            }
            Self::Unasked => Vec::new(),
        }
    }
}

fn untried(scene: &Scene, found: &[Finding]) -> Vec<FindingEntry> {
    let entry = |finding: &Finding| {
        FindingEntry::untried(finding.rule.id(), finding).seeing(&scene.coverage, finding.rule.reads())
    };
    found.iter().map(entry).collect()
}

/// What stops the roll of a scene on another ground.
pub(crate) fn stops(scene: &Scene, ground: &Ground) -> BTreeSet<String> {
    stops_until(scene, ground, &|| false)
}

/// The same, cut short once `is_over`.
fn stops_until(scene: &Scene, ground: &Ground, is_over: &dyn Fn() -> bool) -> BTreeSet<String> {
    let mut plan = ground.plan.clone().unwrap_or_else(|| scene.plan.clone());
    // Whatever is found: it is the roll itself that is asked.
    plan.care.blocking_findings = BlockingFindings::Proceed;
    let scene = Scene {
        view: ground.view.clone(),
        groups: ground.groups.clone(),
        facts: ground.facts.clone(),
        now: ground.now,
        plan,
        loads: Vec::new(),
        demands: Vec::new(),
        until: None,
        ..scene.clone()
    };
    let prepared = Prepared::of(&scene, None, Remedies::Unasked);
    let mut rehearsal = prepared.stage(1, None);
    let stop = rehearsal.play(&scene.script, prepared.limit, &mut |_| {
        if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let result = rehearsal.result(Vec::new(), stop, 0);
    match result.verdict {
        // Causes are of runs that have begun.
        Verdict::Refused => result.blockers.into_iter().map(|blocker| blocker.what).collect(),
        Verdict::Passes | Verdict::Findings | Verdict::Partial | Verdict::Incomplete | Verdict::Blocked => {
            result.causes.into_iter().flat_map(|cause| cause.related).collect()
        }
    }
}

/// What stops a roll of all groups, as if they were replaced by identical nodes.
pub(crate) fn stops_of_all(ground: &Ground, by: &GroupBy) -> BTreeSet<String> {
    let names: Vec<GroupName> = ground.groups.iter().map(|learnt| learnt.group.name.clone()).collect();
    let plan = Plan::of_groups("check", names, Target::default());
    let scene = Scene::on(ground.clone(), plan, by.clone());
    stops(&scene, ground)
}

/// Rehearses once: what it came to, and the rehearsal.
pub(crate) fn one(
    scene: &Scene,
    seed: u64,
    limit: Option<Span>,
    journal: Option<Sink<'static>>,
    interrupt: &Interrupt,
) -> (Rehearsed, Rehearsal) {
    checked(scene, scene.ground(), interrupt, || stage(scene, seed, limit, journal))
}

/// The same, and the scene has no cluster from then on: held there as well as in the world, each pod as it was would stay for as long as the rehearsal takes.
pub(super) fn one_and_leave(
    scene: &mut Scene,
    seed: u64,
    limit: Option<Span>,
    journal: Option<Sink<'static>>,
    interrupt: &Interrupt,
) -> (Rehearsed, Rehearsal) {
    let ground = scene.ground();
    let view = std::mem::take(&mut scene.view);
    let beside = scene.clone();
    scene.view = view;
    checked(&beside, ground, interrupt, || {
        let staged = stage(scene, seed, limit, journal);
        scene.view = View::default();
        staged
    })
}

/// A rehearsal that has not begun, and how long it may take.
type Staged = (Rehearsal, Span);

fn stage(scene: &Scene, seed: u64, limit: Option<Span>, journal: Option<Sink<'static>>) -> Staged {
    let prepared = Prepared::of(scene, limit, Remedies::Unasked);
    (prepared.stage(seed, journal), prepared.limit)
}

/// Checks a cluster beside its rehearsal: neither needs anything of the other. Of the scene all but the cluster is looked at.
fn checked(
    scene: &Scene,
    ground: Ground,
    interrupt: &Interrupt,
    stage: impl FnOnce() -> Staged,
) -> (Rehearsed, Rehearsal) {
    interrupt.hold();
    let meter = Meter::of_nodes();
    std::thread::scope(|scope| {
        let checked =
            scope.spawn(move || Remedies::Proved.findings(scene, ground, &|| interrupt.is_pressed()));
        let (mut rehearsal, limit) = stage();
        let is_over = || interrupt.is_pressed();
        let (stop, wall_ms) =
            run_out(scene, &mut rehearsal, limit, &is_over, &mut |progress| meter.show(progress));
        let findings = checked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (Rehearsed { result: result_of(scene, &rehearsal, findings, stop, wall_ms), stop }, rehearsal)
    })
}

/// Rehearses once; the result, and everything there is when it is over.
pub(super) fn one_and_after(
    scene: &Scene,
    seed: u64,
    interrupt: &Interrupt,
) -> (RehearsalResult, Vec<Object>) {
    interrupt.hold();
    let meter = Meter::of_nodes();
    let prepared = Prepared::of(scene, None, Remedies::Untried);
    let stage = prepared.stage(seed, None);
    let (rehearsed, rehearsal) =
        prepared.play(stage, &|| interrupt.is_pressed(), &mut |progress| meter.show(progress));
    (rehearsed.result, rehearsal.world().view().objects())
}

/// Rehearses with one seed as [`many`] do.
pub(super) fn one_of_many(
    scene: &Scene,
    seed: u64,
    limit: Option<Span>,
    remedies: Remedies,
    interrupt: &Interrupt,
) -> RehearsalResult {
    let prepared = Prepared::of(scene, limit, remedies);
    prepared.play(prepared.stage(seed, None), &|| interrupt.is_pressed(), &mut |_| {}).0.result
}

/// Results that may wait for that of a slower seed, for each thread: some megabytes each on a large cluster.
const AHEAD: u64 = 4;

/// Rehearses with each of some seeds, and hands each result on in the order of seeds as soon as it is there: what is not kept takes no memory. After Ctrl-C, and once `take`
/// wants no more, those that are not over are left out.
pub(super) fn many(
    scene: &Scene,
    seeds: RangeInclusive<u64>,
    limit: Option<Span>,
    remedies: Remedies,
    interrupt: &Interrupt,
    take: impl FnMut(RehearsalResult) -> ControlFlow<()> + Send,
) {
    interrupt.hold();
    let number = (*seeds.end() + 1).saturating_sub(*seeds.start());
    let meter = Meter::of_seeds(number);
    let prepared = Prepared::of(scene, limit, remedies);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads(cores, scene.view.pods.len(), number);
    let work = |seed: u64, is_over: &dyn Fn() -> bool| {
        let (rehearsed, _) = prepared.play(prepared.stage(seed, None), is_over, &mut |_| {});
        if rehearsed.stop == Stop::Interrupted {
            return None;
        }
        meter.step_and_estimate();
        Some(rehearsed.result)
    };
    let room = AHEAD * threads as u64;
    ordered::each(seeds, (threads, room), &|| interrupt.is_pressed(), &work, take);
}

/// Rehearsals side by side: each holds a whole cluster.
fn threads(cores: usize, pods: usize, seeds: u64) -> usize {
    let fit = (PODS_MAX / pods.max(1)).max(2);
    cores.min(fit).min(usize::try_from(seeds).unwrap_or(usize::MAX)).max(1)
}

impl<'a> Prepared<'a> {
    fn of(scene: &'a Scene, limit: Option<Span>, remedies: Remedies) -> Self {
        Self {
            scene,
            rolled: rolled(scene),
            durations: Arc::new(Durations::learn(&scene.view, scene.now)),
            findings: match remedies {
                Remedies::Unasked => Vec::new(),
                Remedies::Proved | Remedies::Untried => remedies.findings(scene, scene.ground(), &|| false),
            },
            limit: limit.unwrap_or_else(|| usual_limit(scene)),
        }
    }

    fn play(
        &self,
        mut rehearsal: Rehearsal,
        is_over: &dyn Fn() -> bool,
        show: &mut dyn FnMut(&Progress<'_>),
    ) -> (Rehearsed, Rehearsal) {
        let (stop, wall_ms) = run_out(self.scene, &mut rehearsal, self.limit, is_over, show);
        let result = result_of(self.scene, &rehearsal, self.findings.clone(), stop, wall_ms);
        (Rehearsed { result, stop }, rehearsal)
    }

    fn stage(&self, seed: u64, journal: Option<Sink<'static>>) -> Rehearsal {
        self.stage_with(seed, journal, &self.scene.plan)
    }

    /// A rehearsal with a plan in charge, which may be another than that of the scene.
    fn stage_with(&self, seed: u64, journal: Option<Sink<'static>>, plan: &Plan) -> Rehearsal {
        let scene = self.scene;
        let setup = Setup {
            view: scene.view.clone(),
            groups: scene.groups.clone(),
            rolled: self.rolled.clone(),
            settings: Settings {
                start: scene.now,
                seed,
                kubelet: KubeletModel::Learnt(self.durations.clone()),
                cloud: self.durations.cloud(),
            },
            assumptions: {
                let told = scene.older.iter().chain(&scene.of_groups).chain(&scene.assumptions).cloned();
                told.chain(self.durations.assumptions()).collect()
            },
        };
        let run = match &scene.begun {
            Some((run, _)) => run.clone(),
            None => run_named(&format!("rehearsal-of-{}", plan.name)),
        };
        let interruptions = interrupt::Options::beside(Some(plan));
        let mut core =
            Core::new(plan.clone(), run, options(scene), scene.preflight).with_interruptions(interruptions);
        if let Some(autoscaler) = &scene.autoscaler {
            core = core.with_autoscaler(autoscaler.clone());
        }
        let engine: Box<dyn Engine> = match journal {
            None => Box::new(core),
            Some(sink) => {
                Box::new(Recorded::new(Box::new(core), ["rehearse", &scene.name, &scene.plan.name], sink))
            }
        };
        let mut rehearsal = Rehearsal::new(setup, engine);
        rehearsal.let_others_replace(plan);
        rehearsal.count_connections(&scene.demands);
        if let Some(until) = scene.until {
            rehearsal.meet(scene.loads.clone(), until);
        }
        rehearsal.narrow_to(nodes_to_replace(&scene.seen(), &scene.plan, &options(scene)));
        rehearsal
    }
}

/// Carries a rehearsal out, or as much of it until `is_over`: why it stopped, and how many milliseconds it took.
fn run_out(
    scene: &Scene,
    rehearsal: &mut Rehearsal,
    limit: Span,
    is_over: &dyn Fn() -> bool,
    show: &mut dyn FnMut(&Progress<'_>),
) -> (Stop, u64) {
    let begun = Instant::now();
    show(&rehearsal.progress());
    let stop = rehearsal.play(&scene.script, limit, &mut |progress| {
        show(progress);
        if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (stop, u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
}

fn result_of(
    scene: &Scene,
    rehearsal: &Rehearsal,
    findings: Vec<FindingEntry>,
    stop: Stop,
    wall_ms: u64,
) -> RehearsalResult {
    let mut result = rehearsal.result(findings, stop, wall_ms);
    match scene.require {
        Require::Possible => {}
        Require::All => result.require_all(),
    }
    result.cover(scene.coverage.clone());
    result.remedies.clone_from(&scene.remedies);
    result
}

/// An hour more than the plan gives itself: the plan's own deadline is to be seen, not ours. And all of what is to be seen besides.
fn usual_limit(scene: &Scene) -> Span {
    let usual = scene.plan.deadline + Span::from_minutes(60);
    scene.until.map_or(usual, |until| usual.max(until - scene.now))
}

pub(crate) fn options(scene: &Scene) -> RunOptions {
    let started = scene.begun.as_ref().map_or(scene.now, |(_, begun)| *begun);
    RunOptions { started, group_by: scene.group_by.clone() }
}

/// Everything there is, the node groups as well.
pub(super) fn with_groups(scene: &Scene) -> View {
    let mut view = scene.seen().into_owned();
    for learnt in &scene.groups {
        view.apply(Delta::Group(learnt.group.clone().into()));
    }
    view
}

/// The groups that have a node which the plan chooses, and the one that it moves them into.
pub(crate) fn rolled(scene: &Scene) -> BTreeSet<GroupName> {
    match &scene.plan.nodes.by {
        ChosenBy::Groups(names) => names.iter().chain(&scene.plan.target.group).cloned().collect(),
        ChosenBy::Selector(selector) => {
            let nodes = scene.view.nodes.sorted();
            let chosen = nodes.iter().filter(|(_, node)| selector.matches(|key| node.meta.labels.value(key)));
            chosen.filter_map(|(_, node)| group_of(node, &scene.group_by)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_rehearsed_side_by_side_as_there_are_cores_and_memory_for() {
        assert_eq!(threads(2, 4_264, 100), 2);
        assert_eq!(threads(64, 4_264, 100_000), 64);
        assert_eq!(threads(64, 30_000, 100_000), 10);
        assert_eq!(threads(64, 200_000, 100_000), 2);
        assert_eq!(threads(64, 1_000_000, 100_000), 2);
        assert_eq!(threads(1, 1_000_000, 100_000), 1);
        assert_eq!(threads(8, 0, 1), 1);
    }
}
