//! JSON to YAML.

use replank_intake::scalar;
use serde_json::Value;

/// A value as a YAML document.
#[must_use]
pub(crate) fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => node(&mut out, value, 0),
        Value::Array(items) if !items.is_empty() => node(&mut out, value, 0),
        scalar @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => {
            out.push_str(&inline(scalar));
            out.push('\n');
        }
    }
    out
}

/// A list or mapping that is not empty, its lines indented.
fn node(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(members) => {
            for (number, (key, value)) in members.iter().enumerate() {
                // The first line of an item stands behind its dash.
                if number > 0 || !out.ends_with("- ") {
                    out.extend(std::iter::repeat_n(' ', indent));
                }
                out.push_str(&text(key));
                out.push(':');
                below(out, value, indent);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                if number > 0 || !out.ends_with("- ") {
                    out.extend(std::iter::repeat_n(' ', indent));
                }
                out.push_str("- ");
                match item {
                    Value::Object(members) if !members.is_empty() => node(out, item, indent + 2),
                    Value::Array(items) if !items.is_empty() => node(out, item, indent + 2),
                    Value::String(words) if is_block(words) => block(out, words, indent + 2),
                    scalar @ (Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_)) => {
                        out.push_str(&inline(scalar));
                        out.push('\n');
                    }
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The value of a member. Lists stand as far left as their key.
fn below(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('\n');
            node(out, value, indent + 2);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            node(out, value, indent);
        }
        Value::String(words) if is_block(words) => {
            out.push(' ');
            block(out, words, indent + 2);
        }
        scalar @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => {
            out.push(' ');
            out.push_str(&inline(scalar));
            out.push('\n');
        }
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(words) => text(words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// Whether a text is written as lines of its own.
fn is_block(words: &str) -> bool {
    words.contains('\n')
        && !words.starts_with([' ', '\n', '\t'])
        && words.chars().all(|letter| letter == '\n' || letter == '\t' || !letter.is_control())
        && !words.contains(['\u{feff}', '\u{2028}', '\u{2029}', '\u{85}'])
}

fn block(out: &mut String, words: &str, indent: usize) {
    let body = words.trim_end_matches('\n');
    out.push_str(match words.len() - body.len() {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    for line in words.strip_suffix('\n').unwrap_or(words).split('\n') {
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// A text, in quotes where it would be taken for something else without.
fn text(words: &str) -> String {
    let is_text = scalar::value(words) == Some(Value::from(words));
    let is_odd = words.starts_with(|first: char| "-?:,[]{}#&*!|>'\"%@`= ~<".contains(first))
        || words.ends_with([' ', ':'])
        || words.contains(": ")
        || words.contains(" #")
        || words.chars().any(|letter| letter.is_control() || !letter.is_ascii() && !letter.is_alphanumeric());
    match is_text && !is_odd && !is_time(words) {
        true => words.to_owned(),
        false => quoted(words),
    }
}

/// Whether a text would be taken for a day or a time (YAML 1.1).
fn is_time(words: &str) -> bool {
    let mut parts = words.splitn(3, '-');
    let digits = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let day: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let after = &rest[day.len()..];
    digits(year, 4..=4)
        && digits(month, 1..=2)
        && digits(&day, 1..=2)
        && (after.is_empty() || after.starts_with(['T', 't', ' ']) && after.contains(':'))
}

/// Each string of JSON is one of YAML, where letters that cannot be seen are escaped.
fn quoted(words: &str) -> String {
    let json = Value::from(words).to_string();
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read::read;
    use super::*;

    #[test]
    fn it_is_written_as_kubectl_writes_it() {
        let value = json!({"kind": "X", "items": [{"a": 1, "b": {"c": []}}, [1, [2]]], "t": "true", "o": "10", "m": "a\nb\n", "e": {}});
        let text = "e: {}\nitems:\n- a: 1\n  b:\n    c: []\n- - 1\n  - - 2\nkind: X\nm: |\n  a\n  b\no: \"10\"\nt: \"true\"\n";
        assert_eq!(write(&value), text);
        let times = json!({"a": "2026-01-02T03:04:05Z", "b": "2026-01-02", "c": "2026-01-x", "d": "1-2-3"});
        let text = "a: \"2026-01-02T03:04:05Z\"\nb: \"2026-01-02\"\nc: 2026-01-x\nd: 1-2-3\n";
        assert_eq!(write(&times), text);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let words = [
            "",
            " ",
            "a: b",
            "- a",
            "#x",
            "x #y",
            "~",
            "null",
            "0x1F",
            "017",
            "1e3",
            "yes",
            "a\n",
            "a\n\n",
            "\na",
            "a\n b\n\tc",
            "'q'",
            "\"q\"",
            "tab\tx",
            "\u{7f}",
            "é",
            "日本",
            "\u{2028}x",
            "{{x}}",
            "*a",
            "&b",
            "x:",
            ":x",
            "2026-01-01",
            "<<",
            "=",
            "a\r\nb",
            "%",
            "@",
            "?",
        ];
        for one in words {
            let value = json!({one: [one, {"k": one}], "x": one});
            let text = write(&value);
            let (read, _) = read(&text).unwrap_or_else(|error| panic!("{one:?}: {error}\n{text}"));
            assert_eq!(read, value, "{text}");
        }
    }
}
