//! Nodes of a managed node group that EKS drains for an update: what cannot leave them now, and what the plan has done about it.
//!
//! Once new nodes are Ready, EKS cordons all old ones and drains `maxUnavailable` of them at a time, drawn at random, by eviction. It fails the update when a pod
//! is left on a node after a quarter of an hour ("Understand each phase of node updates" in the EKS user guide). It says nowhere which node it drains, nor
//! since when. What shows is that nothing on the node could be evicted and was not: each pod left is refused by its budget, or on its way out.
//!
//! Nothing of what EKS does is done here: no cordon, no eviction, nothing to instances. What the plan allows besides is done as on nodes that the run drains itself:
//! with `singletons: surge` a rolling restart moves a workload of which no pod can be spared, as soon as its node is cordoned, since EKS takes up the next node without
//! saying so. A stuck pod is named with what is known: what `stuckTerminating` does elsewhere needs the instance, and that is EKS's to terminate.

use std::sync::Arc;

use replank_facts::budget::Ledger;
use replank_facts::node_pods::{LeavingPod, NodePods};
use replank_facts::plan::Singletons;
use replank_facts::stuck::{Census, is_stuck};
use replank_facts::target;
use replank_model::object::cloud::{NodeGroup, NodegroupChange, NodegroupUpdate};
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_protocol::policy::StuckAction;
use replank_protocol::proof::goes_with_its_node;
use replank_protocol::waiting::{RollWait, Subject, WaitingOn};

use super::context::{Context, GroupRoll};
use super::drain::Works;
use super::singleton;
use crate::moving;

/// How long EKS tries to empty a node.
const DRAINS_FOR: Span = Span::from_minutes(15);

/// A node that EKS has cordoned for an update.
struct Cordoned {
    name: NodeName,
    /// Before when EKS has not begun to drain it: its cordon, as far as that is known, and no sooner than the update.
    since: Option<Time>,
}

/// What is left on a node of which nothing can be evicted now.
struct Left {
    refused: Vec<(Key, WaitingOn)>,
    leaving: Vec<LeavingPod>,
}

/// Whether an update makes nodes as the plan says.
pub(super) fn leads_there(ctx: &Context<'_>, group: &NodeGroup, update: &NodegroupUpdate) -> bool {
    match &update.change {
        NodegroupChange::Version { to } => group
            .templates
            .get(to)
            .is_some_and(|template| target::meets_template(&ctx.scope.plan.target, group, template)),
        NodegroupChange::Config { .. } => false,
    }
}

/// Whether EKS has cordoned a node of these groups.
pub(super) fn is_any(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> bool {
    !cordoned(ctx, rolls).is_empty()
}

/// Whether the plan has anything moved by a rolling restart.
pub(super) fn surges(ctx: &Context<'_>) -> bool {
    match ctx.scope.plan.care.singletons {
        Singletons::Surge => true,
        // EKS leaves out no node.
        Singletons::Evict | Singletons::Skip => false,
    }
}

/// Moves what the plan has moved by a rolling restart off the nodes that EKS has cordoned.
pub(super) fn surge(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], works: &mut Works<'_>) {
    for node in cordoned(ctx, rolls) {
        for bound in NodePods::of(ctx.view, &ctx.scope.plan, &node.name).movers {
            // Whatever else moves is EKS's to evict.
            let _is_moved = singleton::surge(ctx, works, &bound);
        }
    }
}

/// Says what cannot leave the nodes that EKS drains, and how long EKS tries.
pub(super) fn report(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], ledger: &mut Ledger<'_>) {
    let mut census = None;
    for node in cordoned(ctx, rolls) {
        let Some(left) = Left::of(ctx, ledger, &node.name) else { continue };
        let not_before = node.since.map(|since| since + DRAINS_FOR);
        let asked = left.leaving.iter().map(|leaving| leaving.due - leaving.grace);
        let seen = asked.filter(|at| node.since.is_none_or(|since| *at >= since)).min();
        let by = seen.map(|seen| seen + DRAINS_FOR);
        let pods = u32::try_from(left.refused.len() + left.leaving.len()).unwrap_or(u32::MAX);
        ctx.wait(Subject::Node(node.name.clone()), RollWait::EksDrain { pods, not_before, by }.into());
        for (pod, on) in left.refused {
            ctx.wait(Subject::Pod(pod), on);
        }
        for leaving in &left.leaving {
            let stuck = &ctx.scope.plan.care.stuck;
            let outlives = not_before.or(by).is_some_and(|until| leaving.due > until);
            if !is_stuck(stuck, &leaving.pod, ctx.now) {
                let from = ctx.scope.plan.care.stuck_from(leaving.due);
                ctx.wake_at(from);
                if !outlives {
                    continue;
                }
            }
            let on = leaves(ctx, &mut census, leaving);
            ctx.wait(Subject::Pod(leaving.pod.meta.key()), on);
        }
    }
}

/// A pod that is on its way out.
pub(super) fn leaving(pod: &Arc<Pod>) -> Option<LeavingPod> {
    let due = pod.meta.deletion_timestamp?;
    let grace = pod.meta.deletion_grace_period_seconds.unwrap_or_else(|| pod.grace_seconds());
    Some(LeavingPod::new(pod, due, Span::from_secs(grace)))
}

/// What a pod on its way out waits for. Whatever the plan says, its instance is not ours to terminate.
pub(super) fn leaves(ctx: &Context<'_>, census: &mut Option<Census>, leaving: &LeavingPod) -> WaitingOn {
    let policy = &ctx.scope.plan.care.stuck;
    moving::leaves(ctx.view, (policy, StuckAction::Report), census, leaving, ctx.now)
}

/// Old nodes of groups that EKS updates as the plan says, as far as they are cordoned.
fn cordoned(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> Vec<Cordoned> {
    let mut all = Vec::new();
    for roll in rolls {
        let Some(group) = roll.group else { continue };
        let Some(update) = group.update_in_progress().filter(|update| leads_there(ctx, group, update)) else {
            continue;
        };
        for name in &roll.nodes.found {
            let Some(node) = ctx.view.node(name).filter(|node| node.spec.unschedulable) else { continue };
            let since = node.cordoned_since().map(|since| since.max(update.created));
            all.push(Cordoned { name: name.clone(), since });
        }
    }
    all
}

impl Left {
    /// What is left on a node; `None` where EKS does not drain it yet: a pod could be evicted now and is not, or there is none.
    fn of(ctx: &Context<'_>, ledger: &mut Ledger<'_>, name: &NodeName) -> Option<Self> {
        let mut left = Self { refused: Vec::new(), leaving: Vec::new() };
        for ix in ctx.view.pods_on(name) {
            let pod = &ctx.view.pods[*ix];
            if goes_with_its_node(pod) {
                continue;
            }
            match leaving(pod) {
                Some(leaving) => left.leaving.push(leaving),
                None => left.refused.push((pod.meta.key(), ledger.check(*ix, pod).err()?)),
            }
        }
        let is_empty = left.refused.is_empty() && left.leaving.is_empty();
        (!is_empty).then_some(left)
    }
}
