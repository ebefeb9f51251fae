//! What the parts of the rule share: its findings, and which nodes are spot capacity.

use replank_model::object::node::Node;

use super::super::super::finding::{Finding, ObjectName, Rule, Severity};

pub(super) fn finding(
    object: ObjectName,
    severity: Severity,
    reason: String,
    remedy: impl Into<String>,
) -> Finding {
    Finding { rule: Rule::TerminationSetup, severity, object, reason, remedy: remedy.into().into() }
}

/// By the labels of EKS, Karpenter and kops.
pub(super) fn is_spot(node: &Node) -> bool {
    let labels = &node.meta.labels;
    labels.value("eks.amazonaws.com/capacityType") == Some("SPOT")
        || labels.value("karpenter.sh/capacity-type") == Some("spot")
        || labels.value("node.kubernetes.io/lifecycle") == Some("spot")
}
