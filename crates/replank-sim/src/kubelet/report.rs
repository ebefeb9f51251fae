//! What a kubelet reports of a pod besides what decisions read (pkg/kubelet `generateAPIPodStatus`, pkg/kubelet/status `generate.go`): where it runs, what it runs, and
//! the conditions that follow from its containers. Clients of a served cluster look at it; a rehearsal does without.

use std::sync::Arc;

use replank_apiserver::Api;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::{Object, render};
use replank_model::time::Time;
use replank_model::view::Ix;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::context::Ctx;

/// Writes the status of the pod in a slot, and what follows from it where somebody looks. `None` where there is no pod.
pub(super) fn write(ctx: &mut Ctx<'_>, slot: u32, change: impl FnOnce(&mut Pod)) -> Option<Arc<Pod>> {
    let ix = Ix::new(slot);
    if !ctx.api.serving().traces {
        return ctx.api.modify_at(ix, change);
    }
    let now = ctx.api.timestamp();
    let node = ctx.view().pods.get(ix).and_then(|pod| ctx.view().node(pod.node.as_ref()?)).cloned();
    ctx.api.modify_at(ix, |pod: &mut Pod| {
        change(pod);
        complete(pod, node.as_deref(), now);
    })
}

/// Whether a pod's kubelet has said anything of it.
pub(super) fn is_silent_about(pod: &Pod) -> bool {
    pod.status.start_time.is_none() && pod.status.container_statuses.is_empty()
}

/// Whether a pod has changed since its kubelet last said something of it.
pub(super) fn is_behind(api: &Api, pod: &Pod) -> bool {
    let has_reported = pod.status.phase == PodPhase::Running && pod.status.observed_generation > 0;
    api.serving().traces && has_reported && pod.status.observed_generation < pod.meta.generation
}

/// Fills in what the status does not say yet, and what follows from what it says.
fn complete(pod: &mut Pod, node: Option<&Node>, now: Time) {
    let mut value = render(&Object::Pod(Arc::new(pod.clone())));
    let spec = value["spec"].take();
    let generation = value["metadata"]["generation"].as_i64();
    let uid = pod.meta.uid.to_string();
    let status = &mut value["status"];
    addresses(status, &spec, node);
    containers(status, &spec, (&uid, now));
    conditions(status, &spec, now);
    if let Some(generation) = generation {
        status["observedGeneration"] = generation.into();
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            condition["observedGeneration"] = generation.into();
        }
    }
    // The spec is not the kubelet's, and shared with its siblings: it is not read anew.
    value["spec"] = json!({"containers": []});
    if let Ok(Object::Pod(read)) = Object::from_json(value) {
        pod.status = read.status.clone();
        pod.meta.raw = read.meta.raw.clone();
    }
}

fn addresses(status: &mut Value, spec: &Value, node: Option<&Node>) {
    let internal = node.and_then(internal_address);
    if let Some(host) = &internal {
        status["hostIP"] = host.as_str().into();
        status["hostIPs"] = json!([{"ip": host}]);
        if spec["hostNetwork"] == true {
            status["podIP"] = host.as_str().into();
        }
    }
    if let Some(address) = status["podIP"].as_str().map(str::to_owned) {
        status["podIPs"] = json!([{"ip": address}]);
    }
}

fn internal_address(node: &Node) -> Option<String> {
    let node = render(&Object::Node(Arc::new(node.clone())));
    let addresses = node["status"]["addresses"].as_array()?;
    let internal = addresses.iter().find(|address| address["type"] == "InternalIP")?;
    internal["address"].as_str().map(str::to_owned)
}

/// What of containers the typed status does not say; those that have not begun wait.
fn containers(status: &mut Value, spec: &Value, (uid, now): (&str, Time)) {
    let waits = |one: &Value| one["state"].get("waiting").is_some();
    let began = items(&status["containerStatuses"]).any(|one| !waits(one));
    let started = status["startTime"].clone();
    let lists = [
        ("initContainers", "initContainerStatuses"),
        ("containers", "containerStatuses"),
        ("ephemeralContainers", "ephemeralContainerStatuses"),
    ];
    for (list, statuses) in lists {
        let known: Vec<Value> = status[statuses].as_array().cloned().unwrap_or_default();
        let all: Vec<Value> = items(&spec[list])
            .map(|container| {
                let known = known.iter().find(|one| one["name"] == container["name"]).cloned();
                // Those that are to run before the others have, once these run.
                let known = known.filter(|one| list != "initContainers" || !began || !waits(one));
                let mut one = known.unwrap_or_else(|| begun((container, list), began, (&started, now), spec));
                describe(&mut one, container, uid);
                one
            })
            .collect();
        if !all.is_empty() {
            status[statuses] = all.into();
        }
    }
}

/// A container that the typed status says nothing of: it waits, or, if it is to run before the others and these run, it is done or runs beside them.
fn begun(
    (container, list): (&Value, &str),
    others_run: bool,
    (at, now): (&Value, Time),
    spec: &Value,
) -> Value {
    if list == "ephemeralContainers" {
        let state = json!({"running": {"startedAt": now.to_string()}});
        return json!({"name": container["name"], "ready": false, "restartCount": 0, "state": state, "lastState": {}});
    }
    let is_first = list == "initContainers";
    let is_sidecar = is_first && container["restartPolicy"] == "Always";
    let state = match (others_run && is_first, is_sidecar) {
        (true, true) => json!({"running": {"startedAt": at}}),
        (true, false) => {
            json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}})
        }
        (false, _) => {
            let awaits_first = items(&spec["initContainers"]).next().is_some();
            json!({"waiting": {"reason": if awaits_first { "PodInitializing" } else { "ContainerCreating" }}})
        }
    };
    json!({"name": container["name"], "ready": others_run && is_first, "restartCount": 0, "state": state, "lastState": {}})
}

fn describe(status: &mut Value, container: &Value, uid: &str) {
    let (name, image) =
        (container["name"].as_str().unwrap_or_default(), container["image"].as_str().unwrap_or_default());
    let is_running = status["state"].get("running").is_some();
    let has_run = is_running
        || status["state"].get("terminated").is_some()
        || status["lastState"].get("terminated").is_some();
    status["image"] = image.into();
    status["started"] = is_running.into();
    if has_run {
        let image = full_name(image);
        let repository = image.rsplit_once(':').map_or(&*image, |(repository, _)| repository);
        let restarts = status["restartCount"].as_i64().unwrap_or(0);
        status["imageID"] = format!("{repository}@sha256:{}", digest(&image)).into();
        status["containerID"] =
            format!("containerd://{}", digest(&format!("{uid}/{name}/{restarts}"))).into();
        status["image"] = image.into();
    }
    let resources = &container["resources"];
    if is_running && resources.as_object().is_some_and(|all| !all.is_empty()) {
        status["resources"] = resources.clone();
        if let Some(requests) = resources.get("requests") {
            status["allocatedResources"] = requests.clone();
        }
    }
}

/// An image as a container runtime calls it: with its registry and its tag.
fn full_name(image: &str) -> String {
    let (first, rest) = image.split_once('/').unwrap_or(("", image));
    let has_registry = first.contains(['.', ':']) || first == "localhost";
    let with_registry = match (has_registry, first) {
        (true, _) => image.to_owned(),
        (false, "") => format!("docker.io/library/{rest}"),
        (false, _) => format!("docker.io/{image}"),
    };
    let last = with_registry.rsplit('/').next().unwrap_or_default();
    if last.contains([':', '@']) { with_registry } else { format!("{with_registry}:latest") }
}

/// As many digits as a SHA-256 has, the same for the same text.
fn digest(text: &str) -> String {
    (0..4).map(|part| format!("{:016x}", xxh3_64_with_seed(text.as_bytes(), part))).collect()
}

/// The conditions that are a kubelet's, after those of others, in its order.
fn conditions(status: &mut Value, spec: &Value, now: Time) {
    const OWN: [&str; 5] =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    let known: Vec<Value> = status["conditions"].as_array().cloned().unwrap_or_default();
    let find = |kind: &str| known.iter().find(|one| one["type"] == kind);
    let phase = status["phase"].as_str().unwrap_or_default();
    let (is_over, began) = (matches!(phase, "Succeeded" | "Failed"), phase != "Pending");
    let unready: Vec<&str> = unready(status, spec).collect();
    let (reason, message) = match phase {
        "Succeeded" => ("PodCompleted", String::new()),
        "Failed" => ("PodFailed", String::new()),
        _ if unready.is_empty() => ("", String::new()),
        _ => ("ContainersNotReady", format!("containers with unready status: [{}]", unready.join(" "))),
    };
    let is_ready = find("Ready").is_some_and(|ready| ready["status"] == "True");
    let incomplete: Vec<&str> = incomplete(status, spec).collect();
    // Who has once started others has been initialized.
    let others_started = items(&status["containerStatuses"]).any(has_started);
    let is_initialized = incomplete.is_empty() || others_started;
    let of_init = match (is_initialized, phase) {
        (true, "Succeeded") => ("PodCompleted", String::new()),
        (true, _) => ("", String::new()),
        (false, _) => {
            let names = incomplete.join(" ");
            ("ContainersNotInitialized", format!("containers with incomplete status: [{names}]"))
        }
    };
    let has_sandbox = began || items(&status["initContainerStatuses"]).any(has_started);
    let own = OWN.map(|kind| {
        let (holds, (reason, message)) = match kind {
            "PodReadyToStartContainers" => (has_sandbox && !is_over, ("", String::new())),
            "Initialized" => (is_initialized, of_init.clone()),
            "Ready" if is_ready => (true, ("", String::new())),
            "Ready" => (false, (reason, message.clone())),
            "ContainersReady" => (reason.is_empty(), (reason, message.clone())),
            _ => (true, ("", String::new())),
        };
        let word = if holds { "True" } else { "False" };
        let since = find(kind).filter(|one| one["status"] == word).map(|one| one["lastTransitionTime"].clone());
        let mut condition = json!({"type": kind, "status": word, "lastTransitionTime": since.unwrap_or_else(|| now.to_string().into())});
        for (member, text) in [("reason", reason), ("message", &message)] {
            if !text.is_empty() {
                condition[member] = text.into();
            }
        }
        condition
    });
    let others = known.iter().filter(|one| !OWN.iter().any(|kind| one["type"] == *kind)).cloned();
    status["conditions"] = others.chain(own).collect::<Vec<_>>().into();
}

/// Names of the init containers that have not done their part (pkg/kubelet/status `GeneratePodInitializedCondition`).
fn incomplete<'s>(status: &'s Value, spec: &'s Value) -> impl Iterator<Item = &'s str> {
    let is_done = |container: &Value| {
        let mut all = items(&status["initContainerStatuses"]);
        let known = all.find(|one| one["name"] == container["name"]);
        known.is_some_and(|one| match container["restartPolicy"] == "Always" {
            true => one["started"] == true,
            false => one["ready"] == true,
        })
    };
    let all = items(&spec["initContainers"]).filter(move |container| !is_done(container));
    all.filter_map(|container| container["name"].as_str())
}

/// Whether a container has ever run.
fn has_started(status: &Value) -> bool {
    let of = |state: &str| status["state"].get(state).is_some_and(Value::is_object);
    of("running") || of("terminated") || status["lastState"].get("terminated").is_some_and(Value::is_object)
}

/// Names of the containers that are not ready.
fn unready<'s>(status: &'s Value, spec: &'s Value) -> impl Iterator<Item = &'s str> {
    let sidecars = items(&spec["initContainers"])
        .filter(|container| container["restartPolicy"] == "Always")
        .filter_map(|container| container["name"].as_str());
    let is_sidecar = move |name: &str| sidecars.clone().any(|sidecar| sidecar == name);
    let first = items(&status["initContainerStatuses"])
        .filter(move |one| one["name"].as_str().is_some_and(&is_sidecar));
    let all = first.chain(items(&status["containerStatuses"]));
    all.filter(|one| one["ready"] != true).filter_map(|one| one["name"].as_str())
}

fn items(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_called_as_a_runtime_calls_them() {
        assert_eq!(full_name("nginx"), "docker.io/library/nginx:latest");
        assert_eq!(full_name("nginx:1.27"), "docker.io/library/nginx:1.27");
        assert_eq!(full_name("org/app@sha256:ab"), "docker.io/org/app@sha256:ab");
        assert_eq!(full_name("registry.k8s.io/pause:3.10"), "registry.k8s.io/pause:3.10");
        assert_eq!(full_name("localhost:5000/a/b"), "localhost:5000/a/b:latest");
    }
}
