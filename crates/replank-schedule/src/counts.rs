//! Numbers by small key, most of them 0.

use rustc_hash::FxHashMap;

/// A map from small keys to numbers in which a 0 is not stored. Its entries can be walked, in no order that means
/// anything.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    place: FxHashMap<u32, u32>,
    entries: Vec<(u32, i64)>,
}

impl Counts {
    pub(super) fn get(&self, key: u32) -> i64 {
        self.place.get(&key).map_or(0, |place| self.entries[*place as usize].1)
    }

    /// Adds to the number of a key.
    pub(super) fn add(&mut self, key: u32, delta: i64) {
        if delta == 0 {
            return;
        }
        let Some(&place) = self.place.get(&key) else {
            let place = u32::try_from(self.entries.len()).expect("fewer than 2^32 entries fit in memory");
            self.place.insert(key, place);
            self.entries.push((key, delta));
            return;
        };
        let entry = &mut self.entries[place as usize];
        entry.1 += delta;
        if entry.1 == 0 {
            self.place.remove(&key);
            self.entries.swap_remove(place as usize);
            if let Some(moved) = self.entries.get(place as usize) {
                self.place.insert(moved.0, place);
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
}
