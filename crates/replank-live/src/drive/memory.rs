//! What a pod takes in memory: read as from a list, and held by the driver's view and an engine's.

use replank_model::object::Kind;
use replank_model::view::View;
use serde_json::{Value, json};

use super::read::Reader;
use super::seen::Cluster;
use super::source::Source;
use super::told::Seen;
use crate::resource::Resource;

/// Pods of one template.
const SIBLINGS: usize = 150;
/// Pods on one node.
const ON_A_NODE: usize = 30;
/// What is to be held in 300 MB.
const WANTED: (usize, usize) = (150_000, 300 << 20);
/// Pods that are read, unless `REPLANK_PODS` says otherwise.
const PODS: usize = 12_000;
/// Objects in a page of a list.
const PAGE: usize = 500;

/// A pod as an API server lists it: everything that kubelets, controllers and plugins write, and who wrote it.
fn pod(number: usize) -> Value {
    let (template, node) = (number / SIBLINGS, number * 7_919 % 5_000);
    let time = format!("2026-01-01T{:02}:{:02}:{:02}Z", number % 24, number / 24 % 60, number % 60);
    let name = format!("service-{template:04}-5d8f7c9b6d-{number:06}");
    let condition = |kind: &str| json!({"lastProbeTime": null, "lastTransitionTime": time, "observedGeneration": 1, "status": "True", "type": kind});
    let conditions: Vec<Value> =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
            .map(condition)
            .into();
    let status = |name: &str| {
        json!({"allocatedResources": {"cpu": "250m", "memory": "512Mi"}, "name": name, "ready": true, "restartCount": 0, "started": true,
        "containerID": format!("containerd://{number:064x}"), "image": format!("registry.example.com/{name}-{template}:1.2.3"),
        "imageID": format!("registry.example.com/{name}@sha256:{template:064x}"), "lastState": {},
        "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "250m", "memory": "512Mi"}},
        "state": {"running": {"startedAt": time}},
        "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token(number), "readOnly": true, "recursiveReadOnly": "Disabled"}]})
    };
    let container = |name: &str| {
        json!({"name": name, "image": format!("registry.example.com/{name}-{template}:1.2.3"), "imagePullPolicy": "IfNotPresent",
        "env": (0..12).map(|at| json!({"name": format!("SETTING_{at}"), "value": format!("value {at} of service {template}")})).collect::<Vec<_>>(),
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "readinessProbe": {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1},
        "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "250m", "memory": "512Mi"}},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token(number), "readOnly": true}]})
    };
    json!({
        "metadata": {
            "name": name, "generateName": format!("service-{template:04}-5d8f7c9b6d-"), "namespace": format!("team-{:02}", template % 40),
            "uid": format!("{number:08x}-aaaa-4bbb-8ccc-{template:012x}"), "resourceVersion": (1_000_000 + number).to_string(), "generation": 1,
            "creationTimestamp": time, "labels": {"app": format!("service-{template:04}"), "app.kubernetes.io/part-of": "shop", "pod-template-hash": "5d8f7c9b6d"},
            "annotations": {"checksum/config": format!("{template:064x}"), "cni.projectcalico.org/podIP": format!("10.{}.{}.{}/32", number >> 16, number >> 8 & 255, number & 255)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("service-{template:04}-5d8f7c9b6d"),
                "uid": format!("{template:08x}-dddd-4eee-8fff-{template:012x}"), "controller": true, "blockOwnerDeletion": true}],
            "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {".": {}, "f:image": {}}}}}}]
        },
        "spec": {
            "nodeName": format!("ip-10-0-{node:04}.eu-west-1.compute.internal"), "containers": [container("app"), container("proxy")],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {}, "serviceAccount": "default", "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
            "tolerations": [{"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": format!("service-{template:04}")}}}],
            "volumes": [{"name": token(number), "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}, {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}}]}}]
        },
        "status": {
            "conditions": conditions, "containerStatuses": [status("app"), status("proxy")], "hostIP": format!("10.0.{}.{}", node >> 8, node & 255),
            "hostIPs": [{"ip": format!("10.0.{}.{}", node >> 8, node & 255)}], "phase": "Running", "observedGeneration": 1, "qosClass": "Burstable", "startTime": time,
            "podIP": format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255),
            "podIPs": [{"ip": format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255)}]
        }
    })
}

/// The name of the volume with a pod's token: five letters and digits of its own.
fn token(number: usize) -> String {
    let letters: String =
        (0..5).map(|at| char::from(b'a' + (number / 26_usize.pow(at) % 26) as u8)).collect();
    format!("kube-api-access-{letters}")
}

fn source() -> Source {
    let resource = Resource {
        group: String::new(),
        version: "v1".to_owned(),
        plural: "pods".to_owned(),
        kind: "Pod".to_owned(),
        is_namespaced: true,
    };
    Source { resource, kind: Kind::Pod, label: None, namespace: None, is_optional: false }
}

/// A page of a list as it comes, bytes first, and what is seen of it.
fn page(reader: &mut Reader, pods: std::ops::Range<usize>, raw: &mut usize) -> Vec<Seen> {
    let items: Vec<Value> = pods.map(pod).collect();
    let bytes = Value::Array(items).to_string();
    *raw += bytes.len();
    let items: Vec<Value> = serde_json::from_str(&bytes).expect("it was written so");
    drop(bytes);
    items.into_iter().map(|item| reader.object(&source(), item)).collect()
}

/// Bytes of this process that are in memory. `VmRSS` of /proc/self/status is inaccurate (proc(5)), and this is not.
fn resident() -> usize {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux has it since 4.14");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:")).expect("it is there");
    line.split_whitespace().next().and_then(|text| text.parse::<usize>().ok()).expect("a number") << 10
}

/// Set in the process that measures.
const ALONE: &str = "REPLANK_MEASURES_ALONE";

/// What a process takes counts whatever else is tested in it, so a process of its own measures.
#[test]
#[cfg(target_os = "linux")]
fn a_pod_takes_what_it_may() {
    if std::env::var_os(ALONE).is_some() {
        return measure();
    }
    let own = std::env::current_exe().expect("a test knows where it is");
    let arguments = ["--exact", "drive::memory::a_pod_takes_what_it_may", "--nocapture"];
    let ran = std::process::Command::new(own).args(arguments).env(ALONE, "1").output().expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr);
    eprintln!("{told}");
    assert!(ran.status.success() && told.contains("bytes each in memory"), "{told}");
}

fn measure() {
    let pods = std::env::var("REPLANK_PODS").ok().and_then(|text| text.parse().ok()).unwrap_or(PODS);
    assert_eq!(WANTED.0 / ON_A_NODE, 5_000);
    let (mut reader, mut cluster, mut engine) =
        (Reader::default(), Cluster::new(vec![source()]), View::default());
    // What pages and their values take while they are read is set aside before anything is counted.
    let mut raw = 0;
    for seen in
        [page(&mut Reader::default(), 0..PAGE, &mut raw), page(&mut Reader::default(), 0..PAGE, &mut raw)]
    {
        drop(seen);
    }
    let before = resident();
    raw = 0;
    cluster.see(0, vec![Seen::ListBegins]);
    for from in (0..pods).step_by(PAGE) {
        let seen = page(&mut reader, from..pods.min(from + PAGE), &mut raw);
        for delta in cluster.see(0, seen).deltas {
            engine.apply(delta);
        }
    }
    cluster.see(0, vec![Seen::ListEnds]);
    let each = resident().saturating_sub(before) / pods;
    assert_eq!(engine.pods.sorted().len(), pods);
    eprintln!(
        "{pods} pods of {} templates: {} bytes each as listed, {each} bytes each in memory, {} MB for {} pods",
        pods.div_ceil(SIBLINGS),
        raw / pods,
        (each * WANTED.0) >> 20,
        WANTED.0
    );
    let most = WANTED.1 / WANTED.0;
    assert!(each <= most, "a pod takes {each} bytes, and {most} are allowed");
}
