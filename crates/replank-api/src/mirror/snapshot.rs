//! The world at one version.

use std::sync::Arc;

use replank_apiserver::ResourceType;
use replank_model::object::Object;
use replank_model::object::meta::{Key, ResourceVersion};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};
use rustc_hash::FxHashMap;

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

    /// Takes in objects that are there from the beginning.
    pub(super) fn fill(&mut self, objects: impl IntoIterator<Item = Object>) {
        let mut held: FxHashMap<StorageId, Collection> = FxHashMap::default();
        for object in objects {
            let key = ListKey(object.meta().key());
            let collection = held.entry(StorageId::of(&object)).or_default();
            collection.insert_mut(key, Arc::new(Stored::new(object)));
        }
        for (id, collection) in held {
            self.objects.insert_mut(id, collection);
        }
    }

    fn take(&mut self, id: &StorageId) -> Collection {
        match self.objects.get_mut(id) {
            Some(held) => std::mem::take(held),
            None => Collection::default(),
        }
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
        // It is taken out while it changes: what nobody else holds is changed where it stands.
        let mut collection = self.take(id);
        let before = collection.get(&key).cloned();
        let event = match new {
            Some(object) => {
                let what = if before.is_some() { Happening::Modified } else { Happening::Added };
                let version = object.meta().resource_version.0;
                let object = Arc::new(Stored::new(object));
                collection.insert_mut(key, object.clone());
                Event { what, version, object, before }
            }
            None => {
                collection.remove_mut(&key);
                // A removal has a version of its own, the one after the last: who has seen the object's is told of it.
                let last = old?.clone();
                let version = last.meta().resource_version.0.max(self.version + 1);
                let last = last.map_meta(|meta| meta.resource_version = ResourceVersion(version));
                Event { what: Happening::Deleted, version, object: Arc::new(Stored::new(last)), before }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_removal_has_a_version_of_its_own() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b",
            "resourceVersion": "7"}});
        let object = Object::from_json(object).expect("it is well formed");
        let mut snapshot = Snapshot::new(7, Vec::new());
        let id = StorageId::of(&object);
        snapshot.apply(&id, None, Some(object.clone()));
        let event = snapshot.apply(&id, Some(&object), None).expect("it was there");
        assert_eq!((event.what, event.version, event.object.version()), (Happening::Deleted, 8, 8));
    }
}
