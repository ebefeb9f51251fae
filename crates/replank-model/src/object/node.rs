//! Nodes.

use crate::list::List;
use crate::object::affinity::Taint;
use crate::object::condition::{self, Condition, ConditionStatus};
use crate::object::meta::Meta;
use crate::object::resources::Resources;
use crate::text::{NodeName, Text};
use crate::time::Time;
use crate::wire::wire;

/// Label with the availability zone.
pub const LABEL_ZONE: &str = "topology.kubernetes.io/zone";
/// Label with the region.
pub const LABEL_REGION: &str = "topology.kubernetes.io/region";
/// Label with the node's own name.
pub const LABEL_HOSTNAME: &str = "kubernetes.io/hostname";
/// Label with the instance type.
pub const LABEL_INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// Label with the EKS managed node group.
pub const LABEL_EKS_NODEGROUP: &str = "eks.amazonaws.com/nodegroup";
/// Label with the AMI of an EKS managed node.
pub const LABEL_EKS_IMAGE: &str = "eks.amazonaws.com/nodegroup-image";

/// Taint of a cordoned node (pkg/controller/nodelifecycle).
pub const TAINT_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

wire! {
    /// core/v1 Node.
    pub struct Node {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: NodeSpec,
        /// State reported by the kubelet.
        pub status: NodeStatus,
    }

    /// core/v1 NodeSpec.
    pub struct NodeSpec {
        /// The instance behind the node, such as `aws:///eu-west-1a/i-0abc`.
        #[serde(rename = "providerID")]
        pub provider_id: Text,
        /// Whether the node is cordoned.
        pub unschedulable: bool,
        /// Taints.
        pub taints: Vec<Taint>,
    }

    /// core/v1 NodeStatus.
    pub struct NodeStatus {
        /// All there is.
        pub capacity: Resources,
        /// What pods may use.
        pub allocatable: Resources,
        /// Conditions.
        pub conditions: List<Condition>,
        /// Software and hardware.
        pub node_info: NodeInfo,
        /// Images on the node.
        pub images: List<ContainerImage>,
        /// Optional abilities of the kubelet (gate NodeDeclaredFeatures).
        pub declared_features: List<Text>,
        /// Volumes attached, by unique name.
        pub volumes_attached: List<AttachedVolume>,
    }

    /// core/v1 NodeSystemInfo.
    pub struct NodeInfo {
        /// Version of the kubelet, such as `v1.34.2-eks-113cf36`.
        pub kubelet_version: Text,
        /// Container runtime and its version.
        pub container_runtime_version: Text,
        /// Operating system image.
        pub os_image: Text,
        /// CPU architecture.
        pub architecture: Text,
        /// Operating system.
        pub operating_system: Text,
        /// Kernel version.
        pub kernel_version: Text,
    }

    /// core/v1 ContainerImage.
    pub struct ContainerImage {
        /// All its names.
        pub names: Vec<Text>,
        /// Bytes.
        pub size_bytes: i64,
    }

    /// core/v1 AttachedVolume.
    pub struct AttachedVolume {
        /// Unique volume name.
        pub name: Text,
    }
}

impl Node {
    /// The node's name.
    #[must_use]
    pub fn name(&self) -> NodeName {
        NodeName::from(&self.meta.name)
    }

    /// Whether the kubelet says that it is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        condition::is_true(&self.status.conditions, "Ready")
    }

    /// The `Ready` condition's status; Unknown without one.
    #[must_use]
    pub fn ready(&self) -> ConditionStatus {
        condition::find(&self.status.conditions, "Ready")
            .map_or(ConditionStatus::Unknown, |ready| ready.status)
    }

    /// Since when it is cordoned: the node life cycle controller writes it when it taints a cordoned node.
    #[must_use]
    pub fn cordoned_since(&self) -> Option<Time> {
        let taint = self.spec.taints.iter().find(|taint| &*taint.key == TAINT_UNSCHEDULABLE);
        taint.filter(|_| self.spec.unschedulable)?.time_added
    }

    /// The zone label.
    #[must_use]
    pub fn zone(&self) -> Option<&Text> {
        self.meta.labels.get(LABEL_ZONE)
    }
}
