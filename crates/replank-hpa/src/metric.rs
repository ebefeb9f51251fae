//! One metric of the spec: what it proposes, or why it cannot (`computeReplicasForMetric`).

use std::sync::Arc;

use replank_model::object::autoscaling::{
    ContainerResourceMetricStatus, ExternalMetricSource, ExternalMetricStatus, MetricIdentifier, MetricSpec,
    MetricStatus, MetricTarget, MetricValueStatus, ObjectMetricSource, ObjectMetricStatus, PodsMetricSource,
    PodsMetricStatus, ResourceMetricStatus,
};
use replank_model::object::pod::Pod;
use replank_model::quantity::Quantity;
use replank_model::selector::Selector;

use super::behavior;
use super::given::{Given, Scale};
use super::number::{of_metric, of_resource};
use super::pods;
use super::ratio::{self, Shared, Target, Tolerances, Working};
use super::sample;
use super::selector::printed;

/// What a metric asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// What the controller calls the metric.
    pub name: String,
    /// How many replicas, and how that was found.
    pub working: Working,
    /// For `status.currentMetrics`.
    pub status: MetricStatus,
}

/// Why a metric asks for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// One CamelCase word.
    pub reason: &'static str,
    /// What the event says.
    pub cause: String,
    /// What the sync's error says.
    pub error: String,
}

/// What metrics are worked out from.
pub(super) struct Context<'a> {
    pub(super) given: &'a Given<'a>,
    pub(super) scale: &'a Scale,
    pub(super) selector: &'a Selector,
    pub(super) pods: &'a [&'a Arc<Pod>],
}

impl Context<'_> {
    fn tolerances(&self) -> Tolerances {
        let (down, up) = behavior::tolerances(self.given.hpa.spec.behavior.as_ref(), &self.given.config);
        Tolerances { down, up }
    }

    fn ready(&self) -> Result<usize, String> {
        pods::ready(self.pods)
    }
}

/// What the metric proposes.
pub(super) fn propose(context: &Context<'_>, spec: &MetricSpec) -> Result<Proposal, Fault> {
    match &*spec.r#type {
        "Resource" => {
            if let Some(source) = &spec.resource {
                return of_resource_metric(context, &source.name, None, &source.target);
            }
        }
        "ContainerResource" => {
            if let Some(source) = &spec.container_resource {
                return of_resource_metric(context, &source.name, Some(&source.container), &source.target);
            }
        }
        "Pods" => {
            if let Some(source) = &spec.pods {
                return of_pods_metric(context, source);
            }
        }
        "Object" => {
            if let Some(source) = &spec.object {
                return of_object_metric(context, source);
            }
        }
        "External" => {
            if let Some(source) = &spec.external {
                return of_external_metric(context, source);
            }
        }
        _ => {}
    }
    let cause = format!("unknown metric source type \"{}\"", spec.r#type);
    Err(Fault { reason: "InvalidMetricSourceType", error: cause.clone(), cause })
}

fn of_resource_metric(
    context: &Context<'_>,
    resource: &str,
    container: Option<&str>,
    target: &MetricTarget,
) -> Result<Proposal, Fault> {
    let fault = |cause: String| match container {
        None => Fault {
            reason: "FailedGetResourceMetric",
            error: format!("failed to get {resource} resource metric value: {cause}"),
            cause,
        },
        Some(container) => Fault {
            reason: "FailedGetContainerResourceMetric",
            error: format!("failed to get {container} container metric value: {cause}"),
            cause,
        },
    };
    let (name, working) = if let Some(average) = &target.average_value {
        let working = usage(context, resource, container, Percent::NoPart(average.milli_value()));
        let working = working.map_err(|error| fault(format!("failed to get {resource} usage: {error}")))?;
        (format!("{resource} resource"), working)
    } else if let Some(percent) = target.average_utilization {
        let working = usage(context, resource, container, Percent::OfRequests(percent));
        let working =
            working.map_err(|error| fault(format!("failed to get {resource} utilization: {error}")))?;
        let whose = if container.is_some() { "container resource" } else { "resource" };
        (format!("{resource} {whose} utilization (percentage of request)"), working)
    } else {
        return Err(fault(
            "invalid resource metric source: neither an average utilization target nor an average value (usage) \
             target was set"
                .to_owned(),
        ));
    };
    let current = MetricValueStatus {
        average_utilization: working.first.utilization,
        average_value: Some(of_resource(resource, working.first.current)),
        value: None,
    };
    let mut status = MetricStatus::default();
    match container {
        None => {
            status.r#type = "Resource".into();
            status.resource = Some(ResourceMetricStatus { name: resource.into(), current });
        }
        Some(container) => {
            status.r#type = "ContainerResource".into();
            status.container_resource = Some(ContainerResourceMetricStatus {
                name: resource.into(),
                container: container.into(),
                current,
            });
        }
    }
    Ok(Proposal { name, working, status })
}

/// What usage is held against.
#[derive(Clone, Copy)]
enum Percent {
    OfRequests(i32),
    NoPart(i64),
}

fn usage(
    context: &Context<'_>,
    resource: &str,
    container: Option<&str>,
    target: Percent,
) -> Result<Working, String> {
    let given = context.given;
    let namespace = &given.hpa.meta.namespace;
    let mut samples = sample::of_resource(given.metrics, namespace, context.selector, resource, container)
        .map_err(|error| format!("unable to get metrics for resource {resource}: {error}"))?;
    if context.pods.is_empty() {
        return Err(pods::NO_PODS.to_owned());
    }
    let groups = pods::group(context.pods, &samples, Some(resource), &given.config, given.now);
    ratio::keep_counted(&mut samples, &groups)?;
    let requests = match target {
        Percent::OfRequests(_) => pods::requests(context.pods, container, resource)?,
        Percent::NoPart(_) => pods::Requests::default(),
    };
    let target = match target {
        Percent::OfRequests(percent) => Target::Utilization { percent, requests: &requests },
        Percent::NoPart(amount) => Target::Average(amount),
    };
    ratio::of_pods(samples, groups, &target, context.tolerances(), context.scale.spec_replicas)
}

fn of_pods_metric(context: &Context<'_>, source: &PodsMetricSource) -> Result<Proposal, Fault> {
    let fault = |cause: String| Fault {
        reason: "FailedGetPodsMetric",
        error: format!("failed to get pods metric value: {cause}"),
        cause,
    };
    let name = &source.metric.name;
    let given = context.given;
    let series = sample::series_selector(&source.metric).map_err(fault)?;
    let namespace = &given.hpa.meta.namespace;
    let target = source.target.average_value.as_ref().map_or(0, Quantity::milli_value);
    let working = sample::of_pods(given.metrics, namespace, context.pods, &source.metric, &series)
        .map_err(|error| format!("unable to get metric {name}: {error}"))
        .and_then(|mut samples| {
            if context.pods.is_empty() {
                return Err(pods::NO_PODS.to_owned());
            }
            let groups = pods::group(context.pods, &samples, None, &given.config, given.now);
            ratio::keep_counted(&mut samples, &groups)?;
            let target = Target::Average(target);
            ratio::of_pods(samples, groups, &target, context.tolerances(), context.scale.spec_replicas)
        })
        .map_err(fault)?;
    let current = per_pod(working.first.current);
    let pods = Some(PodsMetricStatus { metric: source.metric.clone(), current });
    let status = MetricStatus { r#type: "Pods".into(), pods, ..MetricStatus::default() };
    Ok(Proposal { name: format!("pods metric {name}"), working, status })
}

fn of_object_metric(context: &Context<'_>, source: &ObjectMetricSource) -> Result<Proposal, Fault> {
    let fault = |cause: String, error: String| Fault {
        reason: "FailedGetObjectMetric",
        error: format!("failed to get object metric value: {error}"),
        cause,
    };
    let (given, metric) = (context.given, &source.metric);
    let series = sample::series_selector(metric).map_err(|error| fault(error.clone(), error))?;
    let namespace = &given.hpa.meta.namespace;
    let object = &source.described_object;
    let measured = || {
        sample::of_object(given.metrics, namespace, object, metric, &series).map_err(|error| {
            format!(
                "unable to get metric {}: {} on {namespace} {}/{error}",
                metric.name, object.kind, object.name
            )
        })
    };
    let (name, working, current) = match Whole::of(&source.target, WholeKind::Object) {
        Whole::Value(target) => {
            let working = measured().and_then(|usage| of_value(context, usage, target));
            let working = working.map_err(|error| fault(error.clone(), error))?;
            let current = in_all(working.first.current);
            (format!("{} metric {}", object.kind, metric.name), working, current)
        }
        Whole::Average(target) => {
            let working = measured().map(|usage| of_share(context, usage, target, Shared::Object));
            let working = working.map_err(|error| {
                let wrapped = format!("failed to get {} object metric: {error}", metric.name);
                fault(error, wrapped)
            })?;
            let current = per_pod(working.first.current);
            (external_name(metric), working, current)
        }
        Whole::Neither => {
            let error =
                "invalid object metric source: neither a value target nor an average value target was set";
            return Err(fault(error.to_owned(), error.to_owned()));
        }
    };
    let object = ObjectMetricStatus { metric: metric.clone(), current, described_object: object.clone() };
    let status = MetricStatus { r#type: "Object".into(), object: Some(object), ..MetricStatus::default() };
    Ok(Proposal { name, working, status })
}

fn of_external_metric(context: &Context<'_>, source: &ExternalMetricSource) -> Result<Proposal, Fault> {
    let metric = &source.metric;
    let fault = |cause: String, error: String| Fault {
        reason: "FailedGetExternalMetric",
        error: format!("failed to get {} external metric value: {error}", metric.name),
        cause,
    };
    let given = context.given;
    let measured = || {
        let series = sample::series_selector(metric)?;
        let values = sample::of_external(given.metrics, metric, &series).map_err(|error| {
            let (namespace, selector) = (&given.hpa.meta.namespace, printed(metric.selector.as_ref()));
            format!("unable to get external metric {namespace}/{}/{selector}: {error}", metric.name)
        })?;
        Ok(values)
    };
    let (working, current) = match Whole::of(&source.target, WholeKind::External) {
        Whole::Average(target) => {
            let working = measured()
                .map(|values| of_share(context, ratio::sum_to_share(&values), target, Shared::External));
            let working = working.map_err(|error: String| {
                let wrapped = format!("failed to get {} external metric: {error}", metric.name);
                fault(error, wrapped)
            })?;
            let current = per_pod(working.first.current);
            (working, current)
        }
        Whole::Value(target) => {
            let working = measured().and_then(|values| of_value(context, ratio::sum(&values), target));
            let working = working.map_err(|error| {
                let wrapped = format!("failed to get external metric {}: {error}", metric.name);
                fault(error, wrapped)
            })?;
            let current = in_all(working.first.current);
            (working, current)
        }
        Whole::Neither => {
            let error =
                "invalid external metric source: neither a value target nor an average value target was set";
            return Err(fault(error.to_owned(), error.to_owned()));
        }
    };
    let external = Some(ExternalMetricStatus { metric: metric.clone(), current });
    let status = MetricStatus { r#type: "External".into(), external, ..MetricStatus::default() };
    Ok(Proposal { name: external_name(metric), working, status })
}

/// What a metric of the whole is held against, in thousandths.
enum Whole {
    Value(i64),
    Average(i64),
    Neither,
}

#[derive(Clone, Copy)]
enum WholeKind {
    Object,
    External,
}

impl Whole {
    /// Of an object's metric the target's `type` decides, of an external one which of the two is there.
    fn of(target: &MetricTarget, kind: WholeKind) -> Self {
        let value = target.value.as_ref().map(Quantity::milli_value);
        let average = target.average_value.as_ref().map(Quantity::milli_value);
        match kind {
            WholeKind::Object => match (&*target.r#type, value, average) {
                ("Value", Some(value), _) => Self::Value(value),
                ("AverageValue", _, Some(average)) => Self::Average(average),
                _ => Self::Neither,
            },
            WholeKind::External => match (average, value) {
                (Some(average), _) => Self::Average(average),
                (None, Some(value)) => Self::Value(value),
                (None, None) => Self::Neither,
            },
        }
    }
}

fn of_value(context: &Context<'_>, usage: i64, target: i64) -> Result<Working, String> {
    let replicas = context.scale.spec_replicas;
    ratio::of_whole(usage, target, context.tolerances(), replicas, || context.ready())
}

fn of_share(context: &Context<'_>, usage: i64, target: i64, whose: Shared) -> Working {
    ratio::of_share(usage, target, context.tolerances(), context.scale.status_replicas, whose)
}

fn external_name(metric: &MetricIdentifier) -> String {
    format!("external metric {}({})", metric.name, printed(metric.selector.as_ref()))
}

fn in_all(milli: i64) -> MetricValueStatus {
    MetricValueStatus { value: Some(of_metric(milli)), ..MetricValueStatus::default() }
}

fn per_pod(milli: i64) -> MetricValueStatus {
    MetricValueStatus { average_value: Some(of_metric(milli)), ..MetricValueStatus::default() }
}
