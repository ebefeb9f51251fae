//! What is shown before an upgrade is begun, and what keeps it from being begun.

use replank_advice::upgrade::finding::{Finding, Rule, Severity};
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::What;

use super::args::UpgradeRunArgs;
use super::eyes::Seen;
use super::show;
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::EventsFormat;
use crate::printer::Printer;
use crate::report::words::count;

/// Whether EKS offers the version at all.
pub(super) fn is_offered(seen: &Seen, args: &UpgradeRunArgs) -> Result<(), Failure> {
    let to = args.to.to_string();
    if seen.offered.is_empty() || seen.offered.contains(&to) {
        return Ok(());
    }
    let mut known: Vec<Minor> = seen.offered.iter().filter_map(|version| Minor::of(version)).collect();
    known.sort();
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    Err(Failure {
        exit: Exit::Refused,
        ..Failure::usage_message(format!("EKS does not offer {to}: it offers {}", known.join(", ")))
    }
    .next("pass one of these: --to VERSION; dates: replank upgrade calendar"))
}

/// Shows the plan: as data where text is told, otherwise as story.
pub(super) fn shown(seen: &Seen, args: &UpgradeRunArgs, printer: &mut Printer) -> Result<(), Failure> {
    let text = show::plan(seen, printer.look());
    match args.place.output {
        EventsFormat::Text => printer.data(&text)?,
        EventsFormat::Json => printer.story(&text),
    }
    let hops =
        seen.planned.plan.steps.iter().filter(|step| matches!(step.what, What::ControlPlane(_))).count();
    if hops > 1 {
        printer.story(&format!(
            "EKS takes a control plane up by one minor version at a time: {}",
            count(hops, "step")
        ));
    }
    Ok(())
}

/// Why the upgrade is not begun; for a dry run, how it ends.
pub(super) fn refused(seen: &Seen, args: &UpgradeRunArgs, printer: &mut Printer) -> Option<Exit> {
    let until = args.how.until_step.unwrap_or(usize::MAX);
    let until = if args.how.step { 1 } else { until };
    let findings = seen.planned.plan.findings().filter(|(index, _)| *index < until);
    let findings = findings.filter(|(index, finding)| !is_looked_at_later((seen, args), *index, finding));
    let exit = match findings.map(|(_, finding)| finding.severity).min() {
        Some(Severity::Blocking) => Exit::Blocked,
        Some(Severity::Warning) => Exit::Findings,
        Some(Severity::Info) | None => Exit::Passes,
    };
    let exit = coverage::end(&seen.planned.coverage, exit);
    match exit {
        Exit::Passes | Exit::Findings if args.dry_run => Some(exit),
        Exit::Passes | Exit::Findings => None,
        Exit::Internal
        | Exit::Usage
        | Exit::Blocked
        | Exit::Refused
        | Exit::Incomplete
        | Exit::Interrupted => {
            printer.warning("nothing was changed: an upgrade is begun only if nothing blocks a step of it (--until-step N carries out those before)");
            Some(exit)
        }
    }
}

/// What does not keep an upgrade from being begun, and is looked at once more before its step: another update that is in progress is followed or waited for, and an insight of
/// EKS may be about what an earlier step of the plan does.
fn is_looked_at_later((seen, args): (&Seen, &UpgradeRunArgs), index: usize, finding: &Finding) -> bool {
    let is_changed_before = seen.planned.plan.steps.iter().take(index).any(|step| match &step.what {
        What::Roll { .. } | What::LeftTo { .. } | What::KubeProxy { .. } | What::Addon { .. } => true,
        What::ControlPlane(_) | What::Bake { .. } => false,
    });
    (finding.rule == Rule::ClusterNotActive && seen.is_updating())
        || (finding.rule == Rule::Insight && (is_changed_before || args.how.ignore_insights))
}
