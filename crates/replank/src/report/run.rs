//! One rehearsal of many, short.

use replank_model::time::Span;
use replank_rehearse::{RehearsalResult, Verdict};
use serde::{Deserialize, Serialize};

/// One rehearsal of many, short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    seed: u64,
    verdict: Verdict,
    duration: Span,
    replaced: usize,
    moved: usize,
    refused: usize,
    killed: usize,
    trace_hash: String,
}

/// A run as one line of JSON without names, and without its seed: verdict, milliseconds, nodes replaced, pods moved, evictions refused, batch pods killed, hash
/// of the trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row(Verdict, i64, usize, usize, usize, usize, String);

impl Row {
    /// What it comes to, for the report.
    pub(crate) fn run(self, seed: u64) -> Run {
        let Self(verdict, millis, replaced, moved, refused, killed, trace_hash) = self;
        Run {
            seed,
            verdict,
            duration: Span::from_millis(millis),
            replaced,
            moved,
            refused,
            killed,
            trace_hash,
        }
    }
}

impl Run {
    /// Without its seed.
    pub(crate) fn row(&self) -> Row {
        let Self { seed: _, verdict, duration, replaced, moved, refused, killed, ref trace_hash } = *self;
        Row(verdict, duration.as_millis(), replaced, moved, refused, killed, trace_hash.clone())
    }

    /// What it came to.
    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// How long it took.
    pub(crate) fn duration(&self) -> Span {
        self.duration
    }

    /// Nodes replaced.
    pub(crate) fn replaced(&self) -> usize {
        self.replaced
    }

    /// Pods moved.
    pub(crate) fn moved(&self) -> usize {
        self.moved
    }

    /// Evictions refused.
    pub(crate) fn refused(&self) -> usize {
        self.refused
    }

    /// The hash of all that happened.
    pub(crate) fn trace_hash(&self) -> &str {
        &self.trace_hash
    }

    /// Batch pods that were ended before they were done.
    pub(crate) fn killed(&self) -> usize {
        self.killed
    }

    /// What it was rehearsed with.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn of(result: &RehearsalResult) -> Self {
        Self {
            seed: result.seed,
            verdict: result.verdict,
            duration: result.virtual_duration,
            replaced: result.nodes.replaced,
            moved: result.pods.moved,
            refused: result.pods.evictions_refused,
            killed: result.batch.killed,
            trace_hash: result.trace_hash.clone(),
        }
    }
}
