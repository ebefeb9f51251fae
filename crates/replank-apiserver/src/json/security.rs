//! Admission plugin PodSecurity: what the labels of a namespace ask of its pods (pod-security-admission `admission/admission.go`).

use replank_model::object::{Kind, Object, render};
use replank_model::text::Name;
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::path::{Address, Subresource};
use crate::server::pod_security::{LevelVersion, Policy, detail, reason, violations};
use crate::server::security::refuse;
use crate::server::{Api, ApiError, Cause};

/// Pods that are looked at when a namespace asks for more than before.
const PODS_MAX: usize = 3_000;

impl Api {
    /// Looks at a write as the plugin does. What the client is warned of.
    ///
    /// # Errors
    /// 403 for a pod that its namespace does not allow, 422 for labels of a namespace that say nothing.
    pub(super) fn check_security(
        &self,
        address: &Address,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<Vec<String>, ApiError> {
        let resource = &address.resource;
        if resource.kind == Kind::Namespace {
            return if address.subresource.is_none() { self.check_levels(old, new) } else { Ok(Vec::new()) };
        }
        let Some(template) = template(&resource.name.group, &resource.name.plural) else {
            return Ok(Vec::new());
        };
        let is_pod = resource.kind == Kind::Pod;
        let is_looked_at = match address.subresource {
            None => true,
            Some(Subresource::EphemeralContainers | Subresource::Resize) => is_pod,
            Some(
                Subresource::Status
                | Subresource::Scale
                | Subresource::Eviction
                | Subresource::Binding
                | Subresource::Approval
                | Subresource::Finalize,
            ) => false,
        };
        let namespace = address.namespace.clone().unwrap_or_default();
        let Some(policy) = self.security_of(namespace.text()).filter(|_| is_looked_at) else {
            return Ok(Vec::new());
        };
        let pod = if is_pod { Some(new) } else { new.pointer(template) };
        let Some(pod) = pod else { return Ok(Vec::new()) };
        if is_pod && old.is_some_and(|old| !changes(old, new)) {
            return Ok(Vec::new());
        }
        if is_pod {
            refuse(policy.enforce, pod)?;
        }
        let warned = violations(policy.warn, &pod["metadata"], &pod["spec"]);
        if warned.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![format!("would violate PodSecurity \"{}\": {}", policy.warn, detail(&warned))])
    }

    /// A namespace's own labels.
    fn check_levels(&self, old: Option<&Value>, new: &Value) -> Result<Vec<String>, ApiError> {
        let read = |object: &Value| {
            let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
            Policy::read(|name| labels.get(name).and_then(Value::as_str))
        };
        let name = new.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let invalid = |causes: Vec<Cause>| Err(ApiError::invalid(Kind::Namespace, name, causes));
        let (policy, causes) = read(new);
        let Some(old) = old else {
            return if causes.is_empty() { Ok(Vec::new()) } else { invalid(causes) };
        };
        let (before, known) = read(old);
        if !causes.is_empty() && causes != known {
            return invalid(causes);
        }
        let (is, was) = (policy.enforce, before.enforce);
        if is == was || is.allows_all() || (is.version == was.version && is.level <= was.level) {
            return Ok(Vec::new());
        }
        Ok(self.check_pods(name, is))
    }

    /// Pods that are there, and that a new level does not allow: one line for each way, with the first pod by its name.
    fn check_pods(&self, namespace: &str, level: LevelVersion) -> Vec<String> {
        let mut pods = Vec::new();
        let (mut siblings, mut owners) = (Vec::new(), Vec::new());
        let all = self.view().pods.sorted().into_iter().map(|(_, pod)| pod);
        for pod in all.filter(|pod| pod.meta.namespace.as_str() == namespace) {
            match pod.meta.controller() {
                Some(owner) if owners.contains(&owner.uid) => siblings.push(pod),
                Some(owner) => {
                    owners.push(owner.uid.clone());
                    pods.push(pod);
                }
                None => pods.push(pod),
            }
        }
        pods.extend(siblings);
        let count = pods.len();
        pods.truncate(PODS_MAX);
        let mut lines = Vec::new();
        if count > pods.len() {
            let checked = pods.len();
            lines.push(format!(
                "new PodSecurity enforce level only checked against the first {checked} of {count} existing pods"
            ));
        }
        let mut found: FxHashMap<String, (Name, usize)> = FxHashMap::default();
        for pod in pods {
            let value = render(&Object::Pod(pod.clone()));
            let violated = violations(level, &value["metadata"], &value["spec"]);
            if violated.is_empty() {
                continue;
            }
            let (first, count) = found.entry(reason(&violated)).or_insert_with(|| (pod.meta.name.clone(), 0));
            *count += 1;
            if pod.meta.name < *first {
                *first = pod.meta.name.clone();
            }
        }
        if !found.is_empty() {
            lines.push(format!(
                "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{level}\""
            ));
        }
        let mut told: Vec<String> = found
            .into_iter()
            .map(|(why, (name, count))| match count {
                1 => format!("{name}: {why}"),
                2 => format!("{name} (and 1 other pod): {why}"),
                count => format!("{name} (and {} other pods): {why}", count - 1),
            })
            .collect();
        told.sort();
        lines.extend(told);
        lines
    }
}

/// Where a kind has the template of its pods; for a pod, all of it.
fn template(group: &str, plural: &str) -> Option<&'static str> {
    match (group, plural) {
        ("", "pods") => Some(""),
        ("", "podtemplates") => Some("/template"),
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => Some("/spec/template"),
        ("batch", "cronjobs") => Some("/spec/jobTemplate/spec/template"),
        _ => None,
    }
}

/// Whether a pod has other images, or more containers (`isSignificantPodUpdate`).
fn changes(old: &Value, new: &Value) -> bool {
    let list = |pod: &Value, name: &str| -> Vec<(Value, Value)> {
        let all = pod.pointer(&format!("/spec/{name}")).and_then(Value::as_array).into_iter().flatten();
        all.map(|one| (one["name"].clone(), one["image"].clone())).collect()
    };
    let images = |pod: &Value, name: &str| -> Vec<Value> {
        list(pod, name).into_iter().map(|(_, image)| image).collect()
    };
    let had = list(old, "ephemeralContainers");
    ["containers", "initContainers"].iter().any(|name| images(old, name) != images(new, name))
        || list(new, "ephemeralContainers").iter().any(|one| !had.contains(one))
}
