//! Objects as the API's JSON: the typed projection over what it does not hold.
//!
//! At projection what the typed part says is taken out of the JSON ([`subtract`]); what is left, fields that nobody
//! models, is kept as text. Rendering lays the typed part over it again ([`merge`]), so that an unknown field
//! survives a change of a known one.

use serde_json::{Map, Value};

use crate::object::meta::{Meta, Raw};
use crate::object::pod_wire::own_spec;
use crate::object::{Object, Resource};

pub(super) use super::difference::{merge, subtract};

/// The object as JSON, unknown fields included.
#[must_use]
pub fn render(object: &Object) -> Value {
    let mut value = rest_of(&object.meta().raw);
    match typed_value(object) {
        Some(typed) => merge(&mut value, typed),
        None => return value,
    }
    if let Object::Pod(pod) = object {
        value["spec"] = own_spec(pod);
    }
    value
}

/// What the typed part of an object says, as JSON, with `apiVersion` and `kind`; a pod's without its spec.
pub(super) fn typed_value(object: &Object) -> Option<Value> {
    let mut value = match object {
        Object::Pod(pod) => {
            let mut members = Map::new();
            members.insert("metadata".into(), serde_json::to_value(&pod.meta).ok()?);
            members.insert("status".into(), serde_json::to_value(&pod.status).ok()?);
            Value::Object(members)
        }
        Object::Other(other) => meta_only(&other.meta)?,
        Object::Namespace(o) => typed(&**o)?,
        Object::Node(o) => typed(&**o)?,
        Object::PriorityClass(o) => typed(&**o)?,
        Object::StorageClass(o) => typed(&**o)?,
        Object::CsiDriver(o) => typed(&**o)?,
        Object::NodeClaim(o) => typed(&**o)?,
        Object::CsiNode(o) => typed(&**o)?,
        Object::CsiStorageCapacity(o) => typed(&**o)?,
        Object::VolumeAttachment(o) => typed(&**o)?,
        Object::PersistentVolume(o) => typed(&**o)?,
        Object::CustomResourceDefinition(o) => typed(&**o)?,
        Object::PersistentVolumeClaim(o) => typed(&**o)?,
        Object::ResourceQuota(o) => typed(&**o)?,
        Object::Deployment(o) => typed(&**o)?,
        Object::ReplicaSet(o) => typed(&**o)?,
        Object::ReplicationController(o) => typed(&**o)?,
        Object::StatefulSet(o) => typed(&**o)?,
        Object::DaemonSet(o) => typed(&**o)?,
        Object::ControllerRevision(o) => typed(&**o)?,
        Object::CronJob(o) => typed(&**o)?,
        Object::Job(o) => typed(&**o)?,
        Object::HorizontalPodAutoscaler(o) => typed(&**o)?,
        Object::PodDisruptionBudget(o) => typed(&**o)?,
        Object::Service(o) => typed(&**o)?,
        Object::EndpointSlice(o) => typed(&**o)?,
    };
    value["apiVersion"] = Value::from(object.api_version());
    value["kind"] = Value::from(object.kind_name());
    Some(value)
}

fn typed<R: Resource + serde::Serialize>(object: &R) -> Option<Value> {
    serde_json::to_value(object).ok()
}

fn meta_only(meta: &Meta) -> Option<Value> {
    let mut members = Map::new();
    members.insert("metadata".into(), serde_json::to_value(meta).ok()?);
    Some(Value::Object(members))
}

fn rest_of(raw: &Raw) -> Value {
    raw.0
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| Value::Object(Map::new()))
}
