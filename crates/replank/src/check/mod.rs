//! `replank check`: findings without a rehearsal.

mod checked;
mod gate;
mod github;
mod json;
mod markdown;
pub(crate) mod sarif;

use crate::report::words::grouped;
use checked::{Checked, scope};
pub(crate) use gate::GateArgs;
use gate::{Gate, Gated};
#[cfg(test)]
mod tests;

use replank_advice::check::{self, Finding};
use replank_core::nodes_to_replace;
use replank_core::scale::{self, Facts};
use replank_facts::coverage::Question;
use replank_facts::groups::{GroupBy, LearntGroup};
use replank_facts::plan::Plan;
use replank_facts::plan::RunOptions;
use replank_model::delta::Delta;
use replank_model::view::View;
use replank_rehearse::{FindingEntry, count_budgets};

use crate::cli::{CheckArgs, CheckFormat};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment::today;
use crate::printer::Printer;
use crate::rehearse::{Scene, example, groups, plan};
use crate::report::{Look, Page, Tone, findings};
use crate::scale::input;
use crate::snapshot::{self, HOW_TO_SNAPSHOT, Keep, Places};

/// Checks, and prints what was found.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &CheckArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let checked = checked(args, printer)?;
    checked.gated.warnings.iter().for_each(|warning| printer.warning(warning));
    let text = match args.output {
        CheckFormat::Text => text(&checked, args.gate.all, printer.look()),
        CheckFormat::Json => json::json(&checked)?,
        CheckFormat::Sarif => sarif::sarif(&checked)?,
        CheckFormat::Markdown => markdown::markdown(&checked),
        CheckFormat::Github => github::github(&checked),
    };
    printer.data(&text)?;
    let exit = if checked.gated.fails { Exit::Findings } else { Exit::Passes };
    Ok(coverage::end(&checked.coverage, exit))
}

fn checked(args: &CheckArgs, printer: &mut Printer) -> Result<Checked, Failure> {
    let gate = Gate::read(&args.gate)?;
    if args.snapshots.is_empty() && !args.what.is_given() {
        let scene = example::scene(args.now, &args.read, printer)?;
        return Ok(of_scene(scene, vec!["examples/job-site/snapshot.yaml".to_owned()], Places::new(), &gate));
    }
    if args.snapshots.is_empty() {
        return Err(Failure::usage_message("no snapshot to check").next(HOW_TO_SNAPSHOT));
    }
    // The plan first: its mistakes are found in no time, and a large snapshot takes a while.
    let plan = plan::of(&args.what)?;
    let facts = input::groups(&args.groups)?;
    let sources = snapshot::sources(&args.snapshots);
    let keep = match args.output {
        CheckFormat::Sarif | CheckFormat::Github => Keep::Places,
        CheckFormat::Text | CheckFormat::Json | CheckFormat::Markdown => Keep::Nothing,
    };
    let (cluster, places) =
        snapshot::read_with_places(sources, &args.read, args.now, Question::Roll, printer, keep)?;
    let name = snapshot::name(&args.snapshots);
    let names: Vec<String> =
        args.snapshots.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    match plan {
        Some(plan) => {
            let facts = scale::completed(facts, &plan.node_groups);
            let scene = Scene::new(name, cluster, plan, &args.read.group_label)?;
            Ok(of_scene(Scene { facts, ..scene }, names, places, &gate))
        }
        None => {
            printer.story("no plan given: checked as if every node group were replaced by identical nodes");
            let snapshot::Cluster { mut view, now, older: _, coverage } = cluster;
            count_budgets(&mut view, now);
            let learnt = groups::of_label(&view, &args.read.group_label);
            let options =
                RunOptions { started: now, group_by: GroupBy::Label(args.read.group_label.clone()) };
            let gated = gate.apply(found(&view, &learnt, &facts, None, &options), &today());
            let nodes = view.nodes.len();
            Ok(Checked { name, sources: names, now, plan: None, nodes, gated, coverage, places })
        }
    }
}

fn of_scene(scene: Scene, sources: Vec<String>, places: Places, gate: &Gate<'_>) -> Checked {
    let options = RunOptions { started: scene.now, group_by: scene.group_by.clone() };
    Checked {
        gated: gate
            .apply(found(&scene.view, &scene.groups, &scene.facts, Some(&scene.plan), &options), &today()),
        nodes: nodes_to_replace(&scene.view, &scene.plan, &options).len(),
        name: scene.name,
        sources,
        now: scene.now,
        plan: Some(scene.plan.name.to_string()),
        coverage: scene.coverage,
        places,
    }
}

/// What is found in a cluster with its node groups, the worst first.
pub(crate) fn found(
    view: &View,
    groups: &[LearntGroup],
    facts: &[Facts],
    plan: Option<&Plan>,
    options: &RunOptions,
) -> Vec<FindingEntry> {
    let mut view = view.clone();
    let mut groups = groups.to_vec();
    if !facts.is_empty() {
        scale::apply_facts(&mut groups, &view, &options.group_by, facts, &scale::Options::default(), false);
    }
    for learnt in &groups {
        view.apply(Delta::Group(learnt.group.clone().into()));
    }
    let entry = |finding: Finding| FindingEntry {
        id: finding.rule.id(),
        severity: finding.severity.as_str(),
        object: finding.object.to_string(),
        reason: finding.reason,
        remedy: finding.remedy.text(),
    };
    check::run_beside(&view, plan, options, facts).into_iter().map(entry).collect()
}

fn text(checked: &Checked, all: bool, look: Look) -> String {
    let mut page = Page::new(look);
    let shown = &checked.gated.findings;
    let summary = match shown.as_slice() {
        [] if checked.coverage.complete => page.paint("nothing found", Tone::Good),
        [] => page.paint("incomplete: nothing found in what could be seen", Tone::Bad),
        some => findings::summary(some),
    };
    page.heading("Check", &summary);
    page.wrapped(2, &scope(checked), Tone::Faint);
    if let Some(besides) = besides(&checked.gated) {
        page.wrapped(2, &besides, Tone::Faint);
    }
    findings::write_worst(&mut page, shown, all);
    coverage::write(&mut page, &checked.coverage);
    page.gap();
    match shown.first() {
        Some(worst) => page.wrapped(
            0,
            &format!("replank explain {} explains them; replank rehearse shows the outcome", worst.id),
            Tone::Faint,
        ),
        None => page.wrapped(
            0,
            &format!("{} were checked; replank explain lists them", grouped_rules()),
            Tone::Faint,
        ),
    }
    page.into_text()
}

/// What was found and is not shown: `besides: 2 ignored by exceptions, 40 in the baseline`.
fn besides(gated: &Gated) -> Option<String> {
    let parts = [
        (gated.ignored.len(), "ignored by exceptions"),
        (gated.in_baseline, "in the baseline"),
        (gated.not_asked_for, "of other rules or namespaces"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{} {words}", grouped(number)))
        .collect();
    (!parts.is_empty()).then(|| format!("besides: {}", parts.join(", ")))
}

fn grouped_rules() -> String {
    format!("{} rules", grouped(check::Rule::ALL.len()))
}
