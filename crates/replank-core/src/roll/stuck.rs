//! Pods that do not end on nodes that are being drained: what is said of them, and what the plan has done about them.
//!
//! A pod is waited for until it is past its grace by the plan's `stuckTerminating.after`. Then it is stuck ([`replank_facts::stuck`]), and
//!
//! - `report` names it with what is known, and waits: a person decides;
//! - `replaceNode` ends its instance once nothing but stuck pods is left on the node: cordoned, by id, and counted as any other
//!   node's end. Its pods go with the machine, and garbage collection takes them out of the API when the node is gone;
//! - `forceDelete` does the same, and when the machine is off takes what is left out of the API at once.
//!
//! While its instance may run, no pod is deleted by force: its containers may go on, and a StatefulSet would start the same pod
//! a second time beside them, on the same volume.
//!
//! On the way back nodes are left because something is wrong with what they were made from: there stuck pods are never only
//! reported, or the run could not go back from an image whose kubelet cannot stop pods.

use replank_model::object::cloud::InstanceState;
use replank_model::object::pod::Pod;

use super::context::{Context, GroupRoll};
use super::dead;
use super::evict::Drain;
use super::member::{Member, Scope};
use replank_facts::node_pods::{LeavingPod, NodePods};
use replank_facts::plan::Base;
use replank_facts::stuck::Census;
use replank_protocol::command::{Effect, KubernetesEffect, PodTarget};
use replank_protocol::policy::StuckAction;
use replank_protocol::waiting::{PodWait, Subject, WaitingOn};

use crate::moving;

/// What is done about stuck pods: what the plan says; on the way back their nodes are replaced at least.
pub(super) fn action(scope: &Scope) -> StuckAction {
    let asked = scope.plan.care.stuck.action;
    match scope.plan.target.base {
        Base::Original => asked.max(StuckAction::ReplaceNode),
        Base::Current => asked,
    }
}

/// The same on a certain node: one that is dead is replaced at least.
fn action_on(ctx: &Context<'_>, member: &Member) -> StuckAction {
    let asked = action(ctx.scope);
    if dead::is_dead(ctx, member) { asked.max(StuckAction::ReplaceNode) } else { asked }
}

fn is_stuck(ctx: &Context<'_>, leaving: &LeavingPod) -> bool {
    ctx.now >= ctx.scope.plan.care.stuck_from(leaving.due)
}

/// Whether a node may be ended as far as its pods are concerned: it is empty, or has stuck pods only and the plan says so.
pub(super) fn may_end(ctx: &Context<'_>, member: &Member, node_pods: &NodePods) -> bool {
    let is_left =
        || node_pods.is_left_to_leaving() && node_pods.leaving.iter().all(|leaving| is_stuck(ctx, leaving));
    match action_on(ctx, member) {
        StuckAction::Report => node_pods.is_empty(),
        StuckAction::ReplaceNode | StuckAction::ForceDelete => node_pods.is_empty() || is_left(),
    }
}

/// Waits for the pods that are on their way out, and names those that are stuck.
pub(super) fn wait_for(ctx: &mut Context<'_>, drains: &[Drain<'_>]) {
    let mut census = None;
    for drain in drains {
        let (mut pods, mut known) = (0_u32, None);
        for leaving in &drain.node_pods.leaving {
            if is_stuck(ctx, leaving) {
                name(ctx, &mut census, leaving);
            } else {
                let (from, grace_max) = known.unwrap_or((leaving.due, leaving.grace));
                known = Some((leaving.due.min(from), leaving.grace.max(grace_max)));
                pods = pods.saturating_add(1);
            }
        }
        if let Some((from, grace_max)) = known {
            let on = WaitingOn::Pod(PodWait::Terminating { pods, grace_max });
            let until = ctx.scope.plan.care.stuck_from(from);
            ctx.wait_until(Subject::Node(drain.member.name.clone()), on, until);
        }
    }
}

/// Says of a pod on its way out what it waits for; the cluster's stuck pods are counted when one is first met.
pub(super) fn name(ctx: &mut Context<'_>, census: &mut Option<Census>, leaving: &LeavingPod) {
    let member = leaving.pod.node.as_ref().and_then(|name| ctx.fleet.members.get(name));
    let action = member.map_or_else(|| action(ctx.scope), |member| action_on(ctx, member));
    let policy = &ctx.scope.plan.care.stuck;
    let on = moving::leaves(ctx.view, (policy, action), census, leaving, ctx.now);
    ctx.wait(Subject::Pod(leaving.pod.meta.key()), on);
}

/// Takes out of the API what is left of stuck pods whose machines are off: only on nodes that bear a mark of this run.
pub(super) fn force_delete(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) {
    if action(ctx.scope) != StuckAction::ForceDelete {
        return;
    }
    for name in rolls.iter().flat_map(|roll| &roll.nodes.leaving) {
        let member = ctx.member(name);
        let known = ctx.view.instances().get(&member.instance);
        let is_off = known.is_none_or(|instance| instance.state == InstanceState::Terminated);
        if !is_off || member.expires.is_none() {
            continue;
        }
        for leaving in NodePods::of(ctx.view, &ctx.scope.plan, name).leaving {
            if is_stuck(ctx, &leaving) {
                let (key, uid) = (leaving.pod.meta.key(), leaving.pod.meta.uid.clone());
                let id = ctx.key("force-delete", &uid);
                let effect = Effect::Kubernetes(KubernetesEffect::ForceDelete {
                    pod: PodTarget { key: key.clone(), uid },
                    instance: member.instance.clone(),
                });
                ctx.send(Subject::Pod(key), "forced deletion", id, effect);
            }
        }
    }
}

/// The pods that may still be on a node when its instance is terminated: those that do not end.
pub(super) fn stuck_pods(node_pods: &NodePods) -> Vec<PodTarget> {
    let target = |pod: &Pod| PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
    node_pods.leaving.iter().map(|leaving| target(&leaving.pod)).collect()
}
