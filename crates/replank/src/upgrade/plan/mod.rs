//! `replank upgrade plan`: the way to another version in order, with what stands before each step.

pub(crate) mod input;
mod json;
mod markdown;
pub(crate) mod rolls;
mod text;
mod user_data;
pub(crate) mod uses;
pub(crate) mod words;

use std::collections::{BTreeMap, BTreeSet};

use replank_advice::upgrade::facts::Facts;
use replank_advice::upgrade::finding::Severity;
use replank_advice::upgrade::minor::{Minor, NoWay};
use replank_advice::upgrade::plan::{Input, Options, PlanError, Rehearsed, Scanned, UpgradePlan};
use replank_advice::upgrade::survey::Platform;
use replank_advice::upgrade::usage::ApiUse;
use replank_facts::groups::GroupBy;
use replank_facts::plan::RunOptions;
use replank_lifecycle::calendar::{Calendar, Day};
use replank_lifecycle::release::Release;
use replank_model::delta::Delta;
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::Assumption;

use super::args::{UpgradeFormat, UpgradePlanArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::rehearse::groups;

/// The plan, and what is said beside it.
pub(crate) struct Planned {
    /// What was read, in a few words.
    pub(crate) name: String,
    /// The cluster's name, as commands name it.
    pub(crate) cluster: String,
    /// The plan.
    pub(crate) plan: UpgradePlan,
    /// Support of versions.
    pub(crate) calendar: Calendar,
    /// The moment.
    pub(crate) now: Time,
}

/// Plans, and prints the plan.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(
    args: &UpgradePlanArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let taken = input::take(&args.snapshots, args.now, &args.read, &args.way, args.to, printer)?;
    let planned = planned(&taken, args, printer, interrupt)?;
    if interrupt.is_pressed() {
        printer.warning("interrupted by Ctrl-C: the rehearsals of the rolls are not whole");
        return Ok(Exit::Interrupted);
    }
    let text = match args.output {
        UpgradeFormat::Text => text::text(&planned, printer.look()),
        UpgradeFormat::Json => json::json(&planned)?,
        UpgradeFormat::Markdown => markdown::markdown(&planned),
    };
    printer.data(&text)?;
    Ok(exit(&planned.plan))
}

/// Blocked where a step may not begin, findings where something should be looked at before.
fn exit(plan: &UpgradePlan) -> Exit {
    let worst = plan.findings().map(|(_, finding)| finding.severity).min();
    match worst {
        Some(Severity::Blocking) => Exit::Blocked,
        Some(Severity::Warning) => Exit::Findings,
        Some(Severity::Info) | None => Exit::Passes,
    }
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

/// The plan from what was read: the rolls of its groups are rehearsed.
fn planned(
    taken: &Taken,
    args: &UpgradePlanArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Planned, Failure> {
    // Without rehearsals first: it tells the versions to look at, and which groups are rolled.
    let draft = taken.plan(&Looked::default())?;
    let (uses, scanned) = uses::find(&args.way.scan, &args.snapshots, &draft, printer)?;
    let rehearsed = match args.no_rehearsal {
        true => BTreeMap::new(),
        false => rolls::rehearse(taken, &draft, args.seed, interrupt)?,
    };
    let plan = taken.plan(&Looked { uses, scanned, rehearsed })?;
    Ok(Planned {
        name: taken.name.clone(),
        cluster: taken
            .facts
            .cluster
            .as_ref()
            .map_or("CLUSTER".to_owned(), |cluster| cluster.name.to_string()),
        plan,
        calendar: taken.calendar.clone(),
        now: taken.now,
    })
}

/// What was looked at besides.
pub(crate) struct Looked {
    /// API versions that go.
    pub(crate) uses: Vec<ApiUse>,
    /// Where they were looked for.
    pub(crate) scanned: Scanned,
    /// What came of rehearsals.
    pub(crate) rehearsed: BTreeMap<Text, Rehearsed>,
}

impl Default for Looked {
    fn default() -> Self {
        Self { uses: Vec::new(), scanned: Scanned::No, rehearsed: BTreeMap::new() }
    }
}

impl Taken {
    /// How a run of one of its groups begins.
    pub(crate) fn run_options(&self) -> RunOptions {
        RunOptions { started: self.now, group_by: GroupBy::Label(self.label.clone()) }
    }

    /// Makes the plan.
    ///
    /// # Errors
    /// Where there is no way.
    pub(crate) fn plan(&self, looked: &Looked) -> Result<UpgradePlan, Failure> {
        let mut view = self.view.clone();
        for learnt in groups::of_label(&self.view, &self.label) {
            view.apply(Delta::Group(learnt.group.into()));
        }
        let input = Input {
            view: &view,
            run: &self.run_options(),
            facts: &self.facts,
            uses: &looked.uses,
            scanned: looked.scanned,
            kubelets: &self.kubelets,
            rehearsed: &looked.rehearsed,
            not_offered: &self.not_offered(),
            now: self.now,
        };
        let mut plan = UpgradePlan::make(&input, &self.options).map_err(no_plan)?;
        plan.unknown.extend(self.undated(&plan));
        Ok(plan)
    }

    /// Versions that the calendar says EKS does not offer yet.
    fn not_offered(&self) -> BTreeSet<Minor> {
        let today = Day::of(self.now);
        let late = self.calendar.rows().filter(|row| row.release.is_some_and(|release| release > today));
        late.map(|row| Minor(row.version.minor)).collect()
    }

    /// Versions on the way of which nobody knows whether EKS offers them.
    fn undated(&self, plan: &UpgradePlan) -> Option<String> {
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

fn no_plan(error: PlanError) -> Failure {
    let next = match error {
        PlanError::NoControlPlane(_) => {
            "pass a snapshot, or --eks with what `aws eks describe-cluster` prints, or say it: --from 1.33"
        }
        PlanError::NoWay(NoWay::Back { .. }) => "name a version that is not older: --to VERSION",
        PlanError::NoWay(NoWay::Far { .. }) => {
            "name a version that there is: `replank upgrade calendar --all` lists them"
        }
    };
    Failure::usage(error).next(next)
}
