//! Horizontal pod autoscalers of targets whose load is known: the controller itself, on metrics as late as the real ones.

use std::sync::Arc;

use replank_hpa::{
    self, Config, Direction, Given, Memory, Metrics, Outcome, Recommendation, Rival, Rules, Scale, ScaleError,
};
use replank_model::object::Object;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::selector::Selector;
use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use super::super::Ctx;
use super::meter::Meter;
use super::{PERIOD, address, pods_of};
use crate::load::{Curve, Measured};
use replank_apiserver::json::{Address, Effect, PatchType};
use replank_apiserver::{Api, ApiError, EventType};

/// What is kept of an autoscaler whose target's load is known. The controller's memory begins empty, as after its restart.
#[derive(Debug)]
pub(super) struct Measuring {
    loads: Vec<(Measured, Curve)>,
    /// Which pods the target has, and what is measured of them; none before the target has been seen.
    meter: Option<(Selector, Meter)>,
    memory: Memory,
    /// The last look, and what the metrics asked for then.
    last: Option<(Time, Option<i32>)>,
}

/// When the next look is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// At the next period.
    Next,
    /// Not before this moment.
    At(Time),
    /// When something changes that is watched.
    WhenTouched,
}

impl Measuring {
    pub(super) fn begin(ctx: &Ctx<'_>, key: &Key, loads: Vec<(Measured, Curve)>) -> Self {
        let mut measuring = Self { loads, meter: None, memory: Memory::default(), last: None };
        if let Some(scaler) = ctx.view().find::<HorizontalPodAutoscaler>(key).cloned()
            && let Ok(scale) = scale(ctx.api, &address(ctx.api, &scaler))
        {
            measuring.see(ctx, &scaler, &scale);
        }
        measuring
    }

    /// A pod has changed; whether it is the target's.
    pub(super) fn note(&mut self, pod: &Pod, is_there: bool, now: Time) -> bool {
        let Some((selector, meter)) = &mut self.meter else { return false };
        let is_own = selector.matches(|key| pod.meta.labels.value(key));
        if is_own {
            meter.note(&pod.meta.uid, is_there.then_some(pod), now);
        }
        is_own
    }

    /// One look.
    pub(super) fn sync(&mut self, ctx: &mut Ctx<'_>, scaler: &Arc<HorizontalPodAutoscaler>) -> Wake {
        let now = ctx.api.now();
        self.recall(now);
        let address = address(ctx.api, scaler);
        let scale = scale(ctx.api, &address);
        if let Ok(scale) = &scale {
            self.see(ctx, scaler, scale);
        }
        let (pods, metrics) = match &self.meter {
            Some((selector, meter)) => {
                let pods = pods_of(ctx, scaler, selector);
                let metrics = meter.read(scaler, &pods, ctx.draws, now);
                (pods, metrics)
            }
            None => (Vec::new(), Metrics::default()),
        };
        let rivals = rivals(ctx.api, scaler);
        let given = Given {
            hpa: scaler,
            scale,
            pods: &pods,
            metrics: &metrics,
            rivals: &rivals,
            now,
            config: Config::default(),
        };
        let outcome = replank_hpa::judge(&given, std::mem::take(&mut self.memory)).close(|replicas| {
            let address = address.as_ref().map_err(ToString::to_string)?;
            let patch = json!({"spec": {"replicas": replicas}});
            let written = ctx.api.patch_scale(address, PatchType::Merge, &patch, Effect::Real);
            written.map(|_| ()).map_err(|error| error.to_string())
        });
        let wake = self.wake(scaler, &outcome, &pods, now);
        self.last = Some((now, outcome.steps.chosen.map(|chosen| chosen.replicas)));
        self.memory = outcome.memory;
        let about = Object::HorizontalPodAutoscaler(scaler.clone());
        for event in &outcome.events {
            let kind = if event.is_warning { EventType::Warning } else { EventType::Normal };
            ctx.api.record(&about, kind, event.reason, &event.message);
        }
        if outcome.is_changed {
            let status = outcome.status;
            let written = ctx
                .api
                .modify::<HorizontalPodAutoscaler>(&scaler.meta.key(), |scaler| scaler.status = status);
            debug_assert!(written.is_ok(), "the autoscaler was just read");
        }
        wake
    }

    /// Looks that were left out, because they would have come out alike, are remembered as the last of them.
    fn recall(&mut self, now: Time) {
        if let Some((last, Some(replicas))) = self.last
            && last + PERIOD + PERIOD <= now
        {
            self.memory.recommendations.push(Recommendation { replicas, at: now - PERIOD });
        }
    }

    /// Learns which pods the target has.
    fn see(&mut self, ctx: &Ctx<'_>, scaler: &HorizontalPodAutoscaler, scale: &Scale) {
        let Ok(selector) = scale.selector.parse::<Selector>() else { return };
        if scale.selector.is_empty() || self.meter.as_ref().is_some_and(|(known, _)| *known == selector) {
            return;
        }
        let pods = pods_of(ctx, scaler, &selector);
        self.meter = Some((selector, Meter::begin(self.loads.clone(), &pods, ctx.api.now())));
    }

    /// When a look may come out differently: as long as something moves, at the next period.
    fn wake(
        &self,
        scaler: &HorizontalPodAutoscaler,
        outcome: &Outcome,
        pods: &[Arc<Pod>],
        now: Time,
    ) -> Wake {
        let (windows, periods) = spans(scaler);
        let wanted = outcome.steps.chosen.map(|chosen| chosen.replicas);
        let mut recent = outcome.memory.recommendations.iter().filter(|known| known.at + windows >= now);
        let is_settled = recent.all(|known| Some(known.replicas) == wanted || wanted.is_none());
        let changes = outcome.memory.ups.iter().chain(&outcome.memory.downs);
        let has_changed = changes.into_iter().any(|event| event.at + periods >= now);
        if outcome.is_changed || outcome.scaled_to.is_some() || !is_settled || has_changed {
            return Wake::Next;
        }
        let Some((_, meter)) = &self.meter else { return Wake::WhenTouched };
        let Some(bend) = meter.level_until(now) else { return Wake::Next };
        // CPU of a pod that has just begun counts differently when it is no longer new.
        let initial = Config::default().cpu_initialization_period;
        let grown = pods.iter().filter_map(|pod| pod.status.start_time).map(|start| start + initial);
        let grown = grown.filter(|at| *at > now).min();
        match bend.into_iter().chain(grown).min() {
            Some(at) => Wake::At(at),
            None => Wake::WhenTouched,
        }
    }
}

/// How far back recommendations and changes of replicas matter.
fn spans(scaler: &HorizontalPodAutoscaler) -> (Span, Span) {
    let config = Config::default();
    let Some(behavior) = &scaler.spec.behavior else { return (config.downscale_stabilization, Span::ZERO) };
    let rules = [Direction::Up, Direction::Down].map(|direction| Rules::of(behavior, direction, &config));
    let windows = rules.iter().map(|rules| rules.window).max().unwrap_or_default();
    let periods = rules.iter().map(Rules::longest_period).max().unwrap_or_default();
    (windows, periods)
}

/// The scale at an address.
pub(crate) fn scale(api: &Api, address: &Result<Address, ApiError>) -> Result<Scale, ScaleError> {
    let address = address.as_ref().map_err(|error| ScaleError::Kind(error.to_string()))?;
    let scale = api.get_scale(address).map_err(|error| ScaleError::Read(error.to_string()))?;
    let number = |path: &str| {
        let number = scale.pointer(path).and_then(Value::as_i64).unwrap_or(0);
        i32::try_from(number).unwrap_or(i32::MAX)
    };
    let selector = scale.pointer("/status/selector").and_then(Value::as_str).unwrap_or_default();
    Ok(Scale {
        spec_replicas: number("/spec/replicas"),
        status_replicas: number("/status/replicas"),
        selector: selector.to_owned(),
    })
}

/// The other autoscalers of the namespace, as far as they have a target.
pub(crate) fn rivals(api: &Api, scaler: &HorizontalPodAutoscaler) -> Vec<Rival> {
    let all = api.view().horizontal_pod_autoscalers.sorted();
    let others = all
        .into_iter()
        .map(|(_, other)| other)
        .filter(|other| other.meta.namespace == scaler.meta.namespace && other.meta.name != scaler.meta.name);
    others
        .filter_map(|other| {
            let scale = scale(api, &address(api, other)).ok()?;
            let selector = scale.selector.parse().ok().filter(|_| !scale.selector.is_empty())?;
            Some(Rival { name: other.meta.name.clone(), selector })
        })
        .collect()
}
