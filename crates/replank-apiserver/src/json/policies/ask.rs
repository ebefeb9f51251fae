//! Asking one policy through one of its bindings.

use replank_custom::cel::convert::to_json;
use replank_custom::cel::{Failure, Val};
use replank_model::object::meta::Key;
use replank_model::text::Name;
use serde_json::{Value, json};

use super::super::answer::served;
use super::super::equivalent::Fit;
use super::super::patch::{self, PatchType};
use super::attempt::Attempt;
use super::matching::{matches, selector};
use super::scope::Names;
use crate::server::policies::{Binding, Policy, Validation};
use crate::server::{Api, ApiError, Cause};

/// A decision against a write, and its reason.
struct Denied {
    message: String,
    reason: String,
}

/// Asks a validating policy.
pub(super) fn ask(
    api: &Api,
    policy: &Policy,
    binding: &Binding,
    attempt: &Attempt<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let requested = attempt;
    let fit = match api.fit(&policy.constraints, attempt) {
        Ok(fit) => fit,
        Err(error) if api.waits() => return Err(error),
        Err(_) if policy.ignores_failures => return Ok(()),
        Err(error) => {
            let why = format!(
                "ValidatingAdmissionPolicy '{}' with binding '{}' denied request: failed to configure binding: failed to convert object version: {}",
                policy.name, binding.name, error.message
            );
            return Err(refusal(attempt, &why, ""));
        }
    };
    let attempt = &match &fit {
        Fit::Not => return Ok(()),
        Fit::AsItIs => *attempt,
        Fit::As(fitted) => fitted.attempt(attempt),
    };
    if !matches(api, &binding.resources, requested) {
        return Ok(());
    }
    let mut denied = Vec::new();
    match params(api, policy, binding, attempt) {
        Ok(params) => {
            for param in params {
                denied.extend(decide(api, policy, attempt, param.as_ref()));
            }
        }
        Err(_) if policy.ignores_failures => {}
        Err(why) => denied.push(Denied { message: why, reason: String::new() }),
    }
    let (name, bound) = (&policy.name, &binding.name);
    for Denied { message, reason } in denied {
        if binding.actions.iter().any(|action| action == "Warn") {
            warnings.push(format!(
                "Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{bound}': {message}"
            ));
        }
        if binding.actions.iter().any(|action| action == "Deny") {
            let why = format!(
                "ValidatingAdmissionPolicy '{name}' with binding '{bound}' denied request: {message}"
            );
            return Err(refusal(attempt, &why, &reason));
        }
    }
    Ok(())
}

fn refusal(attempt: &Attempt<'_>, why: &str, reason: &str) -> ApiError {
    let key = Key::cluster(Name::from(attempt.name));
    let mut error = ApiError::forbidden(attempt.resource.name.clone(), &key, why);
    error.causes = vec![Cause { reason: "", message: why.to_owned(), field: None }];
    (error.code, error.reason) = match reason {
        "Forbidden" => (403, "Forbidden"),
        "Unauthorized" => (401, "Unauthorized"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    error
}

/// What a policy says against a write.
fn decide(api: &Api, policy: &Policy, attempt: &Attempt<'_>, param: Option<&Value>) -> Vec<Denied> {
    let names = Names::new(api, attempt, param);
    match asks(policy, &names) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return vec![Denied { message: why, reason: String::new() }],
    }
    let names = names.with_variables(policy);
    policy.validations.iter().filter_map(|validation| one(policy, validation, &names)).collect()
}

/// Whether the conditions of a policy hold.
fn asks(policy: &Policy, names: &Names) -> Result<bool, String> {
    let mut failures = Vec::new();
    for (name, condition) in &policy.conditions {
        match names.ask(condition) {
            Ok(Val::Bool(true)) => {}
            Ok(_) => return Ok(false),
            Err(Failure(why)) => {
                failures.push(format!("expression '{}' resulted in error: {why}", condition.text));
                let _named = name;
            }
        }
    }
    match failures.as_slice() {
        [] => Ok(true),
        _ if policy.ignores_failures => Ok(false),
        all => Err(format!("match conditions failed: {}", all.join(", "))),
    }
}

fn one(policy: &Policy, validation: &Validation, names: &Names) -> Option<Denied> {
    let text = validation.expression.text.trim();
    let message = match names.ask(&validation.expression) {
        Ok(Val::Bool(true)) => return None,
        Ok(_) => {
            let asked = validation.message_expression.as_ref().and_then(|one| match names.ask(one) {
                Ok(Val::Text(text)) if !text.trim().is_empty() && !text.contains('\n') => {
                    Some(text.trim().to_owned())
                }
                Ok(_) | Err(_) => None,
            });
            asked.unwrap_or_else(|| match validation.message.trim() {
                "" => format!("failed expression: {text}"),
                message => message.to_owned(),
            })
        }
        Err(_) if policy.ignores_failures => return None,
        Err(Failure(why)) => {
            let message = format!("expression '{}' resulted in error: {why}", validation.expression.text);
            return Some(Denied { message, reason: String::new() });
        }
    };
    Some(Denied { message, reason: validation.reason.clone() })
}

/// The parameters that a binding names; one that is none where the policy has no parameters.
fn params(
    api: &Api,
    policy: &Policy,
    binding: &Binding,
    attempt: &Attempt<'_>,
) -> Result<Vec<Option<Value>>, String> {
    let (Some((version, kind)), Some(reference)) = (&policy.param_kind, &binding.param) else {
        return Ok(vec![None]);
    };
    let failed = |why: &str| format!("failed to configure binding: {why}");
    let resource = api.resource_type(version, kind).map_err(|_| {
        failed(&format!("failed to find resource referenced by paramKind: '{version}, Kind={kind}'"))
    })?;
    let namespace = match reference.get("namespace").and_then(Value::as_str) {
        Some(namespace) => namespace,
        None if resource.is_namespaced => attempt.namespace,
        None => "",
    };
    let name = reference.get("name").and_then(Value::as_str).unwrap_or_default();
    let all = match api.resource_objects(&resource) {
        all if name.is_empty() => {
            let selector = selector(&reference["selector"]).ok_or_else(|| failed("invalid selector"))?;
            all.into_iter().filter(|one| selector.matches(|key| one.meta().labels.value(key))).collect()
        }
        all => all.into_iter().filter(|one| one.meta().name.as_str() == name).collect::<Vec<_>>(),
    };
    let found: Vec<Option<Value>> = all
        .iter()
        .filter(|one| one.meta().namespace.as_str() == namespace)
        .map(|one| Some(served(one)))
        .collect();
    if found.is_empty() {
        return match reference["parameterNotFoundAction"].as_str() {
            Some("Allow") => Ok(Vec::new()),
            _ => Err(failed("no params found for policy binding with `Deny` parameterNotFoundAction")),
        };
    }
    Ok(found)
}

/// Has a mutating policy change an object.
pub(super) fn mutate(
    api: &Api,
    policy: &Policy,
    binding: &Binding,
    attempt: &Attempt<'_>,
    value: &mut Value,
) -> Result<(), ApiError> {
    if !matches(api, &policy.constraints, attempt) || !matches(api, &binding.resources, attempt) {
        return Ok(());
    }
    let failed = |why: &str| {
        let (name, bound) = (&policy.name, &binding.name);
        let why = format!("policy '{name}' with binding '{bound}' denied request: {why}");
        refusal(attempt, &why, "")
    };
    let params = match params(api, policy, binding, attempt) {
        Ok(params) => params,
        Err(_) if policy.ignores_failures => return Ok(()),
        Err(why) => return Err(failed(&why)),
    };
    for param in params {
        let names = Names::new(api, attempt, param.as_ref());
        match asks(policy, &names) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(why) => return Err(failed(&why)),
        }
        for mutation in &policy.mutations {
            let current = value.clone();
            let attempt = Attempt { object: Some(&current), ..*attempt };
            let names = Names::new(api, &attempt, param.as_ref()).with_variables(policy);
            let made = names
                .ask(&mutation.expression)
                .map_err(|Failure(why)| why)
                .and_then(|made| to_json(&made).ok_or_else(|| "no such overload".to_owned()))
                .and_then(|patch| {
                    let kind = if mutation.is_json_patch { PatchType::Json } else { PatchType::Strategic };
                    let kind = if attempt.resource.custom.is_some() && !mutation.is_json_patch {
                        PatchType::Merge
                    } else {
                        kind
                    };
                    let patch = if patch.is_null() { json!([]) } else { patch };
                    patch::apply(attempt.resource, kind, value, &patch).map_err(|error| error.message)
                });
            match made {
                Ok(()) => {}
                Err(_) if policy.ignores_failures => *value = current,
                Err(why) => {
                    return Err(failed(&format!(
                        "expression '{}' resulted in error: {why}",
                        mutation.expression.text
                    )));
                }
            }
        }
    }
    Ok(())
}
