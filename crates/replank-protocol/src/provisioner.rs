//! Who made a node, and answers for it.
//!
//! A roll replaces the nodes of Auto Scaling groups: it raises the group, and ends instances by their ids. Other nodes have
//! a provisioner that replaces what it made by rules of its own, and would work against a roll: Karpenter disrupts its nodes when
//! they drift from their pool, EKS Auto Mode replaces every node within 21 days, a Fargate node lives as long as the one pod
//! it was made for. Such nodes are recognised and left to their provisioner.
//!
//! Cluster Autoscaler makes no nodes of its own: it changes what groups want, and its groups' nodes are replaced like others.

use std::fmt;

pub use replank_model::object::karpenter::LABEL_NODE_POOL;
use replank_model::object::node::{self, Node};
use replank_model::text::Text;
use serde::{Deserialize, Serialize};

/// Label by which EKS says who runs a node: `fargate`, `auto` (Auto Mode) or `hybrid` (EKS user guide "Fargate pod
/// configuration", "Use Amazon EKS Auto Mode", "Hybrid nodes").
pub const LABEL_COMPUTE_TYPE: &str = "eks.amazonaws.com/compute-type";
/// How Fargate names its nodes (EKS user guide "Fargate pod configuration").
const FARGATE_NAME: &str = "fargate-ip-";
/// API group of Karpenter's NodeClaims, which own the nodes made for them.
const KARPENTER: &str = "karpenter.sh/";

/// Who made a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Provisioner {
    /// Karpenter, for a node pool; the pool's name where the node tells it.
    Karpenter(Option<Text>),
    /// EKS Auto Mode: what is changed by hand is not kept.
    AutoMode,
    /// Fargate, for one pod: no other pod is ever put there.
    Fargate,
    /// A person: a machine of their own, joined as an EKS hybrid node.
    Hybrid,
    /// An EKS managed node group.
    ManagedGroup,
    /// Nobody of these: an Auto Scaling group that somebody runs themselves, or a machine joined by hand.
    SelfManaged,
}

impl Provisioner {
    /// Who made a node, as its labels, its owner and its name tell.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let labels = &node.meta.labels;
        let is_claimed = || {
            let mut owners = node.meta.owner_references.iter();
            owners.any(|owner| &*owner.kind == "NodeClaim" && owner.api_version.starts_with(KARPENTER))
        };
        match labels.value(LABEL_COMPUTE_TYPE) {
            Some("auto") => Self::AutoMode,
            Some("fargate") => Self::Fargate,
            Some("hybrid") => Self::Hybrid,
            Some(_) | None if node.meta.name.as_str().starts_with(FARGATE_NAME) => Self::Fargate,
            Some(_) | None => match labels.get(LABEL_NODE_POOL) {
                Some(pool) => Self::Karpenter(Some(pool.clone())),
                None if is_claimed() => Self::Karpenter(None),
                None if labels.contains_key(node::LABEL_EKS_NODEGROUP) => Self::ManagedGroup,
                None => Self::SelfManaged,
            },
        }
    }

    /// Whether their provisioner replaces the nodes, so that a roll leaves them alone.
    #[must_use]
    pub fn keeps_its_nodes(&self) -> bool {
        match self {
            Self::Karpenter(_) | Self::AutoMode | Self::Fargate | Self::Hybrid => true,
            Self::ManagedGroup | Self::SelfManaged => false,
        }
    }

    /// Whether a node is replaced by deleting its NodeClaim: EKS Auto Mode runs Karpenter, too, with the same API.
    #[must_use]
    pub fn has_claims(&self) -> bool {
        match self {
            Self::Karpenter(_) | Self::AutoMode => true,
            Self::Fargate | Self::Hybrid | Self::ManagedGroup | Self::SelfManaged => false,
        }
    }

    /// How nodes of this provisioner are replaced.
    #[must_use]
    pub fn way(&self) -> &'static str {
        match self {
            Self::Karpenter(_) => "change its NodePool or EC2NodeClass: it replaces nodes that have drifted",
            Self::AutoMode => {
                "EKS replaces its nodes itself, each within 21 days: to replace them sooner, name their node pool in the plan's groups"
            }
            Self::Fargate => "restart its pod: the next one gets a new node",
            Self::Hybrid => "upgrade the machine with nodeadm",
            Self::ManagedGroup | Self::SelfManaged => "roll its group",
        }
    }
}

impl fmt::Display for Provisioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Karpenter(Some(pool)) => write!(f, "Karpenter (node pool {pool})"),
            Self::Karpenter(None) => f.write_str("Karpenter"),
            Self::AutoMode => f.write_str("EKS Auto Mode"),
            Self::Fargate => f.write_str("Fargate"),
            Self::Hybrid => f.write_str("an EKS hybrid node"),
            Self::ManagedGroup => f.write_str("an EKS managed node group"),
            Self::SelfManaged => f.write_str("a self-managed group"),
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn provisioner(name: &str, meta: &Value) -> Provisioner {
        let mut object =
            json!({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}, "status": {}});
        object["metadata"]["name"] = name.into();
        let Object::Node(node) = Object::from_json(object).expect("a valid node") else {
            unreachable!("a node was written")
        };
        Provisioner::of(&node)
    }

    #[test]
    fn a_provisioner_is_told_by_labels_owner_or_name() {
        let labelled = |key: &str, value: &str| provisioner("n", &json!({"labels": {key: value}}));
        assert_eq!(labelled(LABEL_NODE_POOL, "general"), Provisioner::Karpenter(Some("general".into())));
        assert_eq!(labelled(LABEL_COMPUTE_TYPE, "fargate"), Provisioner::Fargate);
        assert_eq!(labelled(LABEL_COMPUTE_TYPE, "hybrid"), Provisioner::Hybrid);
        assert_eq!(labelled(LABEL_COMPUTE_TYPE, "ec2"), Provisioner::SelfManaged);
        assert_eq!(labelled("eks.amazonaws.com/nodegroup", "web"), Provisioner::ManagedGroup);
        assert_eq!(labelled("kubernetes.io/os", "linux"), Provisioner::SelfManaged);
        let auto = json!({"labels": {LABEL_COMPUTE_TYPE: "auto", LABEL_NODE_POOL: "general-purpose"}});
        assert_eq!(
            provisioner("n", &auto),
            Provisioner::AutoMode,
            "its pools are Karpenter's, and it is EKS's own"
        );
        let claimed = |kind: &str, api: &str| {
            provisioner(
                "n",
                &json!({"ownerReferences": [{"apiVersion": api, "kind": kind, "name": "c", "uid": "c"}]}),
            )
        };
        assert_eq!(claimed("NodeClaim", "karpenter.sh/v1"), Provisioner::Karpenter(None));
        assert_eq!(claimed("NodeClaim", "example.com/v1"), Provisioner::SelfManaged);
        assert_eq!(provisioner("fargate-ip-10-0-1-2.ec2.internal", &json!({})), Provisioner::Fargate);
    }

    #[test]
    fn only_groups_are_rolled() {
        for (provisioner, keeps) in [
            (Provisioner::Karpenter(None), true),
            (Provisioner::AutoMode, true),
            (Provisioner::Fargate, true),
            (Provisioner::Hybrid, true),
            (Provisioner::ManagedGroup, false),
            (Provisioner::SelfManaged, false),
        ] {
            assert_eq!(provisioner.keeps_its_nodes(), keeps, "{provisioner}");
        }
    }
}
