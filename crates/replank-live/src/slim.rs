//! What of an object no decision reads, and so is not kept.
//!
//! What may be copied or written back whole (workloads, autoscalers, services, objects without a type of ours) loses only what says who wrote it. What there is most of, pods and what is
//! made from templates, loses more: of these an engine writes nothing but deletions.

use replank_model::object::Kind;
use serde_json::{Map, Value};

use crate::capture::reduce;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotations of pods that decisions read: of these groups, and the two below.
const READ_GROUPS: [&str; 7] = [
    "batch.kubernetes.io",
    "cluster-autoscaler.kubernetes.io",
    "controller.kubernetes.io",
    "karpenter.sh",
    "proxy.istio.io",
    "replank.dev",
    "workflows.argoproj.io",
];
const READ_ANNOTATIONS: [&str; 2] = ["kubernetes.io/config.mirror", "kubectl.kubernetes.io/restartedAt"];

/// What is kept of a pod's status, and of each container's.
const POD_STATUS: [&str; 12] = [
    "phase",
    "reason",
    "message",
    "conditions",
    "startTime",
    "nominatedNodeName",
    "podIP",
    "containerStatuses",
    "initContainerStatuses",
    "observedGeneration",
    "resources",
    "allocatedResources",
];
const CONTAINER_STATUS: [&str; 7] =
    ["name", "ready", "restartCount", "state", "lastState", "resources", "allocatedResources"];

/// Leaves out what no decision reads.
pub(crate) fn slim(kind: Kind, object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
        meta.remove("selfLink");
        annotations(kind, meta);
    }
    match kind {
        Kind::Pod => {
            reduce::variables(&mut object["spec"]);
            pod_status(&mut object["status"]);
        }
        Kind::Node => node_status(&mut object["status"]),
        Kind::ReplicaSet | Kind::ReplicationController | Kind::Job | Kind::ControllerRevision => {
            reduce::variables(object);
        }
        Kind::CustomResourceDefinition => reduce::schemas(object),
        Kind::Namespace
        | Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::PersistentVolume
        | Kind::NodeClaim
        | Kind::PersistentVolumeClaim
        | Kind::ResourceQuota
        | Kind::Deployment
        | Kind::StatefulSet
        | Kind::DaemonSet
        | Kind::CronJob
        | Kind::HorizontalPodAutoscaler
        | Kind::PodDisruptionBudget
        | Kind::Service
        | Kind::EndpointSlice
        | Kind::Other => {}
    }
}

/// Annotations that are written to keep the map in which they stand: a patch adds to a map only where there is one.
fn annotations(kind: Kind, meta: &mut Map<String, Value>) {
    let Some(all) = meta.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    if kind == Kind::Pod {
        all.retain(|key, _| is_read(key));
        return;
    }
    if all.len() > 1 {
        all.remove(LAST_APPLIED);
    } else if let Some(applied) = all.get_mut(LAST_APPLIED) {
        *applied = "".into();
    }
}

fn is_read(key: &str) -> bool {
    let group = key.split_once('/').map_or("", |(group, _)| group);
    READ_GROUPS.contains(&group) || READ_ANNOTATIONS.contains(&key)
}

fn pod_status(status: &mut Value) {
    let Some(status) = status.as_object_mut() else { return };
    status.retain(|name, _| POD_STATUS.contains(&name.as_str()));
    for list in ["containerStatuses", "initContainerStatuses"] {
        for one in status.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(members) = one.as_object_mut() else { continue };
            members.retain(|name, _| CONTAINER_STATUS.contains(&name.as_str()));
            for state in ["state", "lastState"] {
                if let Some(ended) = members.get_mut(state).and_then(|state| state.get_mut("terminated")) {
                    drop(ended.as_object_mut().map(|ended| ended.remove("containerID")));
                }
            }
        }
    }
    conditions(status);
}

/// A node's images, volumes in use and addresses of its agents are not read; what is full or runs out is.
fn node_status(status: &mut Value) {
    let Some(status) = status.as_object_mut() else { return };
    for name in
        ["images", "volumesInUse", "volumesAttached", "daemonEndpoints", "runtimeHandlers", "features"]
    {
        status.remove(name);
    }
    conditions(status);
}

/// What is as it should be says so in one word.
fn conditions(status: &mut Map<String, Value>) {
    for one in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_well = one["status"] == "True" && one["type"] != "DisruptionTarget";
        let Some(members) = one.as_object_mut() else { continue };
        members.remove("lastProbeTime");
        members.remove("lastHeartbeatTime");
        if is_well {
            members.remove("message");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_to_keeps_its_map_of_annotations() {
        let mut node =
            json!({"kind": "Node", "metadata": {"name": "n", "annotations": {LAST_APPLIED: "{}"}}});
        slim(Kind::Node, &mut node);
        assert_eq!(node["metadata"]["annotations"], json!({LAST_APPLIED: ""}));
        let mut node = json!({"kind": "Node", "metadata": {"name": "n",
            "annotations": {LAST_APPLIED: "{}", "node.alpha.kubernetes.io/ttl": "0"}}});
        slim(Kind::Node, &mut node);
        assert_eq!(node["metadata"]["annotations"], json!({"node.alpha.kubernetes.io/ttl": "0"}));
    }

    #[test]
    fn a_pod_keeps_what_is_read_and_no_value_of_a_variable() {
        let mut pod = json!({"kind": "Pod", "metadata": {"name": "p", "managedFields": [{"manager": "m"}],
                "annotations": {"cni.projectcalico.org/podIP": "10.0.0.1/32", "replank.dev/batch-wait": "6h",
                    "kubernetes.io/config.mirror": "x"}},
            "spec": {"containers": [{"name": "c", "env": [{"name": "TOKEN", "value": "hunter2"}]}]},
            "status": {"phase": "Running", "hostIP": "10.1.1.1", "podIPs": [{"ip": "10.0.0.1"}],
                "conditions": [{"type": "Ready", "status": "True", "message": "m", "lastProbeTime": null},
                    {"type": "PodScheduled", "status": "False", "message": "no room"}],
                "containerStatuses": [{"name": "c", "ready": true, "imageID": "sha256:0", "containerID": "x",
                    "state": {"terminated": {"exitCode": 1, "containerID": "x"}}}]}});
        slim(Kind::Pod, &mut pod);
        assert_eq!(
            pod,
            json!({"kind": "Pod", "metadata": {"name": "p",
                    "annotations": {"replank.dev/batch-wait": "6h", "kubernetes.io/config.mirror": "x"}},
                "spec": {"containers": [{"name": "c", "env": [{"name": "TOKEN"}]}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"},
                        {"type": "PodScheduled", "status": "False", "message": "no room"}],
                    "containerStatuses": [{"name": "c", "ready": true, "state": {"terminated": {"exitCode": 1}}}]}})
        );
    }

    #[test]
    fn a_workload_that_may_be_copied_stays_whole() {
        let whole = json!({"kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "b"}]}]}}}});
        let mut slimmed = whole.clone();
        slim(Kind::Deployment, &mut slimmed);
        assert_eq!(slimmed, whole);
    }
}
