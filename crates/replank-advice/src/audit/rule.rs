//! The list of all rules.

use replank_facts::finding;

use crate::rule::rules;

pub use finding::{ObjectName, Severity};

/// One thing that was found about where pods are and can go.
pub type Finding = finding::Finding<Rule>;

rules! {
    FitsNowhere = "fits-nowhere", "pods that no node of the cluster could take, however empty";
    SelectorMatchesNothing = "selector-matches-nothing", "node selectors and required node affinity that match no node";
    TolerationMatchesNothing = "toleration-matches-nothing", "tolerations that match no taint of any node";
    OnSpot = "on-spot", "single replicas and system workloads that are on spot nodes, or can land there";
    OnAutoscaled = "on-autoscaled", "single replicas and system workloads on nodes that an autoscaler takes away, or that can land there";
    AutoscaledUnknown = "autoscaled-unknown", "an autoscaler whose groups the snapshot does not tell";
    NotInSnapshot = "not-in-snapshot", "what the snapshot lacks, so that it was not looked at";
    OneNode = "one-node", "all replicas on one node";
    OneZone = "one-zone", "all replicas in one zone";
    SingleNodeFits = "single-node-fits", "pods that one node only can take: when it goes, they have no place";
    NoSpareDomain = "no-spare-domain", "replicas that must be apart, with no zone or node to spare";
    ToleratesEverything = "tolerates-everything", "pods that tolerate every taint, or a cordon, and come back to a node that is drained";
    TaintUnused = "taint-unused", "taints that nobody tolerates, so that the nodes stand idle";
    LabelRefused = "label-refused", "node labels and taints that kubelets or managed node groups refuse to set";
    AddonPlacement = "addon-placement", "add-ons whose tolerations and selectors do not go with the taints of the nodes";
}
