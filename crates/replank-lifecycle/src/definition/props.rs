//! A schema, read as Go reads `JSONSchemaProps`: what is `null` is not there, and an empty text, `false` and an empty list of
//! names say as little.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Props {
    pub(super) id: bool,
    pub(super) schema: bool,
    pub(super) reference: Option<String>,
    pub(super) description: bool,
    pub(super) of: String,
    pub(super) nullable: bool,
    pub(super) format: String,
    pub(super) title: bool,
    pub(super) default: Option<Value>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: String,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) one_of_values: Option<Vec<Value>>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Option<Vec<String>>,
    pub(super) items: Option<Items>,
    pub(super) all_of: Option<Vec<Props>>,
    pub(super) one_of: Option<Vec<Props>>,
    pub(super) any_of: Option<Vec<Props>>,
    pub(super) not: Option<Box<Props>>,
    pub(super) properties: BTreeMap<String, Props>,
    /// Whether there are any, or none that are said to be all.
    pub(super) has_properties: bool,
    pub(super) additional_properties: Option<SchemaOrBool>,
    pub(super) pattern_properties: Option<BTreeMap<String, Props>>,
    pub(super) dependencies: Option<BTreeMap<String, Option<Props>>>,
    pub(super) additional_items: bool,
    pub(super) definitions: Option<BTreeMap<String, Props>>,
    pub(super) external_docs: bool,
    pub(super) example: bool,
    pub(super) preserves: Option<bool>,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    pub(super) list_map_keys: Option<Vec<String>>,
    pub(super) list_type: Option<String>,
    pub(super) map_type: Option<String>,
    pub(super) rules: bool,
}

/// `items`: one schema, or one for each item, which is refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Items {
    One(Box<Props>),
    Each(Vec<Props>),
    /// A list of no schemas.
    None,
}

/// `additionalProperties`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SchemaOrBool {
    Schema(Box<Props>),
    Bool(bool),
}

impl Items {
    pub(super) fn one(&self) -> Option<&Props> {
        match self {
            Self::One(one) => Some(one),
            Self::Each(_) | Self::None => None,
        }
    }
}

impl SchemaOrBool {
    pub(super) fn schema(&self) -> Option<&Props> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Bool(_) => None,
        }
    }
}

impl Props {
    /// The one schema of the items.
    pub(super) fn item(&self) -> Option<&Props> {
        self.items.as_ref().and_then(Items::one)
    }

    pub(super) fn is_preserving(&self) -> bool {
        self.preserves == Some(true)
    }

    /// Reads a schema. Members of another type than theirs count as not there: [`crate::schema`] refuses these.
    pub(super) fn read(value: &Value) -> Self {
        let empty = Map::new();
        let map = value.as_object().unwrap_or(&empty);
        let get = |key: &str| map.get(key).filter(|value| !value.is_null());
        let text = |key: &str| get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_text = |key: &str| get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        let is_true = |key: &str| get(key).and_then(Value::as_bool) == Some(true);
        let number = |key: &str| get(key).and_then(Value::as_f64);
        let integer = |key: &str| get(key).and_then(Value::as_i64);
        let texts = |key: &str| {
            let items = get(key)?.as_array()?;
            Some(items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>())
        };
        let list = |key: &str| Some(get(key)?.as_array()?.iter().map(Self::read).collect::<Vec<_>>());
        let named = |key: &str| {
            let map = get(key)?.as_object()?;
            Some(map.iter().map(|(key, of)| (key.clone(), Self::read(of))).collect::<BTreeMap<_, _>>())
        };
        Self {
            id: is_text("id"),
            schema: is_text("$schema"),
            reference: get("$ref").and_then(Value::as_str).map(str::to_owned),
            description: is_text("description"),
            of: text("type"),
            nullable: is_true("nullable"),
            format: text("format"),
            title: is_text("title"),
            default: get("default").cloned(),
            maximum: number("maximum"),
            exclusive_maximum: is_true("exclusiveMaximum"),
            minimum: number("minimum"),
            exclusive_minimum: is_true("exclusiveMinimum"),
            max_length: integer("maxLength"),
            min_length: integer("minLength"),
            pattern: text("pattern"),
            max_items: integer("maxItems"),
            min_items: integer("minItems"),
            unique_items: is_true("uniqueItems"),
            multiple_of: number("multipleOf"),
            one_of_values: get("enum").and_then(Value::as_array).cloned(),
            max_properties: integer("maxProperties"),
            min_properties: integer("minProperties"),
            required: texts("required"),
            items: get("items").and_then(|of| match of {
                Value::Object(_) => Some(Items::One(Box::new(Self::read(of)))),
                Value::Array(all) if all.is_empty() => Some(Items::None),
                Value::Array(all) => Some(Items::Each(all.iter().map(Self::read).collect())),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            }),
            all_of: list("allOf"),
            one_of: list("oneOf"),
            any_of: list("anyOf"),
            not: get("not").map(|of| Box::new(Self::read(of))),
            properties: named("properties").unwrap_or_default(),
            has_properties: get("properties").is_some(),
            additional_properties: get("additionalProperties").and_then(schema_or_bool),
            pattern_properties: named("patternProperties"),
            dependencies: get("dependencies").and_then(Value::as_object).map(|map| {
                let of = |value: &Value| value.is_object().then(|| Self::read(value));
                map.iter().map(|(key, value)| (key.clone(), of(value))).collect()
            }),
            additional_items: get("additionalItems").is_some(),
            definitions: named("definitions"),
            external_docs: get("externalDocs").is_some(),
            example: get("example").is_some(),
            preserves: get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool),
            embedded: is_true("x-kubernetes-embedded-resource"),
            int_or_string: is_true("x-kubernetes-int-or-string"),
            list_map_keys: texts("x-kubernetes-list-map-keys"),
            list_type: get("x-kubernetes-list-type").and_then(Value::as_str).map(str::to_owned),
            map_type: get("x-kubernetes-map-type").and_then(Value::as_str).map(str::to_owned),
            rules: get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .is_some_and(|all| !all.is_empty()),
        }
    }
}

fn schema_or_bool(of: &Value) -> Option<SchemaOrBool> {
    match of {
        Value::Object(_) => Some(SchemaOrBool::Schema(Box::new(Props::read(of)))),
        Value::Bool(value) => Some(SchemaOrBool::Bool(*value)),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_null_empty_or_false_is_not_there() {
        let empty = json!({
            "type": "", "nullable": false, "default": null, "items": null, "properties": null, "title": "",
            "x-kubernetes-embedded-resource": false,
        });
        assert_eq!(Props::read(&empty), Props::default());
        assert_eq!(Props::read(&json!({"items": []})).items, Some(Items::None));
    }
}
