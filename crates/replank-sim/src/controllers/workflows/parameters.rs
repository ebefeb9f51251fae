//! Parameters, and the places that they are put into (argo-workflows docs/variables): `{{inputs.parameters.size}}`, `{{item}}`,
//! `{{workflow.name}}`. What is not known before a step has run stays as it is written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::items::shown;

/// Values by the name that they are asked for by.
pub(super) type Parameters = BTreeMap<String, String>;

/// What the whole Workflow knows.
pub(super) fn of_workflow(raw: &Value, spec: &Value) -> Parameters {
    let mut all = Parameters::new();
    for member in ["name", "namespace", "uid"] {
        if let Some(value) = raw.pointer(&format!("/metadata/{member}")).and_then(Value::as_str) {
            all.insert(format!("workflow.{member}"), value.to_owned());
        }
    }
    for (name, value) in listed(&spec["arguments"]) {
        all.insert(format!("workflow.parameters.{name}"), value);
    }
    all
}

/// What a template knows that is called with arguments: these, and defaults where they say nothing.
pub(super) fn of_call(template: &Value, arguments: &Value) -> Parameters {
    let mut all = Parameters::new();
    let given: BTreeMap<String, String> = listed(arguments).collect();
    for input in template.pointer("/inputs/parameters").and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = input["name"].as_str() else { continue };
        let own = || input.get("value").or_else(|| input.get("default")).map(shown);
        if let Some(value) = given.get(name).cloned().or_else(own) {
            all.insert(format!("inputs.parameters.{name}"), value);
        }
    }
    all
}

/// What a step knows of its item.
pub(super) fn of_item(item: &Value) -> Parameters {
    let mut all = Parameters::from([("item".to_owned(), shown(item))]);
    for (key, value) in item.as_object().into_iter().flatten() {
        all.insert(format!("item.{key}"), shown(value));
    }
    all
}

fn listed(arguments: &Value) -> impl Iterator<Item = (String, String)> + '_ {
    let all = arguments["parameters"].as_array().into_iter().flatten();
    all.filter_map(|one| Some((one["name"].as_str()?.to_owned(), shown(one.get("value")?))))
}

/// A value with everything filled in that is known.
pub(super) fn filled(value: &Value, known: &Parameters) -> Value {
    match value {
        Value::String(text) if text.contains("{{") => Value::String(filled_text(text, known)),
        Value::Array(all) => all.iter().map(|one| filled(one, known)).collect(),
        Value::Object(all) => all.iter().map(|(key, one)| (key.clone(), filled(one, known))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn filled_text(text: &str, known: &Parameters) -> String {
    let mut full = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        full.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            full.push_str("{{");
            rest = after;
            break;
        };
        match known.get(name.trim()) {
            Some(value) => full.push_str(value),
            None => full.push_str(&format!("{{{{{name}}}}}")),
        }
        rest = behind;
    }
    full.push_str(rest);
    full
}

/// Whether something in a value is not filled in.
pub(super) fn is_open(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(all) => all.iter().any(is_open),
        Value::Object(all) => all.values().any(is_open),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A value without the members that are not filled in.
pub(super) fn without_open(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().filter(|one| !is_open(one)).cloned().collect(),
        Value::Object(all) => {
            let rest = all.iter().filter(|(_, one)| !one.is_string() || !is_open(one));
            rest.map(|(key, one)| match one {
                // A container stays, whatever of it is not known.
                Value::Array(each) if key == "containers" || key == "initContainers" => {
                    (key.clone(), each.iter().map(without_open).collect())
                }
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_) => (key.clone(), without_open(one)),
            })
            .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_count_more_than_defaults_and_what_is_unknown_stays() {
        let template = json!({"inputs": {"parameters": [{"name": "size", "default": "1"}, {"name": "zone", "value": 2}, {"name": "none"}]}});
        let mut known = of_call(
            &template,
            &json!({"parameters": [{"name": "size", "value": "4"}, {"name": "none", "valueFrom": {}}]}),
        );
        known.extend(of_item(&json!({"cpu": 3})));
        let value = json!({"a": "{{inputs.parameters.size}}/{{ inputs.parameters.zone }}", "b": ["{{item.cpu}}", "{{inputs.parameters.none}}"],
            "c": "{{= 1 + 1 }}", "d": "{{open"});
        let full = filled(&value, &known);
        assert_eq!(
            full,
            json!({"a": "4/2", "b": ["3", "{{inputs.parameters.none}}"], "c": "{{= 1 + 1 }}", "d": "{{open"})
        );
        assert_eq!(without_open(&full), json!({"a": "4/2", "b": ["3"]}));
    }

    #[test]
    fn a_workflow_knows_its_own_name_and_arguments() {
        let raw = json!({"metadata": {"name": "w", "namespace": "shop"}});
        let known =
            of_workflow(&raw, &json!({"arguments": {"parameters": [{"name": "day", "value": "mon"}]}}));
        assert_eq!(filled(&json!("{{workflow.name}} {{workflow.parameters.day}}"), &known), json!("w mon"));
    }
}
