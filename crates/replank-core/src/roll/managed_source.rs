//! Whether all of a managed node group moves: EKS picks the instances that it terminates, so that one that stays could be among them.

use std::collections::BTreeMap;

use replank_facts::target;
use replank_model::object::cloud::{GroupKind, Instance};
use replank_model::text::{InstanceId, NodeName, Text};
use replank_protocol::waiting::{RollEnd, RunEnd, Subject};

use super::context::{Context, GroupRoll, Source};
use super::member::{Member, NodeState};
use super::tags::wait_for_update;

/// Whether a move out of a managed node group, or into one, cannot begin, which is said.
pub(super) fn is_refused(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    if !roll.is_moved_into() {
        return false;
    }
    let mut is_refused = false;
    for source in roll.sources.iter().filter(|source| source.is_managed()) {
        let (left, _) = instances(ctx, source);
        if left > 0 {
            ctx.wait(Subject::Group(source.name.clone()), RollEnd::PartOfManaged { nodes: left }.into());
            is_refused = true;
        }
    }
    for group in roll.group.into_iter().chain(roll.others().map(|(_, group)| group)) {
        if let Some(update) = group.update_in_progress() {
            wait_for_update(ctx, &group.name, update);
            is_refused = true;
        }
    }
    let landing = roll.group.filter(|group| group.kind == GroupKind::EksManaged);
    if landing.is_some_and(|group| !target::meets_template(&ctx.scope.plan.target, group, group.template())) {
        let what = Text::from("other launch template for a move into the group");
        ctx.wait(roll.subject(), RunEnd::OwnedByEks { what }.into());
        is_refused = true;
    }
    is_refused
}

/// How many nodes of a group stay where they are; and its instances that can go, or will be able to.
pub(super) fn instances<'a>(
    ctx: &Context<'a>,
    source: &Source<'_>,
) -> (u32, Vec<(InstanceId, Option<&'a Member>)>) {
    let members = ctx.fleet.members.values().filter(|member| member.group == *source.name);
    let by_name: BTreeMap<&NodeName, &Member> = members.map(|member| (&member.name, member)).collect();
    let members = by_name.into_values().map(|member| (&member.instance, member));
    let members: BTreeMap<&InstanceId, &Member> = members.collect();
    let of_group = |one: &&Instance| one.group == *source.name && one.is_counted();
    let mut left = 0;
    let mut empty = Vec::new();
    for instance in ctx.view.instances().values().map(|one| &**one).filter(of_group) {
        let member = members.get(&instance.id).copied();
        match member.map(|member| &member.state) {
            None
            | Some(
                NodeState::Found { .. }
                | NodeState::Queued { .. }
                | NodeState::Draining { .. }
                | NodeState::Postponed { .. }
                | NodeState::Retained { .. }
                | NodeState::OtherRun { .. },
            ) => empty.push((instance.id.clone(), member)),
            Some(
                NodeState::Bystander
                | NodeState::Usable
                | NodeState::Arriving { .. }
                | NodeState::Closed
                | NodeState::Surplus { .. }
                | NodeState::Skipped { .. }
                | NodeState::Reopened
                | NodeState::Newer { .. }
                | NodeState::Drained { .. }
                | NodeState::Upgraded
                | NodeState::OtherNode
                | NodeState::NoInstance
                | NodeState::Kept { .. },
            ) => left += 1,
            // It goes without anybody's doing.
            Some(NodeState::Leaving) => {}
        }
    }
    (left, empty)
}
