//! Pods that a topology spread keeps on a node because the node itself is the domain.
//!
//! A cordoned node counts as a domain of a spread over host names for as long as it is there (`nodeTaintsPolicy: Ignore` is the default): its pods are taken from it, it becomes the
//! emptiest domain, and nothing may be placed anywhere else by `maxSkew`. `kubectl drain` takes them all the same, and they are Pending until the node is gone. So does a run whose plan says
//! `spread: lastPending`, if they have room on the nodes that stay once the node is gone; otherwise the reason names this way.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_facts::plan::Spread;
use replank_facts::room::Room;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::affinity::{InclusionPolicy, UnsatisfiableAction};
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};
use replank_model::view::View;
use replank_protocol::waiting::{PodWait, WaitingOn};

use super::context::Context;
use super::drain::Works;

/// What becomes of pods of one node that have no room while it is there, for the reason `on`.
///
/// # Errors
/// The reason, if it stands; with what the plan could say instead, if that may help.
pub(super) fn instead(
    ctx: &Context<'_>,
    works: &Works<'_>,
    pods: &[&Arc<Pod>],
    on: WaitingOn,
) -> Result<(), WaitingOn> {
    let Some(node) =
        pods.iter().find(|pod| is_last_of_domain(ctx.view, pod)).and_then(|pod| pod.node.clone())
    else {
        return Err(on);
    };
    match ctx.scope.plan.care.spread {
        Spread::LastPending if has_room_once_gone(ctx, works, &node, pods) => Ok(()),
        Spread::LastPending => Err(on),
        Spread::Honour => Err(hinted(on)),
    }
}

/// The reason, with what the plan could say.
fn hinted(on: WaitingOn) -> WaitingOn {
    if let WaitingOn::Pod(PodWait::Room { pod, message }) = &on
        && message.contains("topology spread")
    {
        let hint = "the cordoned node counts for the spread until it is gone; `spread: lastPending` in the plan evicts the pod, which is then Pending until then";
        let message = Text::from(format!("{message} ({hint})"));
        return WaitingOn::Pod(PodWait::Room { pod: pod.clone(), message });
    }
    on
}

/// Whether a pod's own node is all of a domain over which it is spread, and counts though it is cordoned.
fn is_last_of_domain(view: &View, pod: &Pod) -> bool {
    let Some(node) = pod.node.as_ref().and_then(|name| view.node(name)) else { return false };
    pod.spec.topology_spread_constraints.iter().any(|one| {
        let is_hard = one.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule;
        let counts = one.node_taints_policy != Some(InclusionPolicy::Honor);
        let value = node.meta.labels.get(&one.topology_key);
        let of_domain =
            || view.nodes.unordered().filter(|(_, other)| other.meta.labels.get(&one.topology_key) == value);
        is_hard && counts && value.is_some() && of_domain().count() == 1
    })
}

/// Whether pods have room on nodes that stay when their node is gone, beside all that will be placed before them.
fn has_room_once_gone(ctx: &Context<'_>, works: &Works<'_>, name: &NodeName, pods: &[&Arc<Pod>]) -> bool {
    let Some(node) = ctx.view.node(name) else { return false };
    let mut view = ctx.view.clone();
    for ix in ctx.view.pods_on(name) {
        view.apply(Delta::Gone(Object::from(ctx.view.pods[*ix].clone()).reference()));
    }
    view.apply(Delta::Gone(Object::from(node.clone()).reference()));
    let mut closed: BTreeSet<NodeName> = ctx.fleet.closed();
    closed.remove(name);
    let mut room = Room::load(&view, closed);
    let mut search = room.search(&view);
    for pod in works.before_others() {
        // One that finds none waits, and takes nothing.
        let _found = search.fits(pod);
    }
    pods.iter().all(|pod| search.fits(pod).is_ok())
}
