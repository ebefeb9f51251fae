//! Whether two answers are the same.

use serde_json::Value;

/// An answer with placeholders.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u64,
    /// Content type, warnings and when to try again.
    pub(super) headers: [Option<String>; 3],
    pub(super) body: Value,
}

/// The headers that are compared.
pub(super) const COMPARED: [&str; 3] = ["content-type", "warning", "retry-after"];

/// What was recorded.
pub(super) fn recorded(step: &Value) -> Answer {
    let response = &step["response"];
    let headers = COMPARED.map(|name| response["headers"][name].as_str().map(str::to_owned));
    Answer { status: response["status"].as_u64().unwrap_or(0), headers, body: response["body"].clone() }
}

/// What differs, in words; `None` where the answers are the same as far as the step asks.
pub(super) fn differs(step: &Value, given: &Answer) -> Option<String> {
    let wanted = recorded(step);
    if wanted.status != given.status {
        return Some(format!("status {} instead of {}: {}", given.status, wanted.status, given.body));
    }
    match step["compare"].as_str() {
        Some("status") => return None,
        Some("reason") => {
            let of = |body: &Value| (body["reason"].clone(), body["kind"].clone());
            let is_same = of(&wanted.body) == of(&given.body);
            return (!is_same).then(|| format!("another reason: {}", given.body));
        }
        Some(_) | None => {}
    }
    if wanted.headers != given.headers {
        return Some(format!("headers {:?} instead of {:?}", given.headers, wanted.headers));
    }
    let ignored: Vec<&str> =
        step["ignore"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (wanted, given) =
        (without(&canonical(&wanted.body), &ignored, ""), without(&canonical(&given.body), &ignored, ""));
    first_difference(&wanted, &given, "")
}

/// Causes of a refusal in an order of their own: some validators walk Go's maps.
fn canonical(body: &Value) -> Value {
    let mut body = body.clone();
    if body["kind"] != "Status" || body["code"] != 422 {
        return body;
    }
    if let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut) {
        causes.sort_by_key(ToString::to_string);
        if causes.len() > 1 {
            // The message tells the same causes.
            body["message"] = Value::Null;
        }
    }
    body
}

/// A value without what patterns such as `/items/*/status` match.
fn without(value: &Value, patterns: &[&str], at: &str) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter_map(|(name, one)| {
                let at = format!("{at}/{name}");
                let is_out = patterns.iter().any(|pattern| matches(pattern, &at));
                let mut kept = without(one, patterns, &at);
                // They are sorted by seconds first, and which second it was is left to chance.
                if let (true, Value::Array(managers)) = (name == "managedFields", &mut kept) {
                    managers.sort_by_key(|one| {
                        format!("{}{}{}", one["manager"], one["operation"], one["subresource"])
                    });
                }
                (!is_out).then(|| (name.clone(), kept))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, one)| without(one, patterns, &format!("{at}/{index}")))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether a pattern with stars matches a text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))
        }),
    }
}

fn first_difference(wanted: &Value, given: &Value, at: &str) -> Option<String> {
    match (wanted, given) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            let found = names.map(|name| {
                let (a, b) = (a.get(name).unwrap_or(&Value::Null), b.get(name).unwrap_or(&Value::Null));
                first_difference(a, b, &format!("{at}/{name}"))
            });
            // Go tells null from nothing.
            let keys = a.keys().eq(b.keys());
            found.flatten().next().or_else(|| (!keys).then(|| format!("{at}: other members: {given}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let all = a.iter().zip(b).enumerate();
            all.filter_map(|(index, (a, b))| first_difference(a, b, &format!("{at}/{index}"))).next()
        }
        (a, b) => (a != b).then(|| format!("{at}: {b} instead of {a}")),
    }
}
