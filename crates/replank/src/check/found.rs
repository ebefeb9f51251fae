//! What is found, and what is proved of its remedies.

use std::collections::BTreeSet;

use replank_advice::check::{self, Finding};
use replank_core::scale;
use replank_facts::coverage::Coverage;
use replank_facts::groups::GroupBy;
use replank_facts::plan::RunOptions;
use replank_model::delta::Delta;
use replank_rehearse::FindingEntry;
use replank_rehearse::proof::{Ground, Proofs, Trials, prove};

/// Pods up to which a roll is rehearsed again with the remedies of what blocks it.
const REHEARSED_MAX: usize = 20_000;

/// Findings, the worst first, each with what was proved of its remedy.
pub(crate) struct Found {
    /// What they were found on.
    pub(crate) ground: Ground,
    /// The findings.
    pub(crate) findings: Vec<Finding>,
    /// For each of them.
    pub(crate) proofs: Vec<Proofs>,
}

impl Found {
    /// Finds, and proves the remedies; `stops` rehearses the roll and tells what stops it.
    pub(crate) fn proved(ground: Ground, by: &GroupBy, stops: &dyn Fn(&Ground) -> BTreeSet<String>) -> Self {
        let findings = find(&ground, by);
        let is_small = ground.view.pods.len() <= REHEARSED_MAX;
        let find = |ground: &Ground| find(ground, by);
        let proofs = prove(&ground, &findings, &find, is_small.then_some(stops), Trials::of(&ground));
        Self { ground, findings, proofs }
    }

    /// As reports show them, with what could not be seen.
    pub(crate) fn entries(&self, coverage: &Coverage) -> Vec<FindingEntry> {
        let all = self.findings.iter().zip(&self.proofs);
        all.map(|(finding, proofs)| {
            FindingEntry::proved(finding.rule.id(), finding, proofs).seeing(coverage, finding.rule.reads())
        })
        .collect()
    }
}

/// What is found in a cluster with its node groups, the worst first.
pub(crate) fn find(ground: &Ground, by: &GroupBy) -> Vec<Finding> {
    let options = RunOptions { started: ground.now, group_by: by.clone() };
    let mut view = ground.view.clone();
    let mut groups = ground.groups.clone();
    if !ground.facts.is_empty() {
        let none = scale::Options::default();
        scale::apply_facts(&mut groups, &view, by, &ground.facts, &none, false);
    }
    for learnt in groups {
        view.apply(Delta::Group(learnt.group.into()));
    }
    check::run_beside(&view, ground.plan.as_ref(), &options, &ground.facts)
}
