//! Patterns of events ("Amazon EventBridge event patterns").

use serde_json::Value;

/// Whether an event is one that a pattern describes.
pub(crate) fn matches(pattern: &Value, event: &Value) -> bool {
    let Value::Object(members) = pattern else { return false };
    members.iter().all(|(key, wanted)| {
        if key == "$or" {
            return wanted.as_array().is_some_and(|all| all.iter().any(|one| matches(one, event)));
        }
        match (wanted, event.get(key)) {
            (Value::Object(_), Some(Value::Array(all))) => all.iter().any(|one| matches(wanted, one)),
            (Value::Object(_), Some(found)) => matches(wanted, found),
            (Value::Object(_), None) => matches(wanted, &Value::Null),
            (Value::Array(choices), found) => is_any(choices, found),
            (_, _) => false,
        }
    })
}

/// What a pattern cannot be.
///
/// # Errors
/// In words.
pub(crate) fn check(pattern: &Value) -> Result<(), String> {
    let Value::Object(members) = pattern else { return Err("Filter is not an object".to_owned()) };
    if members.is_empty() {
        return Err("Empty objects are not allowed".to_owned());
    }
    members.iter().try_for_each(|(key, value)| match value {
        Value::Array(all) if key == "$or" => all.iter().try_for_each(check),
        Value::Array(all) if all.is_empty() => Err("Empty arrays are not allowed".to_owned()),
        Value::Array(all) => all.iter().try_for_each(|one| match one.as_object() {
            None => Ok(()),
            Some(test) => {
                let known = [
                    "prefix",
                    "suffix",
                    "anything-but",
                    "exists",
                    "equals-ignore-case",
                    "wildcard",
                    "numeric",
                    "cidr",
                ];
                let name = test.keys().next().cloned().unwrap_or_default();
                if known[..6].contains(&&*name) && test.len() == 1 {
                    Ok(())
                } else {
                    Err(format!("Unrecognized match type {name}"))
                }
            }
        }),
        Value::Object(_) => check(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(format!("\"{key}\" must be an object or an array"))
        }
    })
}

fn is_any(choices: &[Value], found: Option<&Value>) -> bool {
    match found {
        Some(Value::Array(all)) if !all.is_empty() => {
            all.iter().any(|one| choices.iter().any(|choice| is(choice, Some(one))))
        }
        other => choices.iter().any(|choice| is(choice, other)),
    }
}

fn is(choice: &Value, found: Option<&Value>) -> bool {
    let Value::Object(test) = choice else { return found == Some(choice) };
    let Some((name, wanted)) = test.iter().next() else { return false };
    let text = found.and_then(Value::as_str);
    let told = wanted.as_str();
    match &**name {
        "exists" => wanted.as_bool() == Some(found.is_some()),
        "prefix" => text.zip(told).is_some_and(|(text, start)| text.starts_with(start)),
        "suffix" => text.zip(told).is_some_and(|(text, end)| text.ends_with(end)),
        "equals-ignore-case" => text.zip(told).is_some_and(|(text, other)| text.eq_ignore_ascii_case(other)),
        "wildcard" => text.zip(told).is_some_and(|(text, pattern)| is_like(text, pattern)),
        "anything-but" => match (wanted, found) {
            (_, None) => false,
            (Value::Array(none), found) => !none.iter().any(|one| found == Some(one)),
            (Value::Object(_), found) => !is(wanted, found),
            (one, found) => found != Some(one),
        },
        _ => false,
    }
}

/// Whether a text is what a pattern with stars describes.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut left) = text.strip_prefix(start) else { return false };
    // Where each part between stars is found first, the most is left for the others.
    let (between, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*') {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_describe_events() {
        let event =
            json!({"source": "aws.ec2", "detail": {"state": "terminated", "n": 1, "list": ["a", "b"]}});
        let of = |pattern: Value| matches(&pattern, &event);
        assert!(of(json!({"source": ["aws.ec2", "aws.x"]})));
        assert!(of(
            json!({"source": [{"prefix": "aws."}], "detail": {"state": [{"anything-but": "running"}], "n": [1]}})
        ));
        assert!(of(json!({"detail": {"list": ["b"], "none": [{"exists": false}]}})));
        assert!(of(json!({"$or": [{"source": ["x"]}, {"source": [{"wildcard": "a*c2"}]}]})));
        assert!(!of(json!({"detail": {"state": ["running"]}})));
        assert!(!of(json!({"detail": {"state": [{"exists": false}]}})));
        assert!(!of(json!({"detail": {"deeper": {"x": ["y"]}}})));
        for (text, pattern) in
            [("", "*"), ("abc", "a*"), ("abc", "*c"), ("abcbc", "a*bc"), ("abxcx", "a*b*c*"), ("a", "a**")]
        {
            assert!(is_like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("aba", "ab*ba"), ("abc", "a*b"), ("acb", "*b*c*"), ("", "*a")] {
            assert!(!is_like(text, pattern), "{text} {pattern}");
        }
        let many = "*a".repeat(100_000);
        assert!(!is_like(&"a".repeat(99_999), &many));
        assert!(check(&json!({"source": "aws.ec2"})).is_err());
        assert!(check(&json!({"source": [{"numeric": [">", 1]}]})).is_err());
        assert!(check(&json!({"source": [{"prefix": "a"}], "detail": {"a": [null]}})).is_ok());
    }
}
