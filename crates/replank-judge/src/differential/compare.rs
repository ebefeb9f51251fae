//! Where two answers differ, and in which words that is reported.

use serde_json::Value;

use super::normal::Normal;

/// The paths at which two answers differ; none if they agree.
pub(super) fn differences(reference: &Normal, served: &Normal) -> Vec<String> {
    let mut found = Vec::new();
    if reference.status != served.status {
        found.push(format!("status {} / {}", reference.status, served.status));
    }
    for ((name, wanted), (_, got)) in reference.headers.iter().zip(&served.headers) {
        if wanted != got {
            found.push(format!("header {name}"));
        }
    }
    let (wanted, got) = (sorted(&reference.body), sorted(&served.body));
    walk(&wanted, &got, "", &mut found);
    found
}

/// Causes of a refusal in the order of their text, in the message, too: some validators walk maps.
fn sorted(body: &Value) -> Value {
    let mut body = body.clone();
    // So does whoever looks at an applied configuration.
    if let Some((before, list)) = body["message"].as_str().and_then(|text| text.split_once("errors:\n")) {
        let mut lines: Vec<&str> = list.lines().collect();
        lines.sort_unstable();
        body["message"] = format!("{before}errors:\n{}", lines.join("\n")).into();
    }
    if body["kind"] != "Status" || body["code"] != 422 {
        return body;
    }
    if let Some(causes) = body["details"]["causes"].as_array_mut() {
        causes.sort_by_key(Value::to_string);
    }
    let message = body["message"].as_str().unwrap_or_default();
    if let Some((before, list)) = message.split_once("is invalid: [") {
        let mut parts: Vec<&str> = list.trim_end_matches(']').split(", ").collect();
        parts.sort_unstable();
        body["message"] = format!("{before}is invalid: [{}]", parts.join(", ")).into();
    }
    body
}

fn walk(wanted: &Value, got: &Value, path: &str, found: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            for (key, value) in wanted {
                match got.get(key) {
                    Some(other) => walk(value, other, &format!("{path}/{key}"), found),
                    None => found.push(format!("missing {path}/{key}")),
                }
            }
            found.extend(
                got.keys().filter(|key| !wanted.contains_key(*key)).map(|key| format!("extra {path}/{key}")),
            );
        }
        (Value::Array(wanted), Value::Array(got)) => {
            if wanted.len() != got.len() {
                found.push(format!("{path}/* {} / {}", wanted.len(), got.len()));
            }
            for (value, other) in wanted.iter().zip(got) {
                walk(value, other, &format!("{path}/*"), found);
            }
        }
        _ if wanted != got => found.push(path.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(body: Value) -> Normal {
        Normal { status: 200, headers: vec![("content-type", None)], body }
    }

    #[test]
    fn what_is_missing_extra_and_other_is_told_apart() {
        let wanted = answer(json!({"a": 1, "b": [{"c": 1}, {"c": 2}], "d": 0}));
        let got = answer(json!({"a": 2, "b": [{"c": 1}, {"c": 3}], "e": 0}));
        assert_eq!(differences(&wanted, &got), ["/a", "/b/*/c", "missing /d", "extra /e"]);
        assert_eq!(differences(&wanted, &wanted), [""; 0]);
    }

    #[test]
    fn causes_come_in_any_order() {
        let refusal = |causes: Value, list: &str| {
            answer(
                json!({"kind": "Status", "code": 422, "details": {"causes": causes}, "message": format!("X \"y\" is invalid: [{list}]")}),
            )
        };
        let one = refusal(json!([{"field": "a"}, {"field": "b"}]), "a: Required value, b: Required value");
        let two = refusal(json!([{"field": "b"}, {"field": "a"}]), "b: Required value, a: Required value");
        assert_eq!(differences(&one, &two), [""; 0]);
    }
}
