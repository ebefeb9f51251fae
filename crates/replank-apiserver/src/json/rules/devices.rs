//! Devices: claims, templates of claims and classes (`pkg/apis/resource/validation`).

use replank_custom::problem::quoted;
use replank_model::selector::validate::label_key_problems;
use serde_json::Value;

use crate::json::members::{list, text};
use crate::json::policies::valid::device_selector;
use crate::server::Cause;

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|one| !one.is_null())
}

/// A claim's spec, at a path.
pub(super) fn claim(spec: &Value, at: &str, causes: &mut Vec<Cause>) {
    requests(spec, at, causes);
    let devices = spec.get("devices").unwrap_or(&Value::Null);
    configs(devices, &format!("{at}.devices.config"), causes);
    for (index, request) in list(devices, "requests").iter().enumerate() {
        let exactly = request.get("exactly").unwrap_or(&Value::Null);
        selectors(exactly, &format!("{at}.devices.requests[{index}].exactly.selectors"), causes);
    }
}

/// A template: what it makes gets its name from elsewhere (`ValidateTemplateObjectMeta`).
pub(super) fn template(spec: &Value, causes: &mut Vec<Cause>) {
    let metadata = spec.get("metadata").unwrap_or(&Value::Null);
    for (member, value) in metadata.as_object().into_iter().flatten() {
        let is_empty = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Number(number) => number.as_i64() == Some(0) && member == "generation",
            Value::Bool(_) => false,
        };
        if !is_empty && !matches!(member.as_str(), "labels" | "annotations") {
            causes.push(Cause::forbidden(format!("spec.metadata.{member}"), "cannot be set"));
        }
    }
    claim(spec.get("spec").unwrap_or(&Value::Null), "spec.spec", causes);
}

/// A class.
pub(super) fn class(spec: &Value, causes: &mut Vec<Cause>) {
    selectors(spec, "spec.selectors", causes);
    configs(spec, "spec.config", causes);
    if let Some(name) = spec.get("extendedResourceName").and_then(Value::as_str) {
        let is_own = name.contains('/') && !name.contains("kubernetes.io/");
        let counted = format!("requests.{name}");
        if !is_own || name.starts_with("requests.") || !label_key_problems(&counted).is_empty() {
            let why = "must be a valid extended resource name";
            causes.push(Cause::invalid("spec.extendedResourceName", &quoted(name), why));
        }
    }
}

fn configs(of: &Value, at: &str, causes: &mut Vec<Cause>) {
    for (index, config) in list(of, "config").iter().enumerate() {
        if !is_set(config, "opaque") {
            causes.push(Cause::required(format!("{at}[{index}].opaque"), ""));
        }
    }
}

fn selectors(of: &Value, at: &str, causes: &mut Vec<Cause>) {
    for (index, selector) in list(of, "selectors").iter().enumerate() {
        if let Some(cel) = selector.get("cel").filter(|cel| cel.is_object()) {
            device_selector(text(cel, "expression"), &format!("{at}[{index}].cel.expression"), causes);
        }
    }
}

fn requests(spec: &Value, at: &str, causes: &mut Vec<Cause>) {
    let devices = spec.get("devices").unwrap_or(&Value::Null);
    for (index, request) in list(devices, "requests").iter().enumerate() {
        if !is_set(request, "exactly") && list(request, "firstAvailable").is_empty() {
            let why = "exactly one of `exactly` or `firstAvailable` is required";
            causes.push(Cause::required(format!("{at}.devices.requests[{index}]"), why));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(check: fn(&Value, &mut Vec<Cause>), spec: &Value) -> Vec<String> {
        let mut causes = Vec::new();
        check(spec, &mut causes);
        causes.into_iter().filter_map(|cause| cause.field).collect()
    }

    #[test]
    fn a_template_names_nothing_and_its_configuration_is_opaque() {
        let spec =
            json!({"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"devices": {"config": [{}]}}});
        assert_eq!(fields(template, &spec), ["spec.metadata.name", "spec.spec.devices.config[0].opaque"]);
    }

    #[test]
    fn a_class_has_expressions_and_a_name_of_a_domain() {
        let spec = |expression: &str, name: &str| json!({"selectors": [{"cel": {"expression": expression}}], "extendedResourceName": name});
        let right = spec("device.driver == \"a.example.com\"", "example.com/gpu");
        assert_eq!(fields(class, &right), [""; 0]);
        let wrong = ["spec.selectors[0].cel.expression", "spec.extendedResourceName"];
        assert_eq!(fields(class, &spec("", "x")), wrong);
    }
}
