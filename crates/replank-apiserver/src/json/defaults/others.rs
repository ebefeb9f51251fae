//! Defaults of kinds that are held untyped (`pkg/apis/{core,networking,rbac,admissionregistration,flowcontrol,resource}/v1`).

use replank_model::admission::default_pod_spec;
use serde_json::{Value, json};

use super::super::answer::member as part;
use super::missing::{absent, items};

/// The group of RBAC, which role references and subjects are of by default.
const RBAC: &str = "rbac.authorization.k8s.io";

/// Fills in what is left out of an object, by its group and kind.
pub(super) fn fill(value: &mut Value) {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match (group, &*kind) {
        ("", "Secret") => secret(value),
        ("", "PodTemplate") => {
            if let Value::Object(spec) = part(part(value, "template"), "spec") {
                default_pod_spec(spec);
            }
        }
        ("", "Endpoints") => endpoints(value),
        ("", "LimitRange") => limit_range(value),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(part(value, "spec")),
        ("networking.k8s.io", "IngressClass") => {
            if let Some(parameters) = value.pointer_mut("/spec/parameters") {
                absent(parameters, "scope", "Cluster");
            }
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => binding(value),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => webhooks(value, false),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => webhooks(value, true),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy") => {
            let spec = part(value, "spec");
            absent(spec, "failurePolicy", "Fail");
            if let Some(constraints) = spec.get_mut("matchConstraints") {
                matching(constraints);
            }
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => {
            if let Some(resources) = value.pointer_mut("/spec/matchResources") {
                matching(resources);
            }
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            absent(part(value, "spec"), "matchingPrecedence", 1000);
        }
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => level(part(value, "spec")),
        ("resource.k8s.io", "ResourceClaim") => claim(part(value, "spec")),
        ("resource.k8s.io", "ResourceClaimTemplate") => claim(part(part(value, "spec"), "spec")),
        ("apiregistration.k8s.io", "APIService") => {
            if let Some(service) = value.pointer_mut("/spec/service") {
                absent(service, "port", 443);
            }
        }
        _ => {}
    }
}

/// Texts become data; nobody reads them back (`pkg/apis/core/v1/conversion.go`).
fn secret(value: &mut Value) {
    absent(value, "type", "Opaque");
    let texts = value.as_object_mut().and_then(|members| members.remove("stringData"));
    if let Some(Value::Object(texts)) = texts {
        let data = part(value, "data");
        for (name, text) in texts {
            data[&name] = base64(text.as_str().unwrap_or_default().as_bytes()).into();
        }
    }
}

/// Bytes as JSON has them (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let of = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = (of(0) << 16) | (of(1) << 8) | of(2);
        for letter in 0..4 {
            let at = (group >> (18 - 6 * letter)) & 63;
            text.push(if letter as usize <= chunk.len() { char::from(LETTERS[at as usize]) } else { '=' });
        }
    }
    text
}

fn endpoints(value: &mut Value) {
    for subset in items(value, "subsets") {
        for port in items(subset, "ports") {
            absent(port, "protocol", "TCP");
        }
    }
}

/// What is limited is the default, and what is the default is asked for (`SetDefaults_LimitRangeItem`).
fn limit_range(value: &mut Value) {
    for item in items(part(value, "spec"), "limits") {
        if item["type"] != "Container" {
            continue;
        }
        for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
            let Some(Value::Object(given)) = item.get(from).cloned() else {
                part(item, to);
                continue;
            };
            let target = part(item, to);
            for (name, quantity) in given {
                absent(target, &name, quantity);
            }
        }
    }
}

fn network_policy(spec: &mut Value) {
    for (list, peers) in [("ingress", "ports"), ("egress", "ports")] {
        for rule in items(spec, list) {
            for port in items(rule, peers) {
                absent(port, "protocol", "TCP");
            }
        }
    }
    let has_egress = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
    let types = if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    absent(spec, "policyTypes", types);
}

fn binding(value: &mut Value) {
    let default_group = |of: &mut Value| {
        if of.get("apiGroup").and_then(Value::as_str).is_none_or(str::is_empty) && of.is_object() {
            of["apiGroup"] = RBAC.into();
        }
    };
    default_group(part(value, "roleRef"));
    for subject in items(value, "subjects") {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            default_group(subject);
        }
    }
}

fn webhooks(value: &mut Value, is_mutating: bool) {
    for webhook in items(value, "webhooks") {
        absent(webhook, "failurePolicy", "Fail");
        matching(webhook);
        absent(webhook, "timeoutSeconds", 10);
        if is_mutating {
            absent(webhook, "reinvocationPolicy", "Never");
        }
        if let Some(service) = webhook.pointer_mut("/clientConfig/service") {
            absent(service, "port", 443);
        }
        rules(webhook, "rules");
    }
}

fn matching(value: &mut Value) {
    absent(value, "matchPolicy", "Equivalent");
    absent(value, "namespaceSelector", json!({}));
    absent(value, "objectSelector", json!({}));
    rules(value, "resourceRules");
    rules(value, "excludeResourceRules");
}

fn rules(value: &mut Value, list: &str) {
    for rule in items(value, list) {
        absent(rule, "scope", "*");
    }
}

fn level(spec: &mut Value) {
    if let Some(exempt) = spec.get_mut("exempt") {
        absent(exempt, "nominalConcurrencyShares", 0);
        absent(exempt, "lendablePercent", 0);
    }
    if let Some(limited) = spec.get_mut("limited") {
        absent(limited, "nominalConcurrencyShares", 30);
        absent(limited, "lendablePercent", 0);
        if let Some(queuing) = limited.pointer_mut("/limitResponse/queuing") {
            // Go cannot tell none from nothing here.
            for (name, number) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
                if queuing.get(name).and_then(Value::as_i64).unwrap_or(0) == 0 {
                    queuing[name] = number.into();
                }
            }
        }
    }
}

fn claim(spec: &mut Value) {
    let Some(devices) = spec.get_mut("devices") else { return };
    for request in items(devices, "requests") {
        if let Some(exactly) = request.get_mut("exactly") {
            count(exactly);
        }
        items(request, "firstAvailable").for_each(count);
    }
}

fn count(request: &mut Value) {
    absent(request, "allocationMode", "ExactCount");
    if request["allocationMode"] == "ExactCount" {
        absent(request, "count", 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(mut value: Value) -> Value {
        fill(&mut value);
        value
    }

    #[test]
    fn each_kind_has_its_own() {
        let policy = filled(json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "spec": {"egress": [{"ports": [{"port": 53}]}]}}));
        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
        assert_eq!(policy["spec"]["egress"][0]["ports"][0]["protocol"], "TCP");
        let binding = filled(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount"}, {"kind": "User"}]}));
        assert_eq!(binding["roleRef"]["apiGroup"], RBAC);
        assert_eq!(
            binding["subjects"],
            json!([{"kind": "ServiceAccount"}, {"kind": "User", "apiGroup": RBAC}])
        );
        let webhook = filled(json!({"apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration", "webhooks": [{"rules": [{"operations": ["*"]}]}]}));
        assert_eq!(
            webhook["webhooks"][0],
            json!({"rules": [{"operations": ["*"], "scope": "*"}], "failurePolicy": "Fail",
                "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10,
                "reinvocationPolicy": "Never"})
        );
    }

    #[test]
    fn texts_of_a_secret_become_data() {
        let secret =
            filled(json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "hello", "b": "ab"}}));
        assert_eq!(
            secret,
            json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"a": "aGVsbG8=", "b": "YWI="}})
        );
    }

    #[test]
    fn limits_are_asked_for() {
        let range = filled(json!({"apiVersion": "v1", "kind": "LimitRange",
            "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}}]}}));
        let item = &range["spec"]["limits"][0];
        assert_eq!(item["default"], json!({"cpu": "2", "memory": "1Gi"}));
        assert_eq!(item["defaultRequest"], json!({"cpu": "2", "memory": "1Gi"}));
    }
}
