//! Random scheduling cases in the form of the recordings, to be answered by the real scheduler.
//!
//! Each case is a cluster and a pod as a user would submit it. Not all that is written is valid: the real API's validation
//! throws away what it would not store (`normalise` asks for that), so that odd values can be tried without knowing beforehand
//! which of them are allowed.

mod cluster;
mod containers;
mod extras;
mod maker;
mod mutate;
mod pods;
mod storage;
mod terms;

use serde_json::{Value, json};

use crate::sched_random::Random;
pub use mutate::Mutator;

use maker::{
    APPS, Chances, EBS_ZONE, HOSTNAME, MADE, Maker, NAMESPACES, OLD_REGION, OLD_ZONE, REGION, TIERS, ZONE,
    ZONES,
};

/// The groups of the recordings.
pub const GROUPS: [&str; 14] = [
    "nodeAffinity",
    "taints",
    "taintsNumeric",
    "resources",
    "podAffinity",
    "topologySpread",
    "hostPorts",
    "nodeName",
    "unschedulable",
    "volumes",
    "imageLocality",
    "nodeDeclaredFeatures",
    "mixed",
    "preemption",
];

/// The random case of a group and a seed.
#[must_use]
pub fn case(group: &str, seed: u64) -> Value {
    let mut maker =
        Maker { random: Random::new(seed), chances: Chances::of(group), group, nodes: Vec::new() };
    let cluster = maker.cluster();
    let incoming = maker.incoming();
    let mut case = json!({
        "id": format!("{group}-{seed}"), "group": group, "normalise": true,
        "cluster": cluster, "podSubmitted": incoming,
    });
    match group {
        "taintsNumeric" => case["featureGates"] = json!({"TaintTolerationComparisonOperators": true}),
        "nodeDeclaredFeatures" => case["featureGates"] = json!({"UserNamespacesHostNetworkSupport": true}),
        "preemption" => case["featureGates"] = json!({"SchedulerAsyncPreemption": false}),
        _ => {}
    }
    case
}
