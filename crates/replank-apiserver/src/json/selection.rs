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
        self.have(|field| Cow::Owned(fields::text(value, field)))
    }

    fn has_fields(&self, object: &Object) -> bool {
        let mut whole: Option<Value> = None;
        // What nearly all ask for is at hand; only for the rest the object is written out.
        let mut text = |field: &str| match quick(object, field) {
            Some(text) => text.to_owned(),
            None => fields::text(whole.get_or_insert_with(|| served(object)), field),
        };
        let texts: Vec<(&str, String)> =
            self.fields.terms().iter().map(|term| (&*term.field, text(&term.field))).collect();
        self.have(|field| {
            let found = texts.iter().find(|(name, _)| *name == field);
            Cow::Owned(found.map(|(_, text)| text.clone()).unwrap_or_default())
        })
    }

    fn have<'t>(&self, text: impl Fn(&str) -> Cow<'t, str>) -> bool {
        let texts: Vec<(&str, Cow<'t, str>)> =
            self.fields.terms().iter().map(|term| (&*term.field, text(&term.field))).collect();
        self.fields.matches(|field| texts.iter().find(|(name, _)| *name == field).map(|(_, text)| &**text))
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
