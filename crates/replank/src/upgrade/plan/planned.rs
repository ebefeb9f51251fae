//! What a plan of an upgrade was made of, and the plan.

use std::collections::{BTreeMap, BTreeSet};

use replank_advice::upgrade::facts::Facts;
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{Options, UpgradePlan};
use replank_advice::upgrade::survey::Platform;
use replank_facts::coverage::Coverage;
use replank_facts::groups::GroupBy;
use replank_facts::plan::RunOptions;
use replank_lifecycle::calendar::{Calendar, Day};
use replank_lifecycle::release::Release;
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::Assumption;

/// The plan, and what is said beside it.
pub(crate) struct Planned {
    /// What was read, in a few words.
    pub(crate) name: String,
    /// The cluster's name, as commands name it.
    pub(crate) cluster: Option<String>,
    /// Arguments that name the snapshots, for a command.
    pub(crate) snapshots: String,
    /// The plan.
    pub(crate) plan: UpgradePlan,
    /// What of the cluster could be seen.
    pub(crate) coverage: Coverage,
    /// Support of versions.
    pub(crate) calendar: Calendar,
    /// The moment.
    pub(crate) now: Time,
}

/// Everything that was read.
pub(crate) struct Taken {
    /// What was read, in a few words.
    pub(crate) name: String,
    /// The cluster, with its groups.
    pub(crate) view: View,
    /// The moment.
    pub(crate) now: Time,
    /// Objects that were written in older API versions.
    pub(crate) older: Option<Assumption>,
    /// What of the cluster could be seen.
    pub(crate) coverage: Coverage,
    /// What makes nodes a group.
    pub(crate) label: Text,
    /// What EKS says.
    pub(crate) facts: Facts,
    /// Arguments of kubelets.
    pub(crate) kubelets: BTreeMap<Text, String>,
    /// Support of versions.
    pub(crate) calendar: Calendar,
    /// How it is to be done.
    pub(crate) options: Options,
}

impl Taken {
    /// How a run of one of its groups begins.
    pub(crate) fn run_options(&self) -> RunOptions {
        RunOptions { started: self.now, group_by: GroupBy::Label(self.label.clone()) }
    }

    /// Versions that the calendar says EKS does not offer yet.
    pub(super) fn not_offered(&self) -> BTreeSet<Minor> {
        let today = Day::of(self.now);
        let late = self.calendar.rows().filter(|row| row.release.is_some_and(|release| release > today));
        late.map(|row| Minor(row.version.minor)).collect()
    }

    /// Versions on the way of which nobody knows whether EKS offers them.
    pub(super) fn undated(&self, plan: &UpgradePlan) -> Option<String> {
        match plan.survey.platform {
            Platform::Eks => {}
            Platform::Other => return None,
        }
        let from = plan.survey.control_plane.version;
        let dated =
            |minor: u64| self.calendar.row(Release::minor(1, minor)).is_some_and(|row| row.release.is_some());
        let undated: Vec<String> = (from.0 + 1..=plan.to.0)
            .filter(|minor| !dated(*minor))
            .map(|minor| format!("1.{minor}"))
            .collect();
        (!undated.is_empty()).then(|| {
            format!(
                "whether EKS offers {}: aws eks describe-cluster-versions, passed with --calendar",
                undated.join(", ")
            )
        })
    }
}
