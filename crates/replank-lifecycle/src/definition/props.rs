//! A schema, read as Go reads `JSONSchemaProps`: what is `null` is not there, and an empty text, `false` and an empty list of
//! names say as little.

use std::collections::BTreeMap;

use serde_json::Value;

/// One schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Props<'v> {
    pub(super) id: bool,
    pub(super) schema: bool,
    pub(super) reference: Option<&'v str>,
    pub(super) description: bool,
    pub(super) of: &'v str,
    pub(super) nullable: bool,
    pub(super) format: &'v str,
    pub(super) title: bool,
    pub(super) default: Option<&'v Value>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: &'v str,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) one_of_values: Option<&'v [Value]>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Option<Vec<&'v str>>,
    pub(super) items: Option<Items<'v>>,
    pub(super) all_of: Option<Vec<Props<'v>>>,
    pub(super) one_of: Option<Vec<Props<'v>>>,
    pub(super) any_of: Option<Vec<Props<'v>>>,
    pub(super) not: Option<Box<Props<'v>>>,
    pub(super) properties: BTreeMap<&'v str, Props<'v>>,
    /// Whether there are any, or none that are said to be all.
    pub(super) has_properties: bool,
    pub(super) additional_properties: Option<SchemaOrBool<'v>>,
    pub(super) pattern_properties: Option<BTreeMap<&'v str, Props<'v>>>,
    pub(super) dependencies: Option<BTreeMap<&'v str, Option<Props<'v>>>>,
    pub(super) additional_items: bool,
    pub(super) definitions: Option<BTreeMap<&'v str, Props<'v>>>,
    pub(super) external_docs: bool,
    pub(super) example: bool,
    pub(super) preserves: Option<bool>,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    pub(super) list_map_keys: Option<Vec<&'v str>>,
    pub(super) list_type: Option<&'v str>,
    pub(super) map_type: Option<&'v str>,
    pub(super) rules: bool,
}

/// `items`: one schema, or one for each item, which is refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Items<'v> {
    One(Box<Props<'v>>),
    Each(Vec<Props<'v>>),
    /// A list of no schemas.
    None,
}

/// `additionalProperties`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SchemaOrBool<'v> {
    Schema(Box<Props<'v>>),
    Bool(bool),
}

impl<'v> Items<'v> {
    pub(super) fn one(&self) -> Option<&Props<'v>> {
        match self {
            Self::One(one) => Some(one),
            Self::Each(_) | Self::None => None,
        }
    }
}

impl<'v> SchemaOrBool<'v> {
    pub(super) fn schema(&self) -> Option<&Props<'v>> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Bool(_) => None,
        }
    }
}

impl<'v> Props<'v> {
    /// The one schema of the items.
    pub(super) fn item(&self) -> Option<&Props<'v>> {
        self.items.as_ref().and_then(Items::one)
    }

    pub(super) fn is_preserving(&self) -> bool {
        self.preserves == Some(true)
    }

    /// Reads a schema. Members of another type than theirs count as not there: [`crate::schema`] refuses these.
    pub(super) fn read(value: &'v Value) -> Self {
        let map = value.as_object();
        let get = |key: &str| map.and_then(|map| map.get(key)).filter(|value| !value.is_null());
        let text = |key: &str| get(key).and_then(Value::as_str).unwrap_or_default();
        let is_text = |key: &str| get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        let is_true = |key: &str| get(key).and_then(Value::as_bool) == Some(true);
        let number = |key: &str| get(key).and_then(Value::as_f64);
        let integer = |key: &str| get(key).and_then(Value::as_i64);
        let texts = |key: &str| {
            let items = get(key)?.as_array()?;
            Some(items.iter().map(|item| item.as_str().unwrap_or_default()).collect::<Vec<_>>())
        };
        let list = |key: &str| Some(get(key)?.as_array()?.iter().map(Self::read).collect::<Vec<_>>());
        let named = |key: &str| {
            let map = get(key)?.as_object()?;
            Some(map.iter().map(|(key, of)| (&**key, Self::read(of))).collect::<BTreeMap<_, _>>())
        };
        Self {
            id: is_text("id"),
            schema: is_text("$schema"),
            reference: get("$ref").and_then(Value::as_str),
            description: is_text("description"),
            of: text("type"),
            nullable: is_true("nullable"),
            format: text("format"),
            title: is_text("title"),
            default: get("default"),
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
            one_of_values: get("enum").and_then(Value::as_array).map(Vec::as_slice),
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
                let of = |value: &'v Value| value.is_object().then(|| Self::read(value));
                map.iter().map(|(key, value)| (&**key, of(value))).collect()
            }),
            additional_items: get("additionalItems").is_some(),
            definitions: named("definitions"),
            external_docs: get("externalDocs").is_some(),
            example: get("example").is_some(),
            preserves: get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool),
            embedded: is_true("x-kubernetes-embedded-resource"),
            int_or_string: is_true("x-kubernetes-int-or-string"),
            list_map_keys: texts("x-kubernetes-list-map-keys"),
            list_type: get("x-kubernetes-list-type").and_then(Value::as_str),
            map_type: get("x-kubernetes-map-type").and_then(Value::as_str),
            rules: get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .is_some_and(|all| !all.is_empty()),
        }
    }
}

fn schema_or_bool(of: &Value) -> Option<SchemaOrBool<'_>> {
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
