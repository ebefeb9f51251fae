//! What the metrics APIs of the simulated cluster answer for the target of one HPA: metrics-server and adapters, as late as the
//! real ones.
//!
//! - **Kubelets** measure their containers every 10 s ([`HOUSEKEEPING`]), each in a phase of its own.
//! - **metrics-server** fetches what they measured last every 15 s ([`SCRAPE`], its `--metric-resolution`) and answers with the rate
//!   between its last two samples: the window is 10 or 20 s long and up to 25 s old. Of a container it knows nothing until the second
//!   sample, unless the first came when the container was 10 to 15 s old (metrics-server 0.6, `pkg/storage/pod.go`).
//! - **Adapters** answer with what was there when they, or their store, last looked: every 30 s ([`ADAPTER`], the usual interval of
//!   Prometheus).
//!
//! Nothing of it is an event: what would have been measured is worked out when somebody asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_hpa::Metrics;
use replank_model::object::autoscaling::{HorizontalPodAutoscaler, MetricIdentifier, MetricSpec};
use replank_model::object::meta::Meta;
use replank_model::object::metrics::{
    ContainerMetrics, DescribedObject, ExternalMetricValue, MetricSeries, MetricValue, PodMetrics,
};
use replank_model::object::pod::{Container, Pod, PodPhase, RestartPolicy};
use replank_model::object::resources::{CPU, Resources};
use replank_model::quantity::{Format, Quantity};
use replank_model::selector::LabelSelector;
use replank_model::text::{Namespace, Text, Uid};
use replank_model::time::{Span, Time};

use crate::load::{Curve, Measured};
use replank_apiserver::draw::{Draws, Purpose};

/// Between two measurements of a kubelet (cAdvisor's housekeeping interval).
const HOUSEKEEPING: Span = Span::from_secs(10);
/// Between two rounds of metrics-server.
const SCRAPE: Span = Span::from_secs(15);
/// Between two looks of an adapter's store.
const ADAPTER: Span = Span::from_secs(30);
/// A container that is younger than this at its first sample is not told of yet.
const FRESH: Span = Span::from_secs(10);
/// How far back the oldest sample lies that is still asked for: a round, a window, a kubelet's phase.
pub(super) const LOOK_BACK: Span = Span::from_secs(60);
/// How finely usage is added up.
const GRAIN: Span = Span::from_secs(1);

/// What is measured for one HPA.
#[derive(Debug)]
pub(super) struct Meter {
    loads: Vec<(Measured, Curve)>,
    /// When each pod took its share of the load, as far back as somebody may ask.
    shares: BTreeMap<Uid, Vec<Share>>,
    /// How many pods took a share, from when on.
    takers: Vec<(Time, usize)>,
    /// Last time that a pod came, went, or changed.
    touched: Time,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    from: Time,
    to: Option<Time>,
}

impl Meter {
    /// What is measured of these pods under these loads; as they are now, they have been before.
    pub(super) fn begin(loads: Vec<(Measured, Curve)>, pods: &[Arc<Pod>], now: Time) -> Self {
        let mut meter = Self { loads, shares: BTreeMap::new(), takers: Vec::new(), touched: now };
        for pod in pods.iter().filter(|pod| takes_share(pod)) {
            let from = pod.ready_since().unwrap_or(now).min(now);
            meter.shares.insert(pod.meta.uid.clone(), vec![Share { from, to: None }]);
        }
        meter.takers.push((now - LOOK_BACK, meter.shares.len()));
        meter
    }

    /// A pod of the target has changed; `None` as the new one: it is gone.
    pub(super) fn note(&mut self, uid: &Uid, new: Option<&Pod>, now: Time) {
        self.touched = now;
        let takes = new.is_some_and(takes_share);
        let known = self.shares.entry(uid.clone()).or_default();
        let open = known.last_mut().filter(|share| share.to.is_none());
        match (open, takes) {
            (Some(open), false) => open.to = Some(now),
            (None, true) => known.push(Share { from: now, to: None }),
            (Some(_), true) | (None, false) => return,
        }
        let open = |shares: &&Vec<Share>| shares.last().is_some_and(|share| share.to.is_none());
        let takers = self.shares.values().filter(open).count();
        self.takers.push((now, takers));
        self.forget(now - LOOK_BACK);
    }

    fn forget(&mut self, before: Time) {
        self.shares.retain(|_, shares| {
            shares.retain(|share| share.to.is_none_or(|to| to >= before));
            !shares.is_empty()
        });
        let first = self.takers.partition_point(|(from, _)| *from <= before);
        self.takers.drain(..first.saturating_sub(1));
    }

    /// Until when what is measured stays as it is: not at all, until a moment, or until a pod changes.
    pub(super) fn level_until(&self, now: Time) -> Option<Option<Time>> {
        if self.touched + LOOK_BACK > now {
            return None;
        }
        let mut until: Option<Time> = None;
        for (_, curve) in &self.loads {
            // Level long enough for every sample that is asked for.
            let bend = curve.level_until(now - LOOK_BACK)?;
            if bend.is_some_and(|bend| bend <= now) {
                return None;
            }
            until = match (until, bend) {
                (Some(known), Some(bend)) => Some(known.min(bend)),
                (known, bend) => known.or(bend),
            };
        }
        Some(until)
    }

    /// What the metrics APIs answer about the target's pods.
    pub(super) fn read(
        &self,
        hpa: &HorizontalPodAutoscaler,
        pods: &[Arc<Pod>],
        draws: &Draws,
        now: Time,
    ) -> Metrics {
        let mut metrics = Metrics::default();
        if self.loads.iter().any(|(of, _)| matches!(of, Measured::Resource { .. })) {
            metrics.pods = pods.iter().filter_map(|pod| self.pod_metrics(pod, draws, now)).collect();
        }
        let looked = last_round(now, ADAPTER, draws, "metrics adapter");
        for spec in &hpa.spec.metrics {
            let Some((_, curve)) =
                Measured::of(spec).and_then(|of| self.loads.iter().find(|(load, _)| *load == of))
            else {
                continue;
            };
            self.answer_of_adapter(spec, curve, pods, looked, &mut metrics);
        }
        metrics
    }

    fn pod_metrics(&self, pod: &Pod, draws: &Draws, now: Time) -> Option<PodMetrics> {
        let node = pod.node.as_ref().filter(|_| pod.status.phase == PodPhase::Running)?;
        let started = started(pod)?;
        let round = last_round(now, SCRAPE, draws, "metrics-server");
        let phase = format!("kubelet of {node}");
        let last = last_round(round, HOUSEKEEPING, draws, &phase);
        let before = last_round(round - SCRAPE, HOUSEKEEPING, draws, &phase);
        let since = if started <= before {
            before
        } else if started + FRESH <= last && last < started + SCRAPE {
            started
        } else {
            return None;
        };
        let containers = running_containers(pod);
        let usages = containers.iter().map(|container| {
            let usage = self.container_usage(pod, container, &containers, (since, last));
            ContainerMetrics { name: container.name.clone(), usage }
        });
        Some(PodMetrics {
            meta: Meta {
                namespace: pod.meta.namespace.clone(),
                name: pod.meta.name.clone(),
                labels: pod.meta.labels.clone(),
                ..Meta::default()
            },
            timestamp: Some(last.floor_seconds()),
            window: last - since,
            containers: usages.collect(),
        })
    }

    /// What a container used on average between two moments. Of each resource a container has the load that is its own, or a share,
    /// by requests, of what its pod has besides.
    fn container_usage(
        &self,
        pod: &Pod,
        container: &Container,
        all: &[&Container],
        window: (Time, Time),
    ) -> Resources {
        let mut usage = Resources::default();
        for resource in self.resources() {
            let own = |name: &str| {
                self.curve(&Measured::Resource { resource: resource.into(), container: Some(name.into()) })
            };
            let value = match own(&container.name) {
                Some(curve) => self.used(pod, curve, window, limit_of(container, resource)),
                None => {
                    let rest: Vec<&&Container> =
                        all.iter().filter(|other| own(&other.name).is_none()).collect();
                    let part = part_of(container, &rest, resource);
                    let whole = Measured::Resource { resource: resource.into(), container: None };
                    let elsewhere: f64 = all
                        .iter()
                        .filter_map(|other| own(&other.name))
                        .map(|curve| self.used(pod, curve, window, None))
                        .sum();
                    let used = self.curve(&whole).map_or(0.0, |curve| self.used(pod, curve, window, None));
                    let used = (used - elsewhere).max(0.0) * part;
                    limit_of(container, resource).map_or(used, |limit| used.min(limit))
                }
            };
            usage.set(resource, amount(resource, value));
        }
        usage
    }

    fn resources(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self
            .loads
            .iter()
            .filter_map(|(of, _)| match of {
                Measured::Resource { resource, .. } => Some(&**resource),
                Measured::Pods { .. } | Measured::Whole { .. } => None,
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn curve(&self, of: &Measured) -> Option<&Curve> {
        self.loads.iter().find(|(load, _)| load == of).map(|(_, curve)| curve)
    }

    /// A pod's share of a load, on average between two moments.
    fn used(&self, pod: &Pod, curve: &Curve, (from, to): (Time, Time), limit: Option<f64>) -> f64 {
        let (mut sum, mut grains) = (0.0, 0u32);
        let mut at = from;
        while at < to {
            let share = self.share(pod, curve, at);
            sum += limit.map_or(share, |limit| share.min(limit));
            grains += 1;
            at += GRAIN;
        }
        if grains == 0 { 0.0 } else { sum / f64::from(grains) }
    }

    /// A pod's share of a load at a moment: all that take one take the same.
    fn share(&self, pod: &Pod, curve: &Curve, at: Time) -> f64 {
        let takes = self.shares.get(&pod.meta.uid).is_some_and(|shares| {
            shares.iter().any(|share| share.from <= at && share.to.is_none_or(|to| to > at))
        });
        if takes { curve.at(at) / self.takers_at(at).max(1) as f64 } else { 0.0 }
    }

    fn takers_at(&self, at: Time) -> usize {
        let after = self.takers.partition_point(|(from, _)| *from <= at);
        self.takers.get(after.saturating_sub(1)).map_or(0, |(_, takers)| *takers)
    }

    fn answer_of_adapter(
        &self,
        spec: &MetricSpec,
        curve: &Curve,
        pods: &[Arc<Pod>],
        looked: Time,
        metrics: &mut Metrics,
    ) {
        let timestamp = Some(looked.floor_seconds());
        if let Some(source) = &spec.pods {
            let running = pods.iter().filter(|pod| {
                pod.status.phase == PodPhase::Running && started(pod).is_some_and(|started| started <= looked)
            });
            metrics.custom.extend(running.map(|pod| MetricValue {
                described_object: DescribedObject {
                    api_version: "v1".into(),
                    kind: "Pod".into(),
                    namespace: pod.meta.namespace.clone(),
                    name: pod.meta.name.clone(),
                },
                metric: series(&source.metric),
                timestamp,
                window_seconds: None,
                value: in_thousandths(self.share(pod, curve, looked)),
            }));
        }
        let value = in_thousandths(curve.at(looked));
        if let Some(source) = &spec.object {
            let object = &source.described_object;
            metrics.custom.push(MetricValue {
                described_object: DescribedObject {
                    api_version: object.api_version.clone(),
                    kind: object.kind.clone(),
                    namespace: Namespace::default(),
                    name: object.name.clone(),
                },
                metric: series(&source.metric),
                timestamp,
                window_seconds: None,
                value: value.clone(),
            });
        }
        if let Some(source) = &spec.external {
            metrics.external.push(ExternalMetricValue {
                metric_name: source.metric.name.clone(),
                metric_labels: labels(&source.metric).into_iter().collect(),
                timestamp,
                value,
            });
        }
    }
}

/// The load is shared by pods that are ready and not on their way out.
#[must_use]
pub fn takes_share(pod: &Pod) -> bool {
    pod.is_ready() && pod.is_active()
}

/// The last round of something periodic, in its own phase.
fn last_round(now: Time, period: Span, draws: &Draws, who: &str) -> Time {
    let phase = draws.draw(who, Purpose::Phase, 0).below(period.as_millis().unsigned_abs());
    let phase = i64::try_from(phase).unwrap_or(0);
    let since = (now.as_millis() - phase).rem_euclid(period.as_millis());
    now - Span::from_millis(since)
}

/// A series that the HPA's selector selects.
fn series(metric: &MetricIdentifier) -> MetricSeries {
    let selector = LabelSelector { match_labels: labels(metric).into(), match_expressions: Vec::new() };
    MetricSeries { name: metric.name.clone(), selector: Some(selector) }
}

/// Labels that the selector of a metric selects.
fn labels(metric: &MetricIdentifier) -> BTreeMap<Text, Text> {
    let Some(selector) = &metric.selector else { return BTreeMap::new() };
    let mut labels = BTreeMap::clone(&selector.match_labels);
    for expression in &selector.match_expressions {
        let value = match &*expression.operator {
            "In" => expression.values.first().cloned(),
            "Exists" => Some("".into()),
            _ => None,
        };
        labels.extend(value.map(|value| (expression.key.clone(), value)));
    }
    labels
}

fn started(pod: &Pod) -> Option<Time> {
    let running = pod.status.container_statuses.iter().filter_map(|of| of.state.running.as_ref()?.started_at);
    running.max().or(pod.status.start_time)
}

fn running_containers(pod: &Pod) -> Vec<&Container> {
    let sidecars =
        pod.spec.init_containers.iter().filter(|of| of.restart_policy == Some(RestartPolicy::Always));
    pod.spec.containers.iter().chain(sidecars).collect()
}

/// By requests; by heads if nothing is requested.
fn part_of(container: &Container, all: &[&&Container], resource: &str) -> f64 {
    let request = |of: &Container| of.resources.requests.get(resource).map_or(0.0, Quantity::approximate_f64);
    let sum: f64 = all.iter().map(|of| request(of)).sum();
    if sum > 0.0 { request(container) / sum } else { 1.0 / all.len().max(1) as f64 }
}

/// No container gets more CPU than its limit, however much there is to do.
fn limit_of(container: &Container, resource: &str) -> Option<f64> {
    let limit = container.resources.limits.get(resource).filter(|_| resource == CPU)?;
    Some(limit.approximate_f64())
}

fn amount(resource: &str, value: f64) -> Quantity {
    if resource == CPU {
        in_thousandths(value)
    } else {
        Quantity::from_units(value.round() as i64, Format::BinarySi)
    }
}

fn in_thousandths(value: f64) -> Quantity {
    Quantity::from_milli((value * 1_000.0).round() as i64, Format::DecimalSi)
}
