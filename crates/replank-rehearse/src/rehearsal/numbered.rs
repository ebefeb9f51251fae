//! What is kept by name, and asked for with every change.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Values by name, numbered as they come: whoever knows the number compares no names. They are told in the order of the names.
#[derive(Debug)]
pub(super) struct Numbered<K, V> {
    numbers: FxHashMap<K, usize>,
    all: Vec<(K, V)>,
}

impl<K, V> Default for Numbered<K, V> {
    fn default() -> Self {
        Self { numbers: FxHashMap::default(), all: Vec::new() }
    }
}

impl<K: Clone + Ord + Hash, V> Numbered<K, V> {
    /// The number of a name; one that is new gets what `first` makes.
    pub(super) fn number_or_insert(&mut self, name: &K, first: impl FnOnce() -> V) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.numbers.insert(name.clone(), self.all.len());
        self.all.push((name.clone(), first()));
        self.all.len() - 1
    }

    /// The name of a number.
    pub(super) fn name(&self, number: usize) -> &K {
        &self.all[number].0
    }

    /// The value of a number.
    pub(super) fn at(&self, number: usize) -> &V {
        &self.all[number].1
    }

    /// The value of a number, to be changed.
    pub(super) fn at_mut(&mut self, number: usize) -> &mut V {
        &mut self.all[number].1
    }

    /// All values, as they came.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.all.iter_mut().map(|(_, value)| value)
    }

    /// All of them, in the order of the names.
    pub(super) fn sorted(&self) -> impl Iterator<Item = (&K, &V)> {
        let mut all: Vec<&(K, V)> = self.all.iter().collect();
        all.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        all.into_iter().map(|(name, value)| (name, value))
    }
}
