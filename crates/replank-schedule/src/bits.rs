//! A growing set of small numbers.

/// One bit for each number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    pub(super) fn has(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Those that are in, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(at * 64 + bit)
            })
        })
    }

    pub(super) fn set(&mut self, at: usize, is_in: bool) {
        if self.words.len() <= at / 64 {
            if !is_in {
                return;
            }
            self.words.resize(at / 64 + 1, 0);
        }
        let bit = 1_u64 << (at % 64);
        if is_in {
            self.words[at / 64] |= bit;
        } else {
            self.words[at / 64] &= !bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_in() {
        let mut bits = Bits::default();
        for at in [0, 63, 64, 200] {
            bits.set(at, true);
        }
        bits.set(64, false);
        bits.set(1000, false);
        let set: Vec<usize> = (0..5000).filter(|at| bits.has(*at)).collect();
        assert_eq!(set, [0, 63, 200]);
        assert_eq!(bits.iter().collect::<Vec<_>>(), set);
    }
}
