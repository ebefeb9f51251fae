//! As much of Argo's workflow controller as a drain can see: it records how pods ended, and takes away the budget of a
//! workflow that is over.
//!
//! A pod that has ended is labelled `workflows.argoproj.io/completed: "true"` once its result is stored; until then its
//! removal loses the result (`workflow/controller/operator.go`, `pod/cleanup.go`). Which steps would follow is not
//! simulated: a workflow counts as over with the last of its pods that are there.

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::object::{Kind, Object};
use replank_model::text::Name;
use replank_model::view::{Change, Ix};

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
/// From a pod's end to its record: the controller looks at a workflow again after a change, by its queue's pace.
const RECORDING: Range = Range::secs(1, 5);

pub(crate) fn watch(ctx: &mut Ctx<'_>, change: &Change) {
    let Change::Object { slot, old, new: Some(Object::Pod(pod)) } = change else { return };
    let was_unrecorded = matches!(old, Some(Object::Pod(old)) if is_unrecorded(old));
    if is_unrecorded(pod) && !was_unrecorded {
        let span = RECORDING.draw(ctx.draws.draw(pod.meta.uid.as_str(), Purpose::Phase, 0));
        ctx.agenda.after(span, Event::Control(ControlDue::Workflow(*slot)));
    }
}

pub(crate) fn handle(ctx: &mut Ctx<'_>, slot: u32) {
    let pod = ctx.view().pods.get(Ix::<Pod>::new(slot)).filter(|pod| is_unrecorded(pod)).cloned();
    let Some(pod) = pod else { return };
    let written = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
        pod.meta.labels = pod.meta.labels.with(COMPLETED, "true");
    });
    debug_assert!(written.is_ok(), "the pod was just read");
    end_if_over(ctx, &pod);
}

fn is_unrecorded(pod: &Pod) -> bool {
    pod.is_terminal() && pod.meta.labels.value(COMPLETED) == Some("false")
}

fn end_if_over(ctx: &mut Ctx<'_>, recorded: &Pod) {
    let (Some(owner), Some(workflow)) = (recorded.meta.controller(), recorded.meta.labels.get(WORKFLOW))
    else {
        return;
    };
    let is_going = |pod: &Pod| !pod.is_terminal() || is_unrecorded(pod);
    if ctx.view().pods_of(&owner.uid).iter().any(|ix| is_going(&ctx.view().pods[*ix])) {
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
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use replank_model::time::Span;

    use super::*;
    use crate::{PodAct, World, testing};

    #[test]
    fn a_result_is_recorded_and_the_budget_goes_with_the_last_pod() {
        let owner = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "w",
            "controller": true}]);
        let pod = |name: &str| {
            let mut pod = testing::running(name, "n");
            pod["metadata"]["ownerReferences"] = owner.clone();
            pod["metadata"]["labels"] = json!({WORKFLOW: "w", COMPLETED: "false"});
            pod["spec"]["restartPolicy"] = "Never".into();
            pod
        };
        let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
            "metadata": {"name": "w", "namespace": "shop", "uid": "w"}});
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "w", "namespace": "shop", "uid": "b", "ownerReferences": owner},
            "spec": {"minAvailable": 9999, "selector": {"matchLabels": {WORKFLOW: "w"}}}});
        let node = testing::node("n", "a");
        let mut world = testing::world(vec![node, workflow, pod("one"), pod("two"), budget]);
        let end = |world: &mut World, name: &str| {
            world.act(&Key::new("shop", name), PodAct::Exit(0));
            world.pass(Span::from_secs(10));
        };
        let completed = |world: &World, name: &str| {
            let pod = world.view().pods.by_key(&Key::new("shop", name)).expect("it stays");
            pod.meta.labels.value(COMPLETED).map(str::to_owned)
        };
        end(&mut world, "one");
        assert_eq!(completed(&world, "one").as_deref(), Some("true"));
        assert_eq!(completed(&world, "two").as_deref(), Some("false"));
        assert!(world.get(Kind::PodDisruptionBudget, "w").is_some());
        end(&mut world, "two");
        assert_eq!(completed(&world, "two").as_deref(), Some("true"));
        assert!(world.get(Kind::PodDisruptionBudget, "w").is_none());
    }
}
