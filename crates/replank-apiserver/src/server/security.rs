//! What the labels of a namespace ask of its pods, for whoever makes one (admission plugin PodSecurity).

use replank_model::object::{Object, render};
use replank_model::text::Text;
use serde_json::Value;

use super::error::{About, ApiError};
use super::pod_security::{LevelVersion, Policy, detail, violations};
use super::store::Api;

impl Api {
    /// What a namespace asks for; `None` where it allows everything.
    pub(crate) fn security_of(&self, namespace: &Text) -> Option<Policy> {
        let namespace = self.view().namespaces.named(namespace)?;
        if !Policy::is_asked_for(&namespace.meta.labels) {
            return None;
        }
        let (policy, causes) = Policy::read(|name| namespace.meta.labels.value(name));
        (!causes.is_empty() || !policy.allows_all()).then_some(policy)
    }

    /// Refuses a pod that a controller makes, where its namespace does not allow it.
    ///
    /// # Errors
    /// 403.
    pub(super) fn check_own_pod(&self, object: &Object) -> Result<(), ApiError> {
        let Object::Pod(pod) = object else { return Ok(()) };
        match self.security_of(pod.meta.namespace.text()) {
            Some(policy) => refuse(policy.enforce, &render(object)),
            None => Ok(()),
        }
    }
}

/// Refuses a pod that a level does not allow.
///
/// # Errors
/// 403.
pub(crate) fn refuse(level: LevelVersion, pod: &Value) -> Result<(), ApiError> {
    let violated = violations(level, &pod["metadata"], &pod["spec"]);
    if violated.is_empty() {
        return Ok(());
    }
    let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let about = About { group: "".into(), kind: "pods".into(), name: name.into() };
    let why = format!("violates PodSecurity \"{level}\": {}", detail(&violated));
    Err(ApiError::forbidden_to_user(Some(about), &why))
}
