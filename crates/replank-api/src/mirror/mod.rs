//! What readers see of the world: a consistent picture behind an atomic pointer, and the latest changes of each resource.
//!
//! The owner of the world publishes every change here before it answers whoever made it. Readers never wait for the world, and it never waits for them.

mod event;
mod key;
mod publisher;
mod ring;
mod snapshot;
mod storage;
mod stored;

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustc_hash::FxHashMap;
use std::sync::RwLock;
use tokio::sync::watch;

pub use event::{Event, Happening};
pub use key::ListKey;
pub use publisher::Publisher;
pub use ring::{Behind, Ring};
pub use snapshot::{Collection, Snapshot, undone};
pub use storage::StorageId;
pub use stored::Stored;

/// The readers' side.
#[derive(Debug)]
pub struct Mirror {
    now: ArcSwap<Snapshot>,
    rings: RwLock<FxHashMap<StorageId, Arc<Ring>>>,
    version: watch::Receiver<u64>,
    /// The version that it began with: of what was before nothing is known.
    began: u64,
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

    /// Tells when the version rises.
    #[must_use]
    pub fn versions(&self) -> watch::Receiver<u64> {
        self.version.clone()
    }
}
