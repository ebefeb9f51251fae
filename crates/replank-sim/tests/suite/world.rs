//! The thinnest life of a world: a ReplicaSet's pods are made, placed, started, and replaced when one is deleted.

use replank_apiserver::DeleteOptions;
use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::workload::ReplicaSet;
use replank_model::object::{Kind, Object};
use replank_model::time::{Span, Time};
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::json;

fn world(seed: u64) -> World {
    let node = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
    };
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": "rs"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let objects =
        [node("a"), node("b"), set].map(|value| Delta::Put(Object::from_json(value).expect("valid")));
    let start = "2026-01-01T00:00:00Z".parse::<Time>().expect("a time");
    World::new(
        Settings { start, seed, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() },
        objects.into_iter().collect(),
    )
}

fn ready(world: &World) -> usize {
    world.view().pods.unordered().filter(|(_, pod)| pod.is_ready() && !pod.is_terminating()).count()
}

#[test]
fn a_deleted_pod_is_replaced() {
    let mut world = world(1);
    world.run_until(world.now() + Span::from_secs(2));
    assert_eq!(ready(&world), 3);
    let victim = world.view().pods.sorted()[0].1.meta.key();
    world.request(|api| api.delete(Kind::Pod, &victim, &DeleteOptions::default())).expect("it is there");
    assert_eq!(ready(&world), 2);
    world.run_until(world.now() + Span::from_secs(5));
    assert_eq!(ready(&world), 3);
    assert_eq!(world.view().pods.len(), 3, "the deleted pod is gone");
    assert!(world.view().find::<ReplicaSet>(&Key::new("shop", "web")).is_some());
}

#[test]
fn the_seed_decides_the_trace() {
    let run = |seed| {
        let mut world = world(seed);
        world.run_until(world.now() + Span::from_secs(2));
        world.trace_hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
