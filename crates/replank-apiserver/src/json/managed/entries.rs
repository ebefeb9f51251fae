//! `metadata.managedFields`: who manages which fields of an object.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::set::Set;

/// Who manages: each entry of the list has its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    /// Whether by server-side apply.
    pub(super) applies: bool,
    /// Of updates; applied fields are of one manager whatever the version.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Manager {
    /// What upstream tells managers apart by, and sorts them by.
    pub(super) fn id(&self) -> String {
        let operation = if self.applies { "Apply" } else { "Update" };
        let more = [("apiVersion", &self.api_version), ("subresource", &self.subresource)];
        let more = more.into_iter().filter(|(_, text)| !text.is_empty());
        let more: String = more.map(|(name, text)| format!(",\"{name}\":{text:?}")).collect();
        format!("{{\"manager\":{:?},\"operation\":\"{operation}\"{more}}}", self.name)
    }

    /// As conflicts name it.
    pub(super) fn shown(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if !self.applies {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// What is managed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) set: Set,
    pub(super) api_version: String,
    pub(super) time: Option<String>,
}

/// Everything that is managed.
pub(super) type Entries = BTreeMap<Manager, Entry>;

/// Reads the entries of an object.
pub(super) fn read(object: &Value) -> Entries {
    let mut entries = Entries::new();
    let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    for entry in list.into_iter().flatten() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let applies = text("operation") == "Apply";
        let Some(set) = Set::from_json(entry.get("fieldsV1").unwrap_or(&Value::Null)) else { continue };
        let api_version = text("apiVersion");
        let manager = Manager {
            name: text("manager"),
            applies,
            api_version: if applies { String::new() } else { api_version.clone() },
            subresource: text("subresource"),
        };
        let time = Some(text("time")).filter(|time| !time.is_empty());
        entries.insert(manager, Entry { set, api_version, time });
    }
    entries
}

/// Writes the entries: those of apply first, then by time (`sortEncodedManagedFields`).
pub(super) fn write(object: &mut Value, entries: &Entries) {
    write_list(object, entries.iter());
}

/// The same of entries of which several may have one manager.
pub(super) fn write_list<'e>(object: &mut Value, entries: impl Iterator<Item = (&'e Manager, &'e Entry)>) {
    let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let mut sorted: Vec<(&Manager, &Entry)> = entries.filter(|(_, entry)| !entry.set.is_empty()).collect();
    sorted.sort_by(|(one, had), (other, has)| {
        let key = |manager: &Manager, entry: &Entry| {
            (
                !manager.applies,
                entry.time.clone(),
                manager.name.clone(),
                entry.api_version.clone(),
                manager.subresource.clone(),
            )
        };
        key(one, had).cmp(&key(other, has))
    });
    if sorted.is_empty() {
        meta.remove("managedFields");
        return;
    }
    let list: Vec<Value> = sorted.into_iter().map(|(manager, entry)| written(manager, entry)).collect();
    meta.insert("managedFields".to_owned(), Value::Array(list));
}

fn written(manager: &Manager, entry: &Entry) -> Value {
    let mut members = Map::new();
    members.insert("manager".to_owned(), manager.name.as_str().into());
    members.insert("operation".to_owned(), if manager.applies { "Apply" } else { "Update" }.into());
    members.insert("apiVersion".to_owned(), entry.api_version.as_str().into());
    if let Some(time) = &entry.time {
        members.insert("time".to_owned(), time.as_str().into());
    }
    members.insert("fieldsType".to_owned(), "FieldsV1".into());
    members.insert("fieldsV1".to_owned(), entry.set.to_json());
    if !manager.subresource.is_empty() {
        members.insert("subresource".to_owned(), manager.subresource.as_str().into());
    }
    Value::Object(members)
}

/// Whether a client has asked for the entries to be forgotten: an empty list, or one empty entry.
pub(super) fn is_reset(object: &Value) -> bool {
    match object.pointer("/metadata/managedFields") {
        Some(Value::Array(list)) => match list.as_slice() {
            [] => true,
            [only] => *only == json!({}),
            [_, _, ..] => false,
        },
        Some(_) | None => false,
    }
}
