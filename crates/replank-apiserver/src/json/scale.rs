//! The scale subresource: replicas, whatever the kind (autoscaling/v1 Scale).

use replank_model::object::{Object, render};
use replank_model::selector::{LabelSelector, Selector};
use serde_json::{Value, json};

use super::Effect;
use super::answer::member;
use super::patch::{self, PatchType};
use super::path::Address;
use crate::server::{Api, ApiError};

impl Api {
    /// The scale of an object.
    ///
    /// # Errors
    /// 404 where the kind has none.
    pub fn get_scale(&self, address: &Address) -> Result<Value, ApiError> {
        scale(address, &self.existing(address)?)
    }

    /// Sets the replicas that a Scale asks for.
    ///
    /// # Errors
    /// As a server refuses.
    pub fn update_scale(
        &mut self,
        address: &Address,
        body: &Value,
        effect: Effect,
    ) -> Result<Value, ApiError> {
        scale(address, &self.existing(address)?)?;
        self.write_scale(address, body, effect)
    }

    /// Changes the scale by a patch.
    ///
    /// # Errors
    /// As a server refuses.
    pub fn patch_scale(
        &mut self,
        address: &Address,
        kind: PatchType,
        body: &Value,
        effect: Effect,
    ) -> Result<Value, ApiError> {
        let mut after = scale(address, &self.existing(address)?)?;
        patch::apply(&address.resource, kind, &mut after, body)?;
        if !patch::names_version(kind, body) {
            member(&mut after, "metadata")["resourceVersion"] = Value::Null;
        }
        self.write_scale(address, &after, effect)
    }

    fn write_scale(&mut self, address: &Address, after: &Value, effect: Effect) -> Result<Value, ApiError> {
        let replicas = after.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
        let path = address.resource.scale.as_ref().map_or("", |scale| &*scale.spec_replicas_path);
        let mut change = json!({});
        set(&mut change, path, replicas);
        if let Some(version) = after.pointer("/metadata/resourceVersion").filter(|version| !version.is_null())
        {
            member(&mut change, "metadata")["resourceVersion"] = version.clone();
        }
        let whole = Address { subresource: None, ..address.clone() };
        let written = self.patch_json(&whole, PatchType::Merge, &change, effect)?;
        scale(address, &written)
    }
}

/// An object's scale.
fn scale(address: &Address, object: &Object) -> Result<Value, ApiError> {
    let Some(paths) = &address.resource.scale else { return Err(ApiError::no_resource()) };
    let value = render(object);
    let number = |path: &str| get(&value, path).and_then(Value::as_i64).unwrap_or(0);
    let meta = object.meta();
    let mut scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {"name": meta.name.as_str(), "uid": meta.uid.as_str(),
            "resourceVersion": meta.resource_version.0.to_string(), "creationTimestamp": meta.creation_timestamp},
        "spec": {},
        "status": {"replicas": number(&paths.status_replicas_path)}});
    // Go leaves out a wish for none.
    let wanted = number(&paths.spec_replicas_path);
    if wanted != 0 {
        scale["spec"]["replicas"] = wanted.into();
    }
    if !meta.namespace.is_empty() {
        scale["metadata"]["namespace"] = meta.namespace.as_str().into();
    }
    let selector = match &paths.label_selector_path {
        Some(path) => get(&value, path).and_then(Value::as_str).map(str::to_owned),
        None => built_in_selector(object),
    };
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        scale["status"]["selector"] = selector.into();
    }
    Ok(scale)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other kind has a scale")]
fn built_in_selector(object: &Object) -> Option<String> {
    let of = |selector: Option<&LabelSelector>| Some(selector?.compile().ok()?.to_string());
    match object {
        Object::Deployment(object) => of(object.spec.selector.as_ref()),
        Object::ReplicaSet(object) => of(object.spec.selector.as_ref()),
        Object::StatefulSet(object) => of(object.spec.selector.as_ref()),
        Object::ReplicationController(object) => {
            let pairs = object.spec.selector.pairs().iter().cloned();
            Some(Selector::from_set(pairs).to_string())
        }
        _ => None,
    }
}

/// A member by a path such as `.spec.replicas`.
fn get<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|name| !name.is_empty()).try_fold(value, |value, name| value.get(name))
}

fn set(value: &mut Value, path: &str, to: Value) {
    let slot = path.split('.').filter(|name| !name.is_empty()).fold(value, |value, name| member(value, name));
    *slot = to;
}
