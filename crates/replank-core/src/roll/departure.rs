//! Nodes that leave a managed node group for another group.
//!
//! EKS owns the Auto Scaling group behind them, so no instance of it is ended by its id. What EKS offers is a lower size of the node group
//! (UpdateNodegroupConfig): it picks the instances itself, and asks no disruption budget. That does no harm only where every instance of the group is empty.
//!
//! So a node is drained like any other that moves, and is then kept: cordoned, empty, and marked as retained, while the node in its place comes up. When the last
//! one of the group is empty, the group's minimum and desired size are set to 0. Until then all of it can be taken back: the nodes are uncordoned. Where a node
//! of the group does not move, nothing is begun; where one is left out half way, the others stay as they are, and it is said why.

use replank_facts::node_pods::NodePods;
use replank_model::object::cloud::{NodeGroup, NodegroupChange, UpdateError, UpdateStatus};
use replank_model::text::{InstanceId, Text};
use replank_protocol::command::{Effect, EmptyInstance, Expected, GroupEffect};
use replank_protocol::mark::size_text;
use replank_protocol::waiting::{RollEnd, RollWait, Subject};

use super::context::{Context, GroupRoll, Source, Watched};
use super::managed_source::instances;
use super::member::{Member, NodeState};
use super::tags::wait_for_update;
use super::{start, stuck};
use crate::proof::drained;

/// Has EKS terminate what is left of managed node groups, all of whose nodes are empty; whether nothing is left.
pub(super) fn end(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let mut is_over = true;
    for source in roll.sources.iter().filter(|source| source.is_managed()) {
        if let Some(group) = source.group {
            is_over &= end_group(ctx, roll, source, group);
        }
    }
    is_over
}

fn end_group(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, source: &Source<'_>, group: &NodeGroup) -> bool {
    let (left, empty) = instances(ctx, source);
    if left == 0 && empty.is_empty() {
        return true;
    }
    let is_kept = |member: &Member| matches!(member.state, NodeState::Retained { .. });
    let subject = Subject::Group(source.name.clone());
    if let Some(update) = group.update_in_progress() {
        wait_for_update(ctx, source.name, update);
    } else if empty.iter().filter_map(|(_, member)| *member).any(|member| !is_kept(member)) {
        // It is drained first, or stays because the run ends.
    } else if group.size.desired == 0 {
        let number = u32::try_from(empty.len()).unwrap_or(u32::MAX);
        ctx.watch(roll, Watched::Unwanted, true);
        ctx.wait(subject, RollWait::Leaving { instances: number + left }.into());
    } else if let Some((id, errors)) = failed(ctx, group) {
        ctx.wait(subject, RollEnd::UpdateFailed { id, errors, left: Vec::new() }.into());
    } else if left > 0 {
        ctx.wait(subject, RollEnd::PartOfManaged { nodes: left }.into());
    } else if let Some(instances) = proofs(ctx, &empty) {
        let key = ctx.key("scale-to-zero", format!("{}/{}", source.name, size_text(group.size)));
        let effect = GroupEffect::ScaleNodegroupToZero { group: group.id(), from: group.size, instances };
        ctx.send(subject, "termination of all instances", key, Effect::Group(effect));
    }
    false
}

/// An update of the run's that was to end the group, and has failed.
fn failed(ctx: &Context<'_>, group: &NodeGroup) -> Option<(Text, Vec<UpdateError>)> {
    let update = group.update.as_ref().filter(|update| update.created >= ctx.scope.options.started)?;
    let is_to_zero = match &update.change {
        NodegroupChange::Config { to } => to.desired == 0,
        NodegroupChange::Version { .. } => false,
    };
    let has_failed = match update.status {
        UpdateStatus::Failed | UpdateStatus::Cancelled => true,
        UpdateStatus::InProgress | UpdateStatus::Successful => false,
    };
    (is_to_zero && has_failed).then(|| (update.id.clone(), update.errors.clone()))
}

/// What each of them must be; `None` while one has got pods since it was emptied: it is drained once more.
fn proofs(ctx: &mut Context<'_>, empty: &[(InstanceId, Option<&Member>)]) -> Option<Vec<EmptyInstance>> {
    let mut all = Vec::new();
    let mut is_ready = true;
    for (instance, member) in empty {
        let Some(member) = member else {
            all.push(EmptyInstance { instance: instance.clone(), expected: Expected::Unregistered });
            continue;
        };
        let pods = NodePods::of(ctx.view, &ctx.scope.plan, &member.name);
        if stuck::may_end(ctx, member, &pods) {
            let expected = drained(ctx.view, member.target(), &ctx.scope.run, stuck::stuck_pods(&pods));
            all.push(EmptyInstance { instance: instance.clone(), expected });
        } else {
            start::begin(ctx, &member.name, ctx.now, ctx.now);
            is_ready = false;
        }
    }
    is_ready.then_some(all)
}

/// Whether EKS terminates a source, or has been asked to: then its nodes are not uncordoned any more.
pub(super) fn is_ending(ctx: &Context<'_>, source: &Source<'_>) -> bool {
    let Some(group) = source.group else { return true };
    let key = ctx.key("scale-to-zero", format!("{}/{}", source.name, size_text(group.size)));
    group.update_in_progress().is_some() || group.size.desired == 0 || ctx.sent.is_under_way(ctx.now, &key)
}
