//! What Workflows and their pods are called.

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::Uid;

/// Name of the workflow that a pod is of.
pub(super) const WORKFLOW: &str = "workflows.argoproj.io/workflow";

/// Whether a pod's result is stored.
pub(super) const COMPLETED: &str = "workflows.argoproj.io/completed";

/// Its API group.
pub(super) const GROUP: &str = "argoproj.io";

/// One incarnation of a Workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id {
    pub(super) key: Key,
    pub(super) uid: Uid,
}

/// The Workflow that a pod is of.
pub(super) fn workflow_of(pod: &Pod) -> Option<Id> {
    let owner = pod.meta.controller().filter(|owner| &*owner.kind == "Workflow")?;
    let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
    Some(Id { key, uid: owner.uid.clone() })
}

pub(super) fn is_unrecorded(pod: &Pod) -> bool {
    pod.is_terminal() && pod.meta.labels.value(COMPLETED) == Some("false")
}
