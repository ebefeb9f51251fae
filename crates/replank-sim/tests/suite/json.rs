//! The API as clients speak it: defaults, patches, subresources and refusals as a 1.36 server has them.

use replank_apiserver::json::{Method, Request, Response};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::{Span, Time};
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::{Value, json};

fn world() -> World {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "ns"}});
    let start = "2026-01-01T00:00:00Z".parse::<Time>().expect("a time");
    World::new(
        Settings { start, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() },
        std::iter::once(Delta::Put(Object::from_json(namespace).expect("valid"))).collect(),
    )
}

fn send(world: &mut World, method: Method, path: &str, body: Value) -> Response {
    let content_type = "application/strategic-merge-patch+json".to_owned();
    let request = Request { method, path: path.to_owned(), content_type, body, wire: None };
    world.request(|api| api.handle(&request))
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}},
            "spec": {"schedulerName": "manual", "containers": [{"name": "a", "image": "a:1",
                "ports": [{"containerPort": 80, "name": "http"}]}], "volumes": [{"name": "v"}]}}}})
}

#[test]
fn a_deployment_is_completed() {
    let mut world = world();
    let made = send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    assert_eq!(made.code, 201, "{}", made.body);
    let expected = json!({"replicas": 1, "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "a", "image": "a:1",
                "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}], "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent"}],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "securityContext": {}, "schedulerName": "manual"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600});
    assert_eq!(made.body["spec"], expected);
    assert_eq!(made.body["metadata"]["generation"], 1);
    assert_eq!(made.body["status"], json!({}));
}

#[test]
fn a_pod_gets_tolerations_and_priority() {
    let mut world = world();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"},
        "spec": {"schedulerName": "manual", "containers": [{"name": "c", "image": "i:1"}]}});
    let made = send(&mut world, Method::Post, "/api/v1/namespaces/shop/pods", pod);
    assert_eq!(made.body["spec"]["priority"], 0);
    assert_eq!(made.body["spec"]["preemptionPolicy"], "PreemptLowerPriority");
    assert_eq!(made.body["spec"]["enableServiceLinks"], true);
    assert_eq!(made.body["spec"]["tolerations"].as_array().map(Vec::len), Some(2));
    assert_eq!(made.body["status"]["phase"], "Pending");
    assert_eq!(made.body["metadata"]["name"].as_str().map(str::len), Some(7));
}

#[test]
fn patches_count_generations_and_leave_status_alone() {
    let mut world = world();
    send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    let web = format!("{DEPLOYMENTS}/web");
    let body = json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a:2"}]}}},
        "status": {"replicas": 7}});
    let patched = send(&mut world, Method::Patch, &web, body);
    assert_eq!(patched.code, 200, "{}", patched.body);
    let container = &patched.body["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["ports"][0]["containerPort"]), (&"a:2".into(), &80.into()));
    assert_eq!(patched.body["metadata"]["generation"], 2);
    assert_eq!(patched.body["status"].get("replicas"), None);
    let labelled = send(&mut world, Method::Patch, &web, json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!(labelled.body["metadata"]["generation"], 2, "labels are not the desired state");
    let status = send(
        &mut world,
        Method::Patch,
        &format!("{web}/status"),
        json!({"spec": {"replicas": 9}, "status": {"replicas": 7}}),
    );
    assert_eq!(status.body["status"]["replicas"], 7);
    assert_eq!(status.body["spec"]["replicas"], 1);
    assert_eq!(status.body["metadata"]["generation"], 2);
}

#[test]
fn scale_is_a_subresource() {
    let mut world = world();
    send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    let path = format!("{DEPLOYMENTS}/web/scale");
    let scaled = send(&mut world, Method::Patch, &path, json!({"spec": {"replicas": 5}}));
    assert_eq!(scaled.code, 200, "{}", scaled.body);
    assert_eq!(scaled.body["spec"]["replicas"], 5);
    assert_eq!(scaled.body["status"], json!({"replicas": 0, "selector": "app=x"}));
    let web = send(&mut world, Method::Get, &format!("{DEPLOYMENTS}/web"), Value::Null);
    assert_eq!((&web.body["spec"]["replicas"], &web.body["metadata"]["generation"]), (&5.into(), &2.into()));
    let none = send(&mut world, Method::Get, "/api/v1/namespaces/shop/pods/p/scale", Value::Null);
    assert_eq!(none.code, 404);
}

#[test]
fn a_custom_kind_scales_by_its_definition() {
    let mut world = world();
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "packs.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "packs", "kind": "Pack"}, "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size",
                    "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector"}}}]}});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(send(&mut world, Method::Post, path, definition).code, 201);
    let packs = "/apis/example.com/v1/namespaces/shop/packs";
    let pack = json!({"apiVersion": "example.com/v1", "kind": "Pack", "metadata": {"name": "p"},
        "spec": {"size": 3}, "status": {"size": 1}});
    let made = send(&mut world, Method::Post, packs, pack);
    assert_eq!((made.code, made.body.get("status")), (201, None), "{}", made.body);
    let status = json!({"status": {"size": 2, "selector": "app=x"}});
    let request = Request {
        method: Method::Patch,
        path: format!("{packs}/p/status"),
        content_type: "application/merge-patch+json".to_owned(),
        body: status,
        wire: None,
    };
    assert_eq!(world.request(|api| api.handle(&request)).body["metadata"]["generation"], 1);
    let request =
        Request { path: format!("{packs}/p/scale"), body: json!({"spec": {"replicas": 4}}), ..request };
    let scaled = world.request(|api| api.handle(&request));
    assert_eq!(scaled.body["spec"]["replicas"], 4);
    assert_eq!(scaled.body["status"], json!({"replicas": 2, "selector": "app=x"}));
    let list = send(&mut world, Method::Get, packs, Value::Null);
    assert_eq!((&list.body["kind"], &list.body["items"][0]["spec"]["size"]), (&"PackList".into(), &4.into()));
    assert_eq!(list.body["items"][0]["metadata"]["generation"], 2);
}

#[test]
fn refusals_read_as_the_servers() {
    let mut world = world();
    send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    let missing = send(&mut world, Method::Get, &format!("{DEPLOYMENTS}/none"), Value::Null);
    let expected = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "deployments.apps \"none\" not found", "reason": "NotFound",
        "details": {"name": "none", "group": "apps", "kind": "deployments"}, "code": 404});
    assert_eq!(missing.body, expected);
    let again = send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    assert_eq!((again.code, &again.body["reason"]), (409, &"AlreadyExists".into()));
    let path = format!("{DEPLOYMENTS}/web");
    let body = json!({"spec": {"selector": {"matchLabels": {"app": "y"}}}});
    let immutable = send(&mut world, Method::Patch, &path, body);
    assert_eq!(immutable.code, 422);
    // The specification is looked at before what may not change (`ValidateDeploymentUpdate`, then the strategy).
    let causes = &immutable.body["details"]["causes"];
    assert_eq!(
        causes[0]["message"],
        "Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`"
    );
    assert_eq!(causes[0]["field"], "spec.template.metadata.labels");
    assert_eq!(causes[1]["message"], "Invalid value: {\"matchLabels\":{\"app\":\"y\"}}: field is immutable");
    assert_eq!(causes[1]["field"], "spec.selector");
    let stale = json!({"metadata": {"resourceVersion": "999"}, "spec": {"replicas": 2}});
    assert_eq!(send(&mut world, Method::Patch, &path, stale).code, 409);
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
        "spec": {"minAvailable": "101%"}});
    let refused =
        send(&mut world, Method::Post, "/apis/policy/v1/namespaces/shop/poddisruptionbudgets", budget);
    assert_eq!(
        refused.body["message"],
        "PodDisruptionBudget.policy \"b\" is invalid: spec.minAvailable: \
        Invalid value: \"101%\": must not be greater than 100%"
    );
    let elsewhere = send(&mut world, Method::Post, "/apis/apps/v1/namespaces/none/deployments", deployment());
    assert_eq!(elsewhere.body["message"], "namespaces \"none\" not found");
}

#[test]
fn dry_runs_change_nothing() {
    let mut world = world();
    let made = send(&mut world, Method::Post, &format!("{DEPLOYMENTS}?dryRun=All"), deployment());
    assert_eq!(made.code, 201);
    assert!(world.view().deployments.is_empty());
    send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    let gone = send(&mut world, Method::Delete, &format!("{DEPLOYMENTS}/web?dryRun=All"), Value::Null);
    assert_eq!((gone.code, world.view().deployments.len()), (200, 1));
    let gone = send(&mut world, Method::Delete, &format!("{DEPLOYMENTS}/web"), Value::Null);
    assert_eq!((&gone.body["status"], world.view().deployments.len()), (&"Success".into(), 0));
    world.run_until(world.now() + Span::from_secs(1));
}

/// A definition of a kind `Pack`, served in two versions.
fn packs(group: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    // Groups of the Kubernetes community are protected.
    let annotations = json!({"api-approved.kubernetes.io": "unapproved, for a test"});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("packs.{group}"), "annotations": annotations}, "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": "packs", "kind": "Pack"}, "versions": [version("v1", true), version("v1beta1", false)]}})
}

#[test]
fn a_custom_resource_is_served_in_the_version_that_is_asked_for() {
    let mut world = world();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for group in ["example.com", "example.k8s.io"] {
        assert_eq!(send(&mut world, Method::Post, path, packs(group)).code, 201);
        let at = |version: &str, rest: &str| format!("/apis/{group}/{version}/namespaces/shop/packs{rest}");
        let pack = json!({"apiVersion": format!("{group}/v1beta1"), "kind": "Pack", "metadata": {"name": "p"}, "spec": {"size": 3}});
        let made = send(&mut world, Method::Post, &at("v1beta1", ""), pack);
        assert_eq!(
            (made.code, &made.body["apiVersion"]),
            (201, &format!("{group}/v1beta1").into()),
            "{}",
            made.body
        );
        let read = send(&mut world, Method::Get, &at("v1", "/p"), Value::Null);
        assert_eq!(
            (&read.body["apiVersion"], &read.body["spec"]["size"]),
            (&format!("{group}/v1").into(), &3.into())
        );
        let list = send(&mut world, Method::Get, &at("v1", ""), Value::Null);
        assert_eq!(list.body["items"].as_array().map(Vec::len), Some(1), "its own group's only");
    }
}

#[test]
fn no_two_objects_have_one_uid() {
    let mut world = world();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut uids = std::collections::BTreeSet::new();
    for group in ["example.com", "example.org"] {
        send(&mut world, Method::Post, path, packs(group));
        let pack = json!({"apiVersion": format!("{group}/v1"), "kind": "Pack", "metadata": {"name": "p"}});
        let made = send(&mut world, Method::Post, &format!("/apis/{group}/v1/namespaces/shop/packs"), pack);
        uids.insert(made.body["metadata"]["uid"].as_str().expect("a uid").to_owned());
    }
    // Made, deleted and made again in one millisecond.
    for _ in 0..3 {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
        let made = send(&mut world, Method::Post, "/api/v1/namespaces/shop/configmaps", map);
        uids.insert(made.body["metadata"]["uid"].as_str().expect("a uid").to_owned());
        assert_eq!(
            send(&mut world, Method::Delete, "/api/v1/namespaces/shop/configmaps/m", Value::Null).code,
            200
        );
    }
    assert_eq!(uids.len(), 5);
}

#[test]
fn lists_are_selected_by_fields_that_the_server_knows() {
    let mut world = world();
    send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    let node = |name: &str, closed: bool| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": closed}});
    for (name, closed) in [("open", false), ("closed", true)] {
        assert_eq!(send(&mut world, Method::Post, "/api/v1/nodes", node(name, closed)).code, 201);
    }
    let mut names = |query: &str| {
        let list =
            send(&mut world, Method::Get, &format!("/api/v1/nodes?fieldSelector={query}"), Value::Null);
        let items = list.body["items"].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(names("spec.unschedulable%3Dfalse"), ["open"]);
    assert_eq!(names("spec.unschedulable!%3Dfalse"), ["closed"]);
    assert_eq!(names("metadata.name%3Dclosed"), ["closed"]);
    for (path, why) in [
        (
            "/api/v1/namespaces/shop/pods?fieldSelector=spec.color%3Dred",
            "field label not supported: spec.color",
        ),
        (
            "/apis/apps/v1/namespaces/shop/deployments?fieldSelector=spec.replicas%3D1&labelSelector=app%3Dx",
            "\"spec.replicas\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
    ] {
        let refused = send(&mut world, Method::Get, path, Value::Null);
        assert_eq!((refused.code, refused.body["message"].as_str()), (400, Some(why)));
    }
}

#[test]
fn what_pods_come_from_is_validated_in_full() {
    let mut world = world();
    let mut bad = deployment();
    bad["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = 70000.into();
    let refused = send(&mut world, Method::Post, DEPLOYMENTS, bad);
    assert_eq!(refused.code, 422, "{}", refused.body);
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!(cause["field"], "spec.template.spec.containers[0].ports[0].containerPort");
    assert_eq!(cause["message"], "Invalid value: 70000: must be between 1 and 65535, inclusive");
    // And so is a change, which may leave what was wrong before.
    send(&mut world, Method::Post, DEPLOYMENTS, deployment());
    let body = json!({"spec": {"template": {"spec": {"dnsPolicy": "Sometimes"}}}});
    let refused = send(&mut world, Method::Patch, &format!("{DEPLOYMENTS}/web"), body);
    assert_eq!(
        (refused.code, &refused.body["details"]["causes"][0]["field"]),
        (422, &"spec.template.spec.dnsPolicy".into())
    );
}
