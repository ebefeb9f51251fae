//! What is known of each pod, by its name.
//!
//! A sync looks up every pod of its target several times for each metric: a table of hashes, beside a list that gives the order.

use rustc_hash::FxHashMap;

/// What is known of pods, in the order in which they were put in.
#[derive(Clone, Debug)]
pub(super) struct ByName<'a, T> {
    at: FxHashMap<&'a str, usize>,
    all: Vec<(&'a str, Option<T>)>,
    len: usize,
}

impl<T> Default for ByName<'_, T> {
    fn default() -> Self {
        Self { at: FxHashMap::default(), all: Vec::new(), len: 0 }
    }
}

impl<'a, T> ByName<'a, T> {
    /// Nothing, with room for so many.
    pub(super) fn with_capacity(pods: usize) -> Self {
        let mut new = Self { all: Vec::with_capacity(pods), ..Self::default() };
        new.at.reserve(pods);
        new
    }

    /// Puts one in, in the place of what was known of it.
    pub(super) fn insert(&mut self, name: &'a str, known: T) {
        let next = self.all.len();
        let at = *self.at.entry(name).or_insert(next);
        if at == next {
            self.all.push((name, None));
        }
        self.len += usize::from(self.all[at].1.replace(known).is_none());
    }

    /// Takes one out.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(at) = self.at.get(name) {
            self.len -= usize::from(self.all[*at].1.take().is_some());
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.all[*self.at.get(name)?].1.as_ref()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, &T)> {
        self.all.iter().filter_map(|(name, known)| Some((*name, known.as_ref()?)))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, known)| known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out_is_gone_and_can_come_back() {
        let mut known = ByName::with_capacity(2);
        known.insert("b", 1);
        known.insert("a", 2);
        known.insert("b", 3);
        assert_eq!(known.iter().collect::<Vec<_>>(), [("b", &3), ("a", &2)]);
        known.remove("b");
        known.remove("b");
        known.remove("c");
        assert_eq!((known.len(), known.has("b"), known.get("a")), (1, false, Some(&2)));
        known.insert("b", 4);
        assert_eq!((known.len(), known.values().sum::<i32>(), known.is_empty()), (2, 6, false));
    }
}
