//! Objects and lists as values, for encodings that are not put together from bytes.

use replank_apiserver::json::served_at;
use serde_json::{Value, json};

use super::list::Listed;
use crate::mirror::Stored;
use crate::route::Target;

/// One object.
#[must_use]
pub fn value(target: &Target, stored: &Stored) -> Value {
    let value = served_at(&target.resource, &stored.object);
    match &target.older {
        Some(older) => older.shown(value),
        None => value,
    }
}

/// A list. Items of built-in kinds do not repeat what the list's own kind says.
#[must_use]
pub fn list_value(target: &Target, listed: &Listed) -> Value {
    let items = listed.items.iter().map(|stored| {
        let mut item = value(target, stored);
        if !target.is_custom
            && let Value::Object(members) = &mut item
        {
            members.remove("kind");
            members.remove("apiVersion");
        }
        item
    });
    let items: Vec<Value> = items.collect();
    json!({"kind": format!("{}List", target.resource.name.kind), "apiVersion": target.api_version(),
        "metadata": listed.metadata, "items": items})
}
