//! Whether severities agree with what a roll does: what is found blocking stops it, and nothing else does.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use replank_advice::{check, preflight};
use replank_core::{Core, nodes_to_replace};
use replank_facts::finding::Severity;
use replank_facts::groups::LearntGroup;
use replank_facts::plan::{BlockingFindings, RunOptions};
use replank_model::text::RunId;
use replank_model::time::Span;
use replank_model::view::View;
use replank_rehearse::{Cause, FindingEntry, Rehearsal, RehearsalResult, Setup, count_budgets};
use replank_sim::{Durations, KubeletModel, Settings};

use crate::bound::{kill, settled};
use crate::clusters::{Bounded, Cluster};

/// What was found, and what the roll made of it.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// Findings before the roll.
    pub found: Vec<FindingEntry>,
    /// The rehearsal.
    pub result: RehearsalResult,
}

impl Agreement {
    /// What stopped the roll, as far as it is on nodes: a run's own deadline, and what the plan says to skip, is nobody's finding.
    fn stops(&self) -> impl Iterator<Item = &Cause> {
        let causes = self.result.causes.iter();
        causes.filter(|cause| {
            let is_out_of_time = cause.object == "run";
            !cause.nodes.is_empty() && !is_out_of_time && !cause.reason.starts_with("skipped ")
        })
    }

    /// What stopped the roll, and no finding of these tells of it as blocking.
    fn untold<'a>(&'a self, findings: &'a [FindingEntry]) -> impl Iterator<Item = &'a Cause> {
        self.stops().filter(|cause| {
            let is_it = |found: &FindingEntry| {
                Some(found.id) == cause.finding && Some(&found.object) == cause.finding_object.as_ref()
            };
            !findings.iter().any(|found| is_it(found) && found.severity == Severity::Blocking)
        })
    }

    /// What stopped the roll, and the report has no blocking finding of it.
    #[must_use]
    pub fn unexplained(&self) -> Vec<String> {
        let causes = self.untold(&self.result.findings);
        causes
            .map(|cause| format!("{} ({}), found: {:?}", cause.object, cause.reason, cause.finding))
            .collect()
    }

    /// What stopped the roll, and the check alone had no blocking finding of it.
    #[must_use]
    pub fn unforeseen(&self) -> Vec<String> {
        let causes = self.untold(&self.found);
        causes
            .map(|cause| format!("{} ({}), found: {:?}", cause.object, cause.reason, cause.finding))
            .collect()
    }

    /// How many causes there are, and how many of them the check had foreseen as blocking.
    #[must_use]
    pub fn foreseen(&self) -> (usize, usize) {
        let all = self.stops().count();
        (all, all - self.untold(&self.found).count())
    }

    /// What the check found blocking, and how much of it the roll got past.
    #[must_use]
    pub fn passed(&self) -> (usize, Vec<String>) {
        let blocking = || self.found.iter().filter(|found| found.severity == Severity::Blocking);
        let is_still = |found: &&FindingEntry| {
            let mut after = self.result.findings.iter();
            after.any(|one| {
                one.id == found.id && one.object == found.object && one.severity == Severity::Blocking
            })
        };
        let passed = blocking().filter(|found| !is_still(found));
        (
            blocking().count(),
            passed.map(|found| format!("{} {}: {}", found.id, found.object, found.reason)).collect(),
        )
    }
}

/// Checks and rehearses a cluster.
#[must_use]
pub fn run(bounded: &Bounded) -> Agreement {
    let mut world = settled(bounded);
    kill(&mut world, bounded);
    let now = world.now().floor_seconds();
    let mut view: View = world.view().clone();
    count_budgets(&mut view, now);
    let options = RunOptions { started: now, group_by: Cluster::group_by() };
    let mut plan = bounded.cluster.plan.clone();
    plan.care.blocking_findings = BlockingFindings::Proceed;
    let findings = check::run(&view, Some(&plan), &options);
    let found: Vec<FindingEntry> =
        findings.iter().map(|finding| FindingEntry::untried(finding.rule.id(), finding)).collect();
    let groups: Vec<LearntGroup> = view
        .groups()
        .values()
        .map(|group| LearntGroup {
            group: group.as_ref().clone(),
            instances: view
                .instances()
                .values()
                .filter(|instance| instance.group == group.name)
                .map(|instance| instance.as_ref().clone())
                .collect(),
        })
        .collect();
    let durations = Arc::new(Durations::learn(&view, now));
    let chosen = nodes_to_replace(&view, &plan, &options);
    let rolled: BTreeSet<_> = groups.iter().map(|learnt| learnt.group.name.clone()).collect();
    let setup = Setup {
        view,
        groups,
        rolled,
        settings: Settings {
            start: now,
            seed: 1,
            cloud: durations.cloud(),
            kubelet: KubeletModel::Learnt(durations),
        },
        assumptions: Vec::new(),
    };
    let limit = plan.deadline + Span::from_minutes(60);
    let core = Core::new(plan, RunId::from("agree"), options, preflight::blocking);
    let mut rehearsal = Rehearsal::new(setup, Box::new(core));
    rehearsal.narrow_to(chosen);
    let stop = rehearsal.run(limit, &mut |_| ControlFlow::Continue(()));
    let result = rehearsal.result(found.clone(), stop, 0);
    Agreement { found, result }
}
