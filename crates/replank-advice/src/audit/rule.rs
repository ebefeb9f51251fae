//! The list of all rules.

use replank_facts::finding;

use crate::rule::rules;

pub use finding::{ObjectName, Severity};

/// One thing that was found about where pods are and can go.
pub type Finding = finding::Finding<Rule>;

rules! {
    FitsNowhere = "fits-nowhere", "pods that fit on no node of the cluster, even if all nodes were empty";
    SelectorMatchesNothing = "selector-matches-nothing", "node selectors and required node affinity that match no node";
    TolerationMatchesNothing = "toleration-matches-nothing", "tolerations that match no taint of any node";
    OnSpot = "on-spot", "single replicas and system workloads that run on spot nodes or can be scheduled there";
    OnAutoscaled = "on-autoscaled", "single replicas and system workloads that run on nodes an autoscaler may remove, or can be scheduled there";
    AutoscaledUnknown = "autoscaled-unknown", "an autoscaler whose node groups are not in the snapshot";
    NotInSnapshot = "not-in-snapshot", "objects missing from the snapshot, so that checks were skipped";
    OneNode = "one-node", "all replicas on one node";
    OneZone = "one-zone", "all replicas in one zone";
    SingleNodeFits = "single-node-fits", "pods that fit on one node only: without it they are unschedulable";
    NoSpareDomain = "no-spare-domain", "replicas that must be spread, with no spare zone or node";
    ToleratesEverything = "tolerates-everything", "pods that tolerate every taint, or the cordon taint, and can return to a draining node";
    TaintUnused = "taint-unused", "taints that no workload tolerates, so that the nodes are idle";
    LabelRefused = "label-refused", "node labels and taints that kubelets or managed node groups refuse to set";
    AddonPlacement = "addon-placement", "add-ons whose tolerations and selectors do not match the taints of the nodes";
}
