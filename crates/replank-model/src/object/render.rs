//! Objects as the API's JSON: the typed projection over what it does not hold.
//!
//! At projection what the typed part says is taken out of the JSON ([`subtract`]); what is left, fields that nobody
//! models, is kept as text. Rendering lays the typed part over it again ([`merge`]), so that an unknown field
//! survives a change of a known one.

use serde_json::{Map, Value};

use crate::object::meta::{Meta, Raw};
use crate::object::pod_wire::{Own, join, spec_to_value};
use crate::object::{Object, Resource};

/// The object as JSON, unknown fields included.
#[must_use]
pub fn render(object: &Object) -> Value {
    let mut value = rest_of(&object.meta().raw);
    match typed_value(object) {
        Some(typed) => merge(&mut value, typed),
        None => return value,
    }
    if let Object::Pod(pod) = object {
        let mut spec = spec_to_value(&pod.spec);
        if let Value::Object(members) = &mut spec {
            join(members, &Own { node: pod.node.clone(), pin: pod.pin.clone(), token: pod.token.clone() });
        }
        value["spec"] = spec;
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

/// Members by which elements of a list are told apart, most telling first (the merge keys of the API's schema).
const MERGE_KEYS: [&str; 8] =
    ["name", "type", "uid", "key", "topologyKey", "containerPort", "mountPath", "port"];

/// Takes out of `value` what `typed` says.
///
/// Scalars that both have are dropped whether or not they are written alike (`1000m` and `1` are the same quantity).
/// Lists keep, element by element, what is left, beside the member that tells the elements apart.
pub(super) fn subtract(value: &mut Value, typed: &Value) {
    let (Value::Object(value), Value::Object(typed)) = (value, typed) else { return };
    for (key, said) in typed {
        let Some(member) = value.get_mut(key) else { continue };
        let left = match (&mut *member, said) {
            (Value::Object(inner), Value::Object(_)) => {
                let _: &mut Map<String, Value> = inner;
                subtract(member, said);
                member.as_object().is_some_and(|inner| !inner.is_empty())
            }
            (Value::Array(items), Value::Array(said)) => subtract_list(items, said),
            _ => false,
        };
        if !left {
            value.remove(key);
        }
    }
}

/// Whether anything is left of the list.
fn subtract_list(items: &mut [Value], said: &[Value]) -> bool {
    if items.len() != said.len() || !items.iter().all(Value::is_object) {
        return false;
    }
    let key = merge_key(said);
    let mut left = false;
    for (item, said) in items.iter_mut().zip(said) {
        subtract(item, said);
        left |= item.as_object().is_some_and(|item| !item.is_empty());
        if let (Some(key), Value::Object(item)) = (key, item) {
            item.insert(key.into(), said[key].clone());
        }
    }
    left
}

/// Lays `typed` over `value`.
pub(super) fn merge(value: &mut Value, typed: Value) {
    match (value, typed) {
        (Value::Object(value), Value::Object(typed)) => {
            for (key, said) in typed {
                match value.get_mut(&key) {
                    Some(member) => merge(member, said),
                    None => {
                        value.insert(key, said);
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(said)) => merge_list(items, said),
        (value, typed) => *value = typed,
    }
}

fn merge_list(items: &mut Vec<Value>, said: Vec<Value>) {
    let rests = std::mem::take(items);
    let key = merge_key(&said).filter(|key| merge_key(&rests) == Some(*key));
    let positional = key.is_none() && rests.len() == said.len();
    for (at, said) in said.into_iter().enumerate() {
        let rest = match key {
            Some(key) => rests.iter().find(|rest| rest[key] == said[key]),
            None if positional => rests.get(at),
            None => None,
        };
        let mut item =
            rest.filter(|rest| rest.is_object()).cloned().unwrap_or_else(|| Value::Object(Map::new()));
        merge(&mut item, said);
        items.push(item);
    }
}

/// The first merge key that every element has, with values that differ.
fn merge_key(items: &[Value]) -> Option<&'static str> {
    MERGE_KEYS.into_iter().find(|key| {
        let mut seen: Vec<&Value> = Vec::with_capacity(items.len());
        !items.is_empty()
            && items.iter().all(|item| match item.get(key) {
                Some(value) if !seen.contains(&value) => {
                    seen.push(value);
                    true
                }
                _ => false,
            })
    })
}
