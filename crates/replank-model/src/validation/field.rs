//! A value of an object and where it stands.

use serde_json::Value;

use crate::quantity::Quantity;

const ABSENT: &Value = &Value::Null;

/// A value that [`super::decode`] has put into normal form, with its path. What is not there is `null`.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> Field<'a> {
    pub(super) fn new(path: impl Into<String>, value: &'a Value) -> Self {
        Self { path: path.into(), value }
    }

    /// The path of a member.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(super) fn child(&self, name: &str) -> Self {
        Self { path: self.at(name), value: self.value.get(name).unwrap_or(ABSENT) }
    }

    /// The same value under another path, where the server does not name the one that it has.
    pub(super) fn moved(&self, path: impl Into<String>) -> Self {
        Self { path: path.into(), value: self.value }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let path = self.path.clone();
        let items = self.value.as_array().map_or(&[][..], Vec::as_slice).iter().enumerate();
        items.map(move |(index, value)| Self { path: format!("{path}[{index}]"), value })
    }

    /// The texts of a list.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.value.as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// The members of a map, in the order of their keys. (Upstream takes them as its map happens to lie.)
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let path = self.path.clone();
        let members = self.value.as_object().into_iter().flatten();
        members.map(move |(key, value)| (key.as_str(), Self { path: format!("{path}[{key}]"), value }))
    }

    pub(super) fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            Value::String(text) => text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is there (for what upstream has behind a pointer).
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// The field itself if it is there.
    pub(super) fn set(self) -> Option<Self> {
        Some(self).filter(Self::is_set)
    }

    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or("")
    }

    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// A number that is 0 where it is absent.
    pub(super) fn number_or_zero(&self) -> i64 {
        self.number().unwrap_or(0)
    }

    pub(super) fn flag(&self) -> Option<bool> {
        self.value.as_bool()
    }

    pub(super) fn is_true(&self) -> bool {
        self.flag() == Some(true)
    }

    pub(super) fn quantity(&self) -> Option<Quantity> {
        quantity_text(self.value)?.trim().parse().ok()
    }
}

/// A quantity as it stands in JSON, without quotes.
pub(super) fn quantity_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null => None,
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}
