//! What a report is about.

use replank_rehearse::Stop;

use super::tally::Summary;

/// What a report says beside the result itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    /// The plan's name.
    pub(crate) plan: &'a str,
    /// What was read.
    pub(crate) snapshot: &'a str,
    /// Why the rehearsal stopped.
    pub(crate) stop: Stop,
    /// Whether every node's timeline is shown.
    pub(crate) timeline: Timeline,
    /// What other seeds come to, where that was looked at.
    pub(crate) spread: Option<&'a Summary>,
}

/// Whether every node's timeline is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeline {
    /// Node by node.
    Shown,
    /// Not at all.
    Left,
}
