//! APIServices: one for each group version that is served, kept as kube-apiserver's autoregistration keeps them
//! (kube-aggregator, controllers/autoregister; pkg/controlplane/apiserver/aggregator.go).

use std::collections::BTreeMap;

use replank_apiserver::ResourceType;
use replank_model::time::Time;
use replank_model::version::compare_api_versions;
use serde_json::{Value, json};

/// Where they are.
pub(crate) const PATH: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// A group: its versions with their priorities, and its own.
type Row = (&'static str, &'static [(&'static str, i64)], i64);

/// Group, versions, and the priority of the group among all; the lists of clients follow it.
const GROUPS: [Row; 20] = [
    ("", &[("v1", 1)], 18_000),
    ("apps", &[("v1", 15)], 17_800),
    ("events.k8s.io", &[("v1", 15)], 17_750),
    ("authentication.k8s.io", &[("v1", 15)], 17_700),
    ("authorization.k8s.io", &[("v1", 15)], 17_600),
    ("autoscaling", &[("v1", 15), ("v2", 30)], 17_500),
    ("batch", &[("v1", 15)], 17_400),
    ("certificates.k8s.io", &[("v1", 15)], 17_300),
    ("networking.k8s.io", &[("v1", 15)], 17_200),
    ("policy", &[("v1", 15)], 17_100),
    ("rbac.authorization.k8s.io", &[("v1", 15)], 17_000),
    ("storage.k8s.io", &[("v1", 15)], 16_800),
    ("admissionregistration.k8s.io", &[("v1", 15)], 16_700),
    ("apiextensions.k8s.io", &[("v1", 15)], 16_700),
    ("scheduling.k8s.io", &[("v1", 15)], 16_600),
    ("coordination.k8s.io", &[("v1", 15)], 16_500),
    ("node.k8s.io", &[("v1", 15)], 16_300),
    ("discovery.k8s.io", &[("v1", 15)], 16_200),
    ("resource.k8s.io", &[("v1", 21)], 16_200),
    ("flowcontrol.apiserver.k8s.io", &[("v1", 21)], 16_100),
];
/// What tells who keeps an APIService.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// The APIServices of what is built in: there from the start.
pub(crate) fn built_in(now: Time) -> Vec<Value> {
    let of = |(group, versions, priority): &Row| -> Vec<Value> {
        let (group, priority) = (*group, *priority);
        versions
            .iter()
            .map(|(version, own)| local((group, version), (priority, *own), "onstart", now))
            .collect()
    };
    let mut all: Vec<Value> = GROUPS.iter().flat_map(of).collect();
    all.push(metrics(now));
    all
}

/// The APIServices of what definitions declare, by name: all of one priority, so that versions go by their age.
pub(crate) fn custom(resources: &[ResourceType], now: Time) -> BTreeMap<String, Value> {
    let mut made: Vec<(&str, &str)> =
        resources.iter().map(|resource| (&*resource.name.group, &*resource.version)).collect();
    made.sort_by(|one, other| one.0.cmp(other.0).then_with(|| compare_api_versions(one.1, other.1)));
    made.dedup();
    let is_built_in = |name: &str| GROUPS.iter().any(|(group, ..)| *group == name);
    made.retain(|(group, _)| !is_built_in(group));
    let of = |(group, version): (&str, &str)| {
        (format!("{version}.{group}"), local((group, version), (1_000, 100), "true", now))
    };
    made.into_iter().map(of).collect()
}

/// An APIService that this server answers itself.
fn local((group, version): (&str, &str), (priority, own): (i64, i64), managed: &str, now: Time) -> Value {
    let mut spec = json!({"groupPriorityMinimum": priority, "version": version, "versionPriority": own});
    if !group.is_empty() {
        spec["group"] = group.into();
    }
    let status = available("Local", "Local APIServices are always available", now);
    json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}"), "labels": {MANAGED: managed}}, "spec": spec, "status": status})
}

/// The one of metrics-server, as its manifests register it.
fn metrics(now: Time) -> Value {
    json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io", "labels": {"k8s-app": "metrics-server"}},
        "spec": {"group": "metrics.k8s.io", "groupPriorityMinimum": 100, "insecureSkipTLSVerify": true, "version": "v1beta1",
            "versionPriority": 100, "service": {"name": "metrics-server", "namespace": "kube-system", "port": 443}},
        "status": available("Passed", "all checks passed", now)})
}

fn available(reason: &str, message: &str, now: Time) -> Value {
    json!({"conditions": [{"type": "Available", "status": "True", "reason": reason, "message": message,
        "lastTransitionTime": now.to_string()}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_each_group_has_one() {
        let all = built_in(Time::from_millis(0));
        let names: Vec<&str> = all.iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
        assert_eq!((names[0], names[1], names.len()), ("v1.", "v1.apps", 22));
        assert_eq!(all[0]["spec"].get("group"), None);
    }

    #[test]
    fn a_definition_of_a_built_in_group_adds_none() {
        let resource = |group: &str| {
            let mut one =
                ResourceType::built_in("apps", "v1", "deployments").expect("it is built in").clone();
            one.name.group = group.into();
            one
        };
        let made = custom(
            &[resource("example.com"), resource("apps"), resource("example.com")],
            Time::from_millis(0),
        );
        assert_eq!(made.keys().collect::<Vec<_>>(), ["v1.example.com"]);
    }
}
