//! Documents: the paths of something, and the types that they lead to.

use std::collections::BTreeMap;

use replank_schema::types;
use serde_json::{Map, Value, json};

use super::built_in::Paths;
use super::operation::path_item;
use super::shape::{Form, definition};

/// A document in OpenAPI 3.0 of some paths, and types of its own.
pub(super) fn in_v3(paths: &Paths, own: Vec<(String, Value)>, minor: u32) -> Value {
    let items: Map<String, Value> =
        paths.iter().map(|(path, operations)| (path.clone(), path_item(operations, Form::V3))).collect();
    let paths = Value::Object(items);
    let group_version = group_version(&paths);
    let mut schemas: BTreeMap<String, Value> = own.into_iter().collect();
    let mut open = Vec::new();
    references(&paths, &mut open);
    schemas.values().for_each(|one| references(one, &mut open));
    while let Some(name) = open.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        let Some(known) = types().named(&name) else { continue };
        let mut made = definition(&name, known, Form::V3);
        tell_kinds(&name, &mut made, group_version.as_ref());
        references(&made, &mut open);
        schemas.insert(name, made);
    }
    let mut components = json!({"securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header",
        "description": "Bearer Token authentication"}}});
    if !schemas.is_empty() {
        components["schemas"] = Value::Object(schemas.into_iter().collect());
    }
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": format!("1.{minor}")}, "paths": paths,
        "components": components})
}

/// The one document in OpenAPI 2.0: all paths, all types.
pub(super) fn in_v2(paths: &Paths, own: Vec<(String, Value)>, minor: u32) -> Value {
    let items: Map<String, Value> =
        paths.iter().map(|(path, operations)| (path.clone(), path_item(operations, Form::V2))).collect();
    let mut definitions: BTreeMap<String, Value> =
        types().all().map(|(name, known)| (name.to_owned(), definition(name, known, Form::V2))).collect();
    definitions.extend(own);
    json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": format!("1.{minor}")}, "paths": items,
        "definitions": Value::Object(definitions.into_iter().collect()),
        "securityDefinitions": {"BearerToken": {"description": "Bearer Token authentication", "in": "header",
            "name": "authorization", "type": "apiKey"}},
        "security": [{"BearerToken": []}]})
}

/// Names of the types that something refers to.
fn references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str().filter(|_| name == "$ref") {
                    Some(place) => into.push(place.rsplit('/').next().unwrap_or_default().to_owned()),
                    None => references(member, into),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Group and version that the paths of a document are below.
fn group_version(paths: &Value) -> Option<(String, String)> {
    let first = paths.as_object()?.keys().next()?;
    let parts: Vec<&str> = first.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["api", version, ..] => Some((String::new(), (*version).to_owned())),
        ["apis", group, version, ..] => Some(((*group).to_owned(), (*version).to_owned())),
        _ => None,
    }
}

/// Of types that all groups share (DeleteOptions, WatchEvent), a document tells the kinds of the core group and of its own.
fn tell_kinds(name: &str, schema: &mut Value, own: Option<&(String, String)>) {
    let Some(kind @ ("DeleteOptions" | "WatchEvent")) = name.rsplit('.').next() else { return };
    let mut kinds = vec![json!({"group": "", "version": "v1", "kind": kind})];
    if let Some((group, version)) = own.filter(|(group, _)| !group.is_empty()) {
        kinds.push(json!({"group": group, "version": version, "kind": kind}));
    }
    schema["x-kubernetes-group-version-kind"] = kinds.into();
}
