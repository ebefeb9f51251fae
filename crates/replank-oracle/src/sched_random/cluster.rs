//! A random cluster, and where its randomness comes from.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, ObjectRef, Projector};
use replank_model::view::{Change, View};
use serde_json::{Map, Value, json};

use crate::sched_load::scatter;

/// A stream of random numbers, each a function of the seed and how many were drawn.
#[derive(Clone, Debug)]
pub struct Random {
    pub(super) seed: u64,
    pub(super) drawn: u64,
}

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed: scatter(seed), drawn: 0 }
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.drawn += 1;
        scatter(self.seed ^ scatter(self.drawn))
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.any() % limit
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of a list.
    pub fn one<T: Clone>(&mut self, list: &[T]) -> T {
        let at = self.below(list.len() as u64);
        list[usize::try_from(at).expect("less than a length")].clone()
    }

    /// Each of a list in so many of a hundred cases.
    pub fn some<T: Clone>(&mut self, list: &[T], chance: u64) -> Vec<T> {
        list.iter().filter(|_| self.percent(chance)).cloned().collect()
    }
}

pub(super) const NAMESPACES: [&str; 4] = ["default", "prod", "dev", "ghost"];

pub(super) const ZONES: [&str; 3] = ["z-a", "z-b", "z-c"];

pub(super) const ZONE: &str = "topology.kubernetes.io/zone";

pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

/// A cluster and its random numbers.
#[derive(Debug)]
pub struct Cluster {
    /// What there is.
    pub view: View,
    /// Where the next step comes from.
    pub random: Random,
    pub(super) projector: Projector,
    pub(super) named: u64,
    pub(super) nodes_max: u64,
    pub(super) pods_max: u64,
}

impl Cluster {
    /// Stores an object.
    ///
    /// # Panics
    /// When the object is not one of the API's, which is a mistake of this file.
    pub fn put(&mut self, object: Value) -> Change {
        let object = self.projector.object(object).expect("objects of this file are the API's");
        self.view.apply(Delta::Put(object))
    }

    /// Removes an object.
    pub fn remove(&mut self, object: &ObjectRef) -> Change {
        self.view.apply(Delta::Gone(object.clone()))
    }

    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.named += 1;
        format!("{prefix}{}", self.named)
    }

    /// The name of a node, if there is one.
    pub fn some_node(&mut self) -> Option<String> {
        let names: Vec<String> =
            self.view.nodes.sorted().iter().map(|(_, node)| node.meta.name.to_string()).collect();
        if names.is_empty() { None } else { Some(self.random.one(&names)) }
    }

    pub(super) fn some_pod(&mut self) -> Option<Arc<Pod>> {
        let pods: Vec<Arc<Pod>> = self.view.pods.sorted().iter().map(|(_, pod)| (*pod).clone()).collect();
        if pods.is_empty() { None } else { Some(self.random.one(&pods)) }
    }

    // Nodes.

    /// Adds nodes until there are as many as there can be.
    pub fn fill_with_nodes(&mut self) -> Vec<Change> {
        let missing = self.nodes_max.saturating_sub(self.view.nodes.len() as u64);
        (0..missing).flat_map(|_| self.add_node()).collect()
    }

    pub(super) fn add_node(&mut self) -> Vec<Change> {
        let name = self.fresh("n");
        let object = self.node(&name);
        vec![self.put(object)]
    }

    /// A node that might be there.
    pub fn node(&mut self, name: &str) -> Value {
        let random = &mut self.random;
        let mut labels = Map::new();
        if random.percent(95) {
            // Now and then two nodes have one host name.
            let host = if random.percent(4) { "n1".to_owned() } else { name.to_owned() };
            labels.insert(HOSTNAME.into(), json!(host));
        }
        if random.percent(93) {
            labels.insert(ZONE.into(), json!(random.one(&ZONES)));
        }
        if random.percent(50) {
            labels.insert("topology.ebs.csi.aws.com/zone".into(), json!(random.one(&ZONES)));
        }
        if random.percent(70) {
            labels.insert("rack".into(), json!(format!("r{}", random.below(90))));
        }
        if random.percent(80) {
            labels.insert("group".into(), json!(format!("g{}", random.below(4))));
        }
        if random.percent(50) {
            labels.insert("gen".into(), json!(random.one(&["3", "5", "7", "x"])));
        }
        let taints = self.taints();
        let random = &mut self.random;
        let cpu = random.one(&["2", "4", "8", "8", "3920m", "0"]);
        let memory = random.one(&["4Gi", "8Gi", "15009320Ki"]);
        let mut room = json!({"cpu": cpu, "memory": memory, "pods": (3 + random.below(15)).to_string()});
        if random.percent(30) {
            room["nvidia.com/gpu"] = json!(random.one(&["0", "1", "4"]));
        }
        if random.percent(20) {
            room["hugepages-2Mi"] = json!("128Mi");
        }
        if random.percent(70) {
            room["ephemeral-storage"] = json!("10Gi");
        }
        let images: Vec<Value> = random
            .some(&[("web:1", 700), ("api:1", 300), ("db:latest", 1400), ("cache:1", 20)], 35)
            .into_iter()
            .map(
                |(name, mib)| json!({"names": [name, format!("{name}-too")], "sizeBytes": mib * 1024 * 1024}),
            )
            .collect();
        let features = random
            .some(&["Other", "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"], 70);
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": format!("uid-{name}"), "labels": labels},
            "spec": {"taints": taints, "unschedulable": self.random.percent(5)},
            "status": {"allocatable": room, "capacity": room, "images": images, "declaredFeatures": features},
        })
    }

    pub(super) fn taints(&mut self) -> Vec<Value> {
        let all = [
            ("team", "red", "NoSchedule"),
            ("spot", "true", "PreferNoSchedule"),
            ("old", "", "PreferNoSchedule"),
            ("drain", "", "NoExecute"),
            ("level", "5", "NoSchedule"),
        ];
        let some = self.random.some(&all, 7);
        some.into_iter()
            .map(|(key, value, effect)| json!({"key": key, "value": value, "effect": effect}))
            .collect()
    }

    pub(super) fn remove_node(&mut self) -> Vec<Change> {
        let Some(name) = self.some_node() else { return Vec::new() };
        let node = self.view.nodes.by_key(&Key::cluster(name.as_str())).expect("just found");
        let reference = Object::from(node.clone()).reference();
        vec![self.remove(&reference)]
    }

    pub(super) fn change_node(&mut self) -> Vec<Change> {
        let Some(name) = self.some_node() else { return Vec::new() };
        let mut node = (**self.view.nodes.by_key(&Key::cluster(name.as_str())).expect("just found")).clone();
        match self.random.below(6) {
            0 => node.spec.unschedulable = self.random.percent(12),
            1 => {
                let taints = self.taints();
                node.spec.taints = serde_json::from_value(json!(taints)).expect("taints");
            }
            2 => {
                let key = self.random.one(&[ZONE, "rack", "group", "gen"]);
                let value = match key {
                    ZONE => self.random.one(&ZONES).to_owned(),
                    "rack" => format!("r{}", self.random.below(90)),
                    "group" => format!("g{}", self.random.below(4)),
                    _ => "5".to_owned(),
                };
                node.meta.labels = node.meta.labels.with(key, value.as_str());
            }
            3 => {
                let key = self.random.one(&[ZONE, HOSTNAME, "rack", "group"]);
                node.meta.labels = if self.random.percent(30) {
                    node.meta.labels.without(key)
                } else {
                    node.meta.labels.with(HOSTNAME, name.as_str())
                };
            }
            4 => node.status.allocatable.set("cpu", self.random.one(&["1", "6", "8"]).parse().expect("cpu")),
            _ => {
                // Another node's images and features.
                let other = self.node(&name);
                node.status.images =
                    serde_json::from_value(other["status"]["images"].clone()).expect("images");
                node.status.declared_features =
                    serde_json::from_value(other["status"]["declaredFeatures"].clone()).expect("features");
            }
        }
        vec![self.view.apply(Delta::from(node))]
    }

    pub(super) fn resources(&mut self) -> Value {
        let random = &mut self.random;
        let mut requests = Map::new();
        if random.percent(80) {
            requests.insert("cpu".into(), json!(random.one(&["50m", "100m", "250m", "700m", "1500m"])));
        }
        if random.percent(70) {
            requests.insert("memory".into(), json!(random.one(&["64Mi", "300Mi", "1Gi", "1500M"])));
        }
        if random.percent(6) {
            requests.insert("nvidia.com/gpu".into(), json!("1"));
        }
        if random.percent(5) {
            requests.insert("hugepages-2Mi".into(), json!("64Mi"));
        }
        if random.percent(10) {
            requests.insert("ephemeral-storage".into(), json!("3Gi"));
        }
        json!({"requests": requests})
    }

    pub(super) fn tolerations(&mut self) -> Vec<Value> {
        let all = [
            json!({"operator": "Exists"}),
            json!({"key": "team", "operator": "Equal", "value": "red", "effect": "NoSchedule"}),
            json!({"key": "spot", "operator": "Exists"}),
            json!({"key": "old", "operator": "Exists", "effect": "PreferNoSchedule"}),
            json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}),
            json!({"key": "drain", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}),
            json!({"key": "level", "operator": "Gt", "value": "3"}),
            json!({"key": "level", "operator": "Lt", "value": "3"}),
        ];
        self.random.some(&all, 22)
    }

    pub(super) fn node_term(&mut self) -> Value {
        let random = &mut self.random;
        let zone = random.one(&ZONES);
        let all = [
            json!({"key": ZONE, "operator": "In", "values": [zone]}),
            json!({"key": ZONE, "operator": "NotIn", "values": [zone]}),
            json!({"key": "rack", "operator": "Exists"}),
            json!({"key": "group", "operator": "DoesNotExist"}),
            json!({"key": "gen", "operator": "Gt", "values": ["4"]}),
            json!({"key": "gen", "operator": "Lt", "values": ["6"]}),
        ];
        let mut term = json!({"matchExpressions": random.some(&all, 25)});
        if self.random.percent(8)
            && let Some(node) = self.some_node()
        {
            let operator = self.random.one(&["In", "In", "NotIn"]);
            term["matchFields"] = json!([{"key": "metadata.name", "operator": operator, "values": [node]}]);
        }
        term
    }

    pub(super) fn node_affinity(&mut self) -> Value {
        let mut affinity = json!({});
        if self.random.percent(60) {
            let terms: Vec<Value> = (0..=self.random.below(2)).map(|_| self.node_term()).collect();
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = json!({"nodeSelectorTerms": terms});
        }
        if self.random.percent(60) {
            let weight = 1 + self.random.below(50);
            let mut preference = self.node_term();
            if self.random.percent(4) {
                // Lets a pod through that then cannot be scored.
                preference["matchExpressions"] = json!([{"key": "gen", "operator": "Gt", "values": ["-1"]}]);
            }
            let other = json!({"weight": 7, "preference": self.node_term()});
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] =
                json!([{"weight": weight, "preference": preference}, other]);
        }
        affinity
    }

    /// Binds a pod to a node.
    ///
    /// # Panics
    /// When there is no such pod.
    pub fn bind(&mut self, pod: &Key, node: &str) -> Change {
        let mut bound = (**self.view.pods.by_key(pod).expect("the pod is there")).clone();
        bound.node = Some(node.into());
        bound.status.nominated_node_name = None;
        self.view.apply(Delta::from(bound))
    }

    pub(super) fn remove_pod(&mut self) -> Vec<Change> {
        let Some(pod) = self.some_pod() else { return Vec::new() };
        vec![self.remove(&Object::from(pod).reference())]
    }

    pub(super) fn namespace(&mut self) -> Vec<Change> {
        let name = self.random.one(&["dev", "ghost"]);
        let known = self.view.namespaces.by_key(&Key::cluster(name)).cloned();
        match known {
            Some(namespace) if self.random.percent(40) => {
                vec![self.remove(&Object::from(namespace).reference())]
            }
            Some(_) | None => {
                let labels = self.random.one(&[json!({}), json!({"env": "prod"}), json!({"env": "dev"})]);
                let metadata = json!({"name": name, "labels": labels, "uid": format!("ns-{name}")});
                vec![self.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))]
            }
        }
    }
}
