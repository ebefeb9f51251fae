//! Which labels a node has from its start, and which somebody puts on it afterwards.
//!
//! A kubelet registers its node with the labels that it is told (`--node-labels`), but not with those of Kubernetes' own domains outside a list: it exits instead
//! (since 1.16; `cmd/kubelet/app/options`), and the admission plugin NodeRestriction would refuse them. Such a label was set by a person, or by a controller with
//! rights of its own.

use std::collections::BTreeSet;

use replank_model::object::affinity::{NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::text::{NodeName, Text};
use replank_model::view::View;
use replank_protocol::provisioner::Provisioner;

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
/// Labels in this domain are what node provisioners and operators set for nodes that must not name themselves so.
const RESTRICTED: &str = "node-restriction.kubernetes.io/";
/// Roles; kops' own controller sets them on its nodes.
const ROLE: &str = "node-role.kubernetes.io/";
/// A label of all nodes of kops.
const KOPS: &str = "kops.k8s.io/instancegroup";
/// Keys that tell a control plane node, as a label and as a taint (kubeadm sets both with its own rights).
pub const CONTROL_PLANE: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Whether a kubelet exits when it is told to set this label.
#[must_use]
pub fn is_refused(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_in = |of: &str| domain == of || domain.ends_with(&format!(".{of}"));
    let is_kubernetes = is_in("kubernetes.io") || is_in("k8s.io");
    is_kubernetes && !ALLOWED.contains(&key) && !ALLOWED_DOMAINS.iter().any(|domain| is_in(domain))
}

/// Whether a label, or a taint, of this key is on a node because a person put it there: a kubelet would not, and no controller does.
#[must_use]
pub fn is_kept_by_hand(key: &str) -> bool {
    is_refused(key) && !BY_CONTROLLERS.iter().any(|known| key.starts_with(known))
}

/// Whether a node has a label by hand, so that a new node of the same group would not.
#[must_use]
pub fn is_by_hand(node: &Node, key: &str) -> bool {
    if !is_kept_by_hand(key) || may_set_any(&node.status.node_info.kubelet_version) {
        return false;
    }
    match Provisioner::of(node) {
        // They write the labels of a pool themselves.
        Provisioner::Karpenter(_) | Provisioner::AutoMode => !key.starts_with(RESTRICTED),
        // What joins by another tool may get its role from that.
        Provisioner::SelfManaged => {
            let is_role_of_kops = key.starts_with(ROLE) && node.meta.labels.contains_key(KOPS);
            !is_role_of_kops && (is_of_eks(node) || !CONTROL_PLANE.contains(&key))
        }
        Provisioner::ManagedGroup | Provisioner::Fargate | Provisioner::Hybrid => true,
    }
}

/// Whether a pod asks for nodes by a label.
#[must_use]
pub fn asks(spec: &PodSpec, key: &str) -> bool {
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

/// Kubelets before 1.16 set every label.
fn may_set_any(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u64>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(1)), Some(Ok(minor))) if minor < 16)
}

/// Whether a node is one of EKS, as its labels or its kubelet tell.
#[must_use]
pub fn is_of_eks(node: &Node) -> bool {
    node.meta.labels.iter().any(|(key, _)| key.starts_with("eks.amazonaws.com/"))
        || node.status.node_info.kubelet_version.contains("-eks-")
}

/// The nodes of the control plane: those with its label or taint. Where API servers run as pods, only their nodes are, and on EKS there are none otherwise: on
/// other nodes a person has used the name for a role.
#[must_use]
pub fn control_plane_nodes(view: &View) -> BTreeSet<NodeName> {
    let is_server = |pod: &Pod| {
        pod.meta.namespace.as_str() == "kube-system"
            && pod.meta.labels.value("component") == Some("kube-apiserver")
    };
    let pods = view.pods.unordered().map(|(_, pod)| pod);
    let servers: BTreeSet<NodeName> =
        pods.filter(|pod| is_server(pod)).filter_map(|pod| pod.node.clone()).collect();
    if servers.is_empty() && view.nodes.unordered().any(|(_, node)| is_of_eks(node)) {
        return BTreeSet::new();
    }
    let says_so = |node: &Node| {
        node.spec.taints.iter().any(|taint| CONTROL_PLANE.contains(&&*taint.key))
            || CONTROL_PLANE.iter().any(|key| node.meta.labels.contains_key(key))
    };
    let nodes = view.nodes.unordered().map(|(_, node)| node).filter(|node| says_so(node));
    nodes.map(|node| node.name()).filter(|name| servers.is_empty() || servers.contains(name)).collect()
}

#[cfg(test)]
mod tests {
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
    fn kubelets_before_1_16_set_every_label() {
        assert!(may_set_any("v1.15.11-eks-af3caf"));
        assert!(!may_set_any("v1.16.0") && !may_set_any("v1.36.2-eks-1") && !may_set_any(""));
    }
}
