//! What a schema says.

use std::collections::BTreeMap;

use serde_json::Value;

/// A schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// `string`, `integer`, `number`, `boolean`, `array`, `object`; empty where it is not said.
    pub basic: String,
    /// Such as `date-time`.
    pub format: String,
    /// Whether null is a value.
    pub nullable: bool,
    /// What stands where nothing is given.
    pub default: Option<Value>,
    /// Members.
    pub properties: BTreeMap<String, Schema>,
    /// What other members are.
    pub additional: Option<Additional>,
    /// Members that must be there.
    pub required: Vec<String>,
    /// What items are.
    pub items: Option<Box<Schema>>,
    /// The values that there are.
    pub words: Vec<Value>,
    /// Bounds.
    pub limits: Limits,
    /// Schemas that all hold.
    pub all_of: Vec<Schema>,
    /// Schemas of which one holds at least.
    pub any_of: Vec<Schema>,
    /// Schemas of which exactly one holds.
    pub one_of: Vec<Schema>,
    /// A schema that does not hold.
    pub not: Option<Box<Schema>>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserves: bool,
    /// `x-kubernetes-embedded-resource`.
    pub is_embedded: bool,
    /// `x-kubernetes-int-or-string`.
    pub is_int_or_string: bool,
    /// `x-kubernetes-list-type`.
    pub list_type: ListKind,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// Whether `x-kubernetes-map-type` is `atomic`.
    pub is_atomic_map: bool,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// They are not: the list is one value.
    #[default]
    Atomic,
    /// By value.
    Set,
    /// By their keys.
    Map,
}

/// What members are that are not named.
#[derive(Clone, Debug, PartialEq)]
pub enum Additional {
    /// Anything, or nothing.
    Any(bool),
    /// Of one schema.
    Of(Box<Schema>),
}

/// Bounds of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The greatest number.
    pub maximum: Option<f64>,
    /// Whether it is not reached itself.
    pub excludes_maximum: bool,
    /// The least number.
    pub minimum: Option<f64>,
    /// Whether it is not reached itself.
    pub excludes_minimum: bool,
    /// What numbers are multiples of.
    pub multiple_of: Option<f64>,
    /// The most characters.
    pub max_length: Option<u64>,
    /// The fewest characters.
    pub min_length: Option<u64>,
    /// What texts match.
    pub pattern: Option<String>,
    /// The most items.
    pub max_items: Option<u64>,
    /// The fewest items.
    pub min_items: Option<u64>,
    /// Whether no item is there twice.
    pub unique_items: bool,
    /// The most members.
    pub max_properties: Option<u64>,
    /// The fewest members.
    pub min_properties: Option<u64>,
}

/// A rule in CEL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// What must hold.
    pub rule: String,
    /// What is said where it does not.
    pub message: String,
    /// As the message, in CEL.
    pub message_expression: String,
    /// `FieldValueInvalid` and so on; empty for that one.
    pub reason: String,
    /// The member that is named in the cause.
    pub field_path: String,
    /// Whether `oldSelf` is an optional, and the rule holds for new objects too.
    pub optional_old_self: Option<bool>,
}

impl Schema {
    /// What a member is.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(match &self.additional {
            Some(Additional::Of(schema)) => Some(schema),
            Some(Additional::Any(_)) | None => None,
        })
    }

    /// Whether a rule stands in it or below it.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        let additional = match &self.additional {
            Some(Additional::Of(schema)) => schema.has_rules(),
            Some(Additional::Any(_)) | None => false,
        };
        !self.rules.is_empty()
            || additional
            || self.properties.values().any(Self::has_rules)
            || self.items.as_ref().is_some_and(|items| items.has_rules())
    }
}
