//! Carrying out commands: the check of what no call checks itself, then the call, no choices.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupSize, Instance, InstanceState, LaunchTemplate, LaunchTemplateRef, NodeGroup, Transition,
};
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::node::Node;
use replank_model::object::pod::PodTemplate;
use replank_model::object::workload::{DaemonSet, Deployment, StatefulSet};
use replank_model::object::{Kind, Object, ObjectRef, render};
use replank_model::text::{GroupName, InstanceId, Text, Uid};
use replank_protocol::command::{
    Command, Dependents, Effect, Expected, GroupEffect, KubernetesEffect, NodeTarget, PodTarget, QueueEffect,
    Refusal, Replacement, Restartable, WorkloadTarget,
};
use replank_protocol::proof::mismatch;
use replank_protocol::{mark, proof};

use super::bug::DriverBug;
use super::refusal::refusal;
use crate::cloud::{Asked, Cloud};
use crate::context::Ctx;
use replank_apiserver::json::Address;
use replank_apiserver::{ApiError, DeleteOptions, Eviction, Propagation};

/// What has to be so before one command is carried out and no call checks by itself.
pub(crate) fn check(ctx: &Ctx<'_>, command: &Command, bug: Option<DriverBug>) -> Result<Found, Refusal> {
    if ctx.api.now() > command.deadline {
        return Err(Refusal::Late);
    }
    if let Effect::Group(GroupEffect::Terminate { instance, .. } | GroupEffect::Relieve { instance, .. }) =
        &command.effect
        && known_instance(ctx, instance).is_ok_and(|known| !known.is_counted())
    {
        check_command(ctx, command, bug)?;
        return Ok(Found::DoneAlready);
    }
    check_command(ctx, command, bug).map(|()| Found::AsExpected)
}

/// What a check finds that finds nothing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Everything is as the command says.
    AsExpected,
    /// The effect is there: no call is sent.
    DoneAlready,
}

fn check_command(ctx: &Ctx<'_>, command: &Command, bug: Option<DriverBug>) -> Result<(), Refusal> {
    match &command.effect {
        Effect::Kubernetes(effect) => match effect {
            KubernetesEffect::ForceDelete { instance, .. } => check_terminated(ctx, instance, bug),
            KubernetesEffect::Cordon { .. }
            | KubernetesEffect::Uncordon { .. }
            | KubernetesEffect::Evict { .. }
            | KubernetesEffect::DeletePod { .. }
            | KubernetesEffect::Exclude { .. }
            | KubernetesEffect::RestartWorkload { .. }
            | KubernetesEffect::Create { .. }
            | KubernetesEffect::Replace { .. }
            | KubernetesEffect::Delete { .. } => Ok(()),
        },
        Effect::Group(effect) => match effect {
            GroupEffect::Tag { group, key, from, value } => {
                check_tag(ctx, (group, key), from.as_ref(), value)
            }
            GroupEffect::Untag { group, .. } => known_group(ctx, group).map(drop),
            GroupEffect::SetTemplate { group, from, .. } => check_template(ctx, group, from),
            GroupEffect::Resize { group, from, to } => check_size(ctx, group, *from, *to),
            GroupEffect::Relieve { instance, group, node, hook } => {
                check_hook(ctx, group, hook)?;
                check_instance(ctx, (instance, group), Some(node))
            }
            GroupEffect::CompleteAction { action, expected } => match expected {
                Some(expected) => prove(ctx, &action.instance, expected, bug),
                None => Ok(()),
            },
            GroupEffect::Terminate { instance, group, expected, .. } => {
                prove(ctx, instance, expected, bug)?;
                check_instance(ctx, (instance, group), expected.node())
            }
            GroupEffect::Heartbeat { .. } => Ok(()),
            GroupEffect::UpdateNodegroupVersion { group, from, .. } => {
                check_update(ctx, group, &command.key.0, |ctx| check_template(ctx, group, from))
            }
            GroupEffect::UpdateNodegroupConfig { group, from, to } => {
                check_update(ctx, group, &command.key.0, |ctx| check_size(ctx, group, *from, *to))
            }
        },
        Effect::Queue(QueueEffect::HoldMessage { .. } | QueueEffect::DeleteMessage { .. }) => Ok(()),
    }
}

/// The call itself, with what the server checks. What was checked before it may be otherwise by now.
pub(crate) fn act(
    ctx: &mut Ctx<'_>,
    cloud: &mut Cloud,
    command: &Command,
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    match &command.effect {
        Effect::Kubernetes(effect) => act_on_kubernetes(ctx, command, effect, bug),
        Effect::Group(effect) => act_on_group(ctx, cloud, &command.key.0, effect),
        Effect::Queue(QueueEffect::HoldMessage { message, receipt, until }) => {
            cloud.hold_message(ctx, message, receipt, *until)
        }
        Effect::Queue(QueueEffect::DeleteMessage { message, receipt }) => {
            cloud.delete_message(message, receipt)
        }
    }
}

fn act_on_kubernetes(
    ctx: &mut Ctx<'_>,
    command: &Command,
    effect: &KubernetesEffect,
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    let run = &command.run;
    let uid = |pod: &PodTarget| (bug != Some(DriverBug::NoUid)).then(|| pod.uid.clone());
    match effect {
        KubernetesEffect::Cordon { node, version, mark } => change_node(ctx, node, *version, |object| {
            *object = mark::laid(object, run, mark);
        }),
        KubernetesEffect::Uncordon { node, version } => change_node(ctx, node, *version, |object| {
            *object = mark::lifted(object);
        }),
        KubernetesEffect::Evict { pod, grace_seconds } => evict(ctx, pod, uid(pod), *grace_seconds),
        KubernetesEffect::DeletePod { pod, grace_seconds } => delete(ctx, pod, uid(pod), *grace_seconds),
        // The machine first: what the API releases while its containers may run is not gone, only out of sight.
        KubernetesEffect::ForceDelete { pod, .. } => delete(ctx, pod, uid(pod), Some(0)),
        KubernetesEffect::Exclude { node, version, at } => change_node(ctx, node, *version, |object| {
            *object = mark::excluded(object, run, *at);
        }),
        KubernetesEffect::RestartWorkload { workload, version, at } => {
            restart(ctx, workload, *version, &|template| mark::restarted(template, run, *at))
        }
        KubernetesEffect::Create { object } => ctx.api.apply_json(render(object)).map(drop).map_err(refusal),
        KubernetesEffect::Replace { object } => replace(ctx, object),
        KubernetesEffect::Delete { object, version, dependents } => {
            let options = DeleteOptions {
                propagation: Some(match dependents {
                    Dependents::Orphaned => Propagation::Orphan,
                    Dependents::Collected => Propagation::Background,
                }),
                uid: Some(object.uid.clone()),
                version: Some(*version),
                ..DeleteOptions::default()
            };
            delete_object(ctx, object, &options)
        }
    }
}

fn act_on_group(
    ctx: &mut Ctx<'_>,
    cloud: &mut Cloud,
    token: &Text,
    effect: &GroupEffect,
) -> Result<(), Refusal> {
    match effect {
        GroupEffect::Tag { group, key, value, .. } => change_group(ctx, group, |group| {
            group.tags = group.tags.with(key.clone(), value.clone());
            Ok(())
        }),
        GroupEffect::Untag { group, key } => change_group(ctx, group, |group| {
            group.tags = group.tags.without(key);
            Ok(())
        }),
        GroupEffect::SetTemplate { group, to, .. } => set_template(ctx, group, to),
        GroupEffect::Resize { group, from, to } => resize(ctx, group, *from, *to),
        GroupEffect::Relieve { instance, .. } => terminate(ctx, cloud, instance, Replacement::Launch),
        GroupEffect::CompleteAction { action, .. } => cloud.complete(ctx, action),
        GroupEffect::Heartbeat { action } => cloud.heartbeat(ctx, action),
        GroupEffect::UpdateNodegroupVersion { group, to, force, .. } => {
            cloud.update_nodegroup_version(ctx, &Asked { group, token }, (to, *force))
        }
        GroupEffect::UpdateNodegroupConfig { group, to, .. } => {
            cloud.update_nodegroup_config(ctx, &Asked { group, token }, *to)
        }
        GroupEffect::Terminate { instance, replacement, .. } => terminate(ctx, cloud, instance, *replacement),
    }
}

fn change_node(
    ctx: &mut Ctx<'_>,
    target: &NodeTarget,
    version: ResourceVersion,
    change: impl FnOnce(&mut Node),
) -> Result<(), Refusal> {
    let Some(known) = ctx.view().node(&target.name) else {
        return Err(Refusal::Gone { message: Text::from(format!("nodes \"{}\" not found", target.name)) });
    };
    if known.meta.uid != target.uid {
        return Err(conflict(format!("node {} is another incarnation", target.name)));
    }
    if known.meta.resource_version != version {
        return Err(conflict(format!("node {} has been modified", target.name)));
    }
    let key = Key::cluster(target.name.text().clone());
    ctx.api.modify::<Node>(&key, change).map(drop).map_err(refusal)
}

fn evict(
    ctx: &mut Ctx<'_>,
    pod: &PodTarget,
    uid: Option<Uid>,
    grace_seconds: Option<i64>,
) -> Result<(), Refusal> {
    let options = DeleteOptions { grace_seconds, uid, ..DeleteOptions::default() };
    let eviction = Eviction::of(pod.key.clone(), options);
    ctx.api.evict(&eviction).map_err(|refused| refusal(refused.into_error(&pod.key)))
}

fn delete(
    ctx: &mut Ctx<'_>,
    pod: &PodTarget,
    uid: Option<Uid>,
    grace_seconds: Option<i64>,
) -> Result<(), Refusal> {
    let options = DeleteOptions { grace_seconds, uid, ..DeleteOptions::default() };
    ctx.api.delete(Kind::Pod, &pod.key, &options).map(drop).map_err(refusal)
}

/// Objects of untyped kinds share names: which one is meant its uid tells.
fn delete_object(ctx: &mut Ctx<'_>, object: &ObjectRef, options: &DeleteOptions) -> Result<(), Refusal> {
    let known = if object.kind == Kind::Other {
        let mut others = ctx.view().others();
        let found = others.find(|other| other.meta.uid == object.uid && other.meta.key() == object.key);
        found.cloned().map(Object::Other)
    } else {
        ctx.view().object(object.kind, &object.key)
    };
    match known {
        Some(known) => ctx.api.delete_known(&known, options).map(drop).map_err(refusal),
        None => Err(refusal(ApiError::not_found(object.kind, &object.key))),
    }
}

/// As a client that sends the whole object: the server checks what may be changed, and the version.
fn replace(ctx: &mut Ctx<'_>, object: &Object) -> Result<(), Refusal> {
    let resource = ctx.api.resource_type(object.api_version(), object.kind_name()).map_err(refusal)?;
    let meta = object.meta();
    let namespace = (!meta.namespace.is_empty()).then(|| meta.namespace.clone());
    let address = Address::new(resource, namespace, Some(meta.name.clone()));
    ctx.api.update_json(&address, render(object), replank_apiserver::Effect::Real).map(drop).map_err(refusal)
}

fn check_terminated(ctx: &Ctx<'_>, instance: &InstanceId, bug: Option<DriverBug>) -> Result<(), Refusal> {
    let known = ctx.view().instances().get(instance);
    if known.is_none() && bug == Some(DriverBug::AbsentIsTerminated) {
        return Ok(());
    }
    let state = known.map_or("not listed", |known| known.state.as_str());
    if state != InstanceState::Terminated.as_str() {
        return Err(mismatch(format!("instance {instance}"), InstanceState::Terminated.as_str(), state));
    }
    Ok(())
}

/// Changes the template of a workload (polymorphichelpers `objectrestarter.go`).
fn restart(
    ctx: &mut Ctx<'_>,
    target: &WorkloadTarget,
    version: ResourceVersion,
    change: &dyn Fn(&PodTemplate) -> PodTemplate,
) -> Result<(), Refusal> {
    let kind = target.kind.kind();
    let Some(known) = ctx.view().object(kind, &target.key) else {
        return Err(refusal(ApiError::not_found(kind, &target.key)));
    };
    let meta = known.meta();
    if meta.uid != target.uid || meta.resource_version != version {
        return Err(conflict(format!("{} {} has been modified", kind.as_str(), target.key)));
    }
    let key = &target.key;
    match target.kind {
        Restartable::Deployment => {
            let is_paused = matches!(&known, Object::Deployment(deployment) if deployment.spec.paused);
            if is_paused {
                let message = format!("deployment {key} is paused: resume it before it is restarted");
                return Err(Refusal::Failed { code: 400, message: Text::from(message) });
            }
            let written =
                ctx.api.modify::<Deployment>(key, |it| it.spec.template = change(&it.spec.template));
            written.map(drop).map_err(refusal)
        }
        Restartable::StatefulSet => {
            let written =
                ctx.api.modify::<StatefulSet>(key, |it| it.spec.template = change(&it.spec.template));
            written.map(drop).map_err(refusal)
        }
        Restartable::DaemonSet => {
            let written = ctx.api.modify::<DaemonSet>(key, |it| it.spec.template = change(&it.spec.template));
            written.map(drop).map_err(refusal)
        }
    }
}

fn known_group(ctx: &Ctx<'_>, name: &GroupName) -> Result<Arc<NodeGroup>, Refusal> {
    let known = ctx.view().groups().get(name).cloned();
    known.ok_or_else(|| Refusal::Gone { message: Text::from(format!("node group {name} not found")) })
}

/// As a call that names what it writes: everything else stays what others have made of it.
fn change_group(
    ctx: &mut Ctx<'_>,
    name: &GroupName,
    change: impl FnOnce(&mut NodeGroup) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let known = known_group(ctx, name)?;
    let mut group = NodeGroup::clone(&known);
    change(&mut group)?;
    if group != *known {
        ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
    }
    Ok(())
}

fn check_tag(
    ctx: &Ctx<'_>,
    (name, key): (&GroupName, &Text),
    from: Option<&Text>,
    value: &Text,
) -> Result<(), Refusal> {
    let group = known_group(ctx, name)?;
    let known = group.tags.get(key);
    // A value that this command wrote before is not a mismatch.
    if known == from || known == Some(value) {
        return Ok(());
    }
    let text = |value: Option<&Text>| value.map_or("absent", |value| &**value).to_owned();
    Err(mismatch(format!("tag {key} of group {name}"), &text(from), &text(known)))
}

/// What was asked for under this token is there, whatever has become of the group since then.
fn check_update(
    ctx: &Ctx<'_>,
    name: &GroupName,
    token: &Text,
    check: impl FnOnce(&Ctx<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let group = known_group(ctx, name)?;
    if group.update.as_ref().is_some_and(|update| update.token == *token) {
        return Ok(());
    }
    check(ctx)
}

fn check_template(ctx: &Ctx<'_>, name: &GroupName, from: &LaunchTemplateRef) -> Result<(), Refusal> {
    let group = known_group(ctx, name)?;
    if group.current == *from {
        return Ok(());
    }
    let (expected, found) = (from.to_string(), group.current.to_string());
    Err(mismatch(format!("launch template version of group {name}"), &expected, &found))
}

/// CreateLaunchTemplateVersion with a token, then UpdateAutoScalingGroup.
fn set_template(ctx: &mut Ctx<'_>, group: &GroupName, to: &LaunchTemplate) -> Result<(), Refusal> {
    change_group(ctx, group, |group| {
        group.current = group.version_of(to);
        group.templates.entry(group.current.clone()).or_insert_with(|| to.clone());
        Ok(())
    })
}

fn check_size(ctx: &Ctx<'_>, name: &GroupName, from: GroupSize, to: GroupSize) -> Result<(), Refusal> {
    let group = known_group(ctx, name)?;
    if to.min > to.desired || to.desired > to.max {
        return Err(not_within(name, to));
    }
    if group.size == from {
        return Ok(());
    }
    let (expected, found) = (from.to_string(), group.size.to_string());
    Err(mismatch(format!("size of group {name}"), &expected, &found))
}

/// UpdateAutoScalingGroup with those of the three numbers that are to change. Without a desired capacity a bound that the group is beyond moves it.
fn resize(ctx: &mut Ctx<'_>, group: &GroupName, from: GroupSize, to: GroupSize) -> Result<(), Refusal> {
    change_group(ctx, group, |group| {
        let written = |from: u32, to: u32, known: u32| if from == to { known } else { to };
        let (min, max) =
            (written(from.min, to.min, group.size.min), written(from.max, to.max, group.size.max));
        let known = group.size.desired;
        let desired =
            if from.desired == to.desired && min <= max { known.clamp(min, max) } else { to.desired };
        let size = GroupSize { min, max, desired };
        if min > desired || desired > max {
            return Err(not_within(&group.name, size));
        }
        group.size = size;
        Ok(())
    })
}

fn not_within(group: &GroupName, size: GroupSize) -> Refusal {
    let message = format!("group {group}: desired must lie between min and max: {size}");
    Refusal::Failed { code: 400, message: Text::from(message) }
}

/// Without the hook the instance would be gone at once, with everything on it.
fn check_hook(ctx: &Ctx<'_>, group: &GroupName, hook: &str) -> Result<(), Refusal> {
    let hooks = ctx.view().groups().get(group).map_or(&[][..], |group| group.hooks.as_slice());
    if hooks.iter().any(|known| &*known.name == hook && known.at == Transition::Terminating) {
        return Ok(());
    }
    Err(conflict(format!("group {group} has no termination hook {hook}")))
}

/// The instance is the one that the decision was about.
fn check_instance(
    ctx: &Ctx<'_>,
    (id, group): (&InstanceId, &GroupName),
    node: Option<&NodeTarget>,
) -> Result<(), Refusal> {
    let instance = known_instance(ctx, id)?;
    check_node(ctx, &instance, node)?;
    if instance.group != *group {
        return Err(conflict(format!("instance {id} belongs to group {}", instance.group)));
    }
    Ok(())
}

fn known_instance(ctx: &Ctx<'_>, id: &InstanceId) -> Result<Arc<Instance>, Refusal> {
    let known = ctx.view().instances().get(id).cloned();
    known.ok_or_else(|| Refusal::Gone { message: Text::from(format!("instance {id} not found")) })
}

/// TerminateInstanceInAutoScalingGroup. It knows of no node.
fn terminate(
    ctx: &mut Ctx<'_>,
    cloud: &mut Cloud,
    id: &InstanceId,
    replacement: Replacement,
) -> Result<(), Refusal> {
    let instance = known_instance(ctx, id)?;
    // Whether a second call lowers the size once more is not documented. Here it does: the caller reads first.
    match replacement {
        Replacement::Launch => {}
        Replacement::Decrement => change_group(ctx, &instance.group, |group| {
            if group.size.desired <= group.size.min {
                let message = format!("group {} is at its minimum: {}", group.name, group.size);
                return Err(Refusal::Failed { code: 400, message: Text::from(message) });
            }
            group.size.desired -= 1;
            Ok(())
        })?,
    }
    if instance.is_counted() {
        cloud.terminate(ctx, &instance);
    }
    Ok(())
}

/// What a command expects of an instance's node, held against what there is: a read of the API server itself.
fn prove(
    ctx: &Ctx<'_>,
    instance: &InstanceId,
    expected: &Expected,
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    let view = ctx.view();
    match expected {
        Expected::Drained { node: target, marked_by, remaining } => {
            // The node object is gone, the instance is not: terminating it is what was asked for.
            let Some(node) = view.node(&target.name) else { return Ok(()) };
            let pods = view.pods_on(&target.name).iter().map(|ix| &*view.pods[*ix]);
            let pods = pods.filter(|pod| bug.is_none_or(|bug| bug.lists(pod, ctx.api.now())));
            proof::drained(node, pods, (target, marked_by, remaining))
        }
        Expected::Unregistered => {
            let node = view.instances().get(instance).and_then(|known| known.node.as_ref());
            match node.filter(|name| view.node(name).is_some()) {
                Some(name) => Err(mismatch(format!("instance {instance}"), "no node", name.as_str())),
                None => Ok(()),
            }
        }
    }
}

/// The node that the decision was about must still be the instance's.
fn check_node(ctx: &Ctx<'_>, instance: &Instance, node: Option<&NodeTarget>) -> Result<(), Refusal> {
    let known = instance.node.as_ref().and_then(|name| ctx.view().node(name));
    match (node, known) {
        (None, None) => Ok(()),
        (None, Some(node)) => Err(conflict(format!("instance {} is node {}", instance.id, node.meta.name))),
        (Some(wanted), Some(node)) if node.meta.uid == wanted.uid => Ok(()),
        (Some(wanted), Some(_)) => Err(conflict(format!("node {} is another incarnation", wanted.name))),
        // The node object is gone, the instance is not: ending it is what was asked for.
        (Some(_), None) => Ok(()),
    }
}

fn conflict(message: String) -> Refusal {
    Refusal::Conflict { message: Text::from(message) }
}
