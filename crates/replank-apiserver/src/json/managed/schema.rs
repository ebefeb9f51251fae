//! How the parts of an object are owned and merged: what structured-merge-diff reads off the OpenAPI types, and off the
//! schema of a custom resource.

use replank_schema::{ListType, Shape, Type, types};
use serde_json::{Map, Value};

use super::super::form::go_map;
use super::super::go::go_type;
use super::set::Step;

/// The type of a part of an object.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) enum Part<'s> {
    /// A named type of the API; whether it is owned as a whole where it stands.
    Named(&'s Type, bool),
    /// The shape of a field, an item or a value.
    Shape(&'s Shape),
    /// A node of a custom resource's schema; `true` where members that it does not name are kept.
    Custom(&'s Value, bool),
    /// The root of a custom resource: its `metadata` is that of every object.
    CustomRoot(&'s Value, bool),
    /// Nothing is known: members are owned one by one, lists as a whole.
    Deduced,
    /// Nothing is known, and it is owned as a whole.
    Whole,
}

/// How the items of a list are told apart.
#[derive(Clone, Debug)]
pub(super) enum Items<'s> {
    /// They are not: the list is owned as a whole.
    Atomic,
    /// By their values.
    Set(Part<'s>),
    /// By some of their members.
    Map(Vec<&'s str>, Part<'s>),
}

const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl<'s> Part<'s> {
    /// What is behind references.
    fn resolved(self) -> Self {
        match self {
            Self::Shape(shape) => match &shape.refers {
                Some(name) => match types().named(name) {
                    _ if name.ends_with(".RawExtension") => Self::Whole,
                    Some(of) => Self::Named(of, shape.map_type.as_deref() == Some("atomic")),
                    None => Self::Deduced,
                },
                None => self,
            },
            Self::Named(..) | Self::Custom(..) | Self::CustomRoot(..) | Self::Deduced | Self::Whole => self,
        }
    }

    /// Whether a map is owned as a whole.
    pub(super) fn is_atomic_map(self) -> bool {
        match self.resolved() {
            Self::Named(of, is_atomic) => is_atomic || of.map_type.as_deref() == Some("atomic"),
            Self::Shape(shape) => shape.map_type.as_deref() == Some("atomic"),
            Self::Custom(node, _) => node["x-kubernetes-map-type"] == "atomic",
            Self::CustomRoot(..) | Self::Deduced => false,
            Self::Whole => true,
        }
    }

    /// What is wrong with a value's type, in the words of structured-merge-diff.
    pub(super) fn misfit(self, value: &Value) -> Option<String> {
        if value.is_null() {
            return None;
        }
        let wanted = match self.resolved() {
            Self::Named(of, _) if !of.fields.is_empty() => "object",
            // A number or a text is looked at when it is read.
            Self::Named(of, _) if of.format.as_deref() == Some("int-or-string") => return None,
            Self::Named(of, _) if !of.one_of.is_empty() || of.basic.as_deref() == Some("string") => "scalar",
            Self::Shape(shape) => match (shape.basic.as_deref(), shape.format.as_deref()) {
                (Some("string"), None | Some("byte")) => "string",
                // What may be more than one thing.
                (Some("string"), Some(_)) => "scalar",
                (Some(basic), _) => basic,
                (None, _) => return None,
            },
            Self::Custom(node, _) if node["x-kubernetes-int-or-string"] == true => return None,
            Self::Custom(node, _) => node["type"].as_str()?,
            Self::CustomRoot(..) => "object",
            Self::Named(..) | Self::Deduced | Self::Whole => return None,
        };
        let (fits, words) = match wanted {
            "object" => (value.is_object(), "map"),
            "array" => (value.is_array(), "list"),
            "string" => (value.is_string(), "string"),
            "scalar" => (!value.is_object() && !value.is_array(), "any scalar"),
            "boolean" => (value.is_boolean(), "boolean"),
            "integer" | "number" => (value.is_number(), "numeric (int or float)"),
            _ => return None,
        };
        let shown = || match wanted {
            "object" | "array" | "boolean" | "scalar" => format!("&{{{}}}", go_map(value)),
            "integer" | "number" => go_type(value).to_owned(),
            _ => format!("&value.valueUnstructured{{Value:{}}}", go_syntax(value)),
        };
        (!fits).then(|| format!("expected {words}, got {}", shown()))
    }

    /// Whether an object may have a member of a name.
    pub(super) fn knows(self, name: &str) -> bool {
        match self.resolved() {
            Self::Named(of, _) => of.fields.is_empty() || of.fields.contains_key(name),
            Self::CustomRoot(..) if matches!(name, "apiVersion" | "kind" | "metadata") => true,
            Self::CustomRoot(node, keeps) | Self::Custom(node, keeps) => {
                let is_open = keeps || preserves(node) || node.get("properties").is_none();
                is_open
                    || node["properties"].get(name).is_some()
                    || node.get("additionalProperties").is_some()
            }
            Self::Shape(_) | Self::Deduced | Self::Whole => true,
        }
    }

    /// The type of a member, and whether the type names it.
    pub(super) fn member(self, name: &str) -> (Part<'s>, bool) {
        match self.resolved() {
            Self::Named(of, _) => match of.fields.get(name) {
                Some(shape) => (Self::Shape(shape), true),
                None => (Self::Deduced, false),
            },
            Self::Shape(shape) => match &shape.values {
                Some(values) => (Self::Shape(values), false),
                None => (Self::Deduced, false),
            },
            Self::CustomRoot(_, _) if name == "metadata" => match types().named(METADATA) {
                Some(of) => (Self::Named(of, false), true),
                None => (Self::Deduced, true),
            },
            Self::CustomRoot(_, _) if matches!(name, "apiVersion" | "kind") => (Self::Deduced, true),
            Self::CustomRoot(node, keeps) | Self::Custom(node, keeps) => custom_member(node, keeps, name),
            Self::Deduced => (Self::Deduced, false),
            Self::Whole => (Self::Whole, false),
        }
    }

    /// The type of the items of a list that is owned as a whole.
    pub(super) fn item(self) -> Option<Part<'s>> {
        match self.resolved() {
            Self::Shape(shape) => shape.items.as_deref().map(Self::Shape),
            Self::Custom(node, keeps) => {
                node.get("items").map(|items| Self::Custom(items, keeps || preserves(node)))
            }
            Self::Named(..) | Self::CustomRoot(..) | Self::Deduced | Self::Whole => None,
        }
    }

    /// How the items of a list are told apart.
    pub(super) fn items(self) -> Items<'s> {
        match self.resolved() {
            Self::Shape(shape) => {
                let Some(item) = shape.items.as_deref() else { return Items::Atomic };
                match shape.list_type {
                    Some(ListType::Set) => Items::Set(Self::Shape(item)),
                    Some(ListType::Map) => {
                        let keys = shape.list_map_keys.iter().map(String::as_str).collect();
                        Items::Map(keys, Self::Shape(item))
                    }
                    Some(ListType::Atomic) | None => Items::Atomic,
                }
            }
            Self::Custom(node, keeps) => {
                let item = Self::Custom(&node["items"], keeps || preserves(node));
                match node["x-kubernetes-list-type"].as_str() {
                    Some("set") => Items::Set(item),
                    Some("map") => {
                        let keys = node["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
                        Items::Map(keys.filter_map(Value::as_str).collect(), item)
                    }
                    Some(_) | None => Items::Atomic,
                }
            }
            Self::Named(..) | Self::CustomRoot(..) | Self::Deduced | Self::Whole => Items::Atomic,
        }
    }

    /// What stands where a member is not given.
    fn default_of(self, name: &str) -> Option<&'s Value> {
        match self.resolved() {
            Self::Named(of, _) => of.fields.get(name)?.default.as_ref(),
            Self::Custom(node, _) => node.get("properties")?.get(name)?.get("default"),
            Self::Shape(_) | Self::CustomRoot(..) | Self::Deduced | Self::Whole => None,
        }
    }
}

/// A value in Go's syntax (`%#v`).
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, one)| format!("{name:?}:{}", go_syntax(one))).collect();
            format!("map[string]interface {{}}{{{}}}", members.join(", "))
        }
    }
}

fn preserves(node: &Value) -> bool {
    node["x-kubernetes-preserve-unknown-fields"] == true
}

fn custom_member<'s>(node: &'s Value, keeps: bool, name: &str) -> (Part<'s>, bool) {
    let keeps = keeps || preserves(node);
    if let Some(property) = node.get("properties").and_then(|all| all.get(name)) {
        return (Part::Custom(property, keeps), true);
    }
    match node.get("additionalProperties") {
        Some(values @ Value::Object(_)) => (Part::Custom(values, keeps), false),
        Some(_) | None => (Part::Deduced, false),
    }
}

/// The step to an item of a list.
///
/// # Errors
/// Why it cannot be told apart from the others.
pub(super) fn step_to(items: &Items<'_>, item: &Value) -> Result<Step, String> {
    match items {
        Items::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        Items::Set(_) => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Step::Item(item.to_string())),
        },
        Items::Map(keys, of) => {
            let members = match item {
                Value::Object(members) => members,
                Value::Null => {
                    return Err("associative list with keys may not have a null element".to_owned());
                }
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return Err("associative list with keys may not have non-map elements".to_owned());
                }
            };
            let mut found = Map::new();
            for key in keys {
                let value = members.get(*key).or_else(|| of.default_of(key));
                if let Some(value) = value {
                    found.insert((*key).to_owned(), value.clone());
                }
            }
            if found.is_empty() {
                let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
                return Err(format!(
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                     default values for any key fields)",
                    keys.join(" ")
                ));
            }
            Ok(Step::Keys(Value::Object(found).to_string()))
        }
    }
}
