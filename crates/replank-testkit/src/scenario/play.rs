//! Playing a scenario: from a file's words to its story.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use replank_advice::check::{self, Finding};
use replank_core::nodes_to_replace;
use replank_facts::groups::{GroupBy, assumed_target, group_of};
use replank_facts::plan::RunOptions;
use replank_facts::plan::{ChosenBy, Plan};
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::text::GroupName;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_rehearse::{Ending, FindingEntry, Rehearsal, RehearsalResult, Setup, Stop};
use replank_sim::load::{Curve, Load, Measured};
use replank_sim::script::{ScriptEvent, What, When, happen};
use replank_sim::{Observer, PodAct, Sent};
use serde_json::Value;

use super::cluster::Demand;
use super::cores::{Cores, autoscaler};
use super::effects;
use super::event::is_of_the_roll;
use super::file::Scenario;
use super::stage::{self, Stage};
use super::story::Story;
use super::summary;
use crate::successor::{Beside, Starts, Successor};

/// Plays a scenario and tells its story.
///
/// # Errors
/// Where the file asks for something that cannot be: a plan that is no YAML, an object that the API server refuses.
pub fn play(scenario: &Scenario) -> anyhow::Result<String> {
    tell(scenario, Processes::One).map(|(text, _)| text)
}

/// The outcome of a scenario, for any engine and any number of restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// How the run ended.
    pub ending: Ending,
    /// Nodes replaced.
    pub replaced: usize,
    /// What was carried out, in words, and how often.
    pub done: BTreeMap<String, usize>,
    /// How many nodes each group wants in the end.
    pub wanted: BTreeMap<GroupName, u32>,
}

/// A scenario in which another process goes on from what is in the cluster alone.
#[derive(Clone, Debug)]
pub struct Restarted {
    /// The story, as a scenario's golden file tells it.
    pub story: String,
    /// What it came to.
    pub effects: Effects,
    /// How many commands there were.
    pub commands: usize,
    /// From what processes were started after the first one.
    pub starts: Starts,
}

/// Plays a scenario in which the run keeps a record, and another process takes over right after so many of its commands took effect or were
/// refused. `None` where the plan is refused.
///
/// # Errors
/// As [`play`].
pub fn play_restarted(scenario: &Scenario, after: Option<usize>) -> anyhow::Result<Option<Restarted>> {
    let starts = Rc::<RefCell<Starts>>::default();
    let (story, played) = tell(scenario, Processes::Several { after, starts: starts.clone() })?;
    let starts = *starts.borrow();
    Ok(played.map(|(effects, commands)| Restarted { story, effects, commands, starts }))
}

/// Which processes are in charge.
enum Processes {
    /// One, which keeps no record; where it is started anew, it has the plan and its intent still.
    One,
    /// Each goes on from what is in the cluster alone; one takes over after so many commands.
    Several { after: Option<usize>, starts: Rc<RefCell<Starts>> },
}

fn tell(scenario: &Scenario, processes: Processes) -> anyhow::Result<(String, Option<(Effects, usize)>)> {
    let plan = match plan_value(scenario)?.map(|value| Plan::read(&value)) {
        Some(Ok(plan)) => Some(Arc::new(plan)),
        None => None,
        Some(Err(errors)) => {
            return Ok((format!("the plan is refused\n{}\n", indented(&errors.to_string())), None));
        }
    };
    let mut stage = stage::set(scenario)?;
    let options = RunOptions { started: stage.start, group_by: GroupBy::default() };
    if let Some(plan) = &plan {
        let moving = nodes_to_replace(&stage.view, plan, &options).len();
        stage.groups.extend(assumed_target(&stage.groups, plan, moving, &options.group_by));
    }
    let mut before = stage.view.clone();
    for learnt in &stage.groups {
        before.apply(Delta::Group(learnt.group.clone().into()));
    }
    let found = plan.as_deref().map(|plan| check::run(&before, Some(plan), &options));
    let mut text = summary::places("start", &stage.view, &stage.names);
    if let Some(found) = &found {
        text += &summary::findings(found, scenario.cluster.findings_whole, &stage.names);
    }
    let mut show = Show::begin(plan.clone(), options, stage, scenario, processes)?;
    let found: Vec<FindingEntry> = found.iter().flatten().map(entry).collect();
    let (result, stop) = show.run(scenario, &found)?;
    let story = show.story.borrow();
    let after = show.rehearsal.world().view();
    text += "story\n";
    text += &story.text();
    if plan.is_some() {
        text += &summary::result(&result, stop, &story.names);
    }
    let commands = show.rehearsal.world().commands();
    if let Some(span) = scenario.cluster.watched {
        text += &summary::watched(span, commands, show.start);
    }
    text += &summary::waits(&result, &story.names);
    text += &summary::left(&before, after, &story.names);
    text += &summary::places("end", after, &story.names);
    let effects = Effects {
        ending: result.ending,
        replaced: result.nodes.replaced,
        done: effects::count(commands, &story.names),
        wanted: after.groups().iter().map(|(name, group)| (name.clone(), group.size.desired)).collect(),
    };
    Ok((text, Some((effects, commands.len()))))
}

/// What the targets of autoscalers are asked to do.
fn loads(scenario: &Scenario, start: Time) -> anyhow::Result<Vec<Load>> {
    let of = |demand: &Demand| {
        let points = demand.points.iter().map(|(at, cores)| (start + *at, *cores)).collect();
        let of = Measured::Resource { resource: "cpu".into(), container: None };
        Ok(Load { hpa: demand.autoscaler.clone(), of, curve: Curve::new(points)? })
    };
    scenario.cluster.loads.iter().map(of).collect()
}

/// The plan as it stands in the file; `None` where nothing is rolled.
fn plan_value(scenario: &Scenario) -> anyhow::Result<Option<Value>> {
    let Some(plan) = &scenario.plan else { return Ok(None) };
    let mut values = Vec::new();
    let mut problems = Vec::new();
    let source = Source::bytes(scenario.name.as_str(), plan.as_str());
    read(vec![source], &Limits::default(), &mut |found| match found {
        Found::Document(document) => values.push(document.value),
        Found::List { .. } => {}
        Found::Problem(problem) => problems.push(problem),
    })?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(anyhow!(problem).context("the plan cannot be read"));
    }
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(Some(value)),
        (Some(_) | None, Some(_) | None) => Err(anyhow!("the section plan holds no single document")),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

fn entry(finding: &Finding) -> FindingEntry {
    FindingEntry::untried(finding.rule.id(), finding)
}

/// A rehearsal that others interfere with.
struct Show {
    rehearsal: Rehearsal,
    story: Rc<RefCell<Story>>,
    start: Time,
    limit: Span,
    exits: Vec<(Time, Key)>,
    /// Replank starts anew after so many commands.
    restart_after: Option<usize>,
}

/// What is due next besides the rehearsal's own doing.
enum Due<'a> {
    ScriptEvent(&'a ScriptEvent),
    Exit(Key),
}

impl Show {
    fn begin(
        plan: Option<Arc<Plan>>,
        options: RunOptions,
        stage: Stage,
        scenario: &Scenario,
        processes: Processes,
    ) -> anyhow::Result<Self> {
        let story = Rc::new(RefCell::new(Story::new(stage.names, stage.start)));
        // An hour more than the plan gives itself: the plan's own deadline is to be seen, not ours.
        let limit = plan.as_ref().map(|plan| plan.deadline + Span::from_minutes(60));
        let limit = limit.or(scenario.cluster.watched).context("a plan, or how long it is watched")?;
        let setup = Setup {
            rolled: plan.as_ref().map(|plan| rolled(&stage.view, plan)).unwrap_or_default(),
            view: stage.view,
            groups: stage.groups,
            settings: stage.settings,
            assumptions: Vec::new(),
        };
        let chosen = plan.as_ref().map(|plan| nodes_to_replace(&setup.view, plan, &options));
        let flags = scenario.autoscaler.as_ref();
        let rolled_plan = plan.clone();
        let cores = Cores {
            plan,
            options,
            beside: Beside {
                interruptions: true,
                autoscaler: flags.map(|flags| autoscaler(flags, &setup.view)).transpose()?,
            },
        };
        let (engine, restart_after): (Box<dyn Engine>, Option<usize>) = match processes {
            Processes::One => (Box::new(cores.fresh()), None),
            Processes::Several { after, starts } => {
                (Box::new(Successor::new(Box::new(cores), starts)), after)
            }
        };
        let mut rehearsal = Rehearsal::new(setup, engine);
        if let Some(plan) = &rolled_plan {
            rehearsal.let_others_replace(plan);
        }
        rehearsal.narrow_to(chosen.unwrap_or_default());
        rehearsal.observe(Box::new(Teller(story.clone())));
        rehearsal.world_mut().load(loads(scenario, stage.start)?);
        Ok(Self { rehearsal, story, start: stage.start, limit, exits: stage.exits, restart_after })
    }

    /// Plays it all; the outcome of the roll, as it was at its end.
    fn run(
        &mut self,
        scenario: &Scenario,
        found: &[FindingEntry],
    ) -> anyhow::Result<(RehearsalResult, Stop)> {
        let mut due: Vec<(Time, Due<'_>)> =
            self.exits.drain(..).map(|(at, key)| (at, Due::Exit(key))).collect();
        let events = scenario.script.from(self.start).into_iter();
        let later = events.filter(|(_, one)| one.when != When::Before || is_of_the_roll(&one.what));
        due.extend(later.map(|(at, one)| (at, Due::ScriptEvent(one))));
        due.sort_by_key(|(at, _)| *at);
        // An intent takes up again what is over; nothing else does.
        let last = due.iter().rposition(
            |(_, due)| matches!(due, Due::ScriptEvent(one) if matches!(one.what, What::Intend(_))),
        );
        let mut over = None;
        for (number, (at, due)) in due.into_iter().enumerate() {
            self.step_until(at);
            if self.rehearsal.end().is_some() && last.is_none_or(|last| number > last) {
                match due {
                    due if scenario.cluster.watched.is_some() => {
                        over.get_or_insert_with(|| self.result(found, Stop::Ended));
                        self.pass_until(at);
                        self.happen(at, due)?;
                        continue;
                    }
                    Due::ScriptEvent(event) => {
                        let after = at - self.start;
                        return Err(anyhow!("line {}: the roll is over before {after}", event.line));
                    }
                    Due::Exit(_) => break,
                }
            }
            self.rehearsal.world_mut().run_until(at);
            self.happen(at, due)?;
        }
        if self.restart_after.is_some() {
            self.step_until(self.start + self.limit);
        }
        let over = over.unwrap_or_else(|| {
            let stop = self.rehearsal.run(self.limit, &mut |_| ControlFlow::Continue(()));
            self.result(found, stop)
        });
        if let Some(span) = scenario.cluster.watched {
            self.pass_until(self.start + span);
        }
        Ok(over)
    }

    fn result(&self, found: &[FindingEntry], stop: Stop) -> (RehearsalResult, Stop) {
        (self.rehearsal.result(found.to_vec(), stop, 0), stop)
    }

    /// Steps as far as the run lasts; starts Replank anew when it is time to.
    fn step_until(&mut self, at: Time) {
        while self.rehearsal.end().is_none() && self.step(at) {}
    }

    /// Lets time pass, whether there is a run or not.
    fn pass_until(&mut self, at: Time) {
        while self.step(at) {}
        self.rehearsal.world_mut().run_until(at);
    }

    fn step(&mut self, until: Time) -> bool {
        let world = self.rehearsal.world_mut();
        let has_stepped = world.step_until(until);
        let is_due =
            |after: &usize| world.commands().iter().filter(|sent| sent.result.is_some()).count() >= *after;
        if has_stepped && self.restart_after.as_ref().is_some_and(is_due) {
            self.restart_after = None;
            assert!(world.start_anew(), "somebody is in charge");
        }
        has_stepped
    }

    fn happen(&mut self, at: Time, due: Due<'_>) -> anyhow::Result<()> {
        let world = self.rehearsal.world_mut();
        match due {
            Due::Exit(key) => world.act(&key, PodAct::Exit(0)),
            Due::ScriptEvent(event) => {
                self.story.borrow_mut().remark(at, &event.text);
                let names = self.story.borrow().names.clone();
                happen(world, &names, &event.what)
                    .with_context(|| format!("line {}: {}", event.line, event.text))?;
            }
        }
        Ok(())
    }
}

/// The groups that have a node which the plan chooses, and the one that it moves them into.
fn rolled(view: &View, plan: &Plan) -> BTreeSet<GroupName> {
    match &plan.nodes.by {
        ChosenBy::Groups(names) => names.iter().chain(&plan.target.group).cloned().collect(),
        ChosenBy::Selector(selector) => {
            let nodes = view.nodes.sorted();
            let chosen = nodes.iter().filter(|(_, node)| selector.matches(|key| node.meta.labels.value(key)));
            chosen.filter_map(|(_, node)| group_of(node, &GroupBy::default())).collect()
        }
    }
}

/// The story, as the world sees it.
struct Teller(Rc<RefCell<Story>>);

impl Observer for Teller {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        self.0.borrow_mut().changed(at, change, view);
    }

    fn decided(&mut self, at: Time, decision: &Decision) {
        self.0.borrow_mut().decided(at, decision);
    }

    fn executed(&mut self, at: Time, sent: &Sent, view: &View) {
        self.0.borrow_mut().executed(at, sent, view);
    }
}
