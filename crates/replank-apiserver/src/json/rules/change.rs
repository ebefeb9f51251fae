//! What may not be changed of kinds that no pods come from (`Validate…Update`).

use replank_custom::problem::quoted;
use serde_json::{Map, Value};

use super::fields::check;
use crate::server::{Cause, ResourceType};

/// What is wrong with a change, beside what is wrong with the new state.
pub(in super::super) fn changed(resource: &ResourceType, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (&*resource.name.group, &*resource.name.plural) {
        ("", "configmaps") => immutable(old, new, &["data", "binaryData"], &mut causes),
        ("", "secrets") => {
            let kind = |value: &Value| value.get("type").cloned().unwrap_or_default();
            if kind(old) != kind(new) {
                let shown = quoted(kind(new).as_str().unwrap_or_default());
                causes.push(Cause::invalid("type", &shown, "field is immutable"));
            }
            immutable(old, new, &["data"], &mut causes);
        }
        ("storage.k8s.io", "storageclasses") => {
            fixed(
                old,
                new,
                &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"],
                &mut causes,
            );
        }
        ("storage.k8s.io", "volumeattachments") => fixed(old, new, &["spec"], &mut causes),
        ("resource.k8s.io", "resourceclaims") => claims(old, new, devices, &mut causes),
        ("resource.k8s.io", "resourceclaimtemplates") => {
            let of =
                |spec: &Value| format!("{{\"Spec\":{}}}", devices(spec.get("spec").unwrap_or(&Value::Null)));
            claims(old, new, of, &mut causes);
        }
        ("storage.k8s.io", "csistoragecapacities") => {
            fixed(old, new, &["nodeTopology", "storageClassName"], &mut causes);
        }
        ("storage.k8s.io", "volumeattributesclasses") => {
            for name in ["driverName", "parameters"] {
                if differs(old, new, name) {
                    causes.push(Cause::forbidden(name, &format!("updates to {name} are forbidden.")));
                }
            }
        }
        ("", "resourcequotas") => fixed(old, new, &["spec.scopes"], &mut causes),
        ("node.k8s.io", "runtimeclasses") => fixed(old, new, &["handler"], &mut causes),
        ("discovery.k8s.io", "endpointslices") => fixed(old, new, &["addressType"], &mut causes),
        ("networking.k8s.io", "ingressclasses") if differs(old, new, "spec.controller") => {
            let shown = quoted(at(new, "spec.controller").and_then(Value::as_str).unwrap_or_default());
            causes.push(Cause::invalid("spec.controller", &shown, "field is immutable"));
        }
        ("networking.k8s.io", "ipaddresses") => fixed(old, new, &["spec.parentRef"], &mut causes),
        ("scheduling.k8s.io", "priorityclasses") => fixed(old, new, &["preemptionPolicy"], &mut causes),
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings")
            if differs(old, new, "roleRef") =>
        {
            let of = new.get("roleRef").cloned().unwrap_or_default();
            let text = |name: &str| of.get(name).cloned().unwrap_or_else(|| "".into());
            let shown = format!(
                "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
                text("apiGroup"),
                text("kind"),
                text("name")
            );
            causes.push(Cause::invalid("roleRef", &shown, "cannot change roleRef"));
        }
        ("apps", "controllerrevisions") => {
            fixed(old, new, &["data"], &mut causes);
        }
        ("", "nodes") => node(resource, old, new, &mut causes),
        ("", "persistentvolumeclaims") => claim(old, new, &mut causes),
        _ => {}
    }
    causes
}

/// A claim's spec, or that of its template, is fixed. What is empty and what is not there are the same.
fn claims(old: &Value, new: &Value, shown: impl Fn(&Value) -> String, causes: &mut Vec<Cause>) {
    let spec = |value: &Value| value.get("spec").cloned().unwrap_or_default();
    if bare(&spec(old)) != bare(&spec(new)) {
        causes.push(Cause::invalid("spec", &shown(&spec(new)), "field is immutable"));
    }
}

/// A spec as Go prints it.
fn devices(spec: &Value) -> String {
    let of = |name: &str| spec.get("devices").and_then(|devices| devices.get(name)).unwrap_or(&Value::Null);
    let (requests, constraints, config) = (of("requests"), of("constraints"), of("config"));
    format!("{{\"Devices\":{{\"Requests\":{requests},\"Constraints\":{constraints},\"Config\":{config}}}}}")
}

/// A value without what says nothing.
fn bare(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(members) => {
            let members: Map<String, Value> =
                members.iter().filter_map(|(name, one)| Some((name.clone(), bare(one)?))).collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        Value::Array(items) if items.is_empty() => None,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Some(value.clone()),
    }
}

fn immutable(old: &Value, new: &Value, bags: &[&str], causes: &mut Vec<Cause>) {
    let is_set = |value: &Value| value.get("immutable").and_then(Value::as_bool).unwrap_or(false);
    if !is_set(old) {
        return;
    }
    let why = "field is immutable when `immutable` is set";
    if !is_set(new) {
        causes.push(Cause::forbidden("immutable", why));
    }
    let bag =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let differing = bags.iter().filter(|name| bag(old, name) != bag(new, name));
    causes.extend(differing.map(|name| Cause::forbidden(*name, why)));
}

fn node(resource: &ResourceType, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let text = |value: &Value| {
        value.pointer("/spec/providerID").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let ranges = |value: &Value| {
        value.pointer("/spec/podCIDRs").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    // `ValidateNode` and `ValidateNodeUpdate` both look at the taints.
    let taints = check(resource, new).into_iter();
    causes.extend(
        taints.filter(|cause| cause.field.as_deref().is_some_and(|at| at.starts_with("metadata.taints"))),
    );
    if !ranges(old).is_empty() && ranges(old) != ranges(new) {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        causes.push(Cause::forbidden("spec.podCIDRs", why));
    }
    if !text(old).is_empty() && text(old) != text(new) {
        let why = "node updates may not change providerID except from \"\" to valid";
        causes.push(Cause::forbidden("spec.providerID", why));
    }
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, name| value.get(name)).filter(|found| !found.is_null())
}

/// Whether two states differ at a path; an empty map says what none says, as does one in it (the `metadata` of a
/// template).
fn differs(old: &Value, new: &Value, path: &str) -> bool {
    let says = |value: &Value| value.as_object().is_none_or(|one| !one.is_empty());
    let of = |value| {
        let mut found = at(value, path)?.clone();
        if let Some(members) = found.as_object_mut() {
            members.retain(|_, member| says(member));
        }
        says(&found).then_some(found)
    };
    of(old) != of(new)
}

fn fixed(old: &Value, new: &Value, paths: &[&str], causes: &mut Vec<Cause>) {
    for path in paths {
        if differs(old, new, path) {
            let shown = at(new, path).map_or_else(|| "null".to_owned(), ToString::to_string);
            causes.push(Cause::invalid(*path, &shown, "field is immutable"));
        }
    }
}

/// `ValidatePersistentVolumeClaimUpdate`.
fn claim(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let spec = |value: &Value| value.get("spec").cloned().unwrap_or_default();
    let (mut was, mut is) = (spec(old), spec(new));
    let is_unbound =
        |spec: &Value| spec.get("volumeName").and_then(Value::as_str).unwrap_or_default().is_empty();
    if is_unbound(&was) && !is_unbound(&is) {
        was["volumeName"] = is["volumeName"].clone();
    }
    if new.pointer("/status/phase").is_some_and(|phase| phase == "Bound") {
        for free in ["/resources/requests/storage", "/volumeAttributesClassName"] {
            if let (Some(was), Some(is)) = (was.pointer(free).cloned(), is.pointer_mut(free)) {
                *is = was;
            }
        }
        if was.get("volumeAttributesClassName").is_none()
            && let Value::Object(members) = &mut is
        {
            members.remove("volumeAttributesClassName");
        }
    }
    if differs(old, new, "spec.volumeMode") {
        let mode = at(new, "spec.volumeMode").map_or_else(|| "null".to_owned(), ToString::to_string);
        causes.push(Cause::invalid("volumeMode", &mode, "field is immutable"));
    }
    let (was, is) = (claim_in_go(&was), claim_in_go(&is));
    if was != is {
        let why = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{}",
            super::difference::of(&was, &is)
        );
        causes.push(Cause::forbidden("spec", &why));
    }
}

/// The spec of a claim as Go's JSON encoder writes the internal type, which has no tags.
fn claim_in_go(spec: &Value) -> String {
    const FIELDS: [&str; 9] = [
        "accessModes",
        "selector",
        "resources",
        "volumeName",
        "storageClassName",
        "volumeMode",
        "dataSource",
        "dataSourceRef",
        "volumeAttributesClassName",
    ];
    let mut members: Vec<(String, Value)> = Vec::new();
    for name in FIELDS {
        let given = spec.get(name).filter(|value| !value.is_null()).cloned();
        let value = match (name, given) {
            ("resources", given) => {
                let of = |list: &str| {
                    given.as_ref().and_then(|given| given.get(list)).cloned().unwrap_or_default()
                };
                Value::Object(Map::from_iter([
                    ("Limits".to_owned(), of("limits")),
                    ("Requests".to_owned(), of("requests")),
                ]))
            }
            ("volumeName", None) => "".into(),
            (_, given) => given.unwrap_or_default(),
        };
        let mut letters = name.chars();
        let capital = letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str());
        members.push((capital.unwrap_or_default(), value));
    }
    super::difference::lines(&members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(plural: &str, old: &Value, new: &Value) -> Vec<String> {
        let resource = ResourceType::built_in("", "v1", plural).expect("it is built in");
        let causes = changed(resource, old, new);
        causes.iter().map(|one| format!("{}: {}", one.field.as_deref().unwrap_or(""), one.message)).collect()
    }

    #[test]
    fn what_is_immutable_stays() {
        let old = json!({"immutable": true, "data": {"a": "1"}});
        let why = "Forbidden: field is immutable when `immutable` is set";
        assert_eq!(
            told("configmaps", &old, &json!({"data": {"a": "2"}})),
            [format!("immutable: {why}"), format!("data: {why}")]
        );
        assert_eq!(
            told("secrets", &json!({"type": "Opaque"}), &json!({"type": "other"})),
            ["type: Invalid value: \"other\": field is immutable"]
        );
    }

    #[test]
    fn a_claim_tells_what_differs() {
        let claim = |size: &str| {
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}},
                "storageClassName": "none", "volumeMode": "Filesystem"}})
        };
        // Recorded from a 1.36.2 control plane.
        let expected = "spec: Forbidden: spec is immutable after creation except resources.requests and \
                        volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n  \"Resources\": {\n   \
                        \"Limits\": null,\n   \"Requests\": {\n-   \"storage\": \"1Gi\"\n+   \"storage\": \
                        \"500Mi\"\n   }\n  },\n  \"VolumeName\": \"\",\n";
        assert_eq!(told("persistentvolumeclaims", &claim("1Gi"), &claim("500Mi")), [expected]);
        assert!(told("persistentvolumeclaims", &claim("1Gi"), &claim("1Gi")).is_empty());
    }
}
