//! From JSON to a schema.

use serde_json::Value;

use super::shape::{Additional, Limits, ListKind, Rule, Schema};

/// Reads a schema. What has a wrong type counts as absent: definitions are checked before.
#[must_use]
pub fn read(value: &Value) -> Schema {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
    let list = |name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let schemas = |name: &str| list(name).iter().map(read).collect::<Vec<_>>();
    let texts = |name: &str| -> Vec<String> {
        list(name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let properties = value.get("properties").and_then(Value::as_object).into_iter().flatten();
    let additional = value.get("additionalProperties").filter(|one| !one.is_null()).map(|one| match one {
        Value::Bool(any) => Additional::Any(*any),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Additional::Of(Box::new(read(one)))
        }
    });
    Schema {
        basic: text("type"),
        format: known_format(&text("type"), text("format")),
        nullable: flag("nullable"),
        default: value.get("default").filter(|one| !one.is_null()).cloned(),
        properties: properties.map(|(name, one)| (name.clone(), read(one))).collect(),
        additional,
        required: texts("required"),
        items: value.get("items").filter(|one| one.is_object()).map(|one| Box::new(read(one))),
        words: list("enum"),
        limits: limits(value),
        all_of: schemas("allOf"),
        any_of: schemas("anyOf"),
        one_of: schemas("oneOf"),
        not: value.get("not").filter(|one| one.is_object()).map(|one| Box::new(read(one))),
        preserves: flag("x-kubernetes-preserve-unknown-fields"),
        is_embedded: flag("x-kubernetes-embedded-resource"),
        is_int_or_string: flag("x-kubernetes-int-or-string"),
        list_type: match &*text("x-kubernetes-list-type") {
            "set" => ListKind::Set,
            "map" => ListKind::Map,
            _ => ListKind::Atomic,
        },
        list_map_keys: texts("x-kubernetes-list-map-keys"),
        is_atomic_map: text("x-kubernetes-map-type") == "atomic",
        rules: list("x-kubernetes-validations").iter().map(rule).collect(),
    }
}

fn limits(value: &Value) -> Limits {
    let number = |name: &str| value.get(name).and_then(Value::as_f64);
    let count = |name: &str| value.get(name).and_then(Value::as_u64);
    let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
    Limits {
        maximum: number("maximum"),
        excludes_maximum: flag("exclusiveMaximum"),
        minimum: number("minimum"),
        excludes_minimum: flag("exclusiveMinimum"),
        multiple_of: number("multipleOf"),
        max_length: count("maxLength"),
        min_length: count("minLength"),
        pattern: value
            .get("pattern")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        max_items: count("maxItems"),
        min_items: count("minItems"),
        unique_items: flag("uniqueItems"),
        max_properties: count("maxProperties"),
        min_properties: count("minProperties"),
    }
}

fn rule(value: &Value) -> Rule {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Rule {
        rule: text("rule"),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: text("reason"),
        field_path: text("fieldPath"),
        optional_old_self: value.get("optionalOldSelf").and_then(Value::as_bool),
    }
}

/// The format as far as it counts (apiextensions, `StripUnsupportedFormatsPostProcessorForVersion`).
fn known_format(basic: &str, format: String) -> String {
    if is_known_format(basic, &format) { format } else { String::new() }
}

/// Whether a format means something for values of a type; any other is kept in the schema, and nothing is held to it.
#[must_use]
pub fn is_known_format(basic: &str, format: &str) -> bool {
    // Without their hyphens.
    const OF_TEXTS: [&str; 26] = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
    ];
    match basic {
        "" | "string" => OF_TEXTS.contains(&&*format.replace('-', "")),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}
