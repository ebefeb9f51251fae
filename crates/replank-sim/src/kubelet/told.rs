//! What kubelets tell of pods and nodes, where clients look (`pkg/kubelet/{images,kuberuntime,nodestatus}`).

use replank_apiserver::{EventType, Teller};
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, render};
use serde_json::Value;

use crate::context::Ctx;

const KUBELET: &str = "kubelet";

/// A container of a pod: the part of the pod that it is, and its image.
struct Part {
    path: String,
    name: String,
    image: String,
    is_pulled: bool,
}

fn parts(pod: &Value, list: &str) -> Vec<Part> {
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let all = pod.pointer(&format!("/spec/{list}")).and_then(Value::as_array).into_iter().flatten();
    all.map(|container| {
        let name = text(container, "name");
        let is_pulled = text(container, "imagePullPolicy") == "Always";
        Part { path: format!("spec.{list}{{{name}}}"), image: text(container, "image"), is_pulled, name }
    })
    .collect()
}

/// The containers of a pod have started.
pub(super) fn started(ctx: &mut Ctx<'_>, pod: &Pod) {
    begun(ctx, pod, ("containers", None));
}

/// An init container of a pod has started.
pub(super) fn init_started(ctx: &mut Ctx<'_>, pod: &Pod, name: &str) {
    begun(ctx, pod, ("initContainers", Some(name)));
}

/// The containers of a list have started, or one of them.
fn begun(ctx: &mut Ctx<'_>, pod: &Pod, (list, name): (&str, Option<&str>)) {
    if !ctx.api.serving().traces {
        return;
    }
    let about = Object::from(pod.clone());
    let parts = parts(&render(&about), list);
    for part in parts.into_iter().filter(|part| name.is_none_or(|name| name == part.name)) {
        let image = &part.image;
        if part.is_pulled {
            say(ctx, pod, &about, &part.path, ("Pulling", &format!("Pulling image {image:?}")));
            // Nothing is pulled: it takes no time, and the image has no size.
            let done = format!(
                "Successfully pulled image {image:?} in 0s (0s including waiting). Image size: 0 bytes."
            );
            say(ctx, pod, &about, &part.path, ("Pulled", &done));
        } else {
            let there = format!(
                "Container image {image:?} already present on machine and can be accessed by the pod"
            );
            say(ctx, pod, &about, &part.path, ("Pulled", &there));
        }
        say(ctx, pod, &about, &part.path, ("Created", "Container created"));
        say(ctx, pod, &about, &part.path, ("Started", "Container started"));
    }
}

/// The containers of a pod that runs are told to stop.
pub(super) fn stops(ctx: &mut Ctx<'_>, pod: &Pod) {
    if !ctx.api.serving().traces {
        return;
    }
    let about = Object::from(pod.clone());
    for part in parts(&render(&about), "containers") {
        say(ctx, pod, &about, &part.path, ("Killing", &format!("Stopping container {}", part.name)));
    }
}

/// Containers that have crashed wait before they are started again.
pub(super) fn backs_off(ctx: &mut Ctx<'_>, pod: &Pod) {
    waits(ctx, pod, ("containers", None));
}

/// An init container that has failed waits before it is started again.
pub(super) fn init_backs_off(ctx: &mut Ctx<'_>, pod: &Pod, name: &str) {
    waits(ctx, pod, ("initContainers", Some(name)));
}

fn waits(ctx: &mut Ctx<'_>, pod: &Pod, (list, name): (&str, Option<&str>)) {
    if !ctx.api.serving().traces {
        return;
    }
    let about = Object::from(pod.clone());
    let meta = &pod.meta;
    let parts = parts(&render(&about), list);
    for part in parts.into_iter().filter(|part| name.is_none_or(|name| name == part.name)) {
        let place = format!("{}_{}({})", meta.name, meta.namespace, meta.uid);
        let why = format!("Back-off restarting failed container {} in pod {place}", part.name);
        let host = pod.node.as_ref().map_or("", |node| node.as_str());
        let who = Teller { component: KUBELET, host, part: &part.path };
        ctx.api.tell_by(who, &about, EventType::Warning, ("BackOff", &why));
    }
}

fn say(ctx: &mut Ctx<'_>, pod: &Pod, about: &Object, part: &str, told: (&'static str, &str)) {
    let host = pod.node.as_ref().map_or("", |node| node.as_str());
    ctx.api.tell_by(Teller { component: KUBELET, host, part }, about, EventType::Normal, told);
}

/// A node has become ready.
pub(super) fn ready(ctx: &mut Ctx<'_>, old: Option<&Node>, new: &Node) {
    let is_ready = |node: &Node| {
        condition::find(&node.status.conditions, "Ready")
            .is_some_and(|ready| ready.status == ConditionStatus::True)
    };
    if !ctx.api.serving().traces || old.is_some_and(is_ready) || !is_ready(new) {
        return;
    }
    let name = new.name();
    let who = Teller { component: KUBELET, host: name.as_str(), part: "" };
    let words = format!("Node {name} status is now: NodeReady");
    ctx.api.tell_by(who, &Object::from(new.clone()), EventType::Normal, ("NodeReady", &words));
}
