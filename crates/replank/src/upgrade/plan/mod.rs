//! `replank upgrade plan`: the way to another version in order, with what stands before each step.

mod facts;
pub(crate) mod input;
mod json;
mod markdown;
mod planned;
pub(crate) mod rolls;
mod text;
mod user_data;
pub(crate) mod uses;
pub(crate) mod words;

use replank_advice::upgrade::finding::Severity;
use replank_advice::upgrade::minor::NoWay;
use replank_advice::upgrade::plan::{Input, PlanError, Rehearsed, Scanned, UpgradePlan};
use replank_advice::upgrade::usage::ApiUse;
use replank_facts::cluster_name::cluster_name;
use replank_model::delta::Delta;
use replank_model::text::Text;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::args::UpgradePlanArgs;
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::DocumentFormat;
use crate::printer::Printer;
use crate::rehearse::groups;
use crate::snapshot::Origin;
use crate::zone::times_of_markdown;

pub(crate) use planned::{Planned, Taken};
pub(crate) use text::text;

/// Plans, and prints the plan.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(
    args: &UpgradePlanArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let origin = Origin::of(&args.snapshots, &args.live)?;
    let taken = input::take(origin, args.now, &args.read, &args.way, args.to, printer)?;
    let making = Making {
        manifests: &args.way.scan,
        objects: origin,
        seed: (!args.no_rehearsal).then_some(args.seed),
        snapshots: match origin {
            None => "examples/job-site/snapshot.yaml".to_owned(),
            Some(_) => input::arguments(origin, &taken.name),
        },
    };
    let planned = planned(&taken, making, printer, interrupt)?;
    if interrupt.is_pressed() {
        printer.warning("interrupted by Ctrl-C: the rehearsals of the rolls are incomplete");
        return Ok(Exit::Interrupted);
    }
    let text = match args.output {
        DocumentFormat::Text => text(&planned, printer.look()),
        DocumentFormat::Json => json::json(&planned)?,
        DocumentFormat::Markdown => times_of_markdown(&markdown::markdown(&planned)),
    };
    printer.data(&text)?;
    Ok(coverage::end(&planned.coverage, exit(&planned.plan)))
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

/// What a plan is made of beside what was read.
pub(crate) struct Making<'m> {
    /// Where API versions that go are looked for, beside the cluster.
    pub(crate) manifests: &'m [PathBuf],
    /// Where the cluster's objects are; none where it is the example.
    pub(crate) objects: Option<Origin<'m>>,
    /// The seed of the rehearsals; without one nothing is rehearsed.
    pub(crate) seed: Option<u64>,
    /// Arguments that name the cluster, for commands that are shown.
    pub(crate) snapshots: String,
}

/// The plan from what was read, from files or from a live cluster: the rolls of its groups are rehearsed.
///
/// # Errors
/// Where there is no way, or something cannot be read.
pub(crate) fn planned(
    taken: &Taken,
    making: Making<'_>,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Planned, Failure> {
    // Without rehearsals first: it tells the versions to look at, and which groups are rolled.
    let draft = taken.plan(&Looked::default())?;
    let (uses, scanned) = uses::find(making.manifests, making.objects, &draft, printer)?;
    let rehearsed = match making.seed {
        None => BTreeMap::new(),
        Some(seed) => rolls::rehearse(taken, &draft, seed, interrupt)?,
    };
    let plan = taken.plan(&Looked { uses, scanned, rehearsed })?;
    Ok(Planned {
        name: taken.name.clone(),
        cluster: taken
            .facts
            .cluster
            .as_ref()
            .map(|cluster| cluster.name.to_string())
            .or_else(|| cluster_name(&taken.view).map(|name| name.to_string())),
        snapshots: making.snapshots,
        plan,
        coverage: taken.coverage.clone(),
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
    /// The outcomes of rehearsals.
    pub(crate) rehearsed: BTreeMap<Text, Rehearsed>,
}

impl Default for Looked {
    fn default() -> Self {
        Self { uses: Vec::new(), scanned: Scanned::No, rehearsed: BTreeMap::new() }
    }
}

impl Taken {
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
}

fn no_plan(error: PlanError) -> Failure {
    let next = match error {
        PlanError::NoControlPlane(_) => {
            "pass a snapshot, --eks with the output of `aws eks describe-cluster`, or --from 1.33"
        }
        PlanError::NoWay(NoWay::Back { .. }) => "pass a version that is not older: --to VERSION",
        PlanError::NoWay(NoWay::Far { .. }) => {
            "pass an existing version: `replank upgrade calendar --all` lists them"
        }
    };
    Failure::usage(error).next(next)
}
