//! What the autoscalers whose targets' load is given made of it while the rehearsal went on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_model::object::Object;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use serde::Serialize;

use crate::replay::{Figures, TargetMoment};
use replank_sim::load::Load;
use replank_sim::{Observer, World};
use replank_sim::{Workload, series_of};

/// Between two moments that are looked at: finer than metrics come, so that no spell of too much load is missed.
const STEP: Span = Span::from_secs(5);

/// What one autoscaler made of its load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerFigures {
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// What it scales: kind and name.
    pub target: String,
    /// Its bounds.
    pub min_replicas: i32,
    /// Its bounds.
    pub max_replicas: i32,
    /// Fewest replicas asked for at one moment.
    pub replicas_min: i32,
    /// Most replicas asked for at one moment.
    pub replicas_max: i32,
    /// Replicas asked for at the end.
    pub replicas_end: i32,
    /// Fewest pods that did the work at one moment.
    pub ready_min: usize,
    /// The most pods that it would have taken to be at the target, at the share that each had.
    pub needed_max: f64,
    /// How long there was more to do than target and tolerance allow.
    #[serde(rename = "overMs", serialize_with = "crate::millis::millis")]
    pub over: Span,
    /// How long nothing told how much there was to do, over the target: pods ask for nothing that a share could be of.
    #[serde(rename = "unknownMs", serialize_with = "crate::millis::millis")]
    pub unknown: Span,
    /// How long was looked at.
    #[serde(rename = "watchedMs", serialize_with = "crate::millis::millis")]
    pub watched: Span,
    /// The most load over target; `None` where there was no ready pod at one moment.
    pub worst_load_over_target: Option<f64>,
    /// Most pods without a node at one moment.
    pub pending_max: usize,
    /// How long there was a pod without a node.
    #[serde(rename = "pendingMs", serialize_with = "crate::millis::millis")]
    pub pending: Span,
    /// How long the one that waited the longest was without a node, those that still wait among them.
    #[serde(rename = "longestPendingMs", serialize_with = "crate::millis::millis")]
    pub longest: Span,
    /// What keeps it from scaling at the end, if anything does: its conditions AbleToScale and ScalingActive, where they are False.
    pub failing: Vec<String>,
}

/// Looks at the autoscalers from time to time, at their pods always.
#[derive(Clone, Debug, Default)]
pub(super) struct Elasticity(Rc<RefCell<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    loads: Vec<Load>,
    tallies: Vec<Tally>,
    /// When it is looked next.
    next: Option<Time>,
}

/// What is noted for one autoscaler.
#[derive(Debug)]
struct Tally {
    autoscaler: Key,
    target: Workload,
    figures: Figures,
    /// What was seen last, and since when it is so; what was seen before.
    last: Option<(Time, TargetMoment)>,
    before: Option<TargetMoment>,
    /// Since when each pod has no node.
    homeless: BTreeMap<Uid, Time>,
    longest: Span,
}

impl Elasticity {
    /// Notes from here on what is made of these loads.
    pub(super) fn of(view: &View, loads: Vec<Load>, at: Time) -> Self {
        let mut keys: Vec<&Key> = loads.iter().map(|load| &load.hpa).collect();
        keys.sort();
        keys.dedup();
        let tallies = keys.into_iter().filter_map(|key| Tally::new(view, key, at)).collect();
        Self(Rc::new(RefCell::new(Notes { loads, tallies, next: Some(at) })))
    }

    /// Looks at every moment until one at which things change, or until which somebody wants to know: as they are, they have been
    /// since the world's last event.
    pub(super) fn look(&self, world: &World, until: Time) {
        let notes = &mut *self.0.borrow_mut();
        if notes.tallies.is_empty() {
            return;
        }
        while let Some(at) = notes.next.filter(|at| *at < until) {
            for tally in &mut notes.tallies {
                let moment = TargetMoment::of(world.view(), at, &tally.autoscaler, &notes.loads);
                tally.take(at, moment);
            }
            notes.next = Some(at + STEP);
        }
    }

    /// The outcome until a moment.
    pub(super) fn figures(&self, view: &View, now: Time) -> Vec<AutoscalerFigures> {
        self.0.borrow().tallies.iter().filter_map(|tally| tally.figures(view, now)).collect()
    }
}

impl Observer for Elasticity {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        let Change::Object { old, new, .. } = change else { return };
        let pod = match new.as_ref().or(old.as_ref()) {
            Some(Object::Pod(pod)) => pod.clone(),
            Some(_) | None => return,
        };
        let notes = &mut *self.0.borrow_mut();
        if notes.tallies.is_empty() {
            return;
        }
        if new.is_some() && waits(&pod) {
            // Its workload is looked up for pods that wait alone: there are far fewer of them.
            let workload = series_of(view, &pod);
            let tally = notes.tallies.iter_mut().find(|tally| Some(&tally.target) == workload.as_ref());
            tally.into_iter().for_each(|tally| {
                tally.homeless.entry(pod.meta.uid.clone()).or_insert(at);
            });
            return;
        }
        for tally in &mut notes.tallies {
            if let Some(since) = tally.homeless.remove(&pod.meta.uid) {
                tally.longest = tally.longest.max(at - since);
            }
        }
    }
}

fn waits(pod: &Pod) -> bool {
    pod.node.is_none() && !pod.is_terminating() && !pod.is_terminal()
}

impl Tally {
    fn new(view: &View, autoscaler: &Key, at: Time) -> Option<Self> {
        let hpa = view.find::<HorizontalPodAutoscaler>(autoscaler)?;
        let scaled = &hpa.spec.scale_target_ref;
        let target = Workload {
            namespace: hpa.meta.namespace.clone(),
            kind: scaled.kind.clone(),
            name: scaled.name.text().clone(),
        };
        let is_homeless = |pod: &Pod| waits(pod) && series_of(view, pod).as_ref() == Some(&target);
        let pods = view.pods.sorted().into_iter().map(|(_, pod)| pod).filter(|pod| is_homeless(pod));
        let homeless = pods.map(|pod| (pod.meta.uid.clone(), at)).collect();
        Some(Self {
            autoscaler: autoscaler.clone(),
            target,
            figures: Figures::default(),
            last: None,
            before: None,
            homeless,
            longest: Span::ZERO,
        })
    }

    fn take(&mut self, at: Time, moment: TargetMoment) {
        if let Some((since, last)) = self.last.replace((at, moment)) {
            self.figures.take(self.before.as_ref(), &last, at - since);
            self.before = Some(last);
        }
    }

    fn figures(&self, view: &View, now: Time) -> Option<AutoscalerFigures> {
        let hpa = view.find::<HorizontalPodAutoscaler>(&self.autoscaler)?;
        let (since, last) = self.last.as_ref()?;
        let open = self.homeless.values().map(|since| now - *since).max().unwrap_or(Span::ZERO);
        let mut of = self.figures.clone();
        of.take(self.before.as_ref(), last, now - *since);
        Some(AutoscalerFigures {
            namespace: self.autoscaler.namespace.text().clone(),
            name: self.autoscaler.name.text().clone(),
            target: format!("{} {}", self.target.kind, self.target.name),
            min_replicas: hpa.spec.min_replicas.unwrap_or(1),
            max_replicas: hpa.spec.max_replicas,
            replicas_min: of.replicas.0,
            replicas_max: of.replicas.1,
            replicas_end: last.replicas,
            ready_min: of.ready,
            needed_max: of.needed,
            over: of.over,
            unknown: of.unknown,
            watched: of.length,
            worst_load_over_target: Some(of.worst).filter(|worst| worst.is_finite()),
            pending_max: of.pending,
            pending: of.waited,
            longest: self.longest.max(open),
            failing: failing(&hpa.status.conditions),
        })
    }
}

/// What keeps an autoscaler from scaling, as its conditions tell it.
#[must_use]
pub fn failing(conditions: &[Condition]) -> Vec<String> {
    let is_failing = |condition: &&Condition| {
        matches!(&*condition.r#type, "AbleToScale" | "ScalingActive")
            && condition.status == ConditionStatus::False
    };
    let told = |of: &Condition| format!("{} is False at the end: {}: {}", of.r#type, of.reason, of.message);
    conditions.iter().filter(is_failing).map(told).collect()
}
