//! Effects: what a command does, by the API that answers it. docs/effects.md has a row for each: the real call, what it is conditional on, what
//! a repeat does, and what is read back when the answer was lost.

use std::sync::Arc;

use replank_model::object::cloud::{
    GroupId, GroupSize, LaunchTemplate, LaunchTemplateRef, ScalingProcess, VersionWord,
};
use replank_model::object::meta::ResourceVersion;
use replank_model::object::{Object, ObjectRef};
use replank_model::text::{GroupName, InstanceId, MessageId, RunId, Text};
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use crate::lifecycle::Action;
use crate::owner::Owner;
use crate::role::{Mark, NodeRole};
use crate::target::{ClaimTarget, NodeTarget, PodTarget, WorkloadTarget};

/// What a command does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// On objects of the Kubernetes API.
    Kubernetes(KubernetesEffect),
    /// On a node group and its instances.
    Group(GroupEffect),
    /// On messages of a queue.
    Queue(QueueEffect),
}

/// An effect on objects of the Kubernetes API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum KubernetesEffect {
    /// Makes the node what [`crate::mark::laid`] says: cordoned and marked as ours (with the role
    /// [`NodeRole::Skipped`] marked and not cordoned). Fails if the node changed since `version`.
    Cordon {
        /// The node.
        node: NodeTarget,
        /// State that the decision was taken on.
        version: ResourceVersion,
        /// What is written beside the cordon.
        mark: Mark,
    },
    /// Makes the node what [`crate::mark::lifted`] says: without our marks, and without our cordon, but never without
    /// somebody else's. Fails if the node changed since `version`.
    Uncordon {
        /// The node.
        node: NodeTarget,
        /// State that the decision was taken on.
        version: ResourceVersion,
    },
    /// Makes the node what [`crate::mark::cordoned_by_hand`] says: cordoned for a person, as by `kubectl cordon`. Fails if the node changed since
    /// `version`.
    CordonByHand {
        /// The node.
        node: NodeTarget,
        /// State that the decision was taken on.
        version: ResourceVersion,
        /// Since when it is cordoned, where it is not yet.
        since: Time,
        /// From when on it is drained.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Time>,
    },
    /// Makes the node what [`crate::mark::uncordoned_by_hand`] says: uncordoned for a person, as by `kubectl uncordon`. Fails if the node changed since
    /// `version`.
    UncordonByHand {
        /// The node.
        node: NodeTarget,
        /// State that the decision was taken on.
        version: ResourceVersion,
    },
    /// Asks the eviction API to move a pod.
    Evict {
        /// The pod.
        pod: PodTarget,
        /// Grace other than the pod's own.
        grace_seconds: Option<i64>,
    },
    /// Deletes a pod without asking its budget: only where the plan allows it.
    DeletePod {
        /// The pod.
        pod: PodTarget,
        /// Grace other than the pod's own.
        grace_seconds: Option<i64>,
    },
    /// Takes out of the API what is left of a pod, without asking its node: a deletion with no grace (`kubectl delete --force
    /// --grace-period=0`). Needs positive proof that the instance that the pod was on is terminated, since its containers may run
    /// on: an instance that is absent, was never polled, is detached or in standby proves nothing. A pod with finalizers stays until
    /// they are gone.
    ForceDelete {
        /// The pod.
        pod: PodTarget,
        /// The instance of the pod's node.
        instance: InstanceId,
    },
    /// Makes the node what [`crate::mark::excluded`] says: no target of load balancers that send to nodes. Fails if the node
    /// changed since `version`. [`KubernetesEffect::Uncordon`] takes it back.
    Exclude {
        /// The node.
        node: NodeTarget,
        /// State that the decision was taken on.
        version: ResourceVersion,
        /// The moment that is written: from then on the instance is kept for a while.
        at: Time,
    },
    /// Has a workload replace all of its pods by its own strategy, as `kubectl rollout restart` does: its template becomes what
    /// [`crate::mark::restarted`] says. Fails if the workload changed since `version`, and where it is a paused Deployment.
    RestartWorkload {
        /// The workload.
        workload: WorkloadTarget,
        /// State that the decision was taken on.
        version: ResourceVersion,
        /// The moment that is written.
        at: Time,
    },
    /// Creates an object. Fails where there is one of the name.
    Create {
        /// The object, as one would write it down.
        object: Object,
    },
    /// Replaces an object with another state of it. Fails if it changed since the version that the new state carries, or is another
    /// incarnation.
    Replace {
        /// The state it gets, with uid and version of the one that the decision was taken on.
        object: Object,
    },
    /// Deletes an object. Fails if it changed since `version`, or is another incarnation.
    Delete {
        /// The object.
        object: ObjectRef,
        /// State that the decision was taken on.
        version: ResourceVersion,
        /// What becomes of what it owns.
        dependents: Dependents,
    },
    /// Deletes a NodeClaim, so that Karpenter drains its node, terminates the machine, and launches another where pods need one. Fails if the claim changed
    /// since `version`, or is another incarnation. Karpenter drains by the eviction API and by rules of its own, and nothing takes it back.
    DeleteNodeClaim {
        /// The claim.
        claim: ClaimTarget,
        /// State that the decision was taken on.
        version: ResourceVersion,
    },
}

/// An effect on a node group and its instances. What is sent to a group carries all of its names and its kind ([`GroupId`]), so that the call follows from
/// the effect alone; calls about an instance name the instance. Auto Scaling has no compare-and-set: all of these but the lifecycle actions are checked first and then
/// carried out, and what the check finds to be different is answered as a mismatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum GroupEffect {
    /// Writes a tag on a group if it says what it said when the decision was taken.
    Tag {
        /// The group.
        group: GroupId,
        /// Tag key.
        key: Text,
        /// What it says; `None` if there is no such tag.
        from: Option<Text>,
        /// Tag value: at most 256 characters.
        value: Text,
    },
    /// Takes a tag off a group.
    Untag {
        /// The group.
        group: GroupId,
        /// Tag key.
        key: Text,
    },
    /// Makes a version of the group's launch template, or finds the equal one, and makes it current.
    SetTemplate {
        /// The group.
        group: GroupId,
        /// Version that must be current.
        from: LaunchTemplateRef,
        /// What new instances are to be made from.
        to: Arc<LaunchTemplate>,
        /// The word that the group is to name the version by, where it is not its number. The version is made such that the word means it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follow: Option<VersionWord>,
    },
    /// Changes a group's bounds and raises what it wants. `to.desired` is never below `from.desired`: groups shrink by
    /// [`GroupEffect::Terminate`] only. Where the group is larger by then, it is raised by what is missing, never written back.
    Resize {
        /// The group.
        group: GroupId,
        /// Size that the group must have.
        from: GroupSize,
        /// Size that it gets.
        to: GroupSize,
    },
    /// Suspends a process of a group, or resumes it (SuspendProcesses, ResumeProcesses): nothing is changed where it is so already.
    SetProcess {
        /// The group.
        group: GroupId,
        /// The process.
        process: ScalingProcess,
        /// Whether it is to be active.
        is_active: bool,
    },
    /// Protects an instance from scale-in, or ends that (SetInstanceProtection): nothing is changed where it is so already. What is protected is not chosen
    /// when its group is to have fewer instances, be it that somebody lowers its size or that it balances its zones. It keeps an instance neither from a
    /// termination by its id, nor from a replacement for its health, nor from an interruption.
    ProtectInstance {
        /// The instance.
        instance: InstanceId,
        /// Its group.
        group: GroupId,
        /// Whether it is to be protected.
        is_protected: bool,
    },
    /// Has a group launch another instance in the place of one, which its termination hook holds meanwhile: the instance is terminated
    /// without a decrement. Fails where the group has no such hook, for then the instance would be gone at once.
    Relieve {
        /// The instance.
        instance: InstanceId,
        /// Its group.
        group: GroupName,
        /// The node it must still be.
        node: NodeTarget,
        /// The hook.
        hook: Text,
    },
    /// Ends the wait of an instance that a lifecycle hook holds (CompleteLifecycleAction, CONTINUE).
    CompleteAction {
        /// The action.
        action: Action,
        /// What the instance must be, as for [`GroupEffect::Terminate`]; `None` where it comes up, or goes whatever is on it because its time is over.
        expected: Option<Expected>,
    },
    /// Has a lifecycle hook hold an instance for its timeout from then on (RecordLifecycleActionHeartbeat).
    Heartbeat {
        /// The action.
        action: Action,
    },
    /// Terminates one instance. The driver proves `expected` by a read that is consistent and no older than the node's cordon.
    Terminate {
        /// The instance.
        instance: InstanceId,
        /// Its group.
        group: GroupName,
        /// What the instance must be.
        expected: Expected,
        /// Whether the group wants one instance less afterwards, or launches another in its place.
        replacement: Replacement,
    },
    /// Has EKS replace every node of a managed node group (UpdateNodegroupVersion). The answer is an update that goes on for hours and cannot be
    /// cancelled; its client request token follows from the command's key. Fails while another update is in progress.
    UpdateNodegroupVersion {
        /// The group.
        group: GroupId,
        /// Launch template version that nodes must be made from.
        from: LaunchTemplateRef,
        /// What nodes are to be made from.
        to: Arc<LaunchTemplate>,
        /// Whether pods that are left on a node after 15 minutes are deleted, instead of failing the update.
        force: bool,
    },
    /// Has EKS change the sizes of a managed node group (UpdateNodegroupConfig): an update, too, and with a token. `to.desired` is never below
    /// `from.desired`: EKS would take nodes away without asking disruption budgets.
    UpdateNodegroupConfig {
        /// The group.
        group: GroupId,
        /// Size that the group must have.
        from: GroupSize,
        /// Size that it gets.
        to: GroupSize,
    },
    /// Has EKS terminate all instances of a managed node group (UpdateNodegroupConfig with a minimum and a desired size of 0). EKS picks the instances that it
    /// terminates, and asks no disruption budget: so it is sent only where every instance of the group is empty. The driver proves each of them as for
    /// [`GroupEffect::Terminate`], and that the group has no other.
    ScaleNodegroupToZero {
        /// The group.
        group: GroupId,
        /// Size that the group must have.
        from: GroupSize,
        /// All of its instances.
        instances: Vec<EmptyInstance>,
    },
}

/// An instance of a managed node group that is terminated with all others of the group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyInstance {
    /// The instance.
    pub instance: InstanceId,
    /// What it must be.
    pub expected: Expected,
}

/// The size of a group that is to have no instances: its maximum stays, since EKS allows none of 0.
#[must_use]
pub fn zero(size: GroupSize) -> GroupSize {
    GroupSize { min: 0, desired: 0, ..size }
}

/// An effect on messages of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum QueueEffect {
    /// Keeps a message from being received by anybody else until a moment (ChangeMessageVisibility).
    HoldMessage {
        /// The message.
        message: MessageId,
        /// As it was received.
        receipt: Text,
        /// Until when.
        until: Time,
    },
    /// Takes a message out of its queue (DeleteMessage).
    DeleteMessage {
        /// The message.
        message: MessageId,
        /// As it was received.
        receipt: Text,
    },
}

impl From<KubernetesEffect> for Effect {
    fn from(effect: KubernetesEffect) -> Self {
        Self::Kubernetes(effect)
    }
}

impl From<GroupEffect> for Effect {
    fn from(effect: GroupEffect) -> Self {
        Self::Group(effect)
    }
}

impl From<QueueEffect> for Effect {
    fn from(effect: QueueEffect) -> Self {
        Self::Queue(effect)
    }
}

/// What an instance must be when it is terminated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Expected {
    /// A node that is cordoned, carries the mark of a run, and has no pods but those that go with it, and the ones that are named.
    Drained {
        /// The node.
        node: NodeTarget,
        /// Whose mark it carries.
        marked_by: RunId,
        /// Pods that may still be there: stuck ones, or batch pods past their deadline.
        remaining: Vec<PodTarget>,
    },
    /// No node: it never registered.
    Unregistered,
}

impl Expected {
    /// The node, where there is to be one.
    #[must_use]
    pub fn node(&self) -> Option<&NodeTarget> {
        match self {
            Self::Drained { node, .. } => Some(node),
            Self::Unregistered => None,
        }
    }

    /// Whether it is a node that the autoscaler has drained: its marks bear the name of their owner.
    #[must_use]
    pub fn is_of_autoscaler(&self) -> bool {
        match self {
            Self::Drained { marked_by, .. } => marked_by.as_str() == Owner::Autoscaler.as_str(),
            Self::Unregistered => false,
        }
    }
}

/// What becomes of the objects that an object owns, when it is deleted (`propagationPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Dependents {
    /// They stay, owned by nobody (`Orphan`).
    Orphaned,
    /// The garbage collector deletes them (`Background`).
    Collected,
}

/// What a group does after a termination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Replacement {
    /// Desired stays; another instance is launched.
    Launch,
    /// Desired is lowered by this one instance (`ShouldDecrementDesiredCapacity`).
    Decrement {
        /// What the group wants afterwards at least: where it wants no more than that already, the decision went by a size that is out of date.
        keep: u32,
    },
}

/// What a command takes for itself while it is under way, so that other decisions must count it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It begins the drain of a node at a moment: from then on the node is not capacity.
    Drain(NodeTarget, Time),
    /// It ends a pod: its budget is charged.
    Eviction(PodTarget),
    /// It changes what a group wants: what is seen of its size is about to be out of date.
    Size(GroupName),
    /// Nothing that others count.
    Nothing,
}

impl Effect {
    /// What the effect takes for itself. Every effect says so here, and nowhere else.
    #[must_use]
    pub fn claim(&self) -> Claim {
        match self {
            Self::Kubernetes(effect) => effect.claim(),
            Self::Group(effect) => effect.claim(),
            Self::Queue(QueueEffect::HoldMessage { .. } | QueueEffect::DeleteMessage { .. }) => {
                Claim::Nothing
            }
        }
    }
}

impl Effect {
    /// Whether a driver has to check first and act then, since no call does both: others can write between the two.
    #[must_use]
    pub fn is_checked_first(&self) -> bool {
        match self {
            Self::Kubernetes(effect) => match effect {
                KubernetesEffect::ForceDelete { .. } => true,
                KubernetesEffect::Cordon { .. }
                | KubernetesEffect::Uncordon { .. }
                | KubernetesEffect::CordonByHand { .. }
                | KubernetesEffect::UncordonByHand { .. }
                | KubernetesEffect::Evict { .. }
                | KubernetesEffect::DeletePod { .. }
                | KubernetesEffect::Exclude { .. }
                | KubernetesEffect::RestartWorkload { .. }
                | KubernetesEffect::Create { .. }
                | KubernetesEffect::Replace { .. }
                | KubernetesEffect::Delete { .. }
                | KubernetesEffect::DeleteNodeClaim { .. } => false,
            },
            Self::Group(effect) => match effect {
                GroupEffect::Tag { .. }
                | GroupEffect::Untag { .. }
                | GroupEffect::SetTemplate { .. }
                | GroupEffect::Resize { .. }
                | GroupEffect::Relieve { .. }
                | GroupEffect::Terminate { .. }
                | GroupEffect::UpdateNodegroupVersion { .. }
                | GroupEffect::UpdateNodegroupConfig { .. }
                | GroupEffect::ScaleNodegroupToZero { .. } => true,
                // The call is atomic; the proof that goes with it is a read.
                GroupEffect::CompleteAction { expected, .. } => expected.is_some(),
                GroupEffect::SetProcess { .. }
                | GroupEffect::ProtectInstance { .. }
                | GroupEffect::Heartbeat { .. } => false,
            },
            Self::Queue(QueueEffect::HoldMessage { .. } | QueueEffect::DeleteMessage { .. }) => false,
        }
    }
}

impl KubernetesEffect {
    fn claim(&self) -> Claim {
        match self {
            Self::Cordon { node, mark, .. } => match mark.role {
                NodeRole::Draining { from } => Claim::Drain(node.clone(), from),
                NodeRole::Queued
                | NodeRole::Postponed { .. }
                | NodeRole::Skipped
                | NodeRole::Surplus
                | NodeRole::Retained
                | NodeRole::Drained
                | NodeRole::Listed
                | NodeRole::Interrupted { .. } => Claim::Nothing,
            },
            Self::Evict { pod, .. } | Self::DeletePod { pod, .. } => Claim::Eviction(pod.clone()),
            // The pod has been on its way out for long: no budget counts it any more.
            Self::ForceDelete { .. }
            | Self::Uncordon { .. }
            | Self::CordonByHand { .. }
            | Self::UncordonByHand { .. }
            | Self::Exclude { .. }
            | Self::RestartWorkload { .. }
            | Self::Create { .. }
            | Self::Replace { .. }
            | Self::Delete { .. }
            | Self::DeleteNodeClaim { .. } => Claim::Nothing,
        }
    }
}

impl GroupEffect {
    fn claim(&self) -> Claim {
        match self {
            Self::Resize { group, .. }
            | Self::UpdateNodegroupConfig { group, .. }
            | Self::ScaleNodegroupToZero { group, .. } => Claim::Size(group.node_group.clone()),
            Self::Terminate { group, replacement: Replacement::Decrement { .. }, .. } => {
                Claim::Size(group.clone())
            }
            Self::Terminate { replacement: Replacement::Launch, .. }
            | Self::Tag { .. }
            | Self::Untag { .. }
            | Self::SetTemplate { .. }
            | Self::SetProcess { .. }
            | Self::ProtectInstance { .. }
            | Self::Relieve { .. }
            | Self::CompleteAction { .. }
            | Self::Heartbeat { .. }
            | Self::UpdateNodegroupVersion { .. } => Claim::Nothing,
        }
    }

    /// The group whose Auto Scaling group it changes. It is never sent where EKS owns that ([`replank_model::object::cloud::GroupKind::EksManaged`]).
    ///
    /// Tags of a managed node group are written on the node group itself (EKS TagResource), and actions of hooks that are not EKS's own are
    /// regardless of whose hook it is. The autoscaler terminates instances of such a group as Cluster Autoscaler does, by their ids and once they are empty: the group
    /// wants one less, and EKS follows it.
    #[must_use]
    pub fn changes_auto_scaling_group(&self) -> Option<&GroupName> {
        match self {
            Self::SetTemplate { group, .. }
            | Self::Resize { group, .. }
            | Self::SetProcess { group, .. }
            | Self::ProtectInstance { group, .. } => Some(&group.node_group),
            Self::Terminate { expected, replacement: Replacement::Decrement { .. }, .. }
                if expected.is_of_autoscaler() =>
            {
                None
            }
            Self::Relieve { group, .. } | Self::Terminate { group, .. } => Some(group),
            Self::Tag { .. }
            | Self::Untag { .. }
            | Self::CompleteAction { .. }
            | Self::Heartbeat { .. }
            | Self::UpdateNodegroupVersion { .. }
            | Self::UpdateNodegroupConfig { .. }
            | Self::ScaleNodegroupToZero { .. } => None,
        }
    }
}
