//! The readers' side: the latest picture, and the latest changes.

use std::sync::{Arc, RwLock};
use std::time::Instant;

use arc_swap::ArcSwap;
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use super::marks::Marks;
use super::ring::Ring;
use super::snapshot::Snapshot;
use super::storage::StorageId;

/// The readers' side.
#[derive(Debug)]
pub struct Mirror {
    pub(super) now: ArcSwap<Snapshot>,
    pub(super) rings: RwLock<FxHashMap<StorageId, Arc<Ring>>>,
    pub(super) version: watch::Receiver<u64>,
    /// The version that it began with: of what was before nothing is known.
    pub(super) began: u64,
    pub(super) marks: Marks,
}

impl Mirror {
    /// The latest picture.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.now.load_full()
    }

    /// The latest changes of a resource.
    #[must_use]
    pub fn ring(&self, id: &StorageId) -> Arc<Ring> {
        let known = |rings: &FxHashMap<StorageId, Arc<Ring>>| rings.get(id).cloned();
        if let Some(ring) = known(&self.rings.read().expect("nobody panics while holding it")) {
            return ring;
        }
        let mut rings = self.rings.write().expect("nobody panics while holding it");
        rings.entry(id.clone()).or_insert_with(|| Arc::new(Ring::new(self.began))).clone()
    }

    /// The latest version that a list cannot be gone on from any more, with all before it.
    #[must_use]
    pub fn outdated(&self) -> Option<u64> {
        self.marks.outdated(Instant::now(), self.snapshot().version)
    }

    /// Tells when the version rises.
    #[must_use]
    pub fn versions(&self) -> watch::Receiver<u64> {
        self.version.clone()
    }
}
