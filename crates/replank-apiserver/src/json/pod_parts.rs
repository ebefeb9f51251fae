//! What a write of a part of a pod is refused with: ephemeral containers, and resources that change in place
//! (`ValidatePodEphemeralContainersUpdate`, `ValidatePodResize`).

use replank_model::admission::qos_class;
use serde_json::{Map, Value};

use super::path::Subresource;
use super::{check, rules};
use crate::server::Cause;

/// What is wrong with a write of a part of a pod.
pub(super) fn check(part: Subresource, old: &Value, new: &Value) -> Vec<Cause> {
    match part {
        Subresource::EphemeralContainers => ephemeral(old, new),
        Subresource::Resize => resize(old, new),
        Subresource::Status
        | Subresource::Scale
        | Subresource::Eviction
        | Subresource::Binding
        | Subresource::Approval
        | Subresource::Finalize => Vec::new(),
    }
}

fn list<'v>(pod: &'v Value, name: &str) -> &'v [Value] {
    let list = pod.get("spec").and_then(|spec| spec.get(name)).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// What is wrong with the new state, and was not wrong before.
fn found(old: &Value, new: &Value) -> Vec<Cause> {
    // Which parts may be there at a creation does not matter here.
    let at_creation = |cause: &Cause| cause.message.ends_with("cannot be set on create");
    let was = check::invalid(old);
    check::invalid(new).into_iter().filter(|cause| !was.contains(cause) && !at_creation(cause)).collect()
}

/// What stands for a container in comparisons: members that say nothing are left out.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let said = |value: &Value| match value {
                Value::Null => false,
                Value::Object(members) => !members.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            };
            let members = members.iter().map(|(name, member)| (name.clone(), plain(member)));
            Value::Object(members.filter(|(_, member)| said(member)).collect())
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn ephemeral(old: &Value, new: &Value) -> Vec<Cause> {
    const FIELD: &str = "spec.ephemeralContainers";
    const MIRROR: &str = "kubernetes.io/config.mirror";
    if old.pointer("/metadata/annotations").is_some_and(|all| all.get(MIRROR).is_some()) {
        return vec![Cause::forbidden("[]", "static pods do not support ephemeral containers")];
    }
    let mut causes = found(old, new);
    let there = list(new, "ephemeralContainers");
    for was in list(old, "ephemeralContainers") {
        let name = was["name"].as_str().unwrap_or_default();
        match there.iter().rfind(|one| one["name"] == was["name"]) {
            None => {
                let why = format!("existing ephemeral containers {name:?} may not be removed\n");
                causes.push(Cause::forbidden(FIELD, &why));
            }
            Some(is) if plain(is) != plain(was) => {
                let text =
                    rules::difference(&rules::ephemeral_container(was), &rules::ephemeral_container(is));
                let why = format!("existing ephemeral containers {name:?} may not be changed\n{text}");
                causes.push(Cause::forbidden(FIELD, &why));
            }
            Some(_) => {}
        }
    }
    causes
}

fn resize(old: &Value, new: &Value) -> Vec<Cause> {
    if old.pointer("/metadata/annotations/kubernetes.io~1config.mirror").is_some() {
        return vec![Cause::forbidden("[]", "static pods cannot be resized")];
    }
    if old.pointer("/spec/os/name").is_some_and(|name| name == "windows") {
        return vec![Cause::forbidden("[]", "windows pods cannot be resized")];
    }
    let mut causes = found(old, new);
    let was = qos_class(&old["spec"]);
    if was != qos_class(&new["spec"]) {
        let why = "Pod QOS Class may not change as a result of resizing";
        causes.push(Cause::invalid("spec", &format!("{was:?}"), why));
    }
    let order = order(old, new);
    if !order.is_empty() {
        causes.extend(order);
        return causes;
    }
    for name in ["initContainers", "containers"] {
        for (at, (was, is)) in list(old, name).iter().zip(list(new, name)).enumerate() {
            for kind in ["requests", "limits"] {
                let (had, has) = (amounts(was, kind), amounts(is, kind));
                if had.keys().any(|resource| !has.contains_key(resource)) {
                    let field = format!("spec.{name}[{at}].resources.{kind}");
                    causes.push(Cause::forbidden(field, &format!("resource {kind} cannot be removed")));
                }
            }
        }
    }
    for (was, is) in list(old, "containers").iter().zip(list(new, "containers")) {
        if fixed(was) != fixed(is) {
            causes.push(Cause::forbidden("spec", "only cpu and memory resources are mutable"));
        }
    }
    for (at, (was, is)) in list(old, "initContainers").iter().zip(list(new, "initContainers")).enumerate() {
        let is_sidecar = is["restartPolicy"] == "Always";
        if is_sidecar && fixed(was) != fixed(is) {
            let why = "only cpu and memory resources for init or sidecar containers are mutable";
            causes.push(Cause::forbidden(format!("spec.initContainers[{at}]"), why));
        } else if !is_sidecar && plain(was) != plain(is) {
            causes.push(Cause::forbidden("spec", "resources for non-sidecar init containers are immutable"));
        }
    }
    causes
}

/// Containers stay who they are, and where (`validatePodResizeContainerOrdering`).
fn order(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for name in ["containers", "initContainers"] {
        let (had, has) = (list(old, name), list(new, name));
        if had.len() != has.len() {
            let why = format!("{name} may not be added or removed on resize");
            causes.push(Cause::forbidden(format!("spec.{name}"), &why));
            continue;
        }
        for (at, (was, is)) in had.iter().zip(has).enumerate() {
            if was["name"] != is["name"] {
                let why = format!("{name} may not be renamed or reordered on resize");
                causes.push(Cause::forbidden(format!("spec.{name}[{at}].name"), &why));
            }
        }
    }
    causes
}

fn amounts(container: &Value, kind: &str) -> Map<String, Value> {
    let amounts = container.get("resources").and_then(|all| all.get(kind)).and_then(Value::as_object);
    amounts.cloned().unwrap_or_default()
}

/// A container less what a resize may change.
fn fixed(container: &Value) -> Value {
    let mut fixed = container.clone();
    for kind in ["requests", "limits"] {
        if let Some(amounts) = fixed.pointer_mut(&format!("/resources/{kind}")).and_then(Value::as_object_mut)
        {
            amounts.remove("cpu");
            amounts.remove("memory");
        }
    }
    plain(&fixed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
    fn pod(containers: Value, ephemeral: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"},
            "spec": {"containers": containers, "ephemeralContainers": ephemeral, "restartPolicy": "Always",
                "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}})
    }

    #[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
    fn container(requests: Value) -> Value {
        json!({"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File", "resources": {"requests": requests}})
    }

    #[test]
    fn an_ephemeral_container_stays_as_it_is() {
        let one = |image: &str| json!([{"name": "e", "image": image, "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]);
        let of = |ephemeral: Value| pod(json!([container(json!({}))]), ephemeral);
        let why = check(Subresource::EphemeralContainers, &of(one("x")), &of(one("y")));
        let added = check(Subresource::EphemeralContainers, &of(json!([])), &of(one("x")));
        assert_eq!(added, []);
        let text = "Forbidden: existing ephemeral containers \"e\" may not be changed\n@@ -1,6 +1,6 @@\n {\n  \"Name\": \"e\",\n\
                    - \"Image\": \"x\",\n+ \"Image\": \"y\",\n  \"Command\": null,\n  \"Args\": null,\n  \"WorkingDir\": \"\",\n";
        assert_eq!(why.iter().map(|cause| cause.message.as_str()).collect::<Vec<_>>(), [text]);
        assert_eq!(check(Subresource::EphemeralContainers, &of(one("x")), &of(one("x"))), []);
    }

    #[test]
    fn a_resize_changes_cpu_and_memory_alone_and_takes_nothing_away() {
        let of = |requests: Value| pod(json!([container(requests)]), json!([]));
        let why = |old: Value, new: Value| -> Vec<String> {
            check(Subresource::Resize, &of(old), &of(new)).into_iter().map(|cause| cause.message).collect()
        };
        let cpu = |number: &str| json!({"cpu": number});
        assert_eq!(why(cpu("1"), cpu("2")), Vec::<String>::new());
        assert_eq!(
            why(cpu("1"), json!({"cpu": "1", "ephemeral-storage": "1Gi"})),
            ["Forbidden: only cpu and memory resources are mutable"]
        );
        let best = "Invalid value: \"Burstable\": Pod QOS Class may not change as a result of resizing";
        assert_eq!(why(cpu("1"), json!({})), [best, "Forbidden: resource requests cannot be removed"]);
    }
}
