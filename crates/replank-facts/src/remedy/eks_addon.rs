//! The add-ons of EKS that are known here: what EKS calls them, and where their configuration values have the placement of their pods.
//!
//! Sources: EKS user guide, "Amazon EKS add-ons"; the schema that `aws eks describe-addon-configuration` prints for each.

use serde_json::{Value, json};

use super::target::{Target, TargetKind};

/// An add-on of EKS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EksAddon {
    /// CoreDNS.
    CoreDns,
    /// metrics-server.
    MetricsServer,
    /// The CSI driver for EBS.
    EbsCsi,
    /// The CSI driver for EFS.
    EfsCsi,
    /// The controller of volume snapshots.
    SnapshotController,
    /// The network plugin.
    VpcCni,
    /// kube-proxy.
    KubeProxy,
}

/// Pods of an add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddonPods {
    /// Those of its Deployment.
    Controller,
    /// Those of its DaemonSet.
    Agent,
}

impl EksAddon {
    /// Its name for `aws eks update-addon`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CoreDns => "coredns",
            Self::MetricsServer => "metrics-server",
            Self::EbsCsi => "aws-ebs-csi-driver",
            Self::EfsCsi => "aws-efs-csi-driver",
            Self::SnapshotController => "snapshot-controller",
            Self::VpcCni => "vpc-cni",
            Self::KubeProxy => "kube-proxy",
        }
    }

    /// Configuration values that set members of its pods, such as node selector and tolerations.
    #[must_use]
    pub fn values_of(self, pods: AddonPods, members: Value) -> Value {
        match (self, pods) {
            (Self::EbsCsi | Self::EfsCsi, AddonPods::Controller) => json!({"controller": members}),
            (Self::EbsCsi | Self::EfsCsi, AddonPods::Agent) => json!({"node": members}),
            (
                Self::CoreDns
                | Self::MetricsServer
                | Self::SnapshotController
                | Self::VpcCni
                | Self::KubeProxy,
                AddonPods::Controller | AddonPods::Agent,
            ) => members,
        }
    }

    /// The one that an object belongs to, where its values are known member by member.
    pub(super) fn of(object: &Target) -> Option<Self> {
        let is_dns = matches!(object.kind, TargetKind::Deployment | TargetKind::PodDisruptionBudget)
            && object.key.namespace == "kube-system"
            && object.key.name.as_str() == "coredns";
        is_dns.then_some(Self::CoreDns)
    }
}
