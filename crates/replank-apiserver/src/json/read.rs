//! Reading: one object, or the objects of a collection that selectors match.

use replank_model::object::{Kind, Object};
use serde_json::{Value, json};

use super::answer::served_at;
use super::events;
use super::path::Address;
use super::selection::Selection;
use crate::server::{Api, ApiError, EventRecord, ResourceType};

impl Api {
    /// One object as it is served.
    ///
    /// # Errors
    /// 404.
    pub fn get_json(&self, address: &Address) -> Result<Value, ApiError> {
        Ok(served_at(&address.resource, &self.existing(address)?))
    }

    /// The objects of a collection that the address' selectors match, as a list.
    ///
    /// # Errors
    /// 400 where a selector cannot be read.
    pub fn list_json(&self, address: &Address) -> Result<Value, ApiError> {
        let mut list = self.as_list(address, &self.list(address)?);
        if let Some(Value::Array(items)) = list.get_mut("items") {
            items.extend(self.recorded_events(address)?);
        }
        Ok(list)
    }

    /// What controllers have told, if it is asked for.
    fn recorded_events(&self, address: &Address) -> Result<Vec<Value>, ApiError> {
        let name = &address.resource.name;
        // Where clients are served these are objects of their own.
        if (&*name.kind, &*name.group) != ("Event", "") || self.serves_clients() {
            return Ok(Vec::new());
        }
        let selection = Selection::of(address)?;
        let told = self
            .events(address.namespace.as_ref())
            .filter(|event| event.is_served(self.now()))
            .map(EventRecord::to_value);
        Ok(told.filter(|event| selection.fields_match(event)).collect())
    }

    /// Objects as a list of their kind.
    pub(super) fn as_list(&self, address: &Address, items: &[Object]) -> Value {
        // Objects that are held untyped name their type, each.
        let is_custom = address.resource.custom.is_some();
        let items: Vec<Value> = items
            .iter()
            .map(|object| {
                let mut item = served_at(&address.resource, object);
                if is_custom {
                    return item;
                }
                if let Value::Object(members) = &mut item {
                    members.remove("kind");
                    members.remove("apiVersion");
                }
                item
            })
            .collect();
        let mut metadata = json!({"resourceVersion": self.version().to_string()});
        if is_custom {
            metadata["continue"] = "".into();
        }
        json!({"kind": format!("{}List", address.resource.name.kind), "apiVersion": address.resource.api_version(),
            "metadata": metadata, "items": items})
    }

    /// The objects of a collection that the address' selectors match, sorted by namespace and name.
    ///
    /// # Errors
    /// 400 where a selector cannot be read.
    pub(super) fn list(&self, address: &Address) -> Result<Vec<Object>, ApiError> {
        let selection = Selection::of(address)?;
        let mut found = self.all_of(address);
        found.retain(|object| {
            let meta = object.meta();
            address.namespace.as_ref().is_none_or(|namespace| *namespace == meta.namespace)
                && selection.matches(object)
        });
        Ok(found)
    }

    fn all_of(&self, address: &Address) -> Vec<Object> {
        self.resource_objects(&address.resource)
    }

    /// Every object of a resource.
    pub(super) fn resource_objects(&self, resource: &ResourceType) -> Vec<Object> {
        let name = &resource.name;
        if resource.kind != Kind::Other {
            return self.view().objects_of(resource.kind);
        }
        let group = events::group_of(resource);
        self.view()
            .others()
            .filter(|other| other.group() == &*group && other.kind == name.kind)
            .cloned()
            .map(Object::Other)
            .collect()
    }
}
