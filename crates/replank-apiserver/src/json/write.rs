//! Creating and updating: what a body means, beside what is stored (apiserver `registry/rest/{create,update}.go`, and
//! each kind's strategy).

use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object, ProjectError, render};
use replank_model::text::Name;
use serde_json::Value;

use super::answer::member;
use super::differs::{counts, says_the_same};
use super::kept::{
    SERVERS_OWN, keep_member, keep_other_parts, keep_same_template, keep_servers_own, merged_meta,
    normalize_templates, written,
};
use super::managed::Keeper;
use super::patch::{self, PatchType};
use super::path::{Address, Subresource};
use super::policies::{self, Attempt};
use super::terms::Terms;
use super::{
    Effect, body, check, custom, defaults, event_changes, events, pod_parts, pod_update, rules, signing,
    strategy, warn,
};
use crate::draw::Purpose;
use crate::server::resource::{Generation, ResourceType, StatusWrites};
use crate::server::{Api, ApiError};
use crate::server::{Cause, ResourceName};

impl Api {
    /// Creates the object that a manifest describes, in the namespace that it names (`default` without one). Of kinds that no pods come from, only the name is
    /// looked at: scripts write what a simulation needs of them.
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
        self.is_script = true;
        let made = self.create_json(&address, manifest, Effect::Real);
        self.is_script = false;
        made
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
        self.create_as(address, body, &mut Terms::own(effect))
    }

    /// As [`Api::create_json`], in the way that a request asks for.
    pub(super) fn create_as(
        &mut self,
        address: &Address,
        body: Value,
        terms: &mut Terms,
    ) -> Result<Object, ApiError> {
        let mut value = read(address, body, terms)?;
        self.check_going(&address.resource, &value)?;
        let resource = &address.resource;
        // What is no number names none.
        let version = value.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let names_version = version.parse::<u64>().is_ok_and(|version| version != 0);
        let given_generation = value.pointer("/metadata/generation").cloned();
        let managers = value.pointer("/metadata/managedFields").cloned();
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
        defaults::fill_scheme(resource.kind, &mut value);
        if terms.client.is_some() {
            defaults::fill_served(resource.kind, &mut value);
            normalize_templates(&mut value);
        }
        if terms.client.is_some()
            && let (Generation::Absent, Some(generation)) = (resource.generation, given_generation)
        {
            member(&mut value, "metadata")["generation"] = generation;
        }
        if let Some(managers) = managers.filter(|_| terms.client.is_some()) {
            member(&mut value, "metadata")["managedFields"] = managers;
        }
        if signing::is_request(resource) && terms.client.is_some() {
            signing::at_creation(self.caller.as_ref(), &mut value);
        }
        self.keep_account(address, None, &mut value, terms)?;
        if resource.kind == Kind::Service && terms.client.is_some() {
            self.ready_service(&mut value, None)?;
        }
        defaults::fill(resource.kind, &mut value);
        // A kubelet registers its node status and all (registry/core/node `PrepareForCreate`); a pod's is made anew below.
        if resource.status == StatusWrites::Apart
            && !matches!(resource.kind, Kind::Node | Kind::Pod)
            && let Value::Object(members) = &mut value
        {
            members.remove("status");
        }
        defaults::at_creation(resource.kind, &mut value, self.timestamp());
        defaults::protect(resource, &mut value);
        defaults::bare_secrets(resource, &mut value);
        if &*resource.name.plural == "limitranges" && terms.client.is_some() {
            self.name_limit_range(&mut value);
        }
        defaults::fill_other(resource, &mut value);
        self.change_by_policies(address, None, &mut value, terms.effect)?;
        self.change_by_hooks(address, None, &mut value, (terms.effect, &mut terms.warnings))?;
        if terms.client.is_some() {
            self.name_early(address, &mut value);
        }
        self.name_account(resource.kind, &mut value);
        let mut causes = check::new_object(resource, &value);
        if signing::is_request(resource) && terms.client.is_some() {
            causes.extend(signing::check(None, None, &value, self.request_fault()));
        }
        if self.is_script && !check::has_pods(resource.kind) && resource.kind != Kind::PodDisruptionBudget {
            causes.retain(|cause| cause.field.as_deref() == Some("metadata.name"));
        }
        refuse(resource, &value, causes)?;
        let kept = self.stored_as(resource, value.clone())?;
        let object = self.project(resource, kept)?;
        self.agree_with_policies(address, None, &value, terms)?;
        let object = match resource.generation {
            Generation::Counted | Generation::Fixed => object.map_meta(|meta| meta.generation = 1),
            Generation::Absent => object,
        };
        if names_version && terms.client.is_some() && !terms.is_accounted {
            return Err(ApiError::internal("resourceVersion should not be set on objects to be created"));
        }
        if terms.client.is_some() {
            terms.warnings.extend(warn::warnings(resource, None, &value, true));
        }
        let key = object.meta().key();
        let object = self.prepare(object).map_err(|error| match &*resource.name.group {
            // Events of two groups are one object: the refusal names the resource that was asked for.
            "events.k8s.io" if error.reason == "AlreadyExists" => {
                ApiError::already_exists(resource.name.clone(), &key)
            }
            _ => error,
        })?;
        terms.has_created = true;
        Ok(match terms.effect {
            Effect::Real => {
                let stored = self.store(object);
                self.settle(&stored);
                stored
            }
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
        self.update_as(address, body, &mut Terms::own(effect))
    }

    /// As [`Api::update_json`], in the way that a request asks for.
    pub(super) fn update_as(
        &mut self,
        address: &Address,
        body: Value,
        terms: &mut Terms,
    ) -> Result<Object, ApiError> {
        let value = read(address, body, terms)?;
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        body::check_name(address, text("/metadata/name"))?;
        let known = match self.at(address) {
            Some(known) => known,
            // Who names a uid means one that is there.
            None if !text("/metadata/uid").is_empty() && strategy::creates_on_update(&address.resource) => {
                let key = address.key().unwrap_or_default();
                return Err(other_uid(&address.resource, &key, (text("/metadata/uid"), ""), terms.effect));
            }
            None if address.subresource.is_none() && strategy::creates_on_update(&address.resource) => {
                // Which version it was to take the place of is not looked at, as long as it is one.
                is_version(text("/metadata/resourceVersion"))?;
                let mut value = value;
                if let Value::Object(meta) = member(&mut value, "metadata") {
                    meta.remove("resourceVersion");
                }
                let collection = Address { name: None, ..address.clone() };
                return self.create_as(&collection, value, terms);
            }
            None => return Err(self.missing(address)),
        };
        self.write_over(address, &known, value, terms)
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
        self.patch_as(address, kind, body, &mut Terms::own(effect))
    }

    /// As [`Api::patch_json`], in the way that a request asks for.
    pub(super) fn patch_as(
        &mut self,
        address: &Address,
        kind: PatchType,
        body: &Value,
        terms: &mut Terms,
    ) -> Result<Object, ApiError> {
        if kind == PatchType::Apply {
            return self.apply_as(address, body, terms);
        }
        patch::check_type(&address.resource, kind)?;
        let known = self.existing(address)?;
        let mut value = match terms.client {
            Some(_) => self.shown_at(&address.resource, &known)?,
            None => {
                let mut value = render(&known);
                events::show(&address.resource, &mut value);
                value
            }
        };
        let spoken = terms.spoken();
        let of = spoken.as_ref().map_or_else(|| address.clone(), |spoken| spoken.of(address));
        if let Some(spoken) = &spoken {
            value = spoken.0.shown(value);
        }
        patch::apply(&of.resource, kind, &mut value, body)?;
        terms.is_patch = terms.client.is_some();
        if terms.client.is_some() {
            value = body::patched(&of, kind, value, body, terms)?;
        }
        if let Some(spoken) = &spoken {
            value = spoken.kept(&value)?;
        }
        self.write_over(address, &known, value, terms)
    }

    /// Applies a configuration: server-side apply.
    fn apply_as(&mut self, address: &Address, body: &Value, terms: &mut Terms) -> Result<Object, ApiError> {
        terms.strict_configuration()?;
        let spoken = terms.spoken();
        let of = spoken.as_ref().map_or_else(|| address.clone(), |spoken| spoken.of(address));
        body::check_applied(&of, body)?;
        let Some(client) = terms.client.clone() else {
            return Err(ApiError::bad_request("an apply names its manager"));
        };
        let known = self.at(address);
        if known.is_none() && address.subresource.is_some() {
            return Err(self.missing(address));
        }
        let resource = &address.resource;
        let mut live = known.as_ref().map(|known| self.shown_at(resource, known)).transpose()?;
        if let Some(spoken) = &spoken {
            live = live.map(|live| spoken.0.shown(live));
        }
        let schema = self.schema_of(resource);
        let versions = self.versions(resource, spoken.as_ref());
        let mut keeper = Keeper { versions: Some(&versions), ..self.keeper(&of, schema.as_ref()) };
        if let Some(named) = &client.named {
            keeper.api_version = named.api_version(resource);
        }
        let applied = keeper.apply(live.as_ref(), body, &client.manager, client.force)?;
        let mut value = body::applied(&of, applied.object)?;
        if let Some(spoken) = &spoken {
            value = spoken.kept(&value)?;
        }
        terms.is_accounted = true;
        match known {
            Some(known) => self.write_over(address, &known, value, terms),
            None => {
                let uid = value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
                if !uid.is_empty() {
                    let why = format!(
                        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                    );
                    let key = address.key().unwrap_or_default();
                    return Err(ApiError::conflict(resource.name.clone(), &key, &why));
                }
                let collection = Address { name: None, ..address.clone() };
                self.create_as(&collection, value, terms)
            }
        }
    }

    pub(super) fn write_over(
        &mut self,
        address: &Address,
        known: &Object,
        mut value: Value,
        terms: &mut Terms,
    ) -> Result<Object, ApiError> {
        let resource = &address.resource;
        custom::take_in(resource, &mut value)?;
        let mut old = self.old_at(resource, known)?;
        defaults::fill(resource.kind, &mut old);
        self.check_version(resource, known, &value, terms)?;
        check_kind(address, &value)?;
        let given = value.clone();
        if terms.client.is_some() {
            defaults::fill_scheme(resource.kind, &mut value);
        }
        self.keep_account(address, Some(known), &mut value, terms)?;
        keep_servers_own(&old, &mut value, terms.client.is_some());
        keep_other_parts(address, &old, &mut value);
        if signing::is_request(resource) {
            signing::at_update(address.subresource, &old, &mut value, self.timestamp());
        }
        if resource.kind == Kind::Service && terms.client.is_some() {
            self.ready_service(&mut value, Some(&old))?;
        }
        defaults::fill(resource.kind, &mut value);
        if terms.client.is_some() {
            normalize_templates(&mut value);
            keep_same_template(resource, &old, &mut value);
        }
        defaults::at_update(resource.kind, &old, &mut value);
        defaults::bare_secrets(resource, &mut value);
        if resource.kind == Kind::Namespace && address.subresource.is_none() {
            // What holds a namespace is written through its own part.
            let held = old.pointer("/spec/finalizers").cloned();
            keep_member(&mut value, "spec", "finalizers", held);
        }
        if resource.kind == Kind::Pod && terms.client.is_some() {
            pod_update::admit(&old, &mut value);
        }
        defaults::fill_other(resource, &mut value);
        // Who decides about a Scale has been asked about the Scale.
        let is_scaled = address.subresource == Some(Subresource::Scale);
        if !is_scaled {
            self.change_by_policies(address, Some(&old), &mut value, terms.effect)?;
            self.change_by_hooks(address, Some(&old), &mut value, (terms.effect, &mut terms.warnings))?;
        }
        let mut causes = wrong(address, &old, &value, &given);
        if signing::is_request(resource) && terms.client.is_some() {
            let part = address.subresource;
            causes.extend(signing::check(part, Some(&old), &value, self.request_fault()));
        }
        if event_changes::are(resource) && terms.client.is_some() {
            // What a new event must be is not asked of a change.
            causes.retain(|cause| cause.field.as_deref().is_some_and(|field| field.starts_with("metadata")));
            causes.extend(event_changes::check(resource, &old, &value));
            if !causes.is_empty() {
                return Err(ApiError::invalid(event_changes::name(), known.meta().name.as_str(), causes));
            }
        }
        refuse(resource, &value, causes)?;
        let kept = self.stored_as(resource, value.clone())?;
        let object = self.project(resource, kept)?;
        let object = self.reallocate(known, object)?;
        if let (Some(Subresource::Resize), Object::Pod(pod)) = (address.subresource, &object) {
            // The only change of a pod that plugin LimitRanger looks at.
            self.check_limits(pod)?;
        }
        if !is_scaled {
            self.agree_with_policies(address, Some(&old), &value, terms)?;
        }
        if terms.client.is_some() && address.subresource.is_none() {
            let is_changed = old.get("spec") != value.get("spec");
            terms.warnings.extend(warn::warnings(resource, Some(&old), &value, is_changed));
        }
        if terms.client.is_some() && says_the_same(resource, known, &object) {
            return Ok(self.released(known, object, terms));
        }
        let counted = match resource.generation {
            // Begun with at the first change (storage/csidriver `PrepareForUpdate`).
            Generation::Absent if &*resource.name.plural == "csidrivers" => counts(resource, &old, &value),
            Generation::Absent | Generation::Fixed => false,
            Generation::Counted if terms.client.is_some() => {
                // What a client sends back has the members that Go never leaves out.
                let (mut old, mut new) = (old, value);
                written(resource, &mut old);
                written(resource, &mut new);
                counts(resource, &old, &new)
            }
            Generation::Counted => counts(resource, &old, &value),
        };
        Ok(match terms.effect {
            Effect::Real => {
                let stored = self.replace(known.clone(), object, counted);
                self.settle(&stored);
                stored
            }
            Effect::DryRun => object.map_meta(|meta| meta.generation += i64::from(counted)),
        })
    }

    /// Has policies change an object, and fills in what they leave out.
    fn change_by_policies(
        &mut self,
        address: &Address,
        old: Option<&Value>,
        value: &mut Value,
        effect: Effect,
    ) -> Result<(), ApiError> {
        let (changes, _) = self.has_policies();
        if !changes {
            return Ok(());
        }
        let current = value.clone();
        if self.mutate_by_policies(&attempt(address, old, &current, effect), value)? {
            custom::take_in(&address.resource, value)?;
            defaults::fill(address.resource.kind, value);
        }
        Ok(())
    }

    /// Asks the policies that may refuse a write.
    fn agree_with_policies(
        &mut self,
        address: &Address,
        old: Option<&Value>,
        value: &Value,
        terms: &mut Terms,
    ) -> Result<(), ApiError> {
        terms.warnings.extend(self.check_security(address, old, value)?);
        let warned = self.ask_policies(&attempt(address, old, value, terms.effect))?;
        terms.warnings.extend(warned);
        self.agree_with_hooks(address, old, Some(value), (terms.effect, &mut terms.warnings), None)
    }

    /// Gives an object its name that has only a prefix: it is named in what it may be refused with.
    fn name_early(&mut self, address: &Address, value: &mut Value) {
        let text = |member: &str| value["metadata"].get(member).and_then(Value::as_str).unwrap_or_default();
        let prefix = text("generateName").to_owned();
        if prefix.is_empty() || !text("name").is_empty() {
            return;
        }
        let hooks = self.caller.as_ref().and_then(|caller| caller.hooks.clone());
        let mut make = || {
            const TRIES_MAX: u32 = 8;
            let mut name = Name::default();
            for _ in 0..TRIES_MAX {
                name = self.generate_name(&prefix.as_str().into());
                let taken = self.at(&Address { name: Some(name.clone()), ..address.clone() });
                if taken.is_none() {
                    break;
                }
            }
            name.as_str().to_owned()
        };
        let name = match hooks {
            Some(hooks) => hooks.named(make),
            None => make(),
        };
        member(value, "metadata")["name"] = name.into();
    }

    /// A limit range without a name is named by a uid (core/limitrange `PrepareForCreate`).
    fn name_limit_range(&self, value: &mut Value) {
        let meta = member(value, "metadata");
        let has = |name: &str| meta.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if !has("name") && !has("generateName") {
            let first = self.draw(&format!("LimitRange@{}", self.version()), Purpose::Address);
            let second = self.draw(&format!("LimitRange/{first}"), Purpose::Address);
            let digits = format!("{first:016x}{second:016x}");
            let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..32]];
            meta["name"] = parts.join("-").into();
        }
    }

    /// What a checker says of a policy stands in its status.
    fn check_types(&mut self, stored: &Object) {
        if stored.kind_name() != "ValidatingAdmissionPolicy" {
            return;
        }
        let mut value = render(stored);
        let warnings = policies::type_warnings(self, &value["spec"]);
        let checking = match warnings.is_empty() {
            true => serde_json::json!({}),
            false => serde_json::json!({"expressionWarnings": warnings}),
        };
        let status =
            serde_json::json!({"observedGeneration": stored.meta().generation, "typeChecking": checking});
        if value.get("status") != Some(&status) {
            value["status"] = status;
            if let Ok(object) = self.projector.object(value) {
                self.replace(stored.clone(), object, false);
            }
        }
    }

    /// What follows from a write: a definition decides about names of its group, a policy is checked.
    fn settle(&mut self, stored: &Object) {
        self.check_types(stored);
        if let Object::CustomResourceDefinition(definition) = stored {
            let group = definition.spec.group.clone();
            self.settle_definitions(&group);
        }
    }

    /// Nothing is made of a definition that is on its way out.
    fn check_going(&self, resource: &ResourceType, value: &Value) -> Result<(), ApiError> {
        let is_going = resource.custom.as_ref().is_some_and(|custom| custom.is_going);
        if !is_going {
            return Ok(());
        }
        let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let key = Key::cluster(Name::from(name));
        let why = "create not allowed while custom resource definition is terminating";
        Err(ApiError::forbidden(resource.name.clone(), &key, why))
    }

    /// What becomes of a write that changes nothing: nothing, unless the object was only waiting for it to go.
    fn released(&mut self, known: &Object, object: Object, terms: &Terms) -> Object {
        let meta = known.meta();
        match terms.effect {
            Effect::Real if meta.is_terminating() => self.replace(known.clone(), object, false),
            Effect::Real | Effect::DryRun => known.clone(),
        }
    }

    fn request_fault(&self) -> Option<&str> {
        self.caller.as_ref()?.request_fault.as_deref()
    }

    fn missing(&self, address: &Address) -> ApiError {
        ApiError::not_found(address.resource.name.clone(), &address.key().unwrap_or_default())
    }

    fn require_namespace(&self, address: &Address) -> Result<(), ApiError> {
        let Some(namespace) = &address.namespace else { return Ok(()) };
        let key = Key::cluster(namespace.text().clone());
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
        events::keep(resource, &mut value);
        let object = self.projector.object(value).map_err(|error| unreadable(resource, &error))?;
        Ok(if nameless { object.map_meta(|meta| meta.name = Name::default()) } else { object })
    }

    fn check_version(
        &self,
        resource: &ResourceType,
        known: &Object,
        value: &Value,
        terms: &Terms,
    ) -> Result<(), ApiError> {
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (version, uid) = (text("/metadata/resourceVersion"), text("/metadata/uid"));
        let meta = known.meta();
        if !uid.is_empty() && uid != meta.uid.as_str() && terms.is_patch {
            let cause =
                Cause::invalid("metadata.uid", &replank_custom::problem::quoted(uid), "field is immutable");
            let causes = vec![cause; rules::comparisons(resource)];
            return Err(ApiError::invalid(resource.name.clone(), meta.name.as_str(), causes));
        }
        if !uid.is_empty() && uid != meta.uid.as_str() {
            return Err(other_uid(resource, &meta.key(), (uid, meta.uid.as_str()), terms.effect));
        }
        if terms.client.is_some() && version.is_empty() && strategy::must_name_version(resource) {
            let cause = Cause::invalid("metadata.resourceVersion", "0", "must be specified for an update");
            let name = ResourceName {
                // The generic registry names the resource here where others name the kind.
                kind: resource.name.plural.clone(),
                ..resource.name.clone()
            };
            return Err(ApiError::invalid(name, meta.name.as_str(), vec![cause]));
        }
        if !version.is_empty() && version != meta.resource_version.0.to_string() {
            is_version(version)?;
            let why = "the object has been modified; please apply your changes to the latest version and try \
                       again";
            return Err(ApiError::conflict(resource.name.clone(), &meta.key(), why));
        }
        Ok(())
    }
}

/// Whether a text may be the version of an object; empty stands for none.
fn is_version(text: &str) -> Result<(), ApiError> {
    if text.is_empty() || text.parse::<u64>().is_ok() {
        return Ok(());
    }
    Err(ApiError::internal(&format!("strconv.ParseUint: parsing {text:?}: invalid syntax")))
}

/// What is said where a write means another object than the one that is there, if one is.
fn other_uid(resource: &ResourceType, key: &Key, (meant, there): (&str, &str), effect: Effect) -> ApiError {
    let place = strategy::storage_key(resource, key);
    // A dry run does not get as far as the place where the prefix is put before it.
    let place = match effect {
        Effect::Real => place.as_str(),
        Effect::DryRun => place.strip_prefix("/registry").unwrap_or(&place),
    };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {meant}, UID in object meta: {there}"
    );
    ApiError::conflict(resource.name.clone(), key, &why)
}

fn unreadable(resource: &ResourceType, error: &ProjectError) -> ApiError {
    let why = match error {
        ProjectError::Member { path, message, .. } => format!("{path}: {message}"),
        ProjectError::NotAnObject { .. } | ProjectError::Missing { .. } => error.to_string(),
    };
    let (version, kind) = (&resource.version, &resource.name.kind);
    ApiError::bad_request(&format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}

fn refuse(resource: &ResourceType, value: &Value, causes: Vec<Cause>) -> Result<(), ApiError> {
    if causes.is_empty() {
        return Ok(());
    }
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let mut of = resource.name.clone();
    if &*of.group == "events.k8s.io" {
        // Events of both groups have one strategy, which names the core group.
        of.group = "".into();
    }
    Err(ApiError::invalid(of, name, causes))
}

/// Reads a body in the version in which the client writes, and brings it into the one that is kept.
fn read(address: &Address, body: Value, terms: &mut Terms) -> Result<Value, ApiError> {
    match terms.spoken().filter(|_| !terms.is_accounted) {
        None => body::read(address, body, terms),
        Some(spoken) => {
            let value = body::read(&spoken.of(address), body, terms)?;
            spoken.kept(&value)
        }
    }
}

/// A custom resource stays of its kind.
fn check_kind(address: &Address, value: &Value) -> Result<(), ApiError> {
    let (resource, kind) = (&address.resource, value["kind"].as_str().unwrap_or_default());
    if resource.custom.is_none() || kind.is_empty() || *kind == *resource.name.kind {
        return Ok(());
    }
    let cause = Cause::invalid("kind", &format!("{kind:?}"), &format!("must be {}", resource.name.kind));
    let given = ResourceName { kind: kind.into(), ..resource.name.clone() };
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(ApiError::invalid(given, name, vec![cause]))
}

/// What is wrong with a change at an address.
fn wrong(address: &Address, old: &Value, value: &Value, given: &Value) -> Vec<Cause> {
    match address.subresource {
        // What may not be changed otherwise is changed here.
        Some(part @ (Subresource::EphemeralContainers | Subresource::Resize)) => {
            pod_parts::check(part, old, value)
        }
        None
        | Some(
            Subresource::Status
            | Subresource::Scale
            | Subresource::Eviction
            | Subresource::Binding
            | Subresource::Approval
            | Subresource::Finalize,
        ) => {
            let mut causes = check::update(&address.resource, old, value, &merged_meta(value, given));
            if address.subresource == Some(Subresource::Status) {
                causes.extend(rules::status(address.resource.kind, old, value));
                custom::told_of_status(&address.resource, &mut causes);
            }
            causes
        }
    }
}

/// A write as policies see it.
pub(super) fn attempt<'a>(
    address: &'a Address,
    old: Option<&'a Value>,
    value: &'a Value,
    effect: Effect,
) -> Attempt<'a> {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let subresource = address.subresource.map_or("", Subresource::as_str);
    Attempt {
        operation: if old.is_some() { "UPDATE" } else { "CREATE" },
        resource: &address.resource,
        requested: None,
        of: None,
        subresource,
        namespace: address.namespace.as_ref().map_or("", |namespace| namespace.as_str()),
        name: text("/metadata/name"),
        object: Some(value),
        old,
        is_dry: effect == Effect::DryRun,
    }
}
