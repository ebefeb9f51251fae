//! `replank hpa explain`: one sync of an autoscaler, step by step.

use std::sync::Arc;

use replank_facts::coverage::Question;
use replank_hpa::{Config, Given, Memory, Metrics, Rival, Scale, ScaleError};
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::selector::Selector;
use replank_model::text::Namespace;
use replank_model::time::Time;
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
    metrics.fill_from_snapshot(view);
    if !metrics.pods.is_empty() || !metrics.custom.is_empty() || !metrics.external.is_empty() {
        sources.push("metrics as given".to_owned());
    }
    let replicas = scale.as_ref().map_or(0, |scale| scale.status_replicas);
    if metrics.fill_from_status(hpa, &pods, replicas, now) {
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
