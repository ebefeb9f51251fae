//! Nobody grants what they do not hold (pkg/registry/rbac): writes of roles and bindings.

use replank_apiserver::{ApiError, ResourceName};
use replank_model::object::meta::Key;
use serde_json::Value;

use super::attributes::Attributes;
use super::cover::{quoted, told, uncovered};
use super::rbac::{Authorization, Authorizer};
use super::rule::Rule;
use super::user::User;

/// The API group.
const GROUP: &str = "rbac.authorization.k8s.io";

/// A write of a role or a binding.
#[derive(Clone, Copy, Debug)]
pub struct EscalationCheck<'a> {
    /// Its resource.
    pub resource: &'a ResourceName,
    /// Its namespace; empty for cluster-scoped ones.
    pub namespace: &'a str,
    /// What is stored, if anything is.
    pub old: Option<&'a Value>,
    /// What it is to become.
    pub new: &'a Value,
}

/// Whether writes of a resource are looked at.
#[must_use]
pub fn guards(resource: &ResourceName) -> bool {
    &*resource.group == GROUP
        && matches!(&*resource.plural, "roles" | "clusterroles" | "rolebindings" | "clusterrolebindings")
}

/// Refuses a write by which somebody would grant what they do not hold.
///
/// # Errors
/// 403 with the permissions that are missing; 404 for a binding of a role that is not there.
pub fn escalates(authorizer: &Authorizer, user: &User, check: EscalationCheck<'_>) -> Result<(), ApiError> {
    if authorizer.mode() == Authorization::AlwaysAllow || user.is_master() || !guards(check.resource) {
        return Ok(());
    }
    match &*check.resource.plural {
        "roles" | "clusterroles" => role(authorizer, user, check),
        _ => binding(authorizer, user, check),
    }
}

fn role(authorizer: &Authorizer, user: &User, check: EscalationCheck<'_>) -> Result<(), ApiError> {
    let name = text(check.new, "/metadata/name");
    let asked = Attributes::of("escalate", (GROUP, &check.resource.plural), check.namespace, name);
    if authorizer.allows(user, &asked) {
        return Ok(());
    }
    let is_same = check.old.is_some_and(|old| {
        alike(old.get("rules"), check.new.get("rules"))
            && alike(old.get("aggregationRule"), check.new.get("aggregationRule"))
    });
    if is_same {
        return Ok(());
    }
    let (owned, errors) = authorizer.rules(user, check.namespace);
    let aggregates = |value: &Value| value.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    if (aggregates(check.new) || check.old.is_some_and(aggregates))
        && !uncovered(&owned, &everything()).is_empty()
    {
        let why = "must have cluster-admin privileges to use the aggregationRule";
        return Err(ApiError::forbidden(check.resource.clone(), &Key::cluster(name), why));
    }
    confirm(user, check, &owned, &errors, &rules(check.new))
}

fn binding(authorizer: &Authorizer, user: &User, check: EscalationCheck<'_>) -> Result<(), ApiError> {
    let is_same = check.old.is_some_and(|old| {
        ["roleRef", "subjects"].iter().all(|member| alike(old.get(member), check.new.get(member)))
    });
    if is_same {
        return Ok(());
    }
    let (kind, role) = (text(check.new, "/roleRef/kind"), text(check.new, "/roleRef/name"));
    let plural = if kind == "Role" { "roles" } else { "clusterroles" };
    if authorizer.allows(user, &Attributes::of("bind", (GROUP, plural), check.namespace, role)) {
        return Ok(());
    }
    let wanted = authorizer.rules_of(kind, role, check.namespace);
    let wanted = wanted.map_err(|_| ApiError::not_found(check.resource.clone(), &Key::cluster(role)))?;
    let (owned, errors) = authorizer.rules(user, check.namespace);
    confirm(user, check, &owned, &errors, &wanted)
}

/// Refuses rules that are not held.
fn confirm(
    user: &User,
    check: EscalationCheck<'_>,
    owned: &[Rule],
    errors: &[String],
    wanted: &[Rule],
) -> Result<(), ApiError> {
    let missing = uncovered(owned, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let mut why = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        quoted(&user.groups),
        told(&missing)
    );
    if !errors.is_empty() {
        why.push_str(&format!("; resolution errors: [{}]", errors.join(", ")));
    }
    let name = text(check.new, "/metadata/name");
    Err(ApiError::forbidden(check.resource.clone(), &Key::cluster(name), &why))
}

/// What cluster-admin may.
fn everything() -> [Rule; 2] {
    let any = || vec!["*".to_owned()];
    [
        Rule { verbs: any(), api_groups: any(), resources: any(), ..Rule::default() },
        Rule { verbs: any(), paths: any(), ..Rule::default() },
    ]
}

fn rules(value: &Value) -> Vec<Rule> {
    let rules = value.get("rules").cloned().unwrap_or_default();
    serde_json::from_value(rules).unwrap_or_default()
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Equal, nothing counting as empty.
fn alike(old: Option<&Value>, new: Option<&Value>) -> bool {
    let is_empty = |value: &&Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    old.filter(|value| !is_empty(value)) == new.filter(|value| !is_empty(value))
}
