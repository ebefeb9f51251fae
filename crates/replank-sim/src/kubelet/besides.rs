//! What the kubelets of a served cluster write besides: members of a pod's status that decide nothing here, and that clients read (`convertStatusToAPIStatus`
//! in `pkg/kubelet/kubelet_pods.go`).

use replank_model::object::Object;
use replank_model::object::condition::Condition;
use replank_model::object::meta::Raw;
use replank_model::object::pod::{ContainerStatus, Pod};
use replank_model::object::render;
use replank_model::time::Time;
use serde_json::{Map, Value, json};

use super::conditions::set_condition;
use crate::context::Ctx;

/// The conditions of a pod that has started, in the order in which a kubelet writes them, before those of others.
pub(super) fn conditions(pod: &mut Pod, ready: bool, now: Time) {
    let others = std::mem::take(&mut pod.status.conditions);
    let own = [
        ("PodReadyToStartContainers", true),
        ("Initialized", true),
        ("Ready", ready),
        ("ContainersReady", ready),
    ];
    for (kind, holds) in own {
        set_condition(&mut pod.status.conditions, kind, holds, "", now);
    }
    let is_other = |one: &Condition| own.iter().all(|(kind, _)| *kind != &*one.r#type);
    pod.status.conditions.extend(others.into_iter().filter(is_other));
}

/// The address of the node that a pod is bound to.
pub(super) fn host(ctx: &Ctx<'_>, pod: &Pod) -> Option<String> {
    let node = ctx.view().node(pod.node.as_ref()?)?;
    let node = render(&Object::Node(node.clone()));
    let addresses = node.pointer("/status/addresses")?.as_array()?;
    let own = addresses.iter().find(|address| address["type"] == "InternalIP")?;
    own["address"].as_str().map(str::to_owned)
}

/// Writes images and ids of containers, addresses of the pod and its node, and the statuses of containers that somebody debugs with.
pub(super) fn write(pod: &mut Pod, host: Option<&str>, now: Time) {
    let raw = pod.meta.raw.0.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let mut rest = raw.unwrap_or_else(|| Value::Object(Map::new()));
    if !rest["status"].is_object() {
        rest["status"] = json!({});
    }
    let status = &mut rest["status"];
    if !pod.status.pod_ip.is_empty() {
        status["podIPs"] = json!([{"ip": &*pod.status.pod_ip}]);
    }
    if let Some(host) = host {
        status["hostIP"] = host.into();
        status["hostIPs"] = json!([{"ip": host}]);
    }
    let known = &pod.status.container_statuses;
    status["containerStatuses"] = known.iter().map(|one| container(pod, one)).collect();
    let debuggers = debuggers(pod, &status["ephemeralContainerStatuses"], now);
    if !debuggers.is_empty() {
        status["ephemeralContainerStatuses"] = debuggers.into();
    }
    pod.meta.raw = Raw(Some(rest.to_string().into()));
}

fn container(pod: &Pod, status: &ContainerStatus) -> Value {
    let image = pod.spec.containers.iter().find(|one| one.name == status.name).map(|one| one.image.clone());
    let mut seen = seen(pod, &status.name, image.as_deref().unwrap_or_default());
    seen["started"] = status.state.running.is_some().into();
    seen
}

fn seen(pod: &Pod, name: &str, image: &str) -> Value {
    // Nothing runs: an id that is none of a runtime's.
    json!({"name": name, "image": image, "imageID": format!("simulated://{image}"),
        "containerID": format!("simulated://{}/{name}", pod.meta.uid.as_str())})
}

/// Whether somebody has put a container into the pod that does not run yet.
pub(super) fn has_debuggers(pod: &Pod) -> bool {
    let wanted = wanted(pod);
    let rest = wanted.first().and(pod.meta.raw.0.as_deref());
    let rest = rest.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default();
    let known = rest["status"]["ephemeralContainerStatuses"].as_array().map_or(0, Vec::len);
    wanted.len() > known
}

fn wanted(pod: &Pod) -> Vec<Value> {
    // Most pods have none, and their specs are not read for it.
    let raw = pod.spec.raw.as_deref().filter(|raw| raw.contains("\"ephemeralContainers\""));
    let spec = raw.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let list = spec.and_then(|spec| spec["ephemeralContainers"].as_array().cloned());
    list.unwrap_or_default()
}

/// The statuses of the containers that a pod is debugged with: they run from when the kubelet saw them.
fn debuggers(pod: &Pod, known: &Value, now: Time) -> Vec<Value> {
    let of = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        let before = known.as_array().into_iter().flatten().find(|status| status["name"] == *name);
        before.cloned().unwrap_or_else(|| {
            let mut status = seen(pod, name, one["image"].as_str().unwrap_or_default());
            status["ready"] = false.into();
            status["restartCount"] = 0.into();
            status["lastState"] = json!({});
            status["state"] = json!({"running": {"startedAt": now}});
            status
        })
    };
    wanted(pod).iter().map(of).collect()
}
