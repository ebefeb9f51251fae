//! Reading: one object, or the objects of a collection that selectors match.

use replank_model::object::{Kind, Object};
use replank_model::selector::{FieldSelector, Selector};
use serde_json::{Value, json};

use super::answer::{served, served_at};
use super::fields;
use super::path::Address;
use crate::server::{Api, ApiError, EventRecord};

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
        if (&*name.kind, &*name.group) != ("Event", "") {
            return Ok(Vec::new());
        }
        let (_, fields) = selectors(address)?;
        let told = self
            .events(address.namespace.as_ref())
            .filter(|event| event.is_served(self.now()))
            .map(EventRecord::to_value);
        Ok(told.filter(|event| fields_match(event, &fields)).collect())
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
        let (labels, fields) = selectors(address)?;
        let mut found = self.all_of(address);
        found.retain(|object| {
            let meta = object.meta();
            address.namespace.as_ref().is_none_or(|namespace| *namespace == meta.namespace)
                && labels.matches(|key| meta.labels.value(key))
                && (fields.is_empty() || fields_match(&served(object), &fields))
        });
        Ok(found)
    }

    fn all_of(&self, address: &Address) -> Vec<Object> {
        let name = &address.resource.name;
        if address.resource.kind != Kind::Other {
            return self.view().objects_of(address.resource.kind);
        }
        self.view()
            .others()
            .filter(|other| other.group() == &*name.group && other.kind == name.kind)
            .cloned()
            .map(Object::Other)
            .collect()
    }
}

/// What the address asks for, by labels and by fields.
///
/// # Errors
/// 400 where one cannot be read, or a field is none that the resource is indexed by.
fn selectors(address: &Address) -> Result<(Selector, FieldSelector), ApiError> {
    let unreadable = |error: &dyn std::fmt::Display| ApiError::bad_request(&error.to_string());
    let labels: Selector = match address.parameter("labelSelector") {
        Some(text) => text.parse().map_err(|error| unreadable(&error))?,
        None => Selector::everything(),
    };
    let fields: FieldSelector = match address.parameter("fieldSelector") {
        Some(text) => text.parse().map_err(|error| unreadable(&error))?,
        None => FieldSelector::default(),
    };
    if let Some(term) =
        fields.terms().iter().find(|term| !fields::is_supported(&address.resource, &term.field))
    {
        return Err(fields::refusal(&address.resource, &term.field));
    }
    Ok((labels, fields))
}

/// Whether the members that a field selector names have the values that it asks for; an absent one is empty.
fn fields_match(value: &Value, fields: &FieldSelector) -> bool {
    let texts: Vec<(&str, String)> =
        fields.terms().iter().map(|term| (&*term.field, super::fields::text(value, &term.field))).collect();
    fields.matches(|field| texts.iter().find(|(name, _)| *name == field).map(|(_, text)| text.as_str()))
}
