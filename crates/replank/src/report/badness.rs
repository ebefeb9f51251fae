//! Which of many rehearsals of one plan is the worst.

use std::cmp::Reverse;

use replank_html::SeedRun;
use replank_model::time::Span;
use replank_rehearse::Verdict;

use super::run::Run;

/// How bad a rehearsal is beside others of its plan: of two, the worse one is the greater.
///
/// By verdict; of those that left nodes, by how few were replaced; then by batch pods that were terminated, then by duration; of equals, the one with the lower
/// seed is the worse one, in whatever order they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Badness {
    verdict: Verdict,
    replaced: Reverse<usize>,
    killed: usize,
    duration: Span,
    seed: Reverse<u64>,
}

impl Badness {
    pub(crate) fn of(run: &Run) -> Self {
        Self::new(run.verdict(), run.replaced(), run.killed(), run.duration(), run.seed())
    }

    /// Of a row of a page that was read from JSON; `None` where its verdict is a word that nobody knows.
    pub(crate) fn of_row(row: &SeedRun) -> Option<Self> {
        let verdict = Verdict::named(&row.verdict)?;
        Some(Self::new(verdict, row.replaced, row.killed, Span::from_millis(row.duration_ms), row.seed))
    }

    fn new(verdict: Verdict, replaced: usize, killed: usize, duration: Span, seed: u64) -> Self {
        // One that stops soon takes less time, and does less.
        let replaced = match verdict {
            Verdict::Partial | Verdict::Blocked => replaced,
            Verdict::Passes | Verdict::Findings | Verdict::Incomplete | Verdict::Refused => 0,
        };
        Self { verdict, replaced: Reverse(replaced), killed, duration, seed: Reverse(seed) }
    }

    /// The seed of the rehearsal.
    pub(crate) fn seed(self) -> u64 {
        self.seed.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: u64, verdict: &str, (replaced, killed, minutes): (usize, usize, i64)) -> SeedRun {
        let verdict = verdict.to_owned();
        let duration_ms = Span::from_minutes(minutes).as_millis();
        SeedRun { seed, verdict, duration_ms, replaced, moved: 0, refused: 0, killed }
    }

    #[test]
    fn the_worst_comes_last_in_order() {
        let sorted = [
            row(1, "passes", (9, 9, 90)),
            row(3, "findings", (5, 0, 10)),
            row(2, "findings", (5, 0, 10)),
            row(4, "findings", (11, 0, 20)),
            row(5, "findings", (11, 1, 10)),
            row(6, "partial", (11, 2, 90)),
            row(7, "partial", (5, 0, 10)),
            row(8, "incomplete", (5, 0, 10)),
            row(9, "blocked", (11, 9, 90)),
            row(10, "blocked", (5, 0, 10)),
            row(11, "refused", (0, 0, 0)),
        ];
        let bad: Vec<Badness> = sorted.iter().map(|row| Badness::of_row(row).expect("a verdict")).collect();
        assert!(bad.windows(2).all(|two| two[0] < two[1]), "{bad:?}");
        assert_eq!(bad.iter().max().map(|worst| worst.seed()), Some(11));
        assert_eq!(Badness::of_row(&row(1, "splendid", (0, 0, 0))), None);
    }
}
