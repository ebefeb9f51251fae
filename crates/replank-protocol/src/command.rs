//! Commands: what a driver is to do, complete, and what came of it.
//!
//! A driver, simulated or live, has no choices to make. Every precondition it must check is in the command; a command
//! whose precondition fails has no effect and says so.

use std::fmt;
use std::sync::Arc;

use replank_model::object::cloud::{GroupSize, LaunchTemplate, TemplateVersion};
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::{Kind, Object, ObjectRef};
use replank_model::text::{GroupName, InstanceId, MessageId, NodeName, RunId, Text, Uid};
use replank_model::time::Time;

use crate::cause::Cause;
use crate::lifecycle::Action;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Names the effect: two commands with one key are one effect, however often they are sent.
    pub key: CommandKey,
    /// On whose behalf.
    pub run: RunId,
    /// What to do.
    pub effect: Effect,
    /// After this moment the command must not be carried out any more.
    pub deadline: Time,
}

/// Idempotency key: derived from the run, the effect and the incarnations it touches, never from a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandKey(pub Text);

impl fmt::Display for CommandKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A node's incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTarget {
    /// Name.
    pub name: NodeName,
    /// Uid: a node that came back under the same name is another one.
    pub uid: Uid,
}

/// A pod's incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodTarget {
    /// Namespace and name.
    pub key: Key,
    /// Uid: a StatefulSet's pod comes back under the same name.
    pub uid: Uid,
}

/// A workload that `kubectl rollout restart` can restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadTarget {
    /// What it is.
    pub kind: Restartable,
    /// Namespace and name.
    pub key: Key,
    /// Uid: a workload that was made anew under the same name is another one.
    pub uid: Uid,
}

/// Kinds that `kubectl rollout restart` knows (polymorphichelpers `objectrestarter.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Restartable {
    /// apps/v1 Deployment; not while it is paused.
    Deployment,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 DaemonSet.
    DaemonSet,
}

impl Restartable {
    /// The kind of its objects.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Deployment => Kind::Deployment,
            Self::StatefulSet => Kind::StatefulSet,
            Self::DaemonSet => Kind::DaemonSet,
        }
    }
}

/// What is written on a node beside a cordon, so that anybody can see whose it is and a later run can clear it. How it is
/// written: [`crate::mark::laid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What the node is to the run.
    pub role: NodeRole,
    /// Since when the run has had the node.
    pub since: Time,
    /// When the mark may be cleared by anybody, should its owner be gone.
    pub expires: Time,
}

/// What a node is to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeRole {
    /// To be replaced, not yet begun.
    Doomed,
    /// Being drained.
    Draining {
        /// When the first pod may be moved.
        from: Time,
    },
    /// Left out of the run, because a batch pod outlived its deadline: not cordoned.
    Skipped,
    /// A new node that is to go again, because the run ends before it was needed.
    Surplus,
    /// Replaced and empty, and kept for a while so that there is a way back (`retain.capacity: cordoned`).
    Retained,
    /// Taken away by something that nobody here decides, and drained in the time that is left.
    Interrupted {
        /// By what.
        by: Cause,
        /// When it is gone for certain, where that is known.
        until: Option<Time>,
        /// Since when its pods are moved, where that was written down beforehand: always, where it may stay after all.
        from: Option<Time>,
    },
}

impl NodeRole {
    /// Whether pods may have been moved off a node of this role for the sake of what takes it away: should it stay, it is no capacity.
    #[must_use]
    pub fn depletes(self) -> bool {
        match self {
            Self::Interrupted { by, from, .. } => from.is_some() || !by.may_pass(),
            Self::Doomed | Self::Draining { .. } | Self::Skipped | Self::Surplus | Self::Retained => false,
        }
    }

    /// The value of the annotation [`crate::mark::ROLE`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Doomed => "doomed",
            Self::Draining { .. } => "draining",
            Self::Skipped => "skipped",
            Self::Surplus => "surplus",
            Self::Retained => "retained",
            Self::Interrupted { .. } => "interrupted",
        }
    }

    /// Whether nodes of this role take no new pods.
    #[must_use]
    pub fn is_cordoned(self) -> bool {
        match self {
            Self::Doomed
            | Self::Draining { .. }
            | Self::Surplus
            | Self::Retained
            | Self::Interrupted { .. } => true,
            Self::Skipped => false,
        }
    }
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
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
    /// --grace-period=0`). Fails as long as the instance that the pod was on is not terminated, since its containers may run
    /// on: the API would let go of a pod that is still there. A pod with finalizers stays until they are gone.
    ForceDelete {
        /// The pod.
        pod: PodTarget,
        /// The instance of the pod's node.
        instance: InstanceId,
    },
    /// Makes the node what [`crate::mark::excluded`] says: no target of load balancers that send to nodes. Fails if the node
    /// changed since `version`. [`Effect::Uncordon`] takes it back.
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
    /// Writes a tag on a group if it says what it said when the decision was taken; else what was written first stands.
    TagGroup {
        /// The group.
        group: GroupName,
        /// Tag key.
        key: Text,
        /// What it says; `None` if there is no such tag.
        from: Option<Text>,
        /// Tag value.
        value: Text,
    },
    /// Takes a tag off a group.
    UntagGroup {
        /// The group.
        group: GroupName,
        /// Tag key.
        key: Text,
    },
    /// Makes a version of the group's launch template, or finds the equal one, and makes it current.
    SetTemplate {
        /// The group.
        group: GroupName,
        /// Version that must be current.
        from: TemplateVersion,
        /// What new instances are to be made from.
        to: Arc<LaunchTemplate>,
    },
    /// Changes a group's bounds and raises what it wants. `to.desired` is never below `from.desired`: groups shrink by
    /// [`Effect::Terminate`] only.
    Resize {
        /// The group.
        group: GroupName,
        /// Size that the group must have.
        from: GroupSize,
        /// Size that it gets.
        to: GroupSize,
    },
    /// Has a group launch another instance in the place of one, which its termination hook holds meanwhile: the instance is ended
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
    /// Lets an instance go on that a lifecycle hook holds (CompleteLifecycleAction, CONTINUE).
    CompleteAction {
        /// The action.
        action: Action,
    },
    /// Has a lifecycle hook hold an instance for its timeout from then on (RecordLifecycleActionHeartbeat).
    Heartbeat {
        /// The action.
        action: Action,
    },
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
    /// Makes an object. Fails where there is one of the name.
    Create {
        /// The object, as one would write it down.
        object: Object,
    },
    /// Replaces an object with another state of it. Fails if it changed since the version that the new state bears, or is another
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
    /// Ends one instance.
    Terminate {
        /// The instance.
        instance: InstanceId,
        /// Its group.
        group: GroupName,
        /// The node it must still be, or `None` for an instance that never registered.
        node: Option<NodeTarget>,
        /// Whether the group wants one instance less afterwards, or launches another in its place.
        replacement: Replacement,
    },
}

/// What becomes of the objects that an object owns, when it is deleted (`propagationPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependents {
    /// They stay, owned by nobody (`Orphan`).
    Orphaned,
    /// The garbage collector deletes them (`Background`).
    Collected,
}

/// What a group does after a termination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Replacement {
    /// Desired stays; another instance is launched.
    Launch,
    /// Desired is lowered by this one instance (`ShouldDecrementDesiredCapacity`).
    Decrement,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Which command.
    pub key: CommandKey,
    /// When it was known.
    pub at: Time,
    /// What came of it.
    pub result: Result<(), Refusal>,
}

/// Why a command had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A disruption budget does not allow the eviction (429, cause DisruptionBudget).
    #[error("{message}")]
    Budget {
        /// The API server's words; they name the budget, what it needs and what there is.
        message: Text,
    },
    /// The API server asks to come again later (429 with Retry-After).
    #[error("asked to retry in {after_seconds} s: {message}")]
    Later {
        /// Seconds.
        after_seconds: i64,
        /// The server's words.
        message: Text,
    },
    /// A precondition failed: the object changed or is another incarnation (409).
    #[error("conflict: {message}")]
    Conflict {
        /// The server's words.
        message: Text,
    },
    /// The object is gone (404).
    #[error("not found: {message}")]
    Gone {
        /// The server's words.
        message: Text,
    },
    /// Anything else: the status code and the server's words.
    #[error("{code}: {message}")]
    Failed {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: Text,
    },
}
