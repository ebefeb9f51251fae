//! Walks over objects by their types: which fields there are, what differs, what a merge makes of two, what is left when
//! fields are taken away (structured-merge-diff's `typed` package).

use serde_json::{Map, Value};

use super::schema::{Items, Part, step_to};
use super::set::{Set, Step};

/// All fields of an object.
pub(super) fn to_set(of: Part<'_>, value: &Value) -> Set {
    let mut set = Set::default();
    fields(of, value, &mut Vec::new(), &mut set);
    set
}

fn fields(of: Part<'_>, value: &Value, path: &mut Vec<Step>, set: &mut Set) {
    match value {
        Value::Null => {}
        Value::Object(_) if of.is_atomic_map() => set.insert(path),
        Value::Object(members) => {
            for (name, member) in members {
                let (part, is_named) = of.member(name);
                path.push(Step::Field(name.clone()));
                fields(part, member, path, set);
                let is_bare = member.is_null() || member.as_object().is_some_and(Map::is_empty);
                if is_bare || !is_named {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Value::Array(list) => {
            let items = of.items();
            let (Items::Set(part) | Items::Map(_, part)) = &items else {
                set.insert(path);
                return;
            };
            for item in list {
                let Ok(step) = step_to(&items, item) else { continue };
                path.push(step);
                fields(*part, item, path, set);
                set.insert(path);
                path.pop();
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => set.insert(path),
    }
}

/// What has become of fields from one state to another.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

impl Comparison {
    /// The comparison of what a set of paths, with everything below, does not cover.
    pub(super) fn without(&self, reset: &Set) -> Self {
        Self {
            removed: self.removed.recursive_difference(reset),
            modified: self.modified.recursive_difference(reset),
            added: self.added.recursive_difference(reset),
        }
    }
}

/// Compares two states.
pub(super) fn compare(of: Part<'_>, old: &Value, new: &Value) -> Comparison {
    let mut found = Comparison::default();
    differences(of, Some(old), Some(new), &mut Vec::new(), &mut found);
    found
}

fn differences(
    of: Part<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<Step>,
    found: &mut Comparison,
) {
    let is_leaf = match (old, new) {
        (None, None) => return,
        (Some(old), Some(new)) if old == new => return,
        (old, new) if both(old, new, Value::is_object) => {
            let (had, has) = (members_of(old), members_of(new));
            let is_leaf = of.is_atomic_map() || (had.is_empty() && has.is_empty());
            if !is_leaf {
                map_differences(of, had, has, path, found);
            }
            is_leaf
        }
        (old, new) if both(old, new, Value::is_array) => {
            let (had, has) = (items_of(old), items_of(new));
            let items = of.items();
            let part = match &items {
                Items::Atomic => None,
                Items::Set(part) | Items::Map(_, part) => Some(*part),
            };
            match part.filter(|_| !(had.is_empty() && has.is_empty())) {
                Some(part) => {
                    list_differences(&items, part, had, has, path, found);
                    false
                }
                None => true,
            }
        }
        (Some(_) | None, Some(_) | None) => true,
    };
    match (old, new) {
        (None, _) => found.added.insert(path),
        (_, None) => found.removed.insert(path),
        (Some(_), Some(_)) if is_leaf => found.modified.insert(path),
        (Some(_), Some(_)) => {}
    }
}

fn map_differences(
    of: Part<'_>,
    had: &Map<String, Value>,
    has: &Map<String, Value>,
    path: &mut Vec<Step>,
    found: &mut Comparison,
) {
    for name in had.keys().chain(has.keys().filter(|name| !had.contains_key(*name))) {
        let (part, _) = of.member(name);
        path.push(Step::Field(name.clone()));
        differences(part, had.get(name), has.get(name), path, found);
        path.pop();
    }
}

fn list_differences(
    items: &Items<'_>,
    part: Part<'_>,
    had: &[Value],
    has: &[Value],
    path: &mut Vec<Step>,
    found: &mut Comparison,
) {
    let (had, has) = (by_step(items, had), by_step(items, has));
    let new_steps = has.iter().filter(|(step, _)| !had.iter().any(|(one, _)| one == step));
    for step in had.iter().chain(new_steps).map(|(step, _)| step) {
        let of = |all: &[(Step, Vec<&Value>)]| -> Vec<Value> {
            let found = all.iter().find(|(one, _)| one == step);
            found.map(|(_, items)| items.iter().map(|item| (*item).clone()).collect()).unwrap_or_default()
        };
        let (before, after) = (of(&had), of(&has));
        path.push(step.clone());
        match (before.len(), after.len()) {
            (0 | 1, 0 | 1) => differences(part, before.first(), after.first(), path, found),
            (2.., 2..) if before != after => found.modified.insert(path),
            (2.., 2..) => {}
            (2.., _) => {
                differences(part, None, after.first(), path, found);
                found.removed.insert(path);
            }
            (_, 2..) => {
                differences(part, before.first(), None, path, found);
                found.added.insert(path);
            }
        }
        path.pop();
    }
}

/// Items by the steps to them, in their order; those of one step together.
fn by_step<'v>(items: &Items<'_>, list: &'v [Value]) -> Vec<(Step, Vec<&'v Value>)> {
    let mut all: Vec<(Step, Vec<&Value>)> = Vec::new();
    for item in list {
        let Ok(step) = step_to(items, item) else { continue };
        match all.iter_mut().find(|(one, _)| *one == step) {
            Some((_, same)) => same.push(item),
            None => all.push((step, vec![item])),
        }
    }
    all
}

/// Whether both are of a form, where they are there; null takes the other's form.
fn both(old: Option<&Value>, new: Option<&Value>, is: fn(&Value) -> bool) -> bool {
    let fits = |value: &Value| value.is_null() || is(value);
    old.is_none_or(fits) && new.is_none_or(fits) && [old, new].into_iter().flatten().any(is)
}

fn members_of(value: Option<&Value>) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.and_then(Value::as_object).unwrap_or(&NONE)
}

fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Lays an applied configuration over an object.
///
/// # Errors
/// Where items of a list cannot be told apart.
pub(super) fn merge(of: Part<'_>, live: &Value, applied: &Value) -> Result<Value, String> {
    merged(of, Some(live), Some(applied)).map(|merged| merged.unwrap_or_else(|| Value::Object(Map::new())))
}

fn merged(of: Part<'_>, live: Option<&Value>, applied: Option<&Value>) -> Result<Option<Value>, String> {
    let kept = || applied.or(live).cloned();
    if both(live, applied, Value::is_object) {
        let (here, there) = (members_of(live), members_of(applied));
        if of.is_atomic_map() || (here.is_empty() && there.is_empty()) {
            return Ok(kept());
        }
        let mut out = Map::new();
        for name in here.keys().chain(there.keys().filter(|name| !here.contains_key(*name))) {
            let (part, _) = of.member(name);
            let member = merged(part, here.get(name), there.get(name));
            if let Some(member) = member.map_err(|why| format!(".{name}{}", joined(&why)))? {
                out.insert(name.clone(), member);
            }
        }
        return Ok((!out.is_empty()).then_some(Value::Object(out)));
    }
    if both(live, applied, Value::is_array) {
        let (here, there) = (items_of(live), items_of(applied));
        let items = of.items();
        let (Items::Set(part) | Items::Map(_, part)) = &items else { return Ok(kept()) };
        if here.is_empty() && there.is_empty() {
            return Ok(kept());
        }
        return merged_list(&items, *part, here, there);
    }
    Ok(kept())
}

/// What follows a path in an error: more of the path, or what is wrong.
fn joined(why: &str) -> String {
    if why.starts_with(['.', '[']) { why.to_owned() } else { format!(": {why}") }
}

fn merged_list(
    items: &Items<'_>,
    part: Part<'_>,
    here: &[Value],
    there: &[Value],
) -> Result<Option<Value>, String> {
    let theirs = steps(items, there)?;
    let ours = steps(items, here)?;
    let one = |steps: &[Step], list: &[Value], step: &Step| -> Option<Value> {
        let mut same = steps.iter().zip(list).filter(|(one, _)| *one == step).map(|(_, item)| item);
        let first = same.next().cloned();
        // Items that are there twice are not merged with what is applied.
        first.filter(|_| same.next().is_none())
    };
    let mut shared = theirs.iter().filter(|step| ours.contains(step));
    let mut next_shared = shared.next();
    let mut done: Vec<&Step> = Vec::new();
    let mut out = Vec::new();
    let (mut left, mut right) = (0, 0);
    while left < ours.len() || right < theirs.len() {
        if let (Some(mine), Some(step)) = (ours.get(left), theirs.get(right)) {
            if mine == step {
                done.push(step);
                out.extend(merged(part, one(&ours, here, step).as_ref(), Some(&there[right]))?);
                (left, right) = (left + 1, right + 1);
                next_shared = shared.next();
                continue;
            }
            if theirs.contains(mine) && next_shared.is_some_and(|next| next != mine) {
                left += 1;
                continue;
            }
        }
        if let Some(step) = ours.get(left) {
            if !theirs.contains(step) {
                out.extend(merged(part, Some(&here[left]), None)?);
                left += 1;
                continue;
            }
            if done.contains(&step) {
                left += 1;
            }
        }
        if let Some(step) = theirs.get(right) {
            done.push(step);
            out.extend(merged(part, one(&ours, here, step).as_ref(), Some(&there[right]))?);
            right += 1;
            if next_shared == Some(step) {
                next_shared = shared.next();
            }
        }
    }
    Ok((!out.is_empty()).then_some(Value::Array(out)))
}

fn steps(items: &Items<'_>, list: &[Value]) -> Result<Vec<Step>, String> {
    let numbered = list.iter().enumerate();
    numbered.map(|(at, item)| step_to(items, item).map_err(|why| format!("element {at}: {why}"))).collect()
}

/// What is wrong with an applied configuration: fields of no type or of another one, items of a list that cannot be told apart, or are there twice.
///
/// # Errors
/// What structured-merge-diff says of it, all at once.
pub(super) fn check(of: Part<'_>, value: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    misfits(of, value, "", &mut found);
    match found.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        all => Err(format!("errors:\n  {}", all.join("\n  "))),
    }
}

fn misfits(of: Part<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    let told = |why: &str| if path.is_empty() { why.to_owned() } else { format!("{path}: {why}") };
    if let Some(why) = of.misfit(value) {
        found.push(told(&why));
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                if of.knows(name) {
                    misfits(of.member(name).0, member, &path, found);
                } else {
                    found.push(format!("{path}: field not declared in schema"));
                }
            }
        }
        Value::Array(list) => {
            let items = of.items();
            let (Items::Set(part) | Items::Map(_, part)) = &items else {
                if let Some(part) = of.item() {
                    for (at, item) in list.iter().enumerate() {
                        misfits(part, item, &format!("{path}[{at}]"), found);
                    }
                }
                return;
            };
            let mut known = Vec::new();
            for (at, item) in list.iter().enumerate() {
                let step = match step_to(&items, item) {
                    Ok(step) => step,
                    Err(why) => {
                        found.push(told(&format!("element {at}: {why}")));
                        continue;
                    }
                };
                let mut one = Set::default();
                one.insert(std::slice::from_ref(&step));
                let shown = one.shown().concat();
                if known.contains(&step) {
                    found.push(told(&format!("duplicate entries for key {shown}")));
                }
                misfits(*part, item, &format!("{path}{shown}"), found);
                known.push(step);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Why a stored object has no types: items of a list that cannot be told apart.
pub(super) fn untypable(of: Part<'_>, value: &Value) -> Option<String> {
    match value {
        Value::Object(_) if of.is_atomic_map() => None,
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let why = untypable(of.member(name).0, member)?;
            Some(format!(".{name}{}", joined(&why)))
        }),
        Value::Array(list) => {
            let items = of.items();
            let (Items::Set(part) | Items::Map(_, part)) = &items else { return None };
            list.iter().enumerate().find_map(|(at, item)| match step_to(&items, item) {
                Err(why) => Some(format!("element {at}: {why}")),
                Ok(step) => {
                    let mut one = Set::default();
                    one.insert(std::slice::from_ref(&step));
                    let why = untypable(*part, item)?;
                    Some(format!("{}{}", one.shown().concat(), joined(&why)))
                }
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// What is left of an object without the fields of a set.
pub(super) fn remove(of: Part<'_>, value: &Value, gone: &Set) -> Value {
    removed(of, value, gone).unwrap_or(Value::Null)
}

fn removed(of: Part<'_>, value: &Value, gone: &Set) -> Option<Value> {
    match value {
        Value::Object(members) if !members.is_empty() && !of.is_atomic_map() => {
            let mut out = Map::new();
            let mut has_matched = false;
            for (name, member) in members {
                let step = Step::Field(name.clone());
                if gone.has(std::slice::from_ref(&step)) {
                    continue;
                }
                match gone.below(&step).filter(|below| !below.is_empty()) {
                    None => {
                        out.insert(name.clone(), member.clone());
                    }
                    Some(below) => {
                        has_matched = true;
                        out.insert(name.clone(), rest(of.member(name).0, member, below));
                    }
                }
            }
            (has_matched || !out.is_empty()).then_some(Value::Object(out))
        }
        Value::Array(list) if !list.is_empty() => {
            let items = of.items();
            let (Items::Set(part) | Items::Map(_, part)) = &items else { return None };
            let mut out = Vec::new();
            let mut has_matched = false;
            for item in list {
                let step = step_to(&items, item).ok();
                if step.as_ref().is_some_and(|step| gone.has(std::slice::from_ref(step))) {
                    continue;
                }
                match step.and_then(|step| gone.below(&step).cloned()).filter(|below| !below.is_empty()) {
                    None => out.push(item.clone()),
                    Some(below) => {
                        has_matched = true;
                        out.push(rest(*part, item, &below));
                    }
                }
            }
            (has_matched || !out.is_empty()).then_some(Value::Array(out))
        }
        Value::Object(_) | Value::Array(_) => None,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

/// What is left of a member: an empty one where all of it is gone that was inside.
fn rest(of: Part<'_>, value: &Value, gone: &Set) -> Value {
    removed(of, value, gone).unwrap_or_else(|| match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    })
}

/// The set with the members of structs that lead to its paths: they are owned by whoever owns what is inside.
pub(super) fn with_named(of: Part<'_>, set: &Set) -> Set {
    let mut all = Set::default();
    for (step, node) in &set.0 {
        let (part, is_named) = match step {
            Step::Field(name) => of.member(name),
            Step::Keys(_) | Step::Item(_) | Step::Index(_) => match of.items() {
                Items::Atomic => (Part::Deduced, false),
                Items::Set(part) | Items::Map(_, part) => (part, false),
            },
        };
        let leads_on = !node.below.is_empty() && is_named;
        all.keep(step, node.is_member || leads_on, with_named(part, &node.below));
    }
    all
}

#[cfg(test)]
mod tests {
    use replank_schema::types;
    use serde_json::json;

    use super::*;

    fn deployment() -> Part<'static> {
        Part::Named(types().of_kind("apps", "v1", "Deployment").expect("it is served"), false)
    }

    #[test]
    fn lists_are_compared_by_their_keys() {
        let of = |items: Value| json!({"spec": {"template": {"spec": {"containers": items}}}});
        let old = of(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]));
        let new = of(json!([{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]));
        let found = compare(deployment(), &old, &new);
        assert!(found.added.is_empty() && found.removed.is_empty());
        assert_eq!(found.modified.shown(), [".spec.template.spec.containers[name=\"b\"].image"]);
    }

    #[test]
    fn what_is_new_owns_its_maps() {
        let found = compare(deployment(), &json!({}), &json!({"metadata": {"labels": {"a": "b"}}}));
        assert_eq!(found.added.shown(), [".metadata", ".metadata.labels", ".metadata.labels.a"]);
    }

    #[test]
    fn an_applied_list_is_merged_in_its_order() {
        let of = |names: &[&str]| {
            let items: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            json!({"spec": {"template": {"spec": {"containers": items}}}})
        };
        let merged =
            merge(deployment(), &of(&["a", "b", "c"]), &of(&["c", "d", "a"])).expect("it can be merged");
        assert_eq!(merged, of(&["b", "c", "d", "a"]));
    }

    #[test]
    fn a_field_of_another_type_or_of_no_type_is_told() {
        let why = |spec: Value| check(deployment(), &json!({"spec": spec})).expect_err("it is wrong");
        assert_eq!(why(json!({"foo": 1})), ".spec.foo: field not declared in schema");
        assert_eq!(
            why(json!({"replicas": "x"})),
            ".spec.replicas: expected numeric (int or float), got string"
        );
        assert_eq!(why(json!({"template": ["a"]})), ".spec.template: expected map, got &{[a]}");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let wrong = json!({"spec": {"replicas": [], "x": 1}});
        let why = check(deployment(), &wrong).expect_err("it is wrong twice");
        assert_eq!(
            why,
            "errors:\n  .spec.replicas: expected numeric (int or float), got []interface {}\n  \
             .spec.x: field not declared in schema"
        );
    }

    #[test]
    fn a_duplicate_is_told() {
        let twice = json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}}});
        let why = check(deployment(), &twice).expect_err("it is there twice");
        assert_eq!(why, ".spec.template.spec.containers: duplicate entries for key [name=\"a\"]");
    }

    #[test]
    fn what_may_be_a_number_or_a_text_is_no_map() {
        let of = |cpu: Value| json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]}}}});
        assert_eq!(check(deployment(), &of(json!(1))), Ok(()));
        let why = check(deployment(), &of(json!({}))).expect_err("it is a map");
        let at = ".spec.template.spec.containers[name=\"a\"].resources.requests.cpu";
        assert_eq!(why, format!("{at}: expected any scalar, got &{{map[]}}"));
    }

    #[test]
    fn an_item_without_its_key_has_no_type() {
        let account = Part::Named(types().of_kind("", "v1", "ServiceAccount").expect("it is served"), false);
        assert_eq!(untypable(account, &json!({"secrets": [{"name": "a"}]})), None);
        let why = untypable(account, &json!({"secrets": [{"fieldPath": "a"}]})).expect("it has no name");
        assert!(why.starts_with(".secrets: element 0: associative list with keys"), "{why}");
    }
}
