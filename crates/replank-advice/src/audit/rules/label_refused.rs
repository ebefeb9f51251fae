//! Node labels that kubelets refuse to set: a node that is made anew comes without them.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::{
    NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, TaintEffect,
};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::PodSpec;
use replank_model::text::Text;

use super::super::engine::Engine;
use super::super::ground::keeps_off;
use super::super::rule::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use replank_facts::finding::counted;
use replank_facts::taints::is_passing;

/// Labels that a kubelet may set on its own node (`pkg/kubelet/apis` `well_known_labels.go`).
const ALLOWED: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];
/// Domains in which it may set any label.
const ALLOWED_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// Labels of Kubernetes' own domains that controllers set, not kubelets: they come to a node by themselves.
const BY_CONTROLLERS: [&str; 3] = ["k8s.io/cloud-provider-aws", "kops.k8s.io/", "minikube.k8s.io/"];
/// Keys that tell a control plane node, as a label and as a taint (kubeadm sets both with its own rights).
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Workloads that are named in one finding.
const NAMED_MAX: usize = 8;

/// Whether a kubelet exits when it is told to set this label (`--node-labels`, since 1.16; `cmd/kubelet/app/options`).
pub(crate) fn is_refused(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_in = |of: &str| domain == of || domain.ends_with(&format!(".{of}"));
    let is_kubernetes = is_in("kubernetes.io") || is_in("k8s.io");
    is_kubernetes && !ALLOWED.contains(&key) && !ALLOWED_DOMAINS.iter().any(|domain| is_in(domain))
}

/// Nodes and workloads that have to do with one refused key.
#[derive(Default)]
struct Use<'a> {
    values: BTreeSet<&'a str>,
    labelled: BTreeSet<&'a str>,
    tainted: BTreeSet<&'a str>,
    /// Values and effects of the taints.
    taints: BTreeSet<(&'a str, TaintEffect)>,
}

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let mut uses: BTreeMap<&str, Use<'_>> = BTreeMap::new();
    for (_, node) in survey.view.nodes.unordered().filter(|(_, node)| !is_control_plane(node)) {
        let name = node.meta.name.as_str();
        for (key, value) in node.meta.labels.iter().filter(|(key, _)| is_kept_by_hand(key)) {
            let found = uses.entry(key).or_default();
            found.labelled.insert(name);
            found.values.insert(value);
        }
        let taints = node.spec.taints.iter().filter(|taint| keeps_off(taint) && !is_passing(taint));
        for taint in taints.filter(|taint| is_kept_by_hand(&taint.key)) {
            let found = uses.entry(&taint.key).or_default();
            found.tainted.insert(name);
            found.taints.insert((&taint.value, taint.effect));
        }
    }
    uses.into_iter().map(|(key, found)| finding(survey, key, &found)).collect()
}

pub(crate) fn is_kept_by_hand(key: &str) -> bool {
    is_refused(key) && !BY_CONTROLLERS.iter().any(|known| key.starts_with(known))
}

fn is_control_plane(node: &Node) -> bool {
    node.spec.taints.iter().any(|taint| CONTROL_PLANE.contains(&&*taint.key))
        || CONTROL_PLANE.iter().any(|key| node.meta.labels.contains_key(key))
}

fn finding(survey: &Survey<'_>, key: &str, found: &Use<'_>) -> Finding {
    let users: Vec<&Subject> = survey
        .subjects
        .iter()
        .filter(|subject| subject.samples.iter().any(|one| asks(&one.pod.spec, key)))
        .collect();
    let what = match (found.labelled.len(), found.tainted.len()) {
        (labelled, 0) => format!("a label of {}", counted(labelled, "node")),
        (0, tainted) => format!("a taint of {}", counted(tainted, "node")),
        (labelled, tainted) => format!("a label of {} and a taint of {tainted}", counted(labelled, "node")),
    };
    let refusal = if found.labelled.is_empty() {
        "the API of EKS managed node groups rejects such a taint"
    } else {
        "kubelets since 1.16 refuse to set such a label, and the API of EKS managed node groups rejects it as label and taint"
    };
    let named: Vec<String> = users.iter().take(NAMED_MAX).map(|subject| subject.name.to_string()).collect();
    let more = users.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let consequence = match users.len() {
        0 => "no workload uses it".to_owned(),
        count => format!(
            "a new node lacks it until it is set by hand, and {} cannot be scheduled there: {}{more}",
            counted(count, "workload"),
            named.join(", ")
        ),
    };
    let kind = if found.labelled.is_empty() { "Taint" } else { "Label" };
    Finding {
        rule: Rule::LabelRefused,
        severity: if users.is_empty() { Severity::Info } else { Severity::Warning },
        object: ObjectName::new(kind, Key::cluster(key)),
        reason: format!("{what}; {refusal}; {consequence}"),
        remedy: remedy(key, found, !users.is_empty()).into(),
    }
}

/// The same under a prefix of one's own, in an order in which every pod has a place at any time.
fn remedy(key: &str, found: &Use<'_>, is_asked_for: bool) -> String {
    let name = own_name(key);
    if !is_asked_for && found.taints.is_empty() {
        return format!(
            "nothing depends on it: leave it as it is, or kubectl label nodes --all {key}-   # and use {name} in the \
             group's own labels"
        );
    }
    let mut lines = vec![format!(
        "use a name of your own, such as {name}, which a launch template or managed group can set (example.com stands for your own domain). To avoid a gap:"
    )];
    // Nodes are named by the old label where they have it, else by hand.
    let nodes = |value: &str| match found.values.contains(value) {
        true => format!("-l {key}={value}"),
        false => "NODE…".to_owned(),
    };
    if !found.labelled.is_empty() {
        lines.push("1. add the new label next to the old one, here and in each group's labels:".to_owned());
        let values = found.values.iter();
        lines.extend(values.map(|value| format!("kubectl label nodes -l {key}={value} {name}={value}")));
    }
    if found.taints.is_empty() {
        lines.push(format!("2. change every workload to select {name} instead of {key}"));
        lines.push("3. when the workloads are rolled out, remove the old label:".to_owned());
    } else {
        // All of them: a step that is left out is a gap.
        let taints = || found.taints.iter();
        lines.push(format!(
            "2. change every workload to tolerate {name} as well as {key}, and to select {name}"
        ));
        lines.push(
            "3. when the workloads are rolled out, add the new taint next to the old one, here and in each group's taints:"
                .to_owned(),
        );
        lines.extend(taints().map(|(value, effect)| {
            format!("kubectl taint nodes {} {}:{effect}", nodes(value), with_value(&name, value))
        }));
        lines.push("4. remove the old label and taint, and then the old tolerations:".to_owned());
        lines.extend(taints().map(|(value, effect)| {
            format!("kubectl taint nodes {} {}:{effect}-", nodes(value), with_value(key, value))
        }));
    }
    if !found.labelled.is_empty() {
        lines.push(format!("kubectl label nodes --all {key}-"));
    }
    lines.join("\n")
}

fn with_value(key: &str, value: &str) -> String {
    if value.is_empty() { key.to_owned() } else { format!("{key}={value}") }
}

/// `example.com/role` for `kubernetes.io/role`, `example.com/gateway` for `node-role.kubernetes.io/gateway`.
fn own_name(key: &str) -> String {
    format!("example.com/{}", key.rsplit('/').next().unwrap_or(key))
}

/// Whether a pod asks for nodes by a label.
fn asks(spec: &PodSpec, key: &str) -> bool {
    let needs = |one: &NodeSelectorRequirement| match one.operator {
        NodeSelectorOperator::In
        | NodeSelectorOperator::Exists
        | NodeSelectorOperator::Gt
        | NodeSelectorOperator::Lt => &*one.key == key,
        // A node without the label is as good.
        NodeSelectorOperator::NotIn | NodeSelectorOperator::DoesNotExist => false,
    };
    let in_term = |term: &NodeSelectorTerm| term.match_expressions.iter().any(needs);
    let affinity = spec.affinity.as_deref();
    let required = affinity.and_then(|affinity| affinity.node_affinity.as_ref()?.required.as_ref());
    let near =
        affinity.into_iter().flat_map(|affinity| [&affinity.pod_affinity, &affinity.pod_anti_affinity]);
    let topologies = near.flatten().flat_map(|one| &one.required).map(|term| &term.topology_key);
    let spread = spec.topology_spread_constraints.iter().map(|one| &one.topology_key);
    let mut topologies = topologies.chain(spread).map(Text::as_ref);
    spec.node_selector.contains_key(key)
        || required.is_some_and(|required| required.node_selector_terms.iter().any(in_term))
        || topologies.any(|topology: &str| topology == key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, labelled, node, remedies, service, tainted};
    use super::*;

    #[test]
    fn the_kubelets_own_list_decides() {
        for key in [
            "kubernetes.io/role",
            "node-role.kubernetes.io/gateway",
            "node-restriction.kubernetes.io/team",
            "x.k8s.io/y",
        ] {
            assert!(is_refused(key), "{key}");
        }
        for key in [
            "kubernetes.io/hostname",
            "topology.kubernetes.io/zone",
            "feature.node.kubernetes.io/cpu",
            "node.kubernetes.io/lifecycle",
            "example.com/role",
            "role",
            "cluster.x-k8s.io/name",
            "eks.amazonaws.com/nodegroup",
        ] {
            assert!(!is_refused(key), "{key}");
        }
    }

    #[test]
    fn a_role_by_a_refused_label_is_found_with_who_depends_on_it_and_a_way_out() {
        let objects = || {
            let master = tainted(
                labelled(node("n", "web", "a"), "kubernetes.io/role", "master"),
                &["kubernetes.io/role=master:NoSchedule"],
            );
            let spec = json!({"spec": {"nodeSelector": {"kubernetes.io/role": "master"},
                "tolerations": [{"key": "kubernetes.io/role", "value": "master"}]}});
            let infra = labelled(node("m", "web", "a"), "kubernetes.io/role", "infra");
            [vec![master, infra], service("lead", &["n"], &spec)].concat()
        };
        assert_eq!(
            found(Rule::LabelRefused, objects()),
            [
                "warning label-refused Label kubernetes.io/role: a label of 2 nodes and a taint of 1; kubelets since 1.16 refuse to set such a label, and the API of EKS managed node groups rejects it as label and taint; a new node lacks it until it is set by hand, and 1 workload cannot be scheduled there: Deployment shop/lead"
            ]
        );
        let remedy = remedies(Rule::LabelRefused, objects()).remove(0);
        let at = |text: &str| remedy.find(text).unwrap_or_else(|| panic!("{text} in {remedy}"));
        let order = [
            at("kubectl label nodes -l kubernetes.io/role=master example.com/role=master"),
            at("2. change every workload to tolerate"),
            at("kubectl taint nodes -l kubernetes.io/role=master example.com/role=master:NoSchedule"),
            at("kubectl taint nodes -l kubernetes.io/role=master kubernetes.io/role=master:NoSchedule-"),
            at("kubectl label nodes --all kubernetes.io/role-"),
        ];
        assert!(order.is_sorted(), "{order:?}");
        assert!(!remedy.contains("infra:NoSchedule"), "what has no taint is given none: {remedy}");
    }

    #[test]
    fn labels_of_controllers_and_of_control_planes_are_not_found_and_unused_ones_only_told() {
        let cloud = labelled(node("n", "web", "a"), "k8s.io/cloud-provider-aws", "x");
        let control = tainted(
            labelled(node("c", "", "a"), "node-role.kubernetes.io/control-plane", ""),
            &["node-role.kubernetes.io/control-plane:NoSchedule"],
        );
        assert_eq!(found(Rule::LabelRefused, vec![cloud, control]), [""; 0]);
        let shown = labelled(node("n", "web", "a"), "node-role.kubernetes.io/web", "");
        assert!(found(Rule::LabelRefused, vec![shown])[0].starts_with("info"));
    }
}
