//! Random scheduling cases in the form of the recordings, to be answered by the real scheduler.
//!
//! Each case is a cluster and a pod as a user would submit it. Not all that is written is valid: the real API's validation
//! throws away what it would not store (`normalise` asks for that), so that odd values can be tried without knowing beforehand
//! which of them are allowed.

mod cluster;
mod containers;
mod extras;
mod mutate;
mod pods;
mod storage;
mod terms;

use serde_json::{Value, json};

use crate::sched_random::Random;
pub use mutate::Mutator;

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

/// How often, in so many of a hundred, each feature occurs in a pod.
#[derive(Clone, Copy, Debug)]
struct Chances {
    node_affinity: u64,
    tolerations: u64,
    taints: u64,
    odd_resources: u64,
    pod_affinity: u64,
    spread: u64,
    ports: u64,
    node_name: u64,
    cordons: u64,
    volumes: u64,
    images: u64,
    features: u64,
    /// Nodes are nearly full, and pods differ in priority.
    crowd: bool,
}

impl Chances {
    fn of(group: &str) -> Self {
        let rare = Self {
            node_affinity: 4,
            tolerations: 4,
            taints: 3,
            odd_resources: 6,
            pod_affinity: 3,
            spread: 3,
            ports: 3,
            node_name: 0,
            cordons: 2,
            volumes: 2,
            images: 10,
            features: 2,
            crowd: false,
        };
        match group {
            "nodeAffinity" => Self { node_affinity: 95, ..rare },
            "taints" | "taintsNumeric" => Self { tolerations: 85, taints: 55, ..rare },
            "resources" => Self { odd_resources: 85, ..rare },
            "podAffinity" => Self { pod_affinity: 85, ..rare },
            "topologySpread" => Self { spread: 85, taints: 20, node_affinity: 30, tolerations: 15, ..rare },
            "hostPorts" => Self { ports: 85, ..rare },
            "nodeName" => Self { node_name: 90, taints: 15, ..rare },
            "unschedulable" => Self { cordons: 50, tolerations: 40, ..rare },
            "volumes" => Self { volumes: 85, ..rare },
            "imageLocality" => Self { images: 90, ..rare },
            "nodeDeclaredFeatures" => Self { features: 85, ..rare },
            "preemption" => {
                Self { crowd: true, ports: 15, pod_affinity: 15, spread: 12, volumes: 10, ..rare }
            }
            _ => Self {
                node_affinity: 35,
                tolerations: 35,
                taints: 15,
                odd_resources: 30,
                pod_affinity: 30,
                spread: 30,
                ports: 15,
                node_name: 2,
                cordons: 8,
                volumes: 30,
                images: 40,
                features: 15,
                crowd: false,
            },
        }
    }
}

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

/// What a case is made with.
struct Maker<'a> {
    random: Random,
    chances: Chances,
    group: &'a str,
    /// Names of the nodes.
    nodes: Vec<String>,
}

const NAMESPACES: [&str; 5] = ["default", "prod", "staging", "dev", "kube-system"];
const APPS: [&str; 4] = ["web", "api", "db", "cache"];
const TIERS: [&str; 3] = ["front", "back", "mid"];
const ZONES: [&str; 3] = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
const ZONE: &str = "topology.kubernetes.io/zone";
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const REGION: &str = "topology.kubernetes.io/region";
const HOSTNAME: &str = "kubernetes.io/hostname";
const EBS_ZONE: &str = "topology.ebs.csi.aws.com/zone";
const MADE: &str = "2026-11-01T00:00:00Z";

impl Maker<'_> {
    fn percent(&mut self, chance: u64) -> bool {
        self.random.percent(chance)
    }

    fn one(&mut self, of: &[&str]) -> String {
        self.random.one(of).to_owned()
    }

    /// A node that is there; seldom one that is not.
    fn some_node(&mut self) -> String {
        if self.nodes.is_empty() || self.percent(3) {
            return "gone".to_owned();
        }
        let nodes = std::mem::take(&mut self.nodes);
        let node = self.random.one(&nodes);
        self.nodes = nodes;
        node
    }

    /// A number that a label may hold, or what looks like one.
    fn number(&mut self) -> String {
        self.one(&[
            "0",
            "1",
            "3",
            "3",
            "5",
            "5",
            "7",
            "10",
            "12",
            "05",
            "007",
            "abc",
            "",
            "1.5",
            "1e3",
            "0x10",
            "9223372036854775807",
            "9223372036854775808",
            "99999999999999999999",
        ])
    }

    /// A number that a toleration or an affinity may compare with, and some that it may not.
    fn compared(&mut self) -> String {
        if self.percent(12) {
            return self.one(&[
                "-1",
                "-7",
                "+5",
                "",
                " 3",
                "05",
                "abc",
                "1.5",
                "-9223372036854775808",
                "9223372036854775808",
            ]);
        }
        self.one(&["0", "1", "3", "4", "5", "6", "7", "10", "11", "9223372036854775807"])
    }
}
