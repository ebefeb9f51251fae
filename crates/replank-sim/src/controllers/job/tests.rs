//! What Jobs do after a failure.

use replank_model::object::{Kind, Object};
use replank_model::time::Span;
use serde_json::json;

use crate::World;
use crate::kubelet::PodAct;
use crate::testing::{node, world};

fn pods(world: &World) -> Vec<(String, bool, bool)> {
    let all = world.view().pods.sorted();
    all.iter()
        .map(|(_, pod)| (pod.meta.name.to_string(), pod.is_terminal(), !pod.meta.finalizers.is_empty()))
        .collect()
}

#[test]
fn a_pod_that_failed_is_not_counted_while_the_job_waits_and_others_are_ready() {
    let mut world = world(vec![node("n1", "a")]);
    world.apply(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report"},
        "spec": {"completions": 4, "parallelism": 2, "template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i"}]}}}}));
    world.pass(Span::from_secs(10));
    assert_eq!(pods(&world).len(), 2);
    let first = world.view().pods.sorted()[0].1.meta.key();
    world.act(&first, PodAct::Exit(1));
    // Its status would be refused: 0 active, 1 ready. Looks after 1, 3, 7 s fail, too.
    world.pass(Span::from_secs(9));
    let failed = |world: &World| match world.get(Kind::Job, "report") {
        Some(Object::Job(job)) => job.status.failed,
        _ => panic!("it is there"),
    };
    assert_eq!(failed(&world), 0);
    assert!(pods(&world).iter().any(|(name, over, held)| *name == first.name.to_string() && *over && *held));
    assert_eq!(pods(&world).len(), 2, "no pod is made while it waits");
    // The wait of 10 s is over: a pod is made, the status is taken, the finalizer goes.
    world.pass(Span::from_secs(12));
    assert_eq!(failed(&world), 1);
    assert!(pods(&world).iter().any(|(name, over, held)| *name == first.name.to_string() && *over && !*held));
    assert_eq!(pods(&world).len(), 3);
}
