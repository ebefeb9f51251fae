//! Objects survive the way into their typed form and back: nothing that was in the JSON is lost.

use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use replank_model::object::{Object, Projector, render};
use serde_json::{Value, json};

/// Every object of every recorded scheduler case.
fn recorded_objects() -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors/scheduler");
    let mut objects = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the recorded cases are in the repository") {
        let path = entry.expect("a folder can be walked").path();
        if path.extension().is_none_or(|extension| extension != "gz") {
            continue;
        }
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(&path).expect("readable"))
            .read_to_string(&mut text)
            .expect("gzip");
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).expect("one JSON object per line");
            let lists = case["cluster"].as_object().expect("a cluster").iter();
            for (list, items) in lists {
                for item in items.as_array().expect("lists of objects") {
                    objects.push(with_kind(list, item.clone()));
                }
            }
            objects.push(with_kind("pods", case["pod"].clone()));
        }
    }
    objects
}

fn with_kind(list: &str, mut object: Value) -> Value {
    let (api_version, kind) = match list {
        "nodes" => ("v1", "Node"),
        "namespaces" => ("v1", "Namespace"),
        "pods" => ("v1", "Pod"),
        "services" => ("v1", "Service"),
        "replicaSets" => ("apps/v1", "ReplicaSet"),
        "statefulSets" => ("apps/v1", "StatefulSet"),
        "persistentVolumes" => ("v1", "PersistentVolume"),
        "persistentVolumeClaims" => ("v1", "PersistentVolumeClaim"),
        "storageClasses" => ("storage.k8s.io/v1", "StorageClass"),
        "csiNodes" => ("storage.k8s.io/v1", "CSINode"),
        "csiDrivers" => ("storage.k8s.io/v1", "CSIDriver"),
        "csiStorageCapacities" => ("storage.k8s.io/v1", "CSIStorageCapacity"),
        "podDisruptionBudgets" => ("policy/v1", "PodDisruptionBudget"),
        "replicationControllers" => ("v1", "ReplicationController"),
        "volumeAttachments" => ("storage.k8s.io/v1", "VolumeAttachment"),
        other => panic!("a list of an unknown kind in the recorded cases: {other}"),
    };
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object
}

/// Quantities may come back in another spelling; everything else must be the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::String(a), Value::String(b)) if a != b => {
            let quantity = |text: &str| text.parse::<replank_model::quantity::Quantity>().ok();
            quantity(a).is_some() && quantity(a) == quantity(b)
        }
        (a, b) => a == b,
    }
}

#[test]
fn rendering_loses_nothing() {
    let objects = recorded_objects();
    assert!(objects.len() > 5_000, "only {} objects were recorded", objects.len());
    let mut projector = Projector::default();
    for value in objects {
        let object = projector.object(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
        let rendered = render(&object);
        assert!(same(&value, &rendered), "was\n{value:#}\nis\n{rendered:#}");
        let again = projector.object(rendered).expect("what was rendered can be read");
        assert_eq!(object, again);
    }
}

#[test]
fn siblings_share_their_spec() {
    let pod = |node: &str, token: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": node, "namespace": "a"}, "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "image": "i",
                "volumeMounts": [{"name": format!("kube-api-access-{token}"), "mountPath": "/t"}]}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}}},
            "volumes": [{"name": format!("kube-api-access-{token}"), "projected": {"sources": []}}]}})
    };
    let mut projector = Projector::default();
    let (a, b) = (pod("node-a", "abcde"), pod("node-b", "fghij"));
    let objects = [&a, &b].map(|value| projector.object(value.clone()).expect("valid"));
    let [Object::Pod(first), Object::Pod(second)] = &objects else { panic!("pods") };
    assert!(std::sync::Arc::ptr_eq(&first.spec, &second.spec));
    assert_eq!(first.pin.as_ref().map(replank_model::text::NodeName::as_str), Some("node-a"));
    assert_eq!(
        [render(&objects[0]), render(&objects[1])].map(|v| v["spec"].clone()),
        [a, b].map(|v| v["spec"].clone())
    );
}

#[test]
fn a_wrong_type_is_named_with_its_path() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": "three"}});
    let error = Object::from_json(object).expect_err("replicas is a number");
    assert_eq!(
        error.to_string(),
        "Deployment shop/web: spec.replicas: invalid type: string \"three\", expected i32"
    );
}

/// Pods are read from their text as from their tree.
#[test]
fn pods_are_read_from_their_text_alike() {
    let (mut learnt, mut plain) = (Projector::default(), Projector::default());
    let (mut pods, mut read) = (0, 0);
    for value in recorded_objects().into_iter().filter(|value| value["kind"] == "Pod") {
        let (compact, pretty) = (value.to_string(), serde_json::to_string_pretty(&value).expect("JSON"));
        let object = plain.object(value).expect("it was recorded");
        pods += 1;
        for text in [compact, pretty] {
            let Some(again) = learnt.pod_of_text(&text, &mut |_| true) else { continue };
            assert_eq!(object, again, "{text}");
            read += 1;
        }
    }
    assert!(pods > 1_000 && read > pods, "{read} of {pods} pods in two forms");
}
