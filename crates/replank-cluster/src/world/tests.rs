use std::sync::Arc;

use replank_api::TokenSigner;
use replank_apiserver::json::Method;
use replank_model::object::meta::Key;
use replank_model::time::Span;
use serde_json::{Value, json};

use super::*;
use crate::nodes::{Fleet, nodes};

const START: Time = Time::from_millis(1_764_000_000_000);

fn served() -> Served {
    let signer = Arc::new(TokenSigner::generate().expect("there is chance"));
    let trust = Trust {
        authority: "the authority".to_owned(),
        signer,
        certificates: None,
        authorization: replank_api::Authorization::Rbac,
    };
    let view = nodes(Fleet { nodes: 1, zones: 1 }, "v1.36.2", START);
    let begin = Begin {
        start: Start::Objects(Box::new(view)),
        seed: 1,
        kubelet: KubeletModel::Fake,
        cloud: CloudTimings::default(),
        pace: Pace::Step(START),
        trust,
        serving: Serving { accounts: true, addresses: true, traces: true },
        address: SocketAddr::from(([127, 0, 0, 1], 6443)),
        files: None,
        aws: None,
        upgraded: Arc::default(),
    };
    Served::new(begin).expect("nothing is kept")
}

fn send(served: &mut Served, method: Method, path: &str, body: Value) -> Response {
    let path = path.to_owned();
    served.handle(&Request {
        method,
        path,
        content_type: "application/merge-patch+json".to_owned(),
        body,
        wire: None,
    })
}

fn other(served: &Served, kind: &str, namespace: &str, name: &str) -> Option<Value> {
    let group = if kind == "ClusterRole" { "rbac.authorization.k8s.io" } else { "" };
    let found = served.world.view().other(group, kind, &Key::new(namespace, name))?;
    Some(replank_model::object::render(&Object::Other(found.clone())))
}

fn pass(served: &mut Served, span: Span) {
    let until = served.world.now() + span;
    served.run_until(until);
}

#[test]
fn a_namespace_has_an_account_and_the_authority_at_once_and_they_come_back() {
    let mut served = served();
    assert!(other(&served, "ServiceAccount", "default", "default").is_some());
    send(&mut served, Method::Post, "/api/v1/namespaces", json!({"metadata": {"name": "a"}}));
    assert!(other(&served, "ServiceAccount", "a", "default").is_some());
    let map = other(&served, "ConfigMap", "a", "kube-root-ca.crt").expect("it is there");
    assert_eq!(map["data"], json!({"ca.crt": "the authority"}));
    send(&mut served, Method::Delete, "/api/v1/namespaces/a/serviceaccounts/default", Value::Null);
    let map = "/api/v1/namespaces/a/configmaps/kube-root-ca.crt";
    send(&mut served, Method::Patch, map, json!({"data": {"ca.crt": "x", "y": "z"}}));
    pass(&mut served, Span::from_millis(50));
    assert!(other(&served, "ServiceAccount", "a", "default").is_some());
    let map = other(&served, "ConfigMap", "a", "kube-root-ca.crt").expect("it is there");
    assert_eq!(map["data"], json!({"ca.crt": "the authority"}));
}

fn make_pod(served: &mut Served, name: &str, spec: Value) {
    let mut spec = spec;
    spec["nodeName"] = "node-1".into();
    let annotations = json!({"fake.kubelet/run-ms": "5000"});
    let pod = json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec});
    assert_eq!(send(served, Method::Post, "/api/v1/namespaces/default/pods", pod).code, 201);
}

fn status_of(served: &Served, name: &str) -> Value {
    let pod = served.world.view().pods.by_key(&Key::new("default", name)).expect("it is there");
    replank_model::object::render(&Object::Pod(pod.clone()))["status"].clone()
}

fn condition(status: &Value, kind: &str) -> (String, String, String) {
    let all = status["conditions"].as_array().into_iter().flatten();
    let found = all.into_iter().find(|one| one["type"] == kind).unwrap_or_else(|| panic!("{status}"));
    let text = |member: &str| found[member].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

fn container(name: &str, command: &[&str]) -> Value {
    json!({"name": name, "image": "busybox", "command": command})
}

#[test]
fn init_containers_run_in_turn_and_one_that_fails_is_started_again_ever_more_slowly() {
    let mut served = served();
    pass(&mut served, Span::from_millis(50));
    let first = container("first", &["sleep", "3"]);
    let second = container("second", &["sh", "-c", "exit 3"]);
    make_pod(
        &mut served,
        "p",
        json!({"initContainers": [first, second], "containers": [container("c", &[])]}),
    );
    pass(&mut served, Span::from_secs(2));
    let runs = status_of(&served, "p");
    assert_eq!(runs["phase"], "Pending");
    assert!(runs["initContainerStatuses"][0]["state"]["running"].is_object(), "{runs}");
    let waits = json!({"waiting": {"reason": "PodInitializing"}});
    assert_eq!(runs["initContainerStatuses"][1]["state"], waits);
    let why = |names: &str| {
        ("False", "ContainersNotInitialized", format!("containers with incomplete status: [{names}]"))
    };
    let initialized = |status: &Value| condition(status, "Initialized");
    let told_so = |names: &str| {
        let (is, reason, message) = why(names);
        (is.to_owned(), reason.to_owned(), message)
    };
    assert_eq!(initialized(&runs), told_so("first second"));
    pass(&mut served, Span::from_millis(1_900));
    let failed = status_of(&served, "p");
    assert_eq!(failed["initContainerStatuses"][0]["state"]["terminated"]["reason"], "Completed");
    let ended = &failed["initContainerStatuses"][1]["state"]["terminated"];
    assert_eq!((&ended["reason"], &ended["exitCode"]), (&json!("Error"), &json!(3)), "{failed}");
    assert_eq!(initialized(&failed), told_so("second"));
    pass(&mut served, Span::from_secs(3));
    let backs_off = status_of(&served, "p");
    let second = &backs_off["initContainerStatuses"][1];
    assert_eq!(second["state"]["waiting"]["reason"], "CrashLoopBackOff", "{backs_off}");
    assert_eq!(second["lastState"]["terminated"]["exitCode"], 3);
    assert_eq!((&second["restartCount"], &backs_off["phase"]), (&json!(1), &json!("Pending")));
    pass(&mut served, Span::from_secs(10));
    assert_eq!(status_of(&served, "p")["initContainerStatuses"][1]["restartCount"], 2);
    pass(&mut served, Span::from_secs(10));
    assert_eq!(status_of(&served, "p")["initContainerStatuses"][1]["restartCount"], 2, "it waits 20 s");
    let told = told(&served, "p");
    let of = |part: &str, reason: &str| {
        told.iter().filter(|(_, why, where_, _)| why == reason && where_ == part).count()
    };
    assert_eq!(of("spec.initContainers{first}", "Started"), 1, "{told:?}");
    assert_eq!(of("spec.initContainers{second}", "BackOff"), 1);
    assert_eq!(of("spec.containers{c}", "Started"), 0);
}

#[test]
fn a_pod_that_is_not_restarted_fails_with_its_init_container() {
    let mut served = served();
    pass(&mut served, Span::from_millis(50));
    let spec = json!({"restartPolicy": "Never", "initContainers": [container("i", &["false"])],
        "containers": [container("c", &[])]});
    make_pod(&mut served, "q", spec);
    pass(&mut served, Span::from_secs(20));
    let status = status_of(&served, "q");
    assert_eq!(status["phase"], "Failed", "{status}");
    assert_eq!(status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 1);
    assert_eq!(
        status["containerStatuses"][0]["state"],
        json!({"waiting": {"reason": "PodInitializing"}}),
        "{status}"
    );
    assert_eq!(condition(&status, "Initialized").0, "False");
    assert_eq!(condition(&status, "Ready").1, "PodFailed");
}

#[test]
fn sidecars_start_before_the_others_and_stop_after_them() {
    let mut served = served();
    pass(&mut served, Span::from_millis(50));
    let mut sidecar = container("s", &["proxy"]);
    sidecar["restartPolicy"] = "Always".into();
    let spec = json!({"restartPolicy": "Never", "initContainers": [sidecar, container("i", &["sleep", "2"])],
        "containers": [container("c", &[])]});
    make_pod(&mut served, "r", spec);
    pass(&mut served, Span::from_millis(1_500));
    let begins = status_of(&served, "r");
    let sidecar = &begins["initContainerStatuses"][0];
    assert_eq!((&sidecar["started"], &sidecar["ready"]), (&json!(true), &json!(true)), "{begins}");
    assert!(begins["initContainerStatuses"][1]["state"]["running"].is_object(), "{begins}");
    assert_eq!(condition(&begins, "Initialized").2, "containers with incomplete status: [i]");
    pass(&mut served, Span::from_secs(3));
    let runs = status_of(&served, "r");
    assert_eq!((&runs["phase"], condition(&runs, "Ready").0.as_str()), (&json!("Running"), "True"));
    assert!(runs["initContainerStatuses"][0]["state"]["running"].is_object(), "{runs}");
    pass(&mut served, Span::from_secs(10));
    let done = status_of(&served, "r");
    assert_eq!(done["phase"], "Succeeded", "{done}");
    assert_eq!(done["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 143);
}

/// What was told of an object: who, why, which part of it, and how.
fn told(served: &Served, about: &str) -> Vec<(String, String, String, String)> {
    let events = served.world.view().others().filter(|other| &*other.kind == "Event");
    let events = events.map(|event| replank_model::object::render(&Object::Other(event.clone())));
    let text = |event: &Value, path: &str| {
        event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    events
        .filter(|event| text(event, "/involvedObject/name") == about)
        .map(|event| {
            let who = text(&event, "/source/component");
            let part = text(&event, "/involvedObject/fieldPath");
            (who, text(&event, "/reason"), part, text(&event, "/message"))
        })
        .collect()
}

#[test]
fn kubelets_and_controllers_tell_what_people_look_for() {
    let mut served = served();
    send(&mut served, Method::Post, "/api/v1/namespaces", json!({"metadata": {"name": "a"}}));
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "x:1"}]}});
    send(&mut served, Method::Post, "/api/v1/namespaces/a/pods", pod);
    pass(&mut served, Span::from_secs(20));
    let known = told(&served, "p");
    let reasons = |known: &[(String, String, String, String)]| -> Vec<String> {
        known.iter().map(|(_, reason, ..)| reason.clone()).collect()
    };
    let mut said = reasons(&known);
    said.sort();
    assert_eq!(said, ["Created", "Pulled", "Scheduled", "Started"]);
    let pulled = known.iter().find(|(_, reason, ..)| reason == "Pulled").expect("it was pulled");
    let there = "Container image \"x:1\" already present on machine and can be accessed by the pod";
    assert_eq!((&*pulled.0, &*pulled.2, &*pulled.3), ("kubelet", "spec.containers{main}", there));
    assert_eq!(
        told(&served, "node-1"),
        [(
            "node-controller".to_owned(),
            "RegisteredNode".to_owned(),
            String::new(),
            "Node node-1 event: Registered Node node-1 in Controller".to_owned()
        )]
    );
    send(&mut served, Method::Delete, "/api/v1/namespaces/a/pods/p", Value::Null);
    pass(&mut served, Span::from_secs(1));
    assert!(reasons(&told(&served, "p")).contains(&"Killing".to_owned()));
}

#[test]
fn a_pod_that_a_quota_refuses_is_told_of_its_owner() {
    let mut served = served();
    send(&mut served, Method::Post, "/api/v1/namespaces", json!({"metadata": {"name": "a"}}));
    let quota = json!({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}});
    send(&mut served, Method::Post, "/api/v1/namespaces/a/resourcequotas", quota);
    pass(&mut served, Span::from_secs(1));
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": template});
    let set = json!({"metadata": {"name": "web"}, "spec": spec});
    send(&mut served, Method::Post, "/apis/apps/v1/namespaces/a/replicasets", set);
    pass(&mut served, Span::from_secs(1));
    let known = told(&served, "web");
    let (who, reason, _, message) = known.first().expect("something was told");
    assert_eq!((&**who, &**reason), ("replicaset-controller", "FailedCreate"));
    assert!(message.starts_with("Error creating: pods \"web-"), "{message}");
    assert!(
        message
            .contains("is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0")
    );
}

#[test]
fn a_secret_of_an_account_is_filled_and_goes_with_it() {
    let mut served = served();
    pass(&mut served, Span::from_millis(50));
    let secret = |account: &str| {
        json!({"metadata": {"name": account, "annotations":
        {"kubernetes.io/service-account.name": account}}, "type": "kubernetes.io/service-account-token"})
    };
    let path = "/api/v1/namespaces/default/secrets";
    send(&mut served, Method::Post, path, secret("default"));
    send(&mut served, Method::Post, path, secret("nobody"));
    pass(&mut served, Span::from_millis(50));
    let filled = other(&served, "Secret", "default", "default").expect("it is there");
    assert_eq!(filled["data"]["namespace"], "ZGVmYXVsdA==");
    assert!(filled["data"]["token"].as_str().is_some_and(|token| token.len() > 100));
    assert!(other(&served, "Secret", "default", "nobody").is_none());
    send(&mut served, Method::Delete, "/api/v1/namespaces/default/serviceaccounts/default", Value::Null);
    pass(&mut served, Span::from_millis(50));
    assert!(other(&served, "Secret", "default", "default").is_none());
}

#[test]
fn the_service_of_the_api_server_leads_to_it() {
    let served = served();
    let endpoints = other(&served, "Endpoints", "default", "kubernetes").expect("it is there");
    assert_eq!(endpoints["subsets"][0]["addresses"], json!([{"ip": "127.0.0.1"}]));
    assert_eq!(endpoints["subsets"][0]["ports"], json!([{"name": "https", "port": 6443, "protocol": "TCP"}]));
    let slices = served.world.view().endpoint_slices.sorted();
    let names: Vec<&str> = slices.iter().map(|(_, slice)| slice.meta.name.as_str()).collect();
    assert_eq!(names, ["kubernetes"], "no other is made of the Endpoints");
}

#[test]
fn a_kubelet_reports_as_one_does() {
    let mut served = served();
    pass(&mut served, Span::from_millis(50));
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "node-1",
        "initContainers": [{"name": "first", "image": "busybox"}],
        "containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "1"}}}]}});
    assert_eq!(send(&mut served, Method::Post, "/api/v1/namespaces/default/pods", pod).code, 201);
    let status = |served: &Served| {
        let pod = served.world.view().pods.by_key(&Key::new("default", "p")).expect("it is there");
        replank_model::object::render(&Object::Pod(pod.clone()))["status"].clone()
    };
    pass(&mut served, Span::from_millis(20));
    let waits = status(&served);
    assert_eq!(
        waits["containerStatuses"][0]["state"],
        json!({"waiting": {"reason": "PodInitializing"}}),
        "{waits}"
    );
    pass(&mut served, Span::from_secs(30));
    let runs = status(&served);
    assert_eq!(runs["hostIP"], "10.0.0.4", "{runs}");
    assert_eq!(runs["podIPs"], json!([{"ip": runs["podIP"]}]));
    assert_eq!(runs["initContainerStatuses"][0]["state"]["terminated"]["reason"], "Completed");
    let container = &runs["containerStatuses"][0];
    assert_eq!(
        (&container["image"], &container["started"]),
        (&json!("docker.io/library/nginx:latest"), &json!(true))
    );
    assert_eq!(container["allocatedResources"], json!({"cpu": "1"}));
    let kinds: Vec<_> = runs["conditions"]
        .as_array()
        .expect("they are there")
        .iter()
        .map(|one| (one["type"].as_str().expect("text"), one["status"].as_str().expect("text")))
        .collect();
    let all = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    assert_eq!(kinds, all.map(|kind| (kind, "True")), "{runs}");
    // What changes is taken up: a resize in place, a container for debugging.
    let pods = "/api/v1/namespaces/default/pods/p";
    let larger = json!({"spec": {"containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "2"}}}]}});
    assert_eq!(send(&mut served, Method::Patch, &format!("{pods}/resize"), larger).code, 200);
    let debug = json!({"spec": {"ephemeralContainers": [{"name": "d", "image": "busybox"}]}});
    assert_eq!(send(&mut served, Method::Patch, &format!("{pods}/ephemeralcontainers"), debug).code, 200);
    pass(&mut served, Span::from_secs(30));
    let changed = status(&served);
    assert_eq!(changed["containerStatuses"][0]["resources"], json!({"requests": {"cpu": "2"}}), "{changed}");
    assert!(changed["ephemeralContainerStatuses"][0]["state"]["running"].is_object(), "{changed}");
    assert_eq!(changed["observedGeneration"], 3);
    let soon = json!({"spec": {"activeDeadlineSeconds": 70}});
    assert_eq!(send(&mut served, Method::Patch, pods, soon).code, 200);
    pass(&mut served, Span::from_secs(5));
    assert_eq!(status(&served)["phase"], "Running");
    pass(&mut served, Span::from_secs(10));
    assert_eq!(
        (&status(&served)["phase"], &status(&served)["reason"]),
        (&json!("Failed"), &json!("DeadlineExceeded"))
    );
}

#[test]
fn leases_are_renewed_when_somebody_looks() {
    let mut served = served();
    let renewed = |served: &Served, namespace: &str, name: &str| {
        let lease = served.world.view().other("coordination.k8s.io", "Lease", &Key::new(namespace, name))?;
        let lease = replank_model::object::render(&Object::Other(lease.clone()));
        Some(lease["spec"]["renewTime"].as_str().expect("it is renewed").to_owned())
    };
    pass(&mut served, Span::from_secs(60));
    assert_eq!(renewed(&served, "kube-node-lease", "node-1"), None);
    served.look();
    let first = renewed(&served, "kube-node-lease", "node-1").expect("it is there");
    let version = served.version();
    served.look();
    assert_eq!(served.version(), version, "nothing is due");
    pass(&mut served, Span::from_secs(5));
    served.look();
    assert_eq!(renewed(&served, "kube-node-lease", "node-1").as_ref(), Some(&first));
    assert!(renewed(&served, "kube-system", "kube-scheduler") > Some(first.clone()));
    pass(&mut served, Span::from_secs(5));
    served.look();
    assert!(renewed(&served, "kube-node-lease", "node-1") > Some(first));
    // A node without a kubelet here has no lease that is renewed here; the lease of one that is gone goes with it.
    send(&mut served, Method::Post, "/api/v1/nodes", json!({"metadata": {"name": "client"}}));
    send(&mut served, Method::Delete, "/api/v1/nodes/node-1", Value::Null);
    pass(&mut served, Span::from_secs(60));
    served.look();
    assert_eq!(renewed(&served, "kube-node-lease", "client"), None);
    assert_eq!(renewed(&served, "kube-node-lease", "node-1"), None);
}

#[test]
fn a_kubelet_outside_that_registers_its_node_again_keeps_its_pods() {
    let mut served = served();
    let node = json!({"metadata": {"name": "client"}});
    send(&mut served, Method::Post, "/api/v1/nodes", node.clone());
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "client", "containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(send(&mut served, Method::Post, "/api/v1/namespaces/default/pods", pod).code, 201);
    pass(&mut served, Span::from_millis(50));
    send(&mut served, Method::Delete, "/api/v1/nodes/client", Value::Null);
    assert_eq!(send(&mut served, Method::Post, "/api/v1/nodes", node).code, 201);
    pass(&mut served, Span::from_secs(5));
    let pod = served.world.view().pods.by_key(&Key::new("default", "p")).expect("it is there");
    assert_eq!(pod.status.start_time, None, "nobody here takes it in");
    assert!(!served.world.has_kubelet(&"client".into()));
}

#[test]
fn roles_are_added_up() {
    let mut served = served();
    pass(&mut served, Span::from_millis(50));
    let before = other(&served, "ClusterRole", "", "view").expect("it is built in");
    let rule = json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]});
    let role = json!({"metadata": {"name": "widgets",
        "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}, "rules": [rule]});
    send(&mut served, Method::Post, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role);
    pass(&mut served, Span::from_millis(100));
    let has = |role: &str, served: &Served| {
        let role = other(served, "ClusterRole", "", role).expect("it is built in");
        role["rules"].as_array().is_some_and(|rules| rules.contains(&rule))
    };
    assert!(has("view", &served) && has("admin", &served));
    send(&mut served, Method::Delete, "/apis/rbac.authorization.k8s.io/v1/clusterroles/widgets", Value::Null);
    pass(&mut served, Span::from_millis(100));
    assert!(!has("view", &served));
    let after = other(&served, "ClusterRole", "", "view").expect("it is built in");
    assert_eq!(after["rules"], before["rules"]);
}

#[test]
fn endpoints_follow_pods_and_slices_follow_endpoints_kept_by_hand() {
    let mut served = served();
    pass(&mut served, Span::from_millis(50));
    let services = "/api/v1/namespaces/default/services";
    let web = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "x"},
        "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}});
    send(&mut served, Method::Post, services, web);
    let pod = json!({"metadata": {"name": "p", "labels": {"app": "x"}},
        "spec": {"schedulerName": "manual", "containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(send(&mut served, Method::Post, "/api/v1/namespaces/default/pods", pod).code, 201);
    // The test plays the kubelet.
    let running = json!({"status": {"phase": "Running", "podIP": "10.7.0.1", "podIPs": [{"ip": "10.7.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}]}});
    send(&mut served, Method::Patch, "/api/v1/namespaces/default/pods/p/status", running);
    pass(&mut served, Span::from_secs(60));
    let endpoints = other(&served, "Endpoints", "default", "web").expect("it is there");
    let subset = &endpoints["subsets"][0];
    assert_eq!(subset["addresses"][0]["targetRef"]["name"], "p", "{endpoints}");
    assert_eq!(subset["ports"], json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    send(&mut served, Method::Delete, &format!("{services}/web"), Value::Null);
    pass(&mut served, Span::from_secs(1));
    assert!(other(&served, "Endpoints", "default", "web").is_none());

    send(
        &mut served,
        Method::Post,
        services,
        json!({"metadata": {"name": "hand"}, "spec": {"ports": [{"port": 80}]}}),
    );
    let by_hand = json!({"metadata": {"name": "hand"},
        "subsets": [{"addresses": [{"ip": "10.9.9.9"}], "ports": [{"port": 8080}]}]});
    send(&mut served, Method::Post, "/api/v1/namespaces/default/endpoints", by_hand);
    pass(&mut served, Span::from_millis(50));
    let slices = served.world.view().endpoint_slices.sorted();
    let addresses: Vec<&str> =
        slices.iter().flat_map(|(_, slice)| &slice.endpoints).map(|one| &*one.addresses[0]).collect();
    assert_eq!(addresses, ["10.9.9.9", "127.0.0.1"], "by hand, and that of the API server");
}
