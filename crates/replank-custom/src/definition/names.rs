//! Names of a definition, and of what it defines.

use serde_json::Value;

use super::member::{is_true, list, text};
use crate::object::embedded::is_label_1035;
use crate::problem::{Problem, quoted};

const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                          alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                          regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// A definition is called after what it defines.
pub(super) fn metadata(value: &Value, problems: &mut Vec<Problem>) {
    let empty = Value::Null;
    let (metadata, spec) = (value.get("metadata").unwrap_or(&empty), value.get("spec").unwrap_or(&empty));
    let name = text(metadata, "name");
    let plural = text(spec.get("names").unwrap_or(&empty), "plural");
    if !name.is_empty() && name != format!("{plural}.{}", text(spec, "group")) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        problems.push(Problem::invalid("metadata.name", &quoted(name), why));
    }
    let prefix = text(metadata, "generateName");
    if !prefix.is_empty() && prefix != format!("{plural}.{}", text(spec, "group")) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        problems.push(Problem::invalid("metadata.generateName", &quoted(prefix), why));
    }
}

pub(super) fn check(spec: &Value, problems: &mut Vec<Problem>) {
    let group = text(spec, "group");
    let is_subdomain = |name: &str| {
        name.split('.').all(|part| {
            let bytes = part.as_bytes();
            let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            bytes.first().is_some_and(plain)
                && bytes.last().is_some_and(plain)
                && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
        })
    };
    if group.is_empty() {
        problems.push(Problem::required("spec.group", ""));
    } else if !is_subdomain(group) {
        problems.push(Problem::invalid("spec.group", &quoted(group), SUBDOMAIN));
    } else if !group.contains('.') {
        problems.push(Problem::invalid(
            "spec.group",
            &quoted(group),
            "should be a domain with at least one dot",
        ));
    }
    let scope = text(spec, "scope");
    match scope {
        "Cluster" | "Namespaced" => {}
        "" => problems.push(Problem::required("spec.scope", "")),
        other => {
            let known = ["Cluster".to_owned(), "Namespaced".to_owned()];
            problems.push(Problem::not_supported("spec.scope", &quoted(other), &known));
        }
    }
    let empty = Value::Null;
    let names = spec.get("names").unwrap_or(&empty);
    let lower = "may have mixed case, but should otherwise match: ";
    for (name, is_mixed) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        let word = text(names, name);
        let field = format!("spec.names.{name}");
        let read = if is_mixed { word.to_lowercase() } else { word.to_owned() };
        if word.is_empty() {
            problems.push(Problem::required(field, ""));
        } else if !is_label_1035(&read) {
            let why = format!("{}{LABEL_1035}", if is_mixed { lower } else { "" });
            problems.push(Problem::invalid(field, &quoted(word), &why));
        }
    }
    for (member, all) in
        [("shortNames", list(names, "shortNames")), ("categories", list(names, "categories"))]
    {
        for (index, word) in all.iter().enumerate() {
            let word = word.as_str().unwrap_or_default();
            if !is_label_1035(word) {
                let field = format!("spec.names.{member}[{index}]");
                problems.push(Problem::invalid(field, &quoted(word), LABEL_1035));
            }
        }
    }
    let (kind, list_kind) = (text(names, "kind"), text(names, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let why = "kind and listKind may not be the same";
        problems.push(Problem::invalid("spec.names.listKind", &quoted(list_kind), why));
    }
    if is_true(spec, "preserveUnknownFields") {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                   instead";
        problems.push(Problem::invalid("spec.preserveUnknownFields", "true", why));
    }
}

/// Names of versions are labels.
pub(super) fn version(name: &str, field: String, problems: &mut Vec<Problem>) {
    if !is_label_1035(name) {
        problems.push(Problem::invalid(field, &quoted(name), LABEL_1035));
    }
}

/// Groups of the Kubernetes community are protected: they need the place of their approval (KEP-1111).
pub(super) fn approval(value: &Value, spec: &Value, problems: &mut Vec<Problem>) {
    const KEY: &str = "api-approved.kubernetes.io";
    let group = text(spec, "group");
    let is_within =
        |suffix: &str| group.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if !is_within("k8s.io") && !is_within("kubernetes.io") {
        return;
    }
    let given = value.pointer("/metadata/annotations/api-approved.kubernetes.io").and_then(Value::as_str);
    let field = format!("metadata.annotations[{KEY}]");
    match given.unwrap_or_default() {
        "" => {
            let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                       https://github.com/kubernetes/enhancements/pull/1111";
            problems.push(Problem::required(field, why));
        }
        word if word.starts_with("unapproved") || word.contains("://") => {}
        word => {
            let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a \
                       URL or a reason starting with \"unapproved\", see \
                       https://github.com/kubernetes/enhancements/pull/1111";
            problems.push(Problem::invalid(field, &quoted(word), why));
        }
    }
}
