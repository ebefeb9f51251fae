//! Parts of objects that are written on their own: bindings, ephemeral containers, resizes, approvals, and what finalizes a
//! namespace (`pkg/registry/core/{pod,namespace}`, `pkg/registry/certificates`).

use replank_model::object::Object;
use replank_model::object::condition::ConditionStatus;
use replank_model::object::pod::Pod;
use replank_model::text::{Name, NodeName};
use serde_json::{Value, json};

use super::Effect;
use super::admit::PartWrite;
use super::answer::member;
use super::path::{Address, Subresource};
use super::policies::Of;
use super::terms::Terms;
use crate::condition;
use crate::server::{Api, ApiError, ResourceName};

impl Api {
    /// Binds a pod to a node: POST …/pods/NAME/binding, or …/bindings.
    ///
    /// # Errors
    /// 404 without the pod, 409 where it has a node, is going, or has gates.
    pub(super) fn bind_json(
        &mut self,
        address: &Address,
        body: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let named = text("/metadata/name");
        if address.name.as_ref().is_some_and(|name| *name != *named) {
            return Err(ApiError::bad_request("name in URL does not match name in Binding object"));
        }
        let address = Address { name: Some(Name::from(named)), ..address.clone() };
        let admitted = self.admit_binding(&address, body, terms)?;
        let body = &admitted;
        let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (kind, node) = (text("/target/kind"), text("/target/name"));
        // Of a binding that is no good upstream says the bare error, without a reason.
        let mut wrong = Vec::new();
        if !matches!(kind, "" | "Node") {
            let supported = "supported values: \"Node\", \"<empty>\"";
            wrong.push(format!("target.kind: Unsupported value: {kind:?}: {supported}"));
        }
        if node.is_empty() {
            wrong.push("target.name: Required value".to_owned());
        }
        match wrong.as_slice() {
            [] => {}
            [one] => return Err(ApiError::internal(one)),
            all => return Err(ApiError::internal(&format!("[{}]", all.join(", ")))),
        }
        let Object::Pod(pod) = self.existing(&address)? else { return Err(ApiError::no_resource()) };
        let refuse = |why: &str| {
            let name =
                ResourceName { group: "".into(), plural: "pods/binding".into(), kind: "Binding".into() };
            Err(ApiError::conflict(name, &pod.meta.key(), why))
        };
        if pod.is_terminating() {
            return refuse(&format!("pod {named} is being deleted, cannot be assigned to a host"));
        }
        if let Some(known) = &pod.node {
            return refuse(&format!("pod {named} is already assigned to node \"{known}\""));
        }
        if !pod.spec.scheduling_gates.is_empty() {
            return refuse(&format!("pod {named} has non-empty .spec.schedulingGates"));
        }
        if terms.effect == Effect::Real {
            let now = self.timestamp();
            let texts = |name: &str| {
                let members = body.pointer(name).and_then(Value::as_object).into_iter().flatten();
                members
                    .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                    .collect::<Vec<_>>()
            };
            let annotations = texts("/metadata/annotations");
            let labels = texts("/metadata/labels");
            let topology = self.topology_labels(&NodeName::from(node));
            self.modify::<Pod>(&pod.meta.key(), |pod| {
                pod.node = Some(NodeName::from(node));
                pod.status.nominated_node_name = None;
                for (key, value) in annotations {
                    pod.meta.annotations = pod.meta.annotations.with(&*key, &*value);
                }
                for (key, value) in labels {
                    pod.meta.labels = pod.meta.labels.with(&*key, &*value);
                }
                for (key, value) in topology {
                    if !pod.meta.labels.contains_key(&key) {
                        pod.meta.labels = pod.meta.labels.with(key, value);
                    }
                }
                let scheduled = condition::condition("PodScheduled", ConditionStatus::True, "", "");
                condition::set(&mut pod.status.conditions, scheduled, now);
            })?;
        }
        Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
    }
}

impl Api {
    fn admit_binding(
        &mut self,
        address: &Address,
        body: &Value,
        terms: &mut Terms,
    ) -> Result<Value, ApiError> {
        if terms.client.is_none() {
            return Ok(body.clone());
        }
        let of = Of { group: "", version: "v1", kind: "Binding" };
        let effect = terms.effect;
        let write = PartWrite { operation: "CREATE", of, part: "binding", old: None, effect };
        let mut binding = body.clone();
        binding["apiVersion"] = "v1".into();
        binding["kind"] = "Binding".into();
        self.admit_part(address, &write, binding, &mut terms.warnings)
    }
}

/// What a write of a part makes of an object: all but the part stays as it was.
pub(super) fn only_part(part: Subresource, old: &Value, new: &mut Value) {
    let mut kept = old.clone();
    if let Some(meta) = new.get("metadata") {
        kept["metadata"] = meta.clone();
    }
    if matches!(part, Subresource::EphemeralContainers | Subresource::Resize) {
        // Of a pod's metadata these write none (`ResetObjectMetaForStatus`).
        for name in ["labels", "annotations", "ownerReferences", "finalizers"] {
            let was = old.get("metadata").and_then(|meta| meta.get(name)).cloned();
            if let Value::Object(meta) = member(&mut kept, "metadata") {
                match was {
                    Some(was) => meta.insert(name.to_owned(), was),
                    None => meta.remove(name),
                };
            }
        }
    }
    match part {
        Subresource::EphemeralContainers => take(&mut kept, new, "spec", "ephemeralContainers"),
        Subresource::Finalize => take(&mut kept, new, "spec", "finalizers"),
        Subresource::Approval => take(&mut kept, new, "status", "conditions"),
        Subresource::Resize => resize(&mut kept, new),
        Subresource::Status | Subresource::Scale | Subresource::Eviction | Subresource::Binding => return,
    }
    *new = kept;
}

/// The address as that of a Binding: what is sent to it is one.
pub(super) fn as_binding(address: &Address) -> Address {
    let mut part = address.clone();
    part.resource.name = ResourceName { group: "".into(), plural: "bindings".into(), kind: "Binding".into() };
    part.resource.version = "v1".into();
    part
}

fn take(kept: &mut Value, new: &Value, of: &str, name: &str) {
    let given = new.get(of).and_then(|part| part.get(name)).cloned();
    if let Value::Object(part) = member(kept, of) {
        match given {
            Some(given) => part.insert(name.to_owned(), given),
            None => part.remove(name),
        };
    }
}

/// Containers take over resources and how they are resized. Where others are there, or in another order, all is taken, to be refused.
fn resize(kept: &mut Value, new: &Value) {
    let names = |value: &Value, list: &str| -> Vec<Value> {
        let all = value.pointer(&format!("/spec/{list}")).and_then(Value::as_array).into_iter().flatten();
        all.map(|container| container["name"].clone()).collect()
    };
    const LISTS: [&str; 2] = ["containers", "initContainers"];
    if LISTS.iter().any(|list| names(kept, list) != names(new, list)) {
        kept["spec"] = new["spec"].clone();
        return;
    }
    take(kept, new, "spec", "resources");
    for list in LISTS {
        let given: Vec<Value> =
            new.pointer(&format!("/spec/{list}")).and_then(Value::as_array).cloned().unwrap_or_default();
        let known = kept.pointer_mut(&format!("/spec/{list}")).and_then(Value::as_array_mut);
        for (container, given) in known.into_iter().flatten().zip(&given) {
            let Value::Object(container) = container else { continue };
            for name in ["resources", "resizePolicy"] {
                match given.get(name) {
                    Some(value) => container.insert(name.to_owned(), value.clone()),
                    None => container.remove(name),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_written_alone() {
        let old = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "a"}]}});
        let mut new = json!({"metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "b", "resources": {"requests": {"cpu": "1"}}}],
                "ephemeralContainers": [{"name": "d"}]}});
        let mut debugged = new.clone();
        only_part(Subresource::EphemeralContainers, &old, &mut debugged);
        assert_eq!(debugged["spec"]["containers"], old["spec"]["containers"]);
        assert_eq!(debugged["spec"]["ephemeralContainers"][0]["name"], "d");
        only_part(Subresource::Resize, &old, &mut new);
        assert_eq!(new["spec"]["containers"][0]["image"], "a");
        assert_eq!(new["spec"]["containers"][0]["resources"]["requests"]["cpu"], "1");
        assert_eq!(new["spec"].get("ephemeralContainers"), None);
    }
}
