//! The list of all rules.

use replank_facts::finding;

use crate::rule::rules;

pub(super) use finding::pods;
pub use finding::{ObjectName, Severity};

/// One thing that was found before a roll.
pub type Finding = finding::Finding<Rule>;

rules! {
    PdbNeverAllows = "pdb-never-allows", "a disruption budget that lets no pod go even when all are healthy";
    PdbNotCounted = "pdb-not-counted", "a disruption budget whose pods the controller cannot count, so that it allows nothing";
    PdbSeveral = "pdb-several", "pods under several disruption budgets, which the eviction API never evicts";
    PdbUnready = "pdb-unready", "a disruption budget that allows nothing now because pods are not ready";
    PdbWaitsForBatch = "pdb-waits-for-batch", "a disruption budget that keeps batch pods until they are done";
    PdbWeak = "pdb-weak", "a disruption budget that lets most pods go at once";
    NoBudget = "no-budget", "several replicas without a disruption budget";
    Singleton = "singleton", "one replica without a disruption budget: it is gone while it moves";
    WaitsInVain = "waits-in-vain", "pods that are waited for as batch pods and do not end by themselves";
    BatchUnprotected = "batch-unprotected", "batch pods whose work an eviction would lose";
    BatchWaitUnread = "batch-wait-unread", "an annotation that is to say how long a pod is waited for, and does not";
    ResultUnrecorded = "result-unrecorded", "workflow pods whose good end a drain may lose before it is recorded";
    RetryWithoutLimit = "retry-without-limit", "a retry backoff without a limit, whose pauses Argo skips";
    ShortGrace = "short-grace", "workflow steps with outputs to save and little time for it when they are told to stop";
    CronSoon = "cron-soon", "a scheduled run that begins before old nodes can be cordoned, and holds one of them";
    CronSkips = "cron-skips", "scheduled runs that do not begin, and nobody says so";
    NoRoom = "no-room", "pods that fit on no node that stays and on no new one";
    NodeNotReady = "node-not-ready", "nodes that are not Ready, so that pods may not end on them";
    PendingBefore = "pending-before", "pods that had no node before the roll";
    BarePod = "bare-pod", "pods that nobody would make again";
    LocalStorage = "local-storage", "data in an emptyDir, which is lost when the pod moves";
    ZoneBound = "zone-bound", "volumes that only nodes of one zone, or one node, can reach";
    PinnedToGroup = "pinned-to-group", "pods that name the node group they run in";
    PlacedApart = "placed-apart", "replicas that must not share a zone or a node";
    SpotOnly = "spot-only", "pods that run on spot capacity only";
    HpaAtMaximum = "hpa-at-maximum", "an autoscaler at its maximum: no replica can be added";
    HpaBeyondNodes = "hpa-beyond-nodes", "an autoscaler whose maximum is more than all nodes hold that there may be";
    LongGrace = "long-grace", "pods that may take long to stop";
    ShutdownTiming = "shutdown-timing", "pods behind a load balancer that end before it has let go of them";
    ProxyDrain = "proxy-drain", "Istio proxies that cut connections after 5 s, their grace unused";
    OneNode = "one-node", "all replicas on one node";
    OneZone = "one-zone", "all replicas in one zone";
    ToleratesEverything = "tolerates-everything", "pods that tolerate every taint, or a cordon, and come back to a node that is drained";
    WebhookBackend = "webhook-backend", "admission webhooks that must answer, and whose only pods are to be moved";
    StuckBefore = "stuck-before", "pods that were to be gone before the roll, and are not";
    CordonLeft = "cordon-left", "nodes that somebody else has cordoned";
    Leftover = "leftover", "what another run has left on nodes and groups";
    GroupParity = "group-parity", "what the group that nodes move into lacks";
    OldImage = "old-image", "nodes of Amazon Linux 2, for which there are no new images";
    LeftToProvisioner = "left-to-provisioner", "nodes that are left to whoever made them: Karpenter, EKS Auto Mode, Fargate";
    VersionSkew = "version-skew", "kubelets that are too new or too old for the control plane";
}
