//! Pods: the one that comes in, and those that are there.

use serde_json::{Map, Value, json};

use super::cluster::NAMES;
use super::{APPS, HOSTNAME, MADE, Maker, NAMESPACES, TIERS};

impl Maker<'_> {
    /// The pod that is to be placed.
    pub(super) fn incoming(&mut self) -> Value {
        let mut pod = self.pod("incoming");
        if self.percent(self.chances.node_name) {
            pod["spec"]["nodeName"] = json!(self.some_node());
        }
        if self.percent(25) {
            self.extras(&mut pod["spec"]);
        }
        if self.percent(1) {
            pod["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
        }
        if self.chances.crowd {
            pod["spec"]["priority"] = json!(self.random.one(&[0, 100, 1000, 1000, 1000, 5000, -5]));
            if self.percent(15) {
                pod["spec"]["preemptionPolicy"] = json!(self.one(&["Never", "PreemptLowerPriority"]));
            }
            if self.percent(80) {
                let cpu = self.one(&["1200m", "1800m", "1900m", "2", "2400m"]);
                pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
            }
        }
        pod
    }

    /// A pod on a node.
    pub(super) fn bound(&mut self, name: &str, node: &str) -> Value {
        let mut pod = self.pod(name);
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running"});
        match self.random.below(40) {
            0 => pod["status"]["phase"] = json!("Succeeded"),
            1 => pod["status"]["phase"] = json!("Failed"),
            2..=3 => pod["status"]["phase"] = json!("Pending"),
            4..=6 => {
                pod["metadata"]["deletionTimestamp"] = json!("2026-11-02T00:00:00Z");
                pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
            }
            _ => {}
        }
        if self.percent(90) {
            let second = self.random.below(20);
            pod["status"]["startTime"] = json!(format!("2026-11-01T00:00:{second:02}Z"));
        }
        if self.chances.crowd {
            pod["spec"]["priority"] = json!(self.random.one(&[0, 0, 0, 10, 10, 100, 100, 1000, -10]));
        }
        if self.percent(self.chances.odd_resources / 3) {
            self.resized(&mut pod);
        }
        pod
    }

    /// Another pod that waits.
    pub(super) fn waiting(&mut self, name: &str) -> Value {
        self.pod(name)
    }

    fn pod(&mut self, name: &str) -> Value {
        let namespace = self.one(&["default", "default", "prod", "prod", "staging", "dev", "kube-system"]);
        let mut labels = Map::new();
        if self.percent(95) {
            labels.insert("app".into(), json!(self.one(&APPS)));
        }
        if self.percent(60) {
            labels.insert("tier".into(), json!(self.one(&TIERS)));
        }
        if self.percent(50) {
            labels.insert("pod-template-hash".into(), json!(self.one(&["7f4c8d", "66b5d9"])));
        }
        if self.percent(30) {
            labels.insert("tenant".into(), json!(self.one(&["a", "b", ""])));
        }
        let labels = Value::Object(labels);
        let mut metadata = json!({
            "name": name, "namespace": namespace, "uid": format!("uid-{namespace}-{name}"), "labels": labels, "creationTimestamp": MADE,
        });
        if self.percent(25) {
            let (version, kind) = self.random.one(&[
                ("apps/v1", "ReplicaSet"),
                ("apps/v1", "StatefulSet"),
                ("v1", "ReplicationController"),
                ("batch/v1", "Job"),
                ("apps/v1", "DaemonSet"),
            ]);
            let app = labels["app"].as_str().unwrap_or("web");
            metadata["ownerReferences"] = json!([{
                "apiVersion": version, "kind": kind, "name": format!("own-{app}"), "uid": "uid-owner", "controller": true,
            }]);
        }
        let mut pod = json!({"metadata": metadata, "spec": {}});
        let spec = &mut pod["spec"];
        self.containers(spec);
        self.placement(spec, &labels);
        if self.percent(self.chances.volumes) {
            spec["volumes"] = self.volumes();
        }
        if self.percent(self.chances.features / 2) || self.percent(self.chances.ports / 8) {
            spec["hostNetwork"] = json!(true);
            if self.percent(self.chances.features / 2) {
                spec["hostUsers"] = json!(false);
            }
        }
        if self.percent(self.chances.images / 6) {
            let image = json!({"name": "from-image", "image": {"reference": self.one(&NAMES)}});
            match spec["volumes"].as_array_mut() {
                Some(volumes) => volumes.push(image),
                None => spec["volumes"] = json!([image]),
            }
        }
        if self.percent(1) {
            let by = self.one(&["resourceClaimName", "resourceClaimTemplateName"]);
            spec["resourceClaims"] = json!([{"name": "device", by: "gpu"}]);
        }
        if self.percent(8) {
            spec["terminationGracePeriodSeconds"] = json!(0);
        }
        pod
    }

    fn placement(&mut self, spec: &mut Value, labels: &Value) {
        if self.percent(self.chances.tolerations) {
            spec["tolerations"] = self.tolerations();
        }
        if self.percent(self.chances.node_affinity / 3) {
            spec["nodeSelector"] = self.node_selector();
        }
        let mut affinity = Map::new();
        if self.percent(self.chances.node_affinity) {
            affinity.insert("nodeAffinity".into(), self.node_affinity());
        }
        if self.percent(self.chances.pod_affinity * 2 / 3) {
            affinity.insert("podAffinity".into(), self.pod_affinity(labels));
        }
        if self.percent(self.chances.pod_affinity * 2 / 3) {
            affinity.insert("podAntiAffinity".into(), self.pod_affinity(labels));
        }
        if !affinity.is_empty() {
            spec["affinity"] = Value::Object(affinity);
        }
        if self.percent(self.chances.spread) {
            let count = 1 + self.random.below(3);
            spec["topologySpreadConstraints"] = (0..count).map(|_| self.spread(labels)).collect();
        }
    }

    fn node_selector(&mut self) -> Value {
        match self.random.below(5) {
            0 => json!({"disk": self.one(&["ssd", "hdd", ""])}),
            1 => json!({HOSTNAME: self.some_node()}),
            2 => json!({"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}),
            3 => json!({"team": self.one(&["red", "blue"])}),
            _ => json!({}),
        }
    }

    /// A namespace, mostly one that is there.
    pub(super) fn some_namespace(&mut self) -> String {
        if self.percent(5) { "nowhere".to_owned() } else { self.one(&NAMESPACES) }
    }
}
