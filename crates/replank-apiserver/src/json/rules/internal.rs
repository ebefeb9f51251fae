//! A pod's spec as the server's internal type, which validation prints where it tells what differs (`pkg/apis/core`, types without tags).
//!
//! `internal.txt` is read off the type by reflection: under each struct its fields, with their types, in their order.

use std::sync::LazyLock;

use replank_schema::{GoForm, GoId, GoStruct, go_types};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// A field of an internal struct.
struct Field {
    name: &'static str,
    of: &'static str,
    is_embedded: bool,
}

fn structs() -> &'static FxHashMap<&'static str, Vec<Field>> {
    static STRUCTS: LazyLock<FxHashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
        let mut all: FxHashMap<&'static str, Vec<Field>> = FxHashMap::default();
        let mut current = "";
        for line in include_str!("internal.txt").lines() {
            let Some(field) = line.strip_prefix(' ') else {
                current = line;
                all.entry(current).or_default();
                continue;
            };
            let mut words = field.split(' ');
            if let (Some(name), Some(of)) = (words.next(), words.next()) {
                let is_embedded = words.next() == Some("embedded");
                all.entry(current).or_default().push(Field { name, of, is_embedded });
            }
        }
        all
    });
    &STRUCTS
}

/// The text of a pod's spec, one member a line.
pub(in super::super) fn pod_spec(spec: &Value) -> String {
    let mut spec = spec.clone();
    // What concerns the host is part of the security context there.
    for name in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"] {
        if let Some(value) = spec.get(name).cloned() {
            super::super::answer::member(&mut spec, "securityContext")[name] = value;
        }
    }
    let mut writer = Writer { out: String::new() };
    writer.value("core.PodSpec", go_types().named("io.k8s.api.core.v1.PodSpec"), Some(&spec), 0);
    writer.out
}

/// The text of an ephemeral container, one member a line.
pub(in super::super) fn ephemeral_container(container: &Value) -> String {
    let mut writer = Writer { out: String::new() };
    let of = go_types().named("io.k8s.api.core.v1.EphemeralContainer");
    writer.value("core.EphemeralContainer", of, Some(container), 0);
    writer.out
}

struct Writer {
    out: String,
}

impl Writer {
    fn value(&mut self, of: &'static str, served: Option<GoId>, value: Option<&Value>, depth: usize) {
        let value = value.filter(|value| !value.is_null());
        let served = served.map(behind_pointers);
        let is_nullable = of.starts_with('*')
            || of.starts_with("[]")
            || of.starts_with("map[")
            || of == "core.ResourceList";
        let is_empty = |value: &Value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty() && !of.starts_with('*'),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        if is_nullable && value.is_none_or(is_empty) {
            self.out += "null";
            return;
        }
        let inner = of.trim_start_matches('*');
        let item = served.and_then(|id| match &go_types().get(id).form {
            GoForm::List(item) | GoForm::Map(item) => Some(*item),
            GoForm::Pointer(_)
            | GoForm::Struct(_)
            | GoForm::Own(_)
            | GoForm::Bytes
            | GoForm::Text
            | GoForm::Bool
            | GoForm::Int(_)
            | GoForm::Float => None,
        });
        let fields = inner.strip_prefix("core.").and_then(|name| structs().get(name));
        match (inner.strip_prefix("[]"), fields, value) {
            (Some(of), _, Some(Value::Array(items))) => {
                self.list('[', ']', depth, items.iter().map(|one| (None, of, item, Some(one))).collect());
            }
            (None, Some(fields), value) => {
                let members = members(fields, served.and_then(structure), value);
                self.list('{', '}', depth, members);
            }
            (None, None, Some(Value::Object(all)))
                if inner.starts_with("map[") || inner == "core.ResourceList" =>
            {
                let of = inner.split_once(']').map_or("resource.Quantity", |(_, of)| of);
                let members =
                    all.iter().map(|(name, one)| (Some(name.as_str()), of, item, Some(one))).collect();
                self.list('{', '}', depth, members);
            }
            (_, _, Some(value)) => self.plain(value, depth),
            (_, _, None) => self.out += zero(inner),
        }
    }

    fn list(&mut self, open: char, close: char, depth: usize, members: Vec<Member<'_>>) {
        self.out.push(open);
        let count = members.len();
        for (at, (name, of, served, value)) in members.into_iter().enumerate() {
            self.line(depth + 1);
            if let Some(name) = name {
                self.out += &format!("\"{name}\": ");
            }
            self.value(of, served, value, depth + 1);
            if at + 1 < count {
                self.out.push(',');
            }
        }
        if count > 0 {
            self.line(depth);
        }
        self.out.push(close);
    }

    /// A value whose type has tags of its own.
    fn plain(&mut self, value: &Value, depth: usize) {
        let text = super::difference::pretty(value);
        self.out += &text.replace('\n', &format!("\n{}", " ".repeat(depth)));
    }

    fn line(&mut self, depth: usize) {
        self.out.push('\n');
        self.out += &" ".repeat(depth);
    }
}

/// A member's name, its internal type, its served type, and its value.
type Member<'v> = (Option<&'v str>, &'static str, Option<GoId>, Option<&'v Value>);

/// Members of a struct with those of the structs that it embeds.
fn members<'v>(
    fields: &'static [Field],
    served: Option<&'static GoStruct>,
    value: Option<&'v Value>,
) -> Vec<Member<'v>> {
    let mut all = Vec::new();
    for field in fields {
        let inner = field.of.strip_prefix("core.").and_then(|name| structs().get(name));
        if let (true, Some(inner)) = (field.is_embedded, inner) {
            all.extend(members(inner, served, value));
            continue;
        }
        let known = served.and_then(|of| of.members.iter().find(|member| member.go_name == field.name));
        let lower = || {
            let mut letters = field.name.chars();
            letters.next().map(|first| first.to_ascii_lowercase().to_string() + letters.as_str())
        };
        let name = known.map(|member| member.name.clone()).or_else(lower).unwrap_or_default();
        let of_member = value.and_then(|value| value.get(name.as_str()));
        all.push((Some(field.name), field.of, known.map(|member| member.of), of_member));
    }
    all
}

fn structure(id: GoId) -> Option<&'static GoStruct> {
    match &go_types().get(id).form {
        GoForm::Struct(of) => Some(of),
        GoForm::Pointer(inner) => structure(*inner),
        GoForm::List(_)
        | GoForm::Map(_)
        | GoForm::Own(_)
        | GoForm::Bytes
        | GoForm::Text
        | GoForm::Bool
        | GoForm::Int(_)
        | GoForm::Float => None,
    }
}

fn behind_pointers(id: GoId) -> GoId {
    match &go_types().get(id).form {
        GoForm::Pointer(inner) => behind_pointers(*inner),
        GoForm::List(_)
        | GoForm::Map(_)
        | GoForm::Struct(_)
        | GoForm::Own(_)
        | GoForm::Bytes
        | GoForm::Text
        | GoForm::Bool
        | GoForm::Int(_)
        | GoForm::Float => id,
    }
}

/// Go's zero of a plain type.
fn zero(of: &str) -> &'static str {
    match of {
        "bool" => "false",
        "int" | "int32" | "int64" | "intstr.IntOrString" => "0",
        "resource.Quantity" => "\"0\"",
        _ => "\"\"",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_spec_is_written_as_the_internal_type() {
        let text = pod_spec(&json!({"containers": [{"name": "c", "image": "i", "resources": {}}],
            "hostNetwork": true, "securityContext": {}, "nodeName": "n"}));
        assert!(text.starts_with(
            "{\n \"Volumes\": null,\n \"InitContainers\": null,\n \"Containers\": [\n  {\n   \"Name\": \"c\","
        ));
        assert!(text.contains("\n \"NodeName\": \"n\",\n \"SecurityContext\": {\n  \"HostNetwork\": true,"));
        assert!(text.contains("\n   \"Resources\": {\n    \"Limits\": null,"));
    }
}
