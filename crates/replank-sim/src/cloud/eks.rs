//! What EKS does in the groups behind its managed node groups: it has a termination hook there, drains the node of an instance that the hook holds, and
//! completes the action by itself. Nobody else is to complete it.

use replank_apiserver::{DeleteOptions, Eviction};
use replank_model::object::cloud::LifecycleHook;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::Time;
use replank_protocol::lifecycle::{Action, Place};
use replank_protocol::proof::goes_with_its_node;

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

/// Cordons a node and evicts its pods; how many are left.
pub(super) fn drain(ctx: &mut Ctx<'_>, name: &NodeName) -> usize {
    let Some(node) = ctx.view().node(name) else { return 0 };
    if !node.spec.unschedulable {
        let key = Key::cluster(name.text().clone());
        let written = ctx.api.modify::<Node>(&key, |node| node.spec.unschedulable = true);
        debug_assert!(written.is_ok(), "the node was just looked up");
    }
    let pods = ctx.view().sorted_pods_on(name);
    let left: Vec<(Key, Option<Time>)> = pods
        .iter()
        .filter(|pod| !goes_with_its_node(pod))
        .map(|pod| (pod.meta.key(), pod.meta.deletion_timestamp))
        .collect();
    for (key, _) in left.iter().filter(|(_, deleted)| deleted.is_none()) {
        // A budget's refusal is tried again with the next look.
        let _answer = ctx.api.evict(&Eviction::of(key.clone(), DeleteOptions::default()));
    }
    left.len()
}
