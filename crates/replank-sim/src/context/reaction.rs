//! How long a controller takes to react.

use replank_model::time::Span;

/// Time from a write to the sync it causes: watch delivery, work queue and informer. Recorded reactions of the real
/// controllers on a quiet machine lie between 3 and 15 ms.
pub(crate) const REACTION: Span = Span::from_millis(5);
