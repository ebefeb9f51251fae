//! Objects as the server shows them: with the zeros that Go's types never leave out.

use replank_model::object::{Object, render};
use serde_json::{Map, Value, json};

use crate::server::ResourceType;

/// The object as it is served.
pub(super) fn served(object: &Object) -> Value {
    let mut value = render(object);
    for path in ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"] {
        if let Some(spec) = value.pointer_mut(path) {
            container_resources(spec);
        }
    }
    let zeros: &[&str] = match object {
        Object::PodDisruptionBudget(_) => {
            condition_messages(&mut value);
            &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"]
        }
        Object::ReplicaSet(_) | Object::ReplicationController(_) => &["replicas"],
        Object::StatefulSet(_) => &["replicas", "availableReplicas"],
        Object::DaemonSet(_) => {
            &["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"]
        }
        Object::Deployment(_)
        | Object::Job(_)
        | Object::CronJob(_)
        | Object::ResourceQuota(_)
        | Object::Namespace(_) => &[],
        Object::Pod(_) => {
            if let Value::Object(members) = member(&mut value, "status") {
                members.entry("phase").or_insert_with(|| "Pending".into());
            }
            return value;
        }
        Object::Node(_)
        | Object::PriorityClass(_)
        | Object::StorageClass(_)
        | Object::CsiDriver(_)
        | Object::CsiNode(_)
        | Object::NodeClaim(_)
        | Object::CsiStorageCapacity(_)
        | Object::VolumeAttachment(_)
        | Object::PersistentVolume(_)
        | Object::CustomResourceDefinition(_)
        | Object::PersistentVolumeClaim(_)
        | Object::ControllerRevision(_)
        | Object::HorizontalPodAutoscaler(_)
        | Object::Service(_)
        | Object::EndpointSlice(_)
        | Object::Other(_) => return value,
    };
    if let Value::Object(status) = member(&mut value, "status") {
        for zero in zeros {
            status.entry(*zero).or_insert_with(|| 0.into());
        }
    }
    value
}

/// The object as it is served at an address: custom resources in the version that was asked for, whichever they were written in (a definition without a
/// conversion webhook converts nothing but `apiVersion`).
#[must_use]
pub fn served_at(resource: &ResourceType, object: &Object) -> Value {
    let mut value = served(object);
    if let Object::Other(_) = object {
        value["apiVersion"] = resource.api_version().into();
    }
    value
}

/// A container always has its resources, if only empty ones.
fn container_resources(spec: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            member(container, "resources");
        }
    }
}

/// A condition of the shared type (metav1.Condition) always has its message, if only an empty one.
fn condition_messages(value: &mut Value) {
    let conditions = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if let Value::Object(members) = condition {
            members.entry("message").or_insert_with(|| "".into());
        }
    }
}

/// A member of an object, made if it is not there.
pub(super) fn member<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    let slot = &mut value[name];
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot
}

/// The answer to a deletion that is done.
pub(super) fn deleted(resource: &ResourceType, object: &Object) -> Value {
    let mut details = json!({"name": object.meta().name.as_str(), "kind": &*resource.name.plural,
        "uid": object.meta().uid.as_str()});
    if !resource.name.group.is_empty() {
        details["group"] = (*resource.name.group).into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
