//! What the simulated control plane costs: a cluster stands still for a day, then nodes are drained side by side.
//!
//! Deployments of fifty pods, one disruption budget each, thirty pods on every node.
//!
//! `cargo run --release -p replank-testkit --example bench -- world [NODES…]`

use std::time::Instant;

use replank_apiserver::{DeleteOptions, Eviction};
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_oracle::sched_load::{Mix, node};
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::{Value, json};

const REPLICAS: u64 = 50;
const PODS_PER_NODE: u64 = 30;
/// Nodes that are drained at the same time, and in all.
const SIDE_BY_SIDE: usize = 10;
const DRAINED: usize = 50;

pub(crate) fn run(arguments: &[String]) {
    let asked: Vec<u64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    for nodes in if asked.is_empty() { vec![500, 5000] } else { asked } {
        world_of(nodes);
    }
}

fn world_of(nodes: u64) {
    let view = cluster(nodes);
    let (pods, start) = (view.pods.len(), "2026-01-01T00:00:00Z".parse::<Time>().expect("a time"));
    let settings = Settings { start, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
    let clock = Instant::now();
    let mut world = World::new(settings, view);
    println!("{nodes} nodes, {pods} pods: there after {:.2} s", clock.elapsed().as_secs_f64());
    let clock = Instant::now();
    world.run_until(start + Span::from_minutes(1));
    let first = world.events();
    world.run_until(start + Span::from_minutes(24 * 60));
    let (rest, seconds) = (world.events() - first, clock.elapsed().as_secs_f64());
    println!("  a day of nothing: {first} events in the first minute, {rest} later, {seconds:.2} s");
    let (before, clock) = (world.events(), Instant::now());
    let refused = drain(&mut world);
    let (events, seconds) = (world.events() - before, clock.elapsed().as_secs_f64());
    println!(
        "  {DRAINED} nodes drained: {events} events, {refused} evictions refused, {seconds:.2} s, {:.0} events/s, {:.1} us each",
        events as f64 / seconds,
        seconds * 1e6 / events as f64,
    );
}

/// Cordons nodes and evicts their pods, each until it is gone.
fn drain(world: &mut World) -> u64 {
    let names: Vec<NodeName> =
        world.view().nodes.sorted().iter().take(DRAINED).map(|(_, node)| node.name()).collect();
    let mut refused = 0;
    for batch in names.chunks(SIDE_BY_SIDE) {
        for name in batch {
            let key = Key::cluster(name.text().clone());
            let cordoned = world.request(|api| {
                api.modify::<replank_model::object::node::Node>(&key, |node| node.spec.unschedulable = true)
            });
            cordoned.expect("the node is there");
        }
        loop {
            let pods: Vec<Key> = batch
                .iter()
                .flat_map(|name| world.view().pods_on(name))
                .map(|ix| &world.view().pods[*ix])
                .filter(|pod| !pod.is_terminating())
                .map(|pod: &std::sync::Arc<Pod>| pod.meta.key())
                .collect();
            if batch.iter().all(|name| world.view().pods_on(name).is_empty()) {
                break;
            }
            for pod in pods {
                let eviction = Eviction::of(pod, DeleteOptions::default());
                refused += u64::from(world.request(|api| api.evict(&eviction)).is_err());
            }
            let next = world.now() + Span::from_secs(5);
            world.run_until(next);
        }
    }
    refused
}

fn cluster(nodes: u64) -> View {
    let sets = nodes * PODS_PER_NODE / REPLICAS;
    let mut objects: Vec<Object> = (0..nodes).map(|index| ready(&node(index, Mix::Simple))).collect();
    for set in 0..sets {
        let values = workload(set);
        objects.extend(values.into_iter().map(|value| Object::from_json(value).expect("an object")));
        for replica in 0..REPLICAS {
            let index = set * REPLICAS + replica;
            objects.push(Object::from_json(pod(set, replica, index % nodes)).expect("a pod"));
        }
    }
    objects.into_iter().map(Into::into).collect()
}

fn ready(node: &replank_model::object::node::Node) -> Object {
    let mut value = replank_model::object::render(&Object::from(node.clone()));
    value["metadata"]["uid"] = value["metadata"]["name"].clone();
    value["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady"}]);
    Object::from_json(value).expect("a node")
}

fn template(set: u64) -> Value {
    json!({"metadata": {"labels": {"app": format!("w{set}")}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "50m"}}}]}})
}

fn workload(set: u64) -> [Value; 3] {
    let (name, selector) = (format!("w{set}"), json!({"matchLabels": {"app": format!("w{set}")}}));
    let status = json!({"replicas": REPLICAS, "readyReplicas": REPLICAS, "availableReplicas": REPLICAS,
        "updatedReplicas": REPLICAS, "fullyLabeledReplicas": REPLICAS, "observedGeneration": 1});
    let mut of_set = template(set);
    of_set["metadata"]["labels"]["pod-template-hash"] = "abc".into();
    let meta = |name: &str| json!({"name": name, "namespace": "load", "uid": name, "generation": 1});
    let mut replica_set = meta(&format!("{name}-abc"));
    replica_set["labels"] = of_set["metadata"]["labels"].clone();
    replica_set["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
    replica_set["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name,
        "controller": true, "blockOwnerDeletion": true}]);
    let mut budget = meta(&name);
    budget["uid"] = format!("{name}-pdb").into();
    let mut narrow = selector.clone();
    narrow["matchLabels"]["pod-template-hash"] = "abc".into();
    [
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(&name), "status": status,
            "spec": {"replicas": REPLICAS, "selector": selector, "template": template(set)}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": replica_set, "status": status,
            "spec": {"replicas": REPLICAS, "selector": narrow, "template": of_set}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": budget,
            "spec": {"maxUnavailable": "5%", "selector": selector}}),
    ]
}

fn pod(set: u64, replica: u64, on: u64) -> Value {
    let (name, owner) = (format!("w{set}-abc-{replica:05}"), format!("w{set}-abc"));
    let template = template(set);
    let mut spec = template["spec"].clone();
    spec["nodeName"] = format!("node-{on:05}").into();
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "load", "uid": name, "generateName": format!("{owner}-"),
            "labels": {"app": format!("w{set}"), "pod-template-hash": "abc"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner,
                "controller": true, "blockOwnerDeletion": true}]},
        "status": {"phase": "Running", "startTime": "2025-12-01T00:00:00Z",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-01T00:00:00Z"}]}})
}
