//! As much of Argo's workflow controller as a drain can see (argo-workflows `workflow/controller/operator.go`, `pod/cleanup.go`,
//! docs/retries).
//!
//! - It records how pods ended: one that has ended is labelled `workflows.argoproj.io/completed: "true"` once its result is stored, and its
//!   finalizer is taken away, if the controller keeps pods by one. Until then its removal loses the result.
//! - A pod that is gone unrecorded is a step in error, `pod deleted`; one that was evicted may have been read in time, as failed with the exit
//!   code of its main container. Which of the two it is, is a race, and drawn. A pod that had not begun is just made again.
//! - A step that failed or is in error is run again as its retry strategy says ([`replank_core::batch::retry`]): policy, expression, limit,
//!   backoff. Where the expression cannot be worked out it is not run again.
//! - Pods are deleted as `podGC` says, and the budget of a workflow goes when it is over.
//!
//! - When a step has ended well, those that follow it are begun ([`follow`]). A workflow counts as over with the last of its pods that are there and the
//!   last that is to be made.
//!
//! Steps are run only where operators are assumed: recordings of a control plane have none.

mod follow;
mod lost;

use std::collections::{BTreeMap, BTreeSet};

use replank_core::batch::retry;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::Ctx;
use super::control::ControlDue;
use crate::api::DeleteOptions;
use crate::cloud::Range;
use crate::draw::Purpose;
use crate::world::Event;

/// Name of the workflow that a pod is of.
const WORKFLOW: &str = "workflows.argoproj.io/workflow";
/// Whether a pod's result is stored.
const COMPLETED: &str = "workflows.argoproj.io/completed";
/// Keeps a pod until its result is stored, where the controller is told to (`ARGO_POD_STATUS_CAPTURE_FINALIZER`).
const FINALIZER: &str = "workflows.argoproj.io/status";
/// How a pod is to be deleted: strategy, and after a slash the delay.
const GC_STRATEGY: &str = "workflows.argoproj.io/pod-gc-strategy";
/// `deleteDelayDuration` where nothing is said.
const GC_DELAY: Span = Span::from_secs(5);
/// From a pod's end to its record: the controller looks at a workflow again after a change, by its queue's pace.
const RECORDING: Range = Range::secs(1, 5);

/// What the controller is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Record how the pod in a slot ended.
    Record(u32),
    /// The task of a number.
    Task(u64),
}

/// Something for later.
#[derive(Debug)]
enum Task {
    /// A step is run, once more or for the first time.
    Make { owner: Uid, pod: Box<Pod>, attempt: Attempt },
    /// A pod is deleted.
    Collect { key: Key, uid: Uid },
}

/// Which attempt of its step a pod is.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    /// Attempts before it, beyond those that the snapshot does not tell.
    retries: i64,
    /// When the first began.
    first: Option<Time>,
}

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct Workflows {
    is_assumed: bool,
    /// Of pods that were made in place of others.
    attempts: FxHashMap<Uid, Attempt>,
    tasks: BTreeMap<u64, Task>,
    next: u64,
    /// Steps that were begun here, of which workflow.
    started: BTreeSet<(Uid, String)>,
    /// Steps that ended badly and are not run again.
    failed: BTreeSet<(Uid, String)>,
    /// Nodes of which the snapshot's status is out of date.
    ended: BTreeSet<String>,
}

impl Workflows {
    /// Runs lost steps again from now on.
    pub(crate) fn assume(&mut self) {
        self.is_assumed = true;
    }

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
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Record(slot) => self.record(ctx, slot),
            Due::Task(number) => match self.tasks.remove(&number) {
                Some(Task::Make { pod, attempt, owner: _ }) => self.make(ctx, *pod, attempt),
                Some(Task::Collect { key, uid }) => {
                    let options = DeleteOptions { uid: Some(uid), ..DeleteOptions::default() };
                    // One that somebody else has deleted meanwhile is what was wanted.
                    let _gone = ctx.api.delete(Kind::Pod, &key, &options);
                }
                None => {}
            },
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
            self.note_end(&pod);
            self.follow(ctx, &pod);
        }
        self.collect(ctx, &pod, pod.status.phase == PodPhase::Succeeded, When::Pod);
        self.end_if_over(ctx, &pod);
    }

    fn later(&mut self, ctx: &mut Ctx<'_>, span: Span, task: Task) {
        let number = self.next;
        self.next += 1;
        self.tasks.insert(number, task);
        ctx.agenda.after(span, Event::Control(ControlDue::Workflow(Due::Task(number))));
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

    fn end_if_over(&mut self, ctx: &mut Ctx<'_>, recorded: &Pod) {
        let (Some(owner), Some(workflow)) = (recorded.meta.controller(), recorded.meta.labels.get(WORKFLOW))
        else {
            return;
        };
        let is_again = |task: &Task| matches!(task, Task::Make { owner: of, .. } if *of == owner.uid);
        let pods: Vec<_> =
            ctx.view().pods_of(&owner.uid).iter().map(|ix| ctx.view().pods[*ix].clone()).collect();
        let is_going = |pod: &Pod| !pod.is_terminal() || is_unrecorded(pod);
        if self.tasks.values().any(is_again) || pods.iter().any(|pod| is_going(pod)) {
            return;
        }
        let key = Key::new(recorded.meta.namespace.clone(), Name::from(workflow.clone()));
        let budget = ctx.view().find::<PodDisruptionBudget>(&key);
        let is_its_own =
            |budget: &PodDisruptionBudget| budget.meta.owner_references.iter().any(|of| of.uid == owner.uid);
        if budget.is_some_and(|budget| is_its_own(budget)) {
            let deleted = ctx.api.delete(Kind::PodDisruptionBudget, &key, &DeleteOptions::default());
            debug_assert!(deleted.is_ok(), "the budget was just read");
        }
        let is_good = pods.iter().all(|pod| pod.status.phase == PodPhase::Succeeded);
        for pod in pods {
            self.collect(ctx, &pod, is_good, When::Workflow);
        }
    }
}

/// At which end pods are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// That of the pod.
    Pod,
    /// That of the workflow.
    Workflow,
}

fn is_unrecorded(pod: &Pod) -> bool {
    pod.is_terminal() && pod.meta.labels.value(COMPLETED) == Some("false")
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
