//! Random small clusters that change step by step, for trying the scheduler on what nobody thought of.
//!
//! Everything that a plugin looks at occurs: labels that are missing, topologies with few and with many values, taints,
//! cordons, ports, claims in all states, namespaces without object, nominated and terminating pods.

mod cluster;
mod storage;

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, Projector};
use replank_model::view::{Change, View};
use serde_json::{Map, Value, json};

pub use cluster::{Cluster, Random};
use cluster::{HOSTNAME, NAMESPACES, ZONE, ZONES};

/// A number that the environment sets, for tests that can run otherwise than they usually do.
#[must_use]
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
const APPS: [&str; 4] = ["web", "api", "db", "cache"];
const TIERS: [&str; 3] = ["front", "back", "mid"];
const KEYS: [&str; 5] = [ZONE, HOSTNAME, "rack", "group", "absent"];

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
        let Object::Pod(pod) = object else { panic!("{} is not a pod", object.reference()) };
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
}
