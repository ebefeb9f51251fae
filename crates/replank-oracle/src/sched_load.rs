//! The scheduling workload that kube-scheduler's throughput was recorded with, by index arithmetic alone.
//!
//! Nodes of four shapes in three zones and eight groups; pods in twenty kinds: plain, node affinity, spread over zones and
//! hosts, anti-affinity, taints, preferred pod affinity. Everything fits.

use std::sync::Arc;

use replank_model::object::affinity::{
    Affinity, InclusionPolicy, NodeAffinity, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement,
    NodeSelectorTerm, PodAffinity, PodAffinityTerm, PreferredSchedulingTerm, Taint, TaintEffect, Toleration,
    TolerationOperator, TopologySpreadConstraint, UnsatisfiableAction, WeightedPodAffinityTerm,
};
use replank_model::object::meta::OwnerReference;
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_INSTANCE_TYPE, LABEL_ZONE, Node};
use replank_model::object::pod::{Container, Pod, PodSpec};
use replank_model::object::resources::{ResourceRequirements, Resources};
use replank_model::object::workload::ReplicaSet;
use replank_model::selector::LabelSelector;
use replank_model::text::Text;
use rustc_hash::FxHashMap;

/// The output of SplitMix64 for a state.
#[must_use]
pub fn scatter(index: u64) -> u64 {
    let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Which pods there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Plain pods only.
    Simple,
    /// Half of the pods have constraints.
    Mixed,
}

const ZONES: [&str; 3] = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
const SHAPES: [(&str, &str, &str, &str); 4] = [
    ("m5.xlarge", "3920m", "14657Mi", "58"),
    ("m5.2xlarge", "7910m", "30400Mi", "58"),
    ("m5.4xlarge", "15890m", "61500Mi", "234"),
    ("r5.2xlarge", "7910m", "62000Mi", "58"),
];
const CPUS: [&str; 8] = ["100m", "100m", "250m", "250m", "500m", "500m", "1000m", "200m"];
const MEMORIES: [&str; 8] = ["128Mi", "256Mi", "512Mi", "512Mi", "1024Mi", "2048Mi", "256Mi", "64Mi"];

fn resources(pairs: &[(&str, &str)]) -> Resources {
    pairs.iter().map(|(name, amount)| (*name, amount.parse().expect("a quantity of this file"))).collect()
}

fn at<T: Copy>(list: &[T], index: u64) -> T {
    list[usize::try_from(index % list.len() as u64).expect("less than the list's length")]
}

/// Node `index`.
#[must_use]
pub fn node(index: u64, mix: Mix) -> Arc<Node> {
    let name = format!("node-{index:05}");
    let (shape, cpu, memory, pods) = at(&SHAPES, index);
    let mut labels: Vec<(&str, String)> = vec![
        (LABEL_HOSTNAME, name.clone()),
        ("kubernetes.io/os", "linux".into()),
        ("kubernetes.io/arch", "amd64".into()),
        ("topology.kubernetes.io/region", "eu-west-1".into()),
        (LABEL_ZONE, at(&ZONES, index).into()),
        (LABEL_INSTANCE_TYPE, shape.into()),
        ("eks.amazonaws.com/nodegroup", format!("ng-{}", index % 8)),
        ("eks.amazonaws.com/capacityType", if index % 5 == 4 { "SPOT" } else { "ON_DEMAND" }.to_owned()),
    ];
    let mut taints = Vec::new();
    if mix == Mix::Mixed && index % 10 == 9 {
        labels.push(("dedicated", "batch".into()));
        taints.push(Taint { value: "batch".into(), ..Taint::new("dedicated", TaintEffect::NoSchedule) });
    }
    if mix == Mix::Mixed && index % 25 == 3 {
        taints.push(Taint { value: "high".into(), ..Taint::new("spot-risk", TaintEffect::PreferNoSchedule) });
    }
    let mut node = Node::default();
    node.meta.name = name.as_str().into();
    node.meta.uid = name.as_str().into();
    node.meta.labels = labels.into_iter().collect();
    node.spec.taints = taints;
    let room = [("cpu", cpu), ("memory", memory), ("pods", pods), ("ephemeral-storage", "18242267924")];
    node.status.capacity = resources(&room);
    node.status.allocatable = resources(&room);
    Arc::new(node)
}

/// Makes pods, sharing the specs of those that are alike.
#[derive(Debug, Default)]
pub struct Pods {
    specs: FxHashMap<(usize, usize, String), Arc<PodSpec>>,
}

impl Pods {
    /// Pod `index`.
    pub fn pod(&mut self, index: u64, mix: Mix) -> Arc<Pod> {
        let h = scatter(index);
        let r = h >> 8;
        let kind = if mix == Mix::Mixed { index % 20 } else { 0 };
        let app = match kind {
            13..=15 => format!("spread-{}", r % 10),
            16..=17 => format!("single-{}", r % 20),
            _ => format!("app-{}", index % 50),
        };
        // What of the pod's number its spec depends on.
        let detail = match kind {
            10..=12 => format!("zone {}", at(&ZONES, r)),
            13..=17 => app.clone(),
            18 => "batch".to_owned(),
            19 => format!("near app-{}", r % 50),
            _ => String::new(),
        };
        let (cpu, memory) = ((h & 7) as usize, ((h >> 3) & 7) as usize);
        let spec = self.specs.entry((cpu, memory, detail)).or_insert_with(|| {
            let requests = resources(&[("cpu", CPUS[cpu]), ("memory", MEMORIES[memory])]);
            let container = Container {
                name: "main".into(),
                image: "registry.example/app:1".into(),
                resources: ResourceRequirements { requests, ..Default::default() },
                ..Default::default()
            };
            let mut spec = PodSpec { containers: vec![container], priority: Some(0), ..Default::default() };
            constrain(&mut spec, kind, &app, r);
            Arc::new(spec)
        });
        let mut pod = Pod { spec: spec.clone(), ..Default::default() };
        let name = format!("pod-{index:06}");
        pod.meta.name = name.as_str().into();
        pod.meta.uid = name.as_str().into();
        pod.meta.namespace = "default".into();
        pod.meta.labels = [("app", app)].into_iter().collect();
        Arc::new(pod)
    }
}

/// A fleet of many workloads, each with its own ReplicaSet, so that pods spread by the scheduler's own defaults: what a
/// large cluster looks like. Every fourth workload keeps its pods apart if it can.
#[derive(Debug)]
pub struct Fleet {
    /// The ReplicaSets.
    pub sets: Vec<Arc<ReplicaSet>>,
    /// Pods of all, workload by workload.
    pub pods: Vec<Arc<Pod>>,
}

impl Fleet {
    /// Workloads with 1 to 100 replicas.
    #[must_use]
    pub fn new(workloads: u64) -> Self {
        let mut fleet = Self { sets: Vec::new(), pods: Vec::new() };
        for workload in 0..workloads {
            let h = scatter(workload);
            let app = format!("app-{workload:05}");
            let (cpu, memory) = (at(&CPUS, h), at(&MEMORIES, h >> 3));
            let container = Container {
                name: "main".into(),
                image: "registry.example/app:1".into(),
                resources: ResourceRequirements {
                    requests: resources(&[("cpu", cpu), ("memory", memory)]),
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut spec = PodSpec { containers: vec![container], priority: Some(0), ..Default::default() };
            if workload % 4 == 0 {
                let preferred = vec![WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: term(LABEL_HOSTNAME, &app),
                }];
                let pod_anti_affinity = Some(PodAffinity { preferred, ..Default::default() });
                spec.affinity = Some(Arc::new(Affinity { pod_anti_affinity, ..Default::default() }));
            }
            let mut set = ReplicaSet::default();
            set.meta.name = app.as_str().into();
            set.meta.namespace = at(&["prod", "dev", "shop"], workload).into();
            set.meta.uid = app.as_str().into();
            set.spec.selector = Some(selector(&app));
            fleet.add(&Arc::new(set), &Arc::new(spec), 1 + h % 100);
        }
        fleet
    }

    fn add(&mut self, set: &Arc<ReplicaSet>, spec: &Arc<PodSpec>, replicas: u64) {
        let owner = OwnerReference {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name: set.meta.name.clone(),
            uid: set.meta.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        for replica in 0..replicas {
            let mut pod = Pod { spec: spec.clone(), ..Default::default() };
            let name = format!("{}-{replica}", set.meta.name);
            pod.meta.name = name.as_str().into();
            pod.meta.uid = name.as_str().into();
            pod.meta.namespace = set.meta.namespace.clone();
            pod.meta.labels = [("app", set.meta.name.as_str())].into_iter().collect();
            pod.meta.owner_references = vec![owner.clone()].into();
            self.pods.push(Arc::new(pod));
        }
        self.sets.push(set.clone());
    }
}

fn constrain(spec: &mut PodSpec, kind: u64, app: &str, r: u64) {
    let mut affinity = Affinity::default();
    match kind {
        10..=12 => affinity.node_affinity = Some(node_affinity(at(&ZONES, r))),
        13..=15 => {
            spec.topology_spread_constraints = vec![
                spread(LABEL_ZONE, UnsatisfiableAction::DoNotSchedule, app),
                spread(LABEL_HOSTNAME, UnsatisfiableAction::ScheduleAnyway, app),
            ];
        }
        16..=17 => {
            let required = vec![term(LABEL_HOSTNAME, app)];
            affinity.pod_anti_affinity = Some(PodAffinity { required, ..Default::default() });
        }
        18 => {
            spec.node_selector = [("dedicated", "batch")].into_iter().collect();
            spec.tolerations = vec![Toleration {
                key: "dedicated".into(),
                operator: Some(TolerationOperator::Equal),
                value: "batch".into(),
                effect: Some(TaintEffect::NoSchedule),
                ..Default::default()
            }];
        }
        19 => {
            let pod_affinity_term = term(LABEL_ZONE, &format!("app-{}", r % 50));
            let preferred = vec![WeightedPodAffinityTerm { weight: 50, pod_affinity_term }];
            affinity.pod_affinity = Some(PodAffinity { preferred, ..Default::default() });
        }
        _ => {}
    }
    if affinity != Affinity::default() {
        spec.affinity = Some(Arc::new(affinity));
    }
}

fn requirement(key: &str, operator: NodeSelectorOperator, value: &str) -> NodeSelectorRequirement {
    NodeSelectorRequirement { key: key.into(), operator, values: vec![value.into()] }
}

fn node_affinity(zone: &str) -> NodeAffinity {
    let required = NodeSelectorTerm {
        match_expressions: vec![
            requirement("eks.amazonaws.com/capacityType", NodeSelectorOperator::In, "ON_DEMAND"),
            requirement(LABEL_INSTANCE_TYPE, NodeSelectorOperator::NotIn, "m5.xlarge"),
        ],
        ..Default::default()
    };
    let preference = NodeSelectorTerm {
        match_expressions: vec![requirement(LABEL_ZONE, NodeSelectorOperator::In, zone)],
        ..Default::default()
    };
    NodeAffinity {
        required: Some(NodeSelector { node_selector_terms: vec![required] }),
        preferred: vec![PreferredSchedulingTerm { weight: 10, preference }],
    }
}

fn selector(app: &str) -> LabelSelector {
    let match_labels = [(Text::from("app"), Text::from(app))].into_iter().collect();
    LabelSelector { match_labels, ..Default::default() }
}

fn term(key: &str, app: &str) -> PodAffinityTerm {
    PodAffinityTerm { label_selector: Some(selector(app)), topology_key: key.into(), ..Default::default() }
}

fn spread(key: &str, when_unsatisfiable: UnsatisfiableAction, app: &str) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: key.into(),
        when_unsatisfiable,
        label_selector: Some(selector(app)),
        min_domains: None,
        node_affinity_policy: Some(InclusionPolicy::Honor),
        node_taints_policy: Some(InclusionPolicy::Ignore),
        match_label_keys: Vec::new(),
    }
}
