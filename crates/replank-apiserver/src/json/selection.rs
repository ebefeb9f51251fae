//! Which objects of a collection are asked for: by labels and by fields.

use std::borrow::Cow;

use replank_model::object::Object;
use replank_model::selector::{FieldSelector, Selector};
use serde_json::Value;

use super::answer::served;
use super::fields;
use super::path::Address;
use crate::server::{ApiError, ResourceType};

/// Labels and fields that objects must have.
#[derive(Clone, Debug)]
pub struct Selection {
    labels: Selector,
    fields: FieldSelector,
}

impl Selection {
    /// What an address asks for.
    ///
    /// # Errors
    /// As [`Selection::read`].
    pub(super) fn of(address: &Address) -> Result<Self, ApiError> {
        let of = |name| address.parameter(name);
        Self::read(&address.resource, of("labelSelector"), of("fieldSelector"))
    }

    /// Reads a label selector and a field selector.
    ///
    /// # Errors
    /// 400 where one cannot be read, or a field is none that the resource is indexed by.
    pub fn read(
        resource: &ResourceType,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, ApiError> {
        let unreadable = |error: &dyn std::fmt::Display| ApiError::bad_request(&error.to_string());
        let labels: Selector = match labels {
            Some(text) => text.parse().map_err(|error| unreadable(&error))?,
            None => Selector::everything(),
        };
        let fields: FieldSelector = match fields {
            Some(text) => text.parse().map_err(|error| unreadable(&error))?,
            None => FieldSelector::default(),
        };
        let unknown = fields.terms().iter().find(|term| !fields::is_supported(resource, &term.field));
        match unknown {
            Some(term) => Err(fields::refusal(resource, &term.field)),
            None => Ok(Self { labels, fields }),
        }
    }

    /// Whether an object is asked for.
    #[must_use]
    pub fn matches(&self, object: &Object) -> bool {
        let labels = &object.meta().labels;
        self.labels.matches(|key| labels.value(key)) && (self.fields.is_empty() || self.has_fields(object))
    }

    /// Whether an object as it is served has the fields that are asked for; labels are not looked at.
    #[must_use]
    pub fn fields_match(&self, value: &Value) -> bool {
        self.fields.matches_texts(|field| Cow::Owned(fields::text(value, field)))
    }

    fn has_fields(&self, object: &Object) -> bool {
        let mut whole: Option<Value> = None;
        // What nearly all ask for is at hand; only for the rest the object is written out.
        let text = |field: &str| match quick(object, field) {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(fields::text(whole.get_or_insert_with(|| served(object)), field)),
        };
        self.fields.matches_texts(text)
    }
}

/// A field that can be read off without writing the object out.
fn quick<'o>(object: &'o Object, field: &str) -> Option<&'o str> {
    match (field, object) {
        ("metadata.name", _) => Some(object.meta().name.as_str()),
        ("metadata.namespace", _) => Some(object.meta().namespace.as_str()),
        ("spec.nodeName", Object::Pod(pod)) => Some(pod.node.as_ref().map_or("", |node| node.as_str())),
        _ => None,
    }
}
