//! What legitimately differs between two runs becomes a placeholder, by the rules of the recordings.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What a scenario has learnt: names that were drawn, and values that it has kept.
#[derive(Debug, Default)]
pub(super) struct Normal {
    /// The suffix of its names.
    suffix: String,
    /// Drawn names and hashes, with their placeholders.
    drawn: BTreeMap<String, String>,
    /// Values by the names of variables.
    pub(super) kept: BTreeMap<String, String>,
}

/// How a step wants to be compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    pub(super) keeps_managers: bool,
    pub(super) sorts_items: bool,
}

impl Normal {
    pub(super) fn new(suffix: String) -> Self {
        Self { suffix, ..Self::default() }
    }

    /// Takes in names that were drawn.
    pub(super) fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|one| self.learn(one)),
            Value::Object(members) => {
                if let Some(meta) = members.get("metadata").filter(|meta| meta.is_object()) {
                    let text = |name: &str| meta[name].as_str().unwrap_or_default();
                    let (prefix, name) = (text("generateName"), text("name"));
                    let drawn = name.strip_prefix(prefix).unwrap_or_default();
                    if !prefix.is_empty()
                        && !drawn.is_empty()
                        && !drawn.bytes().all(|byte| byte.is_ascii_digit())
                    {
                        self.drawn.insert(name.to_owned(), format!("{prefix}<gen>"));
                    }
                    self.learn_labels(&meta["labels"]);
                }
                for name in ["matchLabels", "selector"] {
                    self.learn_labels(members.get(name).unwrap_or(&Value::Null));
                }
                for (name, one) in members {
                    if matches!(name.as_str(), "currentRevision" | "updateRevision")
                        && let Some((_, hash)) = one.as_str().and_then(|text| text.rsplit_once('-'))
                    {
                        self.drawn.insert(hash.to_owned(), "<hash>".to_owned());
                    }
                    self.learn(one);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn learn_labels(&mut self, labels: &Value) {
        for name in ["pod-template-hash", "controller-revision-hash"] {
            if let Some(hash) = labels.get(name).and_then(Value::as_str).filter(|hash| !hash.is_empty()) {
                let last = hash.rsplit('-').next().unwrap_or(hash);
                self.drawn.insert(last.to_owned(), "<hash>".to_owned());
            }
        }
    }

    /// A text with placeholders.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let mut drawn: Vec<(&String, &String)> = self.drawn.iter().collect();
        drawn.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (name, placeholder) in drawn {
            text = text.replace(name.as_str(), placeholder);
        }
        text = text.replace(&self.suffix, "<u>");
        text = replaced(&text, "<time>", time);
        text = replaced(&text, "<uid>", uuid);
        text = replaced(&text, ".<hex>", event_number);
        if text.len() > 200 {
            text = without_objects(&text);
        }
        for before in [
            "resource version: ",
            "current: ",
            "precondition (",
            "record (",
            "<rv> (",
            "resourceVersion\":\"",
        ] {
            text = after(&text, before);
        }
        text
    }

    /// A value with placeholders; `within` is the member that it is.
    pub(super) fn value(&self, value: &Value, wishes: Wishes, within: &str) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => self.list(items, wishes, within),
            Value::Object(members) => {
                let mut all = Map::new();
                for (name, one) in members {
                    if name != "managedFields" || wishes.keeps_managers {
                        let shown = self.member(name, one, wishes);
                        all.insert(self.text(name), shown);
                    }
                }
                Value::Object(all)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn list(&self, items: &[Value], wishes: Wishes, within: &str) -> Value {
        let mut all: Vec<Value> = items.iter().map(|one| self.value(one, wishes, "")).collect();
        if within == "rows" {
            for cells in all.iter_mut().filter_map(|row| row.get_mut("cells")?.as_array_mut()) {
                cells.iter_mut().for_each(cell);
            }
        }
        let is_drawn = |one: &Value| match within {
            "items" => one.pointer("/metadata/name").is_some_and(|name| name.to_string().contains("<gen>")),
            "rows" => one.to_string().contains("<gen>"),
            _ => false,
        };
        if all.iter().any(is_drawn) || (within == "items" && wishes.sorts_items) {
            all.sort_by_key(ToString::to_string);
        }
        all.into()
    }

    fn member(&self, name: &str, value: &Value, wishes: Wishes) -> Value {
        let text = value.as_str();
        match name {
            "resourceVersion" if text.is_some_and(|text| !matches!(text, "" | "0")) => "<rv>".into(),
            "uid" if text.is_some() => {
                let mut known = self.kept.iter();
                let found = known.find(|(name, kept)| name.starts_with("uid") && Some(kept.as_str()) == text);
                match (found, text) {
                    (Some((name, _)), _) => format!("<${name}>").into(),
                    (None, Some("")) => "".into(),
                    (None, _) => "<uid>".into(),
                }
            }
            "continue" if text.is_some_and(|text| !text.is_empty()) => "<continue>".into(),
            "clusterIP" if !matches!(text, Some("None" | "")) => "<ip>".into(),
            "clusterIPs" if value.as_array().is_some_and(|all| !all.is_empty() && all[0] != "None") => {
                value.as_array().into_iter().flatten().map(|_| Value::from("<ip>")).collect()
            }
            "nodePort" | "healthCheckNodePort" if value.as_i64().is_some_and(|port| port != 0) => {
                "<port>".into()
            }
            "token" if text.is_some_and(|text| text.matches('.').count() == 2) => "<token>".into(),
            name => self.value(value, wishes, name),
        }
    }
}

/// A cell of a table: ages, addresses and ports.
fn cell(cell: &mut Value) {
    let Some(text) = cell.as_str() else { return };
    let is_address = text
        .strip_prefix("10.0.")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    if is_address {
        *cell = "<ip>".into();
    } else if text.contains("/TCP") {
        let parts = text.split(':').map(|part| match part.split_once('/') {
            Some((number, rest)) if number.len() == 5 && number.starts_with('3') => format!("<port>/{rest}"),
            Some(_) | None => part.to_owned(),
        });
        *cell = parts.collect::<Vec<_>>().join(":").into();
    } else if is_age(text) {
        *cell = "<age>".into();
    }
}

fn is_age(text: &str) -> bool {
    let is_plain = !text.is_empty()
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.ends_with(['y', 'd', 'h', 'm', 's'])
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"ydhms".contains(&byte));
    is_plain || text == "<invalid>"
}

/// The text with every place that `find` measures replaced.
fn replaced(text: &str, by: &str, find: fn(&str) -> Option<usize>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match find(rest) {
            Some(len) => {
                out += by;
                rest = &rest[len..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Whether a text begins as a pattern says: `0` a digit, `x` a hexadecimal digit, others themselves.
fn begins(text: &str, pattern: &str) -> bool {
    text.len() >= pattern.len()
        && pattern.bytes().zip(text.bytes()).all(|(wanted, byte)| match wanted {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            wanted => wanted == byte,
        })
}

fn time(text: &str) -> Option<usize> {
    let pattern = "0000-00-00T00:00:00";
    if !begins(text, pattern) {
        return None;
    }
    let rest = &text[pattern.len()..];
    let fraction =
        rest.strip_prefix('.').map_or(0, |digits| digits.bytes().take_while(u8::is_ascii_digit).count() + 1);
    rest[fraction..].starts_with('Z').then_some(pattern.len() + fraction + 1)
}

fn uuid(text: &str) -> Option<usize> {
    let pattern = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    begins(text, pattern).then_some(pattern.len())
}

fn event_number(text: &str) -> Option<usize> {
    let pattern = ".xxxxxxxxxxxxxxxx";
    let ends = text.as_bytes().get(pattern.len()).is_none_or(|next| !next.is_ascii_alphanumeric());
    (begins(text, pattern) && ends).then_some(pattern.len())
}

/// Whole objects that a message echoes.
fn without_objects(text: &str) -> String {
    let mark = "Invalid value: ";
    let Some(at) = text.find(mark) else { return text.to_owned() };
    let (head, rest) = text.split_at(at + mark.len());
    let end = ["}\": ", "}: "].iter().filter_map(|end| Some(rest.rfind(end)? + end.len())).max();
    let is_object = rest.starts_with("\"{")
        || rest.trim_start_matches(|c: char| c.is_alphanumeric() || ".*&_".contains(c)).starts_with('{');
    match end.filter(|end| is_object && *end > 200) {
        Some(end) => format!("{head}<object>: {}", &rest[end..]),
        None => text.to_owned(),
    }
}

/// The text with the number after each `before` replaced.
fn after(text: &str, before: &str) -> String {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        out += before;
        out += if digits > 0 { "<rv>" } else { "" };
        out += &part[digits..];
    }
    out
}
