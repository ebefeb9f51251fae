//! Playing a scenario: from a file's words to its story.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use replank_core::check::{self, Finding};
use replank_core::decision::Decision;
use replank_core::groups::{GroupBy, assumed_target, group_of};
use replank_core::plan::{ChosenBy, Plan};
use replank_core::{Core, Options, nodes_to_replace};
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, RunId};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_sim::rehearse::{FindingEntry, Rehearsal, Setup, Stop};
use replank_sim::script::{Happening, What, When, happen};
use replank_sim::{Observer, PodAct, Sent};
use serde_json::Value;

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
    let plan = match Plan::read(&plan_value(scenario)?) {
        Ok(plan) => Arc::new(plan),
        Err(errors) => return Ok(format!("the plan is refused\n{}\n", indented(&errors.to_string()))),
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
    Ok(text)
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
        let core = Core::new(plan, RunId::from("run"), options);
        let mut rehearsal = Rehearsal::new(setup, Box::new(core));
        rehearsal.narrow_to(chosen);
        rehearsal.observe(Box::new(Teller(story.clone())));
        Self { rehearsal, story, start: stage.start, limit, exits: stage.exits }
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
            let world = self.rehearsal.world_mut();
            while world.end().is_none() && world.step_until(at) {}
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
        Ok(self.rehearsal.run(self.limit, &mut |_| ControlFlow::Continue(())))
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
