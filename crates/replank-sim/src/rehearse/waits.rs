//! What was waited for, and how long.

use std::collections::BTreeMap;

use replank_core::decision::Decision;
use replank_core::waiting::{Subject, Waiting};
use replank_model::time::{Span, Time};
use serde::Serialize;

/// One thing that was waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// What waited.
    pub what: String,
    /// What kind of reason, one word.
    pub kind: String,
    /// The reason with its numbers, as it was last.
    pub reason: String,
    /// Since when, the first time.
    pub since: Time,
    /// How long, all times together, in milliseconds.
    #[serde(rename = "waitedMs", serialize_with = "super::millis")]
    pub waited: Span,
}

/// All waits, summed from decision to decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    sums: BTreeMap<(Subject, &'static str), Wait>,
    /// The waits of the last decision, and its moment.
    last: Option<(Time, Vec<Waiting>)>,
}

impl Waits {
    pub(super) fn decided(&mut self, at: Time, decision: &Decision) {
        self.settle(at);
        self.last = Some((at, decision.waiting.clone()));
    }

    /// Counts the time since the last decision.
    pub(super) fn settle(&mut self, at: Time) {
        let Some((since, waiting)) = self.last.take() else { return };
        for entry in waiting {
            let kind = entry.on.kind();
            let reason = entry.on.to_string();
            let sum = self.sums.entry((entry.what.clone(), kind)).or_insert_with(|| Wait {
                what: entry.what.to_string(),
                kind: kind.to_owned(),
                reason: String::new(),
                since,
                waited: Span::default(),
            });
            sum.reason = reason;
            sum.waited += at - since;
        }
    }

    /// The longest first.
    pub(super) fn all(&self) -> Vec<Wait> {
        let mut all: Vec<Wait> = self.sums.values().cloned().collect();
        all.sort_by(|a, b| {
            b.waited.cmp(&a.waited).then_with(|| a.what.cmp(&b.what)).then_with(|| a.kind.cmp(&b.kind))
        });
        all
    }
}
