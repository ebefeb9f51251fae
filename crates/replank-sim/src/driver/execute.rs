//! Carrying out commands: the check of what no call checks itself, then the call, no choices.

use replank_model::object::cloud::{Instance, InstanceState};
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::node::Node;
use replank_model::object::pod::PodTemplate;
use replank_model::object::workload::{DaemonSet, Deployment, StatefulSet};
use replank_model::object::{Kind, Object, ObjectRef, render};
use replank_model::text::{GroupName, InstanceId, Text, Uid};
use replank_protocol::command::{
    Command, Dependents, Effect, EmptyInstance, Expected, GroupEffect, KubernetesEffect, NodeTarget,
    PodTarget, QueueEffect, Refusal, Restartable, WorkloadTarget, zero,
};
use replank_protocol::proof::mismatch;
use replank_protocol::{mark, proof};

use super::bug::DriverBug;
use super::groups::{
    act_on_group, act_on_queue, check_hook, check_owner, check_size, check_tag, check_template,
    check_termination, check_update,
};
use super::refusal::{conflict, refusal};
use crate::cloud::{Calls, DescribeCloud, SimulatedCloud, known_group, known_instance};
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
        && known_instance(ctx.view(), instance).is_ok_and(|known| !known.is_counted())
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
            | KubernetesEffect::CordonByHand { .. }
            | KubernetesEffect::UncordonByHand { .. }
            | KubernetesEffect::Evict { .. }
            | KubernetesEffect::DeletePod { .. }
            | KubernetesEffect::Exclude { .. }
            | KubernetesEffect::RestartWorkload { .. }
            | KubernetesEffect::Create { .. }
            | KubernetesEffect::Replace { .. }
            | KubernetesEffect::Delete { .. }
            | KubernetesEffect::DeleteNodeClaim { .. } => Ok(()),
        },
        Effect::Group(effect) => check_owner(ctx.view(), effect).and_then(|()| match effect {
            GroupEffect::Tag { group, key, from, value } => {
                check_tag(ctx.view(), (&group.node_group, key), from.as_ref(), value)
            }
            GroupEffect::Untag { group, .. }
            | GroupEffect::SetProcess { group, .. }
            | GroupEffect::ProtectInstance { group, .. } => {
                known_group(ctx.view(), &group.node_group).map(drop)
            }
            GroupEffect::SetTemplate { group, from, .. } => {
                check_template(ctx.view(), &group.node_group, from)
            }
            GroupEffect::Resize { group, from, to } => check_size(ctx.view(), &group.node_group, *from, *to),
            GroupEffect::Relieve { instance, group, node, hook } => {
                check_hook(ctx.view(), group, hook)?;
                check_instance(ctx, (instance, group), Some(node))
            }
            GroupEffect::CompleteAction { action, expected } => match expected {
                Some(expected) => prove(ctx, &action.instance, expected, bug),
                None => Ok(()),
            },
            GroupEffect::Terminate { instance, group, expected, replacement } => {
                prove(ctx, instance, expected, bug)?;
                check_instance(ctx, (instance, group), expected.node())?;
                check_termination(ctx.view(), (instance, group), *replacement)
            }
            GroupEffect::Heartbeat { .. } => Ok(()),
            GroupEffect::UpdateNodegroupVersion { group, from, .. } => {
                check_update(ctx.view(), &group.node_group, &command.key.0, |cloud| {
                    check_template(cloud, &group.node_group, from)
                })
            }
            GroupEffect::UpdateNodegroupConfig { group, from, to } => {
                check_update(ctx.view(), &group.node_group, &command.key.0, |cloud| {
                    check_size(cloud, &group.node_group, *from, *to)
                })
            }
            GroupEffect::ScaleNodegroupToZero { group, from, instances } => {
                check_update(ctx.view(), &group.node_group, &command.key.0, |cloud| {
                    check_size(cloud, &group.node_group, *from, zero(*from))?;
                    prove_all(ctx, &group.node_group, instances, bug)
                })
            }
        }),
        Effect::Queue(QueueEffect::HoldMessage { .. } | QueueEffect::DeleteMessage { .. }) => Ok(()),
    }
}

/// The call itself, with what the server checks. What was checked before it may be otherwise by now.
pub(crate) fn act(
    ctx: &mut Ctx<'_>,
    cloud: &mut SimulatedCloud,
    command: &Command,
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    match &command.effect {
        Effect::Kubernetes(effect) => act_on_kubernetes(ctx, command, effect, bug),
        Effect::Group(effect) => act_on_group(&mut Calls::new(cloud, ctx), &command.key.0, effect, bug),
        Effect::Queue(effect) => act_on_queue(&mut Calls::new(cloud, ctx), effect),
    }
}

fn act_on_kubernetes(
    ctx: &mut Ctx<'_>,
    command: &Command,
    effect: &KubernetesEffect,
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    let (run, written) = (&command.run, ctx.api.now().floor_seconds());
    let uid = |pod: &PodTarget| (bug != Some(DriverBug::NoUid)).then(|| pod.uid.clone());
    match effect {
        KubernetesEffect::Cordon { node, version, mark } => change_node(ctx, node, *version, |object| {
            *object = mark::laid(object, run, mark);
        }),
        KubernetesEffect::Uncordon { node, version } => change_node(ctx, node, *version, |object| {
            *object = mark::lifted(object);
        }),
        KubernetesEffect::CordonByHand { node, version, since, from } => {
            change_node(ctx, node, *version, |object| {
                *object = mark::cordoned_by_hand(object, run, *since, *from);
            })
        }
        KubernetesEffect::UncordonByHand { node, version } => change_node(ctx, node, *version, |object| {
            *object = mark::uncordoned_by_hand(object);
        }),
        KubernetesEffect::Evict { pod, grace_seconds } => evict(ctx, pod, uid(pod), *grace_seconds),
        KubernetesEffect::DeletePod { pod, grace_seconds } => delete(ctx, pod, uid(pod), *grace_seconds),
        // The machine first: what the API releases while its containers may run is not gone, only out of sight.
        KubernetesEffect::ForceDelete { pod, .. } => delete(ctx, pod, uid(pod), Some(0)),
        KubernetesEffect::Exclude { node, version, at } => change_node(ctx, node, *version, |object| {
            // What was held on its way is written with the moment at which it is written: the delay counts from there.
            *object = mark::excluded(object, run, written.max(*at));
        }),
        KubernetesEffect::RestartWorkload { workload, version, at } => {
            restart(ctx, workload, *version, &|template| mark::restarted(template, run, *at))
        }
        KubernetesEffect::Create { object } => ctx.api.apply_json(render(object)).map(drop).map_err(refusal),
        KubernetesEffect::Replace { object } => replace(ctx, object),
        KubernetesEffect::DeleteNodeClaim { claim, version } => {
            let options = DeleteOptions {
                uid: Some(claim.uid.clone()),
                version: Some(*version),
                ..DeleteOptions::default()
            };
            let key = Key::cluster(claim.name.clone());
            ctx.api.delete(Kind::NodeClaim, &key, &options).map(drop).map_err(refusal)
        }
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
    let known = ctx.view().describe_instance(instance);
    if known.is_none() && bug == Some(DriverBug::AbsentIsTerminated) {
        return Ok(());
    }
    let state = known.as_ref().map_or("not listed", |known| known.state.as_str());
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

/// Every instance of a group is one that is named, and is what it is to be.
fn prove_all(
    ctx: &Ctx<'_>,
    group: &GroupName,
    instances: &[EmptyInstance],
    bug: Option<DriverBug>,
) -> Result<(), Refusal> {
    let others = ctx.view().instances().values();
    let mut others = others.filter(|one| one.group == *group && one.is_counted());
    if let Some(other) = others.find(|one| instances.iter().all(|known| known.instance != one.id)) {
        let expected = format!("{} known ones", instances.len());
        return Err(mismatch(format!("instances of group {group}"), &expected, other.id.as_str()));
    }
    for EmptyInstance { instance, expected } in instances {
        // What is gone already is no obstacle.
        if known_instance(ctx.view(), instance).is_ok_and(|known| known.is_counted()) {
            prove(ctx, instance, expected, bug)?;
            check_instance(ctx, (instance, group), expected.node())?;
        }
    }
    Ok(())
}

/// The instance is the one that the decision was about.
fn check_instance(
    ctx: &Ctx<'_>,
    (id, group): (&InstanceId, &GroupName),
    node: Option<&NodeTarget>,
) -> Result<(), Refusal> {
    let instance = known_instance(ctx.view(), id)?;
    check_node(ctx, &instance, node)?;
    if instance.group != *group {
        return Err(conflict(format!("instance {id} belongs to group {}", instance.group)));
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
            let known = view.describe_instance(instance);
            let node = known.as_ref().and_then(|known| known.node.as_ref());
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
