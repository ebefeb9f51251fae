//! What is remembered of Workflows.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_apiserver::draw::Purpose;
use replank_facts::batch::retry;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::{Object, render};
use replank_model::text::Uid;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::names;
use super::run::{Run, State};
use super::terms::{GROUP, Id, is_unrecorded, workflow_of};
use crate::controllers::{Ctx, operators};
use crate::durations::Assumption;
use crate::event::{ControlDue, Event, WorkflowDue as Due};

/// Something for later.
#[derive(Debug)]
pub(super) enum Task {
    /// A step is run, once more or for the first time.
    Make { owner: Uid, pod: Box<Pod>, attempt: Attempt },
    /// A pod is deleted.
    Collect { key: Key, uid: Uid },
    /// A Workflow is looked at.
    Look(Id),
    /// A `suspend` step is over.
    Resume(Id, String),
    /// A Workflow's time is over.
    Deadline(Id),
    /// A Workflow that has ended goes.
    Expire(Id),
    /// The time of a CronWorkflow has come.
    Tick { cron: Id, at: Time },
}

/// Which attempt of its step a pod is.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Attempts before it, beyond those that the snapshot does not tell.
    pub(super) retries: i64,
    /// When the first began.
    pub(super) first: Option<Time>,
    /// Nodes of the attempts before it.
    pub(super) nodes: Vec<String>,
    /// What it was made from, where that was here.
    pub(super) template: Option<Rc<Value>>,
    /// How often a pod of it failed before its main container ran.
    pub(super) restarts: i64,
}

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct Workflows {
    pub(super) is_assumed: bool,
    /// Of pods that were made here.
    pub(super) attempts: FxHashMap<Uid, Attempt>,
    pub(super) tasks: BTreeMap<u64, Task>,
    pub(super) next: u64,
    pub(super) runs: BTreeMap<Uid, Run>,
    /// When CronWorkflows begin next.
    pub(super) ticks: BTreeMap<Key, Time>,
    /// What had to be assumed, and for which object.
    pub(super) assumed: BTreeSet<(String, &'static str)>,
}

impl Workflows {
    /// Looks after Workflows from now on.
    pub(crate) fn assume(&mut self) {
        self.is_assumed = true;
    }

    /// What had to be assumed so far.
    pub(crate) fn assumptions(&self) -> impl Iterator<Item = Assumption> + '_ {
        self.assumed.iter().map(|(about, what)| Assumption::default_of(about, what))
    }

    /// Looks at a Workflow that appears, unless it has ended.
    pub(super) fn look_soon(&mut self, ctx: &mut Ctx<'_>, workflow: &Other) {
        let draw = ctx.draws.draw(workflow.meta.uid.as_str(), Purpose::Operator, 0);
        let after: Span = draw.between(operators::REACTION.0, operators::REACTION.1);
        let id = Id { key: workflow.meta.key(), uid: workflow.meta.uid.clone() };
        self.later(ctx, after, Task::Look(id));
    }

    pub(super) fn later(&mut self, ctx: &mut Ctx<'_>, span: Span, task: Task) {
        let number = self.next;
        self.next += 1;
        self.tasks.insert(number, task);
        ctx.agenda.after(span, Event::Control(ControlDue::Workflow(Due::Task(number))));
    }

    /// One of which nobody can say what it runs is over with its last pod.
    pub(super) fn end_without_steps(&mut self, ctx: &mut Ctx<'_>, id: &Id) {
        let pods: Vec<bool> =
            self.pods_of(ctx.view(), id).map(|pod| pod.status.phase == PodPhase::Succeeded).collect();
        if !pods.is_empty() && !self.is_going(ctx.view(), id) {
            let is_good = pods.iter().all(|is_good| *is_good);
            self.end(ctx, id, &Value::Null, is_good);
        }
    }

    /// A Workflow that goes on, as it came.
    pub(super) fn live(&self, view: &View, id: &Id) -> Option<Value> {
        let known = view.other(GROUP, "Workflow", &id.key).filter(|known| known.meta.uid == id.uid)?;
        let raw = retry::raw(view, &id.key)?;
        let has_ended = matches!(
            raw.pointer("/status/phase").and_then(Value::as_str),
            Some("Succeeded" | "Failed" | "Error")
        );
        (self.is_assumed && !known.meta.is_terminating() && !has_ended).then_some(raw)
    }

    pub(super) fn pods_of<'a>(&self, view: &'a View, id: &Id) -> impl Iterator<Item = &'a Pod> + use<'a> {
        view.pods_of(&id.uid).iter().map(|ix| &*view.pods[*ix])
    }

    /// Whether pods of a Workflow run, are not recorded, or are about to be made.
    pub(super) fn is_going(&self, view: &View, id: &Id) -> bool {
        let is_making = |task: &Task| matches!(task, Task::Make { owner, .. } if *owner == id.uid);
        self.tasks.values().any(is_making)
            || self.pods_of(view, id).any(|pod| !pod.is_terminal() || is_unrecorded(pod))
    }

    /// Reads how far a Workflow is when it is met first; its deadline counts from then on.
    pub(super) fn know(&mut self, ctx: &mut Ctx<'_>, id: &Id, raw: &Value, spec: &Value) {
        if self.runs.contains_key(&id.uid) {
            return;
        }
        let mut run = Run::found(raw, self.pods_of(ctx.view(), id));
        let started =
            raw.pointer("/status/startedAt").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let started = started.unwrap_or(ctx.api.timestamp());
        let seconds = spec.get("activeDeadlineSeconds").and_then(retry::number);
        run.deadline = seconds.map(|seconds| started + Span::from_secs(seconds));
        if let Some(deadline) = run.deadline {
            let left = (deadline - ctx.api.now()).max(Span::ZERO);
            self.later(ctx, left, Task::Deadline(id.clone()));
        }
        self.runs.insert(id.uid.clone(), run);
    }

    /// Notes what a step has come to.
    pub(super) fn settle(&mut self, ctx: &mut Ctx<'_>, id: &Id, step: String, state: State) {
        let Some(raw) = self.live(ctx.view(), id) else { return };
        let spec = retry::spec_of(ctx.view(), &raw);
        self.know(ctx, id, &raw, &spec);
        if let Some(run) = self.runs.get_mut(&id.uid) {
            run.steps.insert(step, state);
        }
    }

    pub(super) fn settle_pod(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, state: State) {
        let Some(id) = workflow_of(pod) else { return };
        let Some(raw) = self.live(ctx.view(), &id) else { return };
        self.settle(ctx, &id, names::step_of(&names::node_of(&raw, pod)), state);
    }
}

/// Changes an object of Argo's.
pub(super) fn write(ctx: &mut Ctx<'_>, kind: &str, key: &Key, change: impl FnOnce(&mut Value)) {
    let Some(known) = ctx.view().other(GROUP, kind, key).cloned() else { return };
    let mut value = render(&Object::Other(known));
    // Nobody validates a status of a custom resource that has no schema.
    if !value["status"].is_object() {
        value["status"] = Value::Object(serde_json::Map::new());
    }
    change(&mut value);
    if let Ok(object) = Object::from_json(value) {
        let written = ctx.api.update_object(object);
        debug_assert!(written.is_ok(), "the object was just read: {written:?}");
    }
}

/// At which end pods are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// That of the pod.
    Pod,
    /// That of the workflow.
    Workflow,
}
