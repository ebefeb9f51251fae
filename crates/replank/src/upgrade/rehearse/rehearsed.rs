//! What a chain of rehearsals came to.

use replank_advice::upgrade::plan::UpgradePlan;
use replank_facts::coverage::Coverage;
use replank_model::time::{Span, Time};
use replank_rehearse::Verdict;

use super::chain::{Came, Passed};

/// The outcome.
pub(in crate::upgrade) struct Rehearsed {
    /// What was read, in a few words.
    pub(super) name: String,
    pub(super) plan: UpgradePlan,
    pub(super) seed: u64,
    pub(super) start: Time,
    /// The steps, in order, as far as it came.
    pub(super) passed: Vec<Passed>,
    /// What was assumed.
    pub(super) assumptions: Vec<String>,
    /// What of the cluster could be seen.
    pub(super) coverage: Coverage,
}

impl Rehearsed {
    /// How long it took, from the first step to the last that was begun.
    pub(super) fn took(&self) -> Span {
        self.passed
            .iter()
            .filter(|passed| !matches!(passed.came, Came::NotBegun(_)))
            .map(|passed| passed.took)
            .sum()
    }

    pub(super) fn verdict(&self) -> Verdict {
        let blocked = self.passed.iter().any(|passed| match &passed.came {
            Came::Blocked(_) | Came::NotBegun(_) => true,
            Came::Done | Came::AsIfCleared(_) | Came::LeftToProvisioner => false,
        });
        let noticed = self.plan.findings().next().is_some()
            || self.passed.iter().any(|passed| !passed.fails.is_empty() || passed.violations > 0);
        match (blocked, noticed) {
            (true, _) => Verdict::Blocked,
            (false, _) if !self.coverage.complete => Verdict::Incomplete,
            (false, true) => Verdict::Findings,
            (false, false) => Verdict::Passes,
        }
    }
}
