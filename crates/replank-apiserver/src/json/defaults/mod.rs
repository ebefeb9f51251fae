//! What a user leaves out: defaults by kind (Kubernetes 1.36 `pkg/apis/*/v1/defaults.go`), and what creation sets
//! whatever the user says (each kind's strategy, `PrepareForCreate`).

mod core;
mod definition;
mod missing;
mod others;
mod policies;
mod workload;

use replank_model::admission::{default_pod, prepare_pod_for_create};
use replank_model::object::Kind;
use replank_model::time::Time;
use serde_json::{Value, json};

use super::answer::member;
use crate::server::ResourceType;

use missing::{absent, items};

/// Sets what creation sets, once the defaults are there.
pub(super) fn at_creation(kind: Kind, value: &mut Value, now: Time) {
    let status = match kind {
        Kind::Pod => return prepare_pod_for_create(value, now),
        Kind::CustomResourceDefinition => return definition::begin(value),
        Kind::PersistentVolumeClaim | Kind::PersistentVolume => {
            if kind == Kind::PersistentVolumeClaim {
                core::settle_sources(member(value, "spec"));
            }
            json!({"phase": "Pending"})
        }
        Kind::Namespace => json!({"phase": "Active"}),
        Kind::PodDisruptionBudget => {
            json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0})
        }
        Kind::Job
        | Kind::Deployment
        | Kind::ReplicaSet
        | Kind::ReplicationController
        | Kind::StatefulSet
        | Kind::DaemonSet
        | Kind::CronJob
        | Kind::HorizontalPodAutoscaler
        | Kind::ResourceQuota
        | Kind::Service => json!({}),
        // A kubelet may create its node with a status.
        Kind::Node
        | Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::NodeClaim
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::ControllerRevision
        | Kind::EndpointSlice
        | Kind::Other => return,
    };
    value["status"] = status;
}

/// Adds the finalizer of kinds that are held untyped and may be in use (plugin StorageObjectInUseProtection).
pub(super) fn protect(resource: &ResourceType, value: &mut Value) {
    if &*resource.name.plural != "volumeattributesclasses" {
        return;
    }
    let meta = member(value, "metadata");
    let mut finalizers = meta.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    if !finalizers.iter().any(|one| one == "kubernetes.io/vac-protection") {
        finalizers.push("kubernetes.io/vac-protection".into());
        meta["finalizers"] = finalizers.into();
    }
}

/// Of the Secrets of a service account only the names are kept (core/serviceaccount `cleanSecretReferences`).
pub(super) fn bare_secrets(resource: &ResourceType, value: &mut Value) {
    if &*resource.name.plural != "serviceaccounts" {
        return;
    }
    for secret in items(value, "secrets") {
        let name = secret.get("name").cloned();
        *secret = name.map_or_else(|| json!({}), |name| json!({ "name": name }));
    }
}

/// Sets what only the server changes when a user changes an object.
pub(super) fn at_update(kind: Kind, old: &Value, value: &mut Value) {
    if kind == Kind::DaemonSet {
        workload::count_template(old, value);
    }
    if kind == Kind::CustomResourceDefinition && old.get("spec") != value.get("spec") {
        definition::store(value);
    }
}

/// Fills in what is left out of kinds that are held untyped.
pub(super) fn fill_other(resource: &ResourceType, value: &mut Value) {
    if &*resource.name.group == "admissionregistration.k8s.io" {
        policies::fill(&resource.name.kind, value);
    }
    // Fields of gates that are off by default are dropped (`dropDisabledFields`).
    let gated: &[&str] = match (&*resource.name.group, &*resource.name.plural) {
        ("coordination.k8s.io", "leases") => &["strategy", "preferredHolder"],
        ("storage.k8s.io", "csidrivers") => &["preventPodSchedulingIfMissing"],
        ("", "nodes") => &["configSource"],
        _ => return,
    };
    if resource.kind == Kind::Node
        && let Some(status) = value.get_mut("status").and_then(Value::as_object_mut)
    {
        status.remove("config");
    }
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|name, _| !gated.contains(&name.as_str()));
    }
}

/// Fills in what nobody in a rehearsal looks at.
pub(super) fn fill_served(kind: Kind, value: &mut Value) {
    if kind == Kind::Job {
        absent(member(value, "spec"), "manualSelector", false);
    }
}

/// Fills in what is left out, by the defaults of the kind and by its registry.
pub(super) fn fill(kind: Kind, value: &mut Value) {
    fill_scheme(kind, value);
    if kind == Kind::Service {
        core::families(member(value, "spec"));
    }
}

/// Fills in what the kind's own defaults say: who writes the object manages these.
pub(super) fn fill_scheme(kind: Kind, value: &mut Value) {
    match kind {
        Kind::Pod => {
            member(value, "spec");
            default_pod(value);
        }
        Kind::Service => core::service(member(value, "spec")),
        Kind::PersistentVolumeClaim => core::claim(member(value, "spec")),
        Kind::PersistentVolume => core::volume(member(value, "spec")),
        Kind::HorizontalPodAutoscaler => core::autoscaler(member(value, "spec")),
        Kind::EndpointSlice => core::endpoint_slice(value),
        Kind::Deployment => workload::deployment(member(value, "spec")),
        Kind::ReplicaSet => workload::replica_set(value),
        Kind::ReplicationController => workload::replication_controller(value),
        Kind::StatefulSet => workload::stateful_set(member(value, "spec")),
        Kind::DaemonSet => workload::daemon_set(value),
        Kind::Job => workload::job(value),
        Kind::CronJob => workload::cron_job(member(value, "spec")),
        Kind::CustomResourceDefinition => definition::fill(value),
        Kind::PriorityClass => absent(value, "preemptionPolicy", "PreemptLowerPriority"),
        Kind::StorageClass => {
            absent(value, "reclaimPolicy", "Delete");
            absent(value, "volumeBindingMode", "Immediate");
        }
        Kind::CsiDriver => core::driver(member(value, "spec")),
        Kind::Namespace => core::namespace(member(value, "metadata")),
        Kind::Node => core::node(member(value, "spec")),
        Kind::CsiNode
        | Kind::NodeClaim
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::ResourceQuota
        | Kind::ControllerRevision
        | Kind::PodDisruptionBudget => {}
        Kind::Other => others::fill(value),
    }
}
