//! Who takes a node away, as its taints say.

use std::fmt;

use replank_model::object::karpenter::DISRUPTED_TAINT;
use replank_model::object::node::Node;
use serde::{Deserialize, Serialize};

/// Somebody else who takes a node away, or says that its machine is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Taker {
    /// Cluster Autoscaler removes it: it drains the node and ends its machine.
    ClusterAutoscaler,
    /// Karpenter disrupts it.
    Karpenter,
    /// aws-node-termination-handler drains it, for its instance is about to go.
    TerminationHandler,
    /// A person, or a controller of theirs, says that the machine is off for good.
    OutOfService,
    /// The cloud says that the machine is off.
    Cloud,
}

/// Taints of nodes that are about to go, or are gone, by key. What only may come (`DeletionCandidateOfClusterAutoscaler`, a rebalance recommendation, scheduled maintenance) is none of
/// them: such nodes serve, and their own `NoSchedule` or `PreferNoSchedule` says what may be placed there.
const TAINTS: [(&str, Taker); 7] = [
    ("ToBeDeletedByClusterAutoscaler", Taker::ClusterAutoscaler),
    (DISRUPTED_TAINT, Taker::Karpenter),
    // Karpenter before its version 1.
    ("karpenter.sh/disruption", Taker::Karpenter),
    ("aws-node-termination-handler/spot-itn", Taker::TerminationHandler),
    ("aws-node-termination-handler/asg-lifecycle-termination", Taker::TerminationHandler),
    ("node.kubernetes.io/out-of-service", Taker::OutOfService),
    ("node.cloudprovider.kubernetes.io/shutdown", Taker::Cloud),
];

impl Taker {
    /// Who takes a node away, if somebody does. Of several the first counts.
    #[must_use]
    pub fn of(node: &Node) -> Option<Self> {
        let bears = |key: &str| node.spec.taints.iter().any(|taint| &*taint.key == key);
        TAINTS.iter().find(|(key, _)| bears(key)).map(|(_, taker)| *taker)
    }
}

impl fmt::Display for Taker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClusterAutoscaler => "Cluster Autoscaler (taint ToBeDeletedByClusterAutoscaler)",
            Self::Karpenter => "Karpenter (taint karpenter.sh/disrupted)",
            Self::TerminationHandler => "aws-node-termination-handler (its taint)",
            Self::OutOfService => {
                "somebody who says that its machine is off (taint node.kubernetes.io/out-of-service)"
            }
            Self::Cloud => "the cloud: its machine is off (taint node.cloudprovider.kubernetes.io/shutdown)",
        })
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::affinity::{Taint, TaintEffect};

    use super::*;

    #[test]
    fn what_only_may_come_takes_no_node_away() {
        let with = |key: &str| {
            let mut node = Node::default();
            node.spec.taints.push(Taint::new(key, TaintEffect::NoSchedule));
            Taker::of(&node)
        };
        assert_eq!(Taker::of(&Node::default()), None);
        for (key, taker) in TAINTS {
            assert_eq!(with(key), Some(taker));
            assert!(!taker.to_string().is_empty());
        }
        for key in [
            "DeletionCandidateOfClusterAutoscaler",
            "aws-node-termination-handler/rebalance-recommendation",
            "aws-node-termination-handler/scheduled-maintenance",
            "node.kubernetes.io/unschedulable",
            "node.kubernetes.io/not-ready",
        ] {
            assert_eq!(with(key), None, "{key}");
        }
    }
}
