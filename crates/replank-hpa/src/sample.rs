//! What is asked of the metrics APIs (`metrics/client.go`). Values are in thousandths.

use std::sync::Arc;

use replank_model::object::autoscaling::{CrossVersionObjectReference, MetricIdentifier};
use replank_model::object::metrics::PodMetrics;
use replank_model::object::pod::Pod;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Namespace;
use replank_model::time::{Span, Time};

use super::by_name::ByName;
use super::given::Metrics;

/// What was measured of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// In thousandths.
    pub(super) value: i64,
    /// End of the window; what is measured without a time was measured before everything.
    pub(super) at: Option<Time>,
    /// How long it was.
    pub(super) window: Span,
}

/// By name of the pod.
pub(super) type Samples<'a> = ByName<'a, Sample>;

/// A window that a metric of an adapter does not tell.
const USUAL_WINDOW: Span = Span::from_minutes(1);

/// CPU or memory of the selected pods, or of one of their containers.
pub(super) fn of_resource<'a>(
    metrics: &'a Metrics,
    namespace: &Namespace,
    selector: &Selector,
    resource: &str,
    container: Option<&str>,
) -> Result<Samples<'a>, String> {
    if let Some(error) = &metrics.down.resource {
        return Err(format!("unable to fetch metrics from resource metrics API: {error}"));
    }
    let mut samples = Samples::with_capacity(metrics.pods.len());
    let mut is_empty = true;
    for pod in &metrics.pods {
        let is_asked = pod.meta.namespace == *namespace && selector.matches(|key| pod.meta.labels.value(key));
        if !is_asked {
            continue;
        }
        is_empty = false;
        let value = match container {
            Some(container) => container_usage(pod, resource, container),
            None => pod_usage(pod, resource),
        };
        if let Some(value) = value {
            samples.insert(pod.meta.name.as_str(), Sample { value, at: pod.timestamp, window: pod.window });
        }
    }
    if is_empty { Err("no metrics returned from resource metrics API".to_owned()) } else { Ok(samples) }
}

fn container_usage(pod: &PodMetrics, resource: &str, container: &str) -> Option<i64> {
    let found = pod.containers.iter().find(|of| &*of.name == container)?;
    Some(found.usage.get(resource)?.milli_value())
}

/// A pod counts only if each container of it was measured.
fn pod_usage(pod: &PodMetrics, resource: &str) -> Option<i64> {
    if pod.containers.is_empty() {
        return None;
    }
    let mut sum = 0i64;
    for container in &pod.containers {
        sum = sum.wrapping_add(container.usage.get(resource)?.milli_value());
    }
    Some(sum)
}

/// A number that each of the selected pods has.
pub(super) fn of_pods<'a>(
    metrics: &'a Metrics,
    namespace: &Namespace,
    pods: &[&Arc<Pod>],
    metric: &MetricIdentifier,
    series: &Selector,
) -> Result<Samples<'a>, String> {
    if let Some(error) = &metrics.down.custom {
        return Err(format!("unable to fetch metrics from custom metrics API: {error}"));
    }
    let mut samples = Samples::with_capacity(pods.len());
    let mut names = ByName::with_capacity(pods.len());
    pods.iter().for_each(|pod| names.insert(pod.meta.name.as_str(), ()));
    for value in &metrics.custom {
        let described = &value.described_object;
        let is_asked = &*described.kind == "Pod"
            && is_in(&described.namespace, namespace)
            && value.metric.name == metric.name
            && has_labels(value.metric.selector.as_ref(), series)
            && names.has(described.name.as_str());
        if is_asked {
            let window = value.window_seconds.map_or(USUAL_WINDOW, Span::from_secs);
            let sample = Sample { value: value.value.milli_value(), at: value.timestamp, window };
            samples.insert(described.name.as_str(), sample);
        }
    }
    if samples.is_empty() {
        Err("no metrics returned from custom metrics API".to_owned())
    } else {
        Ok(samples)
    }
}

/// A number that one object has. A namespace is asked for under the HPA's own, whatever name the reference gives.
pub(super) fn of_object(
    metrics: &Metrics,
    namespace: &Namespace,
    object: &CrossVersionObjectReference,
    metric: &MetricIdentifier,
    series: &Selector,
) -> Result<i64, String> {
    let failed = |error: &str| format!("unable to fetch metrics from custom metrics API: {error}");
    if let Some(error) = &metrics.down.custom {
        return Err(failed(error));
    }
    let group = group_of(&object.api_version);
    let is_namespace = &*object.kind == "Namespace" && group.is_empty();
    let name = if is_namespace { namespace.as_str() } else { object.name.as_str() };
    let found = metrics.custom.iter().find(|value| {
        let described = &value.described_object;
        described.kind == object.kind
            && group_of(&described.api_version) == group
            && described.name.as_str() == name
            && (is_namespace || is_in(&described.namespace, namespace))
            && value.metric.name == metric.name
            && has_labels(value.metric.selector.as_ref(), series)
    });
    match found {
        Some(value) => Ok(value.value.milli_value()),
        None => Err(failed("the server could not find the requested resource")),
    }
}

/// All series of a number that nothing in the cluster has.
pub(super) fn of_external(
    metrics: &Metrics,
    metric: &MetricIdentifier,
    series: &Selector,
) -> Result<Vec<i64>, String> {
    if let Some(error) = &metrics.down.external {
        return Err(format!("unable to fetch metrics from external metrics API: {error}"));
    }
    let asked = metrics.external.iter().filter(|value| {
        value.metric_name == metric.name && series.matches(|key| value.metric_labels.value(key))
    });
    let values: Vec<i64> = asked.map(|value| value.value.milli_value()).collect();
    if values.is_empty() {
        Err("no metrics returned from external metrics API".to_owned())
    } else {
        Ok(values)
    }
}

/// For the metrics APIs a selector that is absent is one that is empty: it travels as text.
pub(super) fn series_selector(metric: &MetricIdentifier) -> Result<Selector, String> {
    match &metric.selector {
        None => Ok(Selector::everything()),
        Some(selector) => selector.compile().map_err(|error| error.to_string()),
    }
}

fn has_labels(labels: Option<&LabelSelector>, series: &Selector) -> bool {
    series.matches(|key| labels?.match_labels.get(key).map(|value| &**value))
}

fn is_in(described: &Namespace, namespace: &Namespace) -> bool {
    described.is_empty() || described == namespace
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
