//! What is found, and what is proved of its remedies.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_advice::check::{self, Finding};
use replank_core::scale;
use replank_facts::coverage::{Allowed, Coverage};
use replank_facts::groups::GroupBy;
use replank_facts::images::{BadImage, Releases};
use replank_facts::plan::{Plan, RunOptions};
use replank_facts::remedy::{Addons, Installed};
use replank_model::delta::Delta;
use replank_model::view::View;
use replank_rehearse::FindingEntry;
use replank_rehearse::proof::{Ground, Proofs, Trials, prove};

use super::account::Answers;
use super::helm_release;

/// Pods up to which a roll is rehearsed again with the remedies of what blocks it.
const REHEARSED_MAX: usize = 20_000;

/// Questions that are asked only on request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Besides {
    /// At which nodes EKS's own update of their managed group would give up.
    pub(crate) managed_update: bool,
    /// Whether what tells the cluster of instances that go is sufficient in this account, and what the group that nodes move into lacks by its security groups.
    pub(crate) account: Option<Arc<Answers>>,
    /// Which nodes have an image of this list.
    pub(crate) bad_images: Option<Vec<BadImage>>,
    /// Releases of images with rows of one's own, where there are some.
    pub(crate) releases: Option<Releases>,
}

impl Besides {
    /// What is found.
    pub(crate) fn find(&self, ground: &Ground, by: &GroupBy) -> Vec<Finding> {
        let options = RunOptions { started: ground.now, group_by: by.clone() };
        let (view, plan) = (grouped(ground, by), ground.plan.as_ref());
        let mut found = Vec::new();
        if self.managed_update {
            found.extend(check::managed_update(&view, plan, &options, &ground.facts));
        }
        if let Some(answers) = &self.account {
            found.extend(check::termination_setup(&view, plan, &options, &answers.account));
            found.extend(check::group_network(&view, plan, &options, &answers.network));
        }
        if self.is_of_images() {
            let embedded = Releases::embedded();
            let releases = self.releases.as_ref().unwrap_or(&embedded);
            let images = check::Images { releases, bad: self.bad_images.as_deref() };
            found.extend(check::image_releases(&view, plan, &options, &images));
        }
        found
    }

    /// Whether what is found with one's own lists stands for a finding without them.
    pub(crate) fn stands_for(&self, finding: &Finding) -> bool {
        self.is_of_images() && finding.rule == check::Rule::ImageRelease
    }

    /// Whether images are looked at with lists of one's own.
    fn is_of_images(&self) -> bool {
        self.bad_images.is_some() || self.releases.is_some()
    }

    /// What can be seen where an account's files do not say everything that is asked of them.
    pub(crate) fn cover(
        &self,
        coverage: Coverage,
        (view, plan): (&View, Option<&Plan>),
        options: &RunOptions,
        allowed: &Allowed,
    ) -> Coverage {
        let Some(answers) = &self.account else { return coverage };
        let missing = check::unanswered(view, plan, options, &answers.account, &answers.network);
        coverage.without_answers(missing, allowed)
    }
}

/// Findings, the worst first, each with what was proved of its remedy.
pub(crate) struct Found {
    /// What they were found on.
    pub(crate) ground: Ground,
    /// The findings.
    pub(crate) findings: Vec<Finding>,
    /// For each of them.
    pub(crate) proofs: Vec<Proofs>,
    /// What the account's files say.
    account: Option<Arc<Answers>>,
}

impl Found {
    /// Finds, and proves the remedies; `stops` rehearses the roll and tells what stops it.
    pub(crate) fn proved(ground: Ground, by: &GroupBy, stops: &dyn Fn(&Ground) -> BTreeSet<String>) -> Self {
        let findings = find(&ground, by);
        let is_small = ground.view.pods.len() <= REHEARSED_MAX;
        let find = |ground: &Ground| find(ground, by);
        let proofs = prove(&ground, &findings, &find, is_small.then_some(stops), Trials::of(&ground));
        Self { ground, findings, proofs, account: None }
    }

    /// With what was asked for besides.
    pub(crate) fn with(self, by: &GroupBy, besides: &Besides) -> Self {
        let Self { ground, findings, proofs, account: _ } = self;
        let more = besides.find(&ground, by);
        let none = std::iter::repeat_with(Proofs::default);
        let found = findings.into_iter().zip(proofs);
        let found = found.filter(|(one, _)| !besides.stands_for(one));
        let mut all: Vec<(Finding, Proofs)> = found.chain(more.into_iter().zip(none)).collect();
        all.sort_by(|(a, _), (b, _)| {
            (a.severity, a.rule, &a.object, &a.reason).cmp(&(b.severity, b.rule, &b.object, &b.reason))
        });
        let (findings, proofs) = all.into_iter().unzip();
        Self { ground, findings, proofs, account: besides.account.clone() }
    }

    /// As reports show them, with what could not be seen.
    pub(crate) fn entries(&self, coverage: &Coverage) -> Vec<FindingEntry> {
        let none = Addons::default();
        let addons = self.account.as_ref().map_or(&none, |answers| &answers.addons);
        let mut installed = Installed::new(&self.ground.view, addons, &helm_release::unpacked);
        let all = self.findings.iter().zip(&self.proofs);
        all.map(|(finding, proofs)| {
            FindingEntry::proved(finding.rule.id(), finding, proofs, &mut installed)
                .seeing(coverage, finding.rule.reads())
        })
        .collect()
    }
}

/// What is found in a cluster with its node groups, the worst first.
pub(crate) fn find(ground: &Ground, by: &GroupBy) -> Vec<Finding> {
    let options = RunOptions { started: ground.now, group_by: by.clone() };
    check::run_beside(&grouped(ground, by), ground.plan.as_ref(), &options, &ground.facts)
}

/// The cluster with its node groups.
fn grouped(ground: &Ground, by: &GroupBy) -> View {
    let mut view = ground.view.clone();
    let mut groups = ground.groups.clone();
    if !ground.facts.is_empty() {
        let none = scale::Options::default();
        scale::apply_facts(&mut groups, &view, by, &ground.facts, &none, false);
    }
    for learnt in groups {
        view.apply(Delta::Group(learnt.group.into()));
    }
    view
}
