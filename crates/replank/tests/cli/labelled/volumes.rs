//! Claims and volumes: `ebs`, bound to a zone; `efs`, everywhere; `local`, bound to a node.

use serde_json::{Value, json};

use super::cluster::{Cluster, uid};
use super::pods::Template;

/// The name of the volume in pods, and of the claim's template.
const DATA: &str = "data";

/// Has pods mount it. A StatefulSet's own controller names the claim of each.
pub(crate) fn mount(template: &mut Template, name: &str) {
    template.spec["volumes"] = json!([{"name": DATA, "persistentVolumeClaim": {"claimName": name}}]);
    template.spec["containers"][0]["volumeMounts"] = json!([{"name": DATA, "mountPath": "/data"}]);
}

/// The claim's template of a StatefulSet whose pods mount it.
pub(crate) fn template_of(spec: &Value) -> Option<Value> {
    spec["volumes"][0]["persistentVolumeClaim"].is_object().then(|| {
        json!({"metadata": {"name": DATA}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}})
    })
}

/// Gives the pod of a StatefulSet its own claim.
pub(crate) fn claim_of(pod: &mut Value, each: bool, name: &str, own: &str) {
    let Some(claim) = pod.pointer_mut("/spec/volumes/0/persistentVolumeClaim/claimName") else { return };
    if each && claim == &json!(name) {
        *claim = json!(format!("{DATA}-{own}"));
    }
}

/// Claims and volumes: one for each pod, or one for all.
pub(crate) fn make(cluster: &mut Cluster, storage: &str, each: bool, named: (&str, &str), nodes: &[String]) {
    let (namespace, name) = named;
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": storage, "uid": uid("storageclass", "", storage)},
        "provisioner": driver(storage), "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete"});
    if !cluster
        .objects
        .iter()
        .any(|object| object["kind"] == "StorageClass" && object["metadata"]["name"] == storage)
    {
        cluster.objects.push(class);
    }
    let number = if each { nodes.len() } else { nodes.len().min(1) };
    for (index, node) in nodes.iter().take(number).enumerate() {
        let claim = if each { format!("{DATA}-{name}-{index}") } else { name.to_owned() };
        let volume = format!("pv-{namespace}-{claim}");
        let modes = json!([if storage == "efs" { "ReadWriteMany" } else { "ReadWriteOnce" }]);
        cluster.objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": namespace, "uid": uid("claim", namespace, &claim),
                "annotations": {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}},
            "spec": {"accessModes": modes, "resources": {"requests": {"storage": "10Gi"}}, "storageClassName": storage, "volumeName": volume},
            "status": {"phase": "Bound", "accessModes": modes, "capacity": {"storage": "10Gi"}},
        }));
        let mut object = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume, "uid": uid("volume", namespace, &claim)},
            "spec": {"accessModes": modes, "capacity": {"storage": "10Gi"}, "storageClassName": storage, "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim, "uid": uid("claim", namespace, &claim)}},
            "status": {"phase": "Bound"},
        });
        let bound = |key: &str, value: &str| json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}});
        match storage {
            "ebs" => {
                object["spec"]["nodeAffinity"] = bound("topology.kubernetes.io/zone", &cluster.zone(node));
            }
            "local" => object["spec"]["nodeAffinity"] = bound("kubernetes.io/hostname", node),
            "efs" => {}
            other => panic!("volume: {other} is none of ebs, efs, local"),
        }
        if storage == "local" {
            object["spec"]["local"] = json!({"path": "/mnt/disk"});
        } else {
            object["spec"]["csi"] =
                json!({"driver": driver(storage), "volumeHandle": format!("vol-{claim}")});
        }
        cluster.objects.push(object);
    }
}

fn driver(storage: &str) -> &'static str {
    match storage {
        "ebs" => "ebs.csi.aws.com",
        "efs" => "efs.csi.aws.com",
        _ => "kubernetes.io/no-provisioner",
    }
}
