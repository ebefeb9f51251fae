//! `replank check`: findings without a rehearsal.

mod checked;
mod json;
mod markdown;
pub(crate) mod sarif;

use crate::report::words::grouped;
use checked::{Checked, scope};
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
use crate::printer::Printer;
use crate::rehearse::{Scene, example, groups, plan};
use crate::report::{Look, Page, Tone, findings};
use crate::scale::input;
use crate::snapshot::{self, HOW_TO_SNAPSHOT};

/// Checks, and prints what was found.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &CheckArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let checked = checked(args, printer)?;
    let text = match args.output {
        CheckFormat::Text => text(&checked, printer.look()),
        CheckFormat::Json => json::json(&checked)?,
        CheckFormat::Sarif => sarif::sarif(&checked)?,
        CheckFormat::Markdown => markdown::markdown(&checked),
    };
    printer.data(&text)?;
    let exit = if checked.findings.is_empty() { Exit::Passes } else { Exit::Findings };
    Ok(coverage::end(&checked.coverage, exit))
}

fn checked(args: &CheckArgs, printer: &mut Printer) -> Result<Checked, Failure> {
    if args.snapshots.is_empty() && !args.what.is_given() {
        let scene = example::scene(args.now, &args.read, printer)?;
        return Ok(of_scene(scene, vec!["examples/job-site/snapshot.yaml".to_owned()]));
    }
    if args.snapshots.is_empty() {
        return Err(Failure::usage_message("no snapshot to check").next(HOW_TO_SNAPSHOT));
    }
    // The plan first: its mistakes are found in no time, and a large snapshot takes a while.
    let plan = plan::of(&args.what)?;
    let facts = input::groups(&args.groups)?;
    let sources = snapshot::sources(&args.snapshots);
    let cluster = snapshot::read_at(sources, &args.read, args.now, Question::Roll, printer)?;
    let name = snapshot::name(&args.snapshots);
    let names: Vec<String> =
        args.snapshots.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    match plan {
        Some(plan) => {
            let facts = scale::completed(facts, &plan.node_groups);
            let scene = Scene::new(name, cluster, plan, &args.read.group_label)?;
            Ok(of_scene(Scene { facts, ..scene }, names))
        }
        None => {
            printer.story("no plan given: checked as if every node group were replaced by identical nodes");
            let snapshot::Cluster { mut view, now, older: _, coverage } = cluster;
            count_budgets(&mut view, now);
            let learnt = groups::of_label(&view, &args.read.group_label);
            let options =
                RunOptions { started: now, group_by: GroupBy::Label(args.read.group_label.clone()) };
            let findings = found(&view, &learnt, &facts, None, &options);
            let nodes = view.nodes.len();
            Ok(Checked { name, sources: names, now, plan: None, nodes, findings, coverage })
        }
    }
}

fn of_scene(scene: Scene, sources: Vec<String>) -> Checked {
    let options = RunOptions { started: scene.now, group_by: scene.group_by.clone() };
    Checked {
        findings: found(&scene.view, &scene.groups, &scene.facts, Some(&scene.plan), &options),
        nodes: nodes_to_replace(&scene.view, &scene.plan, &options).len(),
        name: scene.name,
        sources,
        now: scene.now,
        plan: Some(scene.plan.name.to_string()),
        coverage: scene.coverage,
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
        remedy: finding.remedy,
    };
    check::run_beside(&view, plan, options, facts).into_iter().map(entry).collect()
}

fn text(checked: &Checked, look: Look) -> String {
    let mut page = Page::new(look);
    let summary = match checked.findings.as_slice() {
        [] if checked.coverage.complete => page.paint("nothing found", Tone::Good),
        [] => page.paint("incomplete: nothing found in what could be seen", Tone::Bad),
        some => findings::summary(some),
    };
    page.heading("Check", &summary);
    page.wrapped(2, &scope(checked), Tone::Faint);
    findings::write_all(&mut page, &checked.findings);
    coverage::write(&mut page, &checked.coverage);
    page.gap();
    match checked.findings.first() {
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

fn grouped_rules() -> String {
    format!("{} rules", grouped(check::Rule::ALL.len()))
}
