//! Limits of a namespace: quotas and ranges (`pkg/apis/core/validation`).

use std::collections::BTreeSet;

use replank_custom::problem::quoted;
use replank_model::quantity::Quantity;
use serde_json::Value;

use crate::json::members::{list, text};
use crate::server::Cause;

/// What quotas count that is none of a client's own.
const COUNTED: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

/// Whether what is counted can be told apart by a scope.
fn applies(scope: &str, name: &str) -> bool {
    const COMPUTE: [&str; 6] =
        ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => name == "pods" || COMPUTE.contains(&name),
        "BestEffort" => name == "pods",
        "VolumeAttributesClass" => matches!(name, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// Scopes of a quota, beside what it counts (`validateResourceQuotaScopes`).
pub(super) fn scopes(spec: &Value, causes: &mut Vec<Cause>) {
    const KNOWN: [&str; 7] = [
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    ];
    let scopes = list(spec, "scopes");
    let shown = Value::Array(scopes.to_vec()).to_string();
    let mut refuse = |why: &str| causes.push(Cause::invalid("spec.scopes", &shown, why));
    let hard = spec.get("hard").and_then(Value::as_object);
    for scope in scopes.iter().filter_map(Value::as_str) {
        if !KNOWN.contains(&scope) {
            refuse("unsupported scope");
        }
        for name in hard.into_iter().flat_map(serde_json::Map::keys) {
            if COUNTED.contains(&name.as_str()) && !applies(scope, name) {
                refuse("unsupported scope applied to resource");
            }
        }
    }
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|one| scopes.iter().any(|scope| scope == one)) {
            refuse("conflicting scopes");
        }
    }
}

/// What bounds each other (`ValidateLimitRange`).
pub(super) fn ranges(spec: &Value, causes: &mut Vec<Cause>) {
    for (index, limit) in list(spec, "limits").iter().enumerate() {
        let at = format!("spec.limits[{index}]");
        let is_of_pods = text(limit, "type") == "Pod";
        if is_of_pods {
            for member in ["default", "defaultRequest"] {
                let given = limit.get(member).and_then(Value::as_object);
                if given.is_some_and(|given| !given.is_empty()) {
                    let why = "may not be specified when `type` is 'Pod'";
                    causes.push(Cause::forbidden(format!("{at}.{member}"), why));
                }
            }
        }
        if text(limit, "type") == "PersistentVolumeClaim"
            && !["min", "max"]
                .iter()
                .any(|bound| limit.get(bound).is_some_and(|all| all.get("storage").is_some()))
        {
            let why = "either minimum or maximum storage value is required, but neither was provided";
            causes.push(Cause::required(format!("{at}.limits"), why));
        }
        let members = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
        let members = members.into_iter().filter(|member| !is_of_pods || !member.starts_with("default"));
        let names: BTreeSet<&String> = members
            .filter_map(|member| limit.get(member)?.as_object())
            .flat_map(serde_json::Map::keys)
            .collect();
        for name in names {
            bounds(limit, is_of_pods, name, &at, causes);
        }
    }
}

/// A bound that another one exceeds: which is the lower, which the upper one, at which it is told, and in which words.
const BOUNDS: [(&str, &str, &str, &str, &str); 6] = [
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
];

fn bounds(limit: &Value, is_of_pods: bool, name: &str, at: &str, causes: &mut Vec<Cause>) {
    let quantity = |member: &str| -> Option<Quantity> {
        if is_of_pods && member.starts_with("default") {
            return None;
        }
        limit.get(member)?.get(name)?.as_str()?.parse().ok()
    };
    for (lower, upper, told, shown, words) in BOUNDS {
        let (Some(low), Some(high)) = (quantity(lower), quantity(upper)) else { continue };
        if low > high {
            let why = words.replacen("{}", &low.to_string(), 1).replacen("{}", &high.to_string(), 1);
            let value = quantity(shown).map(|value| value.to_string()).unwrap_or_default();
            causes.push(Cause::invalid(format!("{at}.{told}[{name}]"), &quoted(&value), &why));
        }
    }
    let Some(ratio) = quantity("maxLimitRequestRatio") else { return };
    let field = format!("{at}.maxLimitRequestRatio[{name}]");
    if ratio.milli_value() < 1000 {
        causes.push(Cause::invalid(
            field.as_str(),
            &quoted(&ratio.to_string()),
            &format!("ratio {ratio} is less than 1"),
        ));
    }
    if let (Some(low), Some(high)) = (quantity("min"), quantity("max")) {
        let most = high.approximate_f64() / low.approximate_f64();
        if ratio.approximate_f64() > most {
            let why = format!("ratio {ratio} is greater than max/min = {most:.6}");
            causes.push(Cause::invalid(field, &quoted(&ratio.to_string()), &why));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bound_is_within_the_others() {
        let mut causes = Vec::new();
        let limit = json!({"type": "Container", "default": {"cpu": "200m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "2"}, "min": {"cpu": "10M"}});
        ranges(&json!({"limits": [limit]}), &mut causes);
        let told: Vec<(&str, &str)> = causes
            .iter()
            .map(|one| (one.field.as_deref().unwrap_or_default(), one.message.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    "spec.limits[0].min[cpu]",
                    "Invalid value: \"10M\": min value 10M is greater than max value 2"
                ),
                (
                    "spec.limits[0].defaultRequest[cpu]",
                    "Invalid value: \"100m\": min value 10M is greater than default request value 100m"
                ),
                (
                    "spec.limits[0].default[cpu]",
                    "Invalid value: \"10M\": min value 10M is greater than default value 200m"
                ),
            ]
        );
    }

    #[test]
    fn a_scope_is_of_what_is_counted() {
        let mut causes = Vec::new();
        let hard = json!({"pods": "1", "requests.cpu": "1", "count/widgets.example.com": "5"});
        scopes(&json!({"hard": hard, "scopes": ["BestEffort"]}), &mut causes);
        let told: Vec<&str> = causes.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(told, ["Invalid value: [\"BestEffort\"]: unsupported scope applied to resource"]);
    }
}
