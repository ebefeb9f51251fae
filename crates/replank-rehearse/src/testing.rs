//! What unit tests share: a small world that is spoken to in JSON.

use replank_model::object::Object;
use replank_model::time::{Span, Time};
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::{Value, json};

/// A world that begins at midnight with a namespace `shop` and the given objects.
pub(crate) fn world(objects: Vec<Value>) -> World {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "ns"},
        "spec": {"finalizers": ["kubernetes"]}});
    let all = objects.into_iter().chain([namespace]);
    let things = all.map(|object| Object::from_json(object).expect("an object").into()).collect();
    let settings =
        Settings { start: start(), seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
    World::new(settings, things)
}

/// When such a world begins.
pub(crate) fn start() -> Time {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

/// A node that is ready, in a zone.
pub(crate) fn node(name: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
}

/// What tests do with a world.
pub(crate) trait Play {
    /// Creates an object in the namespace.
    fn apply(&mut self, object: Value) -> Object;

    /// Lets time pass.
    fn pass(&mut self, span: Span);
}

impl Play for World {
    fn apply(&mut self, mut object: Value) -> Object {
        object["metadata"]["namespace"] = "shop".into();
        self.request(|api| api.apply_json(object)).expect("it is accepted")
    }

    fn pass(&mut self, span: Span) {
        let end = self.now() + span;
        self.run_until(end);
    }
}
