//! What a client is warned of that writes an object (each strategy's `WarningsOnCreate` and `WarningsOnUpdate`).

mod definition;
mod pod;
mod volumes;

use replank_model::object::Kind;
use serde_json::Value;

use super::rules;
use crate::server::ResourceType;

use super::members::{list, text};

/// What is said of an object that is written; `old` is the state before, and `is_changed` whether another state is desired than then.
pub(super) fn warnings(
    resource: &ResourceType,
    old: Option<&Value>,
    new: &Value,
    is_changed: bool,
) -> Vec<String> {
    let mut told = Vec::new();
    let at = |path: &str| new.pointer(path).unwrap_or(&Value::Null);
    let is_new = old.is_none() || is_changed;
    match (resource.kind, &*resource.name.plural) {
        (Kind::Pod, _) => pod::warnings("spec", at("/spec"), &mut told),
        (Kind::Other, "podtemplates") => pod::warnings("template.spec", at("/template/spec"), &mut told),
        (
            Kind::Deployment
            | Kind::ReplicaSet
            | Kind::ReplicationController
            | Kind::DaemonSet
            | Kind::StatefulSet
            | Kind::Job,
            _,
        ) if is_new => pod::warnings("spec.template.spec", at("/spec/template/spec"), &mut told),
        (Kind::CronJob, _) if is_new => {
            let path = "spec.jobTemplate.spec.template.spec";
            pod::warnings(path, at("/spec/jobTemplate/spec/template/spec"), &mut told);
        }
        (Kind::Other, "secrets") => told.extend(certificate(new)),
        (Kind::Node, _) => node(new, &mut told),
        (Kind::Service, _) => service(new, &mut told),
        (Kind::CustomResourceDefinition, _) => definition::warnings(old, new, &mut told),
        (_, _) => {}
    }
    let names_pods = matches!(
        resource.kind,
        Kind::Deployment | Kind::ReplicaSet | Kind::ReplicationController | Kind::Job | Kind::CronJob
    );
    if old.is_none() && names_pods {
        let problems = rules::label_problems(at("/metadata/name").as_str().unwrap_or_default());
        let is_named = at("/metadata/name").as_str().is_some_and(|name| !name.is_empty());
        if is_named && !problems.is_empty() {
            told.insert(0, format!(
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
                problems.join(" ")
            ));
        }
    }
    if old.is_none() && resource.kind == Kind::Pod {
        let problems = rules::label_problems(at("/metadata/name").as_str().unwrap_or_default());
        if !problems.is_empty() {
            told.insert(0, format!(
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [{}]",
                problems.join(" ")
            ));
        }
    }
    if resource.kind == Kind::StatefulSet
        && at("/spec/revisionHistoryLimit").as_i64().is_some_and(|limit| limit < 0)
    {
        told.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
    told
}

fn service(new: &Value, told: &mut Vec<String>) {
    let spec = new.get("spec").unwrap_or(&Value::Null);
    let is_headless = text(spec, "clusterIP") == "None";
    if !list(spec, "externalIPs").is_empty() && !is_headless && text(spec, "type") != "ExternalName" {
        told.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned(),
        );
    }
    if !text(spec, "externalName").is_empty() && text(spec, "type") != "ExternalName" {
        told.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        told.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned(),
        );
    }
}

/// A pair that no TLS server can load: what Go says of it.
fn certificate(new: &Value) -> Option<String> {
    if new.get("type").is_none_or(|kind| kind != "kubernetes.io/tls") {
        return None;
    }
    let begins = |name: &str| {
        let data = new.pointer(&format!("/data/{name}")).and_then(Value::as_str).unwrap_or_default();
        // "-----BEGIN" in base64, at each of the three places that it can have in a group.
        ["LS0tLS1CRUdJT", "0tLS0tQkVHSU", "tLS0tLUJFR0lO"].iter().any(|mark| data.contains(mark))
    };
    match (begins("tls.crt"), begins("tls.key")) {
        (false, _) => Some("tls: failed to find any PEM data in certificate input".to_owned()),
        (true, false) => Some("tls: failed to find any PEM data in key input".to_owned()),
        (true, true) => None,
    }
}

fn node(new: &Value, told: &mut Vec<String>) {
    let spec = new.get("spec").unwrap_or(&Value::Null);
    if spec.get("configSource").is_some_and(|one| !one.is_null()) {
        told.push("spec.configSource: the feature is removed".to_owned());
    }
    if !text(spec, "externalID").is_empty() {
        told.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pair_without_pem_is_told() {
        let secret = |certificate: &str, key: &str| {
            certificate_of(
                json!({"type": "kubernetes.io/tls", "data": {"tls.crt": certificate, "tls.key": key}}),
            )
        };
        #[expect(clippy::needless_pass_by_value, reason = "a test writes it where it is needed")]
        fn certificate_of(secret: Value) -> Option<String> {
            certificate(&secret)
        }
        let pem = "LS0tLS1CRUdJTiBYLS0tLS0K";
        assert!(secret("YQ==", "Yg==").is_some_and(|text| text.ends_with("certificate input")));
        assert!(secret(pem, "Yg==").is_some_and(|text| text.ends_with("key input")));
        assert_eq!(secret(pem, pem), None);
    }
}
