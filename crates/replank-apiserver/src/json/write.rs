//! Creating and updating: what a body means, beside what is stored (apiserver `registry/rest/{create,update}.go`, and
//! each kind's strategy).

use replank_model::object::{Kind, Object, ProjectError, render};
use replank_model::text::Name;
use serde_json::{Map, Value};

use super::answer::member;
use super::patch::{self, PatchType};
use super::path::{Address, Subresource};
use super::{Effect, check, defaults};
use crate::server::resource::{Generation, ResourceType, StatusWrites};
use crate::server::{Api, ApiError};
use crate::server::{Cause, ResourceName};

/// Members of `metadata` that only the server writes.
const SERVERS_OWN: [&str; 9] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "managedFields",
    "namespace",
];

impl Api {
    /// Creates the object that a manifest describes, in the namespace that it names (`default` without one).
    ///
    /// # Errors
    /// As a server refuses.
    pub fn apply_json(&mut self, manifest: Value) -> Result<Object, ApiError> {
        let text = |member: &str| manifest.pointer(member).and_then(Value::as_str).unwrap_or_default();
        let resource = self.resource_type(text("/apiVersion"), text("/kind"))?;
        let namespace = match text("/metadata/namespace") {
            "" => "default",
            named => named,
        };
        let address = Address::new(resource, Some(namespace.into()), None);
        self.create_json(&address, manifest, Effect::Real)
    }

    /// Creates an object in a collection.
    ///
    /// # Errors
    /// As a server refuses: 400 for what is not an object of the kind, 404 without the namespace, 403, 409, 422.
    pub fn create_json(
        &mut self,
        address: &Address,
        body: Value,
        effect: Effect,
    ) -> Result<Object, ApiError> {
        let mut value = self.readable(address, body)?;
        let meta = member(&mut value, "metadata");
        if let Value::Object(meta) = meta {
            SERVERS_OWN.iter().for_each(|own| {
                meta.remove(*own);
            });
        }
        if let Some(namespace) = &address.namespace {
            meta["namespace"] = namespace.as_str().into();
            self.require_namespace(address)?;
        }
        let resource = &address.resource;
        // A kubelet registers its node status and all (registry/core/node `PrepareForCreate`).
        if resource.status == StatusWrites::Apart
            && resource.kind != Kind::Node
            && let Value::Object(members) = &mut value
        {
            members.remove("status");
        }
        defaults::fill(resource.kind, &mut value);
        defaults::at_creation(resource.kind, &mut value, self.timestamp());
        let object = self.project(resource, value.clone())?;
        refuse(resource, &object, check::new_object(resource, &value, &object))?;
        let object = match resource.generation {
            Generation::Counted => object.map_meta(|meta| meta.generation = 1),
            Generation::Absent => object,
        };
        let object = self.prepare(object)?;
        Ok(match effect {
            Effect::Real => self.store(object),
            Effect::DryRun => object,
        })
    }

    /// Replaces an object, or one of its subresources.
    ///
    /// # Errors
    /// As a server refuses: 400, 404, 409 where the object has changed since, 422.
    pub fn update_json(
        &mut self,
        address: &Address,
        body: Value,
        effect: Effect,
    ) -> Result<Object, ApiError> {
        let value = self.readable(address, body)?;
        let known = self.existing(address)?;
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let name = text("/metadata/name");
        if must_name_version(&address.resource) && text("/metadata/resourceVersion").is_empty() {
            let cause = Cause::invalid("metadata.resourceVersion", "0", "must be specified for an update");
            let resource = ResourceName {
                // The generic registry names the resource here where others name the kind.
                kind: address.resource.name.plural.clone(),
                ..address.resource.name.clone()
            };
            return Err(ApiError::invalid(resource, name, vec![cause]));
        }
        if name != known.meta().name.as_str() {
            return Err(ApiError::bad_request("the name of the object does not match the name on the URL"));
        }
        self.write_over(address, &known, value, effect)
    }

    /// Changes a part of an object, or of one of its subresources.
    ///
    /// # Errors
    /// As a server refuses: 400 and 422 for a patch that cannot be applied, 404, 409, 422.
    pub fn patch_json(
        &mut self,
        address: &Address,
        kind: PatchType,
        body: &Value,
        effect: Effect,
    ) -> Result<Object, ApiError> {
        let known = self.existing(address)?;
        let mut value = render(&known);
        patch::apply(&address.resource, kind, &mut value, body)?;
        let asked = patch::names_version(kind, body);
        if !asked && let Some(Value::Object(meta)) = value.get_mut("metadata") {
            meta.remove("resourceVersion");
        }
        self.write_over(address, &known, value, effect)
    }

    fn write_over(
        &mut self,
        address: &Address,
        known: &Object,
        mut value: Value,
        effect: Effect,
    ) -> Result<Object, ApiError> {
        let resource = &address.resource;
        let mut old = render(known);
        defaults::fill(resource.kind, &mut old);
        self.check_version(resource, known, &value)?;
        keep_servers_own(&old, &mut value);
        match (resource.status, address.subresource) {
            (_, Some(Subresource::Status)) => keep_all_but_status(&old, &mut value),
            (StatusWrites::Apart, _) => keep(&old, &mut value, "status"),
            (StatusWrites::WithObject, _) => {}
        }
        defaults::fill(resource.kind, &mut value);
        defaults::at_update(resource.kind, &old, &mut value);
        let object = self.project(resource, value.clone())?;
        refuse(resource, &object, check::update(resource, &old, &value, known, &object))?;
        let counted = match resource.generation {
            Generation::Absent => false,
            Generation::Counted => counts(resource, &old, &value),
        };
        Ok(match effect {
            Effect::Real => self.replace(known.clone(), object, counted),
            Effect::DryRun => object.map_meta(|meta| meta.generation += i64::from(counted)),
        })
    }

    /// Reads a body as an object of the address' kind.
    fn readable(&self, address: &Address, body: Value) -> Result<Value, ApiError> {
        let name = &address.resource.name;
        let Value::Object(mut members) = body else {
            return Err(ApiError::bad_request(&format!(
                "the object provided is unrecognized (must be of type {}): couldn't get version/kind",
                name.kind
            )));
        };
        members.retain(|_, member| !member.is_null());
        let text = |member: &str| members.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, api_version) = (text("kind"), text("apiVersion"));
        let wanted = address.resource.api_version();
        if (!kind.is_empty() && *kind != *name.kind) || (!api_version.is_empty() && api_version != wanted) {
            return Err(ApiError::bad_request(&format!(
                "{kind} in version \"{}\" cannot be handled as a {}",
                api_version.rsplit('/').next().unwrap_or_default(),
                name.kind
            )));
        }
        members.insert("kind".to_owned(), (*name.kind).into());
        members.insert("apiVersion".to_owned(), wanted.into());
        let value = Value::Object(members);
        let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        match &address.namespace {
            Some(expected) if !namespace.is_empty() && namespace != expected.as_str() => {
                Err(ApiError::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ))
            }
            Some(_) | None => Ok(value),
        }
    }

    fn require_namespace(&self, address: &Address) -> Result<(), ApiError> {
        let Some(namespace) = &address.namespace else { return Ok(()) };
        let key = replank_model::object::meta::Key::cluster(namespace.text().clone());
        match self.view().namespaces.by_key(&key) {
            Some(_) => Ok(()),
            None => Err(ApiError::not_found(Kind::Namespace, &key)),
        }
    }

    fn project(&mut self, resource: &ResourceType, mut value: Value) -> Result<Object, ApiError> {
        let has_name = |value: &Value| {
            ["/metadata/name", "/metadata/generateName"]
                .iter()
                .any(|path| value.pointer(path).and_then(Value::as_str).is_some_and(|name| !name.is_empty()))
        };
        let nameless = !has_name(&value);
        if nameless {
            // So that the other members are looked at too; the check for names refuses it.
            member(&mut value, "metadata")["name"] = "-".into();
        }
        let object = self.projector.object(value).map_err(|error| unreadable(resource, &error))?;
        Ok(if nameless { object.map_meta(|meta| meta.name = Name::default()) } else { object })
    }

    fn check_version(&self, resource: &ResourceType, known: &Object, value: &Value) -> Result<(), ApiError> {
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (version, uid) = (text("/metadata/resourceVersion"), text("/metadata/uid"));
        let meta = known.meta();
        if !version.is_empty() && version != meta.resource_version.0.to_string() {
            let why = "the object has been modified; please apply your changes to the latest version and try \
                       again";
            return Err(ApiError::conflict(resource.name.clone(), &meta.key(), why));
        }
        if !uid.is_empty() && uid != meta.uid.as_str() {
            let why =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", meta.uid);
            return Err(ApiError::conflict(resource.name.clone(), &meta.key(), &why));
        }
        Ok(())
    }
}

fn unreadable(resource: &ResourceType, error: &ProjectError) -> ApiError {
    let why = match error {
        ProjectError::Member { path, message, .. } => format!("{path}: {message}"),
        ProjectError::NotAnObject { .. } | ProjectError::Missing { .. } => error.to_string(),
    };
    let (version, kind) = (&resource.version, &resource.name.kind);
    ApiError::bad_request(&format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}

fn refuse(resource: &ResourceType, object: &Object, causes: Vec<Cause>) -> Result<(), ApiError> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(resource.name.clone(), object.meta().name.as_str(), causes))
}

/// Puts a member back to what it was.
fn keep(old: &Value, new: &mut Value, name: &str) {
    let Value::Object(members) = new else { return };
    match old.get(name) {
        Some(was) => {
            members.insert(name.to_owned(), was.clone());
        }
        None => {
            members.remove(name);
        }
    }
}

fn keep_servers_own(old: &Value, new: &mut Value) {
    let was = old.get("metadata").cloned().unwrap_or_default();
    let meta = member(new, "metadata");
    for own in SERVERS_OWN.iter().chain(&["name", "generateName"]) {
        keep(&was, meta, own);
    }
}

/// A write of the status subresource leaves the rest alone, save annotations (as the workload kinds' status strategies
/// do; the Deployment controller writes its revision that way).
fn keep_all_but_status(old: &Value, new: &mut Value) {
    let status = new.get("status").cloned();
    let annotations = new.pointer("/metadata/annotations").cloned();
    *new = old.clone();
    let members = member(new, "metadata");
    if let Value::Object(meta) = members {
        match annotations {
            Some(annotations) => meta.insert("annotations".to_owned(), annotations),
            None => meta.remove("annotations"),
        };
    }
    if let (Value::Object(members), Some(status)) = (new, status) {
        members.insert("status".to_owned(), status);
    }
}

/// Whether two states differ in what is desired: all but metadata, and status where that is written apart.
/// A Deployment's annotations count too (apps/deployment `PrepareForUpdate`).
fn counts(resource: &ResourceType, old: &Value, new: &Value) -> bool {
    let empty = Map::new();
    let members = |value: &Value| value.as_object().unwrap_or(&empty).clone();
    let (old_members, new_members) = (members(old), members(new));
    let skipped =
        |name: &str| name == "metadata" || (name == "status" && resource.status == StatusWrites::Apart);
    let differs = old_members
        .keys()
        .chain(new_members.keys())
        .any(|name| !skipped(name) && !alike(old_members.get(name), new_members.get(name)));
    let annotations = |value: &Value| value.pointer("/metadata/annotations").cloned();
    differs || (&*resource.name.plural == "deployments" && annotations(old) != annotations(new))
}

/// Equal, an empty member counting as an absent one.
fn alike(old: Option<&Value>, new: Option<&Value>) -> bool {
    fn is_empty(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Object(members) => members.values().all(is_empty),
            Value::Array(items) => items.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            old.keys().chain(new.keys()).all(|name| alike(old.get(name), new.get(name)))
        }
        (Some(old), Some(new)) => old == new || (is_empty(old) && is_empty(new)),
        (Some(one), None) | (None, Some(one)) => is_empty(one),
        (None, None) => true,
    }
}

/// Kinds whose update must name the version that it changes (`AllowUnconditionalUpdate` is false).
fn must_name_version(resource: &ResourceType) -> bool {
    matches!(&*resource.name.plural, "poddisruptionbudgets" | "leases" | "customresourcedefinitions")
}
