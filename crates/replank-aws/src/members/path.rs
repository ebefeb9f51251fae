//! Where a member lies: `Tags[].Key`, `tags{}`.

use serde_json::Value;

/// Shows every value that lies at a path, and that there is none where its parent is there and it is not.
pub(super) fn visit<'v>(root: &'v Value, path: &str, show: &mut impl FnMut(&str, Option<&'v Value>)) {
    below(root, path, "", show);
}

fn below<'v>(value: &'v Value, path: &str, place: &str, show: &mut impl FnMut(&str, Option<&'v Value>)) {
    if let Some(rest) = path.strip_prefix("[]") {
        // A single value is a list of one.
        let one = std::slice::from_ref(value);
        let elements = match value {
            Value::Array(all) => all.as_slice(),
            Value::String(text) if text.is_empty() => &[],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => one,
        };
        for (at, element) in elements.iter().enumerate() {
            below(element, rest, &format!("{place}.{}.member", at + 1), show);
        }
        return;
    }
    if let Some(rest) = path.strip_prefix("{}") {
        for (key, element) in value.as_object().into_iter().flatten() {
            below(element, rest, &format!("{place}.{key}.member"), show);
        }
        return;
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        show(place, Some(value));
        return;
    }
    let end = path.find(['.', '[', '{']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let Some(members) = value.as_object() else { return };
    let place = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match members.get(name).filter(|value| !value.is_null()) {
        Some(value) => below(value, rest, &place, show),
        None if rest.is_empty() => show(&place, None),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_wherever_they_lie() {
        let root = json!({"a": [{"b": 1}, {"c": 2}], "m": {"k": "v"}, "n": null});
        let at = |path: &str| {
            let mut found = Vec::new();
            visit(&root, path, &mut |place, value| found.push((place.to_owned(), value.cloned())));
            found
        };
        let own = |place: &str, value: Option<Value>| (place.to_owned(), value);
        assert_eq!(at("a[].b"), [own("a.1.member.b", Some(json!(1))), own("a.2.member.b", None)]);
        assert_eq!(at("m{}"), [own("m.k.member", Some(json!("v")))]);
        assert_eq!(at("n"), [own("n", None)]);
        assert_eq!(at("n.o"), []);
    }
}
