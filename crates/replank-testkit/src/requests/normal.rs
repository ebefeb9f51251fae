//! Makes answers of two runs comparable: what must differ between them is replaced by what it is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// What is known of one run.
#[derive(Debug, Default)]
pub(super) struct Normal {
    /// The suffix of everything that is cluster-scoped.
    unique: String,
    /// Generated names and hashes, and what they are replaced by.
    literals: BTreeMap<String, String>,
    /// Uids that steps have saved, and the variables' names.
    pub(super) uids: BTreeMap<String, String>,
}

impl Normal {
    pub(super) fn new(unique: String) -> Self {
        Self { unique, ..Self::default() }
    }

    /// Learns which names and hashes were generated.
    pub(super) fn learn(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(meta) = members.get("metadata") {
                    self.learn_name(meta);
                    self.learn_hashes(&meta["labels"]);
                }
                for list in ["matchLabels", "selector"] {
                    self.learn_hashes(members.get(list).unwrap_or(&Value::Null));
                }
                for revision in ["currentRevision", "updateRevision"] {
                    let name = members.get(revision).and_then(Value::as_str);
                    if let Some((_, hash)) = name.and_then(|name| name.rsplit_once('-')) {
                        self.literals.insert(hash.to_owned(), "<hash>".to_owned());
                    }
                }
                members.values().for_each(|member| self.learn(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn learn_name(&mut self, meta: &Value) {
        let (Some(prefix), Some(name)) = (meta["generateName"].as_str(), meta["name"].as_str()) else {
            return;
        };
        let Some(suffix) = name.strip_prefix(prefix) else { return };
        let is_ordinal = suffix.bytes().all(|byte| byte.is_ascii_digit());
        if !suffix.is_empty() && !is_ordinal {
            self.literals.insert(name.to_owned(), format!("{prefix}<gen>"));
        }
    }

    fn learn_hashes(&mut self, labels: &Value) {
        for label in ["pod-template-hash", "controller-revision-hash"] {
            if let Some(value) = labels[label].as_str().filter(|value| !value.is_empty()) {
                let hash = value.rsplit('-').next().unwrap_or(value);
                self.literals.insert(hash.to_owned(), "<hash>".to_owned());
            }
        }
    }

    /// A text with everything replaced.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let mut literals: Vec<(&String, &String)> = self.literals.iter().collect();
        literals.sort_by_key(|(literal, _)| std::cmp::Reverse(literal.len()));
        for (literal, placeholder) in literals {
            text = text.replace(literal.as_str(), placeholder);
        }
        text = text.replace(&self.unique, "<u>");
        text = replace_shaped(&text, "dddd-dd-ddTdd:dd:ddZ", "<time>");
        text = replace_shaped(&text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "<uid>");
        replace_shaped(&text, ".xxxxxxxxxxxxxxxx", ".<hex>")
    }

    /// A value with everything replaced; `sort` names a list whose order says nothing.
    pub(super) fn value(&self, value: &Value, sort: Option<&str>) -> Value {
        self.member("", value, sort)
    }

    fn member(&self, name: &str, value: &Value, sort: Option<&str>) -> Value {
        match value {
            Value::Object(members) => {
                let kept = members.iter().filter(|(name, _)| *name != "managedFields");
                let replaced: Map<String, Value> =
                    kept.map(|(name, member)| (self.text(name), self.member(name, member, sort))).collect();
                Value::Object(replaced)
            }
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|item| self.member("", item, sort)).collect();
                let is_generated = |item: &Value| {
                    item["metadata"]["name"].as_str().is_some_and(|name| name.contains("<gen>"))
                };
                if sort == Some(name) || name == "items" && items.iter().any(is_generated) {
                    items.sort_by_key(Value::to_string);
                }
                Value::Array(items)
            }
            Value::String(text) => Value::String(match name {
                "resourceVersion" if text != "0" && !text.is_empty() => "<rv>".to_owned(),
                "uid" if !text.is_empty() => {
                    self.uids.get(text).map_or_else(|| "<uid>".to_owned(), |name| format!("<${name}>"))
                }
                _ => self.text(text),
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Replaces everything of a shape: `d` stands for a digit, `x` for a hexadecimal one.
fn replace_shaped(text: &str, shape: &str, by: &str) -> String {
    let is_shaped = |bytes: &[u8]| {
        bytes.len() >= shape.len()
            && shape.bytes().zip(bytes).all(|(shape, byte)| match shape {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
                exact => exact == *byte,
            })
    };
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if is_shaped(rest.as_bytes()) {
            replaced.push_str(by);
            rest = &rest[shape.len()..];
        } else {
            replaced.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    replaced
}

/// A refusal with its causes in a fixed order: some validators walk maps.
pub(super) fn canonical(mut answer: Value) -> Value {
    if answer["kind"] != "Status" || answer["code"] != 422 {
        return answer;
    }
    if let Some(Value::Array(causes)) = answer.pointer_mut("/details/causes") {
        causes.sort_by_key(Value::to_string);
    }
    answer
}

/// Where two values differ, with what is there.
pub(super) fn difference(theirs: &Value, ours: &Value) -> Option<String> {
    fn walk(theirs: &Value, ours: &Value, path: &str, found: &mut Vec<String>) {
        match (theirs, ours) {
            (Value::Object(a), Value::Object(b)) => {
                let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
                for name in names {
                    let of = |members: &Map<String, Value>| members.get(name).cloned().unwrap_or_default();
                    walk(&of(a), &of(b), &format!("{path}/{name}"), found);
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (at, (a, b)) in a.iter().zip(b).enumerate() {
                    walk(a, b, &format!("{path}/{at}"), found);
                }
            }
            (theirs, ours) if theirs == ours => {}
            (theirs, ours) => found.push(format!("{path} recorded {theirs}, ours {ours}")),
        }
    }
    let mut found = Vec::new();
    walk(theirs, ours, "", &mut found);
    (!found.is_empty()).then(|| found.join("; "))
}

/// A value without what some JSON-pointer globs match.
pub(super) fn without(value: &Value, globs: &[String]) -> Value {
    fn strip(value: &Value, globs: &[String], path: &str) -> Value {
        match value {
            Value::Object(members) => {
                let at = |name: &str| format!("{path}/{name}");
                let kept =
                    members.iter().filter(|(name, _)| !globs.iter().any(|glob| matches(glob, &at(name))));
                Value::Object(
                    kept.map(|(name, member)| (name.clone(), strip(member, globs, &at(name)))).collect(),
                )
            }
            Value::Array(items) => {
                let each = items.iter().enumerate();
                Value::Array(each.map(|(at, item)| strip(item, globs, &format!("{path}/{at}"))).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    strip(value, globs, "")
}

/// Whether a path is one that a glob means. A star stands for anything.
fn matches(glob: &str, path: &str) -> bool {
    match glob.split_once('*') {
        None => glob == path,
        Some((before, after)) => path.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| matches(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_between_runs_is_replaced() {
        let mut normal = Normal::new("u7".to_owned());
        normal.learn(&json!({"metadata": {"generateName": "w-5d8f-", "name": "w-5d8f-abcde",
            "labels": {"pod-template-hash": "5d8f"}}}));
        let said = "pod \"w-5d8f-abcde\" in x-u7 at 2026-01-02T03:04:05Z";
        assert_eq!(normal.text(said), "pod \"w-<hash>-<gen>\" in x-<u> at <time>");
        let value = json!({"uid": "11111111-2222-3333-4444-555555555555", "resourceVersion": "7", "n": 1});
        assert_eq!(normal.value(&value, None), json!({"uid": "<uid>", "resourceVersion": "<rv>", "n": 1}));
        assert_eq!(normal.text("b.0123456789abcdef"), "b.<hex>");
    }

    #[test]
    fn globs_strip_members() {
        let value = json!({"items": [{"count": 1, "reason": "A"}], "status": {"a": 1}});
        let globs = ["/items/*/count".to_owned(), "/status".to_owned()];
        assert_eq!(without(&value, &globs), json!({"items": [{"reason": "A"}]}));
    }
}
