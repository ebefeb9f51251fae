//! What EKS does in the groups behind its managed node groups: it has a termination hook there, drains the node of an instance that the hook holds, and
//! completes the action by itself. Nobody else is to complete it.

use std::sync::Arc;

use replank_model::object::cloud::LifecycleHook;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_protocol::lifecycle::{Action, Place};
use replank_protocol::proof::goes_with_its_node;

use crate::asked::{Asked, Asker, ask};
use crate::context::Ctx;

/// The termination hook of a managed node group, as users report it.
pub const TERMINATION_HOOK: &str = "Terminate-LC-Hook";

/// Whether a hook is EKS's.
pub(super) fn is_of_eks(hook: &LifecycleHook) -> bool {
    &*hook.name == TERMINATION_HOOK
}

/// Its action for an instance.
pub(super) fn action(group: GroupName, instance: InstanceId) -> Action {
    Action { group, hook: TERMINATION_HOOK.into(), instance, token: None, to: Place::Ec2 }
}

/// Cordons a node and evicts its pods; how many are left, and what was asked for.
pub(super) fn drain(ctx: &mut Ctx<'_>, name: &NodeName) -> (usize, Vec<Asked>) {
    let Some(node) = ctx.view().node(name) else { return (0, Vec::new()) };
    if !node.spec.unschedulable {
        let key = Key::cluster(name.text().clone());
        let written = ctx.api.modify::<Node>(&key, |node| node.spec.unschedulable = true);
        debug_assert!(written.is_ok(), "the node was just looked up");
    }
    let left: Vec<Arc<Pod>> =
        ctx.view().sorted_pods_on(name).into_iter().filter(|pod| !goes_with_its_node(pod)).cloned().collect();
    let here = left.iter().filter(|pod| !pod.is_terminating());
    // A budget's refusal is tried again with the next look.
    let asked = here.map(|pod| ask(ctx.api, pod.clone(), Asker::Eks)).collect();
    (left.len(), asked)
}
