//! Clusters in which some nodes cannot be emptied, and others can: what a run must reach that goes as far as it can.
//!
//! Drawn from a stream of its own. Nothing happens but the roll, and there is time enough: whatever is not reached is the run's doing.

use std::collections::BTreeMap;

use replank_facts::plan::{BlockingFindings, DeadAction, Health, OnFailure, Surge};
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_oracle::sched_random::Random;
use replank_sim::{ImageFault, ImageName};
use serde_json::{Value, json};

use super::{Cluster, Neighbour};

/// Sets the stream apart from the cluster's.
const BOUNDED: u64 = 0x0062_6f75_6e64_6564;
/// Of a hundred clusters: so many have dead nodes, a budget that never allows an eviction, pods of another scheduler, groups at their maximum.
const DEAD: u64 = 35;
const NEVER: u64 = 35;
const FOREIGN: u64 = 35;
const FULL: u64 = 50;
/// Of a hundred plans so many leave dead nodes as they are.
const LEAVES_DEAD: u64 = 15;
/// Longer than any Job takes with all of its retries.
const WAIT: Span = Span::from_minutes(20 * 60);
/// Of a hundred parts of a pool so many are asked for at most.
const LOAD: u64 = 60;
const DEADLINE: Span = Span::from_minutes(7 * 24 * 60);

/// The scheduler that is not there.
pub const OTHER_SCHEDULER: &str = "other-scheduler";

/// A cluster, and what befalls it before the run.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// The cluster.
    pub cluster: Cluster,
    /// Nodes whose machines go off before the run.
    pub dead: Vec<NodeName>,
    /// Nodes in the order in which the other scheduler fills them, until it goes away before the run.
    pub others: Vec<NodeName>,
}

impl Bounded {
    /// The cluster of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut cluster = Cluster::of(seed);
        let mut random = Random::new(seed ^ BOUNDED);
        let random = &mut random;
        calm(&mut cluster);
        if random.percent(LEAVES_DEAD) {
            cluster.plan.care.dead_nodes.action = DeadAction::Leave;
        }
        if random.percent(FULL) {
            for group in &mut cluster.groups {
                group.size.max = group.size.desired;
            }
        }
        if random.percent(NEVER) {
            forbid(random, &mut cluster);
        }
        if random.percent(FOREIGN) {
            cluster.manifests.extend(foreign(random));
        }
        let nodes = cluster.base.iter().filter(|object| object["kind"] == "Node");
        let mut others: Vec<NodeName> =
            nodes.map(|node| node["metadata"]["name"].as_str().expect("a name").into()).collect();
        for left in (1..others.len()).rev() {
            others.swap(left, usize::try_from(random.below(left as u64 + 1)).expect("a position"));
        }
        // A third at the most, so that there is a cluster left.
        let dead = if random.percent(DEAD) { 1 + random.below(others.len() as u64 / 3) } else { 0 };
        let dead = others.iter().take(usize::try_from(dead).expect("few")).cloned().collect();
        others.rotate_left(1);
        Self { cluster, dead, others }
    }
}

/// Nobody else acts, what new nodes are made from is sound, and the plan gives up for no reason but what is on a node.
fn calm(cluster: &mut Cluster) {
    cluster.neighbour = Neighbour::Nobody;
    cluster
        .troubles
        .retain(|(whose, fault)| *whose != ImageName::New && matches!(fault, ImageFault::CannotStop { .. }));
    // Its controller is nobody's here: its result would never be recorded.
    let is_of_workflow = |object: &Value| {
        object["kind"] == "Workflow" || object["metadata"]["ownerReferences"][0]["kind"] == "Workflow"
    };
    cluster.base.retain(|object| !is_of_workflow(object));
    // What bears every cordon goes where the scheduler likes, onto old nodes, too.
    for manifest in &mut cluster.manifests {
        let spec = &mut manifest["spec"]["template"]["spec"];
        if spec["tolerations"] == json!([{"operator": "Exists"}]) && manifest["kind"] != "DaemonSet" {
            manifest["spec"]["template"]["spec"]["tolerations"] = json!([]);
        }
    }
    thin(cluster);
    let plan = &mut cluster.plan;
    plan.batch.wait = WAIT;
    plan.deadline = DEADLINE;
    plan.on_failure = OnFailure::Pause;
    plan.care.blocking_findings = BlockingFindings::Proceed;
    // Where an Auto Scaling group launches its next instance nobody decides: only with one for each zone does every pod surely get a node
    // that it can use, before its own goes.
    plan.budget.surge = Surge::PerZone;
    // Pods that never become Ready are no reason to stop, new nodes under watch or not.
    plan.care.health = Some(Health {
        crash_looping_max: 1_000,
        restarting_max: 1_000,
        stuck_terminating_max: 1_000,
        not_ready_max: 1_000,
        bad_nodes_max: 1_000,
    });
}

/// Takes away workloads until each pool has room to spare: whether pods fit in another order than the one they came in is another question.
fn thin(cluster: &mut Cluster) {
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    for node in cluster.base.iter().filter(|object| object["kind"] == "Node") {
        let pool = node["metadata"]["labels"]["pool"].as_str().expect("a pool").to_owned();
        *left.entry(pool).or_default() += milli(&node["status"]["allocatable"]["cpu"]) * LOAD / 100;
    }
    cluster.manifests.retain(|manifest| {
        let name = manifest["metadata"]["name"].as_str().expect("a name");
        let pool = name.split('-').next().and_then(|pool| left.get_mut(pool));
        let spec = &manifest["spec"];
        let Some(pool) = pool
            .filter(|_| ["Deployment", "StatefulSet", "Job"].iter().any(|kind| manifest["kind"] == *kind))
        else {
            return true;
        };
        let replicas = spec["replicas"].as_u64().or(spec["parallelism"].as_u64()).expect("replicas");
        let wanted =
            replicas * milli(&spec["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]);
        let has_room = wanted <= *pool;
        *pool -= if has_room { wanted } else { 0 };
        has_room
    });
}

fn milli(amount: &Value) -> u64 {
    let text = amount.as_str().and_then(|text| text.strip_suffix('m'));
    text.and_then(|text| text.parse().ok()).expect("thousandths")
}

/// One or two budgets allow nothing.
fn forbid(random: &mut Random, cluster: &mut Cluster) {
    let budgets = cluster.manifests.iter_mut().filter(|one| one["kind"] == "PodDisruptionBudget");
    let mut budgets: Vec<&mut Value> = budgets.collect();
    for _ in 0..=random.below(2) {
        let at = usize::try_from(random.below(budgets.len().max(1) as u64)).expect("few");
        if let Some(budget) = budgets.get_mut(at) {
            let spec = budget["spec"].as_object_mut().expect("a spec");
            spec.remove("minAvailable");
            spec.insert("maxUnavailable".to_owned(), json!(0));
        }
    }
}

/// A Deployment whose pods another scheduler places, in most cases with a budget.
fn foreign(random: &mut Random) -> Vec<Value> {
    let replicas = 1 + random.below(3);
    let app = json!({"app": "foreign"});
    let mut all = vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "foreign", "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": app}, "template": {"metadata": {"labels": app},
            "spec": {"schedulerName": OTHER_SCHEDULER, "containers": [{"name": "main", "image": "registry.example/app:1",
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}}}}),
    ];
    if random.percent(70) {
        let rule = random.one(&[
            json!({"maxUnavailable": 1}),
            json!({"minAvailable": 1}),
            json!({"maxUnavailable": "50%"}),
        ]);
        let mut spec = rule;
        spec["selector"] = json!({"matchLabels": app});
        all.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec,
            "metadata": {"name": "foreign", "namespace": "shop"}}));
    }
    all
}
