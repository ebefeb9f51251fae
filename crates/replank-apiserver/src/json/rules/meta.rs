//! Metadata (`ValidateObjectMeta`).

use replank_custom::problem::quoted;
use replank_model::selector::validate::{label_key_problems, label_value_problems};
use serde_json::Value;

use super::field::{is_ip, refuse_all};
use super::words;
use crate::server::{Cause, ResourceType};

/// The most bytes of all annotations together.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// What is wrong with an object's metadata.
pub(in super::super) fn metadata(resource: &ResourceType, value: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let empty = Value::Null;
    let meta = value.get("metadata").unwrap_or(&empty);
    let text = |name: &str| meta.get(name).and_then(Value::as_str).unwrap_or_default();
    let (name, prefix) = (text("name"), text("generateName"));
    if !prefix.is_empty() {
        // What is drawn comes behind it; a last hyphen is none then.
        let masked = match prefix.strip_suffix('-') {
            Some(before) => format!("{before}a"),
            None => prefix.to_owned(),
        };
        refuse_all(prefix, "metadata.generateName", of_name(resource, value, &masked), &mut causes);
    }
    if name.is_empty() && prefix.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if !name.is_empty() {
        refuse_all(name, "metadata.name", of_name(resource, value, name), &mut causes);
    }
    if (&*resource.name.group, &*resource.name.plural) == ("", "namespaces") {
        // Its name is a label of it.
        refuse_all(name, "metadata.labels", label_value_problems(name), &mut causes);
    }
    labels(meta, &mut causes);
    owners(meta, &mut causes);
    let finalizers: Vec<&str> = meta
        .get("finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for finalizer in &finalizers {
        refuse_all(finalizer, "metadata.finalizers", label_key_problems(finalizer), &mut causes);
    }
    let is_apart = matches!(
        (&*resource.name.group, &*resource.name.plural),
        ("apiextensions.k8s.io" | "apiregistration.k8s.io" | "admissionregistration.k8s.io", _)
            | ("node.k8s.io" | "coordination.k8s.io", _)
            | ("" | "events.k8s.io", "events")
    );
    if !is_apart && resource.custom.is_none() {
        const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
        for (index, finalizer) in finalizers.iter().enumerate() {
            if !finalizer.contains('/') && !STANDARD.contains(finalizer) {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                causes.push(Cause::invalid(format!("metadata.finalizers[{index}]"), &quoted(finalizer), why));
            }
        }
    }
    causes
}

fn labels(meta: &Value, causes: &mut Vec<Cause>) {
    let members = |name: &str| meta.get(name).and_then(Value::as_object).into_iter().flatten();
    for (key, value) in members("labels") {
        refuse_all(key, "metadata.labels", label_key_problems(key), causes);
        let value = value.as_str().unwrap_or_default();
        refuse_all(value, "metadata.labels", label_value_problems(value), causes);
    }
    let mut size = 0;
    for (key, value) in members("annotations") {
        refuse_all(key, "metadata.annotations", label_key_problems(&key.to_lowercase()), causes);
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_MAX {
        let message = format!("Too long: may not be more than {ANNOTATIONS_MAX} bytes");
        let field = Some("metadata.annotations".to_owned());
        causes.push(Cause { reason: "FieldValueTooLong", message, field });
    }
}

fn owners(meta: &Value, causes: &mut Vec<Cause>) {
    let all = meta.get("ownerReferences").and_then(Value::as_array);
    for owner in all.into_iter().flatten() {
        for (name, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner.get(name).and_then(Value::as_str).unwrap_or_default().is_empty() {
                causes.push(Cause::invalid(format!("metadata.ownerReferences.{name}"), "\"\"", why));
            }
        }
    }
    let controllers: Vec<&Value> = all
        .into_iter()
        .flatten()
        .filter(|owner| owner.get("controller") == Some(&Value::Bool(true)))
        .collect();
    if let [first, second, ..] = controllers.as_slice() {
        let name = |owner: &Value| {
            let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("{}/{}", text("kind"), text("name"))
        };
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            name(first),
            name(second)
        );
        let shown: Vec<String> = all.into_iter().flatten().map(owner_in_go).collect();
        let shown = format!("[{}]", shown.join(","));
        causes.push(Cause::invalid("metadata.ownerReferences", &shown, &why));
    }
}

/// An owner as Go's encoder writes it: its members in the order of the struct.
fn owner_in_go(owner: &Value) -> String {
    const KEPT: [&str; 4] = ["apiVersion", "kind", "name", "uid"];
    let kept = KEPT.iter().map(|name| (*name, owner.get(*name).cloned().unwrap_or_else(|| "".into())));
    let given = ["controller", "blockOwnerDeletion"]
        .into_iter()
        .filter_map(|name| Some((name, owner.get(name)?.clone())));
    let members: Vec<String> = kept.chain(given).map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// What is wrong with a name; kinds have rules of their own.
fn of_name(resource: &ResourceType, value: &Value, name: &str) -> Vec<String> {
    match (&*resource.name.group, &*resource.name.plural) {
        ("", "namespaces" | "services") => words::label(name),
        ("rbac.authorization.k8s.io" | "certificates.k8s.io", _) | ("", "events") => {
            words::path_segment(name)
        }
        ("apiregistration.k8s.io", _) => {
            let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let wanted = format!("{}.{}", text("/spec/version"), text("/spec/group"));
            if name == wanted {
                return Vec::new();
            }
            vec![format!("must be `spec.version+\".\"+spec.group`: {}", quoted(&wanted))]
        }
        ("networking.k8s.io", "ipaddresses") => {
            if is_ip(name) {
                Vec::new()
            } else {
                vec![super::field::IP.to_owned()]
            }
        }
        _ => words::subdomain(name),
    }
}
