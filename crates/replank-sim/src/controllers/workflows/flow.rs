//! What of a Workflow is to begin, and what it has come to (argo-workflows `workflow/controller/steps.go`, `dag.go`, `operator.go`): from the entrypoint
//! down, through `steps` and `dag`, templates within templates and those of other WorkflowTemplates.
//!
//! What only a step's result can tell (a parameter in a `when`, the list of a `withParam`) is taken so that work is done: the step is run, and once.
//! A template within itself is not, or it would never end. Each is stated among the assumptions.

use std::collections::BTreeSet;
use std::rc::Rc;

use replank_facts::batch::templates;
use replank_model::text::Namespace;
use replank_model::view::View;
use serde_json::{Value, json};

use super::conditions::{compared, holds};
use super::dag::Dag;
use super::items::{Items, items, shown};
use super::names::step_of;
use super::parameters::{self, Parameters, filled};
use super::run::{Run, State};

pub(super) use super::going::goes_on;

/// Templates within each other at most.
const DEPTH_MAX: usize = 50;

/// A step that is to begin.
#[derive(Clone, Debug)]
pub(super) struct Begin {
    /// Its node's name.
    pub(super) node: String,
    /// Name of its template.
    pub(super) name: String,
    /// The template, filled in as far as it is known.
    pub(super) template: Value,
}

/// A look at a whole Workflow.
pub(super) struct Walk<'a> {
    view: &'a View,
    namespace: &'a Namespace,
    run: &'a Run,
    known: Parameters,
    /// How many more pods may run (`parallelism`); `None`: any number.
    room: Option<usize>,
    /// What is to begin.
    pub(super) begin: Vec<Begin>,
    /// What had to be assumed.
    pub(super) assumed: BTreeSet<&'static str>,
}

/// Templates that know each other by name, and those that one is within.
#[derive(Clone)]
struct Scope {
    spec: Rc<Value>,
    within: Vec<String>,
}

/// `when` that cannot be told.
const WHEN: &str = "conditions of steps that depend on results are taken to hold";
/// Lists that cannot be told.
const LIST: &str = "steps for lists that other steps make are run once";
/// Recursion.
const AGAIN: &str = "templates within themselves are not run again where a result decides it";
/// Templates that are not there.
const ABSENT: &str = "steps of templates that the snapshot does not have take no time";

impl<'a> Walk<'a> {
    pub(super) fn new(
        view: &'a View,
        namespace: &'a Namespace,
        run: &'a Run,
        raw: &Value,
        spec: &Value,
    ) -> Self {
        let most = spec["parallelism"].as_u64().and_then(|most| usize::try_from(most).ok());
        let open = run.steps.values().filter(|state| **state == State::Open).count();
        Self {
            view,
            namespace,
            run,
            known: parameters::of_workflow(raw, spec),
            room: most.map(|most| most.saturating_sub(open)),
            begin: Vec::new(),
            assumed: BTreeSet::new(),
        }
    }

    /// Looks at a template of the Workflow itself, under a node's name.
    pub(super) fn from(&mut self, spec: &Value, template: &str, node: &str) -> State {
        let scope = Scope { spec: Rc::new(spec.clone()), within: Vec::new() };
        let arguments = &spec["arguments"];
        self.call(node, &json!({"template": template, "arguments": arguments}), &scope)
    }

    /// The caller of a template: a step, a task, the Workflow.
    fn call(&mut self, node: &str, caller: &Value, scope: &Scope) -> State {
        if let Some(state) = self.run.steps.get(&step_of(node)) {
            return *state;
        }
        let Some((name, template, mut scope)) = self.template_of(caller, scope) else {
            self.assumed.insert(ABSENT);
            return State::Good;
        };
        let mut known = self.known.clone();
        known.extend(parameters::of_call(&template, &caller["arguments"]));
        let template = filled(&template, &known);
        scope.within.push(name.clone());
        if let Some(groups) = template["steps"].as_array() {
            return self.groups(node, groups, &scope);
        }
        if template.pointer("/dag/tasks").is_some() {
            return self.tasks(node, &template["dag"], &scope);
        }
        self.leaf(node, name, template)
    }

    fn template_of(&self, caller: &Value, scope: &Scope) -> Option<(String, Value, Scope)> {
        if caller["inline"].is_object() {
            return Some(("inline".to_owned(), caller["inline"].clone(), scope.clone()));
        }
        let reference = &caller["templateRef"];
        let scope = match reference.is_object() {
            true => {
                let spec = templates::referred_spec(self.view, self.namespace, reference)?;
                Scope { spec: Rc::new(spec), within: scope.within.clone() }
            }
            false => scope.clone(),
        };
        let name = reference["template"].as_str().or(caller["template"].as_str())?;
        let template = templates::named(&scope.spec, name)?.clone();
        Some((name.to_owned(), template, scope))
    }

    /// One that has no others within.
    fn leaf(&mut self, node: &str, name: String, template: Value) -> State {
        const TAKES_TIME: [&str; 6] = ["container", "script", "containerSet", "resource", "data", "suspend"];
        if !TAKES_TIME.iter().any(|kind| template.get(*kind).is_some()) {
            // `http` and plugins have no pod of their own.
            return State::Good;
        }
        if self.room == Some(0) {
            return State::Open;
        }
        self.room = self.room.map(|room| room - 1);
        self.begin.push(Begin { node: node.to_owned(), name, template });
        State::Open
    }

    /// Groups of steps, one after the other.
    fn groups(&mut self, node: &str, groups: &[Value], scope: &Scope) -> State {
        let mut all = State::Skipped;
        for (number, group) in groups.iter().enumerate() {
            // A group is a list; a lone step may stand for itself.
            let steps = group.as_array().map_or(std::slice::from_ref(group), Vec::as_slice);
            let states: Vec<State> = steps
                .iter()
                .map(|step| {
                    let name = step["name"].as_str().unwrap_or_default();
                    let state = self.step(&format!("{node}[{number}].{name}"), step, scope);
                    if state == State::Bad && goes_on(step) { State::Good } else { state }
                })
                .collect();
            all = State::of_all(states.into_iter().chain([all]));
            if matches!(all, State::Open | State::Bad) {
                return all;
            }
        }
        all
    }

    /// Tasks, each after those that it depends on.
    fn tasks(&mut self, node: &str, dag: &Value, scope: &Scope) -> State {
        let mut dag = Dag::of(dag);
        while let Some(number) = dag.next() {
            let task = dag.task(number);
            let name = task["name"].as_str().unwrap_or_default();
            let state = self.step(&format!("{node}.{name}"), task, scope);
            dag.settle(number, state);
        }
        dag.state()
    }

    /// A step or task, for each of its items.
    fn step(&mut self, node: &str, step: &Value, scope: &Scope) -> State {
        match items(step) {
            Items::Once => self.single(node, step, scope),
            Items::Each(all) => {
                let one = |(at, item): (usize, &Value)| {
                    let step = filled(step, &parameters::of_item(item));
                    self.single(&format!("{node}({at}:{})", shown(item)), &step, scope)
                };
                State::of_all(all.iter().enumerate().map(one).collect::<Vec<State>>())
            }
            Items::Unknown => {
                let prefix = format!("{}(", step_of(node));
                let begun: BTreeSet<String> = self
                    .run
                    .steps
                    .range(prefix.clone()..)
                    .take_while(|(step, _)| step.starts_with(&prefix))
                    .filter_map(|(step, _)| Some(step[prefix.len()..].split_once(')')?.0.to_owned()))
                    .collect();
                if begun.is_empty() {
                    self.assumed.insert(LIST);
                    return self.single(node, step, scope);
                }
                let states = begun.iter().map(|at| self.single(&format!("{node}({at}:)"), step, scope));
                State::of_all(states.collect::<Vec<State>>())
            }
        }
    }

    fn single(&mut self, node: &str, step: &Value, scope: &Scope) -> State {
        if let Some(state) = self.run.steps.get(&step_of(node)) {
            return *state;
        }
        let name =
            step.pointer("/templateRef/template").unwrap_or(&step["template"]).as_str().unwrap_or_default();
        let is_within_itself = scope.within.iter().any(|outer| outer == name);
        let holds = match step["when"].as_str() {
            Some(text) if text.contains("{{") => None,
            Some(text) => holds(text, &compared),
            None => Some(true),
        };
        match holds {
            Some(false) => return State::Skipped,
            None if is_within_itself => {
                self.assumed.insert(AGAIN);
                return State::Skipped;
            }
            Some(true) if is_within_itself && scope.within.len() >= DEPTH_MAX => return State::Bad,
            None => {
                self.assumed.insert(WHEN);
            }
            Some(true) => {}
        }
        self.call(node, step, scope)
    }
}
