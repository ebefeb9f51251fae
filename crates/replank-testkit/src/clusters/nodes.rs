//! Nodes, their groups, and what belongs to nodes.

use replank_facts::groups;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::{Instance, NodeGroup, Registrar, TargetGroup};
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_model::view::View;
use serde_json::{Value, json};

use super::BEGIN;
use replank_oracle::sched_random::Random;

/// All nodes.
pub(super) struct Fleet {
    pub(super) pools: Vec<Pool>,
    objects: Vec<Value>,
}

/// The nodes of one group.
pub(super) struct Pool {
    pub(super) name: &'static str,
    pub(super) nodes: u64,
    /// Thousandths of a CPU that pods may use on each.
    pub(super) milli: u64,
    /// Whether only pods that tolerate it come here.
    pub(super) is_dedicated: bool,
    zones: Vec<&'static str>,
}

const POOLS: [&str; 3] = ["web", "data", "batch"];
const ZONES: [&str; 3] = ["z-a", "z-b", "z-c"];
pub(super) const OLD: &str = "v1.35.4";
pub(super) const OLD_IMAGE: &str = "ami-old";

impl Fleet {
    /// Three to forty nodes; nine clusters in ten have at most sixteen.
    pub(super) fn draw(random: &mut Random) -> Self {
        let total = if random.percent(90) { 3 + random.below(13) } else { 16 + random.below(25) };
        let pools = (1 + random.below(3)).min(total / 2).max(1);
        let zones = 1 + random.below(3);
        let mut fleet = Self { pools: Vec::new(), objects: Vec::new() };
        for (number, name) in POOLS.into_iter().enumerate().take(usize::try_from(pools).expect("few")) {
            let left = total - fleet.nodes();
            let nodes = match pools - number as u64 {
                1 => left,
                more => 1 + random.below((left - more).max(1)),
            };
            let zones = ZONES[..usize::try_from(zones.min(nodes)).expect("few")].to_vec();
            let pool = Pool {
                name,
                nodes,
                milli: random.one(&[2_000, 4_000, 4_000, 8_000]),
                is_dedicated: number > 0 && random.percent(40),
                zones,
            };
            for index in 0..nodes {
                let node = pool.node(random, index);
                fleet.objects.extend(node);
            }
            fleet.pools.push(pool);
        }
        fleet
    }

    pub(super) fn nodes(&self) -> u64 {
        self.pools.iter().map(|pool| pool.nodes).sum()
    }

    pub(super) fn names(&self) -> Vec<NodeName> {
        let numbers =
            |pool: &Pool| (0..pool.nodes).map(|index| node_name(pool.name, index)).collect::<Vec<_>>();
        self.pools.iter().flat_map(numbers).map(NodeName::from).collect()
    }

    /// The groups that the nodes show, with bounds of their own.
    pub(super) fn groups(&self, random: &mut Random) -> (Vec<NodeGroup>, Vec<Instance>) {
        let objects = self.objects.iter().cloned().map(|value| Object::from_json(value).expect("valid"));
        let view: View = objects.map(Delta::Put).collect();
        let mut all = (Vec::new(), Vec::new());
        for (number, mut learnt) in (3..).zip(groups::from_nodes(&view, &groups::GroupBy::default())) {
            // Versions before it were deleted: a number is not a position.
            learnt.number_template(learnt.group.current.at(number));
            // A third of the groups is in a target group of a controller, a third in one of its own.
            let registrar = match learnt.group.size.desired % 3 {
                0 => None,
                1 => Some(Registrar::Controller),
                _ => Some(Registrar::AutoScaling),
            };
            let target_group = registrar.map(|registrar| TargetGroup {
                registrar,
                deregistration_delay: Span::from_secs(60),
                ..TargetGroup::attached(learnt.group.name.text().clone())
            });
            learnt.register(target_group.into_iter().collect(), &view);
            let mut group = learnt.group;
            group.size.min = u32::try_from(random.below(u64::from(group.size.desired) + 1)).expect("few");
            group.size.max += random.one(&[0, 0, 1, 3]);
            all.0.push(group);
            all.1.extend(learnt.instances);
        }
        all
    }

    /// Nodes, what belongs to them, and what volumes need.
    pub(super) fn objects(&self, random: &mut Random) -> Vec<Value> {
        let mut all = self.objects.clone();
        if random.percent(8) {
            // Somebody else has cordoned a node.
            let nodes: Vec<usize> = (0..all.len()).filter(|at| all[*at]["kind"] == "Node").collect();
            let at = random.one(&nodes);
            all[at]["spec"]["unschedulable"] = true.into();
        }
        all.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "ebs.csi.aws.com",
            "metadata": {"name": "gp3", "uid": "gp3"}, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete"}));
        all
    }
}

fn node_name(pool: &str, index: u64) -> String {
    format!("{pool}-{index}")
}

impl Pool {
    /// A node and its CSINode.
    fn node(&self, random: &mut Random, index: u64) -> [Value; 2] {
        let name = node_name(self.name, index);
        let zone = self.zones[usize::try_from(index).expect("few") % self.zones.len()];
        let since = BEGIN - Span::from_minutes(60 + i64::try_from(random.below(50_000)).expect("small"));
        let taints = match self.is_dedicated {
            true => json!([{"key": "dedicated", "value": self.name, "effect": "NoSchedule"}]),
            false => json!([]),
        };
        let amounts = json!({"cpu": format!("{}m", self.milli), "memory": "32Gi", "pods": random.one(&["58", "58", "12"]),
            "ephemeral-storage": "100Gi"});
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": format!("node-{name}"), "creationTimestamp": since, "labels": {
                "eks.amazonaws.com/nodegroup": self.name, "kubernetes.io/hostname": name, "pool": self.name,
                "node.kubernetes.io/instance-type": "m6i.xlarge", "topology.kubernetes.io/region": "r-1",
                "topology.kubernetes.io/zone": zone, "topology.ebs.csi.aws.com/zone": zone,
                "eks.amazonaws.com/nodegroup-image": OLD_IMAGE}},
            "spec": {"providerID": format!("aws:///{zone}/i-{name}"), "taints": taints},
            "status": {"capacity": amounts, "allocatable": amounts, "nodeInfo": {"kubeletVersion": OLD},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": BEGIN,
                    "lastTransitionTime": since}]}});
        let csi = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
            "metadata": {"name": name, "uid": format!("csi-{name}")},
            "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": format!("i-{name}"), "allocatable": {"count": 25},
                "topologyKeys": ["topology.ebs.csi.aws.com/zone"]}]}});
        [node, csi]
    }
}
