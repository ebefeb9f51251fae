use replank_model::delta::Delta;
use replank_model::object::Object;
use serde_json::{Value, json};

use super::*;
use crate::testing::merge;

/// A Deployment of one replica with its pod on a node; `deployment` and `spec` are laid over it and the pod's spec.
fn view(deployment: Value, spec: Value, more: Vec<Value>) -> View {
    let mut of = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "one", "namespace": "shop", "uid": "d", "generation": 1},
        "spec": {"replicas": 1, "template": {"spec": {"containers": []}}},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}});
    merge(&mut of, deployment);
    let owner = |kind: &str, name: &str, uid: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}]);
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "one-1", "namespace": "shop", "uid": "s",
        "ownerReferences": owner("Deployment", "one", "d")}, "spec": {"replicas": 1}});
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one-1-a", "namespace": "shop", "uid": "p",
        "labels": {"app": "one"}, "ownerReferences": owner("ReplicaSet", "one-1", "s")},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
    merge(&mut pod["spec"], spec);
    let node = |name: &str, zone: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
        "labels": {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}}, "spec": {}, "status": {}})
    };
    let objects = [vec![of, set, pod, node("n", "a"), node("m", "a")], more].concat();
    objects.into_iter().map(|object| Delta::Put(Object::from_json(object).expect("a valid object"))).collect()
}

fn only_pod(view: &View) -> &Arc<Pod> {
    view.pods.by_key(&Key::new("shop", "one-1-a")).expect("it is there")
}

fn obstacle(deployment: Value, spec: Value, more: Vec<Value>) -> Option<NoSurge> {
    let view = view(deployment, spec, more);
    surging(&view, only_pod(&view)).err()
}

fn strategy(surge: &Value, unavailable: &Value) -> Value {
    json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}})
}

#[test]
fn a_strategy_that_makes_one_more_first_moves_a_single_pod() {
    let with = |deployment| obstacle(deployment, json!({}), Vec::new());
    assert_eq!(with(json!({})), None, "the defaults come to one more and none less");
    assert_eq!(with(strategy(&json!("1%"), &json!("99%"))), None);
    assert_eq!(with(strategy(&json!(0), &json!(1))), Some(NoSurge::NoSurge));
    assert_eq!(with(strategy(&json!(1), &json!(1))), Some(NoSurge::TakesAway(1)));
    assert_eq!(with(json!({"spec": {"strategy": {"type": "Recreate"}}})), Some(NoSurge::Recreate));
    assert_eq!(with(json!({"spec": {"paused": true}})), Some(NoSurge::Paused));
    let owner = json!({"metadata": {"ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Shop", "name": "main", "uid": "x", "controller": true}]}});
    assert_eq!(with(owner), Some(NoSurge::MadeBy("Shop main".into())));
    let many = |unavailable: &str| {
        let mut of = strategy(&json!(1), &json!(unavailable));
        of["spec"]["replicas"] = json!(4);
        of
    };
    assert_eq!(with(many("24%")), None);
    assert_eq!(with(many("25%")), Some(NoSurge::TakesAway(1)));
}

#[test]
fn volumes_and_rules_of_place_may_keep_two_from_being_there_at_once() {
    let claim = |modes: Value| {
        vec![
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"accessModes": modes}}),
        ]
    };
    let data = || json!({"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]});
    let with = |spec, more| obstacle(json!({}), spec, more);
    assert_eq!(with(data(), claim(json!(["ReadWriteOnce"]))), Some(NoSurge::Volume("data".into())));
    assert_eq!(with(data(), claim(json!(["ReadWriteOncePod"]))), Some(NoSurge::Volume("data".into())));
    assert_eq!(with(data(), claim(json!(["ReadWriteMany"]))), None);
    assert_eq!(with(data(), Vec::new()), Some(NoSurge::UnknownClaim("data".into())));
    let port = || json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]});
    assert_eq!(with(port(), Vec::new()), None, "another node has the port");
    let mut bound = port();
    bound["nodeSelector"] = json!({"kubernetes.io/hostname": "n"});
    assert_eq!(with(bound, Vec::new()), Some(NoSurge::HostPort(80)));
    let apart = |key: &str, app: &str| {
        json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]}}})
    };
    let zone = "topology.kubernetes.io/zone";
    assert_eq!(
        with(apart(zone, "one"), Vec::new()),
        Some(NoSurge::Apart(zone.into())),
        "all nodes are in zone a"
    );
    assert_eq!(with(apart("kubernetes.io/hostname", "one"), Vec::new()), None);
    assert_eq!(with(apart(zone, "other"), Vec::new()), None, "apart from others");
}

#[test]
fn a_single_replica_is_told_by_its_deployment_and_a_budget_by_its_count() {
    let one = view(json!({}), json!({}), Vec::new());
    assert!(is_only_replica(&one, only_pod(&one)));
    let two = view(json!({"spec": {"replicas": 2}}), json!({}), Vec::new());
    assert!(!is_only_replica(&two, only_pod(&two)), "its ReplicaSet may want one for a moment");
    let budget = |expected: i32, desired: i32| {
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": "one"}}},
            "status": {"expectedPods": expected, "desiredHealthy": desired}});
        let view = view(json!({"spec": {"replicas": 2}}), json!({}), vec![budget]);
        let ix = view.pods.find(&Key::new("shop", "one-1-a")).expect("it is there");
        is_singleton(&view, ix, only_pod(&view))
    };
    assert!(budget(2, 2) && !budget(2, 1) && !budget(0, 0));
}

#[test]
fn a_restart_is_seen_on_the_template_and_its_end_on_the_pod() {
    let at = |time: &str| json!({"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": time}}});
    let is_replaced = |deployment: Value| {
        let view = view(deployment, json!({}), Vec::new());
        let deployment = surging(&view, only_pod(&view)).expect("nothing is in the way");
        is_being_replaced(deployment, only_pod(&view))
    };
    assert!(!is_replaced(json!({})));
    assert!(
        is_replaced(json!({"spec": {"template": at("2026-01-01T00:00:00Z")}})),
        "the pod was made before"
    );
    let is_ours = |by: &str| {
        let mut template = at("2026-01-01T00:00:00Z");
        template["metadata"]["annotations"]["replank.dev/restarted-by"] = by.into();
        let view = view(json!({"spec": {"template": template}}), json!({}), Vec::new());
        let deployment = surging(&view, only_pod(&view)).expect("nothing is in the way");
        is_restarted_by(deployment, &RunId::from("run"), only_pod(&view))
    };
    assert!(is_ours("run") && !is_ours("another"));
    assert!(is_replaced(json!({"metadata": {"generation": 2}})), "its controller has not seen the latest");
    assert!(is_replaced(json!({"status": {"replicas": 2}})), "an old pod is left");
}
