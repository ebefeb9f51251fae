//! Messages, made ready for reading and writing: fields by their numbers.

use std::sync::LazyLock;

use replank_schema::{Form, messages, types};
use rustc_hash::FxHashMap;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bytes,
    Bool,
    Int,
    Double,
    Message(&'static str),
}

/// How often a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Many {
    /// Once, always.
    One,
    /// Once or not at all.
    Maybe,
    /// A list.
    List,
    /// A map from texts.
    Map,
}

/// A field.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) many: Many,
    /// JSON leaves it out when it is empty.
    pub(super) is_omitted: bool,
    /// JSON leaves a zero time out.
    pub(super) is_zero_omitted: bool,
    /// Its members stand among those of the message itself.
    pub(super) is_inline: bool,
}

/// Messages that JSON has another form for than an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Quantity,
    Time,
    MicroTime,
    Duration,
    IntOrString,
    /// JSON in bytes, or an envelope: RawExtension, FieldsV1, JSON.
    Json,
    SchemaOrBool,
    SchemaOrList,
    SchemaOrNames,
    /// A list that protobuf has no other form for: Verbs, ExtraValue.
    Items,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// By number, ascending.
    pub(super) fields: Vec<Field>,
    pub(super) special: Option<Special>,
}

/// A message by its full name.
pub(super) fn shape(name: &str) -> Option<&'static Shape> {
    static SHAPES: LazyLock<FxHashMap<&'static str, Shape>> = LazyLock::new(|| {
        messages().iter().map(|(name, fields)| (name.as_str(), made(name, fields))).collect()
    });
    SHAPES.get(name)
}

/// The message of a kind, by group, version and kind.
pub(super) fn name_of(group: &str, version: &str, kind: &str) -> Option<String> {
    if group == "meta.k8s.io" && matches!(kind, "PartialObjectMetadata" | "PartialObjectMetadataList") {
        return Some(format!("k8s.io.apimachinery.pkg.apis.meta.v1.{kind}"));
    }
    // These are kinds of every group and version.
    let (group, version) =
        if matches!(kind, "DeleteOptions" | "WatchEvent") { ("", "v1") } else { (group, version) };
    let name = types().name_of(group, version, kind)?;
    Some(format!("k8s.io.{}", name.strip_prefix("io.k8s.")?).replace('-', "_"))
}

fn made(name: &str, fields: &'static replank_schema::Message) -> Shape {
    let mut fields: Vec<Field> = fields
        .iter()
        .map(|(name, field)| {
            let (kind, many) = kind(&field.1, field.2, field.3);
            Field {
                number: field.0,
                name,
                kind,
                many,
                is_omitted: field.3.is_omitted,
                is_zero_omitted: field.3.is_zero_omitted,
                is_inline: field.3.is_inline,
            }
        })
        .collect();
    fields.sort_by_key(|field| field.number);
    Shape { fields, special: special(name) }
}

fn kind(word: &'static str, is_repeated: bool, form: Form) -> (Kind, Many) {
    let of_map = word.strip_prefix("map<string, ").and_then(|rest| rest.strip_suffix('>'));
    let kind = match of_map.unwrap_or(word) {
        "string" => Kind::Text,
        "bytes" => Kind::Bytes,
        "bool" => Kind::Bool,
        "double" => Kind::Double,
        "int32" | "int64" | "uint32" | "uint64" => Kind::Int,
        name => Kind::Message(name.trim_start_matches('.')),
    };
    let many = match (of_map.is_some(), is_repeated, form.is_pointer) {
        (true, ..) => Many::Map,
        (_, true, _) => Many::List,
        (_, _, true) => Many::Maybe,
        (false, false, false) => Many::One,
    };
    (kind, many)
}

fn special(name: &str) -> Option<Special> {
    let (package, word) = name.rsplit_once('.').unwrap_or_default();
    let is_meta = package.ends_with("apis.meta.v1");
    match word {
        "Quantity" if package.ends_with("api.resource") => Some(Special::Quantity),
        "Time" if is_meta => Some(Special::Time),
        "MicroTime" if is_meta => Some(Special::MicroTime),
        "Duration" if is_meta => Some(Special::Duration),
        "FieldsV1" if is_meta => Some(Special::Json),
        "Verbs" if is_meta => Some(Special::Items),
        "ExtraValue" => Some(Special::Items),
        "RawExtension" if package.ends_with("pkg.runtime") => Some(Special::Json),
        "IntOrString" if package.ends_with("intstr") => Some(Special::IntOrString),
        "JSON" => Some(Special::Json),
        "JSONSchemaPropsOrBool" => Some(Special::SchemaOrBool),
        "JSONSchemaPropsOrArray" => Some(Special::SchemaOrList),
        "JSONSchemaPropsOrStringArray" => Some(Special::SchemaOrNames),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_options_of_deletions() {
        let expected = Some("k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions".to_owned());
        assert_eq!(name_of("apiextensions.k8s.io", "v1", "DeleteOptions"), expected);
    }

    #[test]
    fn every_kind_has_a_message_and_every_message_its_parts() {
        for (name, one) in types().all() {
            for (group, version, kind) in &one.gvk {
                let message = name_of(group, version, kind).expect(name);
                assert!(shape(&message).is_some(), "{message}");
            }
        }
        for name in messages().keys() {
            for field in &shape(name).expect("it is listed").fields {
                if let Kind::Message(part) = field.kind {
                    assert!(shape(part).is_some(), "{name}.{}: {part}", field.name);
                }
            }
        }
    }
}
