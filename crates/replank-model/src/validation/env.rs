//! Environment variables and where they come from (`ValidateEnv`, `ValidateEnvFrom`).

use super::error::{Causes, Shown};
use super::field::Field;
use super::{mounts, names};

/// Fields of a pod that a variable can have.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields of a pod that the API knows under a name of its own (`ConvertDownwardAPIFieldLabel`).
const KNOWN_FIELDS: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Resources of a container that a variable can have.
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];

/// Variables one by one.
pub(super) fn variables(field: &Field<'_>, causes: &mut Causes) {
    for variable in field.items() {
        let name = variable.child("name");
        if name.is_empty() {
            causes.required(&name.path, "");
        } else {
            causes.broken_rules(&name.path, name.text(), names::variable_name(name.text()));
        }
        value_from(&variable, causes);
    }
}

fn value_from(variable: &Field<'_>, causes: &mut Causes) {
    let Some(from) = variable.child("valueFrom").set() else { return };
    let mut sources = 0;
    let mut source = |name: &str| {
        let source = from.child(name).set();
        sources += usize::from(source.is_some());
        source
    };
    if let Some(reference) = source("fieldRef") {
        field_reference(&reference, &FIELDS, causes);
    }
    if let Some(reference) = source("resourceFieldRef") {
        resource_reference(&reference, causes);
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = source(name) {
            names::subdomain_at(&reference.child("name"), causes);
            let key = reference.child("key");
            required_or(&key, names::config_key, causes);
        }
    }
    if let Some(reference) = source("fileKeyRef") {
        required_or(&reference.child("key"), names::variable_name, causes);
        required_or(&reference.child("volumeName"), names::label, causes);
        let path = reference.child("path");
        if path.is_empty() {
            causes.required(&path.path, "");
        } else {
            mounts::no_backsteps(&path, causes);
        }
    }
    let why = match sources {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !variable.child("value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    causes.invalid(&from.path, Shown::text(""), why);
}

fn required_or(field: &Field<'_>, rules: fn(&str) -> Vec<String>, causes: &mut Causes) {
    if field.is_empty() {
        causes.required(&field.path, "");
    } else {
        causes.broken_rules(&field.path, field.text(), rules(field.text()));
    }
}

/// A field of the pod (`validateObjectFieldSelector`).
pub(super) fn field_reference(reference: &Field<'_>, allowed: &[&str], causes: &mut Causes) {
    for name in ["apiVersion", "fieldPath"] {
        let member = reference.child(name);
        if member.is_empty() {
            return causes.required(member.path, "");
        }
    }
    let (version, field) = (reference.child("apiVersion").text(), reference.child("fieldPath"));
    let path = field.text();
    let subscripted = subscripted(path);
    let problem = match subscripted {
        _ if version != "v1" => Some(format!("unsupported pod version: {version}")),
        Some(("metadata.annotations" | "metadata.labels", _)) => None,
        Some(_) => Some(format!("field label does not support subscript: {path}")),
        None if path == "spec.host" || KNOWN_FIELDS.contains(&path) => None,
        None => Some(format!("field label not supported: {path}")),
    };
    if let Some(problem) = problem {
        let why = format!("error converting fieldPath: {problem}");
        return causes.invalid(&field.path, Shown::text(path), why);
    }
    match subscripted {
        Some(("metadata.annotations", key)) => names::qualified(&reference.path, &key.to_lowercase(), causes),
        Some((_, key)) => names::qualified(&reference.path, key, causes),
        None => {
            let path = if path == "spec.host" { "spec.nodeName" } else { path };
            if !allowed.contains(&path) {
                let mut known = allowed.to_vec();
                known.sort_unstable();
                causes.not_supported(&field.path, Shown::text(path), &known);
            }
        }
    }
}

/// `metadata.labels['app']` in its two parts (`SplitMaybeSubscriptedPath`).
fn subscripted(path: &str) -> Option<(&str, &str)> {
    let (outer, key) = path.strip_suffix("']")?.split_once("['")?;
    (!outer.is_empty()).then_some((outer, key))
}

/// A resource of a container, in a variable.
fn resource_reference(reference: &Field<'_>, causes: &mut Causes) {
    known_resource(reference, causes);
    divisor(reference, causes);
}

/// A resource of a container, in a file of a volume (`validateContainerResourceFieldSelector`).
pub(super) fn resource_in_volume(reference: &Field<'_>, causes: &mut Causes) {
    let container = reference.child("containerName");
    if container.is_empty() {
        causes.required(container.path, "");
    } else {
        known_resource(reference, causes);
    }
    divisor(reference, causes);
}

fn known_resource(reference: &Field<'_>, causes: &mut Causes) {
    let resource = reference.child("resource");
    let name = resource.text();
    if name.is_empty() {
        causes.required(resource.path, "");
    } else if !RESOURCES.contains(&name) && !HUGE_PAGES.iter().any(|prefix| name.starts_with(prefix)) {
        causes.not_supported(&resource.path, Shown::text(name), &RESOURCES);
    }
}

const DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// The unit of a resource (`validateContainerResourceDivisor`).
fn divisor(reference: &Field<'_>, causes: &mut Causes) {
    let field = reference.child("divisor");
    let Some(divisor) = field.quantity().filter(|divisor| !divisor.is_zero()) else { return };
    let resource = reference.child("resource").text();
    let kind = match resource {
        "limits.cpu" | "requests.cpu" => {
            if !["1m", "1"].contains(&divisor.to_string().as_str()) {
                let why = "only divisor's values 1m and 1 are supported with the cpu resource";
                causes.invalid(&field.path, Shown::text(resource), why);
            }
            return;
        }
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if HUGE_PAGES.iter().any(|prefix| resource.starts_with(prefix)) => "hugepages",
        _ => return,
    };
    if !DIVISORS.contains(&divisor.to_string().as_str()) {
        let known = DIVISORS.join(", ");
        let why = format!("only divisor's values {known} are supported with the {kind} resource");
        causes.invalid(&field.path, Shown::text(resource), why);
    }
}

/// Sources of many variables.
pub(super) fn sources(field: &Field<'_>, causes: &mut Causes) {
    for source in field.items() {
        let prefix = source.child("prefix");
        if !prefix.is_empty() {
            causes.broken_rules(&prefix.path, prefix.text(), names::variable_name(prefix.text()));
        }
        let mut given = 0;
        for reference in ["configMapRef", "secretRef"].map(|name| source.child(name)) {
            if !reference.is_set() {
                continue;
            }
            given += 1;
            let name = reference.child("name");
            required_or(&name, |name| names::as_prefix(name, names::subdomain), causes);
        }
        let why = match given {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        causes.invalid(&field.path, Shown::text(""), why);
    }
}
