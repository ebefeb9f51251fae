//! `metrics.k8s.io/v1beta1`: what nodes and pods use, as `kubectl top` shows it.
//!
//! No container runs, so nothing can be measured. A container that runs uses a fixed share of what it requests; one that requests nothing uses a little; a
//! node uses what its pods do, and something for itself.

use replank_apiserver::json::Selection;
use replank_apiserver::{ApiError, ResourceType};
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::{Container, Pod, PodPhase};
use replank_model::object::resources::{CPU, MEMORY};
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Namespace};
use replank_schema::{Group, GroupName, Resource, ResponseKind, Scope, Version};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use crate::mirror::{Snapshot, StorageId};
use crate::query::Query;

/// The group.
pub(crate) const GROUP: &str = "metrics.k8s.io";
/// Its only version.
const VERSION: &str = "v1beta1";
/// Of the processor time that it requests, a container uses so many hundredths.
const CPU_PERCENT: i64 = 50;
/// Of the memory that it requests, so many.
const MEMORY_PERCENT: i64 = 70;
/// What a container uses that requests nothing: thousandths of a core, and bytes.
const IDLE: Usage = Usage { milli_cpu: 1, bytes: 16 << 20 };
/// What a node uses for itself: kubelet, container runtime, kernel.
const SYSTEM: Usage = Usage { milli_cpu: 60, bytes: 512 << 20 };

/// What something uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    milli_cpu: i64,
    bytes: i64,
}

impl Usage {
    fn of(container: &Container) -> Self {
        let requests = &container.resources.requests;
        let cpu = requests.get(CPU).map(|quantity| quantity.milli_value() * CPU_PERCENT / 100);
        let memory = requests.get(MEMORY).map(|quantity| quantity.value() / 100 * MEMORY_PERCENT);
        Self { milli_cpu: cpu.unwrap_or(IDLE.milli_cpu), bytes: memory.unwrap_or(IDLE.bytes) }
    }

    fn and(self, other: Self) -> Self {
        Self { milli_cpu: self.milli_cpu + other.milli_cpu, bytes: self.bytes + other.bytes }
    }

    fn of_pod(pod: &Pod) -> Self {
        pod.spec.containers.iter().map(Self::of).fold(Self::default(), Self::and)
    }

    /// In the units of metrics-server: billionths of a core, kibibytes.
    fn write(self) -> Value {
        json!({"cpu": format!("{}n", self.milli_cpu * 1_000_000), "memory": format!("{}Ki", self.bytes / 1024)})
    }
}

/// The group as discovery lists it: as metrics-server registers it.
pub(crate) fn group() -> Group {
    let resource = |plural: &str, kind: &str, scope: Scope| Resource {
        resource: plural.to_owned(),
        response_kind: ResponseKind { group: GROUP.into(), version: VERSION.into(), kind: kind.into() },
        scope,
        singular_resource: String::new(),
        verbs: ["get", "list"].map(str::to_owned).to_vec(),
        short_names: Vec::new(),
        categories: Vec::new(),
        subresources: Vec::new(),
    };
    let resources = vec![
        resource("nodes", "NodeMetrics", Scope::Cluster),
        resource("pods", "PodMetrics", Scope::Namespaced),
    ];
    let version = Version { version: VERSION.to_owned(), resources, freshness: "Current".to_owned() };
    Group { metadata: GroupName { name: GROUP.to_owned() }, versions: vec![version] }
}

/// Answers a path below the group; `None` for one that leads nowhere. `now` is the time in the cluster.
pub(crate) fn usage(
    rest: &[&str],
    query: &Query,
    snapshot: &Snapshot,
    now: &str,
) -> Option<Result<Value, ApiError>> {
    let asked = match rest {
        ["nodes"] => Asked { kind: Kind::Node, namespace: None, name: None },
        ["nodes", name] => Asked { kind: Kind::Node, namespace: None, name: Some(name) },
        ["pods"] => Asked { kind: Kind::Pod, namespace: None, name: None },
        ["namespaces", namespace, "pods"] => {
            Asked { kind: Kind::Pod, namespace: Some(namespace), name: None }
        }
        ["namespaces", namespace, "pods", name] => {
            Asked { kind: Kind::Pod, namespace: Some(namespace), name: Some(name) }
        }
        _ => return None,
    };
    Some(asked.answer(query, snapshot, now))
}

struct Asked<'a> {
    kind: Kind,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
}

impl Asked<'_> {
    fn answer(&self, query: &Query, snapshot: &Snapshot, now: &str) -> Result<Value, ApiError> {
        let plural = if self.kind == Kind::Node { "nodes" } else { "pods" };
        let resource = ResourceType::built_in("", "v1", plural).ok_or_else(ApiError::no_resource)?;
        let selection = Selection::read(resource, query.get("labelSelector"), query.get("fieldSelector"))?;
        let of_nodes = if self.kind == Kind::Node { by_node(snapshot) } else { FxHashMap::default() };
        let key = self.name.map(|name| Key {
            namespace: self.namespace.map(Namespace::from).unwrap_or_default(),
            name: Name::from(name),
        });
        let collection = snapshot.collection(&StorageId::Typed(self.kind));
        let mut items = Vec::new();
        for (known, stored) in &collection {
            let is_elsewhere =
                self.namespace.is_some_and(|namespace| known.0.namespace.as_str() != namespace);
            let is_another = key.as_ref().is_some_and(|key| *key != known.0);
            if is_elsewhere || is_another || !selection.matches(&stored.object) {
                continue;
            }
            items.extend(measured(&stored.object, &of_nodes, now));
        }
        if let Some(key) = key {
            let mut name = resource.name.clone();
            name.group = GROUP.into();
            return items.pop().ok_or_else(|| ApiError::not_found(name, &key));
        }
        let kind = if self.kind == Kind::Node { "NodeMetricsList" } else { "PodMetricsList" };
        Ok(json!({"kind": kind, "apiVersion": format!("{GROUP}/{VERSION}"), "metadata": {}, "items": items}))
    }
}

/// What the running pods of each node use together.
fn by_node(snapshot: &Snapshot) -> FxHashMap<String, Usage> {
    let mut made: FxHashMap<String, Usage> = FxHashMap::default();
    for stored in snapshot.collection(&StorageId::Typed(Kind::Pod)).values() {
        if let Object::Pod(pod) = &stored.object
            && pod.status.phase == PodPhase::Running
            && let Some(node) = &pod.node
        {
            let sum = made.entry(node.to_string()).or_default();
            *sum = sum.and(Usage::of_pod(pod));
        }
    }
    made
}

/// What is known of an object; nothing of pods that do not run.
fn measured(object: &Object, of_nodes: &FxHashMap<String, Usage>, now: &str) -> Option<Value> {
    let made = |kind: &str, meta: &Meta| {
        let mut metadata = Map::new();
        metadata.insert("name".into(), meta.name.as_str().into());
        if !meta.namespace.as_str().is_empty() {
            metadata.insert("namespace".into(), meta.namespace.as_str().into());
        }
        metadata.insert("creationTimestamp".into(), now.into());
        let labels: Map<String, Value> =
            meta.labels.iter().map(|(name, value)| (name.to_string(), value.to_string().into())).collect();
        if !labels.is_empty() {
            metadata.insert("labels".into(), labels.into());
        }
        json!({"kind": kind, "apiVersion": format!("{GROUP}/{VERSION}"), "metadata": metadata, "timestamp": now, "window": "15s"})
    };
    if let Object::Node(node) = object {
        let mut value = made("NodeMetrics", &node.meta);
        let pods = of_nodes.get(node.meta.name.as_str()).copied().unwrap_or_default();
        value["usage"] = pods.and(SYSTEM).write();
        return Some(value);
    }
    let Object::Pod(pod) = object else { return None };
    if pod.status.phase != PodPhase::Running {
        return None;
    }
    let mut value = made("PodMetrics", &pod.meta);
    let containers = pod.spec.containers.iter();
    let containers = containers.map(|one| json!({"name": &*one.name, "usage": Usage::of(one).write()}));
    value["containers"] = containers.collect();
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::Publisher;

    fn snapshot() -> std::sync::Arc<Snapshot> {
        let pod = |name: &str, phase: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "a", "labels": {"app": name}},
                "spec": {"nodeName": "n", "containers": [
                    {"name": "c", "resources": {"requests": {"cpu": "200m", "memory": "100Mi"}}}, {"name": "idle"}]},
                "status": {"phase": phase}})
        };
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
        let all = [pod("x", "Running"), pod("y", "Pending"), node];
        let objects = all.map(|value| Object::from_json(value).expect("well formed"));
        Publisher::new(objects, Vec::new(), 1).mirror().snapshot()
    }

    fn ask(rest: &[&str], query: &str) -> Value {
        let answer = usage(rest, &Query::read(query), &snapshot(), "2026-01-01T00:00:00Z")
            .expect("it leads somewhere");
        answer.unwrap_or_else(|error| error.to_status())
    }

    #[test]
    fn a_pod_uses_a_share_of_its_requests_and_a_node_the_sum() {
        let pods = ask(&["pods"], "");
        assert_eq!(pods["items"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            pods["items"][0]["containers"][0]["usage"],
            json!({"cpu": "100000000n", "memory": "71680Ki"})
        );
        let node = ask(&["nodes", "n"], "");
        assert_eq!(node["usage"]["cpu"], "161000000n");
        assert_eq!(ask(&["namespaces", "a", "pods"], "labelSelector=app%3Dz")["items"], json!([]));
        assert_eq!(ask(&["namespaces", "a", "pods", "y"], "")["code"], 404);
    }
}
