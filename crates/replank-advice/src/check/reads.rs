//! Which kinds a rule's findings rest on.
//!
//! A finding says which of them could not be seen: with the objects that are missing it might say something else, or not be there at all. Kinds
//! that could only add other findings are not among them: what these would have shown stands in the report's coverage.

use replank_model::object::Kind;

use super::finding::Rule;

impl Rule {
    /// Kinds whose objects can change what a finding of the rule says.
    #[must_use]
    pub fn reads(self) -> &'static [Kind] {
        match self {
            // How many pods a budget's owners want, and which of them are healthy.
            Self::PdbNeverAllows | Self::PdbUnready | Self::PdbSlow | Self::PdbWeak | Self::PdbNotCounted => {
                &[
                    Kind::Pod,
                    Kind::PodDisruptionBudget,
                    Kind::ReplicaSet,
                    Kind::Deployment,
                    Kind::StatefulSet,
                    Kind::ReplicationController,
                    Kind::CustomResourceDefinition,
                ]
            }
            Self::TerminationSetup => &[Kind::Node, Kind::Pod, Kind::Deployment, Kind::DaemonSet],
            Self::ManagedUpdate => &[
                Kind::Node,
                Kind::Pod,
                Kind::PodDisruptionBudget,
                Kind::ReplicaSet,
                Kind::Job,
                Kind::CronJob,
            ],
            Self::PdbSeveral | Self::PdbSelectsNothing | Self::PdbSelectsAll | Self::PdbDaemonPods => {
                &[Kind::Pod, Kind::PodDisruptionBudget, Kind::ReplicaSet]
            }
            Self::PdbWaitsForBatch | Self::BatchUnprotected | Self::EksEndsBatch | Self::RerunUnsafe => {
                &[Kind::Pod, Kind::PodDisruptionBudget, Kind::Job, Kind::CronJob]
            }
            Self::NoBudget | Self::Singleton => &[
                Kind::Pod,
                Kind::PodDisruptionBudget,
                Kind::ReplicaSet,
                Kind::Deployment,
                Kind::StatefulSet,
                Kind::ReplicationController,
            ],
            Self::ResultUnrecorded => &[Kind::Pod, Kind::PodDisruptionBudget],
            Self::WaitsInVain => &[Kind::Pod, Kind::ReplicaSet, Kind::Job],
            Self::BatchWaitUnread | Self::ShortGrace | Self::Gated | Self::OtherScheduler => &[Kind::Pod],
            Self::RetryWithoutLimit => &[],
            Self::CronSoon | Self::CronSkips => &[Kind::CronJob, Kind::Job],
            Self::NoRoom | Self::Preempts | Self::PendingBefore => &[
                Kind::Node,
                Kind::Pod,
                Kind::PersistentVolumeClaim,
                Kind::PersistentVolume,
                Kind::StorageClass,
            ],
            Self::NodeNotReady | Self::CordonLeft | Self::StuckBefore | Self::LabelByHand => {
                &[Kind::Node, Kind::Pod]
            }
            Self::KeptNode
            | Self::OwnTaint
            | Self::Leftover
            | Self::OldImage
            | Self::ImageRelease
            | Self::LeftToProvisioner
            | Self::VersionSkew => &[Kind::Node],
            Self::BarePod => &[Kind::Pod, Kind::DaemonSet, Kind::ReplicaSet, Kind::StatefulSet, Kind::Job],
            Self::LocalStorage | Self::LongGrace => &[Kind::Pod, Kind::ReplicaSet],
            Self::ZoneBound => &[
                Kind::Pod,
                Kind::Node,
                Kind::StatefulSet,
                Kind::PersistentVolumeClaim,
                Kind::PersistentVolume,
            ],
            Self::PinnedToGroup | Self::PlacedApart | Self::HostPort | Self::SpotOnly | Self::OneZone => {
                &[Kind::Node, Kind::Pod, Kind::ReplicaSet]
            }
            // Evictions under a budget keep replicas of one node from going together.
            Self::OneNode => &[Kind::Node, Kind::Pod, Kind::ReplicaSet, Kind::PodDisruptionBudget],
            Self::ToleratesEverything => &[Kind::Node, Kind::Pod, Kind::ReplicaSet],
            Self::HpaAtMaximum | Self::HpaDisabled => &[Kind::HorizontalPodAutoscaler],
            Self::HpaBeyondNodes => {
                &[Kind::HorizontalPodAutoscaler, Kind::Node, Kind::Pod, Kind::DaemonSet, Kind::ReplicaSet]
            }
            Self::ShutdownTiming | Self::ProxyDrain => {
                &[Kind::Pod, Kind::Service, Kind::Deployment, Kind::ReplicaSet]
            }
            Self::WebhookBackend => {
                &[Kind::Pod, Kind::Service, Kind::Namespace, Kind::PodDisruptionBudget, Kind::ReplicaSet]
            }
            Self::PodSecurityGroups => &[Kind::Node, Kind::Pod, Kind::DaemonSet],
            Self::DaemonMissing => &[Kind::Node, Kind::DaemonSet, Kind::Pod],
            Self::DaemonOnDelete => &[Kind::DaemonSet, Kind::Pod],
            Self::GroupParity => &[Kind::Node, Kind::Pod],
            // What the cloud says of groups, and the plan.
            Self::SuspendedProcess | Self::ImageVersion | Self::TemplateVersion => &[],
            // What a rehearsal ran into: the rehearsal's coverage says what it saw.
            Self::StopsTheRoll | Self::Outage | Self::BatchFailed => &[],
        }
    }
}
