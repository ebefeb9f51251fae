//! Which slots of a table are meant.

/// A set of slots, one bit for each.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    words: Vec<u64>,
}

impl Slots {
    /// Puts a slot in; whether it was not there.
    pub(crate) fn insert(&mut self, slot: u32) -> bool {
        let (word, bit) = place(slot);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Takes a slot out.
    pub(crate) fn remove(&mut self, slot: u32) {
        let (word, bit) = place(slot);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }

    /// Whether a slot is in.
    pub(crate) fn contains(&self, slot: u32) -> bool {
        let (word, bit) = place(slot);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(slot: u32) -> (usize, u64) {
    ((slot / 64) as usize, 1 << (slot % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_there_until_it_is_taken_out() {
        let mut slots = Slots::default();
        slots.remove(700);
        assert!(slots.insert(64) && slots.insert(63) && slots.insert(700));
        assert!(!slots.insert(64) && !slots.insert(63) && !slots.insert(700));
        slots.remove(64);
        assert!(!slots.contains(64) && slots.contains(63) && !slots.contains(7_000));
        assert!(slots.insert(64) && !slots.insert(63));
    }
}
