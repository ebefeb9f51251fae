//! What rows look up in an object.

use jiff::Timestamp;
use serde_json::Value;

use super::ages;
use super::duration::human;

/// When objects are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// So many milliseconds after 1970 began.
    At(i64),
    /// At one that is not known yet: ages are left open ([`ages`]).
    Later,
}

/// An object, and the moment at which it is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Moment,
}

impl<'a> Look<'a> {
    /// A member by a path of names, such as `/spec/replicas`.
    pub(super) fn at(self, path: &str) -> &'a Value {
        self.object.pointer(path).unwrap_or(&Value::Null)
    }

    /// A text; empty where there is none.
    pub(super) fn text(self, path: &str) -> &'a str {
        text(self.at(path))
    }

    /// A text, or what stands for none.
    pub(super) fn text_or(self, path: &str, none: &str) -> Value {
        self.at(path).as_str().unwrap_or(none).into()
    }

    /// A text that is not empty, or what stands for none.
    pub(super) fn filled_or(self, path: &str, none: &str) -> Value {
        let text = self.text(path);
        if text.is_empty() { none.into() } else { text.into() }
    }

    /// A whole number; 0 where there is none.
    pub(super) fn number(self, path: &str) -> i64 {
        self.at(path).as_i64().unwrap_or(0)
    }

    /// A boolean; what stands for none where there is none.
    pub(super) fn flag(self, path: &str, none: bool) -> bool {
        self.at(path).as_bool().unwrap_or(none)
    }

    /// A list; empty where there is none.
    pub(super) fn list(self, path: &str) -> &'a [Value] {
        items(self.at(path))
    }

    pub(super) fn name(self) -> Value {
        self.text("/metadata/name").into()
    }

    /// How long ago something was.
    pub(super) fn since(self, path: &str) -> String {
        self.ago(self.at(path))
    }

    /// How long ago a time was.
    pub(super) fn ago(self, time: &Value) -> String {
        match millis(time) {
            None => "<unknown>".to_owned(),
            Some(time) => self.after(time),
        }
    }

    /// How long it is since a time in milliseconds.
    pub(super) fn after(self, time: i64) -> String {
        match self.now {
            // Divided towards zero, as Go does.
            Moment::At(now) => human((now - time) / 1_000),
            Moment::Later => ages::open(time),
        }
    }

    pub(super) fn age(self) -> Value {
        self.since("/metadata/creationTimestamp").into()
    }

    pub(super) fn is_going(self) -> bool {
        !self.at("/metadata/deletionTimestamp").is_null()
    }

    /// Names and images of containers.
    pub(super) fn containers(self, path: &str) -> [Value; 2] {
        let all = self.list(path);
        ["name", "image"].map(|member| joined(all.iter().map(|one| text(&one[member])), ",").into())
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn joined<'a>(texts: impl IntoIterator<Item = &'a str>, by: &str) -> String {
    texts.into_iter().collect::<Vec<_>>().join(by)
}

/// A time in milliseconds since 1970.
pub(super) fn millis(time: &Value) -> Option<i64> {
    Some(time.as_str()?.parse::<Timestamp>().ok()?.as_millisecond())
}

/// A number or a word, or what stands for none.
pub(super) fn word_or(value: &Value, none: &str) -> String {
    match value {
        Value::Null => none.to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Labels as `a=b,c=d`.
pub(super) fn labels(value: &Value) -> String {
    let pairs = value.as_object().into_iter().flatten();
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={}", text(value))).collect();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// A label selector as text; empty where it selects everything.
pub(super) fn selector(value: &Value) -> String {
    if value.is_null() {
        // None selects nothing, which has no text either.
        return String::new();
    }
    let pairs = value["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<(&str, String)> =
        pairs.map(|(key, value)| (key.as_str(), format!("{key}={}", text(value)))).collect();
    for one in items(&value["matchExpressions"]) {
        let key = text(&one["key"]);
        let mut values: Vec<&str> = items(&one["values"]).iter().map(text).collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match text(&one["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        parts.push((key, part));
    }
    parts.sort_by_key(|(key, _)| *key);
    parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(",")
}

/// A label selector as text, `<none>` where it is empty.
pub(super) fn selector_or_none(value: &Value) -> String {
    let text = selector(value);
    if text.is_empty() { "<none>".to_owned() } else { text }
}

/// The first few of a list, and how many more there are.
pub(super) fn first(texts: &[String], most: usize, by: &str, none: &str) -> String {
    match texts.len() {
        0 => none.to_owned(),
        count if count > most => format!("{} + {} more...", texts[..most].join(by), count - most),
        _ => texts.join(by),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_written_by_key() {
        let all = json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["b", "a"]},
            {"key": "a", "operator": "DoesNotExist"}]});
        assert_eq!(selector(&all), "!a,app=web,tier notin (a,b)");
        assert_eq!(
            (selector_or_none(&json!({})), labels(&Value::Null)),
            ("<none>".to_owned(), "<none>".to_owned())
        );
    }
}
