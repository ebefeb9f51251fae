//! One random case, all of it drawn from its seed.

use serde_json::{Value, json};

use replank_core::migrate::Migrated;
use replank_protocol::hindrance::ScaleDown;

use replank_oracle::sched_random::Random;

/// Which way the selectors allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The new selector matches the ReplicaSet's labels.
    Keep,
    /// It asks for a label that the pods do not have.
    Twin,
    /// It stays the same, and a Rollout takes over.
    Rollout(ScaleDown),
}

/// When the process starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restarts {
    /// Never.
    Never,
    /// Right after the command of that number has been carried out.
    After(usize),
    /// After each.
    Always,
}

/// Whether somebody else writes to an object just before a command about it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Races {
    /// Nobody.
    None,
    /// The first so many times.
    First(usize),
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed, which makes the world's draws, too.
    pub seed: u64,
    /// What is migrated.
    pub kind: Migrated,
    /// Which way the selectors allow.
    pub way: Way,
    /// Pods.
    pub replicas: i64,
    /// Nodes.
    pub nodes: u64,
    /// How long a pod takes until it is ready, besides starting.
    pub ready_ms: i64,
    /// How long it takes to stop.
    pub stop_ms: i64,
    /// Thousandths of a core that a pod asks for.
    pub cpu_milli: u64,
    /// When the process starts anew.
    pub restarts: Restarts,
    /// Who gets in before.
    pub races: Races,
    /// Whether somebody scales it by hand while it goes on.
    pub scaled_by_hand: bool,
    /// Whether there was an earlier template.
    pub has_history: bool,
    /// Everything but the Deployment itself: Services, budget, autoscaler.
    pub around: Vec<Value>,
}

impl Case {
    /// The case of a seed. All restarts come up: each single boundary of the way, none, and all.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6d69_6772_6174_6521);
        let way = if seed.is_multiple_of(2) { Way::Keep } else { Way::Twin };
        let restarts = match (seed / 2) % 12 {
            0 => Restarts::Never,
            11 => Restarts::Always,
            number => Restarts::After(usize::try_from(number).expect("small")),
        };
        let races = if random.percent(50) { Races::First(1 + number(&mut random, 6)) } else { Races::None };
        let has_autoscaler = random.percent(50);
        let mut around = vec![service("web", random.percent(30))];
        if random.percent(40) {
            around.push(service("web-internal", true));
        }
        if random.percent(70) {
            around.push(budget(&mut random));
        }
        let replicas = 1 + i64::try_from(random.below(6)).expect("small");
        if has_autoscaler {
            around.push(autoscaler(replicas));
        }
        Self {
            seed,
            kind: Migrated::Deployment,
            way,
            replicas,
            nodes: 3 + random.below(5),
            ready_ms: random.one(&[0, 500, 5_000, 30_000, 240_000]),
            stop_ms: random.one(&[100, 1_000, 20_000]),
            cpu_milli: 100,
            restarts,
            races,
            scaled_by_hand: !has_autoscaler && random.percent(30),
            has_history: random.percent(50),
            around,
        }
    }

    /// A case of a hand-over to a Rollout: all who can scale the Deployment down come up with all restarts.
    #[must_use]
    pub fn rollout(seed: u64) -> Self {
        let who = match seed % 3 {
            0 => ScaleDown::Never,
            1 => ScaleDown::OnSuccess,
            _ => ScaleDown::Progressively,
        };
        Self { way: Way::Rollout(who), seed, ..Self::of(seed / 3 * 2) }
    }

    /// A case of a kind that owns its pods itself: all three come up with all restarts. Nobody scales it by hand, which would have it
    /// judged anew at each turn.
    #[must_use]
    pub fn pods(seed: u64) -> Self {
        let kind = match seed % 3 {
            0 => Migrated::StatefulSet,
            1 => Migrated::DaemonSet,
            _ => Migrated::ReplicaSet,
        };
        let mut case = Self { kind, seed, scaled_by_hand: false, ..Self::of(seed / 3 * 2) };
        // A ReplicaSet makes no new pods of another template, and nobody scales a DaemonSet.
        case.has_history &= kind != Migrated::ReplicaSet;
        for object in &mut case.around {
            if let Some(target) = object.pointer_mut("/spec/scaleTargetRef/kind") {
                *target = kind.kind().as_str().into();
            }
        }
        if kind == Migrated::StatefulSet {
            case.around.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
                "provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer"}));
        }
        if kind == Migrated::DaemonSet {
            case.around.retain(|object| object["kind"] != "HorizontalPodAutoscaler");
        }
        case
    }

    /// The object with a template of that image.
    #[must_use]
    pub fn manifest(&self, image: &str) -> Value {
        let mut manifest = self.deployment(image);
        manifest["kind"] = self.kind.kind().as_str().into();
        let spec = manifest["spec"].as_object_mut().expect("a spec");
        match self.kind {
            Migrated::Deployment => {}
            Migrated::StatefulSet => {
                spec.remove("strategy");
                // Its claims would be deleted with the set if they were not orphaned.
                let policy = json!({"whenDeleted": "Delete", "whenScaled": "Retain"});
                spec.insert("persistentVolumeClaimRetentionPolicy".into(), policy);
                spec.insert(
                    "volumeClaimTemplates".into(),
                    json!([{"metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                        "resources": {"requests": {"storage": "1Gi"}}}}]),
                );
                spec.insert("serviceName".into(), "web".into());
                spec.insert(
                    "podManagementPolicy".into(),
                    if self.seed.is_multiple_of(2) { "Parallel" } else { "OrderedReady" }.into(),
                );
            }
            Migrated::DaemonSet => {
                spec.remove("strategy");
                spec.remove("replicas");
            }
            Migrated::ReplicaSet => drop(spec.remove("strategy")),
        }
        manifest
    }

    /// The Deployment with a template of that image.
    #[must_use]
    pub fn deployment(&self, image: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "annotations": {"team": "front"}},
            "spec": {"replicas": self.replicas,
                "selector": {"matchLabels": {"app": "web", "tier": "front"}},
                "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
                "template": {
                    "metadata": {"labels": {"app": "web", "tier": "front", "track": "stable"},
                        "annotations": {"fake.kubelet/ready-ms": self.ready_ms.to_string(),
                            "fake.kubelet/stop-ms": self.stop_ms.to_string()}},
                    "spec": {"containers": [{"name": "web", "image": image,
                        "ports": [{"containerPort": 8080}],
                        "resources": {"requests": {"cpu": format!("{}m", self.cpu_milli)}}}]}}}})
    }

    /// The labels that the Deployment is to select.
    #[must_use]
    pub fn wanted(&self) -> Value {
        match self.way {
            Way::Keep => json!({"app": "web"}),
            Way::Twin => json!({"app": "web", "release": "second"}),
            Way::Rollout(_) => json!({"app": "web", "tier": "front"}),
        }
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> Vec<Value> {
        let node = |number: u64| {
            let name = format!("n{number}");
            json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name,
                    "topology.kubernetes.io/zone": format!("z{}", number % 3)}},
                "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "20"},
                    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
        };
        (0..self.nodes).map(node).collect()
    }
}

/// The definition of Rollouts, as much of it as counts.
#[must_use]
pub fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io", "uid": "rollouts"},
        "spec": {"group": "argoproj.io", "names": {"plural": "rollouts", "kind": "Rollout"}, "scope": "Namespaced",
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {},
                "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.HPAReplicas",
                    "labelSelectorPath": ".status.selector"}}}]}})
}

fn number(random: &mut Random, limit: u64) -> usize {
    usize::try_from(random.below(limit)).expect("small")
}

fn service(name: &str, is_headless: bool) -> Value {
    let address = if is_headless { json!("None") } else { json!("10.0.0.1") };
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "clusterIP": address, "ports": [{"port": 80, "targetPort": 8080}]}})
}

fn budget(random: &mut Random) -> Value {
    let spec = random.one(&[json!({"minAvailable": 1}), json!({"maxUnavailable": "25%"})]);
    let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}});
    for (name, value) in spec.as_object().expect("an object") {
        budget["spec"][name] = value.clone();
    }
    budget
}

fn autoscaler(replicas: i64) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": replicas, "maxReplicas": replicas + 4}})
}
