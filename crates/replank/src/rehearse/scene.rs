//! What a rehearsal begins with.

use std::borrow::Cow;
use std::sync::Arc;

use replank_advice::preflight;
use replank_core::Preflight;
use replank_core::scale::{self, Autoscaler};
use replank_facts::coverage::Coverage;
use replank_facts::group_facts::Facts;
use replank_facts::groups::{GroupBy, LearntGroup};
use replank_facts::plan::{ChosenBy, Plan};
use replank_model::delta::Delta;
use replank_model::text::{RunId, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_rehearse::proof::Ground;
use replank_rehearse::{Demand, count_budgets};
use replank_sim::Assumption;
use replank_sim::load::Load;
use replank_sim::script::Script;
use serde::Serialize;

use super::args::Require;
use super::groups;
use super::groups::Grouped;
use crate::check;
use crate::failure::Failure;
use crate::snapshot::Cluster;

/// So long after the last line of a script that stands alone it goes on.
const AFTERMATH: Span = Span::from_minutes(60);

/// What is rehearsed.
#[derive(Clone)]
pub(crate) struct Scene {
    /// What was read, in a few words.
    pub(crate) name: String,
    /// Everything there is.
    pub(crate) view: View,
    /// Node groups as the snapshot shows them.
    pub(crate) groups: Vec<LearntGroup>,
    /// What makes nodes a group.
    pub(crate) group_by: GroupBy,
    /// When it was.
    pub(crate) now: Time,
    /// What to do.
    pub(crate) plan: Plan,
    /// What happens besides, interruptions among it.
    pub(crate) script: Script,
    /// What the targets of autoscalers are asked to do.
    pub(crate) loads: Vec<Load>,
    /// Until when it goes on though the run is over, if at all.
    pub(crate) until: Option<Time>,
    /// Which nodes must be replaced.
    pub(crate) require: Require,
    /// What clients ask of workloads.
    pub(crate) demands: Vec<Demand>,
    /// What the cloud says of its groups.
    pub(crate) facts: Vec<Facts>,
    /// What had to be assumed of its groups.
    pub(crate) of_groups: Vec<Assumption>,
    /// Objects that were written in older API versions.
    pub(crate) older: Option<Assumption>,
    /// What of the cluster can be seen.
    pub(crate) coverage: Coverage,
    /// What had to be assumed of the autoscaler.
    pub(crate) assumptions: Vec<Assumption>,
    /// Who keeps the number of nodes to what is needed, where somebody does.
    pub(crate) autoscaler: Option<Autoscaler>,
    /// What keeps the roll from beginning.
    pub(crate) preflight: Preflight,
    /// What is looked for besides what every rehearsal finds.
    pub(crate) besides: check::Besides,
    /// Changes that were made first, as a person pastes them.
    pub(crate) remedies: Vec<String>,
    /// The run that is gone on with, and since when it runs, where one was begun.
    pub(crate) begun: Option<(RunId, Time)>,
}

impl Scene {
    pub(crate) fn new(name: String, cluster: Cluster, plan: Plan, label: &Text) -> Result<Self, Failure> {
        let Cluster { mut view, now, older, coverage } = cluster;
        count_budgets(&mut view, now);
        let Grouped { groups, by, assumptions: of_groups } = groups::choose(&view, &plan, label, now)?;
        let ground = Ground { view, groups, now, facts: Vec::new(), plan: None };
        Ok(Self { name, of_groups, older, coverage, ..Self::on(ground, plan, by) })
    }
}

impl Scene {
    /// A plan on a ground, and nothing besides.
    pub(crate) fn on(ground: Ground, plan: Plan, by: GroupBy) -> Self {
        let Ground { view, groups, now, facts, .. } = ground;
        Self {
            name: String::new(),
            view,
            groups,
            group_by: by,
            now,
            plan,
            script: Script::default(),
            loads: Vec::new(),
            until: None,
            require: Require::Possible,
            demands: Vec::new(),
            facts,
            of_groups: Vec::new(),
            older: None,
            coverage: Coverage::default(),
            assumptions: Vec::new(),
            autoscaler: None,
            preflight: preflight::blocking,
            besides: check::Besides::default(),
            remedies: Vec::new(),
            begun: None,
        }
    }

    /// Whether no node is to be replaced: nothing happens but what the script says.
    pub(crate) fn rolls_nothing(&self) -> bool {
        matches!(&self.plan.nodes.by, ChosenBy::Groups(groups) if groups.is_empty())
    }

    /// Goes on until what the script began has come to its end: an hour after its last line.
    pub(crate) fn watch_script(&mut self) {
        let last = self.script.events.iter().map(|event| event.when.at(self.now)).max();
        self.until = last.map(|last| last + AFTERMATH);
    }

    /// The cluster; where the plan names a release, with what its nodes were made from, as nodes do not show that.
    pub(crate) fn seen(&self) -> Cow<'_, View> {
        if self.plan.target.release_version.is_none() {
            return Cow::Borrowed(&self.view);
        }
        let mut view = self.view.clone();
        for LearntGroup { group, instances } in &self.groups {
            view.apply(Delta::Group(Arc::new(group.clone())));
            for one in instances {
                view.apply(Delta::Instance(Arc::new(one.clone())));
            }
        }
        Cow::Owned(view)
    }

    /// The same with what is told of its groups, where no autoscaler is rehearsed.
    pub(crate) fn told(&self) -> Cow<'_, Self> {
        if self.facts.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut told = self.clone();
        let none = scale::Options::default();
        scale::apply_facts(&mut told.groups, &told.view, &told.group_by, &told.facts, &none, false);
        Cow::Owned(told)
    }

    /// What findings are found on.
    pub(crate) fn ground(&self) -> Ground {
        Ground {
            view: self.view.clone(),
            groups: self.groups.clone(),
            now: self.now,
            facts: self.facts.clone(),
            plan: Some(self.plan.clone()),
        }
    }
}

pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::internal)?;
    Ok(text + "\n")
}
