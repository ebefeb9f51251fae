//! As much of Argo's workflow controller as a drain can see (argo-workflows `workflow/controller/operator.go`, `pod/cleanup.go`,
//! docs/retries).
//!
//! - It begins Workflows, those that are there and have not begun and those of CronWorkflows ([`cron`]): status, budget, deadline, and the steps whose turn it
//!   is ([`flow`]).
//! - It records how pods ended: one that has ended is labelled `workflows.argoproj.io/completed: "true"` once its result is stored, and its
//!   finalizer is taken away, if the controller keeps pods by one. Until then its removal loses the result.
//! - A pod that is gone unrecorded is a step in error, `pod deleted`; one that was evicted may have been read in time, as failed with the exit
//!   code of its main container. Which of the two it is, is a race, and drawn. A pod that had not begun is just made again.
//! - A step that failed or is in error is run again as its retry strategy says ([`replank_facts::batch::retry`]): policy, expression, limit,
//!   backoff, other nodes. Where the expression cannot be worked out it is not run again.
//! - Pods are deleted as `podGC` says; when the last step has ended, the result is recorded, the budget is deleted, and at last the Workflow, if it has a
//!   `ttlStrategy` ([`end`]).
//!
//! Not simulated: retry strategies of `steps` and `dag` templates, daemons, hooks, memoization, semaphores and mutexes, `volumeClaimTemplates`; of a
//! `podSpecPatch` only the grace; `http` and plugin templates take no time. The controller itself is always up.
//!
//! Steps are run only where operators are assumed: recordings of a control plane have none.

mod conditions;
mod cron;
mod dag;
mod end;
mod flow;
mod going;
mod items;
mod lost;
mod memory;
mod names;
mod parameters;
mod pod;
mod run;
mod terms;
use std::rc::Rc;

use replank_facts::batch::retry;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::{Kind, Object};
use replank_model::time::Span;
use replank_model::view::{Change, Ix};
use serde_json::{Value, json};

use super::{Ctx, operators};
use crate::event::{ControlDue, Event, WorkflowDue as Due};
use crate::timing::Range;
use flow::{Begin, Walk};
use replank_apiserver::DeleteOptions;
use replank_apiserver::draw::Purpose;
use run::{Run, State, Stop};

use terms::{COMPLETED, GROUP, Id, WORKFLOW, is_unrecorded, workflow_of};

pub(crate) use memory::Workflows;
use memory::{Attempt, Task, When, write};
/// Keeps a pod until its result is stored, where the controller is told to (`ARGO_POD_STATUS_CAPTURE_FINALIZER`).
const FINALIZER: &str = "workflows.argoproj.io/status";
/// How a pod is to be deleted: strategy, and after a slash the delay.
const GC_STRATEGY: &str = "workflows.argoproj.io/pod-gc-strategy";
/// `deleteDelayDuration` where nothing is said.
const GC_DELAY: Span = Span::from_secs(5);
/// From a pod's end to its record: the controller looks at a workflow again after a change, by its queue's pace.
const RECORDING: Range = Range::secs(1, 5);

impl Workflows {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::Pod(pod))) => {
                let was_unrecorded = matches!(old, Some(Object::Pod(old)) if is_unrecorded(old));
                if is_unrecorded(pod) && !was_unrecorded {
                    let span = RECORDING.draw(ctx.draws.draw(pod.meta.uid.as_str(), Purpose::Phase, 0));
                    ctx.agenda.after(span, Event::Control(ControlDue::Workflow(Due::Record(*slot))));
                }
            }
            (Some(Object::Pod(gone)), None) if gone.meta.labels.value(COMPLETED) == Some("false") => {
                self.lost(ctx, gone);
            }
            (old, Some(Object::Other(new))) if new.group() == GROUP => match &*new.kind {
                "Workflow" if old.is_none() => self.look_soon(ctx, new),
                "CronWorkflow" => self.plan(ctx, new),
                _ => {}
            },
            (Some(Object::Other(gone)), None) if gone.group() == GROUP && &*gone.kind == "Workflow" => {
                self.runs.remove(&gone.meta.uid);
                self.strike(ctx, gone);
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Record(slot) => self.record(ctx, slot),
            Due::Task(number) => {
                if let Some(task) = self.tasks.remove(&number) {
                    self.carry_out(ctx, task);
                }
            }
        }
    }

    fn carry_out(&mut self, ctx: &mut Ctx<'_>, task: Task) {
        match task {
            Task::Make { pod, attempt, owner: _ } => self.make(ctx, &pod, attempt),
            Task::Collect { key, uid } => {
                let options = DeleteOptions { uid: Some(uid), ..DeleteOptions::default() };
                // One that somebody else has deleted meanwhile is what was wanted.
                let _gone = ctx.api.delete(Kind::Pod, &key, &options);
            }
            Task::Look(id) => self.advance(ctx, &id),
            Task::Resume(id, step) => {
                self.settle(ctx, &id, step, State::Good);
                self.advance(ctx, &id);
            }
            Task::Deadline(id) => self.stop(ctx, &id, Stop::Deadline),
            Task::Expire(id) => end::delete(ctx, &id),
            Task::Tick { cron, at } => self.tick(ctx, &cron, at),
        }
    }

    fn record(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let pod = ctx.view().pods.get(Ix::<Pod>::new(slot)).filter(|pod| is_unrecorded(pod)).cloned();
        let Some(pod) = pod else { return };
        let written = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
            pod.meta.labels = pod.meta.labels.with(COMPLETED, "true");
        });
        debug_assert!(written.is_ok(), "the pod was just read");
        if pod.meta.finalizers.iter().any(|finalizer| &**finalizer == FINALIZER) {
            // A write of its own: a pod that is on its way out goes with it, and is to be recorded by then.
            let freed = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
                pod.meta.finalizers.retain(|finalizer| &**finalizer != FINALIZER);
            });
            debug_assert!(freed.is_ok(), "the pod was just written");
        }
        if pod.status.phase == PodPhase::Failed {
            self.failed(ctx, &pod);
        } else {
            self.settle_pod(ctx, &pod, State::Good);
        }
        self.collect(ctx, &pod, pod.status.phase == PodPhase::Succeeded, When::Pod);
        match workflow_of(&pod).filter(|_| self.is_assumed) {
            Some(id) => self.advance(ctx, &id),
            None => end::free_budget(ctx, &pod),
        }
    }

    /// Brings a Workflow on: begins it, begins the steps whose turn it is, or ends it.
    fn advance(&mut self, ctx: &mut Ctx<'_>, id: &Id) {
        let Some(raw) = self.live(ctx.view(), id) else { return };
        let spec = retry::spec_of(ctx.view(), &raw);
        let Some(entrypoint) = spec["entrypoint"].as_str() else { return self.end_without_steps(ctx, id) };
        if raw.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
            return;
        }
        if raw.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default().is_empty() {
            self.begin(ctx, id, &spec);
        }
        self.know(ctx, id, &raw, &spec);
        let Some(run) = self.runs.get(&id.uid) else { return };
        let name = id.key.name.as_str();
        let mut walk = Walk::new(ctx.view(), &id.key.namespace, run, &raw, &spec);
        let mut state = match (run.stop, run.is_blind) {
            (Some(_), _) => State::Bad,
            (None, true) => State::Good,
            (None, false) => walk.from(&spec, entrypoint, name),
        };
        let is_going = self.is_going(ctx.view(), id);
        if let (false, Some(handler), true) = (is_going, spec["onExit"].as_str(), is_followed(run, state)) {
            // What it comes to counts only where it goes on or ends badly.
            match walk.from(&spec, handler, &format!("{name}.onExit")) {
                State::Open => state = State::Open,
                State::Bad => state = State::Bad,
                State::Good | State::Skipped | State::Omitted => {}
            }
        }
        let is_good = state != State::Bad && !run.has_failed_unnamed();
        let (begin, assumed) = (walk.begin, walk.assumed);
        let about = cron::named(ctx.view(), id);
        self.assumed.extend(assumed.into_iter().map(|what| (about.clone(), what)));
        for step in begin {
            self.begin_step(ctx, id, &spec, step);
        }
        if state != State::Open && !is_going {
            self.end(ctx, id, &spec, is_good);
        }
    }

    /// Writes that a Workflow has begun, and makes its budget.
    fn begin(&mut self, ctx: &mut Ctx<'_>, id: &Id, spec: &Value) {
        let now = ctx.api.timestamp();
        write(ctx, "Workflow", &id.key, |raw| {
            raw["metadata"]["labels"]["workflows.argoproj.io/phase"] = "Running".into();
            raw["status"]["phase"] = "Running".into();
            raw["status"]["startedAt"] = now.to_string().into();
        });
        let known = ctx.view().other(GROUP, "Workflow", &id.key).cloned();
        let (Some(workflow), Some(budget)) =
            (known, spec.get("podDisruptionBudget").filter(|budget| budget.is_object()))
        else {
            return;
        };
        let mut budget = budget.clone();
        let is_empty = budget["selector"].as_object().is_none_or(serde_json::Map::is_empty);
        if is_empty {
            budget["selector"] = json!({"matchLabels": {WORKFLOW: id.key.name.as_str()}});
        }
        let made = Object::from_json(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": id.key.name.as_str(), "namespace": id.key.namespace.as_str()}, "spec": budget}));
        if let Ok(made) = made {
            let owner = pod::reference(&workflow);
            // One of that name that is there already stays as it is.
            let _kept =
                ctx.api.create_object(made.map_meta(|meta| meta.owner_references = vec![owner].into()));
        }
    }

    /// A step's turn has come: its pod is made, or its pause begins.
    fn begin_step(&mut self, ctx: &mut Ctx<'_>, id: &Id, spec: &Value, step: Begin) {
        let name = names::step_of(&step.node);
        let mut state = State::Open;
        if let Some(suspend) = step.template.get("suspend") {
            // Without a duration a person ends it.
            if let Some(span) = suspend.get("duration").and_then(retry::duration) {
                self.later(ctx, span, Task::Resume(id.clone(), name.clone()));
            }
        } else {
            state = self.make_soon(ctx, id, spec, step);
        }
        if let Some(run) = self.runs.get_mut(&id.uid) {
            run.steps.insert(name, state);
        }
    }

    fn make_soon(&mut self, ctx: &mut Ctx<'_>, id: &Id, spec: &Value, mut step: Begin) -> State {
        let Some(workflow) = ctx.view().other(GROUP, "Workflow", &id.key).cloned() else { return State::Bad };
        if retry::strategy_of(spec, Some(&step.template)).is_some() {
            step.node.push_str("(0)");
        }
        let deadline = self.runs.get(&id.uid).filter(|run| run.stop.is_none()).and_then(|run| run.deadline);
        let left = deadline.map(|deadline| (deadline - ctx.api.now()).as_secs());
        let Some(pod) = pod::pod_of(&workflow, spec, &step, left) else { return State::Bad };
        let draw = ctx.draws.draw(pod.meta.name.as_str(), Purpose::Operator, 0);
        let after: Span = draw.between(operators::REACTION.0, operators::REACTION.1);
        let attempt = Attempt {
            retries: 0,
            first: None,
            nodes: Vec::new(),
            template: Some(Rc::new(step.template)),
            restarts: 0,
        };
        self.later(ctx, after, Task::Make { owner: id.uid.clone(), pod: Box::new(pod), attempt });
        State::Open
    }

    /// Deletes a pod as `podGC` says, at the end of the pod or of its workflow.
    fn collect(&mut self, ctx: &mut Ctx<'_>, pod: &Pod, is_good: bool, when: When) {
        if !self.is_assumed {
            return;
        }
        let Some((strategy, delay)) = gc_of(ctx, pod) else { return };
        let is_due = match (strategy.as_str(), when) {
            ("OnPodCompletion", When::Pod) | ("OnWorkflowCompletion", When::Workflow) => true,
            ("OnPodSuccess", When::Pod) | ("OnWorkflowSuccess", When::Workflow) => is_good,
            _ => false,
        };
        if is_due {
            let task = Task::Collect { key: pod.meta.key(), uid: pod.meta.uid.clone() };
            self.later(ctx, delay, task);
        }
    }
}

/// Whether the handler of its end (`onExit`) is run: not after `Terminate`.
fn is_followed(run: &Run, state: State) -> bool {
    state != State::Open && run.stop != Some(Stop::Terminated) && !run.is_blind
}

/// How a pod is to be deleted, and how long after: as it says itself, else its workflow.
fn gc_of(ctx: &Ctx<'_>, pod: &Pod) -> Option<(String, Span)> {
    if let Some(own) = pod.meta.annotations.value(GC_STRATEGY) {
        let (strategy, delay) = own.split_once('/').unwrap_or((own, ""));
        return Some((strategy.to_owned(), delay.parse().unwrap_or(GC_DELAY)));
    }
    let owner = pod.meta.controller()?;
    let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
    let raw = retry::raw(ctx.view(), &key)?;
    let spec = retry::spec_of(ctx.view(), &raw);
    let of = |key: &str| spec.pointer(&format!("/podGC/{key}")).and_then(Value::as_str);
    let delay = of("deleteDelayDuration").and_then(|text| text.parse().ok());
    Some((of("strategy")?.to_owned(), delay.unwrap_or(GC_DELAY)))
}

#[cfg(test)]
mod tests;
