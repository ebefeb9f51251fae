//! Numbers that look random and depend on the seed alone.

use std::fmt::Display;

/// A stream of draws (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    /// The stream of one story of a run.
    pub(super) fn new(seed: u64, story: u64) -> Self {
        let mut draw = Self(seed ^ story.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        draw.next();
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    /// Whether something with this chance, in percent, is the case.
    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// One of several texts.
    pub(super) fn text(&mut self, all: &[&str]) -> String {
        (*self.pick(all)).to_owned()
    }

    /// A text with a number below `bound` behind it.
    pub(super) fn numbered(&mut self, text: impl Display, bound: usize) -> String {
        format!("{text}{}", self.below(bound))
    }
}
