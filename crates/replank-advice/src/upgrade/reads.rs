//! Which kinds an upgrade's findings rest on, as [`crate::check`]'s rules have theirs: a finding says which of them could not be seen.

use replank_model::object::Kind;

use super::finding::Rule;

impl Rule {
    /// Kinds whose objects can change what a finding of the rule says.
    #[must_use]
    pub fn reads(self) -> &'static [Kind] {
        match self {
            // Which version the nodes have tells the control plane's, too, where nothing else does.
            Self::KubeletTooOld
            | Self::KubeletNewer
            | Self::NodesMatch
            | Self::KubeletRefuses
            | Self::ImageGone
            | Self::ControlPlaneUnknown => &[Kind::Node],
            Self::FargateBehind => &[Kind::Node, Kind::Pod],
            Self::KubeProxySkew => &[Kind::Node, Kind::DaemonSet],
            Self::ControllerVersion => &[Kind::Deployment, Kind::DaemonSet, Kind::StatefulSet],
            Self::DockerGone => &[Kind::Pod, Kind::ReplicaSet],
            Self::RollBlocked => &[Kind::Node, Kind::Pod, Kind::PodDisruptionBudget, Kind::ReplicaSet],
            // Of any kind, and of one that says all by itself: what was not read is in the report's coverage.
            Self::ApiRemoved | Self::WebhookExact => &[],
            // What EKS says.
            Self::AddonUnknown
            | Self::AddonIncompatible
            | Self::Insight
            | Self::SubnetAddresses
            | Self::ClusterNotActive
            | Self::VersionNotOffered => &[],
        }
    }
}
