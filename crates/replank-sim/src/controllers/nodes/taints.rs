//! Taints that say in what state a node is (pkg/controller/nodelifecycle `doNoScheduleTaintingPass`,
//! `SwapNodeControllerTaint`).

use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_model::view::Ix;

use crate::controllers::Ctx;

/// Taint of a node whose kubelet says that it is not ready.
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// Taint of a node that is not heard of.
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Taint of a cordoned node.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Which state of which condition means which taint.
const OF_CONDITIONS: [(&str, ConditionStatus, &str); 6] = [
    ("Ready", ConditionStatus::False, NOT_READY),
    ("Ready", ConditionStatus::Unknown, UNREACHABLE),
    ("MemoryPressure", ConditionStatus::True, "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", ConditionStatus::True, "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", ConditionStatus::True, "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", ConditionStatus::True, "node.kubernetes.io/pid-pressure"),
];

/// Brings a node's NoSchedule taints in line with its conditions and its cordon; taints of others stay.
pub(super) fn sweep(ctx: &mut Ctx<'_>, slot: u32) {
    let Some(node) = ctx.view().nodes.get(Ix::<Node>::new(slot)).cloned() else { return };
    let wanted = wanted(&node);
    let now = ctx.api.timestamp();
    swap(ctx, &node.name(), |taints| {
        taints.retain(|taint| {
            taint.effect != TaintEffect::NoSchedule || !is_ours(&taint.key) || wanted.contains(&&*taint.key)
        });
        for key in &wanted {
            add(taints, key, TaintEffect::NoSchedule, now);
        }
    });
}

/// The NoSchedule taints that a node should have.
fn wanted(node: &Node) -> Vec<&'static str> {
    let mut wanted: Vec<&str> = Vec::new();
    for condition in &node.status.conditions {
        let meant = OF_CONDITIONS
            .iter()
            .find(|(r#type, status, _)| *condition.r#type == **r#type && condition.status == *status);
        wanted.extend(meant.map(|(_, _, key)| *key));
    }
    if node.spec.unschedulable {
        wanted.push(UNSCHEDULABLE);
    }
    wanted
}

fn is_ours(key: &str) -> bool {
    key == UNSCHEDULABLE || OF_CONDITIONS.iter().any(|(_, _, ours)| *ours == key)
}

/// Gives a node one of the two NoExecute taints and takes the other.
pub(super) fn mark_no_execute(ctx: &mut Ctx<'_>, node: &NodeName, key: &'static str) {
    let now = ctx.api.timestamp();
    let opposite = if key == NOT_READY { UNREACHABLE } else { NOT_READY };
    swap(ctx, node, |taints| {
        add(taints, key, TaintEffect::NoExecute, now);
        taints.retain(|taint| !is(taint, opposite));
    });
}

/// Takes both NoExecute taints off a node.
pub(super) fn unmark_no_execute(ctx: &mut Ctx<'_>, node: &NodeName) {
    swap(ctx, node, |taints| taints.retain(|taint| !is(taint, UNREACHABLE) && !is(taint, NOT_READY)));
}

/// Whether a node has one of the two NoExecute taints.
pub(super) fn has_no_execute(node: &Node, key: &str) -> bool {
    node.spec.taints.iter().any(|taint| is(taint, key))
}

fn is(taint: &Taint, key: &str) -> bool {
    &*taint.key == key && taint.effect == TaintEffect::NoExecute
}

fn add(taints: &mut Vec<Taint>, key: &str, effect: TaintEffect, now: Time) {
    if !taints.iter().any(|taint| &*taint.key == key && taint.effect == effect) {
        taints.push(Taint { time_added: Some(now), ..Taint::new(key, effect) });
    }
}

fn swap(ctx: &mut Ctx<'_>, node: &NodeName, change: impl FnOnce(&mut Vec<Taint>)) {
    let Some(known) = ctx.view().node(node) else { return };
    let mut taints = known.spec.taints.clone();
    change(&mut taints);
    if taints != known.spec.taints {
        let key = Key::cluster(node.text().clone());
        let written = ctx.api.modify::<Node>(&key, |node| node.spec.taints = taints);
        debug_assert!(written.is_ok(), "the node was just read");
    }
}
