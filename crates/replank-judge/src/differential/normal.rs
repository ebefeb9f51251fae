//! Answers without what differs between any two servers: uids, versions, times, addresses, generated names.

use serde_json::{Map, Value};

use super::kinds::Kind;
use super::protobuf;
use super::words::{MANAGERS, words};
use crate::wire::Received;

/// Kinds whose status controllers write.
const MOVING: [&str; 20] = [
    "nodes",
    "deployments",
    "replicasets",
    "replicationcontrollers",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "horizontalpodautoscalers",
    "poddisruptionbudgets",
    "persistentvolumeclaims",
    "persistentvolumes",
    "resourcequotas",
    "namespaces",
    "flowschemas",
    "prioritylevelconfigurations",
    "customresourcedefinitions",
    "validatingadmissionpolicies",
    "servicecidrs",
    "apiservices",
];

/// Whether controllers write objects of this kind.
pub(super) fn moves(kind: &Kind) -> bool {
    MOVING.contains(&kind.plural.as_str())
}

/// What of an answer is compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Normal {
    /// The status.
    pub(super) status: u16,
    /// `Content-Type`, `Warning`, `Retry-After`, `Allow`.
    pub(super) headers: Vec<(&'static str, Option<String>)>,
    /// The body; the events, if it is a watch.
    pub(super) body: Value,
}

impl From<Normal> for super::report::Answered {
    fn from(normal: Normal) -> Self {
        Self { status: normal.status, headers: normal.headers, body: normal.body }
    }
}

/// The comparable part of an answer; `moving` drops statuses, which controllers write.
pub(super) fn normal(received: &Received, is_watch: bool, moving: bool) -> Normal {
    let is_stream = is_watch && received.status == 200;
    let is_yaml = received.header("content-type").is_some_and(|text| text.starts_with("application/yaml"));
    let mut body = match (is_stream, is_yaml) {
        (true, _) => events(received, moving),
        (false, true) => yaml(&received.body),
        (false, false) => match received.body.strip_prefix(protobuf::MAGIC) {
            Some(bytes) => protobuf::normal(bytes, moving),
            None => received.json(),
        },
    };
    clean(&mut body, moving);
    places(&mut body);
    let headers = ["content-type", "warning", "retry-after"];
    let headers = headers.map(|name| (name, received.header(name).map(|text| words(&text)))).to_vec();
    Normal { status: received.status, headers, body }
}

/// What YAML says; text if it says nothing. How it is laid out is not compared: the versions in it stand in quotes.
fn yaml(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    serde_saphyr::from_str(&text).unwrap_or_else(|_| Value::from(text.into_owned()))
}

fn events(received: &Received, moving: bool) -> Value {
    let text = String::from_utf8_lossy(&received.body);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line)));
    lines
        .filter(|event: &Value| {
            let kind = event["type"].as_str().unwrap_or_default();
            // Bookmarks come by the clock, but for the one that ends the first events.
            let is_end = event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].is_string();
            (kind != "BOOKMARK" || is_end) && !(moving && kind == "MODIFIED")
        })
        .collect()
}

/// Takes out of whole answers what the two servers, or walks that run beside this one, decide for themselves.
fn places(body: &mut Value) {
    // Groups of definitions that other walks have made, and are taking away.
    // The reference has no metrics server, which the served cluster stands in for.
    let is_ours = |text: &str| text.contains("judge.example.com") || text.contains("metrics.k8s.io");
    if body["kind"] == "APIGroupList"
        && let Some(groups) = body["groups"].as_array_mut()
    {
        groups.retain(|group| !group["name"].as_str().is_some_and(is_ours));
    }
    match body.get_mut("paths") {
        Some(Value::Array(paths)) => paths.retain(|path| !path.as_str().is_some_and(is_ours)),
        Some(Value::Object(paths)) => paths.retain(|path, _| !is_ours(path)),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
    }
    // What built-in types are for is not told by the served documents.
    if body.get("openapi").is_some() {
        undescribed(body);
    }
    // Who issues tokens, and with what key, is said by flags.
    if body.get("jwks_uri").is_some() {
        for name in ["issuer", "jwks_uri", "id_token_signing_alg_values_supported"] {
            body[name] = Value::from(format!("<{name}>"));
        }
    }
    // Bindings are kept in no order upstream.
    if body["kind"] == "SelfSubjectRulesReview" {
        for name in ["resourceRules", "nonResourceRules"] {
            if let Some(rules) = body["status"][name].as_array_mut() {
                rules.sort_by_key(Value::to_string);
            }
        }
    }
    if body["kind"] == "Table" {
        for row in body["rows"].as_array_mut().into_iter().flatten() {
            row["cells"].as_array_mut().into_iter().flatten().for_each(cell);
        }
    }
}

/// Takes out descriptions; a property may have that name, too.
fn undescribed(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| !(name == "description" && member.is_string()));
            members.values_mut().for_each(undescribed);
        }
        Value::Array(items) => items.iter_mut().for_each(undescribed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Masks an age, and addresses and ports that are drawn.
fn cell(cell: &mut Value) {
    let Some(text) = cell.as_str() else { return };
    let is_age = text.ends_with(['s', 'm', 'h', 'd'])
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|letter| letter.is_ascii_digit() || "smhd".contains(letter));
    let is_address = text.parse::<std::net::IpAddr>().is_ok();
    let masked = match (is_age, is_address) {
        (true, _) => "<age>".to_owned(),
        (false, true) => "<address>".to_owned(),
        // 443:31727/TCP
        (false, false) => text
            .split(',')
            .map(|port| match (port.split_once(':'), port.split_once('/')) {
                (Some((inner, node)), Some((_, protocol)))
                    if node.starts_with('3') && inner.chars().all(|digit| digit.is_ascii_digit()) =>
                {
                    format!("{inner}:<port>/{protocol}")
                }
                _ => port.to_owned(),
            })
            .collect::<Vec<_>>()
            .join(","),
    };
    *cell = masked.into();
}

fn clean(value: &mut Value, moving: bool) {
    match value {
        Value::Object(members) => {
            if moving && members.contains_key("metadata") {
                members.remove("status");
            }
            // A drawn name may stand elsewhere in the object as well.
            let name = members.get("metadata").and_then(drawn);
            if let Some((name, prefix)) = name {
                members.values_mut().for_each(|value| rename(value, &name, &prefix));
            }
            if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
                clean_metadata(metadata, moving);
            }
            tainted(members);
            for (key, value) in members.iter_mut() {
                if !mask(key, value) {
                    clean(value, moving);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, moving)),
        Value::String(text) => *text = words(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Taints that controllers put on a node come and go by the moment, and take the list of them over from whoever wrote it.
fn tainted(members: &mut Map<String, Value>) {
    if let Some(Value::Object(spec)) = members.get_mut("spec")
        && let Some(Value::Array(taints)) = spec.get_mut("taints")
    {
        let is_theirs =
            |taint: &Value| taint["key"].as_str().is_some_and(|key| key.starts_with("node.kubernetes.io/"));
        taints.retain(|taint| !is_theirs(taint));
        taints.iter_mut().filter_map(Value::as_object_mut).for_each(|taint| drop(taint.remove("timeAdded")));
        if taints.is_empty() {
            spec.remove("taints");
        }
    }
    if let Some(Value::Object(spec)) = members.get_mut("f:spec") {
        spec.remove("f:taints");
        if spec.is_empty() {
            members.remove("f:spec");
        }
    }
}

/// A name that was drawn, and what it begins with.
fn drawn(metadata: &Value) -> Option<(String, String)> {
    let (name, prefix) = (metadata["name"].as_str()?, metadata["generateName"].as_str()?);
    (!prefix.is_empty() && name.starts_with(prefix)).then(|| (name.to_owned(), prefix.to_owned()))
}

fn rename(value: &mut Value, name: &str, prefix: &str) {
    match value {
        Value::String(text) if text == name => *text = format!("{prefix}<generated>"),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, name, prefix)),
        Value::Object(members) => members.values_mut().for_each(|member| rename(member, name, prefix)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn clean_metadata(metadata: &mut Map<String, Value>, moving: bool) {
    if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
        entries.retain(|entry| entry["manager"].as_str().is_some_and(|name| MANAGERS.contains(&name)));
        if entries.is_empty() {
            metadata.remove("managedFields");
        }
    }
    if moving {
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove("deployment.kubernetes.io/revision");
            annotations.remove("batch.kubernetes.io/job-tracking");
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        metadata.remove("generation");
    }
}

/// Masks a member that two servers cannot have in common; says whether it was one.
fn mask(key: &str, value: &mut Value) -> bool {
    let is_masked = match (key, &*value) {
        ("uid", Value::String(text)) => !text.is_empty(),
        ("resourceVersion", Value::String(text)) => !matches!(text.as_str(), "" | "0"),
        ("continue", Value::String(text)) | ("clusterIP", Value::String(text)) => {
            !matches!(text.as_str(), "" | "None")
        }
        ("clusterIPs", Value::Array(items)) => !items.iter().any(|item| item == "None"),
        ("nodePort" | "healthCheckNodePort", Value::Number(number)) => number.as_i64() != Some(0),
        (
            "serverRelativeURL" | "serverAddress" | "storageVersionHash" | "gitVersion" | "gitCommit"
            | "buildDate" | "goVersion" | "gitTreeState" | "compiler" | "platform",
            Value::String(_),
        ) => true,
        ("token", Value::String(text)) => text.matches('.').count() == 2,
        ("observedGeneration", Value::Number(_)) => true,
        _ => return false,
    };
    if is_masked {
        *value = Value::from(format!("<{key}>"));
    }
    is_masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_anyway_is_masked() {
        let text = "uid 01234567-89ab-cdef-0123-456789abcdef at 2026-01-02T03:04:05.123Z, current: 77)";
        assert_eq!(words(text), "uid <uid> at <time>, current: <version>)");
        assert_eq!(words("2026-01-02 is no time, 0123456 no uid"), "2026-01-02 is no time, 0123456 no uid");
    }

    #[test]
    fn ages_and_drawn_ports_are_masked() {
        let masked = |text: &str| {
            let mut value = Value::from(text);
            cell(&mut value);
            value
        };
        assert_eq!(masked("2m3s"), "<age>");
        assert_eq!(masked("10.0.3.4"), "<address>");
        assert_eq!(masked("443:31727/TCP,80/UDP"), "443:<port>/TCP,80/UDP");
        assert_eq!(masked("default"), "default");
    }

    #[test]
    fn where_a_scheme_was_made_is_masked() {
        let text = "no kind \"X\" in scheme \"pkg/runtime/scheme.go:111\"";
        assert_eq!(words(text), "no kind \"X\" in scheme \"<scheme>\"");
    }

    #[test]
    fn fields_of_controllers_are_not_compared() {
        let mut body = serde_json::json!({"metadata": {"uid": "x", "generateName": "a-", "name": "a-bcdef",
            "managedFields": [{"manager": "kube-controller-manager"}, {"manager": "one"}]}, "status": {"a": 1}});
        clean(&mut body, true);
        assert_eq!(
            body,
            serde_json::json!({"metadata": {"uid": "<uid>", "generateName": "a-", "name": "a-<generated>",
                "managedFields": [{"manager": "one"}]}})
        );
    }
}
