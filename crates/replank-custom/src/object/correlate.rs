//! Which stored item of a list an item is to be compared with.

use serde_json::Value;

use crate::schema::{ListKind, Schema};

/// The stored item that is the same one: by its keys, or by its value; a list without either is one value.
pub(crate) fn old_item<'o>(item: &Value, old: Option<&'o Value>, schema: &Schema) -> Option<&'o Value> {
    let items = old?.as_array()?;
    match schema.list_type {
        ListKind::Atomic => None,
        ListKind::Set => items.iter().find(|one| *one == item),
        ListKind::Map => {
            let below = schema.items.as_deref();
            items.iter().find(|one| {
                schema.list_map_keys.iter().all(|key| key_of(one, key, below) == key_of(item, key, below))
            })
        }
    }
}

/// The value of a key, or what stands for it.
pub(super) fn key_of<'v>(item: &'v Value, key: &str, schema: Option<&'v Schema>) -> Option<&'v Value> {
    item.get(key).or_else(|| schema?.properties.get(key)?.default.as_ref())
}
