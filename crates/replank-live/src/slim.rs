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

/// Conditions of pods that say nothing where they are true: a pod that is Ready has been through them.
const WELL: [&str; 3] = ["PodReadyToStartContainers", "Initialized", "ContainersReady"];

/// Leaves out what no decision reads.
pub(crate) fn slim(kind: Kind, object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
        meta.remove("selfLink");
        annotations(kind, meta);
    }
    match kind {
        Kind::Pod => {
            if let Some(spec) = object.get_mut("spec") {
                reduce::variables(spec);
            }
            pod_status(object);
        }
        Kind::Node => node_status(object),
        Kind::ReplicationController | Kind::Job | Kind::ControllerRevision => {
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
        // Which one is a Deployment's present one follows from its template, to the last value.
        | Kind::ReplicaSet
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
        if all.is_empty() {
            meta.remove("annotations");
        }
        return;
    }
    // What is made anew by a migration keeps what kubectl compares with.
    if matches!(kind, Kind::Deployment | Kind::ReplicaSet | Kind::StatefulSet | Kind::DaemonSet) {
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

fn pod_status(pod: &mut Value) {
    let asked = ["containers", "initContainers"].map(|list| pod["spec"][list].clone());
    let is_going = pod["metadata"]["deletionTimestamp"].is_string();
    let Some(status) = pod.get_mut("status").and_then(Value::as_object_mut) else { return };
    status.retain(|name, _| POD_STATUS.contains(&name.as_str()));
    conditions(status);
    let mut is_resized = false;
    if let Some(all) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        is_resized = all.iter().any(|one| one["type"] == "PodResizePending");
        all.retain(|one| {
            let kind = one["type"].as_str().unwrap_or_default();
            one["status"] != "True" || !WELL.contains(&kind)
        });
    }
    for (list, asked) in ["containerStatuses", "initContainerStatuses"].iter().zip(&asked) {
        let Some(all) = status.get_mut(*list).and_then(Value::as_array_mut) else { continue };
        for one in &mut *all {
            if let Some(members) = one.as_object_mut() {
                container_status(members, asked, is_resized);
            }
        }
        // How many still run is asked of a pod on its way out; of others, what does not run, or has been given something else.
        all.retain(|one| is_going || !is_plain(one));
        if all.is_empty() {
            status.remove(*list);
        }
    }
}

/// Whether a container runs as its pod asks.
fn is_plain(container: &Value) -> bool {
    let has = |name: &str| container.get(name).is_some();
    container["state"].get("running").is_some() && !has("resources") && !has("allocatedResources")
}

/// What a container has been given counts where it is not what its pod asks for, and where that is refused; what has not happened is not written down.
fn container_status(members: &mut Map<String, Value>, asked: &Value, is_resized: bool) {
    members.retain(|name, value| {
        let is_nothing = *value == 0 || value.as_object().is_some_and(Map::is_empty);
        CONTAINER_STATUS.contains(&name.as_str()) && !is_nothing
    });
    for state in ["state", "lastState"] {
        if let Some(ended) = members.get_mut(state).and_then(|state| state.get_mut("terminated")) {
            drop(ended.as_object_mut().map(|ended| ended.remove("containerID")));
        }
    }
    let mut containers = asked.as_array().into_iter().flatten();
    let Some(own) = containers.find(|one| one.get("name") == members.get("name")) else { return };
    if is_resized {
        return;
    }
    if members.get("resources") == own.get("resources") {
        members.remove("resources");
    }
    if members.get("allocatedResources") == own.get("resources").and_then(|all| all.get("requests")) {
        members.remove("allocatedResources");
    }
}

/// A node's images, volumes in use and addresses of its agents are not read; what is full or runs out is.
fn node_status(node: &mut Value) {
    let Some(status) = node.get_mut("status").and_then(Value::as_object_mut) else { return };
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

    /// A pod of which each container asks for one cpu, and has what is said.
    fn given(conditions: &Value, given: &[(&str, &str)]) -> Value {
        let container = |name: &str| json!({"name": name, "resources": {"requests": {"cpu": "1"}}});
        let status = |(name, cpu): &(&str, &str)| {
            json!({"name": name, "allocatedResources": {"cpu": cpu},
            "resources": {"requests": {"cpu": cpu}}, "restartCount": 0, "lastState": {}, "state": {"running": {}}})
        };
        let containers: Vec<Value> = given.iter().map(|(name, _)| container(name)).collect();
        let statuses: Vec<Value> = given.iter().map(status).collect();
        let mut pod = json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers},
            "status": {"phase": "Running", "conditions": conditions, "containerStatuses": statuses}});
        slim(Kind::Pod, &mut pod);
        pod["status"].take()
    }

    #[test]
    fn what_a_container_has_been_given_stays_where_it_is_not_what_was_asked_for() {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(
            given(&ready, &[("a", "1"), ("b", "1")]),
            json!({"phase": "Running", "conditions": ready})
        );
        let resized = given(&ready, &[("a", "1"), ("b", "2")]);
        let names = |status: &Value| status["containerStatuses"].as_array().map_or(0, Vec::len);
        assert_eq!((names(&resized), &resized["containerStatuses"][0]["name"]), (1, &json!("b")));
        // What is asked for and refused does not count; what is in force does.
        let refused = json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
        assert_eq!(names(&given(&refused, &[("a", "1"), ("b", "2")])), 2);
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
