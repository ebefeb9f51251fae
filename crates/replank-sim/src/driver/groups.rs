//! Commands to the cloud, carried out: the checks before the calls, and the calls. Only the cloud's API is named here, whoever implements it.

use replank_model::object::cloud::{
    GroupKind, GroupSize, LaunchTemplate, LaunchTemplateRef, Transition, VersionWord,
};
use replank_model::text::{GroupName, InstanceId, Text};
use replank_protocol::command::{GroupEffect, QueueEffect, Refusal, Replacement, zero};
use replank_protocol::proof::mismatch;

use super::bug::DriverBug;
use super::refusal::conflict;
use crate::cloud::{
    Cloud, DescribeCloud, GroupUpdate, NodegroupRequest, Place, VersionNamed, known_group, known_instance,
    not_within,
};

/// Sends what an effect on a group stands for.
pub(super) fn act_on_group(
    cloud: &mut dyn Cloud,
    token: &Text,
    effect: &GroupEffect,
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    match effect {
        GroupEffect::Tag { group, key, value, .. } => {
            cloud.create_or_update_tag(&group.node_group, key, value)
        }
        GroupEffect::Untag { group, key } => cloud.delete_tag(&group.node_group, key),
        GroupEffect::SetTemplate { group, to, follow, .. } => {
            set_template(cloud, &group.node_group, (to, *follow), bug)
        }
        GroupEffect::Resize { group, from, to } => {
            cloud.update_auto_scaling_group(&group.node_group, &resize(*from, *to))
        }
        GroupEffect::SetProcess { group, process, is_active } => {
            cloud.set_process(&group.node_group, *process, *is_active)
        }
        GroupEffect::ProtectInstance { instance, group, is_protected } => {
            cloud.set_instance_protection(&group.node_group, instance, *is_protected)
        }
        GroupEffect::Relieve { instance, .. } => cloud.terminate_instance(instance, Replacement::Launch),
        GroupEffect::CompleteAction { action, .. } => cloud.complete_lifecycle_action(action),
        GroupEffect::Heartbeat { action } => cloud.record_lifecycle_action_heartbeat(action),
        GroupEffect::UpdateNodegroupVersion { group, to, force, .. } => {
            cloud.update_nodegroup_version(&NodegroupRequest { group: &group.node_group, token }, to, *force)
        }
        GroupEffect::UpdateNodegroupConfig { group, to, .. } => {
            cloud.update_nodegroup_config(&NodegroupRequest { group: &group.node_group, token }, *to)
        }
        GroupEffect::ScaleNodegroupToZero { group, from, .. } => {
            let to = zero(*from);
            cloud.update_nodegroup_config(&NodegroupRequest { group: &group.node_group, token }, to)
        }
        GroupEffect::Terminate { instance, replacement, .. } => {
            cloud.terminate_instance(instance, *replacement)
        }
    }
}

/// Sends what an effect on a message stands for.
pub(super) fn act_on_queue(cloud: &mut dyn Cloud, effect: &QueueEffect) -> Result<(), Refusal> {
    match effect {
        QueueEffect::HoldMessage { message, receipt, until } => {
            cloud.change_message_visibility(message, receipt, *until)
        }
        QueueEffect::DeleteMessage { message, receipt } => cloud.delete_message(message, receipt),
    }
}

/// CreateLaunchTemplateVersion with a token, then UpdateAutoScalingGroup.
fn set_template(
    cloud: &mut dyn Cloud,
    group: &GroupName,
    (to, follow): (&LaunchTemplate, Option<VersionWord>),
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    let place = match follow {
        Some(VersionWord::Latest) => Place::Last,
        Some(VersionWord::Default) | None => Place::Any,
    };
    let made = cloud.create_launch_template_version(group, to, place)?;
    let version = match bug {
        Some(bug) => bug.version(&*known_group(cloud, group)?, made),
        None => made,
    };
    let named = follow.map_or(VersionNamed::Number(version), VersionNamed::Word);
    cloud.update_auto_scaling_group(group, &GroupUpdate { template: Some(named), ..GroupUpdate::default() })
}

/// Those of the three numbers that are to change.
fn resize(from: GroupSize, to: GroupSize) -> GroupUpdate {
    let changed = |from: u32, to: u32| (from != to).then_some(to);
    GroupUpdate {
        template: None,
        min: changed(from.min, to.min),
        max: changed(from.max, to.max),
        desired: changed(from.desired, to.desired),
    }
}

pub(super) fn check_tag(
    cloud: &dyn DescribeCloud,
    (name, key): (&GroupName, &Text),
    from: Option<&Text>,
    value: &Text,
) -> Result<(), Refusal> {
    let group = known_group(cloud, name)?;
    let known = group.tags.get(key);
    // A value that this command wrote before is not a mismatch.
    if known == from || known == Some(value) {
        return Ok(());
    }
    let text = |value: Option<&Text>| value.map_or("absent", |value| &**value).to_owned();
    Err(mismatch(format!("tag {key} of group {name}"), &text(from), &text(known)))
}

/// What was asked for under this token is there, whatever has become of the group since then.
pub(super) fn check_update(
    cloud: &dyn DescribeCloud,
    name: &GroupName,
    token: &Text,
    check: impl FnOnce(&dyn DescribeCloud) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let group = known_group(cloud, name)?;
    if group.update.as_ref().is_some_and(|update| update.token == *token) {
        return Ok(());
    }
    check(cloud)
}

pub(super) fn check_template(
    cloud: &dyn DescribeCloud,
    name: &GroupName,
    from: &LaunchTemplateRef,
) -> Result<(), Refusal> {
    let group = known_group(cloud, name)?;
    if group.current == *from {
        return Ok(());
    }
    let (expected, found) = (from.to_string(), group.current.to_string());
    Err(mismatch(format!("launch template version of group {name}"), &expected, &found))
}

pub(super) fn check_size(
    cloud: &dyn DescribeCloud,
    name: &GroupName,
    from: GroupSize,
    to: GroupSize,
) -> Result<(), Refusal> {
    let group = known_group(cloud, name)?;
    if to.min > to.desired || to.desired > to.max {
        return Err(not_within(name, to));
    }
    if group.size == from {
        return Ok(());
    }
    let (expected, found) = (from.to_string(), group.size.to_string());
    Err(mismatch(format!("size of group {name}"), &expected, &found))
}

/// Nothing goes through the Auto Scaling group of a managed node group: EKS sets the node group to DEGRADED for a template that is changed there, and undoes
/// nothing.
pub(super) fn check_owner(cloud: &dyn DescribeCloud, effect: &GroupEffect) -> Result<(), Refusal> {
    let Some(name) = effect.changes_auto_scaling_group() else { return Ok(()) };
    let known = cloud.describe_group(name);
    match known.map(|group| group.kind) {
        Some(GroupKind::EksManaged) => {
            let message = format!("EKS owns the Auto Scaling group of managed node group {name}");
            Err(Refusal::Failed { code: 403, message: Text::from(message) })
        }
        Some(GroupKind::SelfManaged) | None => Ok(()),
    }
}

/// Without the hook the instance would be gone at once, with everything on it.
pub(super) fn check_hook(cloud: &dyn DescribeCloud, group: &GroupName, hook: &str) -> Result<(), Refusal> {
    let known = cloud.describe_group(group);
    let hooks = known.as_ref().map_or(&[][..], |group| group.hooks.as_slice());
    if hooks.iter().any(|known| &*known.name == hook && known.at == Transition::Terminating) {
        return Ok(());
    }
    Err(conflict(format!("group {group} has no termination hook {hook}")))
}

/// The instance is not terminating already, and the group wants more than it is to keep. Whether a second call lowers the size once more is not documented, so
/// none is made.
pub(super) fn check_termination(
    cloud: &dyn DescribeCloud,
    (id, name): (&InstanceId, &GroupName),
    replacement: Replacement,
) -> Result<(), Refusal> {
    let Replacement::Decrement { keep } = replacement else { return Ok(()) };
    if !known_instance(cloud, id)?.is_counted() {
        return Err(Refusal::Gone { message: Text::from(format!("instance {id} is terminating already")) });
    }
    let size = known_group(cloud, name)?.size;
    if size.desired > keep {
        return Ok(());
    }
    Err(mismatch(format!("size of group {name}"), &format!("more than {keep}"), &size.to_string()))
}
