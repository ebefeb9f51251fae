//! The section `cluster`: node groups and workloads in shorthand, expanded to ordinary objects.

use replank_model::int_or_string::IntOrString;
use replank_model::object::cloud::{Registrar, TargetGroup, UpdateStrategy};
use replank_model::object::meta::Key;
use replank_model::time::{Span, Time};
use replank_sim::{CloudTimings, Range};
use serde_json::{Value, json};

use super::file::Flaw;
use super::pods::{self, Pods};
use super::words::{Clause, Line, number_or_share, span};

/// What the section says.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) seed: u64,
    pub(super) timings: CloudTimings,
    pub(super) groups: Vec<Group>,
    pub(super) workloads: Vec<Workload>,
    /// Objects that need no expansion: disruption budgets, quotas, classes.
    pub(super) objects: Vec<Value>,
    /// Whether findings are shown with their reasons and remedies.
    pub(super) findings_whole: bool,
    /// How long things are watched, whenever the roll is over.
    pub(super) watched: Option<Span>,
    /// What the targets of autoscalers of pods are asked to do.
    pub(super) loads: Vec<Demand>,
}

/// The CPU that the pods of an autoscaler's target are asked for.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    pub(super) autoscaler: Key,
    /// Cores, from a moment on.
    pub(super) points: Vec<(Span, f64)>,
}

/// A node group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) min: Option<u32>,
    pub(super) max: Option<u32>,
    count: u32,
    zones: Vec<String>,
    capacity: Value,
    kubelet: String,
    image: String,
    instance_type: String,
    labels: Vec<(String, String)>,
    taints: Vec<Value>,
    ages: Vec<Span>,
    /// Tags of the Auto Scaling group.
    pub(super) tags: Vec<(String, String)>,
    /// Whether EKS owns it; else it is self-managed.
    pub(super) is_managed: bool,
    /// How many nodes EKS replaces at once.
    pub(super) at_once: Option<IntOrString>,
    /// In which order that is.
    pub(super) strategy: UpdateStrategy,
    /// Target groups that are attached to it, or in which a controller registers its nodes.
    pub(super) target_groups: Vec<TargetGroup>,
}

/// Something that has pods.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) kind: WorkloadKind,
    pub(super) key: Key,
    pub(super) count: u32,
    pub(super) pods: Pods,
    volume: Option<String>,
    /// A Workflow's retry policy.
    retries: Option<String>,
}

/// What has pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadKind {
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    /// An Argo Workflow: nobody makes its pods anew.
    Workflow,
    /// A pod without a controller.
    Pod,
}

const LINES: &str = "group, deployment, statefulset, daemonset, job, workflow, pod, pdb, quota, \
                     priority class, load, new nodes, seed, show, watched";

/// What a line declares.
pub(super) enum Declared {
    Workload(Box<Workload>, Vec<Value>),
    Object(Value),
}

pub(super) fn read(lines: &[(usize, &str)]) -> Result<Cluster, Flaw> {
    let mut cluster = Cluster {
        seed: 1,
        timings: timings(),
        groups: Vec::new(),
        workloads: Vec::new(),
        objects: Vec::new(),
        findings_whole: false,
        watched: None,
        loads: Vec::new(),
    };
    for (number, text) in lines {
        let line = Line::read(*number, text)?;
        match (line.kind, line.name) {
            ("group", _) => cluster.groups.push(group(&line)?),
            ("new", "nodes") => new_nodes(&line, &mut cluster.timings)?,
            ("seed", seed) => {
                cluster.seed = seed.parse().map_err(|_| line.flaw("expected a number after seed"))?;
            }
            ("watched", text) => {
                let span = text.strip_prefix("for ").and_then(span);
                cluster.watched = Some(span.ok_or_else(|| line.flaw("expected `watched for 2h`"))?);
            }
            ("load", _) => cluster.loads.push(demand(&line)?),
            ("show", "findings whole") => cluster.findings_whole = true,
            _ => match declared(&line)? {
                Declared::Workload(workload, objects) => {
                    cluster.workloads.push(*workload);
                    cluster.objects.extend(objects);
                }
                Declared::Object(object) => cluster.objects.push(object),
            },
        }
    }
    if cluster.groups.is_empty() {
        let number = lines.first().map_or(1, |(number, _)| *number);
        return Err(Flaw::new(number, "expected a node group, such as `group web: 3 nodes in a,b,c`"));
    }
    Ok(cluster)
}

/// What a line declares that may also be made during the roll.
pub(super) fn declared(line: &Line<'_>) -> Result<Declared, Flaw> {
    let kind = match line.kind {
        "deployment" => WorkloadKind::Deployment,
        "statefulset" => WorkloadKind::StatefulSet,
        "daemonset" => WorkloadKind::DaemonSet,
        "job" => WorkloadKind::Job,
        "workflow" => WorkloadKind::Workflow,
        "pod" => WorkloadKind::Pod,
        "pdb" => return Ok(Declared::Object(budget(line)?)),
        "quota" => return Ok(Declared::Object(quota(line)?)),
        "priority" => return Ok(Declared::Object(priority(line)?)),
        other => return Err(line.flaw(format!("unknown line {other:?}: expected one of {LINES}"))),
    };
    let (workload, objects) = workload(line, kind)?;
    Ok(Declared::Workload(Box::new(workload), objects))
}

/// Fixed times, so that stories differ only where something else does.
fn timings() -> CloudTimings {
    let secs = |secs| Range::secs(secs, secs);
    CloudTimings {
        react: secs(5),
        boot: secs(40),
        ready: secs(15),
        shut_down: secs(20),
        node_gone: secs(20),
        health_check: secs(90),
        target_check: secs(30),
        controller: secs(3),
        replace: secs(300),
        provision: secs(2),
        attach: secs(3),
        detach: secs(3),
        ..CloudTimings::default()
    }
}

fn new_nodes(line: &Line<'_>, timings: &mut CloudTimings) -> Result<(), Flaw> {
    for clause in &line.clauses {
        let fixed = |text| clause.span(text).map(|span| Range { low: span, high: span });
        if let Some(text) = clause.after("boot in") {
            timings.boot = fixed(text)?;
        } else if let Some(text) = clause.after("ready after") {
            timings.ready = fixed(text)?;
        } else if clause.text == "never ready" {
            timings.ready = fixed("3650d")?;
        } else {
            return Err(clause.flaw("`boot in 40s`, `ready after 15s` or `never ready`"));
        }
    }
    Ok(())
}

/// `load shop/web: 2 cores at 0m, 6 cores at 10m`: level until the next moment.
fn demand(line: &Line<'_>) -> Result<Demand, Flaw> {
    let mut points: Vec<(Span, f64)> = Vec::new();
    for clause in &line.clauses {
        let expected = || clause.flaw("`2.5 cores at 10m`");
        let (cores, at) = clause.text.split_once(" cores at ").ok_or_else(expected)?;
        let (cores, at) = (cores.parse().map_err(|_| expected())?, span(at).ok_or_else(expected)?);
        if let Some((_, before)) = points.last().copied() {
            points.push((at, before));
        }
        points.push((at, cores));
    }
    Ok(Demand { autoscaler: line.key()?, points })
}

fn group(line: &Line<'_>) -> Result<Group, Flaw> {
    let mut group = Group {
        name: line.name.to_owned(),
        min: None,
        max: None,
        count: 0,
        zones: vec!["a".to_owned()],
        capacity: json!({"cpu": "4", "memory": "16Gi", "pods": "58", "ephemeral-storage": "80Gi"}),
        kubelet: "v1.34.2".to_owned(),
        image: "ami-old".to_owned(),
        instance_type: "m6i.xlarge".to_owned(),
        labels: Vec::new(),
        taints: Vec::new(),
        ages: Vec::new(),
        tags: Vec::new(),
        is_managed: false,
        at_once: None,
        strategy: UpdateStrategy::default(),
        target_groups: Vec::new(),
    };
    for clause in &line.clauses {
        group.take(clause)?;
    }
    if group.count == 0 {
        return Err(line.flaw("expected how many nodes the group has: `3 nodes in a,b,c`"));
    }
    Ok(group)
}

impl Group {
    fn take(&mut self, clause: &Clause<'_>) -> Result<(), Flaw> {
        let number = |text: &str| text.parse().map_err(|_| clause.flaw("a number of nodes"));
        if let Some((count, rest)) = clause.count_of(&["node", "nodes"]) {
            self.count = count;
            if let Some(zones) = rest.strip_prefix("in ") {
                self.zones = zones.split(',').map(str::to_owned).collect();
            }
        } else if let Some(text) = clause.after("min") {
            self.min = Some(number(text)?);
        } else if let Some(text) = clause.after("max") {
            self.max = Some(number(text)?);
        } else if let Some(text) = clause.after("cpu") {
            self.capacity["cpu"] = text.into();
        } else if let Some(text) = clause.after("memory") {
            self.capacity["memory"] = text.into();
        } else if let Some(text) = clause.after("pods") {
            self.capacity["pods"] = text.into();
        } else if let Some(text) = clause.after("version") {
            self.kubelet = text.to_owned();
        } else if let Some(text) = clause.after("image") {
            self.image = text.to_owned();
        } else if let Some(text) = clause.after("type") {
            self.instance_type = text.to_owned();
        } else if let Some(text) = clause.after("label") {
            let (key, value) = clause.pair(text)?;
            self.labels.push((key.to_owned(), value.to_owned()));
        } else if let Some(text) = clause.after("tag") {
            let (key, value) = clause.pair(text)?;
            self.tags.push((key.to_owned(), value.to_owned()));
        } else if let Some(text) = clause.after("taint") {
            self.taints.push(clause.taint(text)?);
        } else if clause.text == "managed by EKS" {
            self.is_managed = true;
        } else if let Some(text) = clause.after("managed by EKS with maxUnavailable") {
            self.is_managed = true;
            let flaw = || clause.flaw("`managed by EKS with maxUnavailable 2`");
            self.at_once = Some(IntOrString::Int(text.parse().map_err(|_| flaw())?));
        } else if clause.text == "update strategy MINIMAL" {
            self.strategy = UpdateStrategy::Minimal;
        } else if let Some(text) = clause.after("target group") {
            let (name, registrar) = match text.split_once(" by ") {
                None => (text, Registrar::AutoScaling),
                Some((name, "controller")) => (name, Registrar::Controller),
                Some(_) => return Err(clause.flaw("`target group web` or `target group web by controller`")),
            };
            self.target_groups.push(TargetGroup { registrar, ..TargetGroup::attached(name) });
        } else if let Some(text) = clause.after("aged") {
            let ages: Option<Vec<Span>> = text.split(',').map(span).collect();
            self.ages = ages.ok_or_else(|| clause.flaw("ages of the nodes, such as `aged 10d,30d,20d`"))?;
        } else {
            return Err(clause.flaw(
                "`3 nodes in a,b,c`, `min 1`, `max 6`, `cpu 4`, `memory 16Gi`, `pods 58`, `version v1.34.2`, \
                 `image ami-old`, `type m6i.xlarge`, `label k=v`, `tag k=v`, `taint k=v:NoSchedule`, `managed by EKS`, `managed by EKS with maxUnavailable 2`, \
                 `update strategy MINIMAL`, `target group web`, `target group web by controller` or `aged 10d,30d,20d`",
            ));
        }
        Ok(())
    }

    /// The group's nodes as they are at a moment, with what belongs to them.
    pub(super) fn objects(&self, now: Time) -> Vec<Value> {
        (0..self.count).flat_map(|at| self.node(at, now)).collect()
    }

    fn node(&self, at: u32, now: Time) -> [Value; 2] {
        let name = format!("{}-{}", self.name, at + 1);
        let zone = &self.zones[at as usize % self.zones.len()];
        // The first is the oldest where nothing is said.
        let age = self.ages.get(at as usize).copied();
        let age = age.unwrap_or_else(|| Span::from_minutes(30 * 24 * 60 - i64::from(at) * 60));
        let created = now - age;
        let mut labels = json!({
            "eks.amazonaws.com/nodegroup": self.name, "eks.amazonaws.com/nodegroup-image": self.image,
            "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "r",
            "topology.ebs.csi.aws.com/zone": zone, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": self.instance_type,
        });
        for (key, value) in &self.labels {
            labels[key] = value.as_str().into();
        }
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": format!("node-{name}"), "creationTimestamp": created, "labels": labels},
            "spec": {"providerID": format!("aws:///{zone}/i-{name}"), "taints": self.taints},
            "status": {"capacity": self.capacity, "allocatable": self.capacity,
                "nodeInfo": {"kubeletVersion": self.kubelet},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                    "lastTransitionTime": created, "lastHeartbeatTime": now}]}});
        let csi = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
            "metadata": {"name": name, "uid": format!("csi-{name}"), "creationTimestamp": created},
            "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": format!("i-{name}"),
                "topologyKeys": ["topology.ebs.csi.aws.com/zone"], "allocatable": {"count": 25}}]}});
        [node, csi]
    }
}

fn workload(line: &Line<'_>, kind: WorkloadKind) -> Result<(Workload, Vec<Value>), Flaw> {
    let mut workload =
        Workload { kind, key: line.key()?, count: 1, pods: Pods::default(), volume: None, retries: None };
    let mut objects = Vec::new();
    for clause in &line.clauses {
        if let Some((count, "")) = clause.count_of(&["replica", "replicas", "pod", "pods"]) {
            workload.count = count;
        } else if let Some(words) = clause.after("pdb") {
            let name = workload.key.name.as_str();
            let selector = json!({"matchLabels": {"app": name}});
            objects.push(budget_object(clause, &workload.key, words, &selector)?);
        } else if let (Some(size), WorkloadKind::StatefulSet) = (clause.after("volume"), kind) {
            workload.volume = Some(size.to_owned());
        } else if let (Some(policy), WorkloadKind::Workflow) = (clause.after("retries"), kind) {
            workload.retries = Some(policy.to_owned());
        } else if !workload.pods.take(clause)? {
            return Err(clause.flaw(&format!(
                "`3 replicas`, `pdb minAvailable 2`, `volume 10Gi` (statefulset), `retries Always` (workflow) or one of: {}",
                pods::CLAUSES
            )));
        }
    }
    if kind == WorkloadKind::Workflow {
        workload.pods.label("workflows.argoproj.io/workflow", workload.key.name.as_str());
        workload.pods.label("workflows.argoproj.io/completed", "false");
    }
    if workload.pods.runs.is_some_and(|span| span < Span::from_minutes(3)) {
        return Err(line.flaw("expected `runs` with 3m or more: the cluster itself is that old"));
    }
    Ok((workload, objects))
}

impl Workload {
    /// The object that has the pods, with so many of them; of a Workflow and a bare pod there is none.
    pub(super) fn object(&self, count: u32) -> Option<Value> {
        let name = self.key.name.as_str();
        let metadata = json!({"name": name, "namespace": self.key.namespace.as_str()});
        let selector = json!({"matchLabels": {"app": name}});
        let mut template = self.pods.template(name);
        let spec = match self.kind {
            WorkloadKind::Deployment => {
                json!({"replicas": count, "selector": selector, "template": template})
            }
            WorkloadKind::StatefulSet => {
                let mut spec = json!({"replicas": count, "selector": selector, "serviceName": name});
                if let Some(size) = &self.volume {
                    let container = &mut template["spec"]["containers"][0];
                    container["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
                    spec["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}, "spec": {
                        "accessModes": ["ReadWriteOnce"], "storageClassName": "gp3",
                        "resources": {"requests": {"storage": size}}}}]);
                }
                spec["template"] = template;
                spec
            }
            WorkloadKind::DaemonSet => json!({"selector": selector, "template": template}),
            WorkloadKind::Job => {
                template["spec"]["restartPolicy"] = "Never".into();
                json!({"completions": self.count, "parallelism": count, "template": template})
            }
            WorkloadKind::Workflow | WorkloadKind::Pod => return None,
        };
        let (api_version, kind) = match self.kind {
            WorkloadKind::Deployment => ("apps/v1", "Deployment"),
            WorkloadKind::StatefulSet => ("apps/v1", "StatefulSet"),
            WorkloadKind::DaemonSet => ("apps/v1", "DaemonSet"),
            WorkloadKind::Job => ("batch/v1", "Job"),
            WorkloadKind::Workflow | WorkloadKind::Pod => return None,
        };
        Some(json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}))
    }

    /// Pods that nobody makes: a Workflow's, and bare ones.
    pub(super) fn own_pods(&self) -> Vec<Value> {
        let name = self.key.name.as_str();
        let names: Vec<String> = match self.kind {
            WorkloadKind::Workflow => (1..=self.count).map(|number| format!("{name}-{number}")).collect(),
            WorkloadKind::Pod => vec![name.to_owned()],
            WorkloadKind::Deployment
            | WorkloadKind::StatefulSet
            | WorkloadKind::DaemonSet
            | WorkloadKind::Job => Vec::new(),
        };
        let pod = |(at, pod_name): (usize, String)| {
            let mut pod = self.pods.template(name);
            pod["apiVersion"] = "v1".into();
            pod["kind"] = "Pod".into();
            pod["metadata"]["name"] = pod_name.into();
            pod["metadata"]["namespace"] = self.key.namespace.as_str().into();
            if let Some(node) = self.pods.on.get(at % self.pods.on.len().max(1)) {
                pod["spec"]["nodeName"] = node.as_str().into();
            }
            if self.kind == WorkloadKind::Workflow {
                pod["spec"]["restartPolicy"] = "Never".into();
                pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "argoproj.io/v1alpha1",
                    "kind": "Workflow", "name": name, "uid": self.workflow_uid(), "controller": true}]);
            }
            pod
        };
        names.into_iter().enumerate().map(pod).collect()
    }

    /// The Workflow itself.
    pub(super) fn workflow(&self) -> Option<Value> {
        (self.kind == WorkloadKind::Workflow).then(|| {
            let retries = self.retries.as_ref().map(|policy| json!({"retryPolicy": policy, "limit": 3}));
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
                "metadata": {"name": self.key.name.as_str(), "namespace": self.key.namespace.as_str(),
                    "uid": self.workflow_uid()},
                "spec": {"entrypoint": "main", "templates": [{"name": "main"}], "retryStrategy": retries},
                "status": {"phase": "Running"}})
        })
    }

    fn workflow_uid(&self) -> String {
        format!("workflow-{}", self.key.name)
    }
}

/// `pdb shop/web: maxUnavailable 1, selects app=web`
fn budget(line: &Line<'_>) -> Result<Value, Flaw> {
    let mut selector = json!({});
    let mut words = None;
    for clause in &line.clauses {
        match clause.after("selects") {
            Some("all") => selector = json!({}),
            Some(text) => {
                let (key, value) = clause.pair(text)?;
                selector["matchLabels"][key] = value.into();
            }
            None => words = Some(clause),
        }
    }
    let clause = words.ok_or_else(|| line.flaw("expected `minAvailable 2` or `maxUnavailable 1`"))?;
    budget_object(clause, &line.key()?, clause.text, &selector)
}

/// `minAvailable 2`, `maxUnavailable 25%`; `AlwaysAllow` behind it lets unready pods go.
fn budget_object(clause: &Clause<'_>, key: &Key, words: &str, selector: &Value) -> Result<Value, Flaw> {
    let mut spec = json!({"selector": selector});
    let words: Vec<&str> = words.split(' ').collect();
    let (bound, value, policy) = match words.as_slice() {
        [bound, value] => (*bound, *value, None),
        [bound, value, policy @ ("AlwaysAllow" | "IfHealthyBudget")] => (*bound, *value, Some(*policy)),
        _ => ("", "", None),
    };
    if !["minAvailable", "maxUnavailable"].contains(&bound) {
        return Err(
            clause.flaw("`minAvailable 2` or `maxUnavailable 25%`, and `AlwaysAllow` behind it perhaps")
        );
    }
    spec[bound] = number_or_share(value);
    if let Some(policy) = policy {
        spec["unhealthyPodEvictionPolicy"] = policy.into();
    }
    Ok(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str()}, "spec": spec}))
}

/// `quota shop/all: pods 6, requests.cpu 4`
fn quota(line: &Line<'_>) -> Result<Value, Flaw> {
    let key = line.key()?;
    let mut hard = json!({});
    for clause in &line.clauses {
        let (name, value) = clause.text.split_once(' ').ok_or_else(|| clause.flaw("`pods 6`"))?;
        hard[name] = value.into();
    }
    Ok(json!({"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str()}, "spec": {"hard": hard}}))
}

/// `priority class high: 1000`
fn priority(line: &Line<'_>) -> Result<Value, Flaw> {
    let name = line.name.strip_prefix("class ");
    let value = line.clauses.first().and_then(|clause| clause.text.parse::<i32>().ok());
    match (name, value) {
        (Some(name), Some(value)) => {
            Ok(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value}))
        }
        (Some(_) | None, Some(_) | None) => Err(line.flaw("expected `priority class high: 1000`")),
    }
}
