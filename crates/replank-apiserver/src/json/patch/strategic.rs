//! Strategic merge patch (apimachinery `pkg/util/strategicpatch`): how each list and map is merged is said by its type.

use replank_schema::{Shape, Type, types};
use serde_json::{Map, Value};

use super::super::form::go_map;
use crate::server::ApiError;

/// Directive inside an object or an item.
const DIRECTIVE: &str = "$patch";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";
const RETAIN: &str = "$retainKeys";

/// The type of what is patched, as far as it is known.
#[derive(Clone, Copy)]
enum Part {
    Type(&'static Type),
    Shape(&'static Shape),
    Unknown,
}

impl Part {
    fn of(shape: &'static Shape) -> Self {
        match &shape.refers {
            Some(name) => types().named(name).map_or(Self::Unknown, Self::Type),
            None => Self::Shape(shape),
        }
    }

    /// The shape of a member.
    fn member(self, name: &str) -> Option<&'static Shape> {
        match self {
            Self::Type(of) => of.fields.get(name),
            Self::Shape(shape) => shape.values.as_deref(),
            Self::Unknown => None,
        }
    }
}

/// How a list is merged.
#[derive(Clone, Copy)]
enum Merging {
    /// It is replaced.
    Replace,
    /// Plain values, each once.
    Set,
    /// Items with a key.
    ByKey(&'static str, Part),
}

fn merging(shape: Option<&'static Shape>) -> Merging {
    let Some(shape) = shape else { return Merging::Replace };
    if !has_strategy(shape, "merge") {
        return Merging::Replace;
    }
    match (&shape.merge_key, &shape.items) {
        (Some(key), Some(item)) => Merging::ByKey(key, Part::of(item)),
        (Some(key), None) => Merging::ByKey(key, Part::Unknown),
        (None, _) => Merging::Set,
    }
}

fn has_strategy(shape: &Shape, word: &str) -> bool {
    shape.strategy.as_deref().is_some_and(|all| all.split(',').any(|one| one == word))
}

/// Applies a patch to an object of a type.
///
/// # Errors
/// 400 or 500 where a directive is none, as upstream.
pub(super) fn apply(of: Option<&'static Type>, value: &mut Value, patch: &Value) -> Result<(), ApiError> {
    map(of.map_or(Part::Unknown, Part::Type), value, patch)
}

fn map(of: Part, value: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return Ok(());
    };
    match changes.get(DIRECTIVE) {
        None => {}
        Some(Value::String(word)) if word == "delete" => {
            *value = Value::Object(Map::new());
            return Ok(());
        }
        Some(Value::String(word)) if word == "replace" => {
            let mut whole = changes.clone();
            whole.remove(DIRECTIVE);
            *value = Value::Object(whole);
            return Ok(());
        }
        Some(other) => return Err(unknown_directive(other, patch)),
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(members) = value else { return Ok(()) };
    retain(members, changes)?;
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            let Some(Value::Array(list)) = members.get_mut(list) else { continue };
            let Value::Array(gone) = change else {
                return Err(ApiError::bad_request("invalid patch format of primitive list"));
            };
            list.retain(|item| !gone.contains(item));
        } else if !name.starts_with('$') && !changes.contains_key(&format!("{ORDER}{name}")) {
            member(of, members, name, change)?;
        }
    }
    for (name, order) in changes {
        if let Some(list) = name.strip_prefix(ORDER) {
            in_order(of, members, list, changes.get(list), order)?;
        }
    }
    Ok(())
}

fn unknown_directive(word: &Value, patch: &Value) -> ApiError {
    let word = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
    ApiError::internal(&format!("unknown patch type: {word} in map: {}", go_map(patch)))
}

/// Members that are not among the kept ones go.
fn retain(members: &mut Map<String, Value>, changes: &Map<String, Value>) -> Result<(), ApiError> {
    let Some(kept) = changes.get(RETAIN) else { return Ok(()) };
    let bad = || ApiError::bad_request("invalid patch format of retainKeys");
    let kept = kept.as_array().ok_or_else(bad)?;
    let is_kept = |name: &str| kept.iter().any(|word| word == name);
    if changes.iter().any(|(name, change)| !name.starts_with('$') && !change.is_null() && !is_kept(name)) {
        return Err(bad());
    }
    members.retain(|name, _| is_kept(name));
    Ok(())
}

fn member(of: Part, members: &mut Map<String, Value>, name: &str, change: &Value) -> Result<(), ApiError> {
    let shape = of.member(name);
    match change {
        Value::Null => {
            members.remove(name);
        }
        Value::Object(_) if shape.is_some_and(|shape| has_strategy(shape, "replace")) => {
            members.insert(name.to_owned(), change.clone());
        }
        Value::Object(_) | Value::Array(_) if !members.contains_key(name) => {
            // What is not there yet is taken as it is.
            if let Some(taken) = taken(change) {
                members.insert(name.to_owned(), taken);
            }
        }
        Value::Object(_) => {
            let part = shape.map_or(Part::Unknown, Part::of);
            map(part, members.entry(name).or_insert(Value::Null), change)?;
        }
        Value::Array(items) => {
            let known = match members.get(name) {
                Some(Value::Array(known)) => known.clone(),
                Some(_) | None => Vec::new(),
            };
            let merged = list(merging(shape), &known, items)?;
            members.insert(name.to_owned(), Value::Array(merged));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            members.insert(name.to_owned(), change.clone());
        }
    }
    Ok(())
}

/// A part of a patch without what is null in it and without objects that carry `$patch` (`removeDirectives`); other directives are unknown fields then.
fn taken(change: &Value) -> Option<Value> {
    match change {
        Value::Object(members) if members.contains_key(DIRECTIVE) => None,
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, one)| !one.is_null());
            Some(Value::Object(kept.filter_map(|(name, one)| Some((name.clone(), taken(one)?))).collect()))
        }
        Value::Array(items) => Some(items.iter().filter_map(taken).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(change.clone()),
    }
}

/// A list after its patch, in the order that upstream gives it.
fn list(how: Merging, known: &[Value], items: &[Value]) -> Result<Vec<Value>, ApiError> {
    let (merged, given) = match how {
        Merging::Replace => return Ok(items.to_vec()),
        Merging::Set => (union(known, items), items.to_vec()),
        Merging::ByKey(key, part) => match by_key(key, part, known, items)? {
            Outcome::Whole(whole) => return Ok(whole),
            Outcome::Merged(merged, given) => (merged, given),
        },
    };
    Ok(ordered(how, merged, &given, known))
}

fn union(known: &[Value], items: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for item in known.iter().chain(items) {
        if !all.contains(item) {
            all.push(item.clone());
        }
    }
    all
}

enum Outcome {
    /// The list is replaced.
    Whole(Vec<Value>),
    /// The list, and the items of the patch without those that are directives.
    Merged(Vec<Value>, Vec<Value>),
}

fn by_key(key: &str, part: Part, known: &[Value], items: &[Value]) -> Result<Outcome, ApiError> {
    let mut merged = known.to_vec();
    let mut given = Vec::new();
    let mut is_replaced = false;
    for item in items {
        let directive = item.get(DIRECTIVE).and_then(Value::as_str);
        let has_key = || {
            item.get(key).filter(|key| !key.is_null()).ok_or_else(|| {
                let shown = go_map(item);
                ApiError::internal(&format!("map: {shown} does not contain declared merge key: {key}"))
            })
        };
        match directive {
            Some("replace") => is_replaced = true,
            Some("delete") => {
                let wanted = has_key()?;
                merged.retain(|other| other.get(key) != Some(wanted));
            }
            Some("merge") | None => given.push(item.clone()),
            Some(_) => return Err(unknown_directive(&item[DIRECTIVE], item)),
        }
    }
    if is_replaced {
        return Ok(Outcome::Whole(given));
    }
    for item in &given {
        let wanted = item.get(key).filter(|key| !key.is_null()).ok_or_else(|| {
            let shown = go_map(item);
            ApiError::internal(&format!("map: {shown} does not contain declared merge key: {key}"))
        })?;
        match merged.iter_mut().find(|other| other.get(key) == Some(wanted)) {
            Some(other) => map(part, other, item)?,
            // Taken as it is, directives and all: these are unknown fields then.
            None => merged.push(item.clone()),
        }
    }
    Ok(Outcome::Merged(merged, given))
}

/// Whether two items are the same one.
fn same(how: Merging, one: &Value, other: &Value) -> bool {
    match how {
        Merging::ByKey(key, _) => one.get(key).is_some() && one.get(key) == other.get(key),
        Merging::Set | Merging::Replace => one == other,
    }
}

/// Items in the order of a patch, those that it does not name between them as the server has had them
/// (`normalizeElementOrder`).
fn ordered(how: Merging, merged: Vec<Value>, order: &[Value], server: &[Value]) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| list.iter().position(|other| same(how, other, item));
    let (mut named, mut rest): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    rest.sort_by_key(|item| place(server, item).unwrap_or(usize::MAX));
    let (mut named, mut rest) = (named.into_iter().peekable(), rest.into_iter().peekable());
    let mut all = Vec::new();
    while let (Some(left), Some(right)) = (rest.peek(), named.peek()) {
        let is_before = match (place(server, left), place(server, right)) {
            (Some(left), Some(right)) => left < right,
            (Some(_) | None, Some(_) | None) => false,
        };
        all.extend(if is_before { rest.next() } else { named.next() });
    }
    all.extend(rest);
    all.extend(named);
    all
}

/// Merges a list and puts it into the order that the patch says.
fn in_order(
    of: Part,
    members: &mut Map<String, Value>,
    name: &str,
    change: Option<&Value>,
    order: &Value,
) -> Result<(), ApiError> {
    let bad = || ApiError::bad_request("invalid patch format of setElementOrder list");
    let order = order.as_array().ok_or_else(bad)?;
    let how = merging(of.member(name));
    let known = match members.get(name) {
        Some(Value::Array(known)) => Some(known.clone()),
        Some(_) | None => None,
    };
    let merged = match (change, &known) {
        (Some(Value::Array(items)), known) => {
            let is_named = |item: &Value| order.iter().any(|wanted| same(how, wanted, item));
            let is_directive = |item: &Value| item.get(DIRECTIVE).is_some();
            if items.iter().any(|item| !is_directive(item) && !is_named(item)) {
                let (items, order) = (go_map(&items.clone().into()), go_map(&order.clone().into()));
                return Err(ApiError::internal(&format!(
                    "The order in patch list:\n{items}\n doesn't match $setElementOrder list:\n{order}\n"
                )));
            }
            list(how, known.as_deref().unwrap_or_default(), items)?
        }
        (Some(Value::Null), _) => {
            members.remove(name);
            return Ok(());
        }
        (Some(_), _) => return Err(bad()),
        (None, Some(known)) => known.clone(),
        (None, None) => return Ok(()),
    };
    let ordered = ordered(how, merged, order, known.as_deref().unwrap_or_default());
    members.insert(name.to_owned(), Value::Array(ordered));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(kind: (&str, &str, &str), mut value: Value, patch: &Value) -> Value {
        apply(types().of_kind(kind.0, kind.1, kind.2), &mut value, patch).expect("it can be applied");
        value
    }

    const POD: (&str, &str, &str) = ("", "v1", "Pod");

    #[test]
    fn containers_are_merged_by_name_and_new_ones_come_first() {
        let value = json!({"spec": {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]},
            {"name": "b", "image": "1"}]}});
        let patch = json!({"spec": {"containers": [{"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]},
            {"name": "b", "$patch": "delete"}, {"name": "c", "image": "3"}]}});
        let expected = json!({"spec": {"containers": [
            {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]},
            {"name": "c", "image": "3"}]}});
        assert_eq!(applied(POD, value, &patch), expected);
    }

    #[test]
    fn directives_do_what_they_say() {
        let value = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
            "metadata": {"finalizers": ["a", "b"]}});
        let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
            "metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}});
        let expected = json!({"spec": {"strategy": {"type": "Recreate"}}, "metadata": {"finalizers": ["b"]}});
        assert_eq!(applied(("apps", "v1", "Deployment"), value, &patch), expected);
    }

    #[test]
    fn lists_without_a_key_are_replaced() {
        let value = json!({"spec": {"tolerations": [{"key": "x"}]}});
        let patch = json!({"spec": {"tolerations": [{"key": "y"}]}});
        assert_eq!(applied(POD, value, &patch), patch);
    }

    #[test]
    fn order_is_set_where_it_is_given() {
        let value = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        let patch = json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "a"}]}});
        let expected = json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}});
        assert_eq!(applied(POD, value, &patch), expected);
    }

    #[test]
    fn a_list_that_is_not_there_yet_is_taken_as_it_is() {
        let patch = json!({"spec": {"containers": [{"image": "x", "command": null}, {"$patch": "delete", "name": "a"}]}});
        assert_eq!(applied(POD, json!({}), &patch), json!({"spec": {"containers": [{"image": "x"}]}}));
    }

    #[test]
    fn an_item_without_its_key_is_refused() {
        let mut value = json!({"spec": {"containers": [{"name": "a"}]}});
        let patch = json!({"spec": {"containers": [{"image": "x"}]}});
        let refusal =
            apply(types().of_kind("", "v1", "Pod"), &mut value, &patch).expect_err("it has no name");
        assert_eq!(refusal.message, "map: map[image:x] does not contain declared merge key: name");
    }
}
