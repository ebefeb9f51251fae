//! Progress on a terminal: of rehearsals in virtual time, of scans in files. Elsewhere, as in the log of a CI job, what may take hours is told in lines, from time to time.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

/// A line on standard error that is gone once it is over; or, where it is no terminal, a line now and then.
#[derive(Debug)]
pub(crate) struct Meter {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// Lines for a log: `seeds: 1389 of 2000 after 24s, about 11s left`.
#[derive(Debug)]
struct Lines {
    /// What is counted.
    what: &'static str,
    /// Milliseconds from the start to the next line.
    next: AtomicU64,
}

/// What is over sooner has no line.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// From one line to the next.
const BETWEEN_LINES: Duration = Duration::from_mins(1);

impl Lines {
    /// Where people do not see a line that is drawn again and again, and want to hear of progress.
    fn of(what: &'static str) -> Option<Self> {
        let is_wanted = !QUIET.load(Ordering::Relaxed) && !std::io::stderr().is_terminal();
        is_wanted.then(|| Self { what, next: AtomicU64::new(millis(FIRST_LINE)) })
    }

    /// The line, where it is time for one: for one of all threads.
    fn due(&self, elapsed: Duration, done: u64, all: u64) -> Option<String> {
        let next = self.next.load(Ordering::Relaxed);
        let now = millis(elapsed);
        if now < next || done == all {
            return None;
        }
        let then = now + millis(BETWEEN_LINES);
        self.next.compare_exchange(next, then, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        let so_far =
            words::span(Span::from_secs(i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX / 1_000)));
        let rest = match done {
            0 => String::new(),
            _ => format!(", about {} left", words::span(left(elapsed, done, all))),
        };
        Some(format!("{}: {done} of {all} after {so_far}{rest}", self.what))
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
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
        let mut meter = Self::with("{bar:24} {pos}/{len} seeds  {elapsed} elapsed{wide_msg}");
        meter.bar.set_length(seeds);
        meter.lines = Lines::of("seeds");
        meter
    }

    /// Of the parts that the pods of a Job make.
    pub(crate) fn of_parts(parts: u64) -> Self {
        let mut meter = Self::with("{bar:24} {pos}/{len} parts  {elapsed} elapsed{wide_msg}");
        meter.bar.set_length(parts);
        meter.lines = Lines::of("parts");
        meter
    }

    /// So many are done.
    pub(crate) fn at(&self, done: u64) {
        self.bar.set_position(done);
        self.tell();
    }

    /// Writes a line into a log where it is time for one.
    fn tell(&self) {
        let all = self.bar.length().unwrap_or(0);
        let due =
            self.lines.as_ref().and_then(|lines| lines.due(self.bar.elapsed(), self.bar.position(), all));
        if let Some(line) = due {
            // If nobody reads it, it goes on all the same.
            drop(writeln!(std::io::stderr(), "{line}"));
        }
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
        Self { bar, lines: None }
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
        self.tell();
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
    fn a_log_has_a_line_after_ten_seconds_and_one_each_minute() {
        let lines = Lines { what: "seeds", next: AtomicU64::new(millis(FIRST_LINE)) };
        let at = |seconds, done| lines.due(Duration::from_secs(seconds), done, 2_000);
        assert_eq!(at(9, 100), None);
        assert_eq!(at(10, 500).as_deref(), Some("seeds: 500 of 2000 after 10s, about 30s left"));
        assert_eq!((at(11, 501), at(69, 600)), (None, None));
        assert_eq!(at(75, 1_000).as_deref(), Some("seeds: 1000 of 2000 after 1m15s, about 1m15s left"));
        assert_eq!(at(200, 2_000), None, "the report says that it is over");
    }

    #[test]
    fn before_anything_is_done_nobody_knows_what_is_left() {
        let lines = Lines { what: "parts", next: AtomicU64::new(millis(FIRST_LINE)) };
        let line = lines.due(Duration::from_secs(12), 0, 40);
        assert_eq!(line.as_deref(), Some("parts: 0 of 40 after 12s"));
    }

    #[test]
    fn what_is_left_takes_as_long_as_what_is_done_did() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(left(elapsed, 100, 300), Span::from_secs(20));
        assert_eq!(left(elapsed, 3, 4), Span::from_secs(4));
        assert_eq!(left(elapsed, 4, 4), Span::ZERO);
        assert_eq!(left(elapsed, 0, 2), Span::from_secs(20));
    }
}
