//! The whole way in order: steps, what stands before each, how long it takes, and whether there is a way back.
//!
//! The order, and why:
//!
//! 1. The control plane goes first, one minor version at a time: nothing may be newer than it.
//! 2. Before each of its steps come the nodes, kube-proxies and add-ons that would not go with it: no earlier than they must.
//! 3. After each it is left alone for a while (the bake): EKS takes a control plane back within 7 days, to the version before only, and only while
//!    no node is newer. So nodes follow when nobody wants to go back any more.
//! 4. Then nodes, then kube-proxy, then the other add-ons ("Version Skew Policy", order of upgrades).

mod back;
mod hop_findings;
mod order;
mod roll_findings;
mod step;

use super::finding::Finding;
use replank_model::time::Span;
use std::collections::BTreeMap;
pub use step::{Input, Options, Rehearsed, Scanned, Step, Takes, What};
#[cfg(test)]
mod tests;

use super::controllers::{Controller, inventory};
use super::minor::{Hop, Minor, NoWay, hops};
use super::rollback::{self, Rollback};
use super::routes::{Route, Way, route};
use super::survey::{NoControlPlane, Platform, Survey, survey};
pub use back::Back;
use replank_model::text::Text;

impl Options {
    /// With the durations that are assumed where nobody says any.
    #[must_use]
    pub const fn to(to: Minor) -> Self {
        Self { to, from: None, way: None, hop: HOP, addon: ADDON, bake: BAKE }
    }
}

/// One step of EKS's control plane: AWS says no figure ("several minutes"); users report 8 to 15 minutes since 2022, and up to 40 before.
pub const HOP: Span = Span::from_minutes(15);
/// One update of an add-on: its pods restarted one after the other on all nodes. An assumption.
pub const ADDON: Span = Span::from_minutes(5);
/// A day of work on the control plane before the next step, well within the 7 days in which EKS takes it back.
pub const BAKE: Span = Span::from_minutes(24 * 60);

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nothing tells what the control plane runs.
    #[error(transparent)]
    NoControlPlane(#[from] NoControlPlane),
    /// There is no way.
    #[error(transparent)]
    NoWay(#[from] NoWay),
}

/// The plan.
#[derive(Clone, Debug, PartialEq)]
pub struct UpgradePlan {
    /// What there is.
    pub survey: Survey,
    /// The version to go to.
    pub to: Minor,
    /// The ways of the nodes, the one that is taken first.
    pub routes: Vec<Route>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Controllers that were installed besides.
    pub inventory: Vec<Controller>,
    /// The way back that is open before anything is begun: of the last upgrade.
    pub way_back: Option<WayBack>,
    /// What was not looked at, because nobody gave it, and how to give it.
    pub unknown: Vec<String>,
}

/// A way back that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayBack {
    /// To this version; the first step of the control plane ends it.
    pub to: Minor,
    /// How long it stays open.
    pub left: Span,
    /// Groups that have to go back first, as they are newer.
    pub in_the_way: Vec<Text>,
}

impl WayBack {
    /// As EKS told when the control plane was upgraded (`describe-update`).
    fn of(input: &Input<'_>, survey: &Survey) -> Option<Self> {
        let upgraded = match survey.platform {
            Platform::Eks => input.facts.upgraded?,
            Platform::Other => return None,
        };
        let at = survey.control_plane.version;
        let hop = Hop { from: Minor(at.0.checked_sub(1)?), to: at };
        let to = match rollback::after(hop, upgraded) {
            Rollback::Until { to, .. } => to,
            Rollback::NotYet | Rollback::None => return None,
        };
        let left = rollback::left(upgraded, input.now)?;
        let newer = survey.nodes.iter().filter(|nodes| rollback::is_in_the_way(nodes.newest, to));
        Some(Self { to, left, in_the_way: newer.map(|nodes| nodes.name.clone()).collect() })
    }
}

/// Why a step may not begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocked<'p> {
    /// The step before which it stands: this one, or one before it.
    pub step: usize,
    /// What.
    pub by: Vec<&'p Finding>,
}

impl UpgradePlan {
    /// Makes the plan.
    ///
    /// # Errors
    /// Where there is no way.
    pub fn make(input: &Input<'_>, options: &Options) -> Result<Self, PlanError> {
        let survey = survey(input.view, &input.run.group_by, input.facts, options.from)?;
        let from = survey.control_plane.version;
        let hops = hops(from, options.to)?;
        let takes: BTreeMap<Text, Span> =
            input.rehearsed.iter().map(|(group, rehearsed)| (group.clone(), rehearsed.takes)).collect();
        let mut routes = Way::ALL.map(|way| route(way, &survey.nodes, from, &hops, &takes)).to_vec();
        // Of equal ones the first: fewest rolls.
        let taken = options.way.unwrap_or(Way::FewestRolls);
        routes.sort_by_key(|route| route.way != taken);
        let inventory = inventory(input.view);
        let (steps, unknown) = order::steps(input, options, &survey, &hops, &routes[0], &inventory);
        let way_back = WayBack::of(input, &survey);
        Ok(Self { survey, to: options.to, routes, steps, inventory, way_back, unknown })
    }

    /// Whether a step may begin, when all before it are done: no blocking finding stands before it.
    ///
    /// # Errors
    /// Names the first step up to this one that has any, with all of them.
    pub fn may_start(&self, step: usize) -> Result<(), Blocked<'_>> {
        for (index, of) in self.steps.iter().enumerate().take(step + 1) {
            let by: Vec<&Finding> = of.blockers().collect();
            if !by.is_empty() {
                return Err(Blocked { step: index, by });
            }
        }
        Ok(())
    }

    /// The first step that may not begin.
    #[must_use]
    pub fn blocked(&self) -> Option<Blocked<'_>> {
        self.may_start(self.steps.len()).err()
    }

    /// The time of all steps of which it is known, and how many there are of which it is not.
    #[must_use]
    pub fn takes(&self) -> (Span, usize) {
        let known = self.steps.iter().filter_map(|step| step.takes.span()).sum();
        (known, self.steps.iter().filter(|step| step.takes.span().is_none()).count())
    }

    /// All findings, by step.
    pub fn findings(&self) -> impl Iterator<Item = (usize, &Finding)> {
        self.steps
            .iter()
            .enumerate()
            .flat_map(|(index, step)| step.findings.iter().map(move |finding| (index, finding)))
    }
}
