//! Containers: what they ask for, their ports and images.

use serde_json::{Map, Value, json};

use super::Maker;
use super::cluster::NAMES;

impl Maker<'_> {
    /// Containers, init containers, overhead and pod-level resources of a pod.
    pub(super) fn containers(&mut self, spec: &mut Value) {
        let odd = self.percent(self.chances.odd_resources);
        let count = if odd || self.percent(10) { 1 + self.random.below(3) } else { 1 };
        let containers: Vec<Value> = (0..count).map(|i| self.container(&format!("c{i}"), odd)).collect();
        spec["containers"] = json!(containers);
        if odd && self.percent(50) {
            let count = 1 + self.random.below(4);
            let mut all = Vec::new();
            for i in 0..count {
                let mut init = self.container(&format!("i{i}"), true);
                if self.percent(45) {
                    init["restartPolicy"] = json!("Always");
                }
                all.push(init);
            }
            spec["initContainers"] = json!(all);
        }
        if odd && self.percent(20) {
            let mut overhead = json!({"cpu": self.one(&["10m", "250m", "1"])});
            if self.percent(50) {
                overhead["memory"] = json!(self.one(&["16Mi", "1Gi"]));
            }
            if self.percent(20) {
                overhead["ephemeral-storage"] = json!("1Gi");
            }
            spec["overhead"] = overhead;
        }
        if odd && self.percent(30) {
            spec["resources"] = self.pod_level();
        }
        if self.percent(self.chances.features / 2) {
            spec["containers"][0]["restartPolicy"] = json!(self.one(&["Never", "Always", "OnFailure"]));
            spec["containers"][0]["restartPolicyRules"] = json!([{
                "action": self.one(&["RestartAllContainers", "RestartAllContainers", "Restart"]),
                "exitCodes": {"operator": "In", "values": [42]},
            }]);
        }
    }

    fn container(&mut self, name: &str, odd: bool) -> Value {
        let image = if self.percent(self.chances.images) {
            self.one(&NAMES)
        } else {
            "registry.example/app:1".to_owned()
        };
        let mut container = json!({"name": name, "image": image});
        let resources = if odd { self.odd_resources() } else { self.usual_resources() };
        if resources.as_object().is_some_and(|of| !of.is_empty()) {
            container["resources"] = resources;
        }
        if self.percent(self.chances.ports) {
            let count = 1 + self.random.below(2);
            container["ports"] = (0..count).map(|_| self.port()).collect();
        }
        if self.percent(5) {
            container["imagePullPolicy"] = json!(self.one(&["Always", "Never"]));
        }
        container
    }

    fn port(&mut self) -> Value {
        let number = 8000 + self.random.below(3);
        let mut port = json!({"containerPort": number});
        if self.percent(90) {
            port["hostPort"] = json!(number);
        }
        if self.percent(50) {
            port["hostIP"] = json!(self.one(&["0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1", ""]));
        }
        if self.percent(40) {
            port["protocol"] = json!(self.one(&["TCP", "UDP", "SCTP"]));
        }
        port
    }

    fn usual_resources(&mut self) -> Value {
        let mut requests = Map::new();
        if self.percent(85) {
            let cpu = if self.chances.crowd {
                self.one(&["300m", "500m", "900m", "1", "1500m"])
            } else {
                self.one(&["50m", "100m", "250m", "700m", "1500m"])
            };
            requests.insert("cpu".into(), json!(cpu));
        }
        if self.percent(75) {
            requests.insert("memory".into(), json!(self.one(&["64Mi", "300Mi", "1Gi", "1500M"])));
        }
        if requests.is_empty() { json!({}) } else { json!({"requests": requests}) }
    }

    fn cpu(&mut self) -> String {
        self.one(&[
            "0", "1m", "50m", "100m", "0.1", "0.25", "700m", "1", "1.5", "2", "1500m", "1u", "100n",
            "0.0005", "1e-3", "3",
        ])
    }

    fn memory(&mut self) -> String {
        self.one(&[
            "0", "1", "64Mi", "100M", "0.5Gi", "1Gi", "2G", "1e8", "1500M", "100m", "1.5Ki", "4Gi", "3500Mi",
        ])
    }

    fn odd_resources(&mut self) -> Value {
        let mut requests = Map::new();
        let mut limits = Map::new();
        let amounts = [
            ("cpu", self.cpu(), 65),
            ("memory", self.memory(), 60),
            ("ephemeral-storage", self.memory(), 20),
        ];
        for (resource, amount, chance) in amounts {
            if self.percent(chance) {
                match self.random.below(4) {
                    0 => limits.insert(resource.into(), json!(amount)),
                    1 => {
                        limits.insert(resource.into(), json!(amount));
                        requests.insert(resource.into(), json!(amount))
                    }
                    _ => requests.insert(resource.into(), json!(amount)),
                };
            }
        }
        for (resource, values) in [
            ("nvidia.com/gpu", ["0", "1", "2"]),
            ("example.com/dongle", ["1", "2", "1k"]),
            ("hugepages-2Mi", ["64Mi", "2Mi", "256Mi"]),
            ("hugepages-1Gi", ["1Gi", "2Gi", "1Gi"]),
        ] {
            if self.percent(10) {
                let amount = self.one(&values);
                limits.insert(resource.into(), json!(amount));
                if self.percent(50) {
                    requests.insert(resource.into(), json!(amount));
                }
            }
        }
        let mut resources = json!({});
        if !requests.is_empty() {
            resources["requests"] = Value::Object(requests);
        }
        if !limits.is_empty() {
            resources["limits"] = Value::Object(limits);
        }
        resources
    }

    fn pod_level(&mut self) -> Value {
        let mut resources = json!({});
        let amounts = |maker: &mut Self| {
            let mut all = Map::new();
            if maker.percent(70) {
                all.insert("cpu".into(), json!(maker.one(&["2", "3", "4", "6500m"])));
            }
            if maker.percent(70) {
                all.insert("memory".into(), json!(maker.one(&["2Gi", "5Gi", "9Gi"])));
            }
            if maker.percent(8) {
                all.insert("hugepages-2Mi".into(), json!("256Mi"));
            }
            Value::Object(all)
        };
        match self.random.below(3) {
            0 => resources["requests"] = amounts(self),
            1 => resources["limits"] = amounts(self),
            _ => {
                resources["requests"] = amounts(self);
                resources["limits"] = amounts(self);
            }
        }
        resources
    }

    /// A resize under way: what a kubelet has allocated, and what runs.
    pub(super) fn resized(&mut self, pod: &mut Value) {
        let mut statuses = Vec::new();
        for container in pod["spec"]["containers"].as_array().cloned().unwrap_or_default() {
            let mut status = json!({
                "name": container["name"], "image": container["image"], "imageID": "", "ready": true, "restartCount": 0,
            });
            if self.percent(60) {
                status["allocatedResources"] = self.amounts();
            }
            if self.percent(70) {
                status["resources"] = json!({"requests": self.amounts()});
            }
            if self.percent(85) {
                statuses.push(status);
            }
        }
        pod["status"]["containerStatuses"] = json!(statuses);
        let mut inits = Vec::new();
        for container in pod["spec"]["initContainers"].as_array().cloned().unwrap_or_default() {
            if self.percent(60) {
                inits.push(json!({
                    "name": container["name"], "image": container["image"], "imageID": "", "ready": true, "restartCount": 0,
                    "allocatedResources": self.amounts(), "resources": {"requests": self.amounts()},
                }));
            }
        }
        if !inits.is_empty() {
            pod["status"]["initContainerStatuses"] = json!(inits);
        }
        if self.percent(40) {
            let (kind, reason) = self.random.one(&[
                ("PodResizePending", "Infeasible"),
                ("PodResizePending", "Deferred"),
                ("PodResizeInProgress", ""),
                ("PodResizeInProgress", "Error"),
            ]);
            pod["status"]["conditions"] =
                json!([{"type": kind, "status": self.one(&["True", "True", "False"]), "reason": reason}]);
        }
        if self.percent(30) {
            pod["status"]["resources"] = json!({"requests": self.amounts()});
        }
        if self.percent(30) {
            pod["status"]["allocatedResources"] = self.amounts();
        }
    }

    fn amounts(&mut self) -> Value {
        let mut all = Map::new();
        if self.percent(80) {
            all.insert("cpu".into(), json!(self.cpu()));
        }
        if self.percent(70) {
            all.insert("memory".into(), json!(self.memory()));
        }
        Value::Object(all)
    }
}
