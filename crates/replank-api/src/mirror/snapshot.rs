//! The world at one version.

use std::sync::Arc;

use replank_apiserver::ResourceType;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use super::event::{Event, Happening};
use super::key::ListKey;
use super::storage::StorageId;
use super::stored::Stored;

/// The objects of a resource, in the order of lists. To change one leaves all copies as they were, and costs as much as the path to it.
pub type Collection = RedBlackTreeMapSync<ListKey, Arc<Stored>>;

/// The world at one version.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The version of the last write.
    pub version: u64,
    /// Resources that definitions declare, each version of each.
    pub custom: Arc<Vec<ResourceType>>,
    objects: HashTrieMapSync<StorageId, Collection>,
}

impl Snapshot {
    pub(super) fn new(version: u64, custom: Vec<ResourceType>) -> Self {
        Self { version, custom: custom.into(), objects: HashTrieMapSync::default() }
    }

    /// The objects of a resource.
    #[must_use]
    pub fn collection(&self, id: &StorageId) -> Collection {
        self.objects.get(id).cloned().unwrap_or_default()
    }

    /// One object.
    #[must_use]
    pub fn get(&self, id: &StorageId, key: &Key) -> Option<&Arc<Stored>> {
        self.objects.get(id)?.get(&ListKey(key.clone()))
    }

    /// Takes in what happened to an object.
    pub(super) fn apply(
        &mut self,
        id: &StorageId,
        old: Option<&Object>,
        new: Option<Object>,
    ) -> Option<Event> {
        let meta = new.as_ref().or(old)?.meta();
        let key = ListKey(meta.key());
        let mut collection = self.collection(id);
        let before = collection.get(&key).cloned();
        let event = match new {
            Some(object) => {
                let what = if before.is_some() { Happening::Modified } else { Happening::Added };
                let version = object.meta().resource_version.0;
                let object = Arc::new(Stored { object });
                collection.insert_mut(key, object.clone());
                Event { what, version, object, before }
            }
            None => {
                collection.remove_mut(&key);
                let last = Arc::new(Stored { object: old?.clone() });
                Event { what: Happening::Deleted, version: last.version(), object: last, before }
            }
        };
        self.objects.insert_mut(id.clone(), collection);
        Some(event)
    }
}

/// The collection as it was before some changes, the latest last.
#[must_use]
pub fn undone(mut collection: Collection, events: &[Arc<Event>]) -> Collection {
    for event in events.iter().rev() {
        let key = ListKey(event.object.meta().key());
        match &event.before {
            Some(before) => collection.insert_mut(key, before.clone()),
            None => {
                collection.remove_mut(&key);
            }
        }
    }
    collection
}
