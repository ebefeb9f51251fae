use replank_model::object::Object;
use serde_json::{Value, json};

use super::*;

fn view(objects: Vec<Value>) -> View {
    objects.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("a valid object"))).collect()
}

fn set(update_revision: &str, generation: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop", "uid": "db", "generation": generation},
        "spec": {"template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}]}}},
        "status": {"observedGeneration": 1, "updateRevision": update_revision}})
}

fn revisions(view: &View) -> Vec<String> {
    view.controller_revisions.sorted().iter().map(|(_, revision)| revision.meta.name.to_string()).collect()
}

#[test]
fn a_statefulset_gets_the_revision_that_its_status_names() {
    let mut without = view(vec![set("db-abc12", 1)]);
    complete(&mut without);
    assert_eq!(revisions(&without), ["db-abc12"]);

    let mut changed = view(vec![set("db-abc12", 2)]);
    complete(&mut changed);
    assert_eq!(revisions(&changed), [""; 0], "its template may be another by now");

    let known = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1,
        "metadata": {"name": "db-1", "namespace": "shop", "uid": "r",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": true}]}});
    let mut with = view(vec![set("db-abc12", 1), known]);
    complete(&mut with);
    assert_eq!(revisions(&with), ["db-1"]);
}

fn server(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "m"},
            "ownerReferences": [{"apiVersion": "ml.example.com/v1", "kind": "ModelServer", "name": "m", "uid": "m", "controller": true}]},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}})
}

fn budget(spec: &Value, counted: bool) -> Value {
    let conditions = if counted {
        json!([])
    } else {
        json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}])
    };
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "m", "namespace": "shop", "uid": "b"},
        "spec": spec, "status": {"expectedPods": if counted { 2 } else { 0 }, "conditions": conditions}})
}

fn replicas(view: &View) -> Option<i32> {
    let key = Key { namespace: "shop".into(), name: "m".into() };
    view.other("ml.example.com", "ModelServer", &key).expect("it was put there").replicas
}

#[test]
fn owners_that_are_not_in_the_snapshot_are_taken_for_what_budgets_tell_of_them() {
    let with = |more: Vec<Value>| {
        let mut view = view([vec![server("m-0"), server("m-1")], more].concat());
        let assumptions = complete(&mut view);
        assert_eq!(assumptions[0].about, "operator of ModelServer (2 pods)");
        replicas(&view)
    };
    let share = || json!({"selector": {"matchLabels": {"app": "m"}}, "maxUnavailable": 1});
    assert_eq!(with(vec![]), Some(2));
    assert_eq!(with(vec![budget(&share(), true)]), Some(2));
    assert_eq!(with(vec![budget(&share(), false)]), None, "its scale could not be read");
    let own = |spec: Value| {
        json!({"apiVersion": "ml.example.com/v1", "kind": "ModelServer",
            "metadata": {"name": "m", "namespace": "shop", "uid": "m"}, "spec": spec})
    };
    assert_eq!(with(vec![own(json!({"replicas": 3})), budget(&share(), true)]), Some(3));
    assert_eq!(with(vec![own(json!({"replicas": 3})), budget(&share(), false)]), None);
    assert_eq!(with(vec![own(json!({"size": 2})), budget(&share(), true)]), Some(2));
    assert_eq!(with(vec![own(json!({"size": 2}))]), None);
}

#[test]
fn a_definition_is_believed() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "modelservers.ml.example.com"},
        "spec": {"group": "ml.example.com", "names": {"plural": "modelservers", "kind": "ModelServer"}, "versions": []}});
    let own = json!({"apiVersion": "ml.example.com/v1", "kind": "ModelServer",
        "metadata": {"name": "m", "namespace": "shop", "uid": "m"}, "spec": {"replicas": 9}});
    let share = json!({"selector": {"matchLabels": {"app": "m"}}, "maxUnavailable": 1});
    let mut view = view(vec![server("m-0"), definition, own, budget(&share, false)]);
    complete(&mut view);
    assert_eq!(replicas(&view), Some(9));
}

#[test]
fn a_budget_without_a_status_is_counted_and_another_is_left_alone() {
    let pod = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "w"}},
            "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let budget = |name: &str, status: Value| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "w"}}}, "status": status})
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let seen = json!({"observedGeneration": 1, "expectedPods": 7});
    let mut view = view(vec![node, pod("a"), pod("b"), budget("new", json!({})), budget("old", seen)]);
    count_budgets(&mut view, "2026-01-01T00:00:00Z".parse().expect("a time"));
    let status = |name: &str| {
        let budget = view.find::<PodDisruptionBudget>(&Key::new("shop", name)).expect("it stays");
        (budget.status.expected_pods, budget.status.desired_healthy, budget.status.disruptions_allowed)
    };
    assert_eq!(status("new"), (2, 2, 0));
    assert_eq!(status("old"), (7, 0, 0));
}

#[test]
fn a_budget_is_counted_as_its_pods_are_whatever_other_controllers_would_do() {
    // The Deployment does not know this ReplicaSet by its labels, and would make another.
    let template = json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "w:2"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "namespace": "shop", "uid": "w"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": template}});
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "w-1", "namespace": "shop", "uid": "w-1",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "w", "uid": "w", "controller": true}]},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": template}});
    let pod = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "w"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w-1", "uid": "w-1", "controller": true}]},
            "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "w", "namespace": "shop", "uid": "b", "generation": 2},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "w"}}},
        "status": {"observedGeneration": 1, "expectedPods": 2, "desiredHealthy": 1, "currentHealthy": 2, "disruptionsAllowed": 1}});
    let mut view = view(vec![node, deployment, set, pod("a"), pod("b"), budget]);
    count_budgets(&mut view, "2026-01-01T00:00:00Z".parse().expect("a time"));
    let status = &view.find::<PodDisruptionBudget>(&Key::new("shop", "w")).expect("it stays").status;
    assert_eq!(
        (
            status.expected_pods,
            status.desired_healthy,
            status.disruptions_allowed,
            status.observed_generation
        ),
        (2, 2, 0, 2),
        "the earlier spec wanted one"
    );
}

#[test]
fn what_was_written_by_hand_is_not_rolled_out_when_it_is_scaled() {
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}});
    let hashed =
        json!({"metadata": {"labels": {"app": "web", "pod-template-hash": "1"}}, "spec": template["spec"]});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "web", "generation": 1},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        "status": {"observedGeneration": 1, "replicas": 2}});
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "web-1", "labels": {"app": "web", "pod-template-hash": "1"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": true}]},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web", "pod-template-hash": "1"}}, "template": hashed},
        "status": {"replicas": 2}});
    let mut view = view(vec![deployment, set]);
    complete(&mut view);
    let settings = Settings {
        start: Time::from_millis(0),
        seed: 0,
        kubelet: KubeletModel::Fake,
        cloud: CloudTimings::default(),
    };
    let mut world = World::new(settings, view);
    let key = Key { namespace: "shop".into(), name: "web".into() };
    let wanted = json!({"spec": {"replicas": 5}});
    let method = replank_apiserver::json::Method::Patch;
    replank_sim::script::send(&mut world, method, Kind::Deployment, &key, "/scale", wanted)
        .expect("it is scaled");
    world.run_until(Time::from_millis(0) + Span::from_secs(30));
    let sets = world.view().replica_sets.sorted();
    let told: Vec<(&str, Option<i32>)> =
        sets.iter().map(|(_, set)| (set.meta.name.as_str(), set.spec.replicas)).collect();
    assert_eq!(told, [("web-1", Some(5))], "a scaled Deployment keeps its ReplicaSet");
}

#[test]
fn a_service_without_endpoint_slices_gets_those_of_its_pods() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let pod = |name: &str, ready: &str| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"}},
            "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "podIP": format!("10.0.0.{}", name.len()), "conditions": [{"type": "Ready", "status": ready}]}})
    };
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": "s"},
        "spec": {"clusterIP": "172.20.0.9", "selector": {"app": "web"}, "ports": [{"port": 80}]}});
    let objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "shop"}}),
        node,
        pod("a", "True"),
        pod("bb", "False"),
        service,
    ];
    let mut cluster = view(objects);
    let key = Key::new("shop", "web");
    let services = BTreeSet::from([key.clone()]);
    let now: Time = "2026-11-20T09:00:00Z".parse().expect("a time");
    let told = supply_endpoint_slices(&mut cluster, &services, now).expect("it has none");
    assert_eq!(told.about, "EndpointSlices of Service shop/web");
    let ready = replank_core::migrate::ready_endpoints(&cluster, &key);
    assert_eq!(ready, 1, "one of the two pods is ready");
    assert!(supply_endpoint_slices(&mut cluster, &services, now).is_none(), "it has some by now");
}

#[test]
fn what_a_controller_makes_for_a_manifest_without_a_uid_stays() {
    let template = json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "w:1"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "namespace": "shop"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "w"}}, "template": template}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "50"}, "conditions": [{"type": "Ready", "status": "True"}]}});
    let settings = Settings {
        start: "2026-01-01T00:00:00Z".parse().expect("a time"),
        seed: 1,
        kubelet: KubeletModel::Fake,
        cloud: CloudTimings::default(),
    };
    let mut world = World::new(settings.clone(), completed(view(vec![namespace, node, deployment])));
    let pods = |world: &World| -> BTreeSet<Uid> {
        world.view().pods.unordered().map(|(_, pod)| pod.meta.uid.clone()).collect()
    };
    world.run_until(settings.start + Span::from_secs(30));
    let first = pods(&world);
    assert_eq!(first.len(), 3);
    world.run_until(settings.start + Span::from_secs(60));
    assert_eq!(pods(&world), first);
}

#[test]
fn references_without_a_uid_lead_to_the_owner_that_they_name() {
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "w-1", "namespace": "shop"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "w"}}, "template": {"metadata": {"labels": {"app": "w"}}, "spec": {}}}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w-1", "uid": "", "controller": true}]},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
    let view = completed(view(vec![owner, pod]));
    let set =
        view.find::<replank_model::object::workload::ReplicaSet>(&Key::new("shop", "w-1")).expect("it stays");
    let pod = view.find::<Pod>(&Key::new("shop", "p")).expect("it stays");
    assert!(!set.meta.uid.is_empty());
    assert_eq!(
        (&pod.meta.uid, pod.meta.controller().map(|one| &one.uid)),
        (&Uid::from("p"), Some(&set.meta.uid))
    );
}
