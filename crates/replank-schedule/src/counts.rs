//! Numbers by small key, most of them 0.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// As many entries are found faster by walking than by a map.
const FEW: usize = 16;

/// A map from small keys to numbers in which a 0 is not stored. Its entries can be walked, in no order that means
/// anything.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Those of a topology of few domains are here and not elsewhere in memory.
    entries: SmallVec<[(u32, i64); 4]>,
    /// Where each key is, once there were more than a few; empty before.
    place: FxHashMap<u32, u32>,
}

impl Counts {
    fn find(&self, key: u32) -> Option<usize> {
        if self.place.is_empty() {
            return self.entries.iter().position(|(known, _)| *known == key);
        }
        self.place.get(&key).map(|place| *place as usize)
    }

    pub(super) fn get(&self, key: u32) -> i64 {
        self.find(key).map_or(0, |place| self.entries[place].1)
    }

    /// Adds to the number of a key.
    pub(super) fn add(&mut self, key: u32, delta: i64) {
        if delta == 0 {
            return;
        }
        let Some(place) = self.find(key) else {
            self.entries.push((key, delta));
            let first = if self.place.is_empty() { 0 } else { self.entries.len() - 1 };
            if first > 0 || self.entries.len() > FEW {
                let new = (narrow(first)..).zip(&self.entries[first..]);
                self.place.extend(new.map(|(place, (key, _))| (*key, place)));
            }
            return;
        };
        let entry = &mut self.entries[place];
        entry.1 += delta;
        if entry.1 == 0 {
            self.entries.swap_remove(place);
            if self.place.remove(&key).is_some()
                && let Some(moved) = self.entries.get(place)
            {
                self.place.insert(moved.0, narrow(place));
            }
        }
    }

    /// Keys with numbers other than 0.
    pub(super) fn entries(&self) -> &[(u32, i64)] {
        &self.entries
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn narrow(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 entries fit in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_not_kept() {
        let mut counts = Counts::default();
        counts.add(7, 2);
        counts.add(9, 1);
        counts.add(7, -2);
        counts.add(11, 0);
        assert_eq!(counts.entries(), [(9, 1)]);
        counts.add(9, 4);
        assert_eq!((counts.get(9), counts.get(7)), (5, 0));
    }

    #[test]
    fn many_are_counted_as_few_are() {
        let mut counts = Counts::default();
        let numbers = || (0..100_u32).map(|key| (key, i64::from(key % 7)));
        for (key, number) in numbers().chain(numbers()) {
            counts.add(key, number);
        }
        assert!(numbers().all(|(key, number)| counts.get(key) == 2 * number));
        for (key, number) in numbers() {
            counts.add(key, -2 * number);
            assert!(numbers().skip(key as usize + 1).all(|(key, number)| counts.get(key) == 2 * number));
        }
        assert!(counts.is_empty() && counts.place.is_empty());
    }
}
