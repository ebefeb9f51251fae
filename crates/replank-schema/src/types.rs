//! Types of the API, by their OpenAPI names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::table::table;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;

/// Group, version and kind.
pub type Gvk = (String, String, String);

/// A type: an object with fields, or a plain value such as a time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Type {
    /// The kinds of the API that it is the type of.
    pub gvk: Vec<Gvk>,
    /// Its fields, by name.
    pub fields: BTreeMap<String, Shape>,
    /// Fields that must be there.
    pub required: Vec<String>,
    /// `string`, `object` or another word of JSON schema, for types without fields.
    #[serde(rename = "type")]
    pub basic: Option<String>,
    /// Of a plain value.
    pub format: Option<String>,
    /// `atomic` where it is owned as a whole.
    #[serde(rename = "map-type")]
    pub map_type: Option<String>,
    /// Alternatives, for a plain value that may be a string or a number.
    #[serde(rename = "oneOf")]
    pub one_of: Vec<Value>,
    /// Which of its fields exclude each other.
    pub unions: Vec<Value>,
}

/// The shape of a field, of an item of a list, or of a value of a map.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Shape {
    /// `string`, `integer`, `number`, `boolean`, `array`, `object`; none where it refers to a type.
    #[serde(rename = "type")]
    pub basic: Option<String>,
    /// Such as `int32`, `date-time`, `byte`.
    pub format: Option<String>,
    /// The type that it refers to.
    #[serde(rename = "ref")]
    pub refers: Option<String>,
    /// Items of a list.
    pub items: Option<Box<Shape>>,
    /// Values of a map.
    pub values: Option<Box<Shape>>,
    /// What stands where nothing is given.
    pub default: Option<Value>,
    /// The words that it may be.
    #[serde(rename = "enum")]
    pub words: Vec<String>,
    /// How lists are merged by server-side apply.
    #[serde(rename = "list-type")]
    pub list_type: Option<ListType>,
    /// What tells the items of a list apart that is merged as a map.
    #[serde(rename = "list-map-keys")]
    pub list_map_keys: Vec<String>,
    /// `atomic` where a map is owned as a whole.
    #[serde(rename = "map-type")]
    pub map_type: Option<String>,
    /// The key by which strategic patches merge a list.
    #[serde(rename = "patch-merge-key")]
    pub merge_key: Option<String>,
    /// `merge`, `replace`, `retainKeys`, joined by commas.
    #[serde(rename = "patch-strategy")]
    pub strategy: Option<String>,
    /// Its number in protobuf.
    pub proto: Option<u32>,
}

/// How server-side apply merges a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListType {
    /// As a whole.
    Atomic,
    /// Each value once.
    Set,
    /// By the keys of its items.
    Map,
}

/// All types.
#[derive(Debug)]
pub struct Types {
    by_name: FxHashMap<String, Type>,
    by_kind: FxHashMap<Gvk, String>,
}

impl Types {
    /// The type of an OpenAPI name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Type> {
        self.by_name.get(name)
    }

    /// The OpenAPI name of a kind's type.
    #[must_use]
    pub fn name_of(&self, group: &str, version: &str, kind: &str) -> Option<&str> {
        self.by_kind.get(&(group.to_owned(), version.to_owned(), kind.to_owned())).map(String::as_str)
    }

    /// The type of a kind.
    #[must_use]
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Type> {
        self.named(self.name_of(group, version, kind)?)
    }

    /// The type that a shape refers to.
    #[must_use]
    pub fn behind(&self, shape: &Shape) -> Option<&Type> {
        self.named(shape.refers.as_deref()?)
    }

    /// All of them with their names, in no order.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Type)> {
        self.by_name.iter().map(|(name, one)| (name.as_str(), one))
    }
}

/// The types of 1.36.
#[must_use]
pub fn types() -> &'static Types {
    static TYPES: LazyLock<Types> = LazyLock::new(|| {
        let by_name: FxHashMap<String, Type> = table(include_bytes!("../data/types.json.gz"));
        let kinds = |(name, one): (&String, &Type)| {
            let name = name.clone();
            one.gvk.clone().into_iter().map(move |gvk| (gvk, name.clone())).collect::<Vec<_>>()
        };
        let by_kind = by_name.iter().flat_map(kinds).collect();
        Types { by_name, by_kind }
    });
    &TYPES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_what_merging_it_needs() {
        let pod = types().of_kind("", "v1", "Pod").expect("pods are served");
        let spec = types().behind(&pod.fields["spec"]).expect("a type of its own");
        let containers = &spec.fields["containers"];
        assert_eq!(containers.list_type, Some(ListType::Map));
        assert_eq!(containers.list_map_keys, ["name"]);
        assert_eq!(containers.merge_key.as_deref(), Some("name"));
        let item = containers.items.as_deref().and_then(|item| types().behind(item)).expect("a container");
        assert_eq!(item.fields["image"].basic.as_deref(), Some("string"));
    }
}
