//! Answers on which several effects at once rest: they do not change from one instance of a group to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

/// An answer, and when it was asked for. Whoever asks meanwhile waits for it.
pub(super) type Slot = Arc<tokio::sync::Mutex<Option<(Instant, Vec<Value>)>>>;

/// What was answered last, by call and parameters.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<BTreeMap<String, Slot>>);

impl Recent {
    /// Where the answer to a call is kept.
    pub(super) fn slot(&self, call: String) -> Slot {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(call).or_default().clone()
    }
}
