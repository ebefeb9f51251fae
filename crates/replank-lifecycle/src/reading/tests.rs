use serde_json::json;

use super::*;

fn read(mut object: Value) -> (Converted, Value) {
    let came = Reader::default().convert(&mut object);
    (came, object)
}

/// What it was converted to.
fn to(api_version: &str, kind: &str) -> Option<String> {
    let labels = json!({"app": "web"});
    let (came, object) = read(json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": {"metadata": {"labels": labels}}},
    }));
    match came {
        Converted::AsWritten => None,
        Converted::To(Conversion::Version { kind: of, from, to }) => {
            assert_eq!((&*of, &*from, &object["apiVersion"]), (kind, api_version, &json!(to)));
            Some(to)
        }
        Converted::To(labels @ Conversion::Labels { .. }) => panic!("{api_version} {kind}: {labels}"),
        Converted::Not { why, .. } => panic!("{api_version} {kind}: {why}"),
    }
}

#[test]
fn objects_come_to_the_version_in_which_their_kind_is_read() {
    for (from, kind, expected) in [
        ("extensions/v1beta1", "Deployment", "apps/v1"),
        ("apps/v1beta1", "Deployment", "apps/v1"),
        ("apps/v1beta2", "StatefulSet", "apps/v1"),
        ("extensions/v1beta1", "DaemonSet", "apps/v1"),
        ("extensions/v1beta1", "ReplicaSet", "apps/v1"),
        ("apps/v1beta1", "ControllerRevision", "apps/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "policy/v1"),
        ("batch/v1beta1", "CronJob", "batch/v1"),
        ("batch/v2alpha1", "CronJob", "batch/v1"),
        // Served to this day, and said with one field where the model has a list.
        ("autoscaling/v1", "HorizontalPodAutoscaler", "autoscaling/v2"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "autoscaling/v2"),
        ("discovery.k8s.io/v1beta1", "EndpointSlice", "discovery.k8s.io/v1"),
        ("storage.k8s.io/v1beta1", "CSINode", "storage.k8s.io/v1"),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", "scheduling.k8s.io/v1"),
        // Kinds that are not typed, and are read in their newest form.
        ("extensions/v1beta1", "Ingress", "networking.k8s.io/v1"),
        ("networking.k8s.io/v1beta1", "Ingress", "networking.k8s.io/v1"),
        ("extensions/v1beta1", "NetworkPolicy", "networking.k8s.io/v1"),
        ("rbac.authorization.k8s.io/v1beta1", "ClusterRole", "rbac.authorization.k8s.io/v1"),
    ] {
        assert_eq!(to(from, kind).as_deref(), Some(expected), "{from} {kind}");
    }
}

#[test]
fn what_needs_nothing_is_left_as_it_was_written() {
    for (api_version, kind) in [
        ("apps/v1", "Deployment"),
        ("v1", "Pod"),
        ("networking.k8s.io/v1", "Ingress"),
        // Served, warned of, and read by nobody.
        ("v1", "Endpoints"),
        // Nothing takes its place.
        ("policy/v1beta1", "PodSecurityPolicy"),
        // Products: only their makers know their fields.
        ("karpenter.sh/v1beta1", "NodePool"),
        ("argoproj.io/v1alpha1", "Workflow"),
        ("example.com/v1", "Deployment"),
    ] {
        assert_eq!(to(api_version, kind), None, "{api_version} {kind}");
    }
}

#[test]
fn what_was_taken_for_granted_is_written_out() {
    let (_, read_as) = read(json!({
        "apiVersion": "extensions/v1beta1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}}},
    }));
    let spec = &read_as["spec"];
    assert_eq!(spec["selector"], json!({"matchLabels": {"app": "web"}}));
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxSurge": 1, "maxUnavailable": 1}));
    let (_, budget) = read(json!({
        "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "none"},
        "spec": {"selector": {}, "minAvailable": 1},
    }));
    assert_eq!(budget["spec"]["selector"]["matchExpressions"][0]["operator"], "Exists", "it matched no pod");
}

/// As `kubectl get hpa -o json` prints it on servers before 1.23.
#[test]
fn an_autoscaler_of_v1_has_all_its_metrics() {
    let metrics = json!([
        {"type": "Pods", "pods": {"metricName": "queue", "targetAverageValue": "30"}},
        {"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 70}},
    ]);
    let conditions = json!([{"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}]);
    let current = json!([{"type": "Resource", "resource": {"name": "memory", "currentAverageUtilization": 40, "currentAverageValue": "4Mi"}}]);
    let behavior = json!({"ScaleDown": {"StabilizationWindowSeconds": 600}});
    let scaler = |spec: Value, with_metrics: bool| {
        let mut annotations = json!({
            "autoscaling.alpha.kubernetes.io/conditions": conditions.to_string(),
            "autoscaling.alpha.kubernetes.io/current-metrics": current.to_string(),
            "autoscaling.alpha.kubernetes.io/behavior": behavior.to_string(),
            "team": "shop",
        });
        if with_metrics {
            annotations["autoscaling.alpha.kubernetes.io/metrics"] = metrics.to_string().into();
        }
        read(json!({
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "annotations": annotations}, "spec": spec,
            "status": {"currentReplicas": 2, "currentCPUUtilizationPercentage": 12},
        }))
    };
    let names = |read_as: &Value| -> Vec<String> {
        let metrics = read_as["spec"]["metrics"].as_array().expect("a list");
        let source = |metric: &Value| {
            if let Value::String(name) = &metric["pods"]["metric"]["name"] {
                return format!("{name} {}", metric["pods"]["target"]["averageValue"].as_str().unwrap());
            }
            let resource = &metric["resource"];
            format!("{} {}", resource["name"].as_str().unwrap(), resource["target"]["averageUtilization"])
        };
        metrics.iter().map(source).collect()
    };
    let (came, both) = scaler(json!({"maxReplicas": 9, "targetCPUUtilizationPercentage": 60}), true);
    assert!(matches!(came, Converted::To(_)), "{came:?}");
    assert_eq!(names(&both), ["queue 30", "memory 70", "cpu 60"]);
    assert_eq!(both["metadata"]["annotations"], json!({"team": "shop"}));
    assert_eq!(both["spec"]["behavior"], json!({"scaleDown": {"stabilizationWindowSeconds": 600}}));
    assert_eq!(both["status"]["conditions"], conditions);
    assert_eq!(both["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"], 40);
    assert_eq!(names(&scaler(json!({"maxReplicas": 9}), true).1), ["queue 30", "memory 70"]);
    assert_eq!(names(&scaler(json!({"maxReplicas": 9}), false).1), ["cpu 80"], "nothing else is measured");
}

/// A snapshot's objects are in a cluster already: what a newer server would demand of them is not missed.
#[test]
fn what_only_a_newer_server_demands_holds_nothing_up() {
    let (came, guard) = read(json!({
        "apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "guard"}, "webhooks": [{"name": "guard.example.com", "sideEffects": "Unknown"}],
    }));
    assert!(matches!(came, Converted::To(_)), "{came:?}");
    // Read as `v1` without a word it would stop every pod while it is down.
    assert_eq!(guard["webhooks"][0]["failurePolicy"], "Ignore");
    let (came, definition) = read(json!({
        "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.k8s.io"},
        "spec": {
            "group": "k8s.io", "version": "v1", "names": {"plural": "backups", "kind": "Backup"},
            "validation": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"at": {}}}}}},
            "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        },
    }));
    assert!(matches!(came, Converted::To(_)), "{came:?}");
    let version = &definition["spec"]["versions"][0];
    assert_eq!(version["subresources"]["scale"]["specReplicasPath"], ".spec.replicas");
}

#[test]
fn what_cannot_be_converted_is_as_it_was_and_says_why() {
    let bare = json!({
        "apiVersion": "extensions/v1beta1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"metadata": {}}},
    });
    let (came, after) = read(bare.clone());
    let Converted::Not { why, stands: Stands::Unknown } = came else { panic!("{came:?}") };
    assert!(why.starts_with("spec.selector is missing"), "{why}");
    assert_eq!(after, bare);
    let (came, _) = read(json!({
        "apiVersion": "autoscaling/v2beta1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"metrics": [{"type": "Moon"}]},
    }));
    assert!(matches!(came, Converted::Not { stands: Stands::Read, .. }), "its group is read: {came:?}");
}

#[test]
fn references_go_along() {
    let owned = |api_version: &str, kind: &str| {
        let (_, pod) = read(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": "o", "uid": "u"}]},
        }));
        pod["metadata"]["ownerReferences"][0]["apiVersion"].as_str().unwrap().to_owned()
    };
    assert_eq!(owned("extensions/v1beta1", "DaemonSet"), "apps/v1");
    assert_eq!(owned("apps/v1beta2", "StatefulSet"), "apps/v1");
    assert_eq!(owned("example.com/v1beta1", "DaemonSet"), "example.com/v1beta1");
}

/// What an autoscaler scales, in a cluster whose newest kubelet is of such a version.
fn scaled(target: &str, kubelet: &str) -> String {
    let mut reader = Reader::default();
    let scaler = json!({
        "apiVersion": "autoscaling/v2beta2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": target, "kind": "Deployment", "name": "web"}},
    });
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"nodeInfo": {"kubeletVersion": kubelet}},
    });
    let mut objects = [node, scaler].map(|mut object| {
        reader.convert(&mut object);
        Object::from_json(object).expect("a valid object")
    });
    reader.settle(&mut objects);
    let [_, Object::HorizontalPodAutoscaler(scaler)] = objects else { panic!("{objects:?}") };
    scaler.spec.scale_target_ref.api_version.to_string()
}

#[test]
fn an_autoscaler_scales_what_its_cluster_finds() {
    assert_eq!(scaled("apps/v1beta1", "v1.15.12-eks-1"), "apps/v1");
    assert_eq!(scaled("apps/v1beta1", "v1.36.2"), "apps/v1", "by group and kind, whatever the version");
    assert_eq!(scaled("extensions/v1beta1", "v1.15.12-eks-1"), "apps/v1");
    assert_eq!(scaled("extensions/v1beta1", "v1.16.0"), "extensions/v1beta1", "it finds nothing there");
}

/// The cloud's node controller of 1.17 puts them on every node.
#[test]
fn a_node_of_before_1_17_gets_the_labels_of_today() {
    let node = |labels: Value| {
        read(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}))
    };
    let old = json!({"failure-domain.beta.kubernetes.io/zone": "eu-west-1a", "beta.kubernetes.io/instance-type": "m5.large"});
    let (came, read_as) = node(old.clone());
    assert!(matches!(came, Converted::To(Conversion::Labels { kind: "Node", .. })), "{came:?}");
    let labels = &read_as["metadata"]["labels"];
    assert_eq!(labels["topology.kubernetes.io/zone"], "eu-west-1a");
    assert_eq!(labels["node.kubernetes.io/instance-type"], "m5.large");
    assert_eq!(
        labels["failure-domain.beta.kubernetes.io/zone"], "eu-west-1a",
        "whatever selects the old one"
    );
    let both = labels.clone();
    assert_eq!(
        node(both.clone()),
        (
            Converted::AsWritten,
            read(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": both}})).1
        )
    );
}
