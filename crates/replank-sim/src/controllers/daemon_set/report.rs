//! What one node means for a DaemonSet (`podsShouldBeOnNode`, `updateDaemonSetStatus`, and the loops of `rollingUpdate`).

use std::sync::Arc;

use replank_model::object::pod::{Pod, PodPhase};
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};
use smallvec::SmallVec;

use super::fit::{Demands, Fit};
use super::template::Present;
use crate::controllers::replica_set::is_available;

/// By what nodes are judged: a report is good as long as this is the same.
#[derive(Debug, Default)]
pub(super) struct Basis {
    pub(super) generation: i64,
    pub(super) present: Present,
    pub(super) demands: Demands,
    pub(super) min_ready_seconds: i32,
    /// Whether a node may have two pods for a while (`AllowsSurge`).
    pub(super) surges: bool,
}

/// Sums of the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) desired: i32,
    pub(super) current: i32,
    pub(super) misscheduled: i32,
    pub(super) ready: i32,
    pub(super) available: i32,
    pub(super) updated: i32,
    /// Nodes whose pod is available, wanted or not: what an update with surge goes by.
    pub(super) serving: i32,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self, sign: i32) {
        self.desired += sign * other.desired;
        self.current += sign * other.current;
        self.misscheduled += sign * other.misscheduled;
        self.ready += sign * other.ready;
        self.available += sign * other.available;
        self.updated += sign * other.updated;
        self.serving += sign * other.serving;
    }
}

/// Why a pod goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doom {
    /// It failed: it goes after a pause that grows.
    Failed,
    /// There is one too many, or it succeeded, or none should be there.
    Surplus,
}

/// What an update does on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Nothing.
    Settled,
    /// Nothing; it counts against the bound.
    Held,
    /// The old pod is not available: it is replaced, whatever the bound.
    AtOnce,
    /// The old pod is available: it is replaced within the bound.
    Candidate,
    /// The old pod goes: the new one is available, or no pod should be there.
    Outdone,
    /// The old pod, of a node that should have none, goes when enough others are available.
    Sunset,
    /// There is an old pod, and no node any more.
    Lost,
}

/// What is known of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) tally: Tally,
    /// Whether a pod is to be made.
    pub(super) needs: bool,
    pub(super) doomed: Vec<(Ix<Pod>, Doom)>,
    pub(super) step: Step,
    /// The pod of another template.
    pub(super) old: Option<Ix<Pod>>,
    /// When the report is no longer good by the mere passing of time.
    pub(super) until: Option<Time>,
}

type Found<'a> = (Ix<Pod>, &'a Arc<Pod>);

/// Looks at one node; `fit` is absent where only pods are left of it.
pub(super) fn of(view: &View, basis: &Basis, fit: Option<Fit>, pods: &[Ix<Pod>], now: Time) -> Report {
    let mut found: SmallVec<[Found<'_>; 2]> = pods
        .iter()
        .filter_map(|ix| Some((*ix, view.pods.get(*ix)?)))
        // Somebody else is about to remove it.
        .filter(|(_, pod)| !(pod.is_terminal() && pod.is_terminating()))
        .collect();
    found.sort_by(|(_, a), (_, b)| oldest_first(a, b));
    let (old, step) = step(basis, fit, &found, now);
    let mut report = Report {
        tally: tally(basis, fit, &found, now),
        needs: false,
        doomed: Vec::new(),
        step,
        old,
        until: until(basis, &found, now),
    };
    match fit {
        None => {
            // The pod garbage collector goes by nodes and never sees these.
            let unbound = found.iter().filter(|(_, pod)| pod.node.is_none());
            report.doomed.extend(unbound.map(|(ix, _)| (*ix, Doom::Surplus)));
        }
        Some(Fit::Wanted) if found.is_empty() => report.needs = true,
        Some(Fit::Wanted | Fit::Tolerated) => prune(basis, fit, &found, now, &mut report),
        Some(Fit::Unwanted) => {
            let there = found.iter().filter(|(_, pod)| !pod.is_terminating());
            report.doomed.extend(there.map(|(ix, _)| (*ix, Doom::Surplus)));
        }
    }
    report
}

/// Bound pods first, then by age (`podByCreationTimestampAndPhase`).
fn oldest_first(a: &Pod, b: &Pod) -> std::cmp::Ordering {
    let key = |pod: &Pod| (pod.node.is_none(), pod.meta.creation_timestamp);
    key(a).cmp(&key(b)).then_with(|| a.meta.name.cmp(&b.meta.name))
}

/// Which pods go from a node that may have one.
fn prune(basis: &Basis, fit: Option<Fit>, found: &[Found<'_>], now: Time, report: &mut Report) {
    let mut running = Vec::new();
    for (ix, pod) in found.iter().filter(|(_, pod)| !pod.is_terminating()) {
        match pod.status.phase {
            PodPhase::Failed => report.doomed.push((*ix, Doom::Failed)),
            PodPhase::Succeeded => report.doomed.push((*ix, Doom::Surplus)),
            PodPhase::Pending | PodPhase::Running | PodPhase::Unknown => running.push((*ix, *pod)),
        }
    }
    let mut surplus = |ix: Ix<Pod>| report.doomed.push((ix, Doom::Surplus));
    if !basis.surges {
        running.iter().skip(1).for_each(|(ix, _)| surplus(*ix));
        return;
    }
    if running.is_empty() {
        report.needs = fit == Some(Fit::Wanted);
        return;
    }
    let (mut new, mut old): (Option<Found<'_>>, Option<Found<'_>>) = (None, None);
    for (ix, pod) in running {
        let place = if pod_is_new(basis, pod) { &mut new } else { &mut old };
        match place {
            None => *place = Some((ix, pod)),
            Some(_) => surplus(ix),
        }
    }
    if let (Some((_, new)), Some((ix, old))) = (new, old)
        && (!old.is_ready() || is_available(new, basis.min_ready_seconds, now))
    {
        surplus(ix);
    }
}

/// Here only the hash counts, not the number of the template.
fn pod_is_new(basis: &Basis, pod: &Pod) -> bool {
    pod.meta.labels.value(super::template::HASH_LABEL) == Some(&*basis.present.hash)
}

fn tally(basis: &Basis, fit: Option<Fit>, found: &[Found<'_>], now: Time) -> Tally {
    let mut tally = Tally { serving: i32::from(is_serving(basis, found, now)), ..Tally::default() };
    match (fit, found.first()) {
        (None, _) | (Some(Fit::Tolerated | Fit::Unwanted), None) => {}
        (Some(Fit::Tolerated | Fit::Unwanted), Some(_)) => tally.misscheduled = 1,
        (Some(Fit::Wanted), None) => tally.desired = 1,
        (Some(Fit::Wanted), Some((_, pod))) => {
            tally.desired = 1;
            tally.current = 1;
            tally.ready = i32::from(pod.is_ready());
            let is_available = pod.is_ready() && is_available(pod, basis.min_ready_seconds, now);
            tally.available = i32::from(is_available);
            tally.updated = i32::from(basis.present.is_updated(pod));
        }
    }
    tally
}

/// The new and the old pod of a node that are not on their way out, or nothing where there are several of one sort
/// (`findUpdatedPodsOnNode`).
fn new_and_old<'a>(basis: &Basis, found: &[Found<'a>]) -> Option<(Option<Found<'a>>, Option<Found<'a>>)> {
    let (mut new, mut old): (Option<Found<'a>>, Option<Found<'a>>) = (None, None);
    for (ix, pod) in found.iter().filter(|(_, pod)| !pod.is_terminating()) {
        let place = if basis.present.is_updated(pod) { &mut new } else { &mut old };
        if place.replace((*ix, pod)).is_some() {
            return None;
        }
    }
    Some((new, old))
}

fn is_serving(basis: &Basis, found: &[Found<'_>], now: Time) -> bool {
    let Some((new, old)) = new_and_old(basis, found) else { return false };
    old.or(new).is_some_and(|(_, pod)| is_available(pod, basis.min_ready_seconds, now))
}

fn step(basis: &Basis, fit: Option<Fit>, found: &[Found<'_>], now: Time) -> (Option<Ix<Pod>>, Step) {
    let is_wanted = fit == Some(Fit::Wanted);
    if found.is_empty() && !is_wanted {
        return (None, Step::Settled);
    }
    let Some((new, old)) = new_and_old(basis, found) else { return (None, Step::Held) };
    let available = |found: Found<'_>| is_available(found.1, basis.min_ready_seconds, now);
    let step = match (basis.surges, new, old) {
        (false, None, None) | (false, Some(_), Some(_)) => Step::Held,
        (false, Some(new), None) if !available(new) => Step::Held,
        (true, _, None) | (false, Some(_), None) => Step::Settled,
        (false, None, Some(old)) if !available(old) => Step::AtOnce,
        (false, None, Some(_)) => Step::Candidate,
        (true, None, Some(_)) if fit.is_none() => Step::Lost,
        (true, None, Some(old)) => match (available(old), is_wanted) {
            (false, false) => Step::Outdone,
            (false, true) => Step::AtOnce,
            (true, false) => Step::Sunset,
            (true, true) => Step::Candidate,
        },
        (true, Some(new), Some(_)) if !available(new) => Step::Held,
        (true, Some(_), Some(_)) => Step::Outdone,
    };
    (old.map(|(ix, _)| ix), step)
}

/// When the next ready pod becomes available.
fn until(basis: &Basis, found: &[Found<'_>], now: Time) -> Option<Time> {
    let min_ready = Span::from_secs(i64::from(basis.min_ready_seconds));
    let times = found.iter().filter_map(|(_, pod)| pod.ready_since()).map(|since| since + min_ready);
    times.filter(|at| *at > now).min()
}
