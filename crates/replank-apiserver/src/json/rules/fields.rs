//! What is wrong with the fields of an object: what the table says of each, and what code says of several.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::server::{Cause, ResourceType};

/// One line of the table.
struct Row {
    path: Vec<Step>,
    rule: &'static str,
    /// What stands behind the rule's name.
    detail: &'static str,
}

/// A part of a path.
struct Step {
    name: &'static str,
    /// Whether it is a list that is gone through.
    is_list: bool,
    /// Whether nothing is asked where it is absent.
    is_pointer: bool,
}

const TABLE: &str = include_str!("table.txt");

fn rows() -> &'static FxHashMap<&'static str, Vec<Row>> {
    static ROWS: LazyLock<FxHashMap<&'static str, Vec<Row>>> = LazyLock::new(|| {
        let mut all: FxHashMap<&'static str, Vec<Row>> = FxHashMap::default();
        for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut parts = line.split(" | ");
            let (Some(resource), Some(path), Some(rule)) = (parts.next(), parts.next(), parts.next()) else {
                unreachable!("a line of the table has three parts: {line}")
            };
            let (rule, detail) = rule.split_once(' ').unwrap_or((rule, ""));
            let step = |part: &'static str| {
                let is_list = part.ends_with("[]");
                let is_pointer = part.ends_with('?');
                Step { name: part.trim_end_matches("[]").trim_end_matches('?'), is_list, is_pointer }
            };
            let path = path.split('.').map(step).collect();
            all.entry(resource).or_default().push(Row { path, rule, detail });
        }
        all
    });
    &ROWS
}

/// What is wrong with the fields of an object.
pub(in super::super) fn check(resource: &ResourceType, value: &Value) -> Vec<Cause> {
    let name = &resource.name;
    let key = match &*name.group {
        "" => name.plural.to_string(),
        group => format!("{}.{group}", name.plural),
    };
    let mut causes = Vec::new();
    for row in rows().get(key.as_str()).into_iter().flatten() {
        follow(value, &row.path, "", row, &mut causes);
    }
    super::more::check(&key, value, &mut causes);
    causes
}

/// Follows a path to every field that it leads to.
fn follow(value: &Value, path: &[Step], at: &str, row: &Row, causes: &mut Vec<Cause>) {
    let Some((step, rest)) = path.split_first() else {
        super::field::check(value, at, row.rule, row.detail, causes);
        return;
    };
    let at = if at.is_empty() { step.name.to_owned() } else { format!("{at}.{}", step.name) };
    let member = value.get(step.name).unwrap_or(&Value::Null);
    if step.is_list {
        for (index, item) in member.as_array().into_iter().flatten().enumerate() {
            follow(item, rest, &format!("{at}[{index}]"), row, causes);
        }
    } else if !(step.is_pointer && member.is_null()) {
        follow(member, rest, &at, row, causes);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(api_group: &str, plural: &str, value: &Value) -> Vec<String> {
        let resource = ResourceType::built_in(api_group, "v1", plural).expect("it is built in");
        let causes = check(resource, value);
        causes.iter().map(|one| format!("{}: {}", one.field.as_deref().unwrap_or(""), one.message)).collect()
    }

    #[test]
    fn fields_are_told_as_a_server_tells_them() {
        let ingress = json!({"spec": {"rules": [{"host": "Bad_Value!", "http": {"paths": []}}],
            "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}});
        let found = told("networking.k8s.io", "ingresses", &ingress);
        assert!(
            found[0].starts_with("spec.rules[0].host: Invalid value: \"Bad_Value!\": a lowercase RFC 1123")
        );
        assert_eq!(found[1..], ["spec.rules[0].http.paths: Required value"]);
        let role = json!({"rules": [{"verbs": [], "resources": ["pods"], "apiGroups": [""]}]});
        assert_eq!(
            told("rbac.authorization.k8s.io", "roles", &role),
            ["rules[0].verbs: Required value: verbs must contain at least one value"]
        );
        let lease = json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}});
        assert_eq!(
            told("coordination.k8s.io", "leases", &lease),
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
    }
}
