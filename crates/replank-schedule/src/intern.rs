//! Values that are compiled once and numbered.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Compiled values by what they were compiled from.
#[derive(Clone, Debug)]
pub(super) struct Interned<K, V> {
    ids: FxHashMap<K, u32>,
    values: Vec<V>,
}

impl<K, V> Default for Interned<K, V> {
    fn default() -> Self {
        Self { ids: FxHashMap::default(), values: Vec::new() }
    }
}

impl<K: Hash + Eq, V> Interned<K, V> {
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        self.ids.get(key).copied()
    }

    /// Stores a value under a key that is not there yet.
    pub(super) fn insert(&mut self, key: K, value: V) -> u32 {
        let id = u32::try_from(self.values.len()).expect("fewer than 2^32 of anything fit in memory");
        self.values.push(value);
        self.ids.insert(key, id);
        id
    }

    /// The number of a key; a value is made if there is none.
    pub(super) fn id(&mut self, key: K, make: impl FnOnce(&K) -> V) -> u32 {
        match self.find(&key) {
            Some(id) => id,
            None => {
                let value = make(&key);
                self.insert(key, value)
            }
        }
    }

    pub(super) fn get(&self, id: u32) -> &V {
        &self.values[id as usize]
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut V {
        &mut self.values[id as usize]
    }

    pub(super) fn values(&self) -> &[V] {
        &self.values
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}
