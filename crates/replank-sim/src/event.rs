//! What can be due: one event for each thing that a part of the world does. The parts know how to do it; here is only what
//! they put on the agenda, so that none of them needs to know another.

use replank_model::object::Kind;
use serde::{Deserialize, Serialize};

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A controller looks at an object.
    Sync(Controller, u32),
    /// A controller that remembers does its next thing.
    Control(ControlDue),
    /// A controller looks at an object after a pause.
    SyncLater(Controller, u32),
    /// A controller goes on with looking at an object.
    Resume(Controller, u32),
    /// A kubelet does the next thing for a pod.
    Kubelet(KubeletDue),
    /// A kubelet looks at what its node is short of.
    NodePressure(u32),
    /// The scheduler does its next thing.
    Schedule(ScheduleDue),
    /// The cloud does its next thing for an instance or a group.
    Cloud(CloudDue),
    /// The driver does its next thing.
    Driver(DriverDue),
}

/// The controllers that keep a work queue.
#[expect(clippy::enum_variant_names, reason = "they are called as the kinds they keep")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Controller {
    /// Rolls a Deployment's ReplicaSets.
    Deployment,
    /// Keeps a ReplicaSet's pods.
    ReplicaSet,
    /// Keeps a ReplicationController's pods.
    ReplicationController,
    /// Keeps a StatefulSet's pods and claims.
    StatefulSet,
    /// Keeps a DaemonSet's pods.
    DaemonSet,
    /// Runs a Job's pods.
    Job,
    /// Takes the finalizer from pods that no Job counts.
    JobOrphan,
    /// Deletes a Job some time after its end.
    JobTtl,
    /// Makes a CronJob's Jobs.
    CronJob,
    /// Keeps the EndpointSlices of a Service.
    EndpointSlice,
}

/// What one of the controllers that remember something is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlDue {
    /// Disruption budgets.
    Disruption(DisruptionDue),
    /// Which nodes are heard of.
    Nodes(NodesDue),
    /// Pods that leave tainted nodes.
    Taints(TaintsDue),
    /// Pods that no kubelet will end.
    PodGc,
    /// Objects whose owners are gone.
    Garbage,
    /// Namespaces on their way out.
    Namespaces(NamespacesDue),
    /// What a quota's namespace uses.
    Quota(u32),
    /// An autoscaler's look at its target.
    Autoscaler(u32),
    /// Pods of custom resources.
    Operators(OperatorsDue),
    /// Claims and volumes.
    Volumes(VolumesDue),
    /// Pods of workflows.
    Workflow(WorkflowDue),
    /// A Rollout.
    Rollout(RolloutDue),
    /// Karpenter's nodes.
    Karpenter(KarpenterDue),
    /// Nodes that somebody drains.
    Drains(DrainsDue),
}

/// A drain, by its number, goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DrainsDue(pub(crate) u32);

/// What the disruption controller is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisruptionDue {
    /// Look at a budget.
    Look(u32),
    /// Take a stale condition off a pod.
    Stale(u32),
}

/// What the node life cycle controller is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodesDue {
    /// Look at the nodes.
    Monitor,
    /// Write the NoExecute taints whose turn it is.
    Taint,
    /// Bring a node's NoSchedule taints in line with its conditions.
    Sweep(u32),
    /// See whether a pod was bound to a node that is not ready.
    Bound(u32),
}

/// What the taint eviction controller is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaintsDue {
    /// Look at a node's taints.
    Node(u32),
    /// Look at a pod that was bound, or whose tolerations changed.
    Pod(u32),
    /// Evict a pod, if this eviction still stands.
    Evict {
        /// The pod's slot.
        slot: u32,
        /// The eviction's number.
        number: u32,
    },
}

/// What the namespace controller is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamespacesDue {
    /// Empty a namespace, as far as that goes.
    Round(u32),
    /// Let an empty namespace go.
    Finalize(u32),
}

/// An operator is to make the pod of this number again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperatorsDue(pub(crate) u64);

/// What the volume controllers are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VolumesDue {
    /// Look at a claim.
    Claim(u32),
    /// Look at a volume.
    Volume(u32),
    /// Look at all claims that wait.
    Resync,
    /// A claim's volume has been made.
    Provisioned(u32),
    /// A released volume's storage has been deleted.
    Reclaimed(u32),
    /// Give a pod's ephemeral volumes their claims.
    Ephemeral(u32),
    /// Bring the attachments of a volume in line with its users.
    Attach(u32),
    /// An attachment is done, or undone: its number.
    Attachment(u32),
}

/// What Argo's workflow controller is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkflowDue {
    /// Record how the pod in a slot ended.
    Record(u32),
    /// The task of a number.
    Task(u64),
}

/// A Rollout, by its number, is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RolloutDue(pub(crate) u64);

/// What Karpenter is to do. Machines are numbered, claims are known by their slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KarpenterDue {
    /// Look at a claim.
    Claim(u32),
    /// Look at the pods that need room.
    Provision,
    /// The kubelet of a machine registers.
    Register(u32),
    /// The node of a machine becomes Ready.
    Ready(u32),
    /// The machine of a claim is off.
    Off(u32),
}

/// One thing that a kubelet is to do for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KubeletDue {
    /// The pod's slot.
    pub(crate) slot: u32,
    /// Which pod of that slot: the number of its record.
    pub(crate) number: u32,
    /// What.
    pub(crate) step: Step,
}

/// What a kubelet does for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Containers run.
    Start,
    /// The init container that runs ends.
    InitEnd,
    /// The init container that has failed is started again.
    InitAgain,
    /// The readiness probe says yes.
    Ready,
    /// What has changed of the pod is taken up.
    Observe,
    /// The pod has been active for as long as it may.
    Deadline,
    /// Containers end by themselves.
    Exit,
    /// Containers that ended run again.
    Restart,
    /// Containers crash, if their node's image still makes them.
    Crash,
    /// Containers that crashed run again.
    StartAgain,
    /// Containers have stopped.
    Stopped,
    /// The pod can be taken out of the API.
    Remove,
}

/// What the scheduler is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleDue {
    /// Try the next pod.
    Cycle,
    /// Go on with a removal, by number.
    Preempt(u32),
    /// Bind the pod in this slot, whose claims are bound.
    Bind(u32),
    /// Give up waiting for the claims of the pod in this slot.
    GiveUp(u32),
}

/// One thing that the cloud is to do. The numbers are positions in its lists of groups, instances and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CloudDue {
    /// A group compares what it has with what it wants.
    Reconcile(u32),
    /// An instance's kubelet registers.
    Register(u32),
    /// A node becomes Ready.
    Ready(u32),
    /// An instance is gone.
    Terminated(u32),
    /// The node of an ended instance is taken out.
    NodeGone(u32),
    /// EKS goes on with the drain of an instance that its hook holds.
    Eks(u32),
    /// A lifecycle hook may have held an instance for long enough.
    HookOver(u32),
    /// An instance is taken back.
    TakenBack(u32),
    /// A message is received.
    Receive(u32),
    /// A message may be received again.
    Visible(u32),
    /// A hazard meets an instance.
    Hazard(u32),
    /// An update of a managed node group goes on.
    Nodegroup(u32),
    /// A group looks at the health of an instance.
    HealthCheck(u32),
    /// Somebody replaces a drained node.
    Replaced(u32),
    /// Something is due of the targets that an instance is.
    Targets(u32),
}

/// One thing that the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverDue {
    /// A stream hands over what it has.
    Deliver(Stream),
    /// Core looks at what it knows.
    Decide,
    /// A command arrives: it is checked, and carried out if it needs no check or nobody can come between.
    Execute(u32),
    /// A command that was checked is carried out.
    Act(u32),
    /// An answer arrives.
    Answer(u32),
}

/// One watch. Kinds whose changes no decision reads are not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Objects of one kind.
    Objects(Kind),
    /// Node groups and instances: polled from the cloud.
    Cloud,
}
