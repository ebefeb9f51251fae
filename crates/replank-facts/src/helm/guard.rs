//! Conditions of templates that depend on nothing but values: `.Values.a.b`, `not`, `and`, `or`, with brackets.

use serde_json::Value;

/// Where a value stands below `.Values`: `["pdb", "minAvailable"]`. `None` of any other word.
pub(super) fn path(word: &str) -> Option<Vec<&str>> {
    let rest = word.strip_prefix(".Values.")?;
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let parts: Vec<&str> = rest.split('.').collect();
    parts.iter().all(|part| is_plain(part)).then_some(parts)
}

/// The value at a path.
pub(super) fn at<'v>(values: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(values, |value, part| value.get(part)).filter(|value| !value.is_null())
}

/// Whether a condition holds; `None` where it is of another form.
pub(super) fn holds(condition: &str, values: &Value) -> Option<bool> {
    let spaced = condition.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (value, rest) = expression(&words, values)?;
    rest.is_empty().then_some(value)
}

fn expression<'w>(words: &'w [&'w str], values: &Value) -> Option<(bool, &'w [&'w str])> {
    let (first, rest) = words.split_first()?;
    match *first {
        "not" => {
            let (value, rest) = term(rest, values)?;
            Some((!value, rest))
        }
        "and" | "or" => {
            let (mut all, mut any, mut rest) = (true, false, rest);
            while !matches!(rest.first(), None | Some(&")")) {
                let (value, behind) = term(rest, values)?;
                (all, any, rest) = (all && value, any || value, behind);
            }
            Some((if *first == "and" { all } else { any }, rest))
        }
        _ => term(words, values),
    }
}

fn term<'w>(words: &'w [&'w str], values: &Value) -> Option<(bool, &'w [&'w str])> {
    let (first, rest) = words.split_first()?;
    if *first != "(" {
        return Some((at(values, &path(first)?).is_some_and(is_true), rest));
    }
    let (value, rest) = expression(rest, values)?;
    let (last, rest) = rest.split_first()?;
    (*last == ")").then_some((value, rest))
}

/// What templates take for true (Go, text/template: "The empty values are false, 0, any nil pointer or interface value, and any array, slice, map, or string of length zero").
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(all) => !all.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}
