//! What was waited for, and how long.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use replank_model::time::{Span, Time};
use replank_protocol::decision::Decision;
use replank_protocol::waiting::{Subject, Waiting, WaitingOn};
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
    /// The reason as it was last.
    on: WaitingOn,
    since: Time,
    waited: Span,
}

/// All waits, summed from decision to decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    sums: BTreeMap<(Subject, &'static str), Sum>,
    /// What waits, by subject, and since when for a reason of this kind. Most of it stays from one decision to the next, and
    /// costs a comparison.
    open: Vec<(Waiting, Time)>,
}

impl Waits {
    pub(super) fn decided(&mut self, at: Time, decision: &Decision) {
        let mut known = std::mem::take(&mut self.open).into_iter().peekable();
        let mut open = Vec::with_capacity(decision.waiting.len());
        for waiting in &decision.waiting {
            // One comparison for each: nearly all of them are the same as before.
            let order = loop {
                let order = known.peek().map(|(known, _)| known.what.cmp(&waiting.what));
                if order != Some(Ordering::Less) {
                    break order;
                }
                if let Some((gone, since)) = known.next() {
                    self.close(&gone, since, at);
                }
            };
            match known.next_if(|_| order == Some(Ordering::Equal)) {
                Some((same, since)) if same.on == waiting.on => open.push((same, since)),
                Some((same, since)) if same.on.kind() == waiting.on.kind() => {
                    open.push((waiting.clone(), since));
                }
                Some((other, since)) => {
                    self.close(&other, since, at);
                    open.push((waiting.clone(), at));
                }
                None => open.push((waiting.clone(), at)),
            }
        }
        for (gone, since) in known {
            self.close(&gone, since, at);
        }
        self.open = open;
    }

    /// Counts the time until a moment at which nothing is decided.
    pub(super) fn settle(&mut self, at: Time) {
        for (waiting, since) in std::mem::take(&mut self.open) {
            self.close(&waiting, since, at);
        }
    }

    fn close(&mut self, waiting: &Waiting, since: Time, at: Time) {
        let first = || Sum { on: waiting.on.clone(), since, waited: Span::default() };
        let sum = self.sums.entry((waiting.what.clone(), waiting.on.kind())).or_insert_with(first);
        sum.on.clone_from(&waiting.on);
        sum.waited += at - since;
    }

    /// How many batch pods were waited for.
    pub(super) fn batch_pods(&self) -> usize {
        self.sums.keys().filter(|(what, kind)| matches!(what, Subject::Pod(_)) && *kind == "batch").count()
    }

    /// The longest first.
    pub(super) fn all(&self) -> Vec<Wait> {
        let told = |((what, kind), sum): (&(Subject, &str), &Sum)| Wait {
            what: what.to_string(),
            kind: (*kind).to_owned(),
            reason: sum.on.to_string(),
            on: sum.on.clone(),
            since: sum.since,
            waited: sum.waited,
        };
        let mut all: Vec<Wait> = self.sums.iter().map(told).collect();
        all.sort_by(|a, b| {
            b.waited.cmp(&a.waited).then_with(|| a.what.cmp(&b.what)).then_with(|| a.kind.cmp(&b.kind))
        });
        all
    }
}
