//! How many syncs of horizontal pod autoscalers one core does in a second.
//!
//! Each sync is whole: pods selected and sorted, metrics worked out, windows and policies, conditions, events, the new status. The load goes
//! up and down, so that replicas are written every few syncs; what the controller remembers is kept from one to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use replank_hpa::{Config, Given, Memory, Metrics, Scale};
use replank_model::object::Object;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};
use replank_testkit::on_core::ran;
use serde_json::{Value, json};

/// Pods of a target.
const SIZES: [usize; 4] = [3, 10, 40, 200];
/// How long each row is measured.
const LENGTH: Duration = Duration::from_millis(1_000);
/// DESIGN's aim: syncs per second and core.
const AIM: f64 = 10_000.0;

pub(crate) fn run() {
    println!("| pods | metrics | behavior | syncs/s | us each | writes | aim of {AIM} |");
    println!("|---:|---:|---|---:|---:|---:|---|");
    for pods in SIZES {
        for metrics in [1, 4] {
            for behavior in [false, true] {
                row(pods, metrics, behavior);
            }
        }
    }
}

fn row(count: usize, metrics: usize, behavior: bool) {
    let mut hpa = autoscaler(metrics, behavior);
    let pods: Vec<Arc<Pod>> = (0..count).map(pod).collect();
    let levels: Vec<Metrics> = (0..8).map(|level| measured(count, 100 + 100 * level)).collect();
    let mut memory = Memory::default();
    let mut now = start();
    let mut replicas = i32::try_from(count).unwrap_or(i32::MAX);
    let (mut syncs, mut writes) = (0u64, 0u64);
    let (begun, ran_before) = (Instant::now(), ran());
    while begun.elapsed() < LENGTH {
        // A hundred syncs between two looks at the clock; each level of load lasts five minutes.
        for _ in 0..100 {
            let level = (syncs / 20) as usize % levels.len();
            let scale =
                Scale { spec_replicas: replicas, status_replicas: replicas, selector: "app=web".to_owned() };
            let given = Given {
                hpa: &hpa,
                scale: Ok(scale),
                pods: &pods,
                metrics: &levels[level],
                rivals: &[],
                now,
                config: Config::default(),
            };
            let outcome = replank_hpa::judge(&given, std::mem::take(&mut memory)).close(|_| Ok(()));
            if let Some(to) = outcome.scaled_to {
                replicas = to;
                writes += 1;
            }
            memory = outcome.memory;
            hpa.status = outcome.status;
            now += Span::from_secs(15);
            syncs += 1;
        }
    }
    // By the clock where the kernel does not tell.
    let running = ran().zip(ran_before).map(|(after, before)| after.saturating_sub(before));
    let seconds = running.unwrap_or_else(|| begun.elapsed()).as_secs_f64();
    let rate = syncs as f64 / seconds;
    let met = if rate >= AIM { "met" } else { "missed" };
    let behavior = if behavior { "yes" } else { "no" };
    println!("| {count} | {metrics} | {behavior} | {rate:.0} | {:.1} | {writes} | {met} |", 1e6 / rate);
}

fn start() -> Time {
    "2026-11-20T09:00:00Z".parse().expect("a time")
}

fn autoscaler(metrics: usize, behavior: bool) -> HorizontalPodAutoscaler {
    let all = [
        json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}),
        json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "512Mi"}}}),
        json!({"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": {"type": "AverageValue", "averageValue": "40"}}}),
        json!({"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}}}),
    ];
    let mut object = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 1, "maxReplicas": 1000,
            "metrics": all[..metrics].to_vec()}});
    if behavior {
        object["spec"]["behavior"] = json!({"scaleUp": {"stabilizationWindowSeconds": 60},
            "scaleDown": {"stabilizationWindowSeconds": 120, "policies": [{"type": "Percent", "value": 20, "periodSeconds": 60}]}});
    }
    match Object::from_json(object) {
        Ok(Object::HorizontalPodAutoscaler(hpa)) => HorizontalPodAutoscaler::clone(&hpa),
        other => panic!("an autoscaler is written out above: {other:?}"),
    }
}

fn pod(number: usize) -> Arc<Pod> {
    let object = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("web-{number}"), "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}]},
        "status": {"phase": "Running", "startTime": "2026-11-19T09:00:00Z",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-19T09:00:20Z"}]}});
    match Object::from_json(object) {
        Ok(Object::Pod(pod)) => pod,
        other => panic!("a pod is written out above: {other:?}"),
    }
}

fn measured(pods: usize, milli: usize) -> Metrics {
    let read = |value: Value| serde_json::from_value(value).expect("it is written out here");
    let of = |number: usize| {
        read(
            json!({"metadata": {"name": format!("web-{number}"), "namespace": "shop", "labels": {"app": "web"}},
            "timestamp": "2026-11-20T08:59:50Z", "window": "15s",
            "containers": [{"name": "web", "usage": {"cpu": format!("{}m", milli + number % 7), "memory": "300Mi"}}]}),
        )
    };
    let requests = |number: usize| {
        serde_json::from_value(
            json!({"describedObject": {"kind": "Pod", "namespace": "shop", "name": format!("web-{number}"), "apiVersion": "v1"},
            "metric": {"name": "requests"}, "timestamp": "2026-11-20T08:59:50Z", "value": (milli / 20 + number % 7).to_string()}),
        )
        .expect("it is written out here")
    };
    let external = json!({"metricName": "queue", "metricLabels": {}, "timestamp": "2026-11-20T08:59:50Z",
        "value": (pods * milli / 20).to_string()});
    Metrics {
        pods: (0..pods).map(of).collect(),
        custom: (0..pods).map(requests).collect(),
        external: vec![serde_json::from_value(external).expect("it is written out above")],
        ..Metrics::default()
    }
}
