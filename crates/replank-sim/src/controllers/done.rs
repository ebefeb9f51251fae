//! Whether a look is over, and counts as the API writes them.

use replank_model::time::Span;

/// Whether looking at an object is done.
pub(crate) enum Done {
    /// It is.
    Yes,
    /// It goes on after a while.
    GoesOn(Span),
}

/// A count as the API writes it.
pub(crate) fn narrow(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
