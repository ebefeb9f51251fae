//! The bugs that the checkers must catch, each with the cluster that gives it a chance and the promise that it breaks.
//!
//! Each does what a careless tool does and the eviction API cannot stop. Nothing of this is in the product.

use replank_facts::plan::{BlockingFindings, Health, OnFailure, Singletons};
use replank_model::object::cloud::{HookResult, LifecycleHook, Transition};
use replank_model::text::RunId;
use replank_model::time::Span;
use replank_protocol::policy::StuckAction;
use replank_sim::{ImageFault, ImageName, NodeTrouble, TERMINATION_HOOK};
use serde_json::json;

use crate::check::Promise;
use crate::clusters::{Cluster, How};

/// What it does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bug {
    /// A pod whose eviction was refused is deleted.
    PlainDelete,
    /// An instance is terminated when its drain begins.
    EarlyEnd,
    /// A batch pod that the run waits for is evicted.
    EarlyBatch,
    /// A node is drained while its replacement is still booting.
    EarlyDrain,
    /// Old nodes are not cordoned, so pods move to nodes that will be replaced too.
    OpenNodes,
    /// A terminating pod is force-deleted while its instance runs.
    EarlyForce,
    /// An instance is terminated with slow pods on it, as if they were stuck.
    EarlyStuck,
    /// An instance is terminated before load balancer deregistration is over.
    EarlyTarget,
    /// A group grows by more than the plan's surge.
    OverSurge,
    /// The tag with the original size is removed once the group has grown.
    LostSize,
    /// A group is shrunk through its desired size: it chooses which instance to terminate.
    WantsLess,
    /// An instance other than the drained one is terminated.
    WrongInstance,
    /// A cordon's mark has expired when it is written.
    NoExpiry,
    /// A workload is restarted twice.
    Twice,
    /// Pods in a crash loop count as healthy.
    Heedless,
    /// Pods that restart again and again count as healthy.
    Forbearing,
    /// New nodes with a bad condition count as well.
    Unfeeling,
    /// A rollback ends as soon as it has begun.
    HalfBack,
    /// A run that is refused writes a tag.
    Meddling,
    /// A plan that must not start with blocking findings starts.
    Rash,
    /// The run never ends.
    Endless,
    /// The run keeps its tags, and says that a group's bounds cannot be restored, though they can.
    KeptTags,
    /// The hook of an interrupted instance is completed while pods run on it.
    EarlyRelease,
    /// EKS's own lifecycle hook is completed.
    ForeignHook,
    /// A pod on an interrupted node is deleted though there is time to evict it.
    EarlyRescue,
    /// A node with a rebalance recommendation is uncordoned while its pods can still be moved.
    EarlyUncordon,
    /// A node stays cordoned after its interruption is over.
    KeptMarks,
    /// The autoscaler cordons nodes of a group that a run is rolling.
    Meddler,
    /// The autoscaler evicts a batch pod to scale down.
    Thrift,
    /// A node is uncordoned, as one that cannot be emptied, as soon as its drain has begun.
    EarlyPostpone,
    /// A managed node group gets its launch template version through its Auto Scaling group, not through EKS.
    BehindEks,
}

/// The part of core that has a bug.
enum Part {
    Roll,
    Interruptions,
    Autoscaler,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 31] = [
        Self::PlainDelete,
        Self::EarlyEnd,
        Self::EarlyBatch,
        Self::EarlyDrain,
        Self::OpenNodes,
        Self::EarlyForce,
        Self::EarlyStuck,
        Self::EarlyTarget,
        Self::OverSurge,
        Self::LostSize,
        Self::WantsLess,
        Self::WrongInstance,
        Self::NoExpiry,
        Self::Twice,
        Self::Heedless,
        Self::Forbearing,
        Self::Unfeeling,
        Self::HalfBack,
        Self::Meddling,
        Self::Rash,
        Self::Endless,
        Self::KeptTags,
        Self::EarlyRelease,
        Self::ForeignHook,
        Self::EarlyRescue,
        Self::EarlyUncordon,
        Self::KeptMarks,
        Self::Meddler,
        Self::Thrift,
        Self::EarlyPostpone,
        Self::BehindEks,
    ];

    /// The cluster of a seed that gives the bug a chance.
    #[must_use]
    pub fn cluster(self, seed: u64) -> Cluster {
        let mut cluster = match (self, self.part()) {
            (Self::BehindEks, _) => Cluster::managed(seed),
            (_, Part::Roll) => Cluster::of(seed),
            (_, Part::Interruptions | Part::Autoscaler) => Cluster::elastic(seed),
        };
        self.make_room(&mut cluster);
        cluster
    }

    /// The run that issues the bug's commands.
    pub(super) fn run(self) -> RunId {
        RunId::from(match self.part() {
            Part::Roll => "trial",
            Part::Interruptions => "interruptions",
            Part::Autoscaler => "autoscaler",
        })
    }

    fn part(self) -> Part {
        match self {
            Self::EarlyRelease
            | Self::ForeignHook
            | Self::EarlyRescue
            | Self::EarlyUncordon
            | Self::KeptMarks => Part::Interruptions,
            Self::Meddler | Self::Thrift => Part::Autoscaler,
            Self::PlainDelete
            | Self::EarlyEnd
            | Self::EarlyBatch
            | Self::EarlyDrain
            | Self::OpenNodes
            | Self::EarlyForce
            | Self::EarlyStuck
            | Self::EarlyTarget
            | Self::OverSurge
            | Self::LostSize
            | Self::WantsLess
            | Self::WrongInstance
            | Self::NoExpiry
            | Self::Twice
            | Self::Heedless
            | Self::Forbearing
            | Self::Unfeeling
            | Self::HalfBack
            | Self::Meddling
            | Self::Rash
            | Self::Endless
            | Self::KeptTags
            | Self::EarlyPostpone
            | Self::BehindEks => Part::Roll,
        }
    }

    /// Changes a cluster and its plan so that the bug gets a chance.
    fn make_room(self, cluster: &mut Cluster) {
        let plan = &mut cluster.plan;
        match self {
            Self::EarlyTarget => plan.care.load_balancer.exclude = true,
            Self::EarlyStuck | Self::EarlyForce => plan.care.stuck.action = StuckAction::ForceDelete,
            Self::Twice => plan.care.singletons = Singletons::Surge,
            Self::Heedless | Self::HalfBack => {
                plan.target.image = Some("ami-bad".into());
                plan.care.health = Some(Health { not_ready_max: 100, ..Health::default() });
                plan.on_failure = OnFailure::Rollback;
                cluster.troubles = vec![(ImageName::New, ImageFault::Crashes)];
            }
            Self::Forbearing => {
                plan.target.image = Some("ami-bad".into());
                plan.care.health =
                    Some(Health { not_ready_max: 100, crash_looping_max: 100, ..Health::default() });
                // Nodes are left to be begun when pods have restarted twice.
                plan.pace.between_nodes = Span::from_minutes(20);
                cluster.troubles =
                    vec![(ImageName::New, ImageFault::RestartsPods { every: Span::from_minutes(11) })];
            }
            Self::Unfeeling => {
                plan.target.image = Some("ami-bad".into());
                plan.care.health = Some(Health { not_ready_max: 100, ..Health::default() });
                let after = Span::from_minutes(2);
                cluster.troubles =
                    vec![(ImageName::New, ImageFault::Troubles { with: NodeTrouble::Network, after })];
            }
            Self::Meddling | Self::Rash => {
                plan.care.blocking_findings = BlockingFindings::Refuse;
                cluster.manifests.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                    "metadata": {"name": "never", "namespace": "shop"}, "spec": {"selector": {}, "maxUnavailable": 0}}));
            }
            Self::ForeignHook => {
                for group in &mut cluster.groups {
                    let timeout = Span::from_minutes(30);
                    let name = TERMINATION_HOOK.into();
                    let (at, result) = (Transition::Terminating, HookResult::default());
                    group.hooks = vec![LifecycleHook { name, at, timeout, result }];
                }
            }
            Self::EarlyUncordon | Self::KeptMarks => {
                // No group's hook holds an instance that is only recommended for rebalancing.
                cluster.groups.iter_mut().for_each(|group| group.hooks.clear());
                let strikes = cluster.elastic.iter_mut().flat_map(|elastic| &mut elastic.strikes);
                strikes.for_each(|strike| strike.how = How::Rebalance);
            }
            Self::PlainDelete
            | Self::EarlyEnd
            | Self::EarlyBatch
            | Self::EarlyDrain
            | Self::OpenNodes
            | Self::OverSurge
            | Self::LostSize
            | Self::WantsLess
            | Self::WrongInstance
            | Self::NoExpiry
            | Self::KeptTags
            | Self::EarlyRelease
            | Self::EarlyRescue
            | Self::Meddler
            | Self::Thrift
            | Self::EarlyPostpone
            | Self::BehindEks
            | Self::Endless => {}
        }
    }

    /// The promise that it breaks.
    #[must_use]
    pub fn breaks(self) -> Promise {
        match self {
            Self::PlainDelete | Self::EarlyRescue => Promise::S1,
            Self::EarlyBatch | Self::Thrift => Promise::S2,
            Self::NoExpiry => Promise::S3,
            Self::EarlyDrain | Self::OverSurge | Self::LostSize | Self::KeptTags | Self::Meddler => {
                Promise::S4
            }
            Self::EarlyEnd
            | Self::OpenNodes
            | Self::EarlyForce
            | Self::EarlyStuck
            | Self::EarlyTarget
            | Self::WantsLess
            | Self::EarlyRelease
            | Self::ForeignHook
            | Self::EarlyUncordon
            | Self::EarlyPostpone
            | Self::WrongInstance => Promise::S5,
            Self::Twice => Promise::S6,
            Self::Meddling => Promise::S7,
            Self::Rash => Promise::S9,
            Self::BehindEks => Promise::S10,
            Self::Heedless | Self::Forbearing | Self::Unfeeling => Promise::H1,
            Self::HalfBack => Promise::H2,
            Self::Endless => Promise::L1,
            Self::KeptMarks => Promise::L4,
        }
    }
}
