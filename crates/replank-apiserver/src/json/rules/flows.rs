//! Priority and fairness: flow schemas and priority levels (`pkg/apis/flowcontrol/validation`).

use replank_custom::problem::quoted;
use serde_json::Value;

use super::words;
use crate::json::members::{list, text};
use crate::server::Cause;

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|one| !one.is_null())
}

/// Kinds of subjects, with what describes each.
const SUBJECTS: [(&str, &str); 3] =
    [("user", "User"), ("group", "Group"), ("serviceAccount", "ServiceAccount")];

pub(super) fn schema(spec: &Value, causes: &mut Vec<Cause>) {
    if let Some(method) = spec.get("distinguisherMethod").filter(|one| one.is_object()) {
        let of = text(method, "type");
        if !matches!(of, "ByNamespace" | "ByUser") {
            let message = format!(
                "Unsupported value: {{\"Type\":{}}}: supported values: \"ByNamespace\", \"ByUser\"",
                Value::from(of)
            );
            let field = Some("spec.distinguisherMethod.type".to_owned());
            causes.push(Cause { reason: "FieldValueNotSupported", message, field });
        }
    }
    const VERBS: [&str; 9] =
        ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
    for (index, rule) in list(spec, "rules").iter().enumerate() {
        let at = format!("spec.rules[{index}]");
        if list(rule, "resourceRules").is_empty() && list(rule, "nonResourceRules").is_empty() {
            let why = "at least one of resourceRules and nonResourceRules has to be non-empty";
            causes.push(Cause::required(at.clone(), why));
        }
        for (subject_index, subject) in list(rule, "subjects").iter().enumerate() {
            let kind = text(subject, "kind");
            let Some((member, _)) = SUBJECTS.iter().find(|(_, of)| *of == kind) else { continue };
            let member = *member;
            let at = format!("{at}.subjects[{subject_index}]");
            if !is_set(subject, member) {
                let why = format!("{member} is required when subject kind is '{kind}'");
                causes.push(Cause::required(format!("{at}.{member}"), &why));
            }
            for (other, of) in SUBJECTS {
                if other != member && is_set(subject, other) {
                    let why = format!("{other} is forbidden when subject kind is not '{of}'");
                    causes.push(Cause::forbidden(format!("{at}.{other}"), &why));
                }
            }
        }
        for (rule_index, rule) in list(rule, "resourceRules").iter().enumerate() {
            let at = format!("{at}.resourceRules[{rule_index}]");
            let verbs = list(rule, "verbs");
            let is_known = |verb: &Value| verb == "*" || VERBS.iter().any(|known| verb == known);
            if !verbs.is_empty() && !verbs.iter().all(is_known) {
                let known: Vec<String> = VERBS.iter().map(|verb| quoted(verb)).collect();
                let shown = Value::Array(verbs.to_vec());
                let message = format!("Unsupported value: {shown}: supported values: {}", known.join(", "));
                let field = Some(format!("{at}.verbs"));
                causes.push(Cause { reason: "FieldValueNotSupported", message, field });
            }
            let namespaces = list(rule, "namespaces");
            if namespaces.is_empty() && rule.get("clusterScope") != Some(&Value::Bool(true)) {
                let why = "resource rules that are not cluster scoped must supply at least one namespace";
                causes.push(Cause::required(format!("{at}.namespaces"), why));
            } else if namespaces.len() > 1 && namespaces.iter().any(|one| one == "*") {
                let shown = Value::Array(namespaces.to_vec()).to_string();
                let why = "if '*' is present, must not specify other namespaces";
                causes.push(Cause::invalid(format!("{at}.namespaces"), &shown, why));
            }
            for (name_index, name) in namespaces.iter().filter_map(Value::as_str).enumerate() {
                if name == "*" {
                    continue;
                }
                for why in words::label(name) {
                    let why = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
                    causes.push(Cause::invalid(
                        format!("{at}.namespaces[{name_index}]"),
                        &quoted(name),
                        &why,
                    ));
                }
            }
        }
    }
}

pub(super) fn level(name: &str, spec: &Value, causes: &mut Vec<Cause>) {
    let kind = text(spec, "type");
    if (name == "exempt") != (kind == "Exempt") {
        let why = "must be 'Exempt' if and only if `name` is 'exempt'";
        causes.push(Cause::invalid("spec.type", &quoted(kind), why));
    }
    let limited = spec.get("limited").filter(|one| one.is_object());
    for (kind, other, of) in [("Limited", "exempt", "Limited"), ("Exempt", "limited", "not Limited")] {
        if text(spec, "type") == kind && is_set(spec, other) {
            let why = format!("must be nil if the type is {of}");
            causes.push(Cause::forbidden(format!("spec.{other}"), &why));
        }
    }
    for part in ["limited", "exempt"] {
        let number = |name: &str| spec.get(part).and_then(|part| part.get(name)).and_then(Value::as_i64);
        if let Some(percent) = number("lendablePercent").filter(|percent| !(0..=100).contains(percent)) {
            let why = "must be between 0 and 100, inclusive";
            causes.push(Cause::invalid(format!("spec.{part}.lendablePercent"), &percent.to_string(), why));
        }
        if let Some(percent) = number("borrowingLimitPercent").filter(|percent| *percent < 0) {
            let why = "if specified, must be a non-negative integer";
            causes.push(Cause::invalid(
                format!("spec.{part}.borrowingLimitPercent"),
                &percent.to_string(),
                why,
            ));
        }
    }
    if text(spec, "type") == "Limited" && limited.is_none() {
        causes.push(Cause::required("spec.limited", "must not be empty when type is Limited"));
    }
    let Some(response) = limited.and_then(|limited| limited.get("limitResponse")) else { return };
    let queuing = response.get("queuing").filter(|one| one.is_object());
    let at = "spec.limited.limitResponse.queuing";
    if text(response, "type") == "Queue" && queuing.is_none() {
        causes.push(Cause::required(at, "must not be empty if limited.limitResponse.type is Limited"));
    }
    let Some(queuing) = queuing else { return };
    match text(response, "type") {
        "Queue" => {}
        "Reject" => {
            causes.push(Cause::forbidden(at, "must be nil if limited.limitResponse.type is not Limited"));
            return;
        }
        _ => return,
    }
    let number = |name: &str| queuing.get(name).and_then(Value::as_i64).unwrap_or(0);
    let (queues, hand) = (number("queues"), number("handSize"));
    for name in ["queueLengthLimit", "queues", "handSize"] {
        if number(name) <= 0 {
            let why = "must be positive";
            causes.push(Cause::invalid(format!("{at}.{name}"), &number(name).to_string(), why));
        }
    }
    if queues > 10_000_000 {
        let why = "must not be greater than 10000000";
        causes.push(Cause::invalid(format!("{at}.queues"), &queues.to_string(), why));
    }
    if hand > queues && hand > 0 {
        let why = format!("should not be greater than queues ({queues})");
        causes.push(Cause::invalid(format!("{at}.handSize"), &hand.to_string(), &why));
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
    fn a_subject_is_of_one_kind_and_what_is_rejected_has_no_queues() {
        let both = json!({"rules": [{"nonResourceRules": [{}], "subjects": [
            {"kind": "User", "user": {"name": "a"}, "group": {"name": "b"}}]}]});
        assert_eq!(fields(schema, &both), ["spec.rules[0].subjects[0].group"]);
        let queuing = json!({"queues": 64, "handSize": 8, "queueLengthLimit": 50});
        let of = |kind: &str| json!({"type": "Limited", "limited": {"borrowingLimitPercent": -1, "limitResponse": {"type": kind, "queuing": queuing}}});
        assert_eq!(
            fields(|spec, causes| level("a", spec, causes), &of("Queue")),
            ["spec.limited.borrowingLimitPercent"]
        );
        assert_eq!(
            fields(|spec, causes| level("a", spec, causes), &of("Reject")),
            ["spec.limited.borrowingLimitPercent", "spec.limited.limitResponse.queuing"]
        );
    }
}
