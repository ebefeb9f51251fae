//! Load that comes and goes, autoscalers that follow it, and instances that are taken away.
//!
//! Drawn from a stream of its own, so that clusters are otherwise what they were without it.

use replank_model::object::cloud::{HookResult, LifecycleHook, Transition};
use replank_model::object::meta::Key;
use replank_model::time::Span;
use replank_sim::TERMINATION_HOOK;
use replank_sim::script::Delivery;
use serde_json::{Value, json};

use super::Cluster;
use replank_oracle::sched_random::Random;

use super::elasticity::Asked;
pub use super::elasticity::{Elastic, How, Strike};

/// Sets the stream apart from the cluster's.
const ELASTIC: u64 = 0x656c_6173_7469_6300;
/// How long load moves and instances are taken away.
const FAULTS_MINUTES: u64 = 90;
/// Of a hundred groups so many have a termination hook.
const HOOKED: u64 = 40;
/// Of a hundred of those so many are managed by EKS.
const MANAGED: u64 = 20;
const MANAGED_STREAM: u64 = 0x6d61_6e61_6765_6400;
/// Of a hundred clusters the events of so many are lost for a while.
const LOSES: u64 = 12;

/// So many of a hundred clusters have an autoscaler of nodes.
const SCALED: u64 = 40;

/// Messages that are about nothing here, or are broken.
const FOREIGN: [&str; 4] = [
    "{\"version\":\"0\",\"source\":\"aws.ec2\",\"detail-type\":\"EC2 Spot Instance Interruption Warning\",\"detail\":{\"instance-id\":\"i-of-somebody-else\",\"instance-action\":\"terminate\"}}",
    "{\"version\":\"0\",\"source\":\"aws.ec2\",\"detail-type\":\"EC2 Spot Instance Interrup",
    "{\"Service\":\"AWS Auto Scaling\",\"Event\":\"autoscaling:TEST_NOTIFICATION\"}",
    "not even JSON",
];

impl Cluster {
    /// The cluster of a seed under load, some of its instances taken away meanwhile.
    #[must_use]
    pub fn elastic(seed: u64) -> Self {
        let mut cluster = Self::of(seed);
        let mut random = Random::new(seed ^ ELASTIC);
        let random = &mut random;
        for group in &mut cluster.groups {
            if random.percent(HOOKED) {
                let timeout = Span::from_minutes(random.one(&[2, 10, 60]));
                let (at, result) = (Transition::Terminating, HookResult::default());
                group.hooks = vec![LifecycleHook { name: "drain".into(), at, timeout, result }];
            }
        }
        cluster.plan.lifecycle_hooks = ["drain".into()].into();
        manage(&mut cluster);
        let (autoscalers, curves) = autoscalers(random, &cluster.manifests);
        cluster.manifests.extend(autoscalers);
        let mut strikes: Vec<Strike> = (0..1 + random.below(5)).map(|_| strike(random)).collect();
        strikes.sort_by_key(|strike| (strike.at, strike.pick));
        let queue = queue(random);
        let autoscaler = random.percent(SCALED).then(|| flags(random));
        cluster.elastic = Some(Elastic { curves, strikes, queue, autoscaler });
        cluster
    }
}

/// Some of the groups with a hook are EKS's managed ones, and the hook is EKS's. Drawn from a stream of its own.
fn manage(cluster: &mut Cluster) {
    let mut random = Random::new(cluster.seed ^ MANAGED_STREAM);
    let hooks = cluster.groups.iter_mut().flat_map(|group| &mut group.hooks);
    for hook in hooks.filter(|_| random.percent(MANAGED)) {
        hook.name = TERMINATION_HOOK.into();
        hook.timeout = Span::from_minutes(30);
    }
}

fn minutes(random: &mut Random, below: u64) -> Span {
    Span::from_minutes(i64::try_from(random.below(below)).expect("few"))
}

/// A queue that is worse than others, in half of the clusters.
fn queue(random: &mut Random) -> Vec<(Span, Delivery)> {
    let mut all = Vec::new();
    if random.percent(25) {
        all.push((Span::ZERO, Delivery::Twice(2)));
    }
    if random.percent(25) {
        all.push((Span::ZERO, Delivery::Late(3, Span::from_secs(random.one(&[20, 80, 300])))));
    }
    if random.percent(LOSES) {
        all.push((minutes(random, 60), Delivery::Lost(minutes(random, 20))));
    }
    all
}

/// An autoscaler that is in more of a hurry than usual, so that it acts while the run goes on.
fn flags(random: &mut Random) -> Vec<String> {
    let mut flags = vec![
        format!("--scale-down-unneeded-time={}m", 1 + random.below(10)),
        format!("--scale-down-delay-after-add={}m", random.below(10)),
    ];
    if random.percent(25) {
        flags.push("--balance-similar-node-groups".to_owned());
    }
    if random.percent(25) {
        flags.push(format!("--expander={}", random.one(&["least-waste", "most-pods", "least-nodes"])));
    }
    flags
}

fn strike(random: &mut Random) -> Strike {
    let seconds = random.below(FAULTS_MINUTES * 60);
    let how = match random.below(100) {
        0..45 => How::Spot,
        45..60 => How::Rebalance,
        60..72 => How::Retirement(Span::from_minutes(random.one(&[5, 20, 60]))),
        72..86 => How::End,
        _ => How::Message(random.one(&FOREIGN)),
    };
    Strike { at: Span::from_secs(i64::try_from(seconds).expect("few")), pick: random.any(), how }
}

/// Autoscalers of up to three Deployments, and what they are asked to do.
fn autoscalers(random: &mut Random, manifests: &[Value]) -> (Vec<Value>, Vec<Asked>) {
    let deployments: Vec<&Value> = manifests
        .iter()
        .filter(|one| one["kind"] == "Deployment" && one["metadata"]["name"] != "pinned")
        .collect();
    let mut all = (Vec::new(), Vec::new());
    for deployment in
        deployments.into_iter().filter(|_| random.percent(50)).collect::<Vec<_>>().into_iter().take(3)
    {
        let name = deployment["metadata"]["name"].as_str().expect("a name");
        let replicas = deployment["spec"]["replicas"].as_u64().expect("replicas");
        let target = random.one(&[40, 60, 80]);
        all.0.push(autoscaler(random, name, replicas, target));
        let request =
            &deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"];
        let milli =
            request.as_str().and_then(|text| text.strip_suffix('m')).and_then(|text| text.parse().ok());
        let milli: u64 = milli.expect("thousandths");
        let usual = (replicas * milli * target) as f64 / 100_000.0;
        all.1.push((Key::new("shop", name), curve(random, usual)));
    }
    all
}

fn autoscaler(random: &mut Random, name: &str, replicas: u64, target: u64) -> Value {
    let mut spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": 1 + random.below(replicas), "maxReplicas": replicas + 1 + random.below(replicas * 2),
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}}]});
    match random.below(10) {
        0..3 => spec["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 60}}),
        3 => spec["behavior"] = json!({"scaleDown": {"selectPolicy": "Disabled"}}),
        4 => {
            spec["behavior"] =
                json!({"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}});
        }
        _ => {}
    }
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name, "namespace": "shop"}, "spec": spec})
}

/// Load that goes up and down in slopes and jumps, and then stays as it is.
fn curve(random: &mut Random, usual: f64) -> Vec<(Span, f64)> {
    let mut points = vec![(Span::ZERO, usual)];
    let mut at = Span::ZERO;
    for _ in 0..2 + random.below(4) {
        let (_, before) = points[points.len() - 1];
        at += minutes(random, FAULTS_MINUTES / 5) + Span::from_minutes(1);
        let factor = random.one(&[0.1, 0.5, 1.0, 1.5, 2.0, 3.0]);
        if random.percent(50) {
            points.push((at, before));
        }
        points.push((at, usual * factor));
    }
    points
}
