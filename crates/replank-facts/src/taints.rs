//! Taints that come and go by themselves.

use replank_model::object::affinity::Taint;

/// Taints that come and go by themselves (node life cycle, cloud controller, cluster-autoscaler, Karpenter, and those that
/// agents take off when they run: EBS and EFS CSI, Cilium). A node of the group that has just joined has none of them.
const PASSING: [&str; 4] =
    ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/", "node.cilium.io/"];

const PASSING_KEYS: [&str; 4] = [
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "ebs.csi.aws.com/agent-not-ready",
    "efs.csi.aws.com/agent-not-ready",
];

/// Whether a taint comes and goes by itself.
pub fn is_passing(taint: &Taint) -> bool {
    PASSING.iter().any(|prefix| taint.key.starts_with(prefix)) || PASSING_KEYS.contains(&&*taint.key)
}
