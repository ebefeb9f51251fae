//! Whether a policy or a binding is taken (`pkg/apis/admissionregistration/validation`).

use std::sync::Arc;

use replank_custom::cel::ast::Node;
use replank_custom::cel::{Names, ObjectType, Type, check, parse};
use replank_custom::problem::{quoted, shown};
use serde_json::Value;

use super::types::names;
use crate::json::members::{list, text};
use crate::server::Cause;

/// Everything that is wrong with a policy or a binding.
pub(in super::super) fn check_policy(kind: &str, value: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &value["spec"];
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => policy(kind, name, spec, &mut causes),
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            binding(kind, spec, &mut causes);
        }
        _ => {}
    }
    causes
}

fn policy(kind: &str, name: &str, spec: &Value, causes: &mut Vec<Cause>) {
    if let Some(word) =
        spec.get("failurePolicy").and_then(Value::as_str).filter(|word| !matches!(*word, "Fail" | "Ignore"))
    {
        causes.push(Cause::not_supported("spec.failurePolicy", word, &["Fail", "Ignore"]));
    }
    param_kind(spec, causes);
    constraints(spec, causes);
    let has_params = spec.get("paramKind").is_some_and(Value::is_object);
    let mut known = names(&Type::Dyn, has_params.then_some(Type::Dyn));
    known.insert("namespaceObject".to_owned(), Type::Dyn);
    conditions(spec, "spec", &known, causes);
    variables(spec, &mut known, causes);
    if kind == "MutatingAdmissionPolicy" {
        mutations(spec, &known, causes);
        return;
    }
    let (validations, annotations) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        causes.push(Cause::required("spec.validations", why));
        causes.push(Cause::required("spec.auditAnnotations", why));
    }
    for (index, one) in validations.iter().enumerate() {
        validation(one, &format!("spec.validations[{index}]"), &known, causes);
    }
    for (index, one) in annotations.iter().enumerate() {
        let at = format!("spec.auditAnnotations[{index}]");
        let key = format!("{name}/{}", text(one, "key"));
        for why in replank_model::selector::validate::label_key_problems(&key) {
            causes.push(Cause::invalid(format!("{at}.key"), &quoted(&key), &why));
        }
        let value = text(one, "valueExpression");
        if value.trim().is_empty() {
            causes.push(Cause::required(format!("{at}.valueExpression"), "valueExpression is not specified"));
        } else {
            compiled(value, &format!("{at}.valueExpression"), &known, Wanted::TextOrNull, causes);
        }
    }
}

fn param_kind(spec: &Value, causes: &mut Vec<Cause>) {
    let Some(kind) = spec.get("paramKind").filter(|one| one.is_object()) else { return };
    if text(kind, "apiVersion").is_empty() {
        causes.push(Cause::required("spec.paramKind.apiVersion", ""));
    }
    if text(kind, "kind").is_empty() {
        causes.push(Cause::required("spec.paramKind.kind", ""));
    }
}

fn constraints(spec: &Value, causes: &mut Vec<Cause>) {
    let Some(constraints) = spec.get("matchConstraints").filter(|one| one.is_object()) else {
        causes.push(Cause::required("spec.matchConstraints", ""));
        return;
    };
    if list(constraints, "resourceRules").is_empty() {
        causes.push(Cause::required("spec.matchConstraints.resourceRules", ""));
    }
    for member in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(constraints, member).iter().enumerate() {
            self::rule(rule, &format!("spec.matchConstraints.{member}[{index}]"), causes);
        }
    }
}

/// A rule about resources, as webhooks have them too.
pub(in super::super) fn rule(rule: &Value, at: &str, causes: &mut Vec<Cause>) {
    for member in ["operations", "apiGroups", "apiVersions", "resources"] {
        let all = list(rule, member);
        if all.is_empty() {
            causes.push(Cause::required(format!("{at}.{member}"), ""));
        } else if all.len() > 1 && all.iter().any(|one| one == "*") && member != "resources" {
            let shown = Value::Array(all.to_vec()).to_string();
            let why = "if '*' is present, must not specify other ";
            let what = match member {
                "operations" => "operations",
                "apiGroups" => "API groups",
                _ => "API versions",
            };
            causes.push(Cause::invalid(format!("{at}.{member}"), &shown, &format!("{why}{what}")));
        }
    }
    for (index, word) in list(rule, "operations").iter().filter_map(Value::as_str).enumerate() {
        const KNOWN: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        if !KNOWN.contains(&word) {
            causes.push(Cause::not_supported(format!("{at}.operations[{index}]"), word, &KNOWN));
        }
    }
    for member in ["apiVersions", "resources"] {
        for (index, word) in list(rule, member).iter().filter_map(Value::as_str).enumerate() {
            if word.is_empty() {
                causes.push(Cause::required(format!("{at}.{member}[{index}]"), ""));
            }
        }
    }
    if let Some(word) = rule.get("scope").and_then(Value::as_str)
        && !matches!(word, "*" | "Cluster" | "Namespaced")
    {
        causes.push(Cause::not_supported(format!("{at}.scope"), word, &["*", "Cluster", "Namespaced"]));
    }
}

/// What an expression has to come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Bool,
    Text,
    TextOrNull,
    /// What is laid over an object.
    Applied,
    Any,
}

fn compiled(text: &str, at: &str, known: &Names, wanted: Wanted, causes: &mut Vec<Cause>) -> Option<Type> {
    let mut refuse = |why: String| causes.push(Cause::invalid(at, &quoted(text), &why));
    let trimmed = text.trim();
    let parsed = match parse(trimmed) {
        Ok(parsed) => parsed,
        Err(faults) => {
            refuse(format!("compilation failed: {faults}"));
            return None;
        }
    };
    let of = match check(trimmed, &parsed, known) {
        Ok(of) => of,
        Err(faults) => {
            refuse(format!("compilation failed: {faults}"));
            return None;
        }
    };
    let fits = match wanted {
        Wanted::Bool => matches!(of, Type::Bool | Type::Dyn),
        Wanted::Text => matches!(of, Type::Text | Type::Dyn),
        Wanted::TextOrNull => matches!(of, Type::Text | Type::Null | Type::Dyn),
        Wanted::Applied => may_be_object(&parsed.node, &of),
        Wanted::Any => true,
    };
    if !fits {
        refuse(match wanted {
            Wanted::Bool => format!("must evaluate to bool but got {of}"),
            Wanted::TextOrNull => format!("must evaluate to one of [string null_type] but got {of}"),
            Wanted::Applied => format!("must evaluate to Object but got {of}"),
            Wanted::Text | Wanted::Any => format!("must evaluate to string but got {of}"),
        });
    }
    Some(of)
}

/// Whether an expression may come to an `Object`, of which the checker knows no more than that it is dynamic.
fn may_be_object(node: &Node, of: &Type) -> bool {
    match node {
        Node::Struct { name, .. } => name == "Object",
        Node::Field { of: from, .. } => matches!(&from.node, Node::Name(name) if name == "variables"),
        Node::Literal(_) | Node::Has { .. } | Node::List(_) | Node::Map(_) => false,
        Node::Name(_) | Node::Call { .. } | Node::Each(_) | Node::Bind { .. } | Node::OptionalMap { .. } => {
            matches!(of, Type::Dyn)
        }
    }
}

/// An expression by which devices are chosen. Of what a device is no types are known here.
pub(in super::super) fn device_selector(text: &str, at: &str, causes: &mut Vec<Cause>) {
    if text.is_empty() {
        // Here it is asked for nothing, and said without the place.
        let why = "compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', \
                   'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
        causes.push(Cause::invalid(at, "\"\"", why));
        return;
    }
    let known = Names::from_iter([("device".to_owned(), Type::Dyn)]);
    compiled(text, at, &known, Wanted::Bool, causes);
}

/// Everything that is wrong with the conditions of webhooks.
pub(in super::super) fn check_webhooks(value: &Value) -> Vec<Cause> {
    let mut known = names(&Type::Dyn, None);
    known.remove("namespaceObject");
    let mut causes = Vec::new();
    for (index, hook) in list(value, "webhooks").iter().enumerate() {
        conditions(hook, &format!("webhooks[{index}]"), &known, &mut causes);
    }
    causes
}

fn conditions(spec: &Value, of: &str, known: &Names, causes: &mut Vec<Cause>) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, one) in list(spec, "matchConditions").iter().enumerate() {
        let at = format!("{of}.matchConditions[{index}]");
        let name = text(one, "name");
        if text(one, "expression").trim().is_empty() {
            causes.push(Cause::required(format!("{at}.expression"), ""));
        } else {
            compiled(text(one, "expression"), &format!("{at}.expression"), known, Wanted::Bool, causes);
        }
        if name.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        } else if seen.contains(&name) {
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                message: format!("Duplicate value: {}", quoted(name)),
                field: Some(format!("{at}.name")),
            });
        } else {
            for why in replank_model::selector::validate::label_key_problems(name) {
                causes.push(Cause::invalid(format!("{at}.name"), &quoted(name), &why));
            }
        }
        seen.push(name);
    }
}

fn variables(spec: &Value, known: &mut Names, causes: &mut Vec<Cause>) {
    let all = list(spec, "variables");
    let mut fields: Vec<(String, Type)> = Vec::new();
    let object = |fields: &[(String, Type)]| {
        let fields = fields.iter().cloned().collect();
        Type::Object(Arc::new(ObjectType { name: "kubernetes.variables".to_owned(), fields }))
    };
    for (index, one) in all.iter().enumerate() {
        let at = format!("spec.variables[{index}]");
        let name = text(one, "name");
        known.insert("variables".to_owned(), object(&fields));
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
        if name.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), "name is not specified"));
        } else if !is_name {
            causes.push(Cause::invalid(
                format!("{at}.name"),
                &quoted(name),
                "must be a valid CEL identifier",
            ));
        }
        let mut of = Type::Dyn;
        if text(one, "expression").trim().is_empty() {
            causes.push(Cause::required(format!("{at}.expression"), "expression is not specified"));
        } else {
            let text = text(one, "expression");
            of = compiled(text, &format!("{at}.expression"), known, Wanted::Any, causes).unwrap_or(Type::Dyn);
        }
        fields.push((name.to_owned(), of));
    }
    if !all.is_empty() {
        known.insert("variables".to_owned(), object(&fields));
    }
}

fn validation(one: &Value, at: &str, known: &Names, causes: &mut Vec<Cause>) {
    let (expression, message) = (text(one, "expression"), text(one, "message"));
    if expression.trim().is_empty() {
        causes.push(Cause::required(format!("{at}.expression"), "expression is not specified"));
    } else {
        compiled(expression, &format!("{at}.expression"), known, Wanted::Bool, causes);
    }
    let asked = text(one, "messageExpression");
    if !asked.trim().is_empty() {
        compiled(asked, &format!("{at}.messageExpression"), known, Wanted::Text, causes);
    }
    if !message.is_empty() && message.trim().is_empty() {
        causes.push(Cause::invalid(
            format!("{at}.message"),
            &quoted(message),
            "message must be non-empty if specified",
        ));
    } else if message.contains('\n') {
        causes.push(Cause::invalid(
            format!("{at}.message"),
            &quoted(message),
            "message must not contain line breaks",
        ));
    } else if expression.trim().contains('\n') && message.is_empty() && asked.is_empty() {
        // Of a rule of several lines its text is the message.
    }
    const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    let reason = text(one, "reason");
    let is_known = REASONS.contains(&reason) || reason == "Unauthorized";
    if one.get("reason").is_some_and(Value::is_string) && !is_known {
        causes.push(Cause::not_supported(format!("{at}.reason"), reason, &REASONS));
    }
}

fn mutations(spec: &Value, known: &Names, causes: &mut Vec<Cause>) {
    let all = list(spec, "mutations");
    if all.is_empty() {
        causes.push(Cause::required("spec.mutations", "mutations must contain at least one item"));
    }
    let mut known = known.clone();
    for name in ["Object", "JSONPatch"] {
        known.insert(name.to_owned(), Type::Dyn);
    }
    for (index, one) in all.iter().enumerate() {
        let at = format!("spec.mutations[{index}]");
        let (member, other, wanted) = match text(one, "patchType") {
            "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Wanted::Applied),
            "JSONPatch" => ("jsonPatch", "applyConfiguration", Wanted::Any),
            "" => {
                causes.push(Cause::required(format!("{at}.patchType"), ""));
                continue;
            }
            other => {
                let supported = ["ApplyConfiguration", "JSONPatch"];
                causes.push(Cause::not_supported(format!("{at}.patchType"), other, &supported));
                continue;
            }
        };
        let expression = text(&one[member], "expression");
        let place = format!("{at}.{member}.expression");
        if one.get(member).is_none_or(Value::is_null) {
            let why = format!("must be specified when patchType is {}", text(one, "patchType"));
            causes.push(Cause::required(format!("{at}.{member}"), &why));
        } else if expression.trim().is_empty() {
            causes.push(Cause::required(place, ""));
        } else {
            compiled(expression, &place, &known, wanted, causes);
        }
        if one.get(other).is_some_and(|other| !other.is_null()) {
            let why = format!("must not be specified when patchType is {}", text(one, "patchType"));
            causes.push(Cause::invalid(format!("{at}.{other}"), &quoted(&format!("{{{other}}}")), &why));
        }
    }
    match text(spec, "reinvocationPolicy") {
        "" | "Never" | "IfNeeded" => {}
        other => causes.push(Cause::not_supported("spec.reinvocationPolicy", other, &["IfNeeded", "Never"])),
    }
}

fn binding(kind: &str, spec: &Value, causes: &mut Vec<Cause>) {
    if text(spec, "policyName").is_empty() {
        causes.push(Cause::required("spec.policyName", ""));
    }
    if let Some(param) = spec.get("paramRef").filter(|one| one.is_object()) {
        let (has_name, selector) = (!text(param, "name").is_empty(), param.get("selector"));
        let has_selector = selector.is_some_and(Value::is_object);
        if has_name && has_selector {
            let why = "name and selector are mutually exclusive";
            causes.push(Cause::forbidden("spec.paramRef.name", why));
        } else if !has_name && !has_selector {
            causes.push(Cause::required("spec.paramRef", "one of name or selector must be specified"));
        }
        match text(param, "parameterNotFoundAction") {
            "Allow" | "Deny" => {}
            "" => causes.push(Cause::required("spec.paramRef.parameterNotFoundAction", "")),
            other => {
                let field = "spec.paramRef.parameterNotFoundAction";
                causes.push(Cause::not_supported(field, other, &["Deny", "Allow"]));
            }
        }
    }
    if kind == "MutatingAdmissionPolicyBinding" {
        return;
    }
    let actions = list(spec, "validationActions");
    if actions.is_empty() {
        causes.push(Cause::required("spec.validationActions", "at least one validation action is required"));
    }
    for (index, action) in actions.iter().enumerate() {
        let word = action.as_str().unwrap_or_default();
        let field = format!("spec.validationActions[{index}]");
        if actions[..index].contains(action) {
            let message = format!("Duplicate value: {}", shown(action));
            causes.push(Cause { reason: "FieldValueDuplicate", message, field: Some(field) });
        } else if !matches!(word, "Audit" | "Deny" | "Warn") {
            causes.push(Cause::not_supported(field, word, &["Audit", "Deny", "Warn"]));
        }
    }
    let has = |word: &str| actions.iter().any(|one| one == word);
    if has("Deny") && has("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        causes.push(Cause::invalid("spec.validationActions", "[\"Deny\",\"Warn\"]", why));
    }
}
