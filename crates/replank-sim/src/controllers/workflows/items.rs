//! What a step is run for: once, or once for each item of a list (`withItems`, `withParam`, `withSequence`; argo-workflows `workflow/controller/steps.go`
//! `expandStep`).

use replank_facts::batch::retry::number;
use serde_json::{Value, json};

/// Items of one step at most: more are a mistake, or a matter of data that the snapshot does not have.
const ITEMS_MAX: usize = 1_000;

/// What a step is run for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Items {
    /// It is run once.
    Once,
    /// Once for each.
    Each(Vec<Value>),
    /// Of a list that another step makes.
    Unknown,
}

/// The items of a step whose parameters are filled in as far as they are known.
pub(super) fn items(step: &Value) -> Items {
    if let Some(listed) = step["withItems"].as_array() {
        return each(listed.clone());
    }
    if let Some(text) = step["withParam"].as_str() {
        return serde_json::from_str(text).map_or(Items::Unknown, each);
    }
    match step.get("withSequence") {
        Some(sequence) if sequence.is_object() => numbers(sequence).map_or(Items::Unknown, each),
        Some(_) | None => Items::Once,
    }
}

fn each(mut all: Vec<Value>) -> Items {
    all.truncate(ITEMS_MAX);
    Items::Each(all)
}

/// `{count, start}` or `{start, end}`, both ends among them.
fn numbers(sequence: &Value) -> Option<Vec<Value>> {
    let of = |key: &str| sequence.get(key).filter(|value| !value.is_null());
    let start = of("start").map_or(Some(0), number)?;
    let end = match (of("count"), of("end")) {
        (Some(count), _) => match number(count)? {
            count if count > 0 => start.checked_add(count - 1)?,
            _ => return Some(Vec::new()),
        },
        (None, end) => number(end?)?,
    };
    let text = |at: i64| json!(at.to_string());
    let some = if start <= end {
        (start..=end).take(ITEMS_MAX).map(text).collect()
    } else {
        (end..=start).rev().take(ITEMS_MAX).map(text).collect()
    };
    Some(some)
}

/// An item as its node's name shows it.
pub(super) fn shown(item: &Value) -> String {
    match item {
        Value::String(text) => text.clone(),
        Value::Object(members) => {
            let mut pairs: Vec<String> =
                members.iter().map(|(key, value)| format!("{key}:{}", shown(value))).collect();
            pairs.sort();
            pairs.join(",")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => item.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_sequences_and_what_only_another_step_knows() {
        let count = |step: Value| match items(&step) {
            Items::Once => "once".to_owned(),
            Items::Each(all) => all.iter().map(shown).collect::<Vec<_>>().join(" "),
            Items::Unknown => "unknown".to_owned(),
        };
        assert_eq!(count(json!({})), "once");
        assert_eq!(count(json!({"withItems": ["a", 2, {"z": 1, "b": "c"}]})), "a 2 b:c,z:1");
        assert_eq!(count(json!({"withParam": "[\"x\", \"y\"]"})), "x y");
        assert_eq!(count(json!({"withParam": "{{steps.list.outputs.result}}"})), "unknown");
        assert_eq!(count(json!({"withSequence": {"count": "3"}})), "0 1 2");
        assert_eq!(count(json!({"withSequence": {"count": 2, "start": 5}})), "5 6");
        assert_eq!(count(json!({"withSequence": {"start": "3", "end": "1"}})), "3 2 1");
        assert_eq!(count(json!({"withSequence": {"count": 0}})), "");
        assert_eq!(count(json!({"withSequence": {"count": "{{inputs.parameters.n}}"}})), "unknown");
        let many = items(&json!({"withSequence": {"count": i64::MAX}}));
        assert!(matches!(many, Items::Each(all) if all.len() == ITEMS_MAX));
    }
}
