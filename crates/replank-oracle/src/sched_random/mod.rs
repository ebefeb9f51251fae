//! Random small clusters that change step by step, for trying the scheduler on what nobody thought of.
//!
//! Everything that a plugin looks at occurs: labels that are missing, topologies with few and with many values, taints,
//! cordons, ports, claims in all states, namespaces without object, nominated and terminating pods.

mod storage;

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, ObjectRef, Projector};
use replank_model::view::{Change, View};
use serde_json::{Map, Value, json};

use crate::sched_load::scatter;

/// A number that the environment sets, for tests that can run otherwise than they usually do.
#[must_use]
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A stream of random numbers, each a function of the seed and how many were drawn.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    drawn: u64,
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

const NAMESPACES: [&str; 4] = ["default", "prod", "dev", "ghost"];
const APPS: [&str; 4] = ["web", "api", "db", "cache"];
const TIERS: [&str; 3] = ["front", "back", "mid"];
const ZONES: [&str; 3] = ["z-a", "z-b", "z-c"];
const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const KEYS: [&str; 5] = [ZONE, HOSTNAME, "rack", "group", "absent"];

/// A cluster and its random numbers.
#[derive(Debug)]
pub struct Cluster {
    /// What there is.
    pub view: View,
    /// Where the next step comes from.
    pub random: Random,
    projector: Projector,
    named: u64,
    nodes_max: u64,
    pods_max: u64,
}

fn strings(values: &[&str]) -> Vec<Value> {
    values.iter().map(|value| json!(value)).collect()
}

impl Cluster {
    /// A cluster with its fixed parts: namespaces, controllers, storage classes and drivers.
    #[must_use]
    pub fn new(seed: u64, nodes_max: u64, pods_max: u64) -> Self {
        let mut cluster = Self {
            view: View::default(),
            random: Random::new(seed),
            projector: Projector::default(),
            named: 0,
            nodes_max,
            pods_max,
        };
        for (namespace, env) in [("default", "none"), ("prod", "prod"), ("dev", "dev")] {
            let labels = if env == "none" { json!({}) } else { json!({"env": env}) };
            cluster.put(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels},
            }));
        }
        for app in APPS {
            for namespace in NAMESPACES {
                cluster.put(json!({
                    "apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "metadata": {"name": format!("rs-{app}"), "namespace": namespace, "uid": format!("{namespace}-{app}")},
                    "spec": {"selector": {"matchLabels": {"app": app}}},
                }));
            }
        }
        cluster.storage();
        cluster
    }

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

    fn fresh(&mut self, prefix: &str) -> String {
        self.named += 1;
        format!("{prefix}{}", self.named)
    }

    /// Something happens; what it changed, and what it is called.
    pub fn step(&mut self) -> (Vec<Change>, &'static str) {
        let nodes = self.view.nodes.len() as u64;
        let kind = if nodes < 3 { 0 } else { self.random.below(100) };
        match kind {
            0..=7 if nodes < self.nodes_max => (self.add_node(), "node added"),
            0..=1 => (self.remove_node(), "node removed"),
            2..=9 => (self.change_node(), "node changed"),
            10..=15 => (self.change_node(), "node changed"),
            16..=47 if (self.view.pods.len() as u64) < self.pods_max => (self.add_pod(), "pod added"),
            16..=55 => (self.remove_pod(), "pod removed"),
            56..=65 => (self.change_pod(), "pod changed"),
            66..=69 => (self.service(), "service changed"),
            70..=71 => (self.namespace(), "namespace changed"),
            72..=84 => (self.volume_object(), "storage changed"),
            _ => (self.add_pod(), "pod added"),
        }
    }

    /// The name of a node, if there is one.
    pub fn some_node(&mut self) -> Option<String> {
        let names: Vec<String> =
            self.view.nodes.sorted().iter().map(|(_, node)| node.meta.name.to_string()).collect();
        if names.is_empty() { None } else { Some(self.random.one(&names)) }
    }

    fn some_pod(&mut self) -> Option<Arc<Pod>> {
        let pods: Vec<Arc<Pod>> = self.view.pods.sorted().iter().map(|(_, pod)| (*pod).clone()).collect();
        if pods.is_empty() { None } else { Some(self.random.one(&pods)) }
    }

    // Nodes.

    /// Adds nodes until there are as many as there can be.
    pub fn fill_with_nodes(&mut self) -> Vec<Change> {
        let missing = self.nodes_max.saturating_sub(self.view.nodes.len() as u64);
        (0..missing).flat_map(|_| self.add_node()).collect()
    }

    fn add_node(&mut self) -> Vec<Change> {
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

    fn taints(&mut self) -> Vec<Value> {
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

    fn remove_node(&mut self) -> Vec<Change> {
        let Some(name) = self.some_node() else { return Vec::new() };
        let node = self.view.nodes.by_key(&Key::cluster(name.as_str())).expect("just found");
        let reference = Object::from(node.clone()).reference();
        vec![self.remove(&reference)]
    }

    fn change_node(&mut self) -> Vec<Change> {
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

    // Pods.

    fn add_pod(&mut self) -> Vec<Change> {
        let pod = self.pod();
        vec![self.view.apply(Delta::from(pod))]
    }

    /// A pod that waits to be placed.
    pub fn pod(&mut self) -> Arc<Pod> {
        let name = self.fresh("p");
        let namespace = self.random.one(&NAMESPACES);
        let app = self.random.one(&APPS);
        let mut labels = json!({"app": app});
        if self.random.percent(60) {
            labels["tier"] = json!(self.random.one(&TIERS));
        }
        let mut metadata = json!({
            "name": name, "namespace": namespace, "uid": format!("uid-{name}"), "labels": labels,
        });
        if self.random.percent(25) {
            metadata["ownerReferences"] = json!([{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("rs-{app}"), "uid": "x",
                "controller": true,
            }]);
        }
        let spec = self.pod_spec(app, &labels);
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        if self.random.percent(3)
            && let Some(node) = self.some_node()
        {
            pod["status"] = json!({"nominatedNodeName": node});
        }
        let object = self.projector.object(pod).expect("a pod of this file");
        let Object::Pod(pod) = object else { panic!("{} is no pod", object.reference()) };
        pod
    }

    fn pod_spec(&mut self, app: &str, labels: &Value) -> Value {
        let mut container =
            json!({"name": "main", "image": self.random.one(&["web:1", "api:1", "db", "cache:1"])});
        container["resources"] = self.resources();
        if self.random.percent(12) {
            let address = self.random.one(&["", "127.0.0.1"]);
            container["ports"] =
                json!([{"containerPort": 80, "hostPort": 8000 + self.random.below(3), "hostIP": address}]);
        }
        let mut spec = json!({"containers": [container], "priority": self.random.below(4) * 100});
        if self.random.percent(6) {
            spec["containers"][0]["restartPolicyRules"] = json!([{"action": "RestartAllContainers"}]);
        }
        if self.random.percent(4) {
            spec["hostNetwork"] = json!(true);
            spec["hostUsers"] = json!(false);
        }
        if self.random.percent(15) {
            let policy = self.random.one(&["Always", "OnFailure"]);
            let mut init = json!({"name": "init", "image": "api:1", "resources": self.resources()});
            if policy == "Always" {
                init["restartPolicy"] = json!(policy);
            }
            spec["initContainers"] = json!([init]);
        }
        if self.random.percent(30) {
            spec["tolerations"] = json!(self.tolerations());
        }
        if self.random.percent(1) {
            let by = self.random.one(&["resourceClaimName", "resourceClaimTemplateName"]);
            spec["resourceClaims"] = json!([{"name": "device", by: "gpu"}]);
        }
        if self.random.percent(12) {
            spec["nodeSelector"] = json!({"group": format!("g{}", self.random.below(4))});
        }
        let mut affinity = Map::new();
        if self.random.percent(25) {
            affinity.insert("nodeAffinity".into(), self.node_affinity());
        }
        if self.random.percent(20) {
            affinity.insert("podAffinity".into(), self.pod_affinity(app));
        }
        if self.random.percent(25) {
            affinity.insert("podAntiAffinity".into(), self.pod_affinity(app));
        }
        if !affinity.is_empty() {
            spec["affinity"] = Value::Object(affinity);
        }
        if self.random.percent(30) {
            let count = 1 + self.random.below(2);
            let constraints: Vec<Value> = (0..count).map(|_| self.spread(labels)).collect();
            spec["topologySpreadConstraints"] = json!(constraints);
        }
        if self.random.percent(18) {
            spec["volumes"] = json!(self.volumes());
        }
        spec
    }

    fn resources(&mut self) -> Value {
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

    fn tolerations(&mut self) -> Vec<Value> {
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

    fn node_term(&mut self) -> Value {
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

    fn node_affinity(&mut self) -> Value {
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

    fn selector(&mut self, app: &str) -> Value {
        let random = &mut self.random;
        match random.below(8) {
            0..=3 => json!({"matchLabels": {"app": app}}),
            4 => {
                json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["front", "back"]}]})
            }
            5 => {
                json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [random.one(&APPS)]}]})
            }
            6 => json!({}),
            _ => json!({"matchLabels": {"app": random.one(&APPS)}}),
        }
    }

    fn pod_term(&mut self, app: &str) -> Value {
        let mut term = json!({"topologyKey": self.random.one(&KEYS)});
        if self.random.percent(95) {
            term["labelSelector"] = self.selector(app);
        }
        match self.random.below(10) {
            0 => term["namespaces"] = json!(strings(&["prod", "dev"])),
            1 => term["namespaceSelector"] = json!({}),
            2 => term["namespaceSelector"] = json!({"matchLabels": {"env": "prod"}}),
            3 => {
                term["namespaceSelector"] =
                    json!({"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]});
            }
            _ => {}
        }
        term
    }

    fn pod_affinity(&mut self, app: &str) -> Value {
        let mut affinity = json!({});
        if self.random.percent(45) {
            let count = 1 + u64::from(self.random.percent(30));
            let terms: Vec<Value> = (0..count).map(|_| self.pod_term(app)).collect();
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = json!(terms);
        }
        if self.random.percent(65) {
            let count = 1 + u64::from(self.random.percent(30));
            let terms: Vec<Value> = (0..count)
                .map(|_| {
                    let weight = 1 + self.random.below(100);
                    json!({"weight": weight, "podAffinityTerm": self.pod_term(app)})
                })
                .collect();
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = json!(terms);
        }
        affinity
    }

    fn spread(&mut self, labels: &Value) -> Value {
        let random = &mut self.random;
        let mut constraint = json!({
            "maxSkew": 1 + random.below(3),
            "topologyKey": random.one(&[ZONE, ZONE, HOSTNAME, HOSTNAME, "rack", "group"]),
            "whenUnsatisfiable": random.one(&["DoNotSchedule", "ScheduleAnyway"]),
        });
        let app = labels["app"].as_str().unwrap_or("web").to_owned();
        constraint["labelSelector"] = self.selector(&app);
        let random = &mut self.random;
        if random.percent(20) && constraint["whenUnsatisfiable"] == "DoNotSchedule" {
            constraint["minDomains"] = json!(1 + random.below(5));
        }
        if random.percent(30) {
            constraint["nodeAffinityPolicy"] = json!(random.one(&["Honor", "Ignore"]));
        }
        if random.percent(30) {
            constraint["nodeTaintsPolicy"] = json!(random.one(&["Honor", "Ignore"]));
        }
        if random.percent(20) {
            constraint["matchLabelKeys"] = json!(["tier"]);
        }
        constraint
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

    fn remove_pod(&mut self) -> Vec<Change> {
        let Some(pod) = self.some_pod() else { return Vec::new() };
        vec![self.remove(&Object::from(pod).reference())]
    }

    fn change_pod(&mut self) -> Vec<Change> {
        let Some(pod) = self.some_pod() else { return Vec::new() };
        let mut pod = (*pod).clone();
        match self.random.below(6) {
            0 => pod.meta.deletion_timestamp = Some(replank_model::time::Time::from_millis(1000)),
            1 => pod.status.phase = replank_model::object::pod::PodPhase::Succeeded,
            2 => pod.meta.labels = pod.meta.labels.with("app", self.random.one(&APPS)),
            3 => pod.meta.labels = pod.meta.labels.with("tier", self.random.one(&TIERS)),
            4 if pod.node.is_none() => {
                pod.status.nominated_node_name = self.some_node().map(|name| name.as_str().into());
            }
            _ => {
                // A resize that the node has taken.
                let requests = json!({"cpu": self.random.one(&["50m", "900m"])});
                let status = json!([{"name": "main", "resources": {"requests": requests}}]);
                pod.status.container_statuses = serde_json::from_value(status).expect("statuses");
            }
        }
        vec![self.view.apply(Delta::from(pod))]
    }

    // Everything else.

    fn service(&mut self) -> Vec<Change> {
        let namespace = self.random.one(&NAMESPACES);
        let app = self.random.one(&APPS);
        let name = format!("svc-{app}");
        let known = self.view.services.by_key(&Key::new(namespace, name.as_str())).cloned();
        match known {
            Some(service) if self.random.percent(50) => {
                vec![self.remove(&Object::from(service).reference())]
            }
            Some(_) | None => {
                let mut selector = json!({"app": app});
                if self.random.percent(30) {
                    selector["tier"] = json!(self.random.one(&TIERS));
                }
                let metadata =
                    json!({"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")});
                let spec = json!({"selector": selector});
                vec![
                    self.put(
                        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}),
                    ),
                ]
            }
        }
    }

    fn namespace(&mut self) -> Vec<Change> {
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
