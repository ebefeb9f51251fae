//! Progress on a terminal: of rehearsals in virtual time, of scans in files. Silent elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use replank_model::time::Span;
use replank_rehearse::Progress;

use crate::report::words;

/// Whether nobody wants to see progress: said once, before there is any.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on no progress is shown.
pub(crate) fn silence() {
    QUIET.store(true, Ordering::Relaxed);
}

/// A line on standard error that is gone once it is over.
#[derive(Debug)]
pub(crate) struct Meter {
    bar: ProgressBar,
}

/// Redraws per second: a rehearsal moves faster than an eye.
const REDRAWS: u8 = 10;

impl Meter {
    /// Of one rehearsal: `{nodes replaced}` of all.
    pub(crate) fn of_nodes() -> Self {
        Self::with("{bar:24} {pos}/{len} nodes replaced  {wide_msg}")
    }

    /// Of many rehearsals.
    pub(crate) fn of_seeds(seeds: u64) -> Self {
        let meter = Self::with("{bar:24} {pos}/{len} seeds  {elapsed} elapsed{wide_msg}");
        meter.bar.set_length(seeds);
        meter
    }

    /// Of the parts that the pods of a Job make.
    pub(crate) fn of_parts(parts: u64) -> Self {
        let meter = Self::with("{bar:24} {pos}/{len} parts  {elapsed} elapsed{wide_msg}");
        meter.bar.set_length(parts);
        meter
    }

    /// So many are done.
    pub(crate) fn at(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Of the files of a scan.
    pub(crate) fn of_files(files: usize) -> Self {
        let meter = Self::with("{bar:24} {pos}/{len} files");
        meter.bar.set_length(files as u64);
        meter
    }

    fn with(template: &str) -> Self {
        // indicatif draws nothing if standard error is not a terminal.
        let target = if QUIET.load(Ordering::Relaxed) {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(REDRAWS)
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template(template).expect("the template is one of those above");
        bar.set_style(style.progress_chars("━╸─"));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar }
    }

    /// Shows how far a rehearsal is, and what it waits for.
    pub(crate) fn show(&self, progress: &Progress<'_>) {
        if self.bar.is_hidden() {
            return;
        }
        let (replaced, total) = progress.replaced();
        self.bar.set_length(total as u64);
        self.bar.set_position(replaced as u64);
        let waiting = progress.decision.and_then(|decision| decision.waiting.first());
        let waiting = waiting.map(|entry| format!(": {entry}")).unwrap_or_default();
        self.bar.set_message(format!("{} elapsed{waiting}", words::span(progress.elapsed)));
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// One more is done; says how long the rest takes at the pace so far.
    pub(crate) fn step_and_estimate(&self) {
        self.step();
        if self.bar.is_hidden() {
            return;
        }
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let left = words::span(left(self.bar.elapsed(), done, all));
        self.bar.set_message(format!(", about {left} left"));
    }
}

/// How long the rest takes if it goes on as it went, in whole seconds.
fn left(elapsed: Duration, done: u64, all: u64) -> Span {
    let each = elapsed.as_millis() / u128::from(done.max(1));
    let millis = each.saturating_mul(u128::from(all.saturating_sub(done)));
    Span::from_secs(i64::try_from(millis.div_ceil(1_000)).unwrap_or(i64::MAX / 1_000))
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_is_done_did() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(left(elapsed, 100, 300), Span::from_secs(20));
        assert_eq!(left(elapsed, 3, 4), Span::from_secs(4));
        assert_eq!(left(elapsed, 4, 4), Span::ZERO);
        assert_eq!(left(elapsed, 0, 2), Span::from_secs(20));
    }
}
