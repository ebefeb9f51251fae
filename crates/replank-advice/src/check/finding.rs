//! The list of all rules.

use replank_facts::finding;
use replank_facts::workload::Workload;
use replank_model::object::pod::Pod;

use crate::rule::rules;

pub use finding::{ObjectName, Severity};
pub(super) use finding::{counted, pods};

/// What a finding about a pod names: its workload, which is where a person changes it, or the pod where it has none.
pub(super) fn workload_or_pod(workload: Option<&Workload>, pod: &Pod) -> ObjectName {
    match workload {
        Some(workload) => ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        None => ObjectName::new("Pod", pod.meta.key()),
    }
}

/// One thing that was found before a roll.
pub type Finding = finding::Finding<Rule>;

rules! {
    PdbNeverAllows = "pdb-never-allows", "a disruption budget that allows no eviction even when all pods are healthy";
    PdbNotCounted = "pdb-not-counted", "a disruption budget whose pods the controller cannot count, so that it allows no eviction";
    PdbSeveral = "pdb-several", "pods covered by several disruption budgets, which the eviction API never evicts";
    PdbUnready = "pdb-unready", "a disruption budget that allows no eviction now because pods are not ready";
    PdbWaitsForBatch = "pdb-waits-for-batch", "a disruption budget that blocks evictions until batch pods have finished";
    PdbSlow = "pdb-slow", "a disruption budget that allows evictions so slowly that EKS's own update of a managed node group gives up";
    EksEndsBatch = "eks-ends-batch", "batch pods that EKS's own update of a managed node group does not wait for";
    PdbWeak = "pdb-weak", "a disruption budget that allows most pods to be evicted at once";
    PdbSelectsNothing = "pdb-selects-nothing", "a disruption budget whose selector matches no pod";
    PdbSelectsAll = "pdb-selects-all", "a disruption budget that covers all pods of a namespace";
    PdbDaemonPods = "pdb-daemon-pods", "a disruption budget over DaemonSet pods, which no drain evicts";
    NoBudget = "no-budget", "several replicas without a disruption budget";
    Singleton = "singleton", "one replica without a disruption budget: it is unavailable while it moves";
    WaitsInVain = "waits-in-vain", "pods treated as batch pods that never finish by themselves";
    BatchUnprotected = "batch-unprotected", "batch pods that would lose their work in an eviction";
    BatchWaitUnread = "batch-wait-unread", "an invalid batch-wait annotation";
    RerunUnsafe = "rerun-unsafe", "batch pods whose work must not be run again, and that an eviction would have run again";
    ResultUnrecorded = "result-unrecorded", "workflow pods whose success a drain may lose before it is recorded";
    RetryWithoutLimit = "retry-without-limit", "a retry backoff without a limit, which Argo runs without pauses";
    ShortGrace = "short-grace", "workflow steps that save outputs and have a short grace period to do so";
    CronSoon = "cron-soon", "a scheduled run that starts before old nodes can be cordoned, and blocks one of them";
    CronSkips = "cron-skips", "scheduled runs that are skipped silently";
    NoRoom = "no-room", "pods that fit neither on a remaining node nor on a new one";
    Preempts = "preempts", "pods that move and have room only where pods of lower priority are preempted";
    NodeNotReady = "node-not-ready", "nodes that are not Ready, so that pods on them may not terminate";
    PendingBefore = "pending-before", "pods that were pending before the roll";
    Gated = "gated", "pods that wait for their scheduling gates";
    OtherScheduler = "other-scheduler", "pods that another scheduler places";
    BarePod = "bare-pod", "pods that no controller would recreate";
    LocalStorage = "local-storage", "data in an emptyDir, which is lost when the pod moves";
    ZoneBound = "zone-bound", "volumes that can be attached in one zone, or to one node, only";
    PinnedToGroup = "pinned-to-group", "pods that select their node group by name";
    PlacedApart = "placed-apart", "replicas that must not share a zone or a node";
    HostPort = "host-port", "host ports that leave no node free";
    SpotOnly = "spot-only", "pods that run on spot capacity only";
    HpaAtMaximum = "hpa-at-maximum", "an autoscaler at its maximum: no replica can be added";
    HpaBeyondNodes = "hpa-beyond-nodes", "an autoscaler whose maximum exceeds what all allowed nodes can hold";
    HpaDisabled = "hpa-disabled", "an autoscaler that is not allowed to scale in one direction";
    LongGrace = "long-grace", "pods with a long termination grace period";
    ShutdownTiming = "shutdown-timing", "pods that terminate before their load balancer has deregistered them";
    ProxyDrain = "proxy-drain", "Istio proxies that cut connections after 5 s and leave their grace period unused";
    OneNode = "one-node", "all replicas on one node";
    OneZone = "one-zone", "all replicas in one zone";
    ToleratesEverything = "tolerates-everything", "pods that tolerate every taint, or the cordon taint, and can return to a draining node";
    WebhookBackend = "webhook-backend", "required admission webhooks whose only pods will be moved";
    StuckBefore = "stuck-before", "pods that were stuck in Terminating before the roll";
    CordonLeft = "cordon-left", "nodes cordoned by another actor";
    KeptNode = "kept-node", "nodes that autoscalers were asked to keep";
    OwnTaint = "own-taint", "taints of single nodes, which new nodes do not have";
    LabelByHand = "label-by-hand", "labels that kubelets refuse to set, so that new nodes lack them until somebody sets them";
    DaemonMissing = "daemon-missing", "nodes without the Ready pod of a DaemonSet that they should have";
    DaemonOnDelete = "daemon-on-delete", "DaemonSets with OnDelete and pods of an older template";
    Leftover = "leftover", "leftovers of another run on nodes and groups";
    GroupParity = "group-parity", "differences between the old node group and the one that nodes move into";
    PodSecurityGroups = "pod-security-groups", "pods with security groups of their own, for which new nodes have no branch network interface, or whose probes fail there";
    SuspendedProcess = "suspended-process", "a suspended process of an Auto Scaling group that a roll needs";
    ImageVersion = "image-version", "an image with another kubelet version than the plan requires";
    TemplateVersion = "template-version", "a launch template version named `$Latest` or `$Default`, which a roll replaces by a number";
    OldImage = "old-image", "nodes of Amazon Linux 2, for which there are no new images";
    LeftToProvisioner = "left-to-provisioner", "externally managed nodes, left to their provisioner: Karpenter, EKS Auto Mode, Fargate";
    VersionSkew = "version-skew", "kubelets that are too new or too old for the control plane";
    ImageRelease = "image-release", "nodes with a machine image that is on the list of bad ones, or whose release was abandoned";
    TerminationSetup = "termination-setup", "a set-up that does not drain every node whose instance AWS takes away";
    ManagedUpdate = "managed-update", "nodes at which EKS's own update of their managed group would give up";
    StopsTheRoll = "stops-the-roll", "what stopped the rehearsed roll, or a drain in the script, if no other finding explains it";
    Outage = "outage", "workloads that had no Ready pod for a while in the rehearsal, if no other finding explains it";
    BatchFailed = "batch-failed", "batch work that failed in the rehearsal because something other than the run ended its pod";
}
