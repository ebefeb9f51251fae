//! The types, from the file that is built in.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::{Schema, TypeIndex};
use crate::table::Gvk;

pub(super) use super::types::{Field, Leaf, Shape};

#[derive(Deserialize)]
struct WrittenType {
    #[serde(default)]
    gvk: Vec<[String; 3]>,
    #[serde(default)]
    required: Vec<String>,
    fields: Option<BTreeMap<String, WrittenField>>,
    #[serde(rename = "type")]
    of: Option<String>,
    format: Option<String>,
    #[serde(rename = "oneOf")]
    one_of: Option<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
struct WrittenField {
    #[serde(rename = "type")]
    of: Option<String>,
    format: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    items: Option<Box<WrittenField>>,
    values: Option<Box<WrittenField>>,
    #[serde(rename = "enum", default)]
    one_of: Vec<String>,
}

/// Why types cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SchemaError {
    #[error("the types cannot be unpacked: {0}")]
    Unpack(#[from] std::io::Error),
    #[error("the types are not in their form: {0}")]
    Form(#[from] serde_json::Error),
    #[error("{of}: {what} is not known")]
    Unknown { of: String, what: String },
}

pub(super) fn types(packed: &[u8]) -> Result<Schema, SchemaError> {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text)?;
    let written: BTreeMap<String, WrittenType> = serde_json::from_str(&text)?;
    let indexes: FxHashMap<&str, TypeIndex> =
        written.keys().enumerate().map(|(index, name)| (&**name, index)).collect();
    let mut kinds = FxHashMap::default();
    let mut types = Vec::with_capacity(written.len());
    for (name, of) in &written {
        for [group, version, kind] in &of.gvk {
            let gvk = Gvk { group: group.clone(), version: version.clone(), kind: kind.clone() };
            kinds.insert(gvk, types.len());
        }
        types.push(shape(name, of, &indexes)?);
    }
    Ok(Schema { types, kinds })
}

const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

fn shape(name: &str, of: &WrittenType, indexes: &FxHashMap<&str, TypeIndex>) -> Result<Shape, SchemaError> {
    let unknown = |what: &str| SchemaError::Unknown { of: name.to_owned(), what: what.to_owned() };
    if let Some(fields) = &of.fields {
        let members = fields
            .iter()
            .map(|(key, of)| Ok((key.clone(), field(&format!("{name}.{key}"), of, indexes)?)))
            .collect::<Result<_, SchemaError>>()?;
        return Ok(Shape::Members { members, required: of.required.clone() });
    }
    let schema = || indexes.get(SCHEMA).copied().ok_or_else(|| unknown(SCHEMA));
    Ok(match (of.of.as_deref(), of.format.as_deref(), of.one_of.is_some()) {
        (Some("object"), None, false) => Shape::AnyObject,
        (Some("string"), Some("date-time"), false) => Shape::Leaf(Leaf::Moment),
        (None, Some("int-or-string"), true) => Shape::Leaf(Leaf::IntOrText),
        (None, None, true) => Shape::Leaf(Leaf::Quantity),
        (None, None, false) => match name.rsplit('.').next() {
            Some("JSONSchemaPropsOrArray") => Shape::SchemaOrArray(schema()?),
            Some("JSONSchemaPropsOrBool") => Shape::SchemaOrBool(schema()?),
            Some("JSONSchemaPropsOrStringArray") => Shape::SchemaOrTexts(schema()?),
            Some("JSON") => Shape::Any,
            Some(_) | None => return Err(unknown("a type without a form")),
        },
        (of, ..) => return Err(unknown(of.unwrap_or("a form"))),
    })
}

fn field(name: &str, of: &WrittenField, indexes: &FxHashMap<&str, TypeIndex>) -> Result<Field, SchemaError> {
    let unknown = |what: &str| SchemaError::Unknown { of: name.to_owned(), what: what.to_owned() };
    if let Some(reference) = &of.reference {
        return indexes.get(&**reference).copied().map(Field::Of).ok_or_else(|| unknown(reference));
    }
    Ok(match (of.of.as_deref(), of.format.as_deref(), &of.items, &of.values) {
        (Some("array"), None, Some(items), None) => Field::List(Box::new(field(name, items, indexes)?)),
        (Some("object"), None, None, Some(values)) => Field::Values(Box::new(field(name, values, indexes)?)),
        (Some("string"), None, None, None) => Field::Leaf(Leaf::Text { one_of: of.one_of.clone() }),
        (Some("string"), Some("byte"), None, None) => Field::Leaf(Leaf::Bytes),
        (Some("boolean"), None, None, None) => Field::Leaf(Leaf::Bool),
        (Some("integer"), Some("int32"), None, None) => Field::Leaf(Leaf::Int32),
        (Some("integer"), Some("int64"), None, None) => Field::Leaf(Leaf::Int64),
        (Some("number"), Some("double"), None, None) => Field::Leaf(Leaf::Number),
        (of, ..) => return Err(unknown(of.unwrap_or("a form"))),
    })
}
