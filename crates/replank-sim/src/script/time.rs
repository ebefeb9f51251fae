//! When something happens.

use replank_model::time::{Span, Time};

/// When something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Before anything is done.
    Before,
    /// So long after the beginning.
    After(Span),
    /// At a moment.
    At(Time),
}

impl When {
    /// `15m`, `2d` or `2026-01-05T09:15:00Z`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match span(text) {
            Some(after) => (after >= Span::ZERO).then_some(Self::After(after)),
            None => text.parse().ok().map(Self::At),
        }
    }

    /// The moment, in a run that begins at `start`; what lies before it happens at the beginning.
    #[must_use]
    pub fn at(self, start: Time) -> Time {
        match self {
            Self::Before => start,
            Self::After(span) => start + span,
            Self::At(time) => time.max(start),
        }
    }
}

/// A duration; besides what [`Span`] reads, `2d`.
#[must_use]
pub fn span(text: &str) -> Option<Span> {
    match text.strip_suffix('d') {
        Some(days) => days.parse::<u16>().ok().map(|days| Span::from_minutes(i64::from(days) * 24 * 60)),
        None => text.parse().ok(),
    }
}
