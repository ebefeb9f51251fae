//! Reading: one object, or the objects of a collection that selectors match.

use replank_model::object::{Kind, Object};
use replank_model::selector::{FieldSelector, Selector};
use serde_json::{Value, json};

use super::answer::served;
use super::path::Address;
use crate::api::{Api, ApiError};

impl Api {
    /// One object as it is served.
    ///
    /// # Errors
    /// 404.
    pub fn get_json(&self, address: &Address) -> Result<Value, ApiError> {
        Ok(served(&self.existing(address)?))
    }

    /// The objects of a collection that the address' selectors match, as a list.
    ///
    /// # Errors
    /// 400 where a selector cannot be read.
    pub fn list_json(&self, address: &Address) -> Result<Value, ApiError> {
        Ok(self.as_list(address, &self.list(address)?))
    }

    /// Objects as a list of their kind.
    pub(super) fn as_list(&self, address: &Address, items: &[Object]) -> Value {
        let items: Vec<Value> = items
            .iter()
            .map(|object| {
                let mut item = served(object);
                if let Value::Object(members) = &mut item {
                    members.remove("kind");
                    members.remove("apiVersion");
                }
                item
            })
            .collect();
        json!({"kind": format!("{}List", address.resource.name.kind), "apiVersion": address.resource.api_version(),
            "metadata": {"resourceVersion": self.version().to_string()}, "items": items})
    }

    /// The objects of a collection that the address' selectors match, sorted by namespace and name.
    ///
    /// # Errors
    /// 400 where a selector cannot be read.
    pub(super) fn list(&self, address: &Address) -> Result<Vec<Object>, ApiError> {
        let unreadable = |error: &dyn std::fmt::Display| ApiError::bad_request(&error.to_string());
        let labels: Selector = match address.parameter("labelSelector") {
            Some(text) => text.parse().map_err(|error| unreadable(&error))?,
            None => Selector::everything(),
        };
        let fields: FieldSelector = match address.parameter("fieldSelector") {
            Some(text) => text.parse().map_err(|error| unreadable(&error))?,
            None => FieldSelector::default(),
        };
        let mut found = self.all_of(address);
        found.retain(|object| {
            let meta = object.meta();
            address.namespace.as_ref().is_none_or(|namespace| *namespace == meta.namespace)
                && labels.matches(|key| meta.labels.value(key))
                && (fields.is_empty() || matches_fields(object, &fields))
        });
        Ok(found)
    }

    fn all_of(&self, address: &Address) -> Vec<Object> {
        let name = &address.resource.name;
        match address.resource.kind {
            Kind::Other => self
                .view()
                .others()
                .filter(|other| other.group() == &*name.group && other.kind == name.kind)
                .cloned()
                .map(Object::Other)
                .collect(),
            kind => self.view().objects_of(kind),
        }
    }
}

/// Whether the members that a field selector names have the values that it asks for; an absent one is empty.
fn matches_fields(object: &Object, fields: &FieldSelector) -> bool {
    let value = served(object);
    fields.matches(|field| {
        let path = format!("/{}", field.replace('.', "/"));
        Some(value.pointer(&path).and_then(Value::as_str).unwrap_or(""))
    })
}
