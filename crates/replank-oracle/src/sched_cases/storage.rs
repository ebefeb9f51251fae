//! Volumes, claims, and what they stand on.

use serde_json::{Map, Value, json};

use super::{EBS_ZONE, HOSTNAME, MADE, Maker, NAMESPACES, OLD_REGION, OLD_ZONE, REGION, ZONE, ZONES};

const CLAIMS: u64 = 4;
const EBS: &str = "ebs.csi.aws.com";
const LVM: &str = "lvm.csi.example.com";
const EFS: &str = "efs.csi.aws.com";

/// Classes: name, provisioner, binding mode.
const CLASSES: [(&str, &str, &str); 10] = [
    ("gp2", "kubernetes.io/aws-ebs", "Immediate"),
    ("gp2-wffc", "kubernetes.io/aws-ebs", "WaitForFirstConsumer"),
    ("gp3", EBS, "Immediate"),
    ("gp3-wffc", EBS, "WaitForFirstConsumer"),
    ("near", EBS, "WaitForFirstConsumer"),
    ("local-nvme", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
    ("lvm", LVM, "WaitForFirstConsumer"),
    ("efs", EFS, "Immediate"),
    ("pd", "kubernetes.io/gce-pd", "WaitForFirstConsumer"),
    ("azf", "kubernetes.io/azure-file", "WaitForFirstConsumer"),
];

impl Maker<'_> {
    fn class(&mut self) -> String {
        let names: Vec<&str> = CLASSES.iter().map(|(name, _, _)| *name).collect();
        if self.percent(4) { "no-such-class".to_owned() } else { self.one(&names) }
    }

    /// The volumes of a pod.
    pub(super) fn volumes(&mut self) -> Value {
        let count = 1 + self.random.below(3);
        let mut volumes = Vec::new();
        for i in 0..count {
            let mut volume = match self.random.below(18) {
                16 => {
                    json!({"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/x/d1", "kind": "Managed"}})
                }
                17 => {
                    json!({self.one(&["cinder", "portworxVolume"]): {"volumeID": self.one(&["cd-1", "cd-2"])}})
                }
                0 => json!({"awsElasticBlockStore": {"volumeID": self.disk(), "readOnly": self.percent(50)}}),
                1 => {
                    json!({"gcePersistentDisk": {"pdName": self.one(&["pd-1", "pd-2"]), "readOnly": self.percent(60)}})
                }
                2 => json!({"iscsi": {
                    "targetPortal": self.one(&["10.0.0.1:3260", "10.0.0.2:3260"]), "iqn": self.one(&["iqn.2001-04.com.example:a", "iqn.2001-04.com.example:b"]),
                    "lun": self.random.below(2), "readOnly": self.percent(60),
                }}),
                3 => json!({"rbd": {
                    "monitors": self.random.some(&["m1:1", "m2:1", "m3:1"], 60), "image": self.one(&["x", "y"]), "pool": self.one(&["rbd", "other"]),
                    "readOnly": self.percent(60),
                }}),
                4 => json!({"emptyDir": {}}),
                5 => {
                    let spec = json!({
                        "accessModes": ["ReadWriteOnce"], "storageClassName": self.class(),
                        "resources": {"requests": {"storage": "5Gi"}},
                    });
                    json!({"ephemeral": {"volumeClaimTemplate": {"spec": spec}}})
                }
                6 => json!({"csi": {"driver": self.one(&[EBS, "inline.example.com"])}}),
                _ => {
                    json!({"persistentVolumeClaim": {"claimName": format!("c{}", self.random.below(CLAIMS)), "readOnly": self.percent(10)}})
                }
            };
            volume["name"] = json!(format!("v{i}"));
            volumes.push(volume);
        }
        json!(volumes)
    }

    fn disk(&mut self) -> String {
        self.one(&[
            "vol-1",
            "vol-2",
            "aws://eu-west-1a/vol-3",
            "aws://eu-west-1b/vol-1",
            "aws:///vol-2",
            "odd",
        ])
    }

    pub(super) fn storage(&mut self, cluster: &mut Value) {
        cluster["storageClasses"] = json!(self.classes());
        cluster["persistentVolumes"] = json!(self.persistent_volumes());
        cluster["persistentVolumeClaims"] = json!(self.claims());
        cluster["csiNodes"] = json!(self.csi_nodes());
        cluster["csiDrivers"] = json!(self.csi_drivers());
        cluster["csiStorageCapacities"] = json!(self.capacities());
        if self.percent(15) {
            cluster["volumeAttachments"] = json!(self.attachments());
        }
    }

    fn classes(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for (name, provisioner, mode) in CLASSES {
            if self.percent(5) {
                continue;
            }
            let mut class = json!({
                "metadata": {"name": name, "uid": format!("uid-sc-{name}"), "creationTimestamp": MADE},
                "provisioner": provisioner, "volumeBindingMode": mode,
            });
            if name == "near" || self.percent(12) {
                let mut terms = Vec::new();
                for _ in 0..=self.random.below(2) {
                    let key = self.one(&[ZONE, ZONE, OLD_ZONE, EBS_ZONE, "rack"]);
                    let values = if key == "rack" { vec!["r1"] } else { self.random.some(&ZONES, 60) };
                    let mut expressions = vec![json!({"key": key, "values": values})];
                    if self.percent(30) {
                        expressions.push(json!({"key": REGION, "values": ["eu-west-1"]}));
                    }
                    terms.push(json!({"matchLabelExpressions": expressions}));
                }
                class["allowedTopologies"] = json!(terms);
            }
            all.push(class);
        }
        all
    }

    fn claim_key(&mut self) -> (String, String) {
        let namespace = self.one(&["default", "default", "prod", "prod", "staging"]);
        (namespace, format!("c{}", self.random.below(CLAIMS)))
    }

    fn persistent_volumes(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for namespace in ["default", "prod", "free"] {
            for number in 0..CLAIMS {
                if self.percent(12) {
                    continue;
                }
                let name = format!("pv-{namespace}-{number}");
                let claimed = (namespace != "free").then(|| (namespace.to_owned(), format!("c{number}")));
                let volume = self.persistent_volume(&name, claimed);
                all.push(volume);
            }
        }
        all
    }

    fn persistent_volume(&mut self, name: &str, claimed: Option<(String, String)>) -> Value {
        let class = self.class();
        let modes = self.access_modes();
        let mut volume = json!({
            "metadata": {"name": name, "uid": format!("uid-{name}"), "creationTimestamp": MADE},
            "spec": {
                "capacity": {"storage": self.one(&["2Gi", "10Gi", "30Gi", "10Gi"])}, "accessModes": modes, "storageClassName": class,
                "persistentVolumeReclaimPolicy": "Retain",
            },
            "status": {"phase": "Available"},
        });
        let (key, source) = match self.random.below(15) {
            0..=1 => ("awsElasticBlockStore", json!({"volumeID": self.disk()})),
            2 => ("gcePersistentDisk", json!({"pdName": self.one(&["pd-1", "pd-2"])})),
            3..=4 => ("local", json!({"path": "/mnt/d"})),
            5 => ("csi", json!({"driver": EFS, "volumeHandle": format!("fs-{name}")})),
            6 => ("csi", json!({"driver": LVM, "volumeHandle": format!("lv-{name}")})),
            7 => ("hostPath", json!({"path": "/mnt/h"})),
            8 => ("azureDisk", json!({"diskName": "d", "diskURI": "/subscriptions/x/d1", "kind": "Managed"})),
            _ => {
                let handle = if self.percent(15) { "vol-shared".to_owned() } else { format!("vol-{name}") };
                ("csi", json!({"driver": EBS, "volumeHandle": handle}))
            }
        };
        volume["spec"][key] = source;
        if self.percent(35) {
            volume["metadata"]["labels"] =
                json!({self.one(&[ZONE, ZONE, OLD_ZONE, REGION, OLD_REGION]): self.zone_value()});
        }
        if self.percent(10) {
            volume["metadata"]["labels"]["media"] = json!("nvme");
        }
        if key == "local" || self.percent(35) {
            volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": self.volume_terms()}});
        }
        if self.percent(10) {
            volume["spec"]["volumeMode"] = json!("Block");
        }
        if self.percent(5) {
            volume["spec"]["volumeAttributesClassName"] = json!("gold");
        }
        let claim = match claimed {
            Some(claim) if self.percent(85) => Some(claim),
            Some(_) | None if self.percent(10) => Some(self.claim_key()),
            Some(_) | None => None,
        };
        if let Some((namespace, claim)) = claim {
            volume["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": claim});
            if self.percent(85) {
                volume["spec"]["claimRef"]["uid"] = json!(format!("uid-pvc-{namespace}-{claim}"));
            }
            volume["status"]["phase"] =
                json!(self.one(&["Bound", "Bound", "Available", "Released", "Failed"]));
        }
        if self.percent(3) {
            volume["metadata"]["deletionTimestamp"] = json!("2026-11-02T00:00:00Z");
        }
        volume
    }

    fn zone_value(&mut self) -> String {
        match self.random.below(8) {
            0 => "eu-west-1a__eu-west-1b".to_owned(),
            1 => "eu-west-1".to_owned(),
            2 => self.one(&["", "eu-west-1a__", "__", "nowhere"]),
            _ => self.one(&ZONES),
        }
    }

    fn volume_terms(&mut self) -> Vec<Value> {
        let count = 1 + u64::from(self.percent(25));
        let mut terms = Vec::new();
        for _ in 0..count {
            let mut term = json!({});
            if self.percent(90) {
                let key = self.one(&[ZONE, ZONE, HOSTNAME, HOSTNAME, EBS_ZONE, OLD_ZONE, OLD_REGION, "rack"]);
                let value = |maker: &mut Self| match key.as_str() {
                    HOSTNAME => maker.some_node(),
                    "rack" => "r1".to_owned(),
                    OLD_REGION => "eu-west-1".to_owned(),
                    _ => maker.one(&ZONES),
                };
                let mut values = vec![value(self)];
                if self.percent(40) {
                    values.push(value(self));
                }
                term["matchExpressions"] = json!([{"key": key, "operator": self.one(&["In", "In", "In", "NotIn"]), "values": values}]);
                if self.percent(10) {
                    term["matchExpressions"][0] =
                        json!({"key": key, "operator": self.one(&["Exists", "DoesNotExist"])});
                }
            }
            if self.percent(12) {
                term["matchFields"] =
                    json!([{"key": "metadata.name", "operator": "In", "values": [self.some_node()]}]);
            }
            terms.push(term);
        }
        terms
    }

    fn access_modes(&mut self) -> Value {
        let modes: &[&[&str]] = &[
            &["ReadWriteOnce"],
            &["ReadWriteOnce"],
            &["ReadWriteOnce"],
            &["ReadWriteOncePod"],
            &["ReadWriteMany"],
            &["ReadOnlyMany", "ReadWriteOnce"],
        ];
        json!(self.random.one(modes))
    }

    fn claims(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for namespace in NAMESPACES {
            for number in 0..CLAIMS {
                if self.percent(4) {
                    continue;
                }
                let claim = self.claim(namespace, &format!("c{number}"), &format!("pv-{namespace}-{number}"));
                all.push(claim);
            }
            // Those of generic ephemeral volumes.
            for name in ["incoming-v0", "incoming-v1", "p00-v0", "p01-v0"] {
                if self.percent(40) {
                    let mut claim = self.claim(namespace, name, "pv-free-0");
                    let pod = name.split('-').next().unwrap_or_default();
                    if pod != "incoming" || self.percent(75) {
                        let uid = if pod != "incoming" || self.percent(85) {
                            format!("uid-{namespace}-{pod}")
                        } else {
                            "uid-other".to_owned()
                        };
                        claim["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": true}]);
                    }
                    all.push(claim);
                }
            }
        }
        all
    }

    fn claim(&mut self, namespace: &str, name: &str, volume: &str) -> Value {
        let mut claim = json!({
            "metadata": {"name": name, "namespace": namespace, "uid": format!("uid-pvc-{namespace}-{name}"), "creationTimestamp": MADE},
            "spec": {
                "accessModes": self.access_modes(), "resources": {"requests": {"storage": self.one(&["1Gi", "5Gi", "10Gi", "40Gi"])}},
            },
            "status": {"phase": "Pending"},
        });
        // Claims without volume wait for their pod more often than not: others keep the pod off all nodes.
        let waiting = ["gp3-wffc", "gp2-wffc", "near", "local-nvme", "lvm"];
        if self.percent(55) {
            claim["spec"]["storageClassName"] = json!(self.one(&waiting));
        } else if self.percent(92) {
            claim["spec"]["storageClassName"] =
                json!(if self.percent(4) { String::new() } else { self.class() });
        } else if self.percent(50) {
            claim["metadata"]["annotations"] =
                json!({"volume.beta.kubernetes.io/storage-class": self.class()});
        }
        let mut annotations = Map::new();
        match self.random.below(14) {
            0..=4 | 12.. => {
                let volume = if self.percent(6) { "pv-gone" } else { volume };
                claim["spec"]["volumeName"] = json!(volume);
                if self.percent(92) {
                    annotations.insert("pv.kubernetes.io/bind-completed".into(), json!("yes"));
                }
                claim["status"]["phase"] = json!(if self.percent(93) { "Bound" } else { "Lost" });
            }
            5..=6 => {
                annotations.insert("volume.kubernetes.io/selected-node".into(), json!(self.some_node()));
            }
            7 => claim["spec"]["selector"] = json!({"matchLabels": {"media": "nvme"}}),
            _ => {}
        }
        if !annotations.is_empty() {
            claim["metadata"]["annotations"] = Value::Object(annotations);
        }
        if self.percent(8) {
            claim["spec"]["volumeMode"] = json!("Block");
        }
        if self.percent(5) {
            claim["spec"]["volumeAttributesClassName"] = json!(self.one(&["gold", "silver"]));
        }
        if self.percent(3) {
            claim["metadata"]["deletionTimestamp"] = json!("2026-11-02T00:00:00Z");
        }
        claim
    }

    fn csi_nodes(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for node in self.nodes.clone() {
            if self.percent(15) {
                continue;
            }
            let mut drivers = Vec::new();
            for driver in
                [EBS, LVM, EFS, "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org"]
            {
                if self.percent(75) {
                    let mut entry = json!({"name": driver, "nodeID": node, "topologyKeys": [EBS_ZONE]});
                    if self.percent(65) {
                        entry["allocatable"] = json!({"count": self.random.one(&[0, 1, 1, 2, 3, 25])});
                    } else if self.percent(20) {
                        entry["allocatable"] = json!({});
                    }
                    drivers.push(entry);
                }
            }
            let mut metadata =
                json!({"name": node, "uid": format!("uid-csi-{node}"), "creationTimestamp": MADE});
            if self.percent(80) {
                let migrated = self.one(&[
                    "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/gce-pd,kubernetes.io/cinder",
                    "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/gce-pd",
                    "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/gce-pd",
                    "kubernetes.io/gce-pd",
                    "",
                ]);
                metadata["annotations"] = json!({"storage.alpha.kubernetes.io/migrated-plugins": migrated});
            }
            all.push(json!({"metadata": metadata, "spec": {"drivers": drivers}}));
        }
        all
    }

    fn csi_drivers(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for driver in [EBS, LVM, EFS] {
            if self.percent(85) {
                let capacity = driver == LVM && self.percent(85) || self.percent(5);
                let mut spec = json!({"attachRequired": driver == EBS, "storageCapacity": capacity});
                if self.percent(20) {
                    spec["preventPodSchedulingIfMissing"] = json!(true);
                }
                all.push(json!({"metadata": {"name": driver, "uid": format!("uid-{driver}"), "creationTimestamp": MADE}, "spec": spec}));
            }
        }
        all
    }

    fn capacities(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for i in 0..self.random.below(7) {
            let mut capacity = json!({
                "metadata": {"name": format!("cap-{i}"), "namespace": self.one(&NAMESPACES), "uid": format!("uid-cap-{i}"), "creationTimestamp": MADE},
                "storageClassName": self.one(&["lvm", "lvm", "gp3-wffc", "gone"]),
            });
            if self.percent(90) {
                capacity["nodeTopology"] = match self.random.below(4) {
                    0 => json!({}),
                    1 => json!({"matchLabels": {HOSTNAME: self.some_node()}}),
                    2 => {
                        json!({"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": [self.one(&ZONES)]}]})
                    }
                    _ => json!({"matchLabels": {ZONE: self.one(&ZONES)}}),
                };
            }
            if self.percent(85) {
                capacity["capacity"] = json!(self.one(&["1Gi", "5Gi", "10Gi", "100Gi"]));
            }
            if self.percent(30) {
                capacity["maximumVolumeSize"] = json!(self.one(&["1Gi", "5Gi", "50Gi"]));
            }
            all.push(capacity);
        }
        all
    }

    fn attachments(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for i in 0..=self.random.below(4) {
            let volume =
                format!("pv-{}-{}", self.one(&["default", "prod", "free"]), self.random.below(CLAIMS));
            all.push(json!({
                "metadata": {"name": format!("va-{i}"), "uid": format!("uid-va-{i}"), "creationTimestamp": MADE},
                "spec": {"attacher": self.one(&[EBS, EBS, LVM]), "nodeName": self.some_node(), "source": {"persistentVolumeName": volume}},
            }));
        }
        all
    }
}
