use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::object::{Kind, Object, render};
use replank_model::time::Span;
use serde_json::{Value, json};

use crate::World;
use crate::testing::{node, world};
use replank_apiserver::json::Method;

const PATH: &str = "/apis/apps/v1/namespaces/shop/deployments/web";

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io"},
        "spec": {"group": "argoproj.io", "names": {"plural": "rollouts", "kind": "Rollout"}, "scope": "Namespaced",
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {},
                "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.HPAReplicas",
                    "labelSelectorPath": ".status.selector"}}}]}})
}

fn stage() -> World {
    let mut world = world(vec![node("n", "a"), definition()]);
    world.assume_operators();
    world.apply(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}, "annotations": {"fake.kubelet/ready-ms": "5000"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}}));
    world.pass(Span::from_secs(30));
    world
}

fn rollout(scale_down: &str) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "web"},
        "spec": {"replicas": 3, "strategy": {"canary": {}},
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": scale_down}}})
}

fn found(world: &World) -> Value {
    let key = Key::new("shop", "web");
    render(&Object::Other(world.view().other("argoproj.io", "Rollout", &key).expect("it is there").clone()))
}

fn replicas(world: &World) -> Option<i32> {
    match world.get(Kind::Deployment, "web") {
        Some(Object::Deployment(web)) => Deployment::clone(&web).spec.replicas,
        _ => None,
    }
}

/// Pods of the Rollout, and of the Deployment.
fn pods(world: &World) -> (usize, usize) {
    let pods = world.view().pods.sorted();
    let is_its = |labels: &replank_model::labels::Labels| labels.contains_key("rollouts-pod-template-hash");
    let its = pods.iter().filter(|(_, pod)| is_its(&pod.meta.labels) && pod.is_active()).count();
    (its, pods.iter().filter(|(_, pod)| pod.is_active()).count() - its)
}

#[test]
fn it_runs_beside_the_deployment_and_tells_when_it_is_healthy() {
    let mut world = stage();
    world.apply(rollout("never"));
    world.pass(Span::from_secs(4));
    assert_eq!(found(&world)["status"]["phase"], "Progressing");
    world.pass(Span::from_secs(60));
    assert_eq!(pods(&world), (3, 3));
    let status = &found(&world)["status"];
    assert_eq!((&status["phase"], &status["availableReplicas"]), (&"Healthy".into(), &3.into()));
    assert_eq!(status["selector"], "app=web");
    assert_eq!(status["stableRS"], status["currentPodHash"]);
    assert_eq!(status["observedGeneration"], found(&world)["metadata"]["generation"].to_string());
    // The Deployment's deadline for progress is looked at once more.
    world.pass(Span::from_secs(3600));
    let before = world.events();
    world.pass(Span::from_secs(3600));
    assert_eq!(world.events(), before, "nothing changes, so nobody looks");
}

#[test]
fn the_deployment_goes_to_nothing_when_it_is_healthy() {
    let mut world = stage();
    world.apply(rollout("onsuccess"));
    world.pass(Span::from_secs(4));
    assert_eq!((pods(&world).1, replicas(&world)), (3, Some(3)));
    world.pass(Span::from_secs(60));
    assert_eq!((pods(&world), replicas(&world)), ((3, 0), Some(0)));
}

#[test]
fn the_deployment_goes_as_pods_get_ready() {
    let mut world = stage();
    // Room for one pod of the Rollout: one of the Deployment goes for it, and the next gets its place.
    let small = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}});
    assert_eq!(world.send(Method::Patch, PATH, small).code, 200);
    world.pass(Span::from_secs(60));
    world.apply(rollout("progressively"));
    world.pass(Span::from_secs(14));
    assert_eq!(replicas(&world), Some(2), "one of its pods is ready");
    world.pass(Span::from_secs(120));
    assert_eq!((pods(&world), replicas(&world)), ((3, 0), Some(0)));
}

#[test]
fn another_template_of_the_deployment_is_rolled() {
    let mut world = stage();
    world.apply(rollout("onsuccess"));
    world.pass(Span::from_secs(60));
    let before = found(&world)["status"]["currentPodHash"].clone();
    let change = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "another"}]}}}});
    assert_eq!(world.send(Method::Patch, PATH, change).code, 200);
    world.pass(Span::from_secs(120));
    let status = &found(&world)["status"];
    assert_ne!(status["currentPodHash"], before);
    assert_eq!((&status["phase"], &status["stableRS"]), (&"Healthy".into(), &status["currentPodHash"]));
    assert_eq!(pods(&world), (3, 0));
}

#[test]
fn what_it_owns_goes_with_it_and_one_with_steps_is_left_alone() {
    let mut world = stage();
    let mut stepped = rollout("never");
    stepped["metadata"]["name"] = "stepped".into();
    stepped["spec"]["strategy"]["canary"]["steps"] = json!([{"setWeight": 20}]);
    world.apply(stepped);
    world.apply(rollout("never"));
    world.pass(Span::from_secs(60));
    assert_eq!(pods(&world), (3, 3));
    let path = "/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web";
    assert_eq!(world.send(Method::Delete, path, json!({})).code, 200);
    world.pass(Span::from_secs(60));
    assert_eq!((pods(&world), replicas(&world)), ((0, 3), Some(3)));
}
