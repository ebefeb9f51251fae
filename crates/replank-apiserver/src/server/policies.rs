//! Policies and bindings, read once for each state of them.

use std::sync::Arc;

use replank_custom::cel::{Expr, parse};
use replank_model::object::cluster::Other;
use replank_model::object::{Object, render};
use serde_json::Value;

/// All policies and bindings.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    pub(crate) validating: Vec<Policy>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) mutating: Vec<Policy>,
    pub(crate) mutating_bindings: Vec<Binding>,
}

/// A policy.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    /// `matchConstraints`.
    pub(crate) constraints: Value,
    /// Whether a policy that cannot be asked refuses nothing.
    pub(crate) ignores_failures: bool,
    pub(crate) param_kind: Option<(String, String)>,
    pub(crate) conditions: Vec<(String, Expression)>,
    pub(crate) variables: Vec<(String, Expression)>,
    pub(crate) validations: Vec<Validation>,
    pub(crate) mutations: Vec<Mutation>,
}

/// An expression and its text.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) parsed: Result<Expr, String>,
}

#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    pub(crate) message: String,
    pub(crate) message_expression: Option<Expression>,
    pub(crate) reason: String,
}

#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) is_json_patch: bool,
    pub(crate) expression: Expression,
}

/// A binding.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) policy: String,
    /// `matchResources`.
    pub(crate) resources: Value,
    pub(crate) actions: Vec<String>,
    pub(crate) param: Option<Value>,
}

impl Policies {
    pub(crate) fn read<'o>(others: impl Iterator<Item = &'o Arc<Other>>) -> Self {
        let mut all = Self::default();
        let mut found: Vec<&Arc<Other>> =
            others.filter(|other| other.group() == "admissionregistration.k8s.io").collect();
        found.sort_by(|one, other| one.meta.name.cmp(&other.meta.name));
        for other in found {
            let value = render(&Object::Other(other.clone()));
            let name = other.meta.name.as_str();
            match &*other.kind {
                "ValidatingAdmissionPolicy" => all.validating.push(policy(name, &value["spec"])),
                "MutatingAdmissionPolicy" => all.mutating.push(policy(name, &value["spec"])),
                "ValidatingAdmissionPolicyBinding" => all.bindings.push(binding(name, &value["spec"])),
                "MutatingAdmissionPolicyBinding" => all.mutating_bindings.push(binding(name, &value["spec"])),
                _ => {}
            }
        }
        all
    }
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// An expression that stands in a member.
pub(crate) fn expression(value: &Value, name: &str) -> Expression {
    let text = text(value, name);
    let parsed = parse(&text).map_err(|faults| faults.to_string());
    Expression { text, parsed }
}

fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn policy(name: &str, spec: &Value) -> Policy {
    let named = |member: &str| -> Vec<(String, Expression)> {
        items(spec, member).map(|one| (text(one, "name"), expression(one, "expression"))).collect()
    };
    let validation = |one: &Value| Validation {
        expression: expression(one, "expression"),
        message: text(one, "message"),
        message_expression: Some(expression(one, "messageExpression")).filter(|one| !one.text.is_empty()),
        reason: text(one, "reason"),
    };
    let mutation = |one: &Value| {
        let is_json_patch = text(one, "patchType") == "JSONPatch";
        let member = if is_json_patch { "jsonPatch" } else { "applyConfiguration" };
        Mutation { is_json_patch, expression: expression(&one[member], "expression") }
    };
    Policy {
        name: name.to_owned(),
        constraints: spec["matchConstraints"].clone(),
        ignores_failures: spec["failurePolicy"] == "Ignore",
        param_kind: spec
            .get("paramKind")
            .filter(|kind| kind.is_object())
            .map(|kind| (text(kind, "apiVersion"), text(kind, "kind"))),
        conditions: named("matchConditions"),
        variables: named("variables"),
        validations: items(spec, "validations").map(validation).collect(),
        mutations: items(spec, "mutations").map(mutation).collect(),
    }
}

fn binding(name: &str, spec: &Value) -> Binding {
    Binding {
        name: name.to_owned(),
        policy: text(spec, "policyName"),
        resources: spec["matchResources"].clone(),
        actions: items(spec, "validationActions").filter_map(Value::as_str).map(str::to_owned).collect(),
        param: spec.get("paramRef").filter(|one| one.is_object()).cloned(),
    }
}
