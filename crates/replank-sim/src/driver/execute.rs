//! Carrying out commands: preconditions first, then the effect, no choices.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupSize, Instance, InstanceState, LaunchTemplate, NodeGroup, TemplateVersion, Transition,
};
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::node::Node;
use replank_model::object::pod::PodTemplate;
use replank_model::object::workload::{DaemonSet, Deployment, StatefulSet};
use replank_model::object::{Kind, Object, ObjectRef, render};
use replank_model::text::{GroupName, InstanceId, Text};
use replank_protocol::command::{
    Command, Dependents, Effect, Expected, GroupEffect, KubernetesEffect, NodeTarget, PodTarget, QueueEffect,
    Refusal, Replacement, Restartable, WorkloadTarget,
};
use replank_protocol::proof::mismatch;
use replank_protocol::{mark, proof};

use crate::cloud::Cloud;
use crate::context::Ctx;
use replank_apiserver::json::Address;
use replank_apiserver::{ApiError, DeleteOptions, Eviction, Propagation};

/// Carries out one command.
pub(crate) fn execute(ctx: &mut Ctx<'_>, cloud: &mut Cloud, command: &Command) -> Result<(), Refusal> {
    if ctx.api.now() > command.deadline {
        return Err(Refusal::Late);
    }
    match &command.effect {
        Effect::Kubernetes(KubernetesEffect::Cordon { node, version, mark }) => {
            change_node(ctx, node, *version, |object| {
                *object = mark::laid(object, &command.run, mark);
            })
        }
        Effect::Kubernetes(KubernetesEffect::Uncordon { node, version }) => {
            change_node(ctx, node, *version, |object| {
                *object = mark::lifted(object);
            })
        }
        Effect::Kubernetes(KubernetesEffect::Evict { pod, grace_seconds }) => evict(ctx, pod, *grace_seconds),
        Effect::Kubernetes(KubernetesEffect::DeletePod { pod, grace_seconds }) => {
            delete(ctx, pod, *grace_seconds)
        }
        Effect::Kubernetes(KubernetesEffect::ForceDelete { pod, instance }) => {
            force_delete(ctx, pod, instance)
        }
        Effect::Kubernetes(KubernetesEffect::Exclude { node, version, at }) => {
            change_node(ctx, node, *version, |object| {
                *object = mark::excluded(object, &command.run, *at);
            })
        }
        Effect::Kubernetes(KubernetesEffect::RestartWorkload { workload, version, at }) => {
            restart(ctx, workload, *version, &|template| mark::restarted(template, &command.run, *at))
        }
        Effect::Group(GroupEffect::Tag { group, key, from, value }) => change_group(ctx, group, |group| {
            let known = group.tags.get(key);
            // What was written by this command before is no mismatch.
            if known != from.as_ref() && known != Some(value) {
                let text = |value: Option<&Text>| value.map_or("absent", |value| &**value).to_owned();
                return Err(mismatch(
                    format!("tag {key} of group {}", group.name),
                    &text(from.as_ref()),
                    &text(known),
                ));
            }
            group.tags = group.tags.with(key.clone(), value.clone());
            Ok(())
        }),
        Effect::Group(GroupEffect::Untag { group, key }) => change_group(ctx, group, |group| {
            group.tags = group.tags.without(key);
            Ok(())
        }),
        Effect::Group(GroupEffect::SetTemplate { group, from, to }) => set_template(ctx, group, *from, to),
        Effect::Group(GroupEffect::Resize { group, from, to }) => resize(ctx, group, *from, *to),
        Effect::Group(GroupEffect::Relieve { instance, group, node, hook }) => {
            relieve(ctx, cloud, (instance, group), node, hook)
        }
        Effect::Group(GroupEffect::CompleteAction { action, expected }) => {
            if let Some(expected) = expected {
                prove(ctx, &action.instance, expected)?;
            }
            cloud.complete(ctx, action)
        }
        Effect::Group(GroupEffect::Heartbeat { action }) => cloud.heartbeat(ctx, action),
        Effect::Queue(QueueEffect::HoldMessage { message, receipt, until }) => {
            cloud.hold_message(ctx, message, receipt, *until)
        }
        Effect::Queue(QueueEffect::DeleteMessage { message, receipt }) => {
            cloud.delete_message(message, receipt)
        }
        Effect::Kubernetes(KubernetesEffect::Create { object }) => {
            ctx.api.apply_json(render(object)).map(drop).map_err(refusal)
        }
        Effect::Kubernetes(KubernetesEffect::Replace { object }) => replace(ctx, object),
        Effect::Kubernetes(KubernetesEffect::Delete { object, version, dependents }) => {
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
        Effect::Group(GroupEffect::Terminate { instance, group, expected, replacement }) => {
            prove(ctx, instance, expected)?;
            terminate(ctx, cloud, (instance, group), expected.node(), *replacement)
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

fn evict(ctx: &mut Ctx<'_>, pod: &PodTarget, grace_seconds: Option<i64>) -> Result<(), Refusal> {
    let options = DeleteOptions { grace_seconds, uid: Some(pod.uid.clone()), ..DeleteOptions::default() };
    let eviction = Eviction::of(pod.key.clone(), options);
    ctx.api.evict(&eviction).map_err(|refused| refusal(refused.into_error(&pod.key)))
}

fn delete(ctx: &mut Ctx<'_>, pod: &PodTarget, grace_seconds: Option<i64>) -> Result<(), Refusal> {
    let options = DeleteOptions { grace_seconds, uid: Some(pod.uid.clone()), ..DeleteOptions::default() };
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

/// The machine first: what the API lets go of while its containers may run is not gone, only out of sight.
fn force_delete(ctx: &mut Ctx<'_>, pod: &PodTarget, instance: &InstanceId) -> Result<(), Refusal> {
    let state = ctx.view().instances().get(instance).map_or("not listed", |known| known.state.as_str());
    if state != InstanceState::Terminated.as_str() {
        return Err(mismatch(format!("instance {instance}"), InstanceState::Terminated.as_str(), state));
    }
    delete(ctx, pod, Some(0))
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

fn change_group(
    ctx: &mut Ctx<'_>,
    name: &GroupName,
    change: impl FnOnce(&mut NodeGroup) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let Some(known) = ctx.view().groups().get(name).cloned() else {
        return Err(Refusal::Gone { message: Text::from(format!("node group {name} not found")) });
    };
    let mut group = NodeGroup::clone(&known);
    change(&mut group)?;
    if group != *known {
        ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
    }
    Ok(())
}

fn set_template(
    ctx: &mut Ctx<'_>,
    group: &GroupName,
    from: TemplateVersion,
    to: &LaunchTemplate,
) -> Result<(), Refusal> {
    change_group(ctx, group, |group| {
        if group.current != from {
            let (expected, found) = (from.0.to_string(), group.current.0.to_string());
            return Err(mismatch(
                format!("launch template version of group {}", group.name),
                &expected,
                &found,
            ));
        }
        let known = group.templates.iter().position(|template| template == to);
        let position = known.unwrap_or_else(|| {
            group.templates.push(to.clone());
            group.templates.len() - 1
        });
        group.current = TemplateVersion(u32::try_from(position).expect("few versions"));
        Ok(())
    })
}

fn resize(ctx: &mut Ctx<'_>, group: &GroupName, from: GroupSize, to: GroupSize) -> Result<(), Refusal> {
    change_group(ctx, group, |group| {
        if group.size != from {
            let (expected, found) = (from.to_string(), group.size.to_string());
            return Err(mismatch(format!("size of group {}", group.name), &expected, &found));
        }
        if to.min > to.desired || to.desired > to.max {
            let message = format!("group {}: desired must lie between min and max: {to}", group.name);
            return Err(Refusal::Failed { code: 400, message: Text::from(message) });
        }
        group.size = to;
        Ok(())
    })
}

/// Without the hook the instance would be gone at once, with everything on it.
fn relieve(
    ctx: &mut Ctx<'_>,
    cloud: &mut Cloud,
    (id, group): (&InstanceId, &GroupName),
    node: &NodeTarget,
    hook: &str,
) -> Result<(), Refusal> {
    let hooks = ctx.view().groups().get(group).map_or(&[][..], |group| group.hooks.as_slice());
    if !hooks.iter().any(|known| &*known.name == hook && known.at == Transition::Terminating) {
        return Err(conflict(format!("group {group} has no termination hook {hook}")));
    }
    terminate(ctx, cloud, (id, group), Some(node), Replacement::Launch)
}

fn terminate(
    ctx: &mut Ctx<'_>,
    cloud: &mut Cloud,
    (id, group): (&InstanceId, &GroupName),
    node: Option<&NodeTarget>,
    replacement: Replacement,
) -> Result<(), Refusal> {
    let Some(instance) = ctx.view().instances().get(id).cloned() else {
        return Err(Refusal::Gone { message: Text::from(format!("instance {id} not found")) });
    };
    check_node(ctx, &instance, node)?;
    if instance.group != *group {
        return Err(conflict(format!("instance {id} belongs to group {}", instance.group)));
    }
    if !instance.is_counted() {
        // Ended already: the effect is there.
        return Ok(());
    }
    match replacement {
        Replacement::Launch => {}
        Replacement::Decrement => change_group(ctx, group, |group| {
            if group.size.desired <= group.size.min {
                let message = format!("group {} is at its minimum: {}", group.name, group.size);
                return Err(Refusal::Failed { code: 400, message: Text::from(message) });
            }
            group.size.desired -= 1;
            Ok(())
        })?,
    }
    cloud.terminate(ctx, &instance);
    Ok(())
}

/// What a command expects of an instance's node, held against what there is: a read of the API server itself.
fn prove(ctx: &Ctx<'_>, instance: &InstanceId, expected: &Expected) -> Result<(), Refusal> {
    let view = ctx.view();
    match expected {
        Expected::Drained { node: target, marked_by, remaining } => {
            // The node object is gone, the instance is not: terminating it is what was asked for.
            let Some(node) = view.node(&target.name) else { return Ok(()) };
            let pods = view.pods_on(&target.name).iter().map(|ix| &*view.pods[*ix]);
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

/// What a client makes of the API server's answer. Only a 429 with the cause DisruptionBudget is a budget's.
fn refusal(error: ApiError) -> Refusal {
    let message = Text::from(error.message);
    let is_budget = error.causes.iter().any(|cause| cause.reason == "DisruptionBudget");
    match error.code {
        429 if is_budget => {
            let causes: Vec<String> = error.causes.into_iter().map(|cause| cause.message).collect();
            Refusal::Budget {
                message: Text::from(causes.join("; ")),
                retry_after_seconds: error.retry_after_seconds,
            }
        }
        409 => Refusal::Conflict { message },
        404 => Refusal::Gone { message },
        code => Refusal::Failed { code, message },
    }
}
