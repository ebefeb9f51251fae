//! Times that several questions of a roll share.

use replank_model::time::Span;

/// An instance that is no Ready node after this long is late. Users report 30 to 145 s; a group whose instances take
/// longer than a quarter of an hour has another trouble.
pub(super) const LATE_AFTER: Span = Span::from_minutes(15);

/// How long a mark of ours holds, should its run die: longer than a week-end.
pub(super) const MARK_LIFE: Span = Span::from_minutes(7 * 24 * 60);
