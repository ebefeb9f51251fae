//! A simulated autoscaler, and the outcome.

use replank_model::object::meta::Key;
use replank_model::time::Span;
use replank_rehearse::replay::Rule;

use super::figures::{Bucket, buckets};
use super::replay::{Stage, Variant};

/// What was replayed, and the outcome.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) stage: Stage,
    /// What the load is called.
    pub(super) load: String,
    pub(super) seed: u64,
    /// What autoscalers are told at certain hours, in the variant of that name.
    pub(super) rules: Vec<Rule>,
    /// Between two rows.
    pub(super) every: Span,
    /// As it is, then what was tried; all of the same autoscalers.
    pub(super) variants: Vec<Variant>,
}

impl Simulation {
    /// The autoscalers.
    pub(super) fn keys(&self) -> Vec<Key> {
        let first = self.variants.first();
        first.into_iter().flat_map(|variant| &variant.autoscalers).map(|hpa| hpa.meta.key()).collect()
    }

    /// Rows of a table: a stretch of time each.
    pub(super) fn rows(&self, variant: &Variant, target: usize) -> Vec<Bucket> {
        let length = self.stage.length.as_millis();
        let count = (length + self.every.as_millis() - 1) / self.every.as_millis().max(1);
        buckets(&variant.moments, target, usize::try_from(count).unwrap_or(1))
    }
}
