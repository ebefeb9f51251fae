//! The simplest YAML: mappings by indentation, scalars, and JSON wherever it is written. What a controller's ConfigMap holds is text;
//! crates without I/O read no YAML, and this much is what people write there. A key whose value is anything else (a list, an anchor, a
//! block of text) is left out.

use serde_json::{Map, Value};

/// Reads a text; `None` if it is not a mapping.
pub(super) fn read(text: &str) -> Option<Value> {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return Some(value);
    }
    let is_text =
        |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#') && line.trim() != "---";
    let lines: Vec<(usize, &str)> = text
        .lines()
        .filter(is_text)
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .collect();
    let (first, _) = lines.first()?;
    Some(mapping(&lines, *first))
}

/// The entries at one depth; what is deeper belongs to the entry before it.
fn mapping(lines: &[(usize, &str)], depth: usize) -> Value {
    let mut entries = Map::new();
    let mut at = 0;
    while let Some((_, line)) = lines.get(at) {
        let inner = lines[at + 1..].iter().take_while(|(deeper, _)| *deeper > depth).count();
        let within = &lines[at + 1..][..inner];
        at += 1 + inner;
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| !key.starts_with("- ")) else {
            continue;
        };
        let value = value.trim();
        let value = match (value, within.first()) {
            ("", Some((deeper, next))) if !next.starts_with('-') => mapping(within, *deeper),
            ("" | "|" | ">", _) => continue,
            (text, _) => scalar(text),
        };
        entries.insert(key.trim().trim_matches(['"', '\'']).to_owned(), value);
    }
    Value::Object(entries)
}

fn scalar(text: &str) -> Value {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = quoted('"').or_else(|| quoted('\'')) {
        return Value::from(inner);
    }
    let text = text.split(" #").next().unwrap_or(text).trim_end();
    serde_json::from_str(text).unwrap_or_else(|_| flow(text).unwrap_or_else(|| Value::from(text)))
}

/// `{limit: 3, retryPolicy: Always}` with plain values.
fn flow(text: &str) -> Option<Value> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    if inner.contains(['{', '[']) {
        return None;
    }
    let entry = |part: &str| {
        let (key, value) = part.split_once(':')?;
        Some((key.trim().to_owned(), scalar(value.trim())))
    };
    inner
        .split(',')
        .filter(|part| !part.trim().is_empty())
        .map(entry)
        .collect::<Option<Map<_, _>>>()
        .map(Value::Object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mappings_scalars_and_json_are_read_and_the_rest_is_left_out() {
        let text = "# defaults\nspec:\n  ttlStrategy: {secondsAfterCompletion: 60}\n  retryStrategy:\n    limit: \"3\"   \n    retryPolicy: Always # both\n  \
                    tolerations:\n  - key: a\n  podGC:\n    strategy: OnPodCompletion\n";
        assert_eq!(
            read(text),
            Some(json!({"spec": {
                "ttlStrategy": {"secondsAfterCompletion": 60},
                "retryStrategy": {"limit": "3", "retryPolicy": "Always"},
                "podGC": {"strategy": "OnPodCompletion"}}}))
        );
        assert_eq!(read("{\"spec\": {\"a\": 1}}"), Some(json!({"spec": {"a": 1}})));
        assert_eq!(read("\n# nothing\n"), None);
    }
}
