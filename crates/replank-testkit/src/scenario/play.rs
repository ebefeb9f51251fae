//! Playing a scenario: from a file's words to its story.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use replank_core::check::{self, Finding};
use replank_core::decision::Decision;
use replank_core::groups::{GroupBy, assumed_target, group_of};
use replank_core::plan::{ChosenBy, Plan};
use replank_core::{Core, Options, interrupt, nodes_to_replace};
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, RunId};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_sim::rehearse::{Ending, FindingEntry, Rehearsal, Setup, Stop};
use replank_sim::script::{Happening, What, When, happen};
use replank_sim::{Observer, PodAct, Sent};
use serde_json::Value;

use super::effects;
use super::file::Scenario;
use super::happening::is_of_the_roll;
use super::stage::{self, Stage};
use super::story::Story;
use super::summary;

/// Plays a scenario and tells its story.
///
/// # Errors
/// Where the file asks for something that cannot be: a plan that is no YAML, an object that the API server refuses.
pub fn play(scenario: &Scenario) -> anyhow::Result<String> {
    tell(scenario, None).map(|(text, _)| text)
}

/// What a scenario comes to, whoever decides and however often it is started anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// How the run ended.
    pub ending: Ending,
    /// Nodes replaced.
    pub replaced: usize,
    /// What was carried out, in words, and how often.
    pub done: BTreeMap<String, usize>,
}

/// Plays a scenario, in which Replank starts anew right after so many of its commands took effect or were refused. Returns what it came to,
/// and how many commands there were; `None` where the plan is refused.
///
/// # Errors
/// As [`play`].
pub fn play_restarted(scenario: &Scenario, after: Option<usize>) -> anyhow::Result<Option<(Effects, usize)>> {
    tell(scenario, after).map(|(_, played)| played)
}

fn tell(scenario: &Scenario, after: Option<usize>) -> anyhow::Result<(String, Option<(Effects, usize)>)> {
    let plan = match Plan::read(&plan_value(scenario)?) {
        Ok(plan) => Arc::new(plan),
        Err(errors) => {
            return Ok((format!("the plan is refused\n{}\n", indented(&errors.to_string())), None));
        }
    };
    let mut stage = stage::set(scenario)?;
    let options = Options { started: stage.start, group_by: GroupBy::default() };
    let moving = nodes_to_replace(&stage.view, &plan, &options).len();
    stage.groups.extend(assumed_target(&stage.groups, &plan, moving, &options.group_by));
    let mut before = stage.view.clone();
    for learnt in &stage.groups {
        before.apply(Delta::Group(learnt.group.clone().into()));
    }
    let found = check::run(&before, Some(&plan), &options);
    let mut text = summary::places("start", &stage.view, &stage.names);
    text += &summary::findings(&found, scenario.cluster.findings_whole, &stage.names);
    let mut show = Show::begin(plan, options, stage);
    show.restart_after = after;
    let stop = show.run(scenario)?;
    let result = show.rehearsal.result(found.into_iter().map(entry).collect(), stop, 0);
    let story = show.story.borrow();
    let after = show.rehearsal.world().view();
    text += "story\n";
    text += &story.text();
    text += &summary::result(&result, stop, &story.names);
    text += &summary::waits(&result, &story.names);
    text += &summary::left(&before, after, &story.names);
    text += &summary::places("end", after, &story.names);
    let commands = show.rehearsal.world().commands();
    let effects = Effects {
        ending: result.ending,
        replaced: result.nodes.replaced,
        done: effects::count(commands, &story.names),
    };
    Ok((text, Some((effects, commands.len()))))
}

fn plan_value(scenario: &Scenario) -> anyhow::Result<Value> {
    let mut values = Vec::new();
    let mut problems = Vec::new();
    let source = Source::bytes(scenario.name.as_str(), scenario.plan.as_str());
    read(vec![source], &Limits::default(), &mut |found| match found {
        Found::Document(document) => values.push(document.value),
        Found::Problem(problem) => problems.push(problem),
    })?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(anyhow!(problem).context("the plan cannot be read"));
    }
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (Some(_) | None, Some(_) | None) => Err(anyhow!("the section plan holds no single document")),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

fn entry(finding: Finding) -> FindingEntry {
    FindingEntry {
        id: finding.rule.id(),
        severity: finding.severity.as_str(),
        object: finding.object.to_string(),
        reason: finding.reason,
        remedy: finding.remedy,
    }
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
    Happening(&'a Happening),
    Exit(Key),
}

impl Show {
    fn begin(plan: Arc<Plan>, options: Options, stage: Stage) -> Self {
        let story = Rc::new(RefCell::new(Story::new(stage.names, stage.start)));
        // An hour more than the plan gives itself: the plan's own deadline is to be seen, not ours.
        let limit = plan.deadline + Span::from_minutes(60);
        let setup = Setup {
            rolled: rolled(&stage.view, &plan),
            view: stage.view,
            groups: stage.groups,
            settings: stage.settings,
            assumptions: Vec::new(),
        };
        let chosen = nodes_to_replace(&setup.view, &plan, &options);
        let interruptions = interrupt::Options::beside(Some(&plan));
        let core = Core::new(plan, RunId::from("run"), options).with_interruptions(interruptions);
        let mut rehearsal = Rehearsal::new(setup, Box::new(core));
        rehearsal.narrow_to(chosen);
        rehearsal.observe(Box::new(Teller(story.clone())));
        Self { rehearsal, story, start: stage.start, limit, exits: stage.exits, restart_after: None }
    }

    fn run(&mut self, scenario: &Scenario) -> anyhow::Result<Stop> {
        let mut due: Vec<(Time, Due<'_>)> =
            self.exits.drain(..).map(|(at, key)| (at, Due::Exit(key))).collect();
        let happenings = scenario.script.from(self.start).into_iter();
        let later = happenings.filter(|(_, one)| one.when != When::Before || is_of_the_roll(&one.what));
        due.extend(later.map(|(at, one)| (at, Due::Happening(one))));
        due.sort_by_key(|(at, _)| *at);
        // An intent takes up again what is over; nothing else does.
        let last = due
            .iter()
            .rposition(|(_, due)| matches!(due, Due::Happening(one) if matches!(one.what, What::Intend(_))));
        for (number, (at, due)) in due.into_iter().enumerate() {
            self.step_until(at);
            let world = self.rehearsal.world_mut();
            if world.end().is_some() && last.is_none_or(|last| number > last) {
                if let Due::Happening(happening) = due {
                    let after = at - self.start;
                    return Err(anyhow!("line {}: the roll is over before {after}", happening.line));
                }
                break;
            }
            world.run_until(at);
            self.happen(at, due)?;
        }
        if self.restart_after.is_some() {
            self.step_until(self.start + self.limit);
        }
        Ok(self.rehearsal.run(self.limit, &mut |_| ControlFlow::Continue(())))
    }

    /// Steps as far as the run lasts; starts Replank anew when it is time to.
    fn step_until(&mut self, at: Time) {
        let world = self.rehearsal.world_mut();
        while world.end().is_none() && world.step_until(at) {
            let is_due = |after: &usize| {
                world.commands().iter().filter(|sent| sent.result.is_some()).count() >= *after
            };
            if self.restart_after.as_ref().is_some_and(is_due) {
                self.restart_after = None;
                assert!(world.start_anew(), "somebody is in charge");
            }
        }
    }

    fn happen(&mut self, at: Time, due: Due<'_>) -> anyhow::Result<()> {
        let world = self.rehearsal.world_mut();
        match due {
            Due::Exit(key) => world.act(&key, PodAct::Exit(0)),
            Due::Happening(happening) => {
                self.story.borrow_mut().remark(at, &happening.text);
                let names = self.story.borrow().names.clone();
                happen(world, &names, &happening.what)
                    .with_context(|| format!("line {}: {}", happening.line, happening.text))?;
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
