//! What a migration does, as kubectl commands with their manifests: for whoever carries it out by hand, or checks it.

use replank_core::migrate::record_key;
use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object, render};
use replank_protocol::command::{Command, Dependents, Effect, KubernetesEffect};
use serde_json::{Value, json};

/// The command that does the same as an effect; `None` for Replank's own record.
pub(crate) fn command(command: &Command, (kind, of): (Kind, &Key)) -> Option<String> {
    let Effect::Kubernetes(effect) = &command.effect else { return None };
    let record = record_key(kind, of).name;
    let namespace = &of.namespace;
    match effect {
        KubernetesEffect::Create { object } | KubernetesEffect::Replace { object }
            if object.meta().name == record =>
        {
            None
        }
        KubernetesEffect::Delete { object, .. } if object.key.name == record => None,
        KubernetesEffect::Create { .. } => Some(format!("kubectl -n {namespace} create -f -")),
        KubernetesEffect::Replace { object: Object::HorizontalPodAutoscaler(autoscaler) } => {
            let target = &autoscaler.spec.scale_target_ref;
            let patch = json!({"spec": {"scaleTargetRef": {"apiVersion": target.api_version, "kind": target.kind, "name": target.name}}});
            Some(format!(
                "kubectl -n {namespace} patch hpa {} --type merge -p '{patch}'",
                autoscaler.meta.name
            ))
        }
        KubernetesEffect::Replace { object: Object::Deployment(deployment) } => Some(format!(
            "kubectl -n {namespace} scale deployment/{} --replicas={}",
            deployment.meta.name,
            deployment.spec.replicas.unwrap_or(1)
        )),
        KubernetesEffect::Replace { .. } => Some(format!("kubectl -n {namespace} replace -f -")),
        KubernetesEffect::Delete { object, dependents, .. } => {
            // No other untyped object is deleted.
            let kind = if object.kind == Kind::Other { "rollout" } else { object.kind.as_str() };
            let cascade = match dependents {
                Dependents::Orphaned => "orphan",
                Dependents::Collected => "background",
            };
            let kind = kind.to_lowercase();
            Some(format!("kubectl -n {namespace} delete {kind} {} --cascade={cascade}", object.key.name))
        }
        KubernetesEffect::Cordon { .. }
        | KubernetesEffect::Uncordon { .. }
        | KubernetesEffect::CordonByHand { .. }
        | KubernetesEffect::UncordonByHand { .. }
        | KubernetesEffect::Evict { .. }
        | KubernetesEffect::DeletePod { .. }
        | KubernetesEffect::ForceDelete { .. }
        | KubernetesEffect::Exclude { .. }
        | KubernetesEffect::RestartWorkload { .. }
        | KubernetesEffect::DeleteNodeClaim { .. } => None,
    }
}

/// The manifest that a command reads.
pub(crate) fn manifest(of: &Command, workload: (Kind, &Key)) -> Option<Value> {
    command(of, workload).filter(|command| command.ends_with("-f -"))?;
    match &of.effect {
        Effect::Kubernetes(KubernetesEffect::Create { object } | KubernetesEffect::Replace { object }) => {
            Some(applied(render(object)))
        }
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    }
}

/// An object without what the API server and controllers write.
pub(crate) fn applied(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    if let Some(meta) = object["metadata"].as_object_mut() {
        for written in
            ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"]
        {
            meta.remove(written);
        }
    }
    object
}
