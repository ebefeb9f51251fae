//! What can happen.

use replank_model::object::Kind;
use replank_model::object::cloud::{
    HealthStatus, ScalingProcess, TerminationPolicy, Transition, VersionWord,
};
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, Text, Zone};
use replank_model::time::Span;
use replank_protocol::intent::Intent;
use serde_json::Value;

use crate::cloud::{Capacity, Delivery, Hazard, StatusCheck, TargetChecks};
use crate::kubelet::{ImageFault, ImageName};
use crate::timing::Lasting;

/// Whose doing something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// The operator of the run.
    Intent,
    /// Somebody else's hand, or another controller's.
    Hand,
    /// Something breaks, or is well again.
    Fault,
    /// The process that decides.
    Process,
}

/// One thing that can happen.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// What is wanted of the run.
    Intend(Intent),
    /// Nodes of an image behave so from now on; `None`: as others do.
    Image(ImageName, Option<ImageFault>),
    /// The kubelet of a pod does something.
    Pod(Key, PodDoes),
    /// The kubelets of all pods of a workload do it.
    Pods(Kind, Key, PodDoes),
    /// A machine goes off.
    Silence(String),
    /// It is on again.
    Wake(String),
    /// The instance behind a node fails the health checks of its target groups.
    UnhealthyTarget(String),
    /// Health checks of the targets that a group registers from now on fail; or all pass.
    Targets(GroupName, TargetChecks),
    /// EC2's status checks of an instance fail, or pass again.
    Status(String, StatusCheck),
    /// The cloud says something about the instances behind nodes, in one event.
    Cloud(Vec<String>, CloudSays),
    /// So many instances of a group, of one zone or any, meet with something; which ones is drawn.
    Some(GroupName, Option<Zone>, u32, Befalls),
    /// A message comes by the queue for events about instances.
    Post(String),
    /// The queue delivers its messages otherwise from now on.
    Queue(Delivery),
    /// Capacity runs out; or is back.
    Capacity(Capacity, Supply),
    /// Instances are taken away at a rate.
    Hazard(Hazard),
    /// Somebody else acts.
    Hand(Hand),
    /// Replank starts anew and remembers nothing.
    Restart,
}

impl What {
    /// Whose doing it is.
    #[must_use]
    pub fn side(&self) -> Side {
        match self {
            Self::Intend(_) => Side::Intent,
            Self::Image(..)
            | Self::Pod(..)
            | Self::Pods(..)
            | Self::Silence(_)
            | Self::Wake(_)
            | Self::Status(..)
            | Self::Targets(..)
            | Self::UnhealthyTarget(_)
            | Self::Cloud(..)
            | Self::Some(..)
            | Self::Post(_)
            | Self::Queue(_)
            | Self::Capacity(..)
            | Self::Hazard(_) => Side::Fault,
            Self::Hand(_) => Side::Hand,
            Self::Restart => Side::Process,
        }
    }
}

/// What a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodDoes {
    /// Its readiness probe says yes.
    Ready,
    /// Its readiness probe says no.
    Unready,
    /// Its containers end with a code.
    Exit(i32),
    /// Its deletion will never be finished.
    Stick,
    /// It will.
    Unstick,
}

/// Whether there is capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// There is none any more.
    RunsOut,
    /// There is again.
    Back,
}

/// What is changed of the way in which a group goes about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A process is suspended.
    Suspend(ScalingProcess),
    /// A process is resumed.
    Resume(ScalingProcess),
    /// Which instances go first.
    Policies(Vec<TerminationPolicy>),
    /// New instances are protected from scale-in; or are not.
    ProtectNew(Protection),
}

/// Whether something is protected from scale-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// What the cloud says about instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudSays {
    /// It is taken back in two minutes.
    Spot,
    /// It may be, soon.
    Rebalance,
    /// It is retired after so long.
    Retirement(Span),
}

/// What instances of a group meet with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Befalls {
    /// The cloud says something about them; of what only spot instances are told, only these are drawn.
    Cloud(CloudSays),
    /// They are ended without a word before.
    End,
}

/// What a person or another controller does.
#[derive(Clone, Debug, PartialEq)]
pub enum Hand {
    /// Cordons a node.
    Cordon(String),
    /// Uncordons it.
    Uncordon(String),
    /// Evicts a pod, once.
    Evict(Key),
    /// Drains nodes, one after the other.
    Drain(Vec<String>),
    /// Taints it.
    Taint(String, Value),
    /// Leaves a drained node as it is, where somebody else replaces nodes.
    LeaveDrained(String),
    /// Something takes exactly so long from now on.
    Takes(Lasting, Span),
    /// Ends the instance behind a node; its group launches another.
    EndInstance(String),
    /// Changes how many nodes a group wants; its bounds follow where they must.
    ScaleGroup(GroupName, u32),
    /// Gives a group a hook of a name and timeout.
    Hook(GroupName, Transition, Text, Span),
    /// Changes how a group goes about it.
    Ways(GroupName, Way),
    /// Makes a version of a group's launch template with another image.
    NewVersion(GroupName, Text),
    /// Makes the last version of a group's launch template its default.
    DefaultVersion(GroupName),
    /// Has a group name the version of its launch template by a word.
    Follow(GroupName, VersionWord),
    /// Protects the instance behind a node from scale-in, or does so no longer.
    Protect(String, Protection),
    /// Says what the group of the instance behind a node is to take it for.
    Health(String, HealthStatus),
    /// Registers the instance behind a node in the target groups of its group.
    RegisterTargets(String),
    /// Changes how many pods a workload has.
    Scale(Kind, Key, u32),
    /// `kubectl rollout restart`.
    Restart(Kind, Key),
    /// Deletes an object.
    Delete(Kind, Key),
    /// Sets a label or annotation (a value), or takes it away (none).
    Write(Meta, Act, Kind, Key),
    /// Takes a tag off a group.
    Untag(GroupName, Text),
    /// Changes an object by a merge patch.
    Patch(Kind, Key, Value),
    /// Makes objects.
    Create(Vec<Value>),
}

/// Which of an object's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// A label.
    Label,
    /// An annotation.
    Annotation,
}

/// What is done to a label or annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It gets a value.
    Set(String, String),
    /// It goes.
    Remove(String),
}

/// The fault of kubelets that end no pod, once their node has been there for so long.
pub(super) fn after(span: Option<Span>) -> ImageFault {
    ImageFault::CannotStop { after: span.unwrap_or_default() }
}
