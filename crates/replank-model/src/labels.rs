//! Labels and annotations: small sorted arrays of shared text.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::{self, Text};

/// A string-to-string map as Kubernetes has it in labels, annotations and node selectors.
///
/// Sorted by key, shared between all objects that were made from one template: a clone is a counter increment, and
/// two maps from one template compare equal by address.
#[derive(Clone, Default)]
pub struct TextMap(Option<Arc<[(Text, Text)]>>);

/// `metadata.labels`.
pub type Labels = TextMap;

/// `metadata.annotations`.
pub type Annotations = TextMap;

impl TextMap {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Text> {
        let pairs = self.pairs();
        // Nearly all maps have fewer than a dozen entries, where walking beats bisecting.
        if pairs.len() <= 12 {
            return pairs.iter().find(|(k, _)| &**k == key).map(|(_, v)| v);
        }
        pairs.binary_search_by(|(k, _)| (**k).cmp(key)).ok().map(|at| &pairs[at].1)
    }

    /// The value of `key` as a plain string slice.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(|text| &**text)
    }

    /// Whether `key` is there, whatever its value.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All pairs, sorted by key.
    #[must_use]
    pub fn pairs(&self) -> &[(Text, Text)] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// Iterates over the pairs, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs().iter().map(|(k, v)| (&**k, &**v))
    }

    /// The number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs().len()
    }

    /// Whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs().is_empty()
    }

    /// Whether another map has the same pairs at the same address.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|pairs| Arc::strong_count(pairs) > 1)
    }

    /// The same map with `key` set to `value`.
    #[must_use]
    pub fn with(&self, key: impl Into<Text>, value: impl Into<Text>) -> Self {
        let (key, value) = (key.into(), value.into());
        let mut pairs = self.pairs().to_vec();
        match pairs.binary_search_by(|(k, _)| k.cmp(&key)) {
            Ok(at) => pairs[at].1 = value,
            Err(at) => pairs.insert(at, (key, value)),
        }
        Self(Some(pairs.into()))
    }

    /// The same map without `key`.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        if !self.contains_key(key) {
            return self.clone();
        }
        self.pairs().iter().filter(|(k, _)| &**k != key).cloned().collect()
    }

    /// Whether both are the same allocation (the cheap, sufficient test of equality).
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

/// What was found out for maps of labels, by their address: nearly all pods share theirs with their siblings, so that the
/// text of the labels need not be read again.
#[derive(Clone, Debug)]
pub struct LabelMemo<V> {
    /// The maps are kept, so that an address stays theirs.
    known: FxHashMap<usize, (Labels, V)>,
}

/// Maps that may pile up before all are forgotten.
const MEMO_MAX: usize = 8192;

impl<V> Default for LabelMemo<V> {
    fn default() -> Self {
        Self { known: FxHashMap::default() }
    }
}

impl<V> LabelMemo<V> {
    fn address(labels: &Labels) -> usize {
        labels.0.as_ref().map_or(0, |pairs| Arc::as_ptr(pairs).addr())
    }

    /// What was kept for a map.
    #[must_use]
    pub fn get(&self, labels: &Labels) -> Option<&V> {
        self.known.get(&Self::address(labels)).map(|(_, value)| value)
    }

    /// Keeps something for a map.
    pub fn keep(&mut self, labels: &Labels, value: V) {
        if self.known.len() >= MEMO_MAX {
            self.known.clear();
        }
        self.known.insert(Self::address(labels), (labels.clone(), value));
    }
}

impl PartialEq for TextMap {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.pairs(), other.pairs());
        let is_same =
            |(a, b): (&(Text, Text), &(Text, Text))| text::same(&a.0, &b.0) && text::same(&a.1, &b.1);
        self.same(other) || own.len() == others.len() && own.iter().zip(others).all(is_same)
    }
}

impl Eq for TextMap {}

impl PartialOrd for TextMap {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TextMap {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.pairs().cmp(other.pairs())
    }
}

impl std::hash::Hash for TextMap {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.pairs().hash(state);
    }
}

impl fmt::Debug for TextMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<Text>, V: Into<Text>> FromIterator<(K, V)> for TextMap {
    /// Collects pairs; of two equal keys the later wins, as in JSON.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut all: Vec<(Text, Text)> = pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        if all.is_empty() {
            return Self(None);
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut kept: Vec<(Text, Text)> = Vec::with_capacity(all.len());
        for pair in all {
            match kept.last_mut() {
                Some(last) if last.0 == pair.0 => last.1 = pair.1,
                _ => kept.push(pair),
            }
        }
        Self(Some(kept.into()))
    }
}

impl Serialize for TextMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (k, v) in self.iter() {
            map.serialize_entry(k, v)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = TextMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_unit<E>(self) -> Result<TextMap, E> {
                Ok(TextMap::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextMap, A::Error> {
                let mut pairs: Vec<(Text, Text)> = Vec::new();
                // A null value reads as the empty string, as Go's decoder leaves it.
                while let Some((k, v)) = map.next_entry::<Text, Option<Text>>()? {
                    pairs.push((k, v.unwrap_or_else(|| Text::from(""))));
                }
                Ok(pairs.into_iter().collect())
            }
        }
        deserializer.deserialize_any(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_of_two_equal_keys_wins_and_order_is_by_key() {
        let map: TextMap = [("b", "1"), ("a", "2"), ("b", "3")].into_iter().collect();
        assert_eq!(map.iter().collect::<Vec<_>>(), [("a", "2"), ("b", "3")]);
    }

    #[test]
    fn with_and_without_leave_the_original_alone() {
        let map: TextMap = [("a", "1")].into_iter().collect();
        let more = map.with("b", "2");
        assert_eq!(map.len(), 1);
        assert_eq!(more.without("a").iter().collect::<Vec<_>>(), [("b", "2")]);
        assert!(map.without("zzz").same(&map));
    }
}
