//! `replank hpa explain`: one sync of an autoscaler, step by step.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_facts::coverage::Question;
use replank_hpa::{Config, Given, Memory, Metrics, Rival, Scale, ScaleError};
use replank_model::object::autoscaling::{HorizontalPodAutoscaler, MetricSpec, MetricStatus};
use replank_model::object::meta::{Key, Meta};
use replank_model::object::metrics::{
    ContainerMetrics, DescribedObject, ExternalMetricValue, MetricSeries, MetricValue, PodMetrics,
};
use replank_model::object::pod::Pod;
use replank_model::object::resources::Resources;
use replank_model::object::{Object, render};
use replank_model::quantity::Quantity;
use replank_model::selector::Selector;
use replank_model::text::{Namespace, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::args::HpaExplainArgs;
use super::{explained, input};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::snapshot::{self, Cluster, HOW_TO_SNAPSHOT, Origin};

pub(super) use super::explanation::Explained;

/// Window of a sample that is made up from a status.
const WINDOW: Span = Span::from_secs(15);

/// Explains.
///
/// # Errors
/// Where what was asked for is not right.
pub(super) fn run(args: &HpaExplainArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let Some(origin) = Origin::of(&args.snapshots, &args.live)? else {
        return Err(Failure::usage_message("no snapshot with the autoscaler").next(HOW_TO_SNAPSHOT));
    };
    let given = given_metrics(args)?;
    let sources = origin.read(printer)?.sources;
    let Cluster { view, now, coverage, .. } =
        snapshot::read_at(sources, &args.read, args.now, Question::PodAutoscaler, printer)?;
    let hpa = find(&view, &args.name, &args.namespace)?;
    let settings =
        Settings { start: now, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
    let world = World::new(settings, view);
    let explained = explain(&world, &hpa, given, now);
    let data = match args.output {
        AnswerFormat::Text => {
            explained::text(&explained, printer.look()) + &coverage::section(&coverage, printer.look())
        }
        AnswerFormat::Json => explained::json(&explained, &coverage)?,
    };
    printer.data(&data)?;
    let exit = if explained.outcome.error.is_none() { Exit::Passes } else { Exit::Findings };
    Ok(coverage::end(&coverage, exit))
}

fn find(view: &View, asked: &str, namespace: &Namespace) -> Result<HorizontalPodAutoscaler, Failure> {
    let key = match asked.split_once('/') {
        Some((namespace, name)) => Key::new(namespace, name),
        None => Key::new(namespace.as_str(), asked),
    };
    if let Some(hpa) = view.find::<HorizontalPodAutoscaler>(&key) {
        return Ok(HorizontalPodAutoscaler::clone(hpa));
    }
    let all: Vec<String> =
        view.horizontal_pod_autoscalers.sorted().iter().map(|(_, hpa)| hpa.meta.key().to_string()).collect();
    let next = match all.as_slice() {
        [] => "the snapshot contains none: get them with kubectl get hpa -A -o json".to_owned(),
        some => format!("the snapshot has {}; use -n NAMESPACE for another namespace", some.join(", ")),
    };
    Err(Failure::usage_message(format!("HorizontalPodAutoscaler {key} not found")).next(next))
}

/// One sync at the snapshot time, by a controller that has just started.
fn explain(world: &World, hpa: &HorizontalPodAutoscaler, given: Metrics, now: Time) -> Explained {
    let view = world.view();
    let scale: Result<Scale, ScaleError> = world.scale_of(hpa);
    let rivals: Vec<Rival> = world.rivals_of(hpa);
    let selector = scale.as_ref().ok().and_then(|scale| scale.selector.parse::<Selector>().ok());
    let selected = selector.iter().flat_map(|selector| view.select_pods(&hpa.meta.namespace, selector));
    let mut pods: Vec<Arc<Pod>> = selected.filter_map(|ix| view.pods.get(ix).cloned()).collect();
    pods.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    let mut metrics = given;
    let mut sources = Vec::new();
    metrics.pods.extend(of_snapshot(view));
    if !metrics.pods.is_empty() || !metrics.custom.is_empty() || !metrics.external.is_empty() {
        sources.push("metrics as given".to_owned());
    }
    if fill_from_status(hpa, &pods, &scale, now, &mut metrics) {
        sources.push(
            "the HPA's own status for metrics that were not passed: each ready pod is assumed to be at the average".to_owned(),
        );
    }
    let given =
        Given { hpa, scale, pods: &pods, metrics: &metrics, rivals: &rivals, now, config: Config::default() };
    let outcome = replank_hpa::judge(&given, Memory::default()).close(|_| Ok(()));
    Explained { hpa: hpa.clone(), now, sources, outcome }
}

/// What `--metrics` gives: answers of the three metrics APIs, as `kubectl get --raw` prints them.
fn given_metrics(args: &HpaExplainArgs) -> Result<Metrics, Failure> {
    let mut metrics = Metrics::default();
    for path in &args.metrics {
        for document in input::documents(path)? {
            let place = document.place();
            let kind = document.value["kind"].as_str().unwrap_or_default().to_owned();
            let wrong = |error: anyhow::Error| Failure::usage(error.context(place.to_string()));
            match &*kind {
                "PodMetrics" => metrics.pods.push(read(document.value).map_err(wrong)?),
                "MetricValue" => metrics.custom.push(read(document.value).map_err(wrong)?),
                "ExternalMetricValue" => metrics.external.push(read(document.value).map_err(wrong)?),
                other => {
                    return Err(wrong(anyhow::anyhow!("{other:?} is not a response of a metrics API")).next(
                        "save one: kubectl get --raw /apis/metrics.k8s.io/v1beta1/namespaces/NAMESPACE/pods",
                    ));
                }
            }
        }
    }
    Ok(metrics)
}

fn read<T: DeserializeOwned>(value: Value) -> anyhow::Result<T> {
    Ok(serde_json::from_value(value)?)
}

/// PodMetrics of the snapshot (`kubectl get podmetrics -A -o json`).
fn of_snapshot(view: &View) -> Vec<PodMetrics> {
    let others = view.others().filter(|other| {
        let object = Object::Other((*other).clone());
        object.kind_name() == "PodMetrics" && object.api_version().starts_with("metrics.k8s.io/")
    });
    others.filter_map(|other| read(render(&Object::Other(other.clone()))).ok()).collect()
}

/// Puts what the status says where nothing was given; whether there was anything to put.
fn fill_from_status(
    hpa: &HorizontalPodAutoscaler,
    pods: &[Arc<Pod>],
    scale: &Result<Scale, ScaleError>,
    now: Time,
    metrics: &mut Metrics,
) -> bool {
    let mut usages: BTreeMap<Text, Resources> = BTreeMap::new();
    let has = (!metrics.pods.is_empty(), !metrics.custom.is_empty(), !metrics.external.is_empty());
    let replicas = scale.as_ref().map_or(0, |scale| scale.status_replicas);
    let mut filled = false;
    let ready: Vec<&Arc<Pod>> = pods.iter().filter(|pod| pod.is_ready() && pod.is_active()).collect();
    for (spec, status) in hpa.spec.metrics.iter().zip(&hpa.status.current_metrics) {
        filled |= match (&*spec.r#type, has) {
            ("Resource" | "ContainerResource", (false, _, _)) => {
                of_resource(spec, status, &ready, &mut usages)
            }
            ("Pods" | "Object", (_, false, _)) => of_custom(spec, status, &ready, replicas, now, metrics),
            ("External", (_, _, false)) => of_external(status, replicas, now, metrics),
            _ => false,
        };
    }
    if !usages.is_empty() {
        metrics.pods.extend(ready.iter().map(|pod| pod_metrics(pod, &usages, now)));
    }
    filled
}

/// Usage per container, of a pod that is at the average. What is known of the pod as a whole stands under the first container.
fn of_resource(
    spec: &MetricSpec,
    status: &MetricStatus,
    ready: &[&Arc<Pod>],
    usages: &mut BTreeMap<Text, Resources>,
) -> bool {
    let first = || ready.first()?.spec.containers.first().map(|container| container.name.clone());
    let of_pod = spec.resource.as_ref().zip(status.resource.as_ref());
    let of_pod =
        of_pod.and_then(|(spec, status)| Some((&spec.name, first()?, status.current.average_value.clone()?)));
    let of_container = spec.container_resource.as_ref().zip(status.container_resource.as_ref());
    let of_container = of_container.and_then(|(spec, status)| {
        Some((&spec.name, spec.container.clone(), status.current.average_value.clone()?))
    });
    let Some((resource, container, value)) = of_pod.or(of_container) else { return false };
    usages.entry(container).or_default().set(resource.clone(), value);
    true
}

fn pod_metrics(pod: &Pod, usages: &BTreeMap<Text, Resources>, now: Time) -> PodMetrics {
    let resources: Vec<Text> =
        usages.values().flat_map(|usage| usage.iter().map(|(name, _)| name.clone())).collect();
    // A pod counts for a resource only if each of its containers was measured.
    let containers = usages.iter().map(|(name, usage)| {
        let mut usage = usage.clone();
        for resource in &resources {
            if usage.get(resource).is_none() {
                usage.set(resource.clone(), Quantity::ZERO);
            }
        }
        ContainerMetrics { name: name.clone(), usage }
    });
    PodMetrics {
        meta: Meta {
            namespace: pod.meta.namespace.clone(),
            name: pod.meta.name.clone(),
            labels: pod.meta.labels.clone(),
            ..Meta::default()
        },
        timestamp: Some(now),
        window: WINDOW,
        containers: containers.collect(),
    }
}

fn of_custom(
    spec: &MetricSpec,
    status: &MetricStatus,
    ready: &[&Arc<Pod>],
    replicas: i32,
    now: Time,
    metrics: &mut Metrics,
) -> bool {
    let series = |metric: &replank_model::object::autoscaling::MetricIdentifier| MetricSeries {
        name: metric.name.clone(),
        selector: metric.selector.clone(),
    };
    if let (Some(spec), Some(status)) = (&spec.pods, &status.pods)
        && let Some(average) = &status.current.average_value
    {
        metrics.custom.extend(ready.iter().map(|pod| MetricValue {
            described_object: DescribedObject {
                api_version: "v1".into(),
                kind: "Pod".into(),
                namespace: pod.meta.namespace.clone(),
                name: pod.meta.name.clone(),
            },
            metric: series(&spec.metric),
            timestamp: Some(now),
            window_seconds: None,
            value: average.clone(),
        }));
        return true;
    }
    if let (Some(spec), Some(status)) = (&spec.object, &status.object)
        && let Some(value) =
            in_all(status.current.value.as_ref(), status.current.average_value.as_ref(), replicas)
    {
        metrics.custom.push(MetricValue {
            described_object: DescribedObject {
                api_version: spec.described_object.api_version.clone(),
                kind: spec.described_object.kind.clone(),
                namespace: Namespace::default(),
                name: spec.described_object.name.clone(),
            },
            metric: series(&spec.metric),
            timestamp: Some(now),
            window_seconds: None,
            value,
        });
        return true;
    }
    false
}

fn of_external(status: &MetricStatus, replicas: i32, now: Time, metrics: &mut Metrics) -> bool {
    let Some(status) = &status.external else { return false };
    let current = &status.current;
    let Some(value) = in_all(current.value.as_ref(), current.average_value.as_ref(), replicas) else {
        return false;
    };
    let labels = status.metric.selector.iter().flat_map(|selector| &selector.match_labels);
    metrics.external.push(ExternalMetricValue {
        metric_name: status.metric.name.clone(),
        metric_labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect(),
        timestamp: Some(now),
        value,
    });
    true
}

/// The whole of which a status tells the whole, or the share of each replica.
fn in_all(value: Option<&Quantity>, average: Option<&Quantity>, replicas: i32) -> Option<Quantity> {
    let shared = || average.map(|average| average.mul_int(i64::from(replicas)).0);
    value.cloned().or_else(shared)
}
