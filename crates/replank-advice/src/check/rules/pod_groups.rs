//! Pods with security groups of their own: whether new nodes have a branch network interface for each, and whether kubelet reaches them there.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::pod_groups::{self, POD_ENI, Plugin, Policies};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_INSTANCE_TYPE, Node};
use replank_model::object::pod::Pod;
use replank_model::quantity::Quantity;
use replank_model::text::{GroupName, NodeName};

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted, pods};
use super::super::survey::{Subject, Survey};

/// Such a pod, and the security groups that it is known to have.
type Own<'a> = (&'a Subject, BTreeSet<String>);

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let policies = Policies::of(survey.view);
    let subjects = survey.subjects.iter();
    let all: Vec<Own<'_>> = subjects
        .filter_map(|subject| Some((subject, policies.groups_of(survey.view, &subject.pod)?)))
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let landing = survey.plan.and_then(|plan| plan.target.group.clone());
    let renewed = landing.map_or_else(|| survey.groups_touched(), |landing| BTreeSet::from([landing]));
    let mut nodes: BTreeMap<GroupName, BTreeMap<NodeName, &Node>> = BTreeMap::new();
    for (_, node) in survey.view.nodes.unordered() {
        if let Some(group) = survey.group_of(node).filter(|group| renewed.contains(group)) {
            nodes.entry(group).or_default().insert(node.name(), node);
        }
    }
    let none = BTreeMap::new();
    let there = |group: &GroupName| There {
        group: group.clone(),
        nodes: nodes.get(group).unwrap_or(&none),
        takes_all: renewed.len() == 1,
    };
    findings.extend(renewed.iter().filter_map(|group| room(survey, &policies, &there(group), &all)));
    findings.extend(Plugin::of(survey.view).and_then(|plugin| settings(&plugin, &all)));
    findings
}

/// What a group's nodes have for such pods.
enum Offer {
    /// Branch interfaces of a node.
    Each(i64),
    /// None, by their instance types.
    OfNoType(String),
    /// None, though this instance type has some.
    NotAttached(String),
}

/// A group in which new nodes come up.
struct There<'a> {
    group: GroupName,
    nodes: &'a BTreeMap<NodeName, &'a Node>,
    /// Whether all pods that move land there, and not only those of its own nodes.
    takes_all: bool,
}

/// Whether a group's new nodes take the pods that move there.
fn room(survey: &Survey<'_>, policies: &Policies, there: &There<'_>, all: &[Own<'_>]) -> Option<Finding> {
    let There { group, nodes, takes_all } = there;
    let moves_there = |subject: &Subject| {
        *takes_all || subject.pod.node.as_ref().is_some_and(|node| nodes.contains_key(node))
    };
    let moved: Vec<&Own<'_>> = all.iter().filter(|(subject, _)| moves_there(subject)).collect();
    if moved.is_empty() {
        return None;
    }
    let shown: Vec<&Node> = nodes.values().copied().collect();
    let finding = |reason: String, remedy: &str| Finding {
        rule: Rule::PodSecurityGroups,
        severity: Severity::Warning,
        object: ObjectName::new("NodeGroup", Key::cluster(group.as_str())),
        reason,
        remedy: remedy.to_owned().into(),
    };
    let them = told(&moved);
    match offer(&shown)? {
        Offer::OfNoType(types) => Some(finding(
            format!("{them}, and {types} no branch interfaces: they stay Pending there"),
            "choose instance types with branch interfaces (IsTrunkingCompatible in limits.go of aws/amazon-vpc-resource-controller-k8s; none of the t families)",
        )),
        Offer::NotAttached(kind) => Some(finding(
            format!(
                "{them}, and no node of the group has {POD_ENI}, though {kind} supports it: they stay Pending there"
            ),
            "kubectl get nodes -L vpc.amazonaws.com/has-trunk-attached   # nodes that joined before ENABLE_POD_ENI was true, or without a free network interface, have none",
        )),
        Offer::Each(each) => {
            let is_kept = |node: &&&Node| !survey.nodes.contains(&node.name());
            let free: i64 = shown.iter().filter(is_kept).map(|node| free(survey, policies, node)).sum();
            let replaced = survey.nodes.iter().filter(|name| *takes_all || nodes.contains_key(*name));
            let new = i64::try_from(replaced.count()).unwrap_or(i64::MAX);
            let (wanted, has) = (i64::try_from(moved.len()).unwrap_or(i64::MAX), free + each * new);
            (wanted > has).then(|| {
                finding(
                    format!(
                        "{them}, and {} with {} each and {free} free on nodes of the group take {has}",
                        counted(usize::try_from(new).unwrap_or(0), "new node"),
                        counted(usize::try_from(each).unwrap_or(0), "branch interface")
                    ),
                    "choose larger instance types, or more nodes: each such pod takes a branch interface, whatever the node's limit of pods",
                )
            })
        }
    }
}

/// What the nodes of a group show, the smallest of them; nothing where the group shows none, or its types are not known.
fn offer(shown: &[&Node]) -> Option<Offer> {
    let offered = |node: &Node| node.status.allocatable.get(POD_ENI).map(Quantity::value);
    if let Some(least) = shown.iter().filter_map(|node| offered(node)).filter(|number| *number > 0).min() {
        return Some(Offer::Each(least));
    }
    let types = shown.iter().filter_map(|node| node.meta.labels.value(LABEL_INSTANCE_TYPE));
    let types: BTreeSet<&str> = types.collect();
    let supports = |one: &&&str| pod_groups::branch_interfaces(one).is_some_and(|number| number > 0);
    if let Some(one) = types.iter().find(supports) {
        return Some(Offer::NotAttached((*one).to_owned()));
    }
    let are_known = types.iter().all(|one| pod_groups::branch_interfaces(one).is_some());
    let names: Vec<&str> = types.into_iter().collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    (are_known && !names.is_empty()).then(|| Offer::OfNoType(format!("{} {verb}", names.join(" and "))))
}

/// Branch interfaces of a node that no pod has.
fn free(survey: &Survey<'_>, policies: &Policies, node: &Node) -> i64 {
    let has = node.status.allocatable.get(POD_ENI).map_or(0, Quantity::value);
    let pods = survey.view.sorted_pods_on(&node.name());
    let has_own = |pod: &Pod| !pod.is_terminal() && policies.groups_of(survey.view, pod).is_some();
    let own = pods.iter().filter(|pod| has_own(pod));
    (has - i64::try_from(own.count()).unwrap_or(0)).max(0)
}

/// `3 pods of 2 workloads have security groups of their own (sg-cart)`.
fn told(moved: &[&Own<'_>]) -> String {
    let workloads: BTreeSet<_> = moved.iter().filter_map(|(subject, _)| subject.workload.as_ref()).collect();
    let of = match workloads.first() {
        Some(one) if workloads.len() == 1 => format!(" of {} {}", one.kind, one.key),
        Some(_) => format!(" of {}", counted(workloads.len(), "workload")),
        None => String::new(),
    };
    let ids: Vec<&str> = moved.iter().flat_map(|(_, ids)| ids).map(String::as_str).collect();
    let ids: BTreeSet<&str> = ids.into_iter().collect();
    let which = match ids.is_empty() {
        true => String::new(),
        false => format!(" ({})", ids.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let verb = if moved.len() == 1 { "has" } else { "have" };
    format!("{}{of} {verb} security groups of their own{which}", pods(moved.len()))
}

/// What the plugin's settings make of such pods on new nodes.
fn settings(plugin: &Plugin, all: &[Own<'_>]) -> Option<Finding> {
    let finding = |reason: String, remedy: &str| Finding {
        rule: Rule::PodSecurityGroups,
        severity: Severity::Warning,
        object: ObjectName::new(
            "DaemonSet",
            Key { namespace: "kube-system".into(), name: "aws-node".into() },
        ),
        reason,
        remedy: remedy.to_owned().into(),
    };
    if plugin.is_enabled == Some(false) {
        let them = told(&all.iter().collect::<Vec<_>>());
        return Some(finding(
            format!(
                "ENABLE_POD_ENI is not true: new nodes get no trunk interface; {them}, and stay Pending there"
            ),
            "set ENABLE_POD_ENI to \"true\" in the add-on's configuration, and wait for vpc.amazonaws.com/pod-eni on new nodes",
        ));
    }
    let probed: Vec<&Own<'_>> =
        all.iter().filter(|(subject, _)| pod_groups::is_probed(&subject.pod.spec)).collect();
    let fails = plugin.is_strict == Some(true) && plugin.reaches_pods == Some(false) && !probed.is_empty();
    fails.then(|| {
        finding(
            format!(
                "POD_SECURITY_GROUP_ENFORCING_MODE is strict and DISABLE_TCP_EARLY_DEMUX of aws-vpc-cni-init is not true: kubelet's probes over TCP fail on new nodes; {}",
                told(&probed)
            ),
            "set DISABLE_TCP_EARLY_DEMUX to \"true\" in the init container's env (init.env of the add-on's configuration), or probe these pods by a command",
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, merge, node, service};
    use super::*;

    fn of_type(name: &str, group: &str, kind: &str, interfaces: Option<&str>) -> Value {
        let mut one = node(name, "a");
        merge(
            &mut one,
            json!({"metadata": {"labels": {"eks.amazonaws.com/nodegroup": group, "node.kubernetes.io/instance-type": kind}}}),
        );
        if let Some(number) = interfaces {
            merge(&mut one, json!({"status": {"allocatable": {POD_ENI: number}}}));
        }
        one
    }

    fn policy(app: &str) -> Value {
        json!({"apiVersion": "vpcresources.k8s.aws/v1beta1", "kind": "SecurityGroupPolicy", "metadata": {"name": app, "namespace": "shop", "uid": format!("s-{app}")},
            "spec": {"podSelector": {"matchLabels": {"app": app}}, "securityGroups": {"groupIds": ["sg-cart"]}}})
    }

    fn plugin(env: &Value, init: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "aws-node", "namespace": "kube-system", "uid": "d"},
            "spec": {"template": {"spec": {"containers": [{"name": "aws-node", "env": env}], "initContainers": [{"name": "aws-vpc-cni-init", "env": init}]}}}})
    }

    fn moved(landing: Value, more: Vec<Value>) -> Vec<String> {
        let old = of_type("n", "web", "m5.large", Some("9"));
        let cart = service("cart", &["n", "n"], &json!({}));
        found_under(
            Rule::PodSecurityGroups,
            |plan| plan.target.group = Some("new".into()),
            [vec![old, landing], cart, more].concat(),
        )
    }

    #[test]
    fn nodes_without_branch_interfaces_leave_such_pods_pending() {
        let t3 = || of_type("m", "new", "t3.large", None);
        assert_eq!(
            moved(t3(), vec![policy("cart")]),
            [
                "warning pod-security-groups NodeGroup new: 2 pods of Deployment shop/cart have security groups of their own (sg-cart), and t3.large has no branch interfaces: they stay Pending there"
            ]
        );
        assert_eq!(moved(t3(), vec![policy("search")]), [""; 0], "no pod has any of its own");
        assert_eq!(moved(of_type("m", "new", "m6i.large", Some("9")), vec![policy("cart")]), [""; 0]);
        let without = moved(of_type("m", "new", "m6i.large", None), vec![policy("cart")]);
        assert!(without[0].contains("though m6i.large supports it"), "{without:?}");
        assert_eq!(moved(of_type("m", "new", "m99.large", None), vec![policy("cart")]), [""; 0]);
    }

    #[test]
    fn more_such_pods_than_branch_interfaces_are_found() {
        let full = service("other", &["m"], &json!({}));
        let with = |number: &str, more: Vec<Value>| {
            moved(
                of_type("m", "new", "m6i.large", Some(number)),
                [vec![policy("cart"), policy("other")], more].concat(),
            )
        };
        assert_eq!(
            with("1", full.clone()),
            [
                "warning pod-security-groups NodeGroup new: 2 pods of Deployment shop/cart have security groups of their own (sg-cart), and 1 new node with 1 branch interface each and 0 free on nodes of the group take 1"
            ]
        );
        assert_eq!(with("1", Vec::new()), [""; 0], "one is free there");
        assert_eq!(with("2", full), [""; 0]);
    }

    #[test]
    fn the_plugins_settings_are_those_of_new_nodes() {
        let on = json!({"name": "ENABLE_POD_ENI", "value": "true"});
        let with = |env: Value, init: Value, probe: Value| {
            let probed = json!({"spec": {"containers": [{"name": "c", "readinessProbe": probe}]}});
            let nodes = vec![of_type("n", "web", "m5.large", Some("9")), policy("cart"), plugin(&env, &init)];
            found(Rule::PodSecurityGroups, [nodes, service("cart", &["n"], &probed)].concat())
        };
        let http = || json!({"httpGet": {"port": 8080}});
        let off = with(json!([]), json!([]), http());
        assert!(off.len() == 1 && off[0].contains("ENABLE_POD_ENI is not true"), "{off:?}");
        let cut = with(json!([on]), json!([]), http());
        assert!(cut.len() == 1 && cut[0].contains("kubelet's probes over TCP fail"), "{cut:?}");
        assert_eq!(with(json!([on]), json!([]), json!({"exec": {"command": ["true"]}})), [""; 0]);
        let reached = json!([{"name": "DISABLE_TCP_EARLY_DEMUX", "value": "true"}]);
        assert_eq!(with(json!([on]), reached, http()), [""; 0]);
        let standard = json!({"name": "POD_SECURITY_GROUP_ENFORCING_MODE", "value": "standard"});
        assert_eq!(with(json!([on, standard]), json!([]), http()), [""; 0]);
    }
}
