//! Reasons of a roll: what nodes and groups wait on, and which are left as they are.

use std::fmt;

use replank_model::object::cloud::{GroupSize, ScalingProcess, TargetHealth, UpdateError};
use replank_model::object::meta::Key;
use replank_model::text::{RunId, Text, Zone};
use replank_model::time::{Span, Time};
use serde::{Deserialize, Serialize};

use super::finality::{Finality, counted};
use super::pod::{PodEnd, PodWait};
use crate::provisioner::Provisioner;
use crate::subject::Hope;
use crate::taker::Taker;

/// What a roll waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RollWait {
    /// An instance is kept until load balancers have deregistered it.
    Deregistration {
        /// Until when.
        until: Time,
    },
    /// An instance is kept until it is seen deregistered from a target group.
    Target {
        /// The target group's name.
        target_group: Text,
        /// What the instance is there.
        health: TargetHealth,
        /// The target group's deregistration delay.
        delay: Span,
    },
    /// A pause that the plan asks for.
    Pace {
        /// Its end.
        until: Time,
    },
    /// The canary is being watched.
    Soak {
        /// Its end.
        until: Time,
    },
    /// The run stands still after a wave.
    Bake {
        /// Which wave.
        wave: u32,
        /// Its end.
        until: Time,
    },
    /// A wave is not finished yet.
    Wave {
        /// Which.
        wave: u32,
        /// Nodes that are replaced.
        replaced: u32,
        /// How many there are to be when it is over.
        nodes: u32,
    },
    /// What was replaced is kept for a while.
    Retained {
        /// Until when.
        until: Time,
    },
    /// The canary is not finished yet.
    Canary {
        /// Nodes of the canary that are replaced.
        replaced: u32,
        /// How many it has.
        nodes: u32,
    },
    /// Other nodes come first: one entry for all queued nodes of a group.
    Turn {
        /// How many nodes are queued.
        nodes: u32,
        /// How many are being replaced.
        active: u32,
        /// How many may be at once.
        limit: u32,
    },
    /// Nothing is moved before every old node is cordoned.
    Cordon {
        /// Nodes that are not.
        nodes: u32,
    },
    /// The budget of nodes: fewer would be Ready than there must be.
    Available {
        /// Nodes that are Ready.
        ready: u32,
        /// Nodes that must stay Ready.
        needed: u32,
    },
    /// The budget of nodes in one zone.
    ZoneMinimum {
        /// The zone.
        zone: Zone,
        /// Nodes that are Ready there.
        ready: u32,
        /// Nodes that must stay Ready there.
        needed: u32,
    },
    /// What an earlier run has left is removed first.
    Leftover {
        /// The run.
        run: RunId,
    },
    /// A condition says that a new node is in a bad way, which is why the run has halted.
    BadCondition {
        /// Its name, such as `MemoryPressure`.
        condition: Text,
    },
    /// An old node is not Ready: it may become so again, or is replaced for that.
    NotReady {
        /// Since when.
        since: Time,
        /// When it is replaced, if the plan replaces such nodes.
        until: Option<Time>,
    },
    /// A node's instance is not known to the cloud, so that it can be neither terminated nor replaced.
    NoInstance,
    /// Instances are terminating.
    Leaving {
        /// How many.
        instances: u32,
    },
    /// EKS replaces the nodes of a managed node group.
    NodegroupUpdate {
        /// The update's id.
        id: Text,
        /// When it was requested.
        since: Time,
        /// Nodes that are still to be replaced.
        nodes: u32,
    },
    /// EKS drains a node of a managed node group by its own rules, and gives up on it with a pod left after a quarter of an hour.
    EksDrain {
        /// Pods that are still to leave.
        pods: u32,
        /// Before when EKS does not give up on the node, where that is known: it began to drain it no sooner than the cordon.
        not_before: Option<Time>,
        /// By when it does, where that is known: it had begun when a pod of the node was asked to go.
        by: Option<Time>,
    },
    /// A NodeClaim is on its way out: Karpenter drains its node and terminates the machine.
    ClaimLeaving {
        /// Since when.
        since: Time,
        /// Pods that are still to leave.
        pods: u32,
        /// From when on Karpenter deletes what is left, if the claim limits its drain.
        by: Option<Time>,
    },
    /// EKS updates a managed node group to something other than the plan's target.
    OtherUpdate {
        /// The update's id.
        id: Text,
        /// When it was requested.
        since: Time,
    },
    /// A process of a group is suspended that the roll needs.
    Suspended {
        /// Which.
        process: ScalingProcess,
        /// The Auto Scaling group.
        auto_scaling_group: Text,
    },
    /// An instance with batch pods that the run waits for is not protected from scale-in: its group can have no more tags of ours, or the protection is refused.
    Unprotected {
        /// How many of the group's instances are protected, where these are all that can be.
        limit: Option<u32>,
    },
    /// Somebody else takes a node away: it is left to them, and counts no more.
    TakenAway {
        /// Who.
        by: Taker,
    },
    /// A node is empty, and somebody else is to replace it (`provider: external`).
    Replacement {
        /// Since when it is empty.
        since: Time,
        /// Until when that is waited for.
        until: Time,
    },
    /// Nodes are gone, and somebody else is to bring others in their places (`provider: external`).
    Successor {
        /// Ready nodes of the group that stay.
        ready: u32,
        /// How many the group had before the run.
        wanted: u32,
        /// Since when one is missing.
        since: Time,
        /// Until when it is waited for.
        until: Time,
    },
}

impl RollWait {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Deregistration { .. } => ("deregistration", "load balancer deregistration"),
            Self::Target { .. } => ("target", "deregistration from target groups"),
            Self::Pace { .. } => ("pace", "the plan's pace"),
            Self::Soak { .. } => ("soak", "the canary's soak"),
            Self::Bake { .. } => ("bake", "a wave's bake"),
            Self::Wave { .. } => ("wave", "a wave to finish"),
            Self::Retained { .. } => ("retained", "retention to end"),
            Self::Canary { .. } => ("canary", "the canary to finish"),
            Self::Turn { .. } => ("turn", "their turn"),
            Self::Cordon { .. } => ("cordon", "all old nodes to be cordoned"),
            Self::Available { .. } => ("available", "more Ready nodes"),
            Self::ZoneMinimum { .. } => ("zoneMinimum", "more Ready nodes in a zone"),
            Self::Leftover { .. } => ("leftover", "leftovers of another run to be removed"),
            Self::BadCondition { .. } => ("badCondition", "new nodes with a bad condition"),
            Self::NotReady { .. } => ("notReady", "an old node to become Ready again"),
            Self::NoInstance => ("noInstance", "the cloud to list an instance"),
            Self::Leaving { .. } => ("leaving", "instances to terminate"),
            Self::NodegroupUpdate { .. } => ("nodegroupUpdate", "the EKS update of a managed node group"),
            Self::EksDrain { .. } => ("eksDrain", "EKS to drain a node"),
            Self::ClaimLeaving { .. } => ("claimLeaving", "Karpenter to terminate a node"),
            Self::OtherUpdate { .. } => ("otherUpdate", "another EKS update to finish"),
            Self::Suspended { .. } => ("suspended", "a suspended process of an Auto Scaling group"),
            Self::Unprotected { .. } => ("unprotected", "protection from scale-in"),
            Self::TakenAway { .. } => ("takenAway", "somebody else to take a node away"),
            Self::Replacement { .. } => ("replacement", "somebody else to replace a drained node"),
            Self::Successor { .. } => ("successor", "somebody else to bring a new node"),
        }
    }

    pub(super) fn hope(&self) -> Hope {
        match self {
            Self::Deregistration { .. }
            | Self::Pace { .. }
            | Self::Soak { .. }
            | Self::Bake { .. }
            | Self::Retained { .. }
            | Self::Cordon { .. }
            | Self::Leaving { .. }
            | Self::Target { .. }
            | Self::NotReady { until: Some(_), .. }
            | Self::Replacement { .. }
            | Self::Successor { .. }
            | Self::NodegroupUpdate { .. } => Hope::Moving,
            Self::Wave { .. }
            | Self::Canary { .. }
            | Self::Turn { .. }
            | Self::Available { .. }
            | Self::ZoneMinimum { .. }
            | Self::OtherUpdate { .. }
            | Self::ClaimLeaving { .. }
            | Self::EksDrain { .. }
            | Self::TakenAway { .. }
            | Self::Suspended { .. }
            | Self::NotReady { until: None, .. }
            | Self::NoInstance => Hope::Possible,
            // What keeps it from being removed, or what is waited for on the instance, has a reason of its own.
            Self::BadCondition { .. } | Self::Leftover { .. } | Self::Unprotected { .. } => Hope::None,
        }
    }
}

impl fmt::Display for RollWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deregistration { until } => write!(f, "load balancer deregistration, until {until}"),
            Self::Target { target_group, health, delay } => {
                write!(f, "target group {target_group}: {health}, deregistration delay {delay}")
            }
            Self::Pace { until } => write!(f, "the plan's pace, until {until}"),
            Self::Soak { until } => write!(f, "the canary's soak, until {until}"),
            Self::Bake { wave, until } => write!(f, "the bake of wave {wave}, until {until}"),
            Self::Wave { wave, replaced, nodes } => {
                write!(f, "wave {wave} to finish: {replaced} of {nodes} nodes replaced")
            }
            Self::Retained { until } => write!(f, "retention to end at {until}"),
            Self::Canary { replaced, nodes } => {
                write!(f, "the canary to finish: {replaced} of {nodes} nodes replaced")
            }
            Self::Turn { nodes, active, limit } => {
                write!(
                    f,
                    "their turn: {} queued, {active} of at most {limit} being replaced",
                    counted(*nodes, "node")
                )
            }
            Self::Cordon { nodes } => write!(f, "{} to be cordoned", counted(*nodes, "old node")),
            Self::Available { ready, needed } => {
                write!(f, "more Ready nodes: {ready} Ready, {needed} must stay Ready")
            }
            Self::ZoneMinimum { zone, ready, needed } => {
                write!(f, "more Ready nodes in zone {zone}: {ready} Ready, {needed} must stay Ready")
            }
            Self::Leftover { run } => write!(f, "leftovers of run {run} to be removed"),
            Self::BadCondition { condition } => write!(f, "the new node has the condition {condition}"),
            Self::NotReady { since, until: Some(until) } => {
                write!(
                    f,
                    "the node to become Ready again, not Ready since {since}; replaced as dead from {until}"
                )
            }
            Self::NotReady { since, until: None } => {
                write!(
                    f,
                    "the node to become Ready again, not Ready since {since}; the plan leaves dead nodes as they are"
                )
            }
            Self::NoInstance => f.write_str("the cloud to list its instance"),
            Self::Leaving { instances } => write!(f, "{} to terminate", counted(*instances, "instance")),
            Self::NodegroupUpdate { id, since, nodes } => {
                write!(
                    f,
                    "EKS update {id}, in progress since {since}: {} to replace",
                    counted(*nodes, "node")
                )
            }
            Self::EksDrain { pods, not_before, by } => {
                write!(f, "EKS to drain the node: {} left", counted(*pods, "pod"))?;
                match (not_before, by) {
                    (Some(at), Some(by)) if at == by => write!(f, ", EKS gives up at {by}"),
                    (Some(at), Some(by)) => write!(f, ", EKS gives up between {at} and {by}"),
                    (Some(at), None) => write!(f, ", EKS gives up at {at} at the earliest"),
                    (None, Some(by)) => write!(f, ", EKS gives up by {by}"),
                    (None, None) => Ok(()),
                }
            }
            Self::ClaimLeaving { since, pods, by } => {
                write!(
                    f,
                    "Karpenter to drain and terminate its node, since {since}: {} left",
                    counted(*pods, "pod")
                )?;
                by.map_or(Ok(()), |by| write!(f, ", deleted by {by} at the latest"))
            }
            Self::OtherUpdate { id, since } => {
                write!(f, "EKS update {id} to another target, in progress since {since}")
            }
            Self::Suspended { process, auto_scaling_group } => {
                write!(
                    f,
                    "process {process} of Auto Scaling group {auto_scaling_group}, which is suspended: resume it"
                )
            }
            Self::Unprotected { limit: Some(limit) } => {
                write!(
                    f,
                    "protection from scale-in: {} of its group protected, more tags do not fit the group",
                    counted(*limit, "instance")
                )
            }
            Self::Unprotected { limit: None } => f.write_str(
                "protection from scale-in, which is refused: somebody who lowers the group's size may end it",
            ),
            Self::TakenAway { by } => write!(f, "the node to be taken away by {by}"),
            Self::Replacement { since, until } => {
                write!(f, "somebody else to replace the node, empty since {since} (until {until})")
            }
            Self::Successor { ready, wanted, since, until } => {
                write!(
                    f,
                    "somebody else to bring a new node: {ready} of {wanted} Ready, missing since {since} (until {until})"
                )
            }
        }
    }
}

/// A pod that EKS could not evict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftPod {
    /// The pod.
    pub pod: Key,
    /// What keeps it, as far as that is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<PodWait>,
    /// Why it would never have been evicted, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<PodEnd>,
}

impl fmt::Display for LeftPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.on, &self.end) {
            (Some(on), _) => write!(f, "pod {} waits for {on}", self.pod),
            (None, Some(end)) => write!(f, "pod {}: {end}", self.pod),
            (None, None) => write!(f, "pod {} is left", self.pod),
        }
    }
}

/// What a roll leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RollEnd {
    /// A group that nodes are to leave may not want fewer.
    GroupMinimum {
        /// Its minimum.
        min: u32,
        /// How many it would want.
        left: u32,
    },
    /// Nodes are to leave a managed node group, and not all of them do: EKS picks the instances that it terminates.
    PartOfManaged {
        /// Nodes of the group that stay.
        nodes: u32,
    },
    /// A node of the run was uncordoned by another actor, and is left to it.
    Reopened,
    /// A new node was cordoned by another actor.
    ForeignCordon,
    /// A node is externally managed: its provisioner replaces it.
    ManagedBy {
        /// The provisioner.
        provisioner: Provisioner,
    },
    /// A node or its NodeClaim is annotated `karpenter.sh/do-not-disrupt`, and is left as it is.
    DoNotDisrupt,
    /// A node was skipped because of a pod on it: a batch pod that outlived its deadline, a singleton.
    Skipped,
    /// A node could not be emptied, however often that was tried.
    Postponed {
        /// How often.
        times: u32,
    },
    /// Something that the plan names does not exist.
    Missing {
        /// What it is.
        what: Text,
    },
    /// The group's bounds cannot be restored, because more instances are in use than they allow.
    Bounds {
        /// What it has.
        size: GroupSize,
        /// What it had before the run.
        original: GroupSize,
    },
    /// An update of a managed node group has failed.
    UpdateFailed {
        /// The update's id.
        id: Text,
        /// EKS's errors.
        errors: Vec<UpdateError>,
        /// Pods that are still on the nodes that EKS could not empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<LeftPod>,
    },
    /// EKS refuses to update a managed node group, and would refuse the same request again.
    UpdateRefused {
        /// What it says.
        message: Text,
    },
    /// The plan requires an image and a Kubernetes version that the image does not have.
    OtherKubelet {
        /// The image.
        image: Text,
        /// The kubelet that comes with it.
        kubelet: Text,
        /// What the plan asks for.
        wanted: Text,
    },
    /// Nobody has replaced an empty node in the time that the plan gives (`provider: external`).
    NotReplaced {
        /// Since when it is empty.
        since: Time,
        /// How long that was waited for.
        limit: Span,
    },
    /// Nobody has brought a new node in the time that the plan gives (`provider: external`).
    NoSuccessor {
        /// Ready nodes of the group that stay.
        ready: u32,
        /// How many the group had before the run.
        wanted: u32,
        /// Since when one is missing.
        since: Time,
        /// How long that was waited for.
        limit: Span,
    },
    /// A node that somebody else has brought is not what the plan asks for (`provider: external`).
    OtherNode {
        /// Its kubelet.
        kubelet: Text,
    },
    /// Nodes that somebody else has replaced stay as they are: nobody here can take that back (`provider: external`).
    ReplacedByOthers {
        /// How many.
        nodes: u32,
    },
}

impl RollEnd {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::GroupMinimum { .. } => ("groupMinimum", "node group at its minimum size"),
            Self::PartOfManaged { .. } => ("partOfManaged", "not all nodes of a managed node group"),
            Self::Reopened => ("reopened", "uncordoned by another actor"),
            Self::ForeignCordon => ("foreignCordon", "new node cordoned by another actor"),
            Self::ManagedBy { .. } => ("managedBy", "externally managed nodes"),
            Self::DoNotDisrupt => ("doNotDisrupt", "annotated not to be disrupted"),
            Self::Skipped => ("skipped", "skipped nodes"),
            Self::Postponed { .. } => ("postponed", "nodes that could not be emptied"),
            Self::Missing { .. } => ("missing", "not found"),
            Self::Bounds { .. } => ("bounds", "group sizes not restored"),
            Self::UpdateFailed { .. } => ("updateFailed", "EKS update failed"),
            Self::UpdateRefused { .. } => ("updateRefused", "EKS update refused"),
            Self::OtherKubelet { .. } => ("otherKubelet", "image of another Kubernetes version"),
            Self::NotReplaced { .. } => ("notReplaced", "drained nodes that nobody has replaced"),
            Self::NoSuccessor { .. } => ("noSuccessor", "new nodes that nobody has brought"),
            Self::OtherNode { .. } => ("otherNode", "new nodes that are not as the plan says"),
            Self::ReplacedByOthers { .. } => ("replacedByOthers", "replaced by somebody else"),
        }
    }

    pub(super) fn finality(&self) -> Finality {
        match self {
            Self::ManagedBy { .. } | Self::DoNotDisrupt | Self::Skipped | Self::ReplacedByOthers { .. } => {
                Finality::Kept
            }
            Self::GroupMinimum { .. }
            | Self::PartOfManaged { .. }
            | Self::Reopened
            | Self::ForeignCordon
            | Self::Postponed { .. }
            | Self::Missing { .. }
            | Self::Bounds { .. }
            | Self::UpdateFailed { .. }
            | Self::UpdateRefused { .. }
            | Self::OtherKubelet { .. }
            | Self::NotReplaced { .. }
            | Self::NoSuccessor { .. }
            | Self::OtherNode { .. } => Finality::Blocked,
        }
    }
}

impl fmt::Display for RollEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GroupMinimum { min, left } => {
                write!(
                    f,
                    "its group would shrink to {left}, below its minimum size of {min}: lower the minimum"
                )
            }
            Self::PartOfManaged { nodes } => {
                write!(
                    f,
                    "EKS picks the instances of a managed node group that it terminates, and {} of the group would stay: move all of its nodes, or none",
                    counted(*nodes, "node")
                )
            }
            Self::Reopened => f.write_str("uncordoned by another actor"),
            Self::ForeignCordon => f.write_str("the new node was cordoned by another actor"),
            Self::ManagedBy { provisioner } => {
                write!(f, "externally managed by {provisioner}: {}", provisioner.way())
            }
            Self::DoNotDisrupt => f.write_str(
                "annotated karpenter.sh/do-not-disrupt: \"true\": remove the annotation to have the node replaced",
            ),
            Self::Skipped => f.write_str("skipped because of a pod on it, as the plan says"),
            Self::Postponed { times } => {
                write!(f, "its drain came to a standstill {times} times, and it is left as it is")
            }
            Self::Missing { what } => write!(f, "{what} does not exist"),
            Self::UpdateFailed { id, errors, left } => {
                write!(f, "EKS update {id} failed")?;
                for error in errors {
                    write!(f, "; {error}")?;
                    error.explained().map_or(Ok(()), |words| write!(f, ": {words}"))?;
                }
                left.iter().try_for_each(|pod| write!(f, "; {pod}"))
            }
            Self::UpdateRefused { message } if message.contains("already using the requested") => {
                write!(
                    f,
                    "nothing to update: EKS replaces nodes only for another version, and says: {message}; name a target, or move the nodes into another group (target.group)"
                )
            }
            Self::UpdateRefused { message } => write!(f, "EKS refuses to update the node group: {message}"),
            Self::OtherKubelet { image, kubelet, wanted } => {
                write!(
                    f,
                    "image {image} contains kubelet {kubelet}, but the plan requires {wanted}: specify an image for {wanted}, or omit image"
                )
            }
            Self::NotReplaced { since, limit } => {
                write!(
                    f,
                    "nobody has replaced the node, empty since {since}, within {limit}: replace it, then run the plan again"
                )
            }
            Self::NoSuccessor { ready, wanted, since, limit } => {
                write!(
                    f,
                    "nobody has brought a new node within {limit}: {ready} of {wanted} Ready, missing since {since}; add one, then run the plan again"
                )
            }
            Self::OtherNode { kubelet } => {
                write!(f, "the new node is not as spec.target says (its kubelet is {kubelet}): replace it")
            }
            Self::ReplacedByOthers { nodes } => {
                let stay = if *nodes == 1 { "stays as it is" } else { "stay as they are" };
                write!(f, "{} that somebody else has replaced {stay}", counted(*nodes, "node"))
            }
            Self::Bounds { size, original } => {
                write!(f, "its size is {size}, before the run it was {original}")
            }
        }
    }
}
