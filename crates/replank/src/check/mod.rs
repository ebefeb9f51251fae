//! `replank check`: findings without a rehearsal.

pub(crate) mod account;
mod asked;
mod checked;
mod found;
mod gate;
mod github;
pub(crate) mod helm_release;
mod json;
mod markdown;
mod preview;
pub(crate) mod sarif;

use crate::output::CheckFormat;
use crate::report::words::{count, grouped};
pub(crate) use asked::Asked;
use checked::{Checked, scope};
pub(crate) use found::{Besides, Found, find};
pub(crate) use gate::GateArgs;
use gate::{Gate, Gated};
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use replank_advice::check::{self, Rule};
use replank_core::nodes_to_replace;
use replank_core::scale;
use replank_facts::coverage::Question;
use replank_facts::groups::GroupBy;
use replank_facts::images::{self, BadImage, Releases};
use replank_facts::plan::RunOptions;
use replank_rehearse::count_budgets;
use replank_rehearse::proof::Ground;

use crate::cli::CheckArgs;
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment::today;
use crate::printer::Printer;
use crate::rehearse::{self, Scene, example, groups, plan};
use crate::releases;
use crate::report::{Look, Page, Tone, findings};
use crate::roll::fits;
use crate::scale::input;
use crate::snapshot::{self, HOW_TO_SNAPSHOT, Keep, Origin, Places};
use crate::zone::times_of_markdown;

/// Checks, and prints what was found.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &CheckArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let checked = checked(args, printer)?;
    checked.gated.warnings.iter().for_each(|warning| printer.warning(warning));
    if let Some(remedies) = &checked.preview {
        let shown = match args.output {
            CheckFormat::Json => preview::json(remedies)?,
            CheckFormat::Text | CheckFormat::Sarif | CheckFormat::Markdown | CheckFormat::Github => {
                preview::text(remedies, printer.look())
            }
        };
        printer.data(&shown)?;
        return Ok(checked.exit());
    }
    let text = match args.output {
        CheckFormat::Text => text(&checked, args.gate.all, printer.look()),
        CheckFormat::Json => json::json(&checked)?,
        CheckFormat::Sarif => sarif::sarif(&checked)?,
        CheckFormat::Markdown => times_of_markdown(&markdown::markdown(&checked)),
        CheckFormat::Github => github::github(&checked),
    };
    printer.data(&text)?;
    Ok(checked.exit())
}

fn checked(args: &CheckArgs, printer: &mut Printer) -> Result<Checked, Failure> {
    if args.fix_preview && !matches!(args.output, CheckFormat::Text | CheckFormat::Json) {
        return Err(
            Failure::usage_message("--fix-preview has no such output format").next("pass -o text or -o json")
        );
    }
    let gate = Gate::read(&args.gate)?;
    let besides = besides(args, printer)?;
    let origin = Origin::of(&args.snapshots, &args.live)?;
    if origin.is_none() && !args.what.is_given() {
        let scene = example::scene(args.now, &args.read, printer)?;
        let sources = vec!["examples/job-site/snapshot.yaml".to_owned()];
        return of_scene(args, &besides, scene, sources, Places::new(), &gate);
    }
    let Some(origin) = origin else {
        return Err(Failure::usage_message("no snapshot to check").next(HOW_TO_SNAPSHOT));
    };
    // The plan first: its mistakes are found in no time, and a large snapshot takes a while.
    let plan = plan::of(&args.what)?;
    let facts = input::groups(&args.groups)?;
    let snapshot::Input { sources, name, names, .. } = origin.read(printer)?;
    let keep = match args.output {
        CheckFormat::Sarif | CheckFormat::Github => Keep::Places,
        CheckFormat::Text | CheckFormat::Json | CheckFormat::Markdown => Keep::Nothing,
    };
    let (mut cluster, places) =
        snapshot::read_with_places(sources, &args.read, args.now, Question::Roll, printer, keep)?;
    match plan {
        Some(plan) => {
            let facts = scale::completed(facts, &plan.node_groups);
            cluster.coverage = coverage::of_plan(cluster.coverage, &plan, &args.read.allowed());
            let scene = Scene::new(name, cluster, plan, &args.read.group_label)?;
            gate.check_namespaces(&scene.view)?;
            of_scene(args, &besides, Scene { facts, ..scene }, names, places, &gate)
        }
        None => {
            let snapshot::Cluster { mut view, now, older: _, coverage } = cluster;
            count_budgets(&mut view, now);
            let learnt = groups::of_label(&view, &args.read.group_label);
            let by = GroupBy::Label(args.read.group_label.clone());
            let (nodes, groups) = (view.nodes.len(), learnt.len());
            printer.story(&assumed(nodes, groups, &args.read.group_label));
            let ground = Ground { view, groups: learnt, now, facts, plan: None };
            gate.check_namespaces(&ground.view)?;
            let found = Found::proved(ground, &by, &|ground| rehearse::stops_of_all(ground, &by));
            let found = found.with(&by, &besides);
            let options = RunOptions { started: now, group_by: by.clone() };
            let seen = (&found.ground.view, None);
            let coverage = besides.cover(coverage, seen, &options, &args.read.allowed());
            let gated = gate.apply(found.entries(&coverage), &today());
            let preview = args.fix_preview.then(|| preview::fixed(&found, &gated.findings));
            let sources = names;
            Ok(Checked { name, sources, now, plan: None, nodes, groups, gated, coverage, places, preview })
        }
    }
}

/// What is taken to happen where no plan says it; and the flag that would tell of groups, where there is none.
fn assumed(nodes: usize, groups: usize, label: &str) -> String {
    match (nodes, groups) {
        (1.., 0) => format!(
            "no plan given, and no node has the label {label}, which identifies node groups: checked as if each node were replaced by an identical one. \
             If another label identifies them, pass it with --group-label"
        ),
        (0, 0) | (_, 1..) => {
            "no plan given: checked as if every node group were replaced by identical nodes".to_owned()
        }
    }
}

fn of_scene(
    args: &CheckArgs,
    besides: &Besides,
    scene: Scene,
    sources: Vec<String>,
    places: Places,
    gate: &Gate<'_>,
) -> Result<Checked, Failure> {
    let nodes = to_replace(&scene)?;
    let options = RunOptions { started: scene.now, group_by: scene.group_by.clone() };
    let stops = |ground: &Ground| rehearse::stops(&scene, ground);
    let found = Found::proved(scene.ground(), &scene.group_by, &stops);
    let found = found.with(&scene.group_by, besides);
    let seen = (&scene.view, Some(&scene.plan));
    let coverage = besides.cover(scene.coverage, seen, &options, &args.read.allowed());
    let gated = gate.apply(found.entries(&coverage), &today());
    Ok(Checked {
        preview: args.fix_preview.then(|| preview::fixed(&found, &gated.findings)),
        gated,
        nodes,
        groups: scene.groups.len(),
        name: scene.name,
        sources,
        now: scene.now,
        plan: Some(scene.plan.name.to_string()),
        coverage,
        places,
    })
}

/// How many nodes a rehearsal would replace.
///
/// # Errors
/// Where a rehearsal would refuse the plan.
fn to_replace(scene: &Scene) -> Result<usize, Failure> {
    let told = scene.told();
    let groups = releases::of_plan(&told.plan, &told.groups, &rehearse::rolled(&told));
    fits(&told.plan, &told.facts, &groups)?;
    releases::are_wanted(&told.plan, &groups)?;
    Ok(nodes_to_replace(&told.seen(), &told.plan, &rehearse::options(&told)).len())
}

impl Checked {
    fn exit(&self) -> Exit {
        let exit = if self.gated.fails { Exit::Findings } else { Exit::Passes };
        coverage::end(&self.coverage, exit)
    }
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
    if let Some(left_out) = left_out(&checked.gated) {
        page.wrapped(2, &left_out, Tone::Faint);
    }
    findings::write_worst(&mut page, shown, all);
    coverage::write(&mut page, &checked.coverage);
    page.gap();
    match shown.first() {
        Some(worst) => page.wrapped(
            0,
            &format!("replank explain {} explains the first; replank rehearse shows the outcome", worst.id),
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

/// What is asked for besides.
fn besides(args: &CheckArgs, printer: &mut Printer) -> Result<Besides, Failure> {
    // Nothing would be found, and that would look as if all were well.
    let needs = [
        (Rule::TerminationSetup, args.aws.is_some(), "--aws DIR"),
        (Rule::ManagedUpdate, args.managed_update, "--managed-update"),
    ];
    for (rule, is_there, flag) in needs {
        if !is_there && args.gate.only.contains(&rule) {
            let said = format!("the rule {} is not checked without {flag}", rule.id());
            return Err(
                Failure::usage_message(said).next(format!("pass {flag}, or leave the rule out of --only"))
            );
        }
    }
    let bad_images = args.bad_images.as_deref().map(bad_images).transpose()?;
    let account = args.aws.as_deref().map(|path| account::read(path, printer)).transpose()?.map(Arc::new);
    let releases = args.image_releases.as_deref().map(releases).transpose()?;
    Ok(Besides { managed_update: args.managed_update, account, bad_images, releases })
}

/// A list of images that must not be used.
///
/// # Errors
/// Where the file cannot be read, or is no such list.
pub(crate) fn bad_images(path: &Path) -> Result<Vec<BadImage>, Failure> {
    images::read(&text_of(path)?).map_err(|error| wrong(path, error, "loaded"))
}

/// The built-in releases with rows of one's own.
fn releases(path: &Path) -> Result<Releases, Failure> {
    let mut releases = Releases::embedded();
    releases.overlay(&text_of(path)?).map_err(|error| wrong(path, error, "loaded"))?;
    Ok(releases)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| wrong(path, error, "read"))
}

fn wrong(path: &Path, error: impl Into<anyhow::Error>, what: &str) -> Failure {
    Failure::usage(error.into().context(format!("{} cannot be {what}", path.display())))
}

/// What was found and is not shown: `2 more findings ignored by exceptions; 40 more findings in the baseline`.
fn left_out(gated: &Gated) -> Option<String> {
    let parts = [
        (gated.ignored.len(), "ignored by exceptions"),
        (gated.in_baseline, "in the baseline"),
        (gated.not_asked_for, "of other rules or namespaces"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{} {words}", count(number, "more finding")))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn grouped_rules() -> String {
    format!("{} rules", grouped(check::Rule::ALL.len()))
}
