//! How Workflows end: status, budget, pods that were kept until then, and what goes later (argo-workflows `operator.go` `markWorkflowPhase`,
//! `workflow/gccontroller`).

use replank_facts::batch::retry::{self, number};
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Uid};
use replank_model::time::Span;
use serde_json::Value;

use super::run::{State, Stop};
use super::{GROUP, Id, Task, WORKFLOW, When, Workflows, is_unrecorded, write};
use crate::controllers::Ctx;
use replank_apiserver::{DeleteOptions, Propagation};

impl Workflows {
    /// The last step of a Workflow has ended.
    pub(super) fn end(&mut self, ctx: &mut Ctx<'_>, id: &Id, spec: &Value, is_good: bool) {
        let now = ctx.api.timestamp();
        let phase = if is_good { "Succeeded" } else { "Failed" };
        let is_replaced = self.runs.get(&id.uid).is_some_and(|run| run.stop == Some(Stop::Terminated));
        write(ctx, "Workflow", &id.key, |raw| {
            if is_replaced {
                // Whoever reads it knows that nothing went wrong (argo-workflows `util.TerminateWorkflow`).
                raw["spec"]["shutdown"] = "Terminate".into();
            }
            raw["metadata"]["labels"]["workflows.argoproj.io/phase"] = phase.into();
            raw["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true".into();
            raw["status"]["phase"] = phase.into();
            raw["status"]["finishedAt"] = now.to_string().into();
        });
        delete_budget(ctx, &id.key, &id.uid);
        let pods: Vec<Pod> = self.pods_of(ctx.view(), id).cloned().collect();
        for pod in pods {
            self.collect(ctx, &pod, is_good, When::Workflow);
        }
        let ttl = |key: &str| spec.pointer(&format!("/ttlStrategy/{key}")).and_then(number);
        let own = if is_good { "secondsAfterSuccess" } else { "secondsAfterFailure" };
        if let Some(seconds) = ttl(own).or_else(|| ttl("secondsAfterCompletion")) {
            self.later(ctx, Span::from_secs(seconds), Task::Expire(id.clone()));
        }
        self.runs.remove(&id.uid);
        if let Some(ended) = ctx.view().other(GROUP, "Workflow", &id.key).cloned() {
            self.strike(ctx, &ended);
        }
    }

    /// Ends a Workflow before its time: nothing more is begun, pods that wait go; those that run go, too, if it is terminated, and else
    /// end by their own deadlines.
    pub(super) fn stop(&mut self, ctx: &mut Ctx<'_>, id: &Id, why: Stop) {
        let Some(raw) = self.live(ctx.view(), id) else { return };
        let spec = retry::spec_of(ctx.view(), &raw);
        self.know(ctx, id, &raw, &spec);
        let Some(run) = self.runs.get_mut(&id.uid) else { return };
        run.stop = Some(why);
        let waiting = self.tasks.iter().filter_map(|(number, task)| match task {
            Task::Make { owner, .. } => (*owner == id.uid).then_some(*number),
            Task::Collect { .. }
            | Task::Look(_)
            | Task::Resume(..)
            | Task::Deadline(_)
            | Task::Expire(_)
            | Task::Tick { .. } => None,
        });
        for number in waiting.collect::<Vec<u64>>() {
            self.tasks.remove(&number);
        }
        let is_to_go = |pod: &&Pod| match why {
            Stop::Deadline => pod.status.phase == PodPhase::Pending,
            Stop::Terminated => !pod.is_terminal(),
        };
        let pods: Vec<Pod> = self.pods_of(ctx.view(), id).filter(is_to_go).cloned().collect();
        for pod in pods {
            self.settle_pod(ctx, &pod, State::Bad);
            let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
            // One that is gone meanwhile is what was wanted.
            let _gone = ctx.api.delete(Kind::Pod, &pod.meta.key(), &options);
        }
        self.advance(ctx, id);
    }
}

/// Deletes a Workflow; its pods go with it.
pub(super) fn delete(ctx: &mut Ctx<'_>, id: &Id) {
    let known =
        ctx.view().other(GROUP, "Workflow", &id.key).filter(|known| known.meta.uid == id.uid).cloned();
    let Some(known) = known else { return };
    delete_known(ctx, known);
}

pub(super) fn delete_known(ctx: &mut Ctx<'_>, known: std::sync::Arc<Other>) {
    let propagation = Some(Propagation::Background);
    let options = DeleteOptions { propagation, ..DeleteOptions::default() };
    let deleted = ctx.api.delete_known(&Object::Other(known), &options);
    debug_assert!(deleted.is_ok(), "the workflow was just read");
}

/// Where nobody looks after Workflows: the budget goes with the last pod.
pub(super) fn free_budget(ctx: &mut Ctx<'_>, recorded: &Pod) {
    let (Some(owner), Some(workflow)) = (recorded.meta.controller(), recorded.meta.labels.get(WORKFLOW))
    else {
        return;
    };
    let is_going = |pod: &Pod| !pod.is_terminal() || is_unrecorded(pod);
    if !ctx.view().pods_of(&owner.uid).iter().any(|ix| is_going(&ctx.view().pods[*ix])) {
        let key = Key::new(recorded.meta.namespace.clone(), Name::from(workflow.clone()));
        delete_budget(ctx, &key, &owner.uid.clone());
    }
}

fn delete_budget(ctx: &mut Ctx<'_>, key: &Key, workflow: &Uid) {
    let budget = ctx.view().find::<PodDisruptionBudget>(key);
    let is_its_own =
        |budget: &PodDisruptionBudget| budget.meta.owner_references.iter().any(|of| of.uid == *workflow);
    if budget.is_some_and(|budget| is_its_own(budget)) {
        let deleted = ctx.api.delete(Kind::PodDisruptionBudget, key, &DeleteOptions::default());
        debug_assert!(deleted.is_ok(), "the budget was just read");
    }
}
