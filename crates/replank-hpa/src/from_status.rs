//! What was measured, where nobody asks the metrics APIs: what a snapshot has of it, and what the autoscaler's own status says.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::autoscaling::{
    HorizontalPodAutoscaler, MetricIdentifier, MetricSpec, MetricStatus,
};
use replank_model::object::meta::Meta;
use replank_model::object::metrics::{
    ContainerMetrics, DescribedObject, ExternalMetricValue, MetricSeries, MetricValue, PodMetrics,
};
use replank_model::object::pod::Pod;
use replank_model::object::resources::Resources;
use replank_model::object::{Object, render};
use replank_model::quantity::Quantity;
use replank_model::text::{Namespace, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::given::Metrics;

/// Window of a sample that is made up from a status.
const WINDOW: Span = Span::from_secs(15);

impl Metrics {
    /// Takes in the PodMetrics of a snapshot (`kubectl get podmetrics -A -o json`).
    pub fn fill_from_snapshot(&mut self, view: &View) {
        let others = view.others().filter(|other| {
            let object = Object::Other((*other).clone());
            object.kind_name() == "PodMetrics" && object.api_version().starts_with("metrics.k8s.io/")
        });
        let read = |other| serde_json::from_value(render(&Object::Other(other))).ok();
        self.pods.extend(others.cloned().filter_map(read));
    }

    /// Puts what the status says where nothing was given: each ready pod is at the average. Whether there was anything to put.
    pub fn fill_from_status(
        &mut self,
        hpa: &HorizontalPodAutoscaler,
        pods: &[Arc<Pod>],
        replicas: i32,
        now: Time,
    ) -> bool {
        let mut usages: BTreeMap<Text, Resources> = BTreeMap::new();
        let has = (!self.pods.is_empty(), !self.custom.is_empty(), !self.external.is_empty());
        let mut filled = false;
        let ready: Vec<&Arc<Pod>> = pods.iter().filter(|pod| pod.is_ready() && pod.is_active()).collect();
        for (spec, status) in hpa.spec.metrics.iter().zip(&hpa.status.current_metrics) {
            filled |= match (&*spec.r#type, has) {
                ("Resource" | "ContainerResource", (false, _, _)) => {
                    of_resource(spec, status, &ready, &mut usages)
                }
                ("Pods" | "Object", (_, false, _)) => of_custom(spec, status, &ready, replicas, now, self),
                ("External", (_, _, false)) => of_external(status, replicas, now, self),
                _ => false,
            };
        }
        if !usages.is_empty() {
            self.pods.extend(ready.iter().map(|pod| pod_metrics(pod, &usages, now)));
        }
        filled
    }
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
    let series = |metric: &MetricIdentifier| MetricSeries {
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
