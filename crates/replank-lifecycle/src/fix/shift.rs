//! The same document at another place.

/// How far a document stands from where the same was met before.
#[derive(Clone, Copy)]
pub(super) struct Shift {
    bytes: isize,
    lines: i64,
}

impl Shift {
    /// From one first byte and first line to others.
    pub(super) fn new((from, from_line): (usize, u32), (to, to_line): (usize, u32)) -> Self {
        Self { bytes: to as isize - from as isize, lines: i64::from(to_line) - i64::from(from_line) }
    }

    pub(super) fn byte(self, at: usize) -> usize {
        at.saturating_add_signed(self.bytes)
    }

    pub(super) fn line(self, line: u32) -> u32 {
        u32::try_from(i64::from(line) + self.lines).unwrap_or(u32::MAX)
    }
}
