//! Names in a recording and on the real cluster. Every run has nodes, zones and a namespace of its own: what is cluster-wide carries the run's name in front.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The names of one run.
#[derive(Clone, Debug)]
pub(super) struct Names {
    prefix: String,
    /// Nodes and zones: renamed wherever a text says nothing else.
    shared: BTreeSet<String>,
    /// Cluster-wide objects: renamed where one is referred to.
    setup: BTreeSet<String>,
}

/// The label by which pods are bound to their own scenario's nodes.
const POOL: &str = "pool";
const ZONE: &str = "topology.kubernetes.io/zone";

impl Names {
    /// The names of a run of a scenario.
    pub(super) fn new(run: usize, scenario: &Value) -> Self {
        let list = |member: &str| scenario[member].as_array().into_iter().flatten();
        let made = list("steps").filter(|step| step["action"] == "node-create").map(|step| &step["object"]);
        let mut shared = BTreeSet::new();
        for node in list("nodes").chain(made) {
            let zone = &node["metadata"]["labels"][ZONE];
            shared.extend([&node["metadata"]["name"], zone].into_iter().filter_map(text));
        }
        let setup = list("setup").filter(|object| is_cluster_wide(object));
        let setup = setup.filter_map(|object| text(&object["metadata"]["name"])).collect();
        Self { prefix: format!("run{run}-"), shared, setup }
    }

    /// The namespace of the run.
    pub(super) fn namespace(&self) -> &str {
        self.prefix.trim_end_matches('-')
    }

    /// A node of the run.
    pub(super) fn node(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// What the recording calls a node; nothing if it is another run's.
    pub(super) fn own<'a>(&self, node: &'a str) -> Option<&'a str> {
        node.strip_prefix(&self.prefix)
    }

    /// An object of the scenario as it is sent.
    pub(super) fn real(&self, object: &Value) -> Value {
        let mut real = self.renamed("", object);
        if let Some(name) = object["metadata"]["name"]
            .as_str()
            .filter(|name| self.setup.contains(*name) && is_cluster_wide(object))
        {
            real["metadata"]["name"] = self.node(name).into();
        }
        if real["metadata"].is_object() && !is_cluster_wide(object) {
            real["metadata"]["namespace"] = self.namespace().into();
        }
        real
    }

    fn is_renamed(&self, key: &str, text: &str) -> bool {
        let refers = matches!(key, "priorityClassName" | "storageClassName" | "volumeName");
        self.shared.contains(text) || (refers && self.setup.contains(text))
    }

    fn renamed(&self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) if key == POOL || self.is_renamed(key, text) => {
                format!("{}{text}", self.prefix).into()
            }
            Value::Array(items) => items.iter().map(|item| self.renamed(key, item)).collect(),
            Value::Object(members) => {
                let pool = members.get("key").is_some_and(|name| name == POOL);
                let inside =
                    |key: &'_ str| if pool && key == "values" { POOL.to_owned() } else { key.to_owned() };
                let renamed: Map<String, Value> = members
                    .iter()
                    .map(|(key, value)| (key.clone(), self.renamed(&inside(key), value)))
                    .collect();
                Value::Object(renamed)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn is_cluster_wide(object: &Value) -> bool {
    matches!(object["kind"].as_str(), Some("Node" | "PriorityClass" | "StorageClass" | "PersistentVolume"))
}

/// The path of a kind's collection.
pub(super) fn collection(version: &str, kind: &str, namespace: Option<&str>) -> String {
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    let plural = match kind {
        "PriorityClass" | "StorageClass" => format!("{}es", kind.to_lowercase()),
        other => format!("{}s", other.to_lowercase()),
    };
    match namespace {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    }
}

/// The path of the collection that an object belongs to.
pub(super) fn collection_of(object: &Value) -> String {
    let text = |member: &str| object[member].as_str().unwrap_or_default();
    collection(text("apiVersion"), text("kind"), object["metadata"]["namespace"].as_str())
}

/// The API version of a kind that steps name.
pub(super) fn version_of(kind: &str) -> &'static str {
    match kind {
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ControllerRevision" => "apps/v1",
        "Job" | "CronJob" => "batch/v1",
        "PodDisruptionBudget" => "policy/v1",
        "EndpointSlice" => "discovery.k8s.io/v1",
        _ => "v1",
    }
}
