//! Defaults of admission policies and their bindings (`pkg/apis/admissionregistration/v1/defaults.go`).

use serde_json::{Value, json};

use super::super::answer::member;
use super::{absent, items};

pub(super) fn fill(kind: &str, value: &mut Value) {
    let is_policy = matches!(kind, "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy");
    let is_binding = matches!(kind, "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding");
    if kind == "ValidatingAdmissionPolicy" {
        member(value, "status");
    }
    if !is_policy && !is_binding {
        return;
    }
    let spec = member(value, "spec");
    if is_policy {
        absent(spec, "failurePolicy", "Fail");
        match_resources(spec, "matchConstraints");
    } else {
        match_resources(spec, "matchResources");
    }
}

fn match_resources(spec: &mut Value, name: &str) {
    let Some(resources) = spec.get_mut(name).filter(|one| one.is_object()) else { return };
    absent(resources, "matchPolicy", "Equivalent");
    absent(resources, "namespaceSelector", json!({}));
    absent(resources, "objectSelector", json!({}));
    for list in ["resourceRules", "excludeResourceRules"] {
        for rule in items(resources, list) {
            absent(rule, "scope", "*");
        }
    }
}
