//! What unit tests of controllers share: a small world that is spoken to in JSON.

use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use crate::{CloudTimings, KubeletModel, Settings, World};
use replank_apiserver::json::{Method, Request, Response};

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

/// A pod that runs on a node.
pub(crate) fn running(name: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
}

impl World {
    pub(crate) fn send(&mut self, method: Method, path: &str, body: Value) -> Response {
        let content_type = "application/merge-patch+json".to_owned();
        let request = Request { method, path: path.to_owned(), content_type, body, wire: None };
        self.request(|api| api.handle(&request))
    }

    /// Creates an object in the namespace.
    pub(crate) fn apply(&mut self, object: Value) -> Object {
        let mut object = object;
        object["metadata"]["namespace"] = "shop".into();
        self.request(|api| api.apply_json(object)).expect("it is accepted")
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: Span) {
        let end = self.now() + span;
        self.run_until(end);
    }

    /// An object of the namespace, or of none.
    pub(crate) fn get(&self, kind: Kind, name: &str) -> Option<Object> {
        let namespace = if kind.is_namespaced() { "shop" } else { "" };
        self.view().object(kind, &Key::new(namespace, name))
    }

    /// Milliseconds since the beginning.
    pub(crate) fn elapsed(&self) -> i64 {
        (self.now() - start()).as_millis()
    }
}
