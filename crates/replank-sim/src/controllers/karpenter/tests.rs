//! A small pool: what Karpenter does when somebody deletes a claim or a node, and when pods find no room.

use replank_apiserver::json::Method;
use replank_model::object::affinity::TaintEffect;
use replank_model::object::karpenter::{DISRUPTED_TAINT, DO_NOT_DISRUPT, NodeClaim};
use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use crate::World;
use crate::testing::{node, running, start, world};

/// A node of the pool and its claim.
fn of_pool(name: &str, zone: &str) -> [Value; 2] {
    let machine = format!("aws:///{zone}/i-{name}");
    let mut node = node(name, zone);
    node["metadata"]["labels"]["karpenter.sh/nodepool"] = "general".into();
    node["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "m6i.xlarge".into();
    node["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
    node["spec"] = json!({"providerID": machine});
    let claim = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": format!("general-{name}"), "uid": format!("claim-{name}"), "labels": {"karpenter.sh/nodepool": "general"},
            "finalizers": ["karpenter.sh/termination"]},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}},
        "status": {"providerID": machine, "nodeName": name}});
    [node, claim]
}

/// Pods of a Deployment, one on each node, under a budget.
fn service(nodes: &[&str], cpu: &str, min: i64) -> Vec<Value> {
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}});
    let replicas = nodes.len();
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "shop", "uid": "rs", "generation": 1},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        "status": {"replicas": replicas, "readyReplicas": replicas, "observedGeneration": 1}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop", "uid": "pdb", "generation": 1},
        "spec": {"minAvailable": min, "selector": {"matchLabels": labels}}});
    let pods = nodes.iter().enumerate().map(|(number, node)| {
        let mut pod = running(&format!("web-{number}"), node);
        pod["metadata"]["labels"] = labels.clone();
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": true}]);
        pod["spec"] = template["spec"].clone();
        pod["spec"]["nodeName"] = (*node).into();
        pod
    });
    pods.chain([set, budget]).collect()
}

fn claims(world: &World) -> Vec<String> {
    let claims = world.view().node_claims.sorted();
    claims.into_iter().map(|(_, claim)| claim.meta.name.to_string()).collect()
}

fn nodes(world: &World) -> Vec<String> {
    world.view().nodes.sorted().into_iter().map(|(_, node)| node.meta.name.to_string()).collect()
}

fn delete(world: &mut World, kind: &str, name: &str) {
    let path = match kind {
        "NodeClaim" => format!("/apis/karpenter.sh/v1/nodeclaims/{name}"),
        _ => format!("/api/v1/nodes/{name}"),
    };
    let answer = world.send(Method::Delete, &path, Value::Null);
    assert_eq!(answer.code, 200, "{answer:?}");
}

fn has_taint(world: &World, node: &str) -> bool {
    let node = world.view().node(&node.into()).expect("the node");
    let is_it = |taint: &replank_model::object::affinity::Taint| {
        &*taint.key == DISRUPTED_TAINT && taint.effect == TaintEffect::NoSchedule
    };
    node.spec.taints.iter().any(is_it)
        && node.meta.labels.value("node.kubernetes.io/exclude-from-external-load-balancers")
            == Some("karpenter")
}

fn passed(world: &World) -> Span {
    world.now() - start()
}

#[test]
fn a_claim_that_is_deleted_takes_its_node_along_and_another_comes_up_meanwhile() {
    let mut objects = [of_pool("a", "a"), of_pool("b", "b")].concat();
    objects.extend(service(&["a", "b"], "3", 1));
    let mut world = world(objects);
    world.pass(Span::from_secs(5));
    delete(&mut world, "NodeClaim", "general-a");
    world.pass(Span::from_secs(3));
    assert!(has_taint(&world, "a"), "it is closed before anything else");
    assert_eq!(
        claims(&world).len(),
        3,
        "the pods that will leave find no room: another node is launched at once"
    );
    world.pass(Span::from_minutes(5));
    let (claims, nodes) = (claims(&world), nodes(&world));
    assert!(!claims.contains(&"general-a".to_owned()) && claims.len() == 2, "{claims:?}");
    assert!(!nodes.contains(&"a".to_owned()) && nodes.len() == 2, "{nodes:?}");
    let new = nodes.iter().find(|name| *name != "b").expect("a new node");
    let node = world.view().node(&new.as_str().into()).expect("the node").clone();
    assert!(node.is_ready() && world.view().claim_of(&node).is_some());
    assert_eq!(node.meta.labels.value("karpenter.sh/nodepool"), Some("general"));
    assert_eq!(node.status.allocatable.get("cpu").map(ToString::to_string).as_deref(), Some("4"));
    assert!(node.spec.taints.is_empty(), "{:?}", node.spec.taints);
    let ready = world.view().pods.unordered().filter(|(_, pod)| pod.is_ready()).count();
    assert_eq!(ready, 2);
}

/// A node that has just come up is looked at once more after ten seconds; what is deleted meanwhile does not wait for that.
#[test]
fn what_a_deleted_claim_needs_is_launched_at_once_also_after_a_node_came_up() {
    let mut objects = [of_pool("a", "a"), of_pool("b", "b")].concat();
    objects.extend(service(&["a", "b"], "3", 1));
    let mut world = world(objects);
    world.pass(Span::from_secs(5));
    delete(&mut world, "NodeClaim", "general-a");
    let is_new = |world: &World| {
        let mut nodes = world.view().nodes.unordered();
        nodes.any(|(_, node)| !["a", "b"].contains(&node.meta.name.as_str()) && node.is_ready())
    };
    while !is_new(&world) {
        assert!(passed(&world) < Span::from_minutes(10));
        world.pass(Span::from_secs(1));
    }
    let before = claims(&world);
    delete(&mut world, "NodeClaim", "general-b");
    world.pass(Span::from_secs(3));
    let new: Vec<String> = claims(&world).into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(new.len(), 1, "{new:?} beside {before:?}");
}

#[test]
fn a_node_that_is_deleted_takes_its_claim_along() {
    let mut world = world([of_pool("a", "a"), of_pool("b", "b")].concat());
    delete(&mut world, "Node", "a");
    world.pass(Span::from_minutes(2));
    assert_eq!((claims(&world), nodes(&world)), (vec!["general-b".to_owned()], vec!["b".to_owned()]));
}

#[test]
fn a_budget_is_waited_for() {
    let mut objects = [of_pool("a", "a"), of_pool("b", "b")].concat();
    objects.extend(service(&["a", "b"], "500m", 2));
    let mut world = world(objects);
    world.pass(Span::from_secs(5));
    delete(&mut world, "NodeClaim", "general-a");
    world.pass(Span::from_minutes(60));
    assert!(world.get(Kind::Pod, "web-0").is_some() && nodes(&world).contains(&"a".to_owned()));
    let path = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web";
    assert_eq!(world.send(Method::Patch, path, json!({"spec": {"minAvailable": 1}})).code, 200);
    world.pass(Span::from_minutes(3));
    assert_eq!(nodes(&world), ["b"], "what fits on the other node needs no new one");
}

#[test]
fn a_pod_that_is_not_to_be_disrupted_is_waited_for_until_the_grace_of_the_claim_is_over() {
    let mut objects = [of_pool("a", "a"), of_pool("b", "b")].concat();
    objects[1]["spec"]["terminationGracePeriod"] = "20m".into();
    let mut job = running("job", "a");
    job["metadata"]["annotations"] = json!({DO_NOT_DISRUPT: "true"});
    job["spec"]["terminationGracePeriodSeconds"] = 60.into();
    objects.push(job);
    let mut world = world(objects);
    delete(&mut world, "NodeClaim", "general-a");
    world.pass(Span::from_minutes(18));
    let job = |world: &World| world.get(Kind::Pod, "job").map(|pod| pod.meta().deletion_timestamp);
    assert_eq!(job(&world), Some(None), "it is not evicted");
    world.pass(Span::from_minutes(1) + Span::from_secs(2));
    let by: Time = start() + Span::from_minutes(20);
    let due = job(&world).flatten();
    assert!(
        due.is_none_or(|due| due <= by + Span::from_secs(2)),
        "it has its own grace, and no more: {due:?}"
    );
    assert!(job(&world).is_none_or(|deleted| deleted.is_some()), "its time is up");
    world.pass(Span::from_minutes(3));
    assert_eq!((nodes(&world), claims(&world)), (vec!["b".to_owned()], vec!["general-b".to_owned()]));
    assert!(passed(&world) < Span::from_minutes(23));
}

#[test]
fn pods_without_room_get_nodes_of_the_pool_and_no_more_than_they_need() {
    let mut world = world(of_pool("a", "a").to_vec());
    world.pass(Span::from_secs(5));
    for number in 0..3 {
        world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("new-{number}")},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]}}));
    }
    world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "64"}}}]}}));
    world.pass(Span::from_minutes(5));
    assert_eq!(nodes(&world).len(), 2, "two on the node that is there, one on another: {:?}", nodes(&world));
    let bound = world.view().pods.unordered().filter(|(_, pod)| pod.node.is_some()).count();
    assert_eq!(bound, 3, "what fits on no node of the pool waits");
    for (_, claim) in world.view().node_claims.sorted() {
        let claim: &NodeClaim = claim;
        assert_eq!(claim.meta.finalizers.len(), 1);
        assert!(
            claim.status.node_name.is_some()
                && claim.meta.labels.value("karpenter.sh/nodepool") == Some("general")
        );
    }
}

#[test]
fn without_claims_nobody_launches_anything() {
    let mut world = world(vec![node("a", "a")]);
    world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "64"}}}]}}));
    world.pass(Span::from_minutes(10));
    assert_eq!(nodes(&world), ["a"]);
    let pod = world.view().object(Kind::Pod, &Key::new("shop", "large"));
    assert!(matches!(pod, Some(Object::Pod(pod)) if pod.node.is_none()));
}
