//! Which groups are similar, so that `--balance-similar-node-groups` keeps them at one size.
//!
//! Source: Cluster Autoscaler, processors/nodegroupset (`compare_nodegroups.go`, `aws_nodegroups.go`): equal cpu, memory that differs by
//! 1.5% at most, free and allocatable amounts by 5% at most, and the same labels but for those that name place, node or group.

use replank_model::object::node::Node;
use replank_model::object::resources::{CPU, MEMORY, Resources};
use replank_model::quantity::Quantity;

use super::amounts::Amounts;
use super::options::Options;

/// Labels that may differ.
const IGNORED: [&str; 22] = [
    "kubernetes.io/hostname",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "beta.kubernetes.io/fluentd-ds-ready",
    "kops.k8s.io/instancegroup",
    "alpha.eksctl.io/instance-id",
    "alpha.eksctl.io/nodegroup-name",
    "eks.amazonaws.com/nodegroup",
    "eks.amazonaws.com/nodegroup-image",
    "eks.amazonaws.com/sourceLaunchTemplateId",
    "eks.amazonaws.com/sourceLaunchTemplateVersion",
    "k8s.amazonaws.com/eniConfig",
    "lifecycle",
    "k8s.io/cloud-provider-aws",
    "topology.k8s.aws/zone-id",
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "topology.ebs.csi.aws.com/zone",
    "vpc.amazonaws.com/eniConfig",
];
/// Memory may differ by so many parts of a thousand, other amounts by so many.
const MEMORY_MILLI: i128 = 15;
const AMOUNT_MILLI: i128 = 50;

/// Whether nodes of two groups are alike.
pub(super) fn are_similar(
    (a, free_a): (&Node, &Amounts),
    (b, free_b): (&Node, &Amounts),
    options: &Options,
) -> bool {
    let (labels_a, labels_b) = (&a.meta.labels, &b.meta.labels);
    if !options.balancing_labels.is_empty() {
        return options.balancing_labels.iter().all(|key| labels_a.get(key) == labels_b.get(key));
    }
    let counts =
        |key: &str| !IGNORED.contains(&key) && !options.balancing_ignored.iter().any(|one| **one == *key);
    let kept = |node: &Node| {
        let labels = node.meta.labels.iter().filter(|(key, _)| counts(key));
        labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    kept(a) == kept(b)
        && same_capacity(&a.status.capacity, &b.status.capacity)
        && alike(&a.status.allocatable, &b.status.allocatable)
        && free_a.len() == free_b.len()
        && free_a.iter().zip(free_b).all(|(one, other)| is_near(*one, *other, AMOUNT_MILLI))
}

fn same_capacity(a: &Resources, b: &Resources) -> bool {
    let names = |list: &Resources| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    names(a) == names(b)
        && a.iter().zip(b.iter()).all(|((name, one), (_, other))| match &**name {
            MEMORY => is_near(one.value(), other.value(), MEMORY_MILLI),
            CPU => one == other,
            _ => one.value() == other.value() || &**name == "pods" || &**name == "ephemeral-storage",
        })
}

fn alike(a: &Resources, b: &Resources) -> bool {
    let value =
        |name: &str, quantity: &Quantity| if name == CPU { quantity.milli_value() } else { quantity.value() };
    a.iter().all(|(name, one)| {
        b.get(name).is_some_and(|other| is_near(value(name, one), value(name, other), AMOUNT_MILLI))
    })
}

fn is_near(a: i64, b: i64, milli: i128) -> bool {
    let (a, b) = (i128::from(a), i128::from(b));
    (a - b).abs() * 1_000 <= a.max(b) * milli
}
