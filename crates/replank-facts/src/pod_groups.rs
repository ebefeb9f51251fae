//! Security groups of pods: which pods have some of their own, what a new one asks for, how many of them an instance takes, and what the VPC CNI plugin is told.
//!
//! A SecurityGroupPolicy selects pods when they are created. Each of them gets a branch network interface with the policy's security groups, and the resource
//! `vpc.amazonaws.com/pod-eni` in its first container (aws/amazon-vpc-resource-controller-k8s, commit b8d42511: webhooks/core/pod_webhook.go, pkg/utils/helper.go
//! `filterPodSecurityGroups`). The plugin's settings: README.md of aws/amazon-vpc-cni-k8s, August 2026.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::Object;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::render;
use replank_model::object::workload::DaemonSet;
use replank_model::quantity::{Format, Quantity};
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Namespace, Text};
use replank_model::view::View;
use serde_json::Value;

/// The resource of which a node has as many as branch interfaces.
pub const POD_ENI: &str = "vpc.amazonaws.com/pod-eni";
/// The kind of the policies, and its API group.
const KIND: &str = "SecurityGroupPolicy";
const GROUP: &str = "vpcresources.k8s.aws";
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

/// The SecurityGroupPolicies of a cluster, read once for all of its pods.
#[derive(Debug, Default)]
pub struct Policies {
    by_namespace: BTreeMap<Namespace, Vec<Policy>>,
}

/// One whose selectors can be read. Without both it selects nothing.
#[derive(Debug)]
struct Policy {
    ids: Vec<String>,
    /// Of pods; all of them where it is absent.
    pods: Option<Selector>,
    /// Of their service accounts; all of them where it is absent.
    accounts: Option<Selector>,
}

impl Policies {
    /// Those of a view.
    #[must_use]
    pub fn of(view: &View) -> Self {
        Self::read(view.others().filter(|one| &*one.kind == KIND && one.group() == GROUP))
    }

    /// Those of one namespace.
    fn of_namespace(view: &View, namespace: &Namespace) -> Self {
        Self::read(view.others_in(GROUP, KIND, namespace))
    }

    fn read<'o>(all: impl Iterator<Item = &'o Arc<Other>>) -> Self {
        let mut by_namespace: BTreeMap<Namespace, Vec<Policy>> = BTreeMap::new();
        for one in all {
            if let Some(policy) = Policy::read(one) {
                by_namespace.entry(one.meta.namespace.clone()).or_default().push(policy);
            }
        }
        Self { by_namespace }
    }

    /// The security groups that a pod has of its own; `None` where it shares those of its node. Empty where only its request tells that it has some.
    #[must_use]
    pub fn groups_of(&self, view: &View, pod: &Pod) -> Option<BTreeSet<String>> {
        if pod.spec.host_network || pod.meta.labels.contains_key(FARGATE) {
            return None;
        }
        let asks = requests(&pod.spec);
        let here = self.by_namespace.get(&pod.meta.namespace).map_or(&[][..], Vec::as_slice);
        let selecting = here.iter().filter(|policy| policy.selects(view, pod, asks));
        let ids: BTreeSet<String> = selecting.flat_map(|policy| policy.ids.iter().cloned()).collect();
        (asks || !ids.is_empty()).then_some(ids)
    }
}

impl Policy {
    fn read(one: &Arc<Other>) -> Option<Self> {
        let whole = render(&Object::Other(one.clone()));
        let spec = &whole["spec"];
        let ids = spec["securityGroups"]["groupIds"].as_array().into_iter().flatten();
        let ids: Vec<String> = ids.filter_map(Value::as_str).map(str::to_owned).collect();
        let selector = |key: &str| {
            if spec[key].is_null() {
                return Some(None);
            }
            let selector: LabelSelector = serde_json::from_value(spec[key].clone()).ok()?;
            Some(Some(selector.compile().ok()?))
        };
        let (pods, accounts) = (selector("podSelector")?, selector("serviceAccountSelector")?);
        let selects = (pods.is_some() || accounts.is_some()) && !ids.is_empty();
        selects.then_some(Self { ids, pods, accounts })
    }

    /// Whether it selects a pod. Where the pod's service account is not in the input, its request tells.
    fn selects(&self, view: &View, pod: &Pod, asks: bool) -> bool {
        let has = |selector: &Selector, labels: &Labels| selector.matches(|label| labels.value(label));
        if self.pods.as_ref().is_some_and(|pods| !has(pods, &pod.meta.labels)) {
            return false;
        }
        let Some(accounts) = &self.accounts else { return true };
        let name = match &*pod.spec.service_account_name {
            "" => "default",
            name => name,
        };
        let key = Key { namespace: pod.meta.namespace.clone(), name: name.into() };
        view.other("", "ServiceAccount", &key).map_or(asks, |account| has(accounts, &account.meta.labels))
    }
}

/// A new pod as the webhook of EKS's control plane leaves it: where a policy selects it, its first container asks for a branch interface.
#[must_use]
pub fn with_interface(view: &View, mut pod: Arc<Pod>) -> Arc<Pod> {
    let policies = Policies::of_namespace(view, &pod.meta.namespace);
    let is_windows = pod.spec.node_selector.value("kubernetes.io/os") == Some("windows");
    if policies.by_namespace.is_empty() || is_windows || requests(&pod.spec) {
        return pod;
    }
    if policies.groups_of(view, &pod).is_some() {
        let spec = Arc::make_mut(&mut Arc::make_mut(&mut pod).spec);
        if let Some(first) = spec.containers.first_mut() {
            let one = Quantity::from_units(1, Format::DecimalSi);
            first.resources.limits.set(POD_ENI, one.clone());
            first.resources.requests.set(POD_ENI, one);
        }
    }
    pod
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
    use replank_model::object::resources::Resources;
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
        Policies::of(&view).groups_of(&view, &pod).map(|ids| ids.into_iter().collect())
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
    fn policies_are_read_once_for_all_pods() {
        let all =
            view(vec![pod(json!({})), policy(json!({"podSelector": {"matchLabels": {"app": "cart"}}}))]);
        let policies = Policies::of(&all);
        let pods = view(vec![pod(json!({}))]);
        let cart = pods.pods.unordered().next().expect("a pod").1.clone();
        let own = policies.groups_of(&pods, &cart).expect("a policy selects it");
        assert_eq!(own.len(), 2, "no policy is asked of this view: {own:?}");
        assert_eq!(Policies::of(&pods).groups_of(&pods, &cart), None);
    }

    #[test]
    fn a_new_pod_that_a_policy_selects_asks_for_an_interface() {
        let asks = |objects: Vec<Value>| {
            let view = view(objects);
            let pod = view.pods.unordered().next().expect("a pod").1.clone();
            let new = with_interface(&view, pod.clone());
            assert_eq!(requests(&new.spec), !Arc::ptr_eq(&new, &pod), "nothing else is changed");
            let of = |resources: &Resources| resources.get(POD_ENI).map(Quantity::value);
            let of = |spec: &PodSpec, at: usize| {
                let resources = &spec.containers[at].resources;
                (of(&resources.requests), of(&resources.limits))
            };
            (of(&new.spec, 0), of(&new.spec, 1))
        };
        let two = |more: Value| {
            let mut two = pod(json!({"spec": {"containers": [{"name": "c"}, {"name": "side"}]}}));
            crate::testing::merge(&mut two, more);
            two
        };
        let selecting = || policy(json!({"podSelector": {"matchLabels": {"app": "cart"}}}));
        let (one, none) = ((Some(1), Some(1)), (None, None));
        assert_eq!(asks(vec![two(json!({})), selecting()]), (one, none));
        assert_eq!(asks(vec![two(json!({}))]), (none, none));
        assert_eq!(
            asks(vec![two(json!({"metadata": {"labels": {"app": "search"}}})), selecting()]),
            (none, none)
        );
        assert_eq!(asks(vec![two(json!({"spec": {"hostNetwork": true}})), selecting()]), (none, none));
        let windows = json!({"spec": {"nodeSelector": {"kubernetes.io/os": "windows"}}});
        assert_eq!(asks(vec![two(windows), selecting()]), (none, none));
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
