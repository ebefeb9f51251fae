//! The writers' side: what happened is shown to the readers.

use std::sync::{Arc, RwLock};

use arc_swap::ArcSwap;
use replank_apiserver::ResourceType;
use replank_model::object::Object;
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use super::marks::Marks;
use super::readers::Mirror;
use super::ring::Ring;
use super::snapshot::Snapshot;
use super::storage::StorageId;

/// The writers' side.
#[derive(Debug)]
pub struct Publisher {
    next: Snapshot,
    mirror: Arc<Mirror>,
    version: watch::Sender<u64>,
    /// Resources that have changed since the last publication.
    changed: Vec<StorageId>,
}

impl Publisher {
    /// A picture of the objects that are there at a version.
    #[must_use]
    pub fn new(objects: impl IntoIterator<Item = Object>, custom: Vec<ResourceType>, version: u64) -> Self {
        let mut next = Snapshot::new(version, custom);
        next.fill(objects);
        let (sender, receiver) = watch::channel(version);
        let mirror = Mirror {
            now: ArcSwap::from_pointee(next.clone()),
            rings: RwLock::new(FxHashMap::default()),
            version: receiver,
            began: version,
            marks: Marks::default(),
        };
        Self { next, mirror: Arc::new(mirror), version: sender, changed: Vec::new() }
    }

    /// A picture of a cluster that begins now: whatever is there has come to be in it, so that watches can begin at any version.
    #[must_use]
    pub fn begun(objects: impl IntoIterator<Item = Object>, custom: Vec<ResourceType>, version: u64) -> Self {
        let mut objects: Vec<Object> = objects.into_iter().collect();
        objects.sort_by_key(|object| object.meta().resource_version.0);
        let mut publisher = Self::new([], custom, 0);
        for object in &objects {
            publisher.changed(None, Some(object));
        }
        publisher.publish(version);
        publisher
    }

    /// The readers' side.
    #[must_use]
    pub fn mirror(&self) -> Arc<Mirror> {
        self.mirror.clone()
    }

    /// Takes in what happened to an object; shown with [`Publisher::publish`].
    pub fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let Some(one) = new.or(old) else { return };
        let id = StorageId::of(one);
        let Some(event) = self.next.apply(&id, old, new.cloned()) else { return };
        self.next.version = self.next.version.max(event.version);
        self.mirror.ring(&id).push(event);
        if !self.changed.contains(&id) {
            self.changed.push(id);
        }
    }

    /// Takes in which custom resources there are.
    pub fn set_custom(&mut self, custom: Vec<ResourceType>) {
        // What was before a resource was declared nobody is told of.
        let mut rings = self.mirror.rings.write().expect("nobody panics while holding it");
        for resource in &custom {
            let ring = || Arc::new(Ring::new(self.next.version.max(self.mirror.began)));
            rings.entry(StorageId::of_resource(resource)).or_insert_with(ring);
        }
        drop(rings);
        self.next.custom = custom.into();
    }

    /// Shows what has happened.
    pub fn publish(&mut self, version: u64) {
        if self.changed.is_empty() && version <= self.next.version {
            return;
        }
        self.next.version = self.next.version.max(version);
        self.mirror.now.store(Arc::new(self.next.clone()));
        for id in self.changed.drain(..) {
            self.mirror.ring(&id).tell();
        }
        self.version.send_replace(self.next.version);
    }
}
