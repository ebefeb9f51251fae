//! The scale subresource: replicas, whatever the kind (autoscaling/v1 Scale).

use replank_model::object::{Object, render};
use replank_model::selector::{LabelSelector, Selector};
use serde_json::{Value, json};

use super::Effect;
use super::admit::PartWrite;
use super::answer::{member, served_at};
use super::patch::{self, PatchType};
use super::path::Address;
use super::policies::Of;
use super::terms::Terms;
use super::{body, managed};
use crate::server::{Api, ApiError, Cause, ResourceName, ResourceType};

impl Api {
    /// The scale of an object.
    ///
    /// # Errors
    /// 404 where the kind has none, 500 where a custom resource does not say how many it wants.
    pub fn get_scale(&self, address: &Address) -> Result<Value, ApiError> {
        let known = self.existing(address)?;
        if let (Some(_), Some(paths)) = (&address.resource.custom, &address.resource.scale) {
            let path = &*paths.spec_replicas_path;
            if get(&served_at(&address.resource, &known), path).is_none() {
                let why = format!("the spec replicas field {path:?} does not exist");
                return Err(ApiError::internal_error(&why));
            }
        }
        scale(address, &known)
    }

    /// Sets the replicas that a Scale asks for.
    ///
    /// # Errors
    /// As a server refuses.
    pub(super) fn update_scale(
        &mut self,
        address: &Address,
        body: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        scale(address, &self.existing(address)?)?;
        if terms.client.is_none() {
            return self.write_scale(address, body, terms);
        }
        let part = as_scale(address);
        let body = body::read(&part, body.clone(), terms)?;
        let name = body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        body::check_name(&part, name)?;
        self.write_scale(address, &body, terms)
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
        self.patch_scale_as(address, kind, body, &mut Terms::own(effect))
    }

    /// As [`Api::patch_scale`], in the way that a request asks for.
    pub(super) fn patch_scale_as(
        &mut self,
        address: &Address,
        kind: PatchType,
        body: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        let known = self.existing(address)?;
        let mut after = scale(address, &known)?;
        let part = as_scale(address);
        if kind == PatchType::Apply {
            return self.apply_scale(address, &known, body, terms);
        }
        patch::apply(&part.resource, kind, &mut after, body)?;
        if terms.client.is_some() {
            after = body::patched(&part, kind, after, body, terms)?;
        }
        if !patch::names_version(kind, body) {
            member(&mut after, "metadata")["resourceVersion"] = Value::Null;
        }
        self.write_scale(address, &after, terms)
    }

    /// Applies a Scale: its replicas have a manager as they have in the object.
    fn apply_scale(
        &mut self,
        address: &Address,
        known: &Object,
        body: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        terms.strict_configuration()?;
        let part = as_scale(address);
        body::check_applied(&part, body)?;
        let Some(client) = terms.client.clone() else {
            return Err(ApiError::bad_request("an apply names its manager"));
        };
        let live = managed_scale(address, known)?;
        let applied = self.keeper(&part, None).apply(Some(&live), body, &client.manager, client.force)?;
        let mut after = body::applied(&part, applied.object)?;
        if body.pointer("/metadata/resourceVersion").is_none_or(Value::is_null) {
            member(&mut after, "metadata")["resourceVersion"] = Value::Null;
        }
        self.write_scale_as(address, &after, &after, terms)
    }

    fn write_scale(
        &mut self,
        address: &Address,
        after: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        let Some(client) = terms.client.clone() else {
            return self.write_scale_as(address, after, after, terms);
        };
        let part = as_scale(address);
        let live = managed_scale(address, &self.existing(address)?)?;
        let mut managed = after.clone();
        self.keeper(&part, None).update(Some(&live), &mut managed, &client.manager)?;
        self.write_scale_as(address, after, &managed, terms)
    }

    /// Writes the replicas of a Scale; `managed` is the same with its managers.
    fn write_scale_as(
        &mut self,
        address: &Address,
        after: &Value,
        managed: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        let replicas = after.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
        let path = address.resource.scale.as_ref().map_or("", |scale| &*scale.spec_replicas_path);
        let known = self.existing(address)?;
        let replicas = self.admit_scale(address, &known, replicas, terms)?;
        check_replicas(address, &known, &replicas)?;
        let mut whole = match terms.client {
            Some(_) => self.shown_at(&address.resource, &known)?,
            None => render(&known),
        };
        set(&mut whole, path, replicas);
        let version =
            after.pointer("/metadata/resourceVersion").cloned().filter(|version| !version.is_null());
        if let Some(version) = version {
            member(&mut whole, "metadata")["resourceVersion"] = version;
        }
        if let Some(uid) = after.pointer("/metadata/uid").filter(|uid| !uid.is_null()) {
            member(&mut whole, "metadata")["uid"] = uid.clone();
        }
        if terms.client.is_some() {
            managed::scale::to_object(managed, path, &address.resource.api_version(), &mut whole);
            terms.is_accounted = true;
        }
        let written = self.write_over(address, &known, whole, terms)?;
        scale(address, &written)
    }
}

impl Api {
    /// Asks those who decide about writes about a Scale; the replicas that they leave it with.
    fn admit_scale(
        &mut self,
        address: &Address,
        known: &Object,
        replicas: Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        if terms.client.is_none() {
            return Ok(replicas);
        }
        let old = managed_scale(address, known)?;
        let mut new = old.clone();
        // Go leaves out a wish for none.
        if replicas == 0 {
            new["spec"] = json!({});
        } else {
            set(&mut new, ".spec.replicas", replicas);
        }
        let of = Of { group: "autoscaling", version: "v1", kind: "Scale" };
        let effect = terms.effect;
        let write = PartWrite { operation: "UPDATE", of, part: "scale", old: Some(&old), effect };
        let admitted = self.admit_part(address, &write, new, &mut terms.warnings)?;
        Ok(admitted.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into()))
    }
}

/// An object's scale, with those who manage its replicas.
fn managed_scale(address: &Address, known: &Object) -> Result<Value, ApiError> {
    let mut live = scale(address, known)?;
    let path = address.resource.scale.as_ref().map_or("", |scale| &*scale.spec_replicas_path);
    managed::scale::to_scale(&served_at(&address.resource, known), path, &mut live);
    Ok(live)
}

/// The address as that of a Scale: what is sent there is one, whatever is scaled.
fn as_scale(address: &Address) -> Address {
    let mut part = address.clone();
    part.resource.name =
        ResourceName { group: "autoscaling".into(), plural: "scales".into(), kind: "Scale".into() };
    part.resource.version = "v1".into();
    part.resource.custom = None;
    part
}

/// Nothing has less than no replicas; built-in kinds and custom ones say so in other words.
fn check_replicas(address: &Address, known: &Object, replicas: &Value) -> Result<(), ApiError> {
    let Some(number) = replicas.as_i64().filter(|number| *number < 0) else { return Ok(()) };
    let resource = &address.resource;
    let is_built_in =
        ResourceType::built_in(&resource.name.group, &resource.version, &resource.name.plural).is_some();
    let name = known.meta().name.as_str();
    if is_built_in {
        let why = "must be greater than or equal to 0";
        let cause = Cause::invalid("spec.replicas", &number.to_string(), why);
        return Err(ApiError::invalid(as_scale(address).resource.name, name, vec![cause]));
    }
    let path = resource.scale.as_ref().map_or("", |scale| &*scale.spec_replicas_path);
    let cause = Cause::invalid(path, &number.to_string(), "should be a non-negative integer");
    Err(ApiError::invalid(resource.name.clone(), name, vec![cause]))
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
