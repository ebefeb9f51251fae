//! Deployments, StatefulSets, Jobs, and their pods and budgets.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::parts::{ZONES, ago, dedicate, meta, owner, running, spec, suffix, tolerate_five_minutes};
use super::{BigCluster, DAEMONS, Group, PODS, STATEFUL, nodes};

/// Replicas of Deployments, in turn.
const REPLICAS: [usize; 9] = [2, 3, 4, 6, 10, 20, 30, 3, 2];
/// What a Deployment's pod asks for, in turn: thousandths of a CPU and MiB.
const REQUESTS: [(usize, usize); 5] = [(250, 512), (500, 1_024), (100, 256), (750, 1_536), (250, 768)];
/// Pods of a Job that run at once.
const PARALLELISM: usize = 9;
/// Finished Jobs to learn run times from.
const FINISHED: usize = 12;
/// Numbers of Deployments on data nodes begin here.
const ON_DATA: usize = 100_000;

/// Everything but nodes and what runs on every node.
pub(super) fn all(cluster: BigCluster) -> impl Iterator<Item = Value> {
    let general = cluster.size(Group::General) * (PODS - DAEMONS);
    let on_data = cluster.size(Group::Data) * (PODS - DAEMONS - STATEFUL);
    let stateful = cluster.size(Group::Data) * STATEFUL / ZONES.len();
    let jobs = cluster.size(Group::Batch) * (PODS - DAEMONS) / PARALLELISM;
    let slots = [Group::General, Group::Data, Group::Batch].map(|group| cluster.size(group));
    let deployments = |pods, first, group, nodes| {
        Cut { left: pods, next: first }.flat_map(move |(index, first_pod, replicas)| {
            Deployment { index, replicas, first_pod, group, nodes }.objects()
        })
    };
    deployments(general, 0, Group::General, slots[0])
        .chain(deployments(on_data, ON_DATA, Group::Data, slots[1]))
        .chain((0..stateful).flat_map(move |index| stateful_set(index, slots[1])))
        .chain((0..jobs).flat_map(move |index| job(index, slots[2])))
        .chain((0..FINISHED).map(finished_job))
}

/// Cuts a number of pods into Deployments: number, first pod, replicas.
struct Cut {
    left: usize,
    next: usize,
}

impl Iterator for Cut {
    type Item = (usize, usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let replicas = REPLICAS[self.next % REPLICAS.len()];
        // A single pod that is left over goes to the last one: its budget could never allow anything.
        let replicas = if self.left <= replicas + 1 { self.left } else { replicas };
        self.left -= replicas;
        let cut = (self.next, self.left, replicas);
        self.next += 1;
        Some(cut)
    }
}

struct Deployment {
    index: usize,
    replicas: usize,
    /// Number of its first pod among those of its nodes: pod after pod goes to node after node.
    first_pod: usize,
    group: Group,
    nodes: usize,
}

impl Deployment {
    fn objects(self) -> impl Iterator<Item = Value> {
        let name = format!("app-{:05}", self.index);
        let set = format!("{name}-{}", suffix(self.index));
        let labels = json!({"app": name});
        let template = Arc::new(self.template(&name));
        let hashed = json!({"app": name, "pod-template-hash": suffix(self.index)});
        let mut objects = vec![
            self.deployment(&name, &labels, &template),
            self.replica_set(&name, &set, &hashed, &template),
        ];
        objects.extend(self.budget(&name, &labels));
        objects
            .into_iter()
            .chain((0..self.replicas).map(move |replica| self.pod(&set, &hashed, &template, replica)))
    }

    fn template(&self, name: &str) -> Map<String, Value> {
        let (cpu, memory) = REQUESTS[self.index % REQUESTS.len()];
        let mut spec = spec(&format!("registry.example/{name}:1"), cpu, memory);
        let own = json!({"matchLabels": {"app": name}});
        match self.index % 5 {
            1 => {
                let spread = json!([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": own}]);
                spec.insert("topologySpreadConstraints".into(), spread);
            }
            3 => {
                let term = json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": own});
                let affinity = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "podAffinityTerm": term}]}});
                spec.insert("affinity".into(), affinity);
            }
            _ => {}
        }
        if self.group == Group::Data {
            dedicate(&mut spec, self.group.name());
        }
        spec
    }

    fn deployment(&self, name: &str, labels: &Value, template: &Map<String, Value>) -> Value {
        let replicas = self.replicas;
        let mut meta = meta("Deployment", self.index, "apps", name, labels);
        meta["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "progressDeadlineSeconds": 600,
                "revisionHistoryLimit": 10, "template": {"metadata": {"labels": labels}, "spec": template},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}},
            "status": {"observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas,
                "availableReplicas": replicas,
                "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}]}})
    }

    fn replica_set(&self, name: &str, set: &str, labels: &Value, template: &Map<String, Value>) -> Value {
        let replicas = self.replicas;
        let mut meta = meta("ReplicaSet", self.index, "apps", set, labels);
        meta["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
        meta["ownerReferences"] = owner("apps/v1", "Deployment", self.index, name);
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta,
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": template}},
            "status": {"replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": replicas,
                "availableReplicas": replicas, "observedGeneration": 1}})
    }

    /// Four of five have one. A quarter, rounded up as Kubernetes does it, or one less than all.
    fn budget(&self, name: &str, labels: &Value) -> Option<Value> {
        let (rule, desired) = match self.index % 5 {
            4 => return None,
            2 => (json!({"minAvailable": self.replicas - 1}), self.replicas - 1),
            _ => (json!({"maxUnavailable": "25%"}), self.replicas - self.replicas.div_ceil(4)),
        };
        Some(budget(self.index, "apps", name, labels, rule, self.replicas, desired))
    }

    fn pod(&self, set: &str, labels: &Value, template: &Map<String, Value>, replica: usize) -> Value {
        let place = self.first_pod + replica;
        let number = if self.group == Group::Data { 10_000_000 + place } else { place };
        let mut meta = meta("Pod", number, "apps", &format!("{set}-{}", suffix(number)), labels);
        meta["ownerReferences"] = owner("apps/v1", "ReplicaSet", self.index, set);
        let mut spec = template.clone();
        spec.insert("nodeName".into(), nodes::name(self.group, place % self.nodes).into());
        tolerate_five_minutes(&mut spec);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec,
            "status": running(70_000 + self.index % 1_000, 4 + (self.index * 7 + replica) % 40)})
    }
}

fn budget(
    number: usize,
    namespace: &str,
    name: &str,
    labels: &Value,
    rule: Value,
    pods: usize,
    desired: usize,
) -> Value {
    let mut spec = rule;
    spec["selector"] = json!({"matchLabels": labels});
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": meta("PodDisruptionBudget", number, namespace, name, labels), "spec": spec,
        "status": {"observedGeneration": 1, "currentHealthy": pods, "desiredHealthy": desired, "expectedPods": pods,
            "disruptionsAllowed": pods - desired}})
}

/// Three pods, each with a volume of its node's zone.
fn stateful_set(index: usize, nodes: usize) -> Vec<Value> {
    let replicas = ZONES.len();
    let name = format!("store-{index:05}");
    let labels = json!({"app": name});
    let mut template = spec("registry.example/store:1", 400, 2_048);
    template.insert("terminationGracePeriodSeconds".into(), 120.into());
    dedicate(&mut template, Group::Data.name());
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3",
        "resources": {"requests": {"storage": "100Gi"}}}});
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta("StatefulSet", index, "data", &name, &labels),
        "spec": {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": labels}, "podManagementPolicy": "OrderedReady",
            "template": {"metadata": {"labels": labels}, "spec": template}, "volumeClaimTemplates": [claim],
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
        "status": {"observedGeneration": 1, "replicas": replicas, "readyReplicas": replicas, "currentReplicas": replicas,
            "updatedReplicas": replicas, "availableReplicas": replicas, "currentRevision": format!("{name}-1"),
            "updateRevision": format!("{name}-1")}});
    let rule = json!({"maxUnavailable": 1});
    let mut objects =
        vec![set, budget(ON_DATA * 2 + index, "data", &name, &labels, rule, replicas, replicas - 1)];
    for ordinal in 0..replicas {
        objects.extend(member(index, ordinal, nodes, &name, &template));
    }
    objects
}

/// A StatefulSet's pod, its claim and its volume.
fn member(
    index: usize,
    ordinal: usize,
    nodes: usize,
    set: &str,
    template: &Map<String, Value>,
) -> [Value; 3] {
    let number = index * ZONES.len() + ordinal;
    // Node after node, so that each node gets as many as any other; its zone is the volume's.
    let node = number % nodes;
    let zone = ZONES[node % ZONES.len()];
    let (pod, claim, volume) =
        (format!("{set}-{ordinal}"), format!("data-{set}-{ordinal}"), format!("pv-{number:06}"));
    let labels = json!({"app": set, "apps.kubernetes.io/pod-index": ordinal.to_string(),
        "statefulset.kubernetes.io/pod-name": pod, "controller-revision-hash": format!("{set}-1")});
    let mut pod_meta = meta("StatefulPod", number, "data", &pod, &labels);
    pod_meta["ownerReferences"] = owner("apps/v1", "StatefulSet", index, set);
    let mut spec = template.clone();
    spec.insert("nodeName".into(), nodes::name(Group::Data, node).into());
    spec.insert("hostname".into(), pod.clone().into());
    spec.insert("subdomain".into(), set.into());
    spec.insert("volumes".into(), json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]));
    tolerate_five_minutes(&mut spec);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": pod_meta, "spec": spec,
        "status": running(60_000, 20 + number % 40)});
    let claim_uid = super::parts::uid("PersistentVolumeClaim", number);
    let storage = json!({"storage": "100Gi"});
    let mut claim_meta = meta("PersistentVolumeClaim", number, "data", &claim, &json!({"app": set}));
    claim_meta["annotations"] =
        json!({"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"});
    let claim_object = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": claim_meta,
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3", "volumeName": volume, "volumeMode": "Filesystem",
            "resources": {"requests": storage}},
        "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": storage}});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta("PersistentVolume", number, "", &volume, &json!({})),
        "spec": {"capacity": storage, "accessModes": ["ReadWriteOnce"], "storageClassName": "gp3", "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": format!("vol-{number:017x}")},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "data", "name": claim, "uid": claim_uid},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.ebs.csi.aws.com/zone", "operator": "In", "values": [zone]}]}]}}},
        "status": {"phase": "Bound"}});
    [pod, claim_object, volume]
}

fn job_spec() -> Map<String, Value> {
    let mut spec = spec("registry.example/job:1", 400, 1_024);
    spec.insert("restartPolicy".into(), "Never".into());
    dedicate(&mut spec, Group::Batch.name());
    spec
}

/// A Job in the middle of its work.
fn job(index: usize, nodes: usize) -> Vec<Value> {
    let name = format!("work-{index:05}");
    let uid = super::parts::uid("Job", index);
    let labels = json!({"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name, "job-name": name,
        "controller-uid": uid});
    let started = 300 + index * 97 % 2_700;
    let mut job_meta = meta("Job", index, "batch", &name, &labels);
    job_meta["creationTimestamp"] = ago(started).into();
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": job_meta,
        "spec": {"parallelism": PARALLELISM, "completions": PARALLELISM, "backoffLimit": 6, "completionMode": "NonIndexed",
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
            "template": {"metadata": {"labels": labels}, "spec": job_spec()}},
        "status": {"active": PARALLELISM, "ready": PARALLELISM, "startTime": ago(started), "uncountedTerminatedPods": {}}});
    let mut objects = vec![job];
    objects.extend((0..PARALLELISM).map(|at| {
        let number = index * PARALLELISM + at;
        let mut meta = meta("JobPod", number, "batch", &format!("{name}-{}", suffix(number)), &labels);
        meta["ownerReferences"] = owner("batch/v1", "Job", index, &name);
        meta["creationTimestamp"] = ago(started).into();
        meta["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
        let mut spec = job_spec();
        spec.insert("nodeName".into(), nodes::name(Group::Batch, number % nodes).into());
        tolerate_five_minutes(&mut spec);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": running(started, 5 + number % 10)})
    }));
    objects
}

/// A Job that is done, without its pods: its two times tell how long such a run takes.
fn finished_job(index: usize) -> Value {
    let name = format!("done-{index:05}");
    let (started, took) = (90_000 - index * 5_000, 1_800 + index * 240);
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta("DoneJob", index, "batch", &name, &json!({})),
        "spec": {"parallelism": 1, "completions": 1, "template": {"metadata": {}, "spec": job_spec()}},
        "status": {"succeeded": 1, "startTime": ago(started), "completionTime": ago(started - took),
            "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": ago(started - took)}]}})
}
