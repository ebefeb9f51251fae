//! What cases are made of: names, zones and chances.

use crate::sched_random::Random;

/// How often, in so many of a hundred, each feature occurs in a pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chances {
    pub(super) node_affinity: u64,
    pub(super) tolerations: u64,
    pub(super) taints: u64,
    pub(super) odd_resources: u64,
    pub(super) pod_affinity: u64,
    pub(super) spread: u64,
    pub(super) ports: u64,
    pub(super) node_name: u64,
    pub(super) cordons: u64,
    pub(super) volumes: u64,
    pub(super) images: u64,
    pub(super) features: u64,
    /// Nodes are nearly full, and pods differ in priority.
    pub(super) crowd: bool,
}

impl Chances {
    pub(super) fn of(group: &str) -> Self {
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

/// What a case is made with.
pub(super) struct Maker<'a> {
    pub(super) random: Random,
    pub(super) chances: Chances,
    pub(super) group: &'a str,
    /// Names of the nodes.
    pub(super) nodes: Vec<String>,
}

pub(super) const NAMESPACES: [&str; 5] = ["default", "prod", "staging", "dev", "kube-system"];

pub(super) const APPS: [&str; 4] = ["web", "api", "db", "cache"];

pub(super) const TIERS: [&str; 3] = ["front", "back", "mid"];

pub(super) const ZONES: [&str; 3] = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];

pub(super) const ZONE: &str = "topology.kubernetes.io/zone";

pub(super) const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

pub(super) const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

pub(super) const REGION: &str = "topology.kubernetes.io/region";

pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

pub(super) const EBS_ZONE: &str = "topology.ebs.csi.aws.com/zone";

pub(super) const MADE: &str = "2026-11-01T00:00:00Z";

impl Maker<'_> {
    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.random.percent(chance)
    }

    pub(super) fn one(&mut self, of: &[&str]) -> String {
        self.random.one(of).to_owned()
    }

    /// A node that is there; seldom one that is not.
    pub(super) fn some_node(&mut self) -> String {
        if self.nodes.is_empty() || self.percent(3) {
            return "gone".to_owned();
        }
        let nodes = std::mem::take(&mut self.nodes);
        let node = self.random.one(&nodes);
        self.nodes = nodes;
        node
    }

    /// A number that a label may hold, or what looks like one.
    pub(super) fn number(&mut self) -> String {
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
    pub(super) fn compared(&mut self) -> String {
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
