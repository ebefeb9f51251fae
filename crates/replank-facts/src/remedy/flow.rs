//! JSON as YAML in flow style, on one line: as a member of a plan is written.

use serde_json::Value;

/// `batch: {wait: 6h, onDeadline: pause}`: members by their paths, those of one object together.
pub(super) fn members(all: &[(&'static str, Value)]) -> String {
    let mut told: Vec<String> = Vec::new();
    let head = |path: &'static str| path.split_once('.').map_or(path, |(head, _)| head);
    for group in all.chunk_by(|(a, _), (b, _)| head(a) == head(b)) {
        let inner = group.iter().map(|(path, value)| match path.split_once('.') {
            Some((_, member)) => format!("{member}: {}", flow(value)),
            None => flow(value),
        });
        let inner = inner.collect::<Vec<_>>().join(", ");
        let path = group[0].0;
        let braces = if path.contains('.') { format!("{{{inner}}}") } else { inner };
        told.push(format!("{}: {braces}", head(path)));
    }
    told.join(", ")
}

/// The same as a merge patch of the plan's `spec`.
pub(super) fn patch(all: &[(&'static str, Value)]) -> Value {
    let mut spec = Value::Object(serde_json::Map::new());
    for (path, value) in all {
        let mut at = &mut spec;
        for part in path.split('.') {
            at = &mut at[part];
        }
        *at = value.clone();
    }
    spec
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(all) => {
            let all = all.iter().map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{{}}}", all.collect::<Vec<_>>().join(", "))
        }
        Value::Array(all) => format!("[{}]", all.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// A word that YAML reads as itself, also between braces: neither a number nor one of its own words.
fn is_plain(text: &str) -> bool {
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_/.".contains(c));
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let own = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_own = own.contains(&text.to_ascii_lowercase().as_str());
    // `6h` is text, `1e3` and `0x1F` are numbers.
    let is_number = text.parse::<f64>().is_ok() || text.starts_with("0x") || text.starts_with("0o");
    is_word && begins && !is_own && !is_number
}
