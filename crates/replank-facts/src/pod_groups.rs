//! Security groups of pods: which pods have some of their own, how many of them an instance takes, and what the VPC CNI plugin is told.
//!
//! A SecurityGroupPolicy selects pods when they are created. Each of them gets a branch network interface with the policy's security groups, and the resource
//! `vpc.amazonaws.com/pod-eni` in its first container (aws/amazon-vpc-resource-controller-k8s, commit b8d42511: webhooks/core/pod_webhook.go, pkg/utils/helper.go
//! `filterPodSecurityGroups`). The plugin's settings: README.md of aws/amazon-vpc-cni-k8s, August 2026.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::render;
use replank_model::object::workload::DaemonSet;
use replank_model::selector::LabelSelector;
use replank_model::text::Text;
use replank_model::view::View;
use serde_json::Value;

/// The resource of which a node has as many as branch interfaces.
pub const POD_ENI: &str = "vpc.amazonaws.com/pod-eni";
/// The label of pods on Fargate, which have a machine of their own.
const FARGATE: &str = "eks.amazonaws.com/fargate-profile";
/// Branch interfaces by instance type.
const TABLE: &str = include_str!("../data/branch-interfaces.tsv");

/// How many branch interfaces an instance of a type has: 0 where the type supports none, `None` where it is not known.
#[must_use]
pub fn branch_interfaces(instance_type: &str) -> Option<i64> {
    let rows = TABLE.lines().filter_map(|line| line.split_once('\t'));
    let mut of_type = rows.filter(|(name, _)| *name == instance_type);
    of_type.next().and_then(|(_, number)| number.parse().ok())
}

/// The security groups that a pod has of its own; `None` where it shares those of its node. Empty where only its request tells that it has some.
#[must_use]
pub fn of(view: &View, pod: &Pod) -> Option<BTreeSet<String>> {
    if pod.spec.host_network || pod.meta.labels.contains_key(FARGATE) {
        return None;
    }
    let asks = requests(&pod.spec);
    let policies = view.others_in("vpcresources.k8s.aws", "SecurityGroupPolicy", &pod.meta.namespace);
    let ids: BTreeSet<String> = policies.flat_map(|policy| of_policy(view, pod, policy, asks)).collect();
    (asks || !ids.is_empty()).then_some(ids)
}

/// The security groups of a policy that selects a pod. Where its service account is not in the input, the pod's request tells.
fn of_policy(view: &View, pod: &Pod, policy: &Arc<Other>, asks: bool) -> Vec<String> {
    let whole = render(&Object::Other(policy.clone()));
    let spec = &whole["spec"];
    let ids = spec["securityGroups"]["groupIds"].as_array().into_iter().flatten();
    let ids: Vec<String> = ids.filter_map(Value::as_str).map(str::to_owned).collect();
    let (of_pods, of_accounts) = (&spec["podSelector"], &spec["serviceAccountSelector"]);
    if (of_pods.is_null() && of_accounts.is_null()) || ids.is_empty() {
        return Vec::new();
    }
    let name = match pod.spec.service_account_name.is_empty() {
        true => "default".into(),
        false => pod.spec.service_account_name.clone(),
    };
    let key = Key { namespace: pod.meta.namespace.clone(), name: name.as_ref().into() };
    let account = || view.other("", "ServiceAccount", &key);
    let has_pods = of_pods.is_null() || selects(of_pods, |label| pod.meta.labels.value(label)) == Some(true);
    let has_accounts = of_accounts.is_null()
        || match account() {
            Some(account) => selects(of_accounts, |label| account.meta.labels.value(label)) == Some(true),
            None => asks,
        };
    if has_pods && has_accounts { ids } else { Vec::new() }
}

fn selects<'a>(selector: &Value, label: impl Fn(&str) -> Option<&'a str>) -> Option<bool> {
    let selector: LabelSelector = serde_json::from_value(selector.clone()).ok()?;
    Some(selector.compile().ok()?.matches(label))
}

fn requests(spec: &PodSpec) -> bool {
    spec.containers.iter().any(|container| {
        let resources = &container.resources;
        resources.requests.get(POD_ENI).is_some() || resources.limits.get(POD_ENI).is_some()
    })
}

/// Whether kubelet probes a pod over the network.
#[must_use]
pub fn is_probed(spec: &PodSpec) -> bool {
    const PROBES: [&str; 3] = ["readinessProbe", "livenessProbe", "startupProbe"];
    let raw = spec.raw.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok()).unwrap_or_default();
    let containers = raw["containers"].as_array().into_iter().flatten();
    containers
        .flat_map(|container| PROBES.map(|probe| &container[probe]))
        .any(|probe| ["httpGet", "tcpSocket", "grpc"].iter().any(|way| !probe[way].is_null()))
}

/// What the VPC CNI plugin is told of pods' security groups. `None`: the snapshot leaves the value out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// `ENABLE_POD_ENI`: whether nodes get a trunk interface.
    pub is_enabled: Option<bool>,
    /// `POD_SECURITY_GROUP_ENFORCING_MODE`: whether a pod's rules hold on its own node, too.
    pub is_strict: Option<bool>,
    /// `DISABLE_TCP_EARLY_DEMUX` of its init container: without it kubelet's connections to such a pod fail in strict mode.
    pub reaches_pods: Option<bool>,
}

impl Plugin {
    /// As DaemonSet `aws-node` says it, if it is there.
    #[must_use]
    pub fn of(view: &View) -> Option<Self> {
        let key = Key { namespace: "kube-system".into(), name: "aws-node".into() };
        let set = view.find::<DaemonSet>(&key)?;
        let raw = set.spec.template.spec.raw.as_deref()?;
        let spec: Value = serde_json::from_str(raw).ok()?;
        let is = |list: &str, name: &str, word: &str, default: bool| match setting(&spec[list], name) {
            None => Some(default),
            Some(value) => value.map(|text| text.eq_ignore_ascii_case(word)),
        };
        Some(Self {
            is_enabled: is("containers", "ENABLE_POD_ENI", "true", false),
            is_strict: is("containers", "POD_SECURITY_GROUP_ENFORCING_MODE", "standard", false).map(|it| !it),
            reaches_pods: is("initContainers", "DISABLE_TCP_EARLY_DEMUX", "true", false),
        })
    }
}

/// A variable of one of some containers: none where no one has it, `Some(None)` where its value is left out.
fn setting(containers: &Value, name: &str) -> Option<Option<Text>> {
    let mut variables =
        containers.as_array().into_iter().flatten().filter_map(|one| one["env"].as_array()).flatten();
    variables.find(|one| one["name"] == name).map(|one| one["value"].as_str().map(Text::from))
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use serde_json::json;

    use super::*;

    fn view(objects: Vec<Value>) -> View {
        objects.into_iter().map(|one| Delta::Put(Object::from_json(one).expect("valid"))).collect()
    }

    fn pod(more: Value) -> Value {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cart", "namespace": "shop", "uid": "p", "labels": {"app": "cart"}},
            "spec": {"serviceAccountName": "cart", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
        crate::testing::merge(&mut pod, more);
        pod
    }

    fn policy(spec: Value) -> Value {
        let mut policy = json!({"apiVersion": "vpcresources.k8s.aws/v1beta1", "kind": "SecurityGroupPolicy",
            "metadata": {"name": "cart", "namespace": "shop", "uid": "s"}, "spec": {"securityGroups": {"groupIds": ["sg-cart", "sg-cluster"]}}});
        crate::testing::merge(&mut policy["spec"], spec);
        policy
    }

    fn account(labels: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "cart", "namespace": "shop", "uid": "a", "labels": labels}})
    }

    fn own(objects: Vec<Value>) -> Option<Vec<String>> {
        let view = view(objects);
        let pod = view.pods.unordered().next().expect("a pod").1.clone();
        of(&view, &pod).map(|ids| ids.into_iter().collect())
    }

    const ENI: &str = r#"{"spec": {"containers": [{"name": "c", "resources": {"limits": {"vpc.amazonaws.com/pod-eni": "1"}, "requests": {"vpc.amazonaws.com/pod-eni": "1"}}}]}}"#;

    #[test]
    fn a_policy_selects_pods_by_their_labels_and_those_of_their_account() {
        let both = || Some(vec!["sg-cart".to_owned(), "sg-cluster".to_owned()]);
        let by_pod = || policy(json!({"podSelector": {"matchLabels": {"app": "cart"}}}));
        assert_eq!(own(vec![pod(json!({})), by_pod()]), both());
        assert_eq!(own(vec![pod(json!({"metadata": {"labels": {"app": "search"}}})), by_pod()]), None);
        assert_eq!(own(vec![pod(json!({"spec": {"hostNetwork": true}})), by_pod()]), None);
        assert_eq!(own(vec![pod(json!({})), policy(json!({}))]), None, "it has no selector");
        assert_eq!(own(vec![pod(json!({})), policy(json!({"podSelector": {}}))]), both(), "it selects all");
        let by_account = || policy(json!({"serviceAccountSelector": {"matchLabels": {"tier": "money"}}}));
        assert_eq!(own(vec![pod(json!({})), by_account(), account(&json!({"tier": "money"}))]), both());
        assert_eq!(own(vec![pod(json!({})), by_account(), account(&json!({"tier": "shop"}))]), None);
        assert_eq!(own(vec![pod(json!({})), by_account()]), None, "its account is not in the input");
        let asking = || pod(serde_json::from_str(ENI).expect("JSON"));
        assert_eq!(own(vec![asking(), by_account()]), both(), "its request tells that it was selected");
        assert_eq!(own(vec![asking()]), Some(Vec::new()));
    }

    #[test]
    fn branch_interfaces_are_those_of_the_type() {
        assert_eq!(branch_interfaces("m5.large"), Some(9));
        assert_eq!(branch_interfaces("t3.large"), Some(0));
        assert_eq!(branch_interfaces("m99.large"), None);
    }

    #[test]
    fn the_plugin_says_what_new_nodes_get() {
        let of = |env: Value, init: Value| {
            let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "aws-node", "namespace": "kube-system", "uid": "d"},
                "spec": {"template": {"spec": {"containers": [{"name": "aws-node", "env": env}], "initContainers": [{"name": "aws-vpc-cni-init", "env": init}]}}}});
            Plugin::of(&view(vec![set])).expect("it is there")
        };
        let plain = of(json!([]), json!([]));
        let none = Plugin { is_enabled: Some(false), is_strict: Some(true), reaches_pods: Some(false) };
        assert_eq!(plain, none);
        let all = of(
            json!([{"name": "ENABLE_POD_ENI", "value": "true"}, {"name": "POD_SECURITY_GROUP_ENFORCING_MODE", "value": "standard"}]),
            json!([{"name": "DISABLE_TCP_EARLY_DEMUX", "value": "true"}]),
        );
        let told = Plugin { is_enabled: Some(true), is_strict: Some(false), reaches_pods: Some(true) };
        assert_eq!(all, told);
        assert_eq!(of(json!([{"name": "ENABLE_POD_ENI"}]), json!([])).is_enabled, None, "it is left out");
        assert_eq!(Plugin::of(&view(Vec::new())), None);
    }

    #[test]
    fn probes_over_the_network_are_told_from_commands() {
        let is = |probe: Value| {
            let pod = pod(json!({"spec": {"containers": [{"name": "c", "readinessProbe": probe}]}}));
            let view = view(vec![pod]);
            let pod = view.pods.unordered().next().expect("a pod").1.clone();
            is_probed(&pod.spec)
        };
        assert!(is(json!({"httpGet": {"port": 8080}})));
        assert!(!is(json!({"exec": {"command": ["true"]}})));
    }
}
