//! What was waited for, and how long.

use replank_model::time::{Span, Time};
use replank_protocol::decision::Decision;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{Subject, Waiting, WaitingOn};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// One thing that was waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// What waited.
    pub what: String,
    /// What kind of reason, one word.
    pub kind: String,
    /// The reason with its numbers, as it was last.
    pub reason: String,
    /// The reason itself, as it was last.
    #[serde(skip)]
    pub on: WaitingOn,
    /// Since when, the first time.
    pub since: Time,
    /// How long, all times together, in milliseconds.
    #[serde(rename = "waitedMs", serialize_with = "crate::millis::millis")]
    pub waited: Span,
}

/// What was waited for, for reasons of one kind; put into words when it is asked for.
#[derive(Clone, Debug)]
struct Sum {
    kind: &'static str,
    /// The reason as it was last.
    on: WaitingOn,
    since: Time,
    waited: Span,
    /// Since when this time, if it is waited for.
    open: Option<Time>,
}

/// All waits, summed from decision to decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// Of each thing that waited, for reasons of each kind.
    sums: FxHashMap<Subject, Vec<Sum>>,
    /// What waits since the last decision. Most of it stays from one decision to the next.
    last: WaitList,
}

impl Waits {
    pub(super) fn decided(&mut self, at: Time, decision: &Decision) {
        let last = std::mem::replace(&mut self.last, decision.waiting.clone());
        decision.waiting.changes_since(&last, |was, is| {
            let kind = |one: Option<&Waiting>| one.map(|one| one.on.kind());
            if kind(was) != kind(is) {
                was.into_iter().for_each(|was| self.close(was, at));
                is.into_iter().for_each(|is| self.open(is, at));
            }
        });
    }

    /// Counts the time until a moment at which nothing is decided.
    pub(super) fn settle(&mut self, at: Time) {
        for waiting in &std::mem::take(&mut self.last) {
            self.close(waiting, at);
        }
    }

    fn open(&mut self, waiting: &Waiting, at: Time) {
        let (kind, on) = (waiting.on.kind(), &waiting.on);
        let sums = self.sums.entry(waiting.what.clone()).or_default();
        if let Some(sum) = sums.iter_mut().find(|sum| sum.kind == kind) {
            sum.open = Some(at);
        } else {
            // Most things wait for one reason or two.
            sums.reserve_exact(1);
            sums.push(Sum { kind, on: on.clone(), since: at, waited: Span::default(), open: Some(at) });
        }
    }

    fn close(&mut self, waiting: &Waiting, at: Time) {
        let mut sums = self.sums.get_mut(&waiting.what).into_iter().flatten();
        let Some(sum) = sums.find(|sum| sum.kind == waiting.on.kind()) else { return };
        sum.on.clone_from(&waiting.on);
        if let Some(since) = sum.open.take() {
            sum.waited += at - since;
        }
    }

    /// All that was waited for, in no order.
    fn unordered(&self) -> impl Iterator<Item = (&Subject, &Sum)> {
        self.sums.iter().flat_map(|(what, sums)| sums.iter().map(move |sum| (what, sum)))
    }

    /// How many batch pods were waited for.
    pub(super) fn batch_pods(&self) -> usize {
        let is_batch =
            |(what, sum): &(&Subject, &Sum)| matches!(what, Subject::Pod(_)) && sum.kind == "batch";
        self.unordered().filter(is_batch).count()
    }

    /// The longest first.
    pub(super) fn all(&self) -> Vec<Wait> {
        let mut all: Vec<(String, &Subject, &Sum)> =
            self.unordered().map(|(what, sum)| (what.to_string(), what, sum)).collect();
        // Words may be the same of two things.
        all.sort_unstable_by(|(a, what, one), (b, other_what, other)| {
            let by_words = || (a, one.kind).cmp(&(b, other.kind));
            other.waited.cmp(&one.waited).then_with(by_words).then_with(|| what.cmp(other_what))
        });
        let told = |(what, _, sum): (String, &Subject, &Sum)| Wait {
            what,
            kind: sum.kind.to_owned(),
            reason: sum.on.to_string(),
            on: sum.on.clone(),
            since: sum.since,
            waited: sum.waited,
        };
        all.into_iter().map(told).collect()
    }
}
