//! What admission fills in and scheduling does not look at: probes, hooks, environment, volumes of all kinds.

use serde_json::{Value, json};

use super::Maker;

impl Maker<'_> {
    /// Adds a few such things to a pod.
    pub(super) fn extras(&mut self, spec: &mut Value) {
        for list in ["containers", "initContainers"] {
            let containers = spec[list].as_array_mut().map(std::mem::take).unwrap_or_default();
            let changed: Vec<Value> = containers
                .into_iter()
                .map(|container| self.more_of(container, list == "containers"))
                .collect();
            if !changed.is_empty() {
                spec[list] = json!(changed);
            } else if let Value::Object(members) = &mut *spec {
                members.remove(list);
            }
        }
        if self.percent(60) {
            let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
            for i in 0..=self.random.below(3) {
                let mut volume = self.plain_volume();
                volume["name"] = json!(format!("extra-{i}"));
                volumes.push(volume);
            }
            spec["volumes"] = json!(volumes);
        }
        for (field, value) in [
            ("terminationGracePeriodSeconds", json!(self.random.one(&[0, 1, 30, 45, -3]))),
            ("dnsPolicy", json!(self.one(&["Default", "ClusterFirstWithHostNet", "ClusterFirst", ""]))),
            ("restartPolicy", json!(self.one(&["Always", "OnFailure", "Never", ""]))),
            ("schedulerName", json!(self.one(&["default-scheduler", "", "other"]))),
            ("securityContext", json!({"runAsUser": 1000, "fsGroup": 2})),
            ("enableServiceLinks", json!(self.percent(50))),
            ("serviceAccount", json!("robot")),
            ("serviceAccountName", json!("robot")),
            ("automountServiceAccountToken", json!(false)),
            ("activeDeadlineSeconds", json!(60)),
            ("hostname", json!("host")),
            ("setHostnameAsFQDN", json!(true)),
            ("hostPID", json!(true)),
            ("shareProcessNamespace", json!(true)),
            ("hostUsers", json!(self.percent(50))),
            ("os", json!({"name": "linux"})),
            ("priorityClassName", json!("high")),
            ("preemptionPolicy", json!("Never")),
            ("readinessGates", json!([{"conditionType": "example.com/ready"}])),
            ("imagePullSecrets", json!([{"name": "pull"}])),
            ("hostAliases", json!([{"ip": "10.0.0.9", "hostnames": ["a"]}])),
            ("dnsConfig", json!({"options": [{"name": "ndots", "value": "2"}]})),
        ] {
            if self.percent(12) {
                spec[field] = value;
            }
        }
    }

    fn more_of(&mut self, mut container: Value, is_main: bool) -> Value {
        if is_main || container["restartPolicy"] == "Always" {
            for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
                if self.percent(15) {
                    container[name] = self.probe(name != "readinessProbe");
                }
            }
            if self.percent(15) {
                let hook = match self.random.below(3) {
                    0 => json!({"exec": {"command": ["true"]}}),
                    1 => json!({"httpGet": {"port": 80}}),
                    _ => json!({"sleep": {"seconds": 5}}),
                };
                container["lifecycle"] = json!({self.one(&["preStop", "postStart"]): hook});
            }
        }
        if self.percent(20) {
            let source = match self.random.below(5) {
                0 => json!({"fieldRef": {"fieldPath": "metadata.name"}}),
                1 => json!({"fieldRef": {"fieldPath": "spec.nodeName", "apiVersion": "v1"}}),
                2 => json!({"resourceFieldRef": {"resource": self.one(&["limits.cpu", "requests.memory"])}}),
                3 => json!({"secretKeyRef": {"name": "s", "key": "k"}}),
                _ => json!({"configMapKeyRef": {"name": "c", "key": "k", "optional": true}}),
            };
            container["env"] = json!([{"name": "A", "value": "b"}, {"name": "B", "valueFrom": source}]);
        }
        for (field, value) in [
            ("terminationMessagePath", json!("/tmp/log")),
            ("terminationMessagePolicy", json!("FallbackToLogsOnError")),
            ("imagePullPolicy", json!(self.one(&["Always", "Never", "IfNotPresent", ""]))),
            ("securityContext", json!({"privileged": true})),
            ("securityContext", json!({"capabilities": {"add": ["NET_ADMIN"]}, "procMount": "Default"})),
            ("stdin", json!(true)),
            ("command", json!(["sh"])),
            ("resizePolicy", json!([{"resourceName": "cpu", "restartPolicy": "NotRequired"}])),
            ("workingDir", json!("/")),
        ] {
            if self.percent(8) {
                container[field] = value;
            }
        }
        container
    }

    fn probe(&mut self, has_grace: bool) -> Value {
        let mut probe = match self.random.below(4) {
            0 => json!({"exec": {"command": ["true"]}}),
            1 => json!({"tcpSocket": {"port": 80}}),
            2 => json!({"grpc": {"port": 80}}),
            _ => {
                json!({"httpGet": {"port": "web", "path": self.one(&["", "/ok"]), "scheme": self.one(&["", "HTTPS"])}})
            }
        };
        for field in ["timeoutSeconds", "periodSeconds", "failureThreshold", "initialDelaySeconds"] {
            if self.percent(20) {
                probe[field] = json!(self.random.below(4));
            }
        }
        if has_grace && self.percent(10) {
            probe["terminationGracePeriodSeconds"] = json!(10);
        }
        probe
    }

    fn plain_volume(&mut self) -> Value {
        let token = json!({"serviceAccountToken": {"path": "token"}});
        let field = json!({"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}});
        match self.random.below(17) {
            0 => json!({}),
            1 => json!({"emptyDir": {"medium": "Memory", "sizeLimit": "0.5Gi"}}),
            2 => json!({"hostPath": {"path": "/x"}}),
            3 => json!({"hostPath": {"path": "/x", "type": "Directory"}}),
            4 => json!({"secret": {"secretName": "s"}}),
            5 => {
                json!({"secret": {"secretName": "s", "defaultMode": 0, "items": [{"key": "k", "path": "p"}]}})
            }
            6 => json!({"configMap": {"name": "c", "optional": true}}),
            7 => json!({"downwardAPI": {"items": [field]}}),
            8 => {
                json!({"projected": {"sources": [token, {"configMap": {"name": "c"}}, {"downwardAPI": {"items": [field]}}]}})
            }
            9 => json!({"nfs": {"server": "s", "path": "/p"}}),
            10 => json!({"image": {"reference": self.one(&["app", "app:1", "app:latest"])}}),
            11 => json!({"ephemeral": {"volumeClaimTemplate": {"spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": self.one(&["0.5Gi", "1000000001m"])}},
            }}}}),
            12 => {
                json!({"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:z", "lun": 1}})
            }
            13 => json!({"rbd": {"monitors": ["m9:1"], "image": "z"}}),
            14 => {
                json!({"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/x/d9", "kind": "Managed"}})
            }
            15 => {
                json!({"scaleIO": {"gateway": "https://g", "system": "s", "secretRef": {"name": "n"}, "volumeName": "v"}})
            }
            _ => json!({"csi": {"driver": "inline.example.com"}}),
        }
    }
}
