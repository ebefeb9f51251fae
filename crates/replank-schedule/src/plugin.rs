//! The plugins of the default profile, in its order, and what they can object to.
//!
//! Source: Kubernetes 1.36 `pkg/scheduler/apis/config/v1/default_plugins.go`; the reasons' texts are those of the plugins
//! themselves (`pkg/scheduler/framework/plugins`).

use std::fmt;

use replank_model::text::{Name, Namespace, NodeName, Text};
use smallvec::SmallVec;

macro_rules! plugins {
    ($( $(#[$doc:meta])* $variant:ident = $name:literal, weight $weight:literal; )*) => {
        /// A plugin of the default profile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Plugin { $( $(#[$doc])* $variant, )* }

        impl Plugin {
            /// All, in the order of the profile.
            pub const ALL: &'static [Plugin] = &[ $( Plugin::$variant ),* ];

            /// Upstream's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => $name ),* }
            }

            /// By what its score is multiplied; 0 for plugins that do not score.
            #[must_use]
            pub fn weight(self) -> i64 {
                match self { $( Self::$variant => $weight ),* }
            }
        }
    };
}

plugins! {
    /// Cordoned nodes.
    NodeUnschedulable = "NodeUnschedulable", weight 0;
    /// `spec.nodeName`.
    NodeName = "NodeName", weight 0;
    /// Taints.
    TaintToleration = "TaintToleration", weight 3;
    /// Node selector and node affinity.
    NodeAffinity = "NodeAffinity", weight 2;
    /// Ports of the host.
    NodePorts = "NodePorts", weight 0;
    /// Resources; scores the least allocated highest.
    NodeResourcesFit = "NodeResourcesFit", weight 1;
    /// Disks and claims that only one pod may use.
    VolumeRestrictions = "VolumeRestrictions", weight 0;
    /// How many volumes a node takes.
    NodeVolumeLimits = "NodeVolumeLimits", weight 0;
    /// Claims and the volumes they are or can be bound to. Would score with an alpha gate only.
    VolumeBinding = "VolumeBinding", weight 1;
    /// Zones of bound volumes.
    VolumeZone = "VolumeZone", weight 0;
    /// How siblings spread over domains.
    PodTopologySpread = "PodTopologySpread", weight 2;
    /// Attraction to and repulsion from pods.
    InterPodAffinity = "InterPodAffinity", weight 2;
    /// Claims of dynamic resource allocation. No such claims are known here, so that a pod that names one is refused.
    DynamicResources = "DynamicResources", weight 2;
    /// Scores how evenly cpu and memory are used.
    NodeResourcesBalancedAllocation = "NodeResourcesBalancedAllocation", weight 1;
    /// Scores images that are already there.
    ImageLocality = "ImageLocality", weight 1;
    /// Abilities that a node must declare.
    NodeDeclaredFeatures = "NodeDeclaredFeatures", weight 0;
}

impl Plugin {
    /// Those that filter nodes, in the order in which they are asked.
    pub const FILTERS: &'static [Plugin] = &[
        Self::NodeUnschedulable,
        Self::NodeName,
        Self::TaintToleration,
        Self::NodeAffinity,
        Self::NodePorts,
        Self::NodeResourcesFit,
        Self::VolumeRestrictions,
        Self::NodeVolumeLimits,
        Self::VolumeBinding,
        Self::VolumeZone,
        Self::PodTopologySpread,
        Self::InterPodAffinity,
        Self::DynamicResources,
        Self::NodeDeclaredFeatures,
    ];

    /// Those that score nodes, in order.
    pub const SCORES: &'static [Plugin] = &[
        Self::TaintToleration,
        Self::NodeAffinity,
        Self::NodeResourcesFit,
        Self::VolumeBinding,
        Self::PodTopologySpread,
        Self::InterPodAffinity,
        Self::DynamicResources,
        Self::NodeResourcesBalancedAllocation,
        Self::ImageLocality,
    ];
}

impl fmt::Display for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How final an objection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Removing pods could help.
    Unschedulable,
    /// Removing pods cannot help.
    UnschedulableAndUnresolvable,
}

impl Code {
    /// Upstream's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        }
    }
}

/// What a plugin objects to. Displays as upstream's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The node is cordoned, or excluded by a what-if question.
    NodeUnschedulable,
    /// The pod names another node.
    OtherNodeName,
    /// The node has a taint that the pod does not bear.
    UntoleratedTaint,
    /// Node selector or required affinity do not match.
    NodeAffinity,
    /// No node satisfies all required affinity terms' names.
    AffinityTermsConflict,
    /// The search was narrowed to nodes that required affinity names, and this is not one of them.
    OutsideNarrowing,
    /// A port of the host is taken.
    PortTaken,
    /// The node has as many pods as it takes.
    TooManyPods,
    /// Too little is left of a resource.
    Insufficient(Text),
    /// An inline disk is in use on the node.
    DiskConflict,
    /// A claim that only one pod may use is in use.
    ReadWriteOncePodConflict,
    /// The pod uses a claim that does not exist.
    ClaimNotFound(Name),
    /// A generic ephemeral volume's claim does not exist yet.
    EphemeralClaimMissing(Name),
    /// A generic ephemeral volume's claim belongs to somebody else.
    ClaimOfAnother {
        /// Namespace of claim and pod.
        namespace: Namespace,
        /// The claim.
        claim: Name,
        /// The pod.
        pod: Name,
    },
    /// The claim's volume is gone.
    ClaimLost {
        /// The claim.
        claim: Name,
        /// Its volume.
        volume: Name,
    },
    /// The claim is being deleted.
    ClaimDeleted(Name),
    /// A claim that is bound at once is not bound.
    UnboundImmediateClaims,
    /// The node has as many volumes as it takes.
    MaxVolumeCount,
    /// A claim could not be looked up while volumes were counted.
    ClaimLookUp {
        /// Namespace of the claim.
        namespace: Namespace,
        /// The claim.
        claim: Name,
    },
    /// No free volume for a claim, and none can be made here.
    NoVolumeToBind,
    /// A bound volume cannot be reached from the node.
    VolumeNodeAffinity,
    /// Too little storage to make a volume.
    NotEnoughStorage,
    /// A claim is bound to a volume that does not exist.
    VolumeGone,
    /// A bound volume lies in another zone.
    NoVolumeZone,
    /// A volume was not found while zones were looked at.
    VolumeNotFound(Name),
    /// A storage class was not found while zones were looked at.
    StorageClassNotFound(Name),
    /// A claim has neither volume nor storage class.
    ClaimWithoutClass,
    /// A storage class does not say when claims are bound.
    NoBindingMode(Name),
    /// A claim that is bound at once has no volume.
    ClaimWithoutVolume,
    /// The skew between domains would be too large.
    Spread,
    /// The node lacks the label of a spread constraint.
    SpreadLabelMissing,
    /// The pod's affinity terms cannot be read.
    UnreadableTerms(Text),
    /// No pod that must be near is near.
    PodAffinity,
    /// A pod that must not be near is near.
    PodAntiAffinity,
    /// A pod that is near does not bear this one.
    ExistingPodAntiAffinity,
    /// The pod uses a ResourceClaim that is not known.
    ResourceClaimNotFound {
        /// Namespace of claim and pod.
        namespace: Namespace,
        /// The claim.
        claim: Name,
    },
    /// A ResourceClaim that is made from a template is not known to have been made.
    ResourceClaimNotMade {
        /// Namespace of the pod.
        namespace: Namespace,
        /// The pod.
        pod: Name,
    },
    /// The node does not declare an ability that the pod needs.
    DeclaredFeatures,
    /// Preemption: no pod of lower priority is on the node.
    NoVictims,
    /// Preemption: removing pods does not help on the node.
    PreemptionNotHelpful,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NodeUnschedulable => "node(s) were unschedulable",
            Self::OtherNodeName => "node(s) didn't match the requested node name",
            Self::UntoleratedTaint => "node(s) had untolerated taint(s)",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::AffinityTermsConflict => "pod affinity terms conflict",
            Self::OutsideNarrowing => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::PortTaken => "node(s) didn't have free ports for the requested pod ports",
            Self::TooManyPods => "Too many pods",
            Self::Insufficient(resource) => return write!(f, "Insufficient {resource}"),
            Self::DiskConflict => "node(s) had no available disk",
            Self::ReadWriteOncePodConflict => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by \
                 another pod"
            }
            Self::ClaimNotFound(name) => return write!(f, "persistentvolumeclaim \"{name}\" not found"),
            Self::EphemeralClaimMissing(name) => {
                return write!(
                    f,
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\""
                );
            }
            Self::ClaimOfAnother { namespace, claim, pod } => {
                return write!(
                    f,
                    "PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"
                );
            }
            Self::ClaimLost { claim, volume } => {
                return write!(
                    f,
                    "persistentvolumeclaim \"{claim}\" bound to non-existent persistentvolume \"{volume}\""
                );
            }
            Self::ClaimDeleted(name) => {
                return write!(f, "persistentvolumeclaim \"{name}\" is being deleted");
            }
            Self::UnboundImmediateClaims => "pod has unbound immediate PersistentVolumeClaims",
            Self::MaxVolumeCount => "node(s) exceed max volume count",
            Self::ClaimLookUp { namespace, claim } => {
                return write!(
                    f,
                    "looking up PVC {namespace}/{claim}: persistentvolumeclaim \"{claim}\" not found"
                );
            }
            Self::NoVolumeToBind => "node(s) didn't find available persistent volumes to bind",
            Self::VolumeNodeAffinity => "node(s) didn't match PersistentVolume's node affinity",
            Self::NotEnoughStorage => "node(s) did not have enough free storage",
            Self::VolumeGone => "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            Self::NoVolumeZone => "node(s) had no available volume zone",
            Self::VolumeNotFound(name) => return write!(f, "persistentvolume \"{name}\" not found"),
            Self::StorageClassNotFound(name) => {
                return write!(f, "storageclass.storage.k8s.io \"{name}\" not found");
            }
            Self::ClaimWithoutClass => "PersistentVolumeClaim had no pv name and storageClass name",
            Self::NoBindingMode(class) => {
                return write!(f, "VolumeBindingMode not set for StorageClass \"{class}\"");
            }
            Self::ClaimWithoutVolume => "PersistentVolume had no name",
            Self::Spread => "node(s) didn't match pod topology spread constraints",
            Self::SpreadLabelMissing => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::UnreadableTerms(why) => return write!(f, "parsing pod: {why}"),
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingPodAntiAffinity => "node(s) didn't satisfy existing pods anti-affinity rules",
            Self::ResourceClaimNotFound { namespace, claim } => {
                return write!(f, "could not find ResourceClaim \"{namespace}/{claim}\"");
            }
            Self::ResourceClaimNotMade { namespace, pod } => {
                return write!(f, "pod \"{namespace}/{pod}\": ResourceClaim not created yet");
            }
            Self::DeclaredFeatures => "node(s) didn't match Pod's required features",
            Self::NoVictims => "No preemption victims found for incoming pod",
            Self::PreemptionNotHelpful => "Preemption is not helpful for scheduling",
        };
        f.write_str(text)
    }
}

/// The reasons of one objection: nearly always one.
pub type Reasons = SmallVec<[Reason; 1]>;

/// One plugin's objection to one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Failure {
    /// Who objects.
    pub plugin: Plugin,
    /// How final it is.
    pub code: Code,
    /// Why.
    pub reasons: Reasons,
}

impl Failure {
    pub(super) fn new(plugin: Plugin, code: Code, reason: Reason) -> Self {
        Self { plugin, code, reasons: smallvec::smallvec![reason] }
    }

    /// An objection that removing pods could lift.
    pub(super) fn resolvable(plugin: Plugin, reason: Reason) -> Self {
        Self::new(plugin, Code::Unschedulable, reason)
    }

    /// An objection that removing pods cannot lift.
    pub(super) fn unresolvable(plugin: Plugin, reason: Reason) -> Self {
        Self::new(plugin, Code::UnschedulableAndUnresolvable, reason)
    }
}

/// The scheduling cycle ended in an error, which is not the same as "no node fits".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CycleError {
    /// A plugin failed before nodes were filtered.
    #[error("running PreFilter plugin \"{plugin}\": {message}")]
    PreFilter {
        /// The plugin.
        plugin: Plugin,
        /// What it said.
        message: Text,
    },
    /// A plugin failed on a node.
    #[error("running \"{plugin}\" filter plugin: {message}")]
    Filter {
        /// The plugin.
        plugin: Plugin,
        /// The node.
        node: NodeName,
        /// What it said.
        message: Text,
    },
    /// A plugin failed before nodes were scored.
    #[error("running PreScore plugin \"{plugin}\": {message}")]
    PreScore {
        /// The plugin.
        plugin: Plugin,
        /// What it said.
        message: Text,
    },
}
