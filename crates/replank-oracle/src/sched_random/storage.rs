//! Volumes, claims, and what they stand on.

use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::view::Change;
use serde_json::{Value, json};

use super::{Cluster, HOSTNAME, NAMESPACES, Random, ZONE, ZONES};

const CLASSES: [&str; 5] = ["wait", "now", "local", "near", "told"];

impl Cluster {
    pub(super) fn storage(&mut self) {
        for class in CLASSES {
            let mode = if class == "now" { "Immediate" } else { "WaitForFirstConsumer" };
            let provisioner = match class {
                "local" => "kubernetes.io/no-provisioner",
                "told" => "told.csi",
                _ => "ebs.csi.aws.com",
            };
            let mut object = json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class},
                "provisioner": provisioner, "volumeBindingMode": mode,
            });
            if class == "near" {
                object["allowedTopologies"] =
                    json!([{"matchLabelExpressions": [{"key": ZONE, "values": ["z-a", "z-b"]}]}]);
            }
            self.put(object);
        }
        self.put(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "told.csi"},
            "spec": {"storageCapacity": true},
        }));
        for zone in ZONES {
            let size = if zone == "z-c" { "1Gi" } else { "100Gi" };
            self.put(json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
                "metadata": {"name": zone, "namespace": "default"}, "storageClassName": "told", "capacity": size,
                "nodeTopology": {"matchLabels": {ZONE: zone}},
            }));
        }
    }

    pub(super) fn volumes(&mut self) -> Vec<Value> {
        let random = &mut self.random;
        let claim = |random: &mut Random| format!("c{}", random.below(5));
        let mut volumes = vec![match random.below(6) {
            0 => {
                json!({"name": "v", "awsElasticBlockStore": {"volumeID": format!("vol-{}", random.below(3))}})
            }
            1 => json!({"name": "v", "iscsi": {
                "targetPortal": "x", "iqn": "iqn", "lun": 0, "readOnly": random.percent(60),
            }}),
            2 => json!({"name": "v", "emptyDir": {}}),
            _ => json!({"name": "v", "persistentVolumeClaim": {"claimName": claim(random)}}),
        }];
        if random.percent(30) {
            volumes.push(json!({"name": "w", "persistentVolumeClaim": {"claimName": claim(random)}}));
        }
        if random.percent(4) {
            volumes.push(json!({"name": "e", "ephemeral": {}}));
        }
        volumes
    }

    pub(super) fn volume_object(&mut self) -> Vec<Change> {
        match self.random.below(12) {
            0..=5 => self.claim(),
            6..=9 => self.volume(),
            10 => self.csi_node(),
            _ => self.attachment(),
        }
    }

    fn claim(&mut self) -> Vec<Change> {
        let number = self.random.below(5);
        let namespace = self.random.one(&NAMESPACES);
        let name = format!("c{number}");
        let key = Key::new(namespace, name.as_str());
        if let Some(claim) = self.view.persistent_volume_claims.by_key(&key).cloned()
            && self.random.percent(25)
        {
            return vec![self.remove(&Object::from(claim).reference())];
        }
        let mode = self.random.one(&["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"]);
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")},
            "spec": {
                "accessModes": [mode], "storageClassName": self.random.one(&CLASSES),
                "resources": {"requests": {"storage": self.random.one(&["1Gi", "5Gi", "20Gi"])}},
            },
        });
        match self.random.below(10) {
            0..=4 => {
                let volume =
                    if self.random.percent(92) { format!("pv{number}") } else { "pv-gone".to_owned() };
                claim["spec"]["volumeName"] = json!(volume);
                claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
                claim["status"] = json!({"phase": if self.random.percent(95) { "Bound" } else { "Lost" }});
            }
            5 => {
                if let Some(node) = self.some_node() {
                    claim["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": node});
                }
            }
            6 if self.random.percent(30) => {
                claim["metadata"]["deletionTimestamp"] = json!("2026-11-01T00:00:00Z");
            }
            _ => {}
        }
        vec![self.put(claim)]
    }

    fn volume(&mut self) -> Vec<Change> {
        let number = self.random.below(5);
        let name = format!("pv{number}");
        if let Some(volume) = self.view.persistent_volumes.by_key(&Key::cluster(name.as_str())).cloned()
            && self.random.percent(15)
        {
            return vec![self.remove(&Object::from(volume).reference())];
        }
        let zone = self.random.one(&ZONES);
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "uid": format!("uid-{name}")},
            "spec": {
                "capacity": {"storage": self.random.one(&["2Gi", "8Gi", "30Gi"])},
                "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"], "storageClassName": self.random.one(&CLASSES),
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": format!("vol-{number}")},
            },
            "status": {"phase": self.random.one(&["Available", "Available", "Bound"])},
        });
        if self.random.percent(20) {
            // A disk of the old kind.
            let id = self.random.one(&["vol-1", "aws://z-a/vol-2"]);
            volume["spec"]["csi"] = Value::Null;
            volume["spec"]["awsElasticBlockStore"] = json!({"volumeID": id});
        }
        if self.random.percent(40) {
            let value = if self.random.percent(70) { zone.to_owned() } else { format!("{zone}__z-a") };
            volume["metadata"]["labels"] = json!({ZONE: value});
        }
        if self.random.percent(50) {
            let expression = match self.some_node() {
                Some(node) if self.random.percent(40) => {
                    json!({"key": HOSTNAME, "operator": "In", "values": [node]})
                }
                Some(_) | None => json!({"key": ZONE, "operator": "In", "values": [zone]}),
            };
            volume["spec"]["nodeAffinity"] =
                json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}});
        }
        if self.random.percent(25) {
            let namespace = self.random.one(&NAMESPACES);
            volume["spec"]["claimRef"] = json!({"namespace": namespace, "name": format!("c{number}"), "uid": format!("{namespace}-c{number}")});
        }
        vec![self.put(volume)]
    }

    fn csi_node(&mut self) -> Vec<Change> {
        let Some(node) = self.some_node() else { return Vec::new() };
        let count = 1 + self.random.below(2);
        let migrated =
            self.random.one(&["kubernetes.io/aws-ebs,kubernetes.io/gce-pd", "kubernetes.io/gce-pd", ""]);
        vec![self.put(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
            "metadata": {"name": node, "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": migrated}},
            "spec": {"drivers": [
                {"name": "ebs.csi.aws.com", "nodeID": node, "allocatable": {"count": count}},
                {"name": "told.csi", "nodeID": node, "allocatable": {"count": 1}},
            ]},
        }))]
    }

    fn attachment(&mut self) -> Vec<Change> {
        let number = self.random.below(4);
        let name = format!("va{number}");
        let known = self.view.volume_attachments.by_key(&Key::cluster(name.as_str())).cloned();
        if let Some(attachment) = known
            && self.random.percent(50)
        {
            return vec![self.remove(&Object::from(attachment).reference())];
        }
        let Some(node) = self.some_node() else { return Vec::new() };
        let volume = format!("pv{}", self.random.below(5));
        vec![self.put(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name},
            "spec": {"attacher": "ebs.csi.aws.com", "nodeName": node, "source": {"persistentVolumeName": volume}},
        }))]
    }
}
