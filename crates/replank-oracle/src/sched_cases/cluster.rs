//! Nodes, namespaces, and who owns pods.

use serde_json::{Map, Value, json};

use super::{
    APPS, EBS_ZONE, HOSTNAME, MADE, Maker, NAMESPACES, OLD_REGION, OLD_ZONE, REGION, TIERS, ZONE, ZONES,
};

const FEATURES: [&str; 6] = [
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "GuaranteedQoSPodCPUResize",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingExclusiveCPUs",
    "Other",
];

/// Images, each with its size in MiB and the names that it goes by. One name has one size: where nodes differ, upstream
/// takes the size from whichever node it sees first.
const IMAGES: [(u64, &[&str]); 9] = [
    (100, &["redis:7", "docker.io/library/redis:7"]),
    (24, &["redis:latest"]),
    (20, &["redis"]),
    (22, &["docker.io/library/redis:latest", "docker.io/library/redis"]),
    (1400, &["registry.example/app:1", "registry.example/app:latest", APP]),
    (300, &["registry.example/other", "registry.example/other:latest"]),
    (5000, &["registry.example:5000/app:latest"]),
    (700, &["123456789012.dkr.ecr.eu-west-1.amazonaws.com/api:2026.11.1"]),
    (0, &["empty:1"]),
];

const APP: &str =
    "registry.example/app@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub(super) const NAMES: [&str; 12] = [
    "redis:7",
    "docker.io/library/redis:7",
    "redis",
    "redis:latest",
    "docker.io/library/redis:latest",
    "registry.example/app:1",
    "registry.example/app",
    "registry.example/other",
    "registry.example:5000/app",
    APP,
    "123456789012.dkr.ecr.eu-west-1.amazonaws.com/api:2026.11.1",
    "empty:1",
];

impl Maker<'_> {
    pub(super) fn cluster(&mut self) -> Value {
        let most = match self.group {
            "preemption" => 6,
            "imageLocality" | "topologySpread" => 12,
            _ => 9,
        };
        let most = if self.percent(5) { 30 } else { most };
        let count = if self.percent(4) { 1 } else { 2 + self.random.below(most) };
        self.nodes = (0..count).map(|i| format!("ip-10-0-{}-{i}.internal", self.random.below(4))).collect();
        let names = self.nodes.clone();
        let nodes: Vec<Value> = names.iter().map(|name| self.node(name)).collect();
        let mut cluster = json!({"nodes": nodes, "namespaces": self.namespaces()});
        let mut pods = Vec::new();
        let most = if self.chances.crowd { 8 } else { 5 };
        for name in &names {
            for _ in 0..self.random.below(most) {
                pods.push(name.clone());
            }
        }
        if self.percent(5) {
            pods.push("gone".to_owned());
        }
        let mut bound: Vec<Value> =
            pods.iter().enumerate().map(|(i, node)| self.bound(&format!("p{i:02}"), node)).collect();
        if self.percent(5) {
            bound.push(self.waiting("q01"));
        }
        cluster["pods"] = json!(bound);
        if self.chances.spread > 5 || self.percent(10) {
            self.owners(&mut cluster);
        }
        if self.chances.volumes > 5 || self.percent(5) {
            self.storage(&mut cluster);
        }
        if self.chances.crowd {
            let budgets: Vec<Value> = (0..self.random.below(4)).map(|i| self.budget(i)).collect();
            cluster["podDisruptionBudgets"] = json!(budgets);
        }
        cluster
    }

    fn namespaces(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for name in NAMESPACES {
            if self.percent(8) {
                continue;
            }
            let mut labels = json!({"kubernetes.io/metadata.name": name});
            if self.percent(60) {
                labels["env"] = json!(self.one(&["prod", "staging", "dev", ""]));
            }
            if self.percent(40) {
                labels["team"] = json!(self.one(&["red", "blue"]));
            }
            all.push(json!({"metadata": {
                "name": name, "uid": format!("uid-ns-{name}"), "labels": labels, "creationTimestamp": MADE,
            }}));
        }
        all
    }

    fn node(&mut self, name: &str) -> Value {
        let labels = self.node_labels(name);
        let mut node = json!({
            "metadata": {"name": name, "uid": format!("uid-{name}"), "labels": labels, "creationTimestamp": MADE},
            "spec": {"providerID": format!("aws:///eu-west-1a/i-{name}")}, "status": {},
        });
        if self.percent(self.chances.cordons) {
            node["spec"]["unschedulable"] = json!(true);
        }
        let taints = self.taints();
        if !taints.is_empty() {
            node["spec"]["taints"] = json!(taints);
        }
        let room = self.room();
        node["status"]["capacity"] = room.clone();
        node["status"]["allocatable"] = room;
        if self.percent(self.chances.images) {
            node["status"]["images"] = json!(self.images());
        }
        if self.chances.features > 5 || self.percent(3) {
            let mut features = self.random.some(&FEATURES, 50);
            features.sort_unstable();
            node["status"]["declaredFeatures"] = json!(features);
        }
        if self.percent(10) {
            node["status"]["conditions"] = json!([{
                "type": self.one(&["Ready", "MemoryPressure", "NetworkUnavailable"]), "status": self.one(&["True", "False", "Unknown"]),
            }]);
        }
        node
    }

    fn node_labels(&mut self, name: &str) -> Value {
        let mut labels = Map::new();
        let mut put = |key: &str, value: String| labels.insert(key.to_owned(), json!(value));
        if self.percent(94) {
            let same = self.percent(3);
            put(HOSTNAME, if same { "same-host".to_owned() } else { name.to_owned() });
        }
        let zone = if self.percent(3) { String::new() } else { self.one(&ZONES) };
        if self.percent(92) {
            put(ZONE, zone.clone());
        }
        if self.percent(50) {
            put(OLD_ZONE, if self.percent(90) { zone.clone() } else { self.one(&ZONES) });
        }
        if self.percent(85) {
            put(REGION, self.one(&["eu-west-1", "eu-west-1", "us-east-1"]));
        }
        if self.percent(15) {
            put(OLD_REGION, "eu-west-1".to_owned());
        }
        for key in [EBS_ZONE, "topology.gke.io/zone", "topology.cinder.csi.openstack.org/zone"] {
            if self.percent(60) {
                put(key, zone.clone());
            }
        }
        if self.percent(60) {
            put("rack", format!("r{}", self.random.below(4)));
        }
        if self.percent(60) {
            put("gen", self.number());
        }
        if self.percent(50) {
            put("disk", self.one(&["ssd", "hdd", ""]));
        }
        if self.percent(30) {
            put("team", self.one(&["red", "blue", "green"]));
        }
        put("kubernetes.io/os", self.one(&["linux", "linux", "linux", "windows"]));
        put("kubernetes.io/arch", self.one(&["amd64", "arm64"]));
        Value::Object(labels)
    }

    pub(super) fn taints(&mut self) -> Vec<Value> {
        let mut taints = Vec::new();
        while taints.len() < 4 && self.percent(self.chances.taints) {
            let key = self.one(&[
                "dedicated",
                "spot",
                "drain",
                "level",
                "node.kubernetes.io/not-ready",
                "node.kubernetes.io/unschedulable",
            ]);
            let value = if key == "level" { self.number() } else { self.one(&["", "batch", "true", "5"]) };
            let mut taint = json!({
                "key": key, "value": value, "effect": self.one(&["NoSchedule", "NoSchedule", "PreferNoSchedule", "NoExecute"]),
            });
            if self.percent(20) {
                taint["timeAdded"] = json!(MADE);
            }
            taints.push(taint);
        }
        taints
    }

    fn room(&mut self) -> Value {
        if !self.percent(self.chances.odd_resources) {
            let cpu = if self.chances.crowd {
                self.one(&["2", "3", "2500m"])
            } else {
                self.one(&["4", "8", "3920m"])
            };
            let memory = self.one(&["8Gi", "15009320Ki", "7101980Ki"]);
            return json!({"cpu": cpu, "memory": memory, "pods": self.one(&["58", "29", "5"]), "ephemeral-storage": "18242267924"});
        }
        let cpu = self.one(&["2", "4", "8", "3920m", "1930m", "0", "1.5", "0.1", "1e1", "100u"]);
        let mut room = json!({"cpu": cpu, "pods": self.one(&["58", "29", "110", "3", "1", "0"])});
        if self.percent(97) {
            room["memory"] = json!(self.one(&[
                "4Gi",
                "8Gi",
                "15009320Ki",
                "7101980Ki",
                "16G",
                "1e9",
                "0",
                "123456789012m"
            ]));
        }
        if self.percent(70) {
            room["ephemeral-storage"] = json!(self.one(&["10Gi", "18242267924", "0", "500M"]));
        }
        for (resource, values) in [
            ("hugepages-2Mi", ["0", "128Mi", "1Gi"]),
            ("hugepages-1Gi", ["0", "2Gi", "1Gi"]),
            ("nvidia.com/gpu", ["0", "1", "4"]),
            ("example.com/dongle", ["1", "2", "1k"]),
            ("attachable-volumes-aws-ebs", ["1", "2", "25"]),
        ] {
            if self.percent(45) {
                room[resource] = json!(self.one(&values));
            }
        }
        room
    }

    fn images(&mut self) -> Vec<Value> {
        let mut images = Vec::new();
        for (mebibytes, names) in self.random.some(&IMAGES, 40) {
            let names = if self.percent(80) { names.to_vec() } else { self.random.some(names, 60) };
            if !names.is_empty() {
                images.push(json!({"names": names, "sizeBytes": mebibytes * 1024 * 1024 + 1}));
            }
        }
        images
    }

    /// Services, ReplicaSets, StatefulSets and ReplicationControllers, from which default constraints take their selector.
    fn owners(&mut self, cluster: &mut Value) {
        let mut lists: Map<String, Value> = Map::new();
        for namespace in ["default", "prod"] {
            for app in APPS {
                let list = match self.random.below(10) {
                    0..=2 => "services",
                    3..=4 => "replicaSets",
                    5..=6 => "statefulSets",
                    7 => "replicationControllers",
                    _ => continue,
                };
                let mut labels = json!({"app": app});
                if self.percent(25) {
                    labels["tier"] = json!(self.one(&TIERS));
                }
                let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web"}]}});
                let spec = match list {
                    "services" if self.percent(10) => json!({"ports": [{"port": 80}]}),
                    "services" => json!({"ports": [{"port": 80}], "selector": labels}),
                    "replicationControllers" => {
                        json!({"replicas": 2, "selector": labels, "template": template})
                    }
                    _ => {
                        let mut selector = json!({"matchLabels": labels});
                        if self.percent(30) {
                            selector["matchExpressions"] = json!([{"key": "app", "operator": "Exists"}]);
                        }
                        json!({"replicas": 2, "serviceName": "x", "selector": selector, "template": template})
                    }
                };
                let name = format!("own-{app}");
                let object = json!({
                    "metadata": {"name": name, "namespace": namespace, "uid": format!("uid-{list}-{name}"), "creationTimestamp": MADE},
                    "spec": spec,
                });
                let slot = lists.entry(list).or_insert_with(|| json!([]));
                if let Value::Array(list) = slot {
                    list.push(object);
                }
            }
        }
        for (list, objects) in lists {
            cluster[list] = objects;
        }
    }

    fn budget(&mut self, number: u64) -> Value {
        let selector = match self.random.below(5) {
            0 => json!({}),
            1 => {
                json!({"matchExpressions": [{"key": "tier", "operator": self.one(&["Exists", "DoesNotExist"])}]})
            }
            _ => json!({"matchLabels": {"app": self.one(&APPS)}}),
        };
        let mut budget = json!({
            "metadata": {
                "name": format!("pdb-{number}"), "namespace": self.one(&NAMESPACES), "uid": format!("uid-pdb-{number}"),
                "creationTimestamp": MADE,
            },
            "spec": {"minAvailable": 1},
            "status": {
                "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
                "disruptionsAllowed": self.random.below(4),
            },
        });
        if self.percent(92) {
            budget["spec"]["selector"] = selector;
        }
        if self.percent(15) {
            let name = format!("p{:02}", self.random.below(12));
            budget["status"]["disruptedPods"] = json!({name: MADE});
        }
        budget
    }
}
