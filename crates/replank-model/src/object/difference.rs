//! What a typed projection does not hold of an object, and putting it back.

use serde_json::{Map, Value};

use crate::wire::MERGE_KEYS;

/// Takes out of `value` what `typed` says.
///
/// Scalars that both have are dropped whether or not they are written alike (`1000m` and `1` are the same quantity).
/// Lists keep, element by element, what is left, beside the member that tells the elements apart.
pub(super) fn subtract(value: &mut Value, typed: &Value) {
    let (Value::Object(value), Value::Object(typed)) = (value, typed) else { return };
    for (key, said) in typed {
        let Some(member) = value.get_mut(key) else { continue };
        let left = match (&mut *member, said) {
            (Value::Object(inner), Value::Object(_)) => {
                let _: &mut Map<String, Value> = inner;
                subtract(member, said);
                member.as_object().is_some_and(|inner| !inner.is_empty())
            }
            (Value::Array(items), Value::Array(said)) => subtract_list(items, said),
            _ => false,
        };
        if !left {
            value.remove(key);
        }
    }
}

/// Whether anything is left of the list.
pub(super) fn subtract_list(items: &mut [Value], said: &[Value]) -> bool {
    if items.len() != said.len() || !items.iter().all(Value::is_object) {
        return false;
    }
    let key = merge_key(said);
    let mut left = false;
    for (item, said) in items.iter_mut().zip(said) {
        subtract(item, said);
        left |= item.as_object().is_some_and(|item| !item.is_empty());
        if let (Some(key), Value::Object(item)) = (key, item) {
            item.insert(key.into(), said[key].clone());
        }
    }
    left
}

/// Lays `typed` over `value`.
pub(super) fn merge(value: &mut Value, typed: Value) {
    match (value, typed) {
        (Value::Object(value), Value::Object(typed)) => {
            for (key, said) in typed {
                match value.get_mut(&key) {
                    Some(member) => merge(member, said),
                    None => {
                        value.insert(key, said);
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(said)) => merge_list(items, said),
        (value, typed) => *value = typed,
    }
}

pub(super) fn merge_list(items: &mut Vec<Value>, said: Vec<Value>) {
    let rests = std::mem::take(items);
    let key = merge_key(&said).filter(|key| merge_key(&rests) == Some(*key));
    let positional = key.is_none() && rests.len() == said.len();
    for (at, said) in said.into_iter().enumerate() {
        let rest = match key {
            Some(key) => rests.iter().find(|rest| rest[key] == said[key]),
            None if positional => rests.get(at),
            None => None,
        };
        let mut item =
            rest.filter(|rest| rest.is_object()).cloned().unwrap_or_else(|| Value::Object(Map::new()));
        merge(&mut item, said);
        items.push(item);
    }
}

/// The first merge key that every element has, with values that differ.
pub(super) fn merge_key(items: &[Value]) -> Option<&'static str> {
    MERGE_KEYS.into_iter().find(|key| {
        let mut seen: Vec<&Value> = Vec::with_capacity(items.len());
        !items.is_empty()
            && items.iter().all(|item| match item.get(key) {
                Some(value) if !seen.contains(&value) => {
                    seen.push(value);
                    true
                }
                _ => false,
            })
    })
}
