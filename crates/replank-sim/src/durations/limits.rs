//! Durations that are assumed until the cluster shows them.

use replank_model::time::Span;

use crate::timing::Range;

/// A pod that took longer than this from scheduling to readiness was not starting all the while.
pub(super) const START_MAX: Span = Span::from_minutes(30);

/// Start-up without any sample: pull, start and readiness of an ordinary service.
pub(super) const START_DEFAULT: Range = Range::secs(4, 20);

/// Run time of a batch pod without any sample.
pub(super) const RUN_DEFAULT: Range = Range::secs(10 * 60, 60 * 60);

/// Time between the stop signal and the end of an ordinary process.
pub(super) const STOP_DEFAULT: Range = Range { low: Span::from_millis(300), high: Span::from_secs(8) };
