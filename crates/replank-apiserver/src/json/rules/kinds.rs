//! What a Secret of a type has to hold, and which priority classes there may be (`ValidateSecret`, `ValidatePriorityClass`).

use serde_json::Value;

use crate::server::Cause;

/// What a Secret of a type has to hold.
pub(super) fn secret(value: &Value, causes: &mut Vec<Cause>) {
    let has = |key: &str| {
        ["data", "stringData"].iter().any(|bag| value.get(*bag).is_some_and(|bag| bag.get(key).is_some()))
    };
    let is_filled = |key: &str| {
        let of = |bag: &str| value.get(bag).and_then(|bag| bag.get(key)).and_then(Value::as_str);
        of("data").or(of("stringData")).is_some_and(|text| !text.is_empty())
    };
    let mut require = |key: &str| causes.push(Cause::required(format!("data[{key}]"), ""));
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "kubernetes.io/service-account-token" => {
            let account = "kubernetes.io/service-account.name";
            let annotations = value.get("metadata").and_then(|meta| meta.get("annotations"));
            let named = annotations.and_then(|all| all.get(account)).and_then(Value::as_str);
            if named.unwrap_or_default().is_empty() {
                causes.push(Cause::required(format!("metadata.annotations[{account}]"), ""));
            }
        }
        "kubernetes.io/dockercfg" if !has(".dockercfg") => require(".dockercfg"),
        "kubernetes.io/dockerconfigjson" if !has(".dockerconfigjson") => require(".dockerconfigjson"),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if !is_filled("ssh-privatekey") => require("ssh-privatekey"),
        "kubernetes.io/tls" => {
            ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)).for_each(require);
        }
        _ => {}
    }
}

/// The highest priority that is not the system's own.
const USERS_MAX: i64 = 1_000_000_000;

/// The system's own classes.
const OF_SYSTEM: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// Names and values of priority classes.
pub(super) fn priority_class(value: &Value, causes: &mut Vec<Cause>) {
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let number = value.get("value").and_then(Value::as_i64).unwrap_or(0);
    let is_default = value.get("globalDefault").and_then(Value::as_bool).unwrap_or(false);
    if !name.starts_with("system-") {
        if number > USERS_MAX {
            let why = format!("maximum allowed value of a user defined priority is {USERS_MAX}");
            causes.push(Cause::forbidden("value", &why));
        }
        return;
    }
    let known = OF_SYSTEM.iter().find(|(known, _)| *known == name);
    let why = match known {
        None => format!("{name} is not a known system priority class"),
        Some((_, of_system)) if *of_system != number => {
            format!("value of {name} PriorityClass must be {of_system}")
        }
        Some(_) if is_default => format!("globalDefault of {name} PriorityClass must be false"),
        Some(_) => return,
    };
    let why =
        format!("priority class names with 'system-' prefix are reserved for system use only. error: {why}");
    causes.push(Cause::forbidden("metadata.name", &why));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tls_secret_has_both_parts_and_system_names_are_the_systems() {
        let mut causes = Vec::new();
        secret(&json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}), &mut causes);
        priority_class(&json!({"metadata": {"name": "system-mine"}, "value": 1}), &mut causes);
        priority_class(
            &json!({"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}),
            &mut causes,
        );
        priority_class(&json!({"metadata": {"name": "mine"}, "value": 1_000_000_001}), &mut causes);
        let fields: Vec<&str> = causes.iter().filter_map(|cause| cause.field.as_deref()).collect();
        assert_eq!(fields, ["data[tls.key]", "metadata.name", "value"]);
    }
}
