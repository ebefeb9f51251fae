//! A cluster of one group, three to ten nodes of 8 CPU, whose load comes and goes.
//!
//! | what | where |
//! |---|---|
//! | Deployment `shop/web`, 6 CPU a pod | a node each; scaled out to six or seven pods, and in to one |
//! | Job `shop/report`, 500m, most of an hour | beside one of them: later its node has next to nothing else |
//! | pod `shop/giant`, 64 CPU | nowhere, now or on any new node |

use replank_core::Core;
use replank_core::scale::Autoscaler;
use replank_facts::groups::{self, GroupBy};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::GroupSize;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::script::{AsGiven, Script, happen};
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::{Value, json};

const BEGIN: Time = Time::from_millis(1_795_165_200_000);
const SETTLED: Span = Span::from_secs(60);
const NODES: usize = 3;
/// The CPU of each node, in thousandths.
pub const NODE_CPU_MILLI: i64 = 8_000;
/// How long all of it is watched.
pub const WATCHED: Span = Span::from_minutes(150);

/// The cluster, with everything at its place.
#[must_use]
pub(super) fn world(seed: u64) -> World {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]},
        "metadata": {"name": "shop", "uid": "shop", "labels": {"kubernetes.io/metadata.name": "shop"}},
        "status": {"phase": "Active"}});
    let objects = [namespace].into_iter().chain((0..NODES).map(node));
    let mut view: View = objects.map(|value| Delta::Put(object(value))).collect();
    for mut learnt in groups::from_nodes(&view, &GroupBy::default()) {
        learnt.group.size = GroupSize { max: 10, ..learnt.group.size };
        view.apply(Delta::Group(learnt.group.into()));
        for instance in learnt.instances {
            view.apply(Delta::Instance(instance.into()));
        }
    }
    let settings =
        Settings { start: BEGIN, seed, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
    let mut world = World::new(settings, view);
    for manifest in [deployment(), job(seed)] {
        let made = world.request(|api| api.apply_json(manifest.clone()));
        made.unwrap_or_else(|error| panic!("{manifest}: {error}"));
    }
    world.run_until(BEGIN + SETTLED);
    world
}

/// What happens, and how long after the beginning.
pub(super) fn told(seed: u64) -> [(Span, String); 4] {
    let many = 6 + seed % 2;
    [
        (Span::from_minutes(1), format!("somebody scales deployment shop/web to {many}")),
        (Span::from_minutes(12), "somebody scales deployment shop/web to 1".to_owned()),
        (Span::from_minutes(80), format!("somebody creates {}", giant())),
        (Span::from_minutes(110), "somebody deletes pod shop/giant".to_owned()),
    ]
}

/// An autoscaler, and nothing else.
pub(super) fn core() -> Core {
    let mut settings = Autoscaler::default();
    let flags = ["--scale-down-unneeded-time=3m", "--scale-down-delay-after-add=3m"];
    let unknown = settings.options.read(flags).expect("flags that can be read");
    assert!(unknown.is_empty(), "{unknown:?}");
    Core::without_run().with_autoscaler(settings)
}

/// Lets a script's words come true at once.
pub(super) fn say(world: &mut World, line: &str) {
    let script = Script::read(&format!("before: {line}")).unwrap_or_else(|flaws| panic!("{line}: {flaws}"));
    let done = happen(world, &AsGiven, &script.events[0].what);
    done.unwrap_or_else(|error| panic!("{line}: {error}"));
}

fn object(value: Value) -> Object {
    Object::from_json(value).expect("a valid object")
}

fn node(number: usize) -> Value {
    let name = format!("web-{number}");
    let zone = ["z-a", "z-b"][number % 2];
    let amounts = json!({"cpu": format!("{NODE_CPU_MILLI}m"), "memory": "32Gi", "pods": "58", "ephemeral-storage": "100Gi"});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("node-{name}"), "creationTimestamp": BEGIN - Span::from_minutes(600),
            "labels": {"eks.amazonaws.com/nodegroup": "web", "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": "m6i.2xlarge", "topology.kubernetes.io/zone": zone}},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
        "status": {"capacity": amounts, "allocatable": amounts, "nodeInfo": {"kubeletVersion": "v1.36.2"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": BEGIN,
                "lastTransitionTime": BEGIN}]}})
}

fn pod_spec(cpu: &str) -> Value {
    json!({"terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]})
}

fn deployment() -> Value {
    let labels = json!({"app": "web"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": NODES, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec("6")}}})
}

/// Runs from 50 minutes on, by the seed.
fn job(seed: u64) -> Value {
    let run_ms = (50 + seed) * 60_000;
    let mut spec = pod_spec("500m");
    spec["restartPolicy"] = "Never".into();
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report", "namespace": "shop"},
        "spec": {"backoffLimit": 6, "template": {
            "metadata": {"annotations": {"fake.kubelet/run-ms": run_ms.to_string()}}, "spec": spec}}})
}

fn giant() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "giant", "namespace": "shop"}, "spec": pod_spec("64")})
}
