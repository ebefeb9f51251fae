//! What runs: services, stores, agents, batches, and pods that belong to nobody.

use serde_json::{Value, json};

use super::BEGIN;
use super::nodes::{Fleet, Pool};
use replank_oracle::sched_random::Random;

/// What is to run.
#[derive(Default)]
pub(super) struct Things {
    /// What is applied.
    pub(super) manifests: Vec<Value>,
    /// What is there from the beginning, because no controller that is simulated would make it.
    pub(super) there_before: Vec<Value>,
    /// What disruption budgets can cover.
    pub(super) covered: Vec<Covered>,
}

/// Pods that a disruption budget may cover.
pub(super) struct Covered {
    pub(super) namespace: &'static str,
    pub(super) app: String,
    pub(super) tier: &'static str,
    pub(super) replicas: u64,
}

/// Requests of pods, in thousandths of a CPU.
const REQUESTS: [u64; 7] = [50, 100, 250, 250, 500, 1_000, 1_900];
const TIERS: [&str; 3] = ["front", "back", "batch"];

pub(super) fn draw(random: &mut Random, fleet: &Fleet) -> Things {
    let mut things = Things::default();
    for number in 0..random.below(3) {
        things.manifests.push(daemon_set(random, number));
    }
    // A third to all of what the nodes offer, at the most.
    let share = 33 + random.below(67);
    for pool in &fleet.pools {
        let mut left = pool.nodes * pool.milli * share / 100;
        for number in 0..(4 + pool.nodes) {
            let request = random.one(&REQUESTS);
            let replicas = [1, 1, 2, 2, 3, 3, 4, 6][usize::try_from(random.below(8)).expect("small")];
            if request * replicas > left {
                continue;
            }
            left -= request * replicas;
            let seed = Seed { name: format!("{}-{number}", pool.name), request, replicas };
            things.add(random, pool, &seed);
        }
    }
    if random.percent(10) {
        things.there_before.push(bare(random, fleet));
    }
    if random.percent(12) {
        things.there_before.extend(workflow(random, fleet));
    }
    things
}

/// A workload to be made.
struct Seed {
    name: String,
    request: u64,
    replicas: u64,
}

impl Things {
    fn add(&mut self, random: &mut Random, pool: &Pool, seed: &Seed) {
        let kind = random.below(100);
        let tier = random.one(&TIERS);
        let mut template = template(random, pool, seed, tier);
        let (namespace, manifest) = match kind {
            0..=59 => {
                spread(random, &mut template, &seed.name);
                extras(random, &mut template);
                ("shop", deployment(random, seed, &template))
            }
            60..=74 => ("data", stateful_set(random, seed, &template)),
            75..=89 => ("shop", job(random, seed, template.clone())),
            _ => ("shop", cron_job(random, seed, template.clone())),
        };
        self.manifests.push(manifest);
        if kind < 75 || random.percent(15) {
            let app = seed.name.clone();
            self.covered.push(Covered { namespace, app, tier, replicas: seed.replicas });
        }
    }
}

/// A pod template, with what its kubelet is to do.
fn template(random: &mut Random, pool: &Pool, seed: &Seed, tier: &str) -> Value {
    let millis = |random: &mut Random, most: u64| random.below(most).to_string();
    let mut annotations = json!({"fake.kubelet/start-ms": millis(random, 12_000), "fake.kubelet/ready-ms": millis(random, 25_000),
        "fake.kubelet/stop-ms": millis(random, 20_000)});
    if random.percent(3) {
        annotations["fake.kubelet/ready-ms"] = "never".into();
    }
    let mut spec = json!({"terminationGracePeriodSeconds": random.one(&[0, 5, 30, 30, 120]),
        "containers": [{"name": "main", "image": "registry.example/app:1",
            "resources": {"requests": {"cpu": format!("{}m", seed.request), "memory": "64Mi"}}}]});
    if pool.is_dedicated {
        spec["tolerations"] =
            json!([{"key": "dedicated", "operator": "Equal", "value": pool.name, "effect": "NoSchedule"}]);
    }
    if pool.is_dedicated || random.percent(35) {
        spec["nodeSelector"] = json!({"pool": pool.name});
    }
    json!({"metadata": {"labels": {"app": seed.name, "tier": tier}, "annotations": annotations}, "spec": spec})
}

/// How replicas are kept apart, in half of the Deployments.
fn spread(random: &mut Random, template: &mut Value, app: &str) {
    let own = json!({"matchLabels": {"app": app}});
    let constraint = |key: &str, or: &str| json!([{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": or, "labelSelector": own}]);
    let host = "kubernetes.io/hostname";
    let term = json!({"topologyKey": host, "labelSelector": own});
    let spec = &mut template["spec"];
    match random.below(12) {
        0 => spec["topologySpreadConstraints"] = constraint("topology.kubernetes.io/zone", "DoNotSchedule"),
        1 => spec["topologySpreadConstraints"] = constraint("topology.kubernetes.io/zone", "ScheduleAnyway"),
        2 => spec["topologySpreadConstraints"] = constraint(host, "DoNotSchedule"),
        3 | 4 => {
            spec["affinity"] =
                json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
        }
        5 => {
            spec["affinity"] = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": term}]}});
        }
        _ => {}
    }
}

/// What few pods have: data on the node, batch marks, tolerations of everything.
fn extras(random: &mut Random, template: &mut Value) {
    if random.percent(10) {
        template["spec"]["volumes"] = json!([{"name": "scratch", "emptyDir": {}}]);
    }
    if random.percent(4) {
        template["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] =
            "false".into();
    }
    if random.percent(3) {
        template["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] =
            random.one(&["true", "2h"]).into();
    }
    if random.percent(2) {
        template["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    }
}

fn deployment(random: &mut Random, seed: &Seed, template: &Value) -> Value {
    let strategy = match random.below(4) {
        0 => json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        1 => json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
        2 => json!({"type": "Recreate"}),
        _ => json!({"type": "RollingUpdate"}),
    };
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": seed.name, "namespace": "shop"},
        "spec": {"replicas": seed.replicas, "selector": {"matchLabels": {"app": seed.name}}, "strategy": strategy,
            "template": template}})
}

/// Half of the stores have volumes, which are bound to a zone.
fn stateful_set(random: &mut Random, seed: &Seed, template: &Value) -> Value {
    let mut set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": seed.name, "namespace": "data"},
        "spec": {"replicas": seed.replicas, "serviceName": seed.name, "selector": {"matchLabels": {"app": seed.name}},
            "podManagementPolicy": random.one(&["OrderedReady", "Parallel"]), "template": template}});
    if random.percent(50) {
        set["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] =
            json!([{"name": "disk", "mountPath": "/var/lib/store"}]);
        set["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "disk"}, "spec": {"accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3", "resources": {"requests": {"storage": "10Gi"}}}}]);
    }
    set
}

/// Makes a template one of pods that end by themselves.
fn batch(random: &mut Random, template: &mut Value, minutes: u64) {
    let run = 60_000 + random.below(minutes * 60_000);
    let annotations = &mut template["metadata"]["annotations"];
    annotations["fake.kubelet/run-ms"] = run.to_string().into();
    if random.percent(10) {
        annotations["fake.kubelet/exit-code"] = "1".into();
    }
    template["spec"]["restartPolicy"] = random.one(&["Never", "Never", "OnFailure"]).into();
}

fn job(random: &mut Random, seed: &Seed, mut template: Value) -> Value {
    batch(random, &mut template, 240);
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": seed.name, "namespace": "shop"},
        "spec": {"parallelism": seed.replicas, "completions": seed.replicas, "backoffLimit": random.below(4),
            "template": template}})
}

fn cron_job(random: &mut Random, seed: &Seed, mut template: Value) -> Value {
    batch(random, &mut template, 12);
    let schedule = random.one(&["*/5 * * * *", "*/15 * * * *", "7 * * * *"]);
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": seed.name, "namespace": "shop"},
        "spec": {"schedule": schedule, "concurrencyPolicy": random.one(&["Allow", "Forbid", "Replace"]),
            "jobTemplate": {"spec": {"backoffLimit": 1, "template": template}}}})
}

fn daemon_set(random: &mut Random, number: u64) -> Value {
    let name = format!("agent-{number}");
    let labels = json!({"agent": name});
    let tolerations = if random.percent(70) { json!([{"operator": "Exists"}]) } else { json!([]) };
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels, "annotations": {"fake.kubelet/ready-ms": random.below(40_000).to_string()}},
            "spec": {"tolerations": tolerations, "containers": [{"name": "agent", "image": "registry.example/agent:1",
                "resources": {"requests": {"cpu": "20m"}}}]}}}})
}

/// A pod that nobody would make again.
fn bare(random: &mut Random, fleet: &Fleet) -> Value {
    let mut pod = pod("lonely", random, fleet);
    if random.percent(30) {
        pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "static".into();
    }
    pod
}

/// A step of an Argo Workflow. Its controller is not simulated: the neighbourhood records results.
fn workflow(random: &mut Random, fleet: &Fleet) -> [Value; 2] {
    let owner = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "crunch", "uid": "workflow-crunch",
        "controller": true, "blockOwnerDeletion": true});
    let mut pod = pod("crunch-step", random, fleet);
    pod["metadata"]["ownerReferences"] = json!([owner]);
    pod["metadata"]["labels"]["workflows.argoproj.io/workflow"] = "crunch".into();
    pod["metadata"]["labels"]["workflows.argoproj.io/completed"] = "false".into();
    batch(random, &mut pod, 180);
    let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
        "metadata": {"name": "crunch", "namespace": "shop", "uid": "workflow-crunch", "creationTimestamp": BEGIN}});
    [workflow, pod]
}

/// A pod as somebody applied it, without a node.
fn pod(name: &str, random: &mut Random, fleet: &Fleet) -> Value {
    let seed = Seed { name: name.to_owned(), request: 100, replicas: 1 };
    let at = usize::try_from(random.below(fleet.pools.len() as u64)).expect("few");
    let mut pod = template(random, &fleet.pools[at], &seed, "back");
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = "shop".into();
    pod["metadata"]["uid"] = format!("pod-{name}").into();
    pod["metadata"]["creationTimestamp"] = json!(BEGIN);
    pod
}
