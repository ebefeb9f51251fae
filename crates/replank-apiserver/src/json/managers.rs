//! Who manages which fields of an object that is written: what `managed` needs to know of the resource and of the request.

use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_schema::types;
use serde_json::{Map, Value};

use super::answer::member;
use super::kept::written;
use super::managed::{Keeper, Part};
use super::path::{Address, Subresource};
use super::terms::Terms;
use super::{form, strategy};
use crate::server::resource::ResourceType;
use crate::server::{Api, ApiError};

impl Api {
    /// Records in a new state who manages what, if the write came over the wire.
    ///
    /// # Errors
    /// Where the states cannot be compared in the versions of others.
    pub(super) fn keep_account(
        &self,
        address: &Address,
        known: Option<&Object>,
        value: &mut Value,
        terms: &Terms,
    ) -> Result<(), ApiError> {
        let Some(client) = terms.client.as_ref().filter(|_| !terms.is_accounted) else { return Ok(()) };
        let resource = &address.resource;
        let mut live = known.map(|known| self.shown_at(resource, known)).transpose()?;
        let mut new = value.clone();
        form::encode_sent(resource, &mut new);
        let mut of = address.clone();
        if let Some(spoken) = &client.spoken {
            live = live.map(|live| spoken.0.shown(live));
            new = spoken.0.shown(new);
            of = spoken.of(address);
        }
        let schema = self.schema_of(resource);
        let versions = self.versions(resource, client.spoken.as_ref());
        let mut keeper = Keeper { versions: Some(&versions), ..self.keeper(&of, schema.as_ref()) };
        if let Some(named) = &client.named {
            // Its types are those of the version that is kept, as far as they agree.
            live = live.map(|live| named.0.shown(live));
            new = named.0.shown(new);
            keeper.api_version = named.api_version(resource);
            keeper.versions = None;
        }
        keeper.update(live.as_ref(), &mut new, &client.manager)?;
        let managers = new.get("metadata").and_then(|meta| meta.get("managedFields")).cloned();
        if let Value::Object(meta) = member(value, "metadata") {
            match managers {
                Some(managers) => meta.insert("managedFields".to_owned(), managers),
                None => meta.remove("managedFields"),
            };
        }
        Ok(())
    }

    /// How fields of the objects at an address are managed.
    pub(super) fn keeper<'s>(&self, address: &Address, schema: Option<&'s Value>) -> Keeper<'s> {
        let resource = &address.resource;
        let (name, version) = (&resource.name, &resource.version);
        let of = match (types().of_kind(&name.group, version, &name.kind), schema) {
            (Some(of), _) => Part::Named(of, false),
            (None, Some(schema)) => Part::CustomRoot(schema, false),
            (None, None) => Part::Deduced,
        };
        let mut empty = Value::Object(Map::new());
        written(resource, &mut empty);
        Keeper {
            of,
            empty,
            api_version: resource.api_version(),
            subresource: address.subresource.map_or("", Subresource::as_str),
            reset: strategy::reset_fields(resource, address.subresource),
            now: self.timestamp().to_string(),
            versions: None,
        }
    }

    /// The schema of a custom resource in its version.
    pub(super) fn schema_of(&self, resource: &ResourceType) -> Option<Value> {
        let version = resource.api_version();
        let mut all = self.schemas_of(resource).into_iter();
        all.find(|(known, _)| *known == version).map(|(_, schema)| schema).filter(|schema| !schema.is_null())
    }

    /// `apiVersion` of each version of a custom resource, and its schema; null without one.
    pub(super) fn schemas_of(&self, resource: &ResourceType) -> Vec<(String, Value)> {
        let name = format!("{}.{}", resource.name.plural, resource.name.group);
        let key = Key::cluster(name.as_str());
        let Some(definition) = self.view().custom_resource_definitions.by_key(&key) else {
            return Vec::new();
        };
        let definition = render(&Object::CustomResourceDefinition(definition.clone()));
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        let schema = |version: &Value| {
            let api_version = format!("{}/{}", resource.name.group, version["name"].as_str()?);
            Some((api_version, version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default()))
        };
        versions.into_iter().flatten().filter_map(schema).collect()
    }
}
