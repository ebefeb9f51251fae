//! What the controller remembers of an HPA between syncs.

use replank_model::time::{Span, Time};

/// A number of replicas that the metrics asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recommendation {
    /// How many.
    pub replicas: i32,
    /// When.
    pub at: Time,
}

/// A change of replicas that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleEvent {
    /// By how many, without a sign.
    pub change: i32,
    /// When.
    pub at: Time,
    /// Older than every period of the policies was, so that its place may be taken.
    pub is_outdated: bool,
}

/// What the controller remembers of an HPA between syncs.
///
/// The order is upstream's: the new takes the place of the last one that is too old, and else the end. What lies too
/// long back for the windows of today may be in a longer one tomorrow, so that the order shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What the metrics asked for; the first is the number of replicas that the first sync found.
    pub recommendations: Vec<Recommendation>,
    /// Changes to more replicas.
    pub ups: Vec<ScaleEvent>,
    /// Changes to fewer.
    pub downs: Vec<ScaleEvent>,
}

impl Memory {
    /// A controller that does not know the HPA takes the present replicas as a recommendation.
    pub(super) fn begin(&mut self, replicas: i32, now: Time) {
        if self.recommendations.is_empty() {
            self.recommendations.push(Recommendation { replicas, at: now });
        }
    }

    /// Keeps a recommendation, in the place of one that is too old if there is any.
    pub(super) fn recommend(&mut self, replicas: i32, now: Time, is_old: impl Fn(Time) -> bool) {
        let new = Recommendation { replicas, at: now };
        match self.recommendations.iter_mut().rev().find(|known| is_old(known.at)) {
            Some(place) => *place = new,
            None => self.recommendations.push(new),
        }
    }

    /// When the memory of today has ceased to matter: nothing in it is in any window from then on.
    #[must_use]
    pub fn settled_at(&self, windows: Span, periods: Span) -> Option<Time> {
        let recommended = self.recommendations.iter().map(|known| known.at + windows);
        let changed = self.ups.iter().chain(&self.downs).map(|event| event.at + periods);
        recommended.chain(changed).max()
    }
}

/// Keeps a change, in the place of one that no policy looks back to if there is any (`storeScaleEvent`).
pub(super) fn store(events: &mut Vec<ScaleEvent>, change: i32, now: Time, longest: Span) {
    for event in events.iter_mut().filter(|event| event.at < now - longest) {
        event.is_outdated = true;
    }
    let new = ScaleEvent { change, at: now, is_outdated: false };
    match events.iter_mut().rev().find(|event| event.is_outdated) {
        Some(place) => *place = new,
        None => events.push(new),
    }
}

/// By how many the replicas were changed within a period.
pub(super) fn changed_within(events: &[ScaleEvent], period: Span, now: Time) -> i32 {
    let within = events.iter().filter(|event| event.at > now - period);
    within.fold(0, |sum: i32, event| sum.wrapping_add(event.change))
}
