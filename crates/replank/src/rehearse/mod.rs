//! `replank rehearse`.

mod args;
mod besides;
mod compare;
mod connections;
pub(crate) mod document;

use std::ops::ControlFlow;

use crate::coverage;
use crate::output::RehearseFormat;
use crate::snapshot;
use crate::snapshot::{HOW_TO_SNAPSHOT, Keep, Origin, Places};
use replank_facts::coverage::Question;
use replank_facts::groups::group_of;
use replank_facts::plan::{Plan, RunOptions, Target};
use replank_rehearse::{RehearsalResult, Stop};
pub(crate) use scene::Scene;
#[cfg(test)]
mod documented;
pub(crate) mod example;
mod github;
pub(crate) mod groups;
pub(crate) mod html;
mod on_cluster;
mod once;
mod ordered;
pub(crate) mod plan;
mod remedies;
mod reports;
mod run;
mod scene;
mod script;
mod seeds;
mod sweep;

use std::sync::Arc;

use crate::check::{self, account};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::journal::JournalFile;
use crate::live::LiveArgs;
use crate::made_like;
use crate::memory::leave;
use crate::printer::Printer;
use crate::releases;
use crate::report::request::{Request, request};
use crate::report::{self, About, Summary, Tally, Timeline};
use crate::roll::fits;
use crate::scale::input;
use crate::upgrade;
use crate::zone::times_of_markdown;
pub(crate) use args::RehearseArgs;
use besides::Besides;
use document::{Among, Document};
use on_cluster::Packed;
use reports::Form;
use run::{Rehearsed, Remedies};

pub(crate) use once::once_and_after;
pub(crate) use run::{one as rehearse_once, options, rolled, stops, stops_of_all};

/// The plan of a rehearsal in which nothing happens but what a script says.
const SCRIPT_ALONE: &str = "the script alone";

/// Rehearses, and reports.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(
    args: &RehearseArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    args.on_cluster.checked()?;
    if let Some(to) = args.upgrade.upgrade_to {
        reports::none_of("an upgrade", args, printer);
        return upgrade::rehearse::run(args, to, printer, interrupt);
    }
    if let Some(stray) = args.upgrade.stray() {
        return Err(Failure::usage_message(format!("{stray} requires --upgrade-to"))
            .next("pass the target version: --upgrade-to VERSION"));
    }
    // Its mistakes are found in no time, and a large snapshot takes a while.
    let script = args.script.as_deref().map(script::from_file).transpose()?.unwrap_or_default();
    let demands = connections::read(&args.connections)?;
    let besides = Besides::read(args)?;
    let bad_images = args.bad_images.as_deref().map(check::bad_images).transpose()?;
    let Read { scene, packed, places } = read(args, printer)?;
    let mut scene = Scene { script, demands, require: args.require, ..scene };
    if scene.rolls_nothing() {
        scene.watch_script();
    }
    let (view, by) = (&scene.view, &scene.group_by);
    let scaled = args.scaled.apply((view, by), Some(&scene.plan), &mut scene.groups, false, printer)?;
    (scene.autoscaler, scene.assumptions, scene.facts) =
        (scaled.autoscaler, scaled.assumptions, scaled.facts);
    let answers = input::answers(&args.scaled.groups)?;
    let is_shown = scene.plan.target.group.as_ref().is_some_and(|name| {
        let nodes = scene.view.nodes.unordered().map(|(_, node)| node);
        nodes.filter_map(|node| group_of(node, &scene.group_by)).any(|group| group == *name)
    });
    made_like::tell(&answers, &scene.plan, is_shown, printer);
    let chosen = rolled(&scene);
    let groups = releases::of_plan(&scene.plan, &scene.groups, &chosen);
    fits(&scene.plan, &scene.facts, &groups)?;
    releases::are_wanted(&scene.plan, &groups)?;
    releases::unknown(&scene.plan, &groups, &scene.facts).iter().for_each(|one| printer.story(one));
    if scene.plan.target.release_version.is_some() {
        releases::ways_back(&scene.plan, &scene.groups, &chosen).iter().for_each(|way| printer.story(way));
    }
    scene.besides.bad_images = bad_images;
    if let Some(directory) = &args.aws {
        scene.besides.account = Some(Arc::new(account::read(directory, printer)?));
        let options = RunOptions { started: scene.now, group_by: scene.group_by.clone() };
        let seen = (&scene.view, Some(&scene.plan));
        scene.coverage = scene.besides.cover(scene.coverage.clone(), seen, &options, &args.read.allowed());
    }
    connections::check(&scene)?;
    besides.join(&mut scene)?;
    let mut scene = remedies::made(scene, &args.with_remedies, printer)?;
    if !args.ways.is_empty() {
        reports::none_of("a comparison", args, printer);
        return compare::answer(args, &scene, printer, interrupt);
    }
    if let Some(span) = args.start_sweep {
        reports::none_of("a sweep", args, printer);
        return sweep::answer(&scene, span, args.output, printer);
    }
    let exit = match (args.seeds, packed, args.on_cluster.part) {
        (Some(seeds), Some(packed), _) => {
            on_cluster::answer(args, &scene, &packed, seeds, printer, interrupt)
        }
        (Some(seeds), None, Some(part)) => on_cluster::one_part(args, &scene, (part, seeds), interrupt),
        (None, _, _) => one(args, &mut scene, &places, printer, interrupt),
        (Some(seeds), None, None) => seeds::many(args, (&scene, &places), seeds, printer, interrupt),
    };
    leave(scene);
    exit
}

/// What was read.
struct Read {
    /// What is rehearsed.
    scene: Scene,
    /// The snapshot once more, if pods are to be given it.
    packed: Option<Packed>,
    /// Where objects were read, if that is asked for.
    places: Places,
}

fn read(args: &RehearseArgs, printer: &mut Printer) -> Result<Read, Failure> {
    // Who names nothing is shown the example, whatever cluster kubectl would find.
    if args.snapshots.is_empty() && !args.what.is_given() && !args.live.is_asked_for() {
        if args.on_cluster.on_cluster {
            return Err(Failure::usage_message("the bundled example is not rehearsed on a cluster")
                .next(HOW_TO_SNAPSHOT));
        }
        let scene = example::scene(args.now, &args.read, printer)?;
        return Ok(Read { scene, packed: None, places: Places::new() });
    }
    // With --on-cluster, --context and --kubeconfig say where the Job runs.
    let elsewhere = LiveArgs::default();
    let is_elsewhere = args.on_cluster.on_cluster && !args.snapshots.is_empty();
    let live = if is_elsewhere { &elsewhere } else { &args.live };
    let Some(origin) = Origin::of(&args.snapshots, live)? else {
        return Err(Failure::usage_message("no snapshot to rehearse on").next(HOW_TO_SNAPSHOT));
    };
    // The plan first: its mistakes are found in no time, and a large snapshot takes a while.
    let plan = plan::of(&args.what)?;
    let mut input = origin.read(printer)?;
    let packed = if args.on_cluster.on_cluster {
        let packed = Packed::of(std::mem::take(&mut input.sources))?;
        input.sources = packed.sources(&input.name);
        Some(packed)
    } else {
        None
    };
    let keep = match args.output {
        RehearseFormat::Github => Keep::Places,
        RehearseFormat::Text | RehearseFormat::Json | RehearseFormat::Markdown => {
            if reports::is_asked(args, Form::Annotations) { Keep::Places } else { Keep::Nothing }
        }
    };
    let (mut cluster, places) =
        snapshot::read_with_places(input.sources, &args.read, args.now, Question::Roll, printer, keep)?;
    let alone =
        || args.script.is_some().then(|| Plan::of_groups(SCRIPT_ALONE, Vec::new(), Target::default()));
    let Some(plan) = plan.or_else(alone) else {
        let groups = groups::of_label(&cluster.view, &args.read.group_label);
        return Err(plan::missing(&cluster.view, &groups, &args.read.group_label));
    };
    cluster.coverage = coverage::of_plan(cluster.coverage, &plan, &args.read.allowed());
    let scene = Scene::new(input.name, cluster, plan, &args.read.group_label)?;
    Ok(Read { scene, packed, places })
}

fn one(
    args: &RehearseArgs,
    scene: &mut Scene,
    places: &Places,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let journal = args.journal.as_deref().map(JournalFile::create).transpose()?;
    let sink = journal.as_ref().map(JournalFile::sink);
    let (rehearsed, rehearsal) = match may_spread(args) {
        true => run::one(scene, args.seed(), args.limit, sink, interrupt),
        false => run::one_and_leave(scene, args.seed(), args.limit, sink, interrupt),
    };
    let scene = &*scene;
    match reports::is_asked(args, Form::Page) {
        // A page is made in memory: it gets that of the cluster.
        true => drop(rehearsal),
        false => leave(rehearsal),
    }
    journal.as_ref().map(JournalFile::finish).transpose()?;
    let spread = spread(args, scene, &rehearsed, interrupt);
    let about = About {
        plan: &scene.plan.name,
        snapshot: &scene.name,
        stop: rehearsed.stop,
        timeline: if args.timeline { Timeline::Shown } else { Timeline::Left },
        spread: spread.as_ref(),
    };
    let result = &rehearsed.result;
    let Scene { plan, groups, .. } = scene;
    let markdown = || times_of_markdown(&request(&Request { result, plan, groups, about }));
    let annotations = || github::one(result, &about, places);
    for form in [Form::Page, Form::Markdown, Form::Annotations] {
        if reports::is_asked(args, form) {
            let text = match form {
                Form::Page => html::page(result, &about)?,
                Form::Markdown => markdown(),
                Form::Annotations => annotations(),
            };
            reports::write(args, form, &text, printer)?;
        }
    }
    match args.output {
        RehearseFormat::Text => {
            let look = printer.look();
            printer.data(&report::text(result, &about, look))?;
        }
        RehearseFormat::Markdown => printer.data(&markdown())?,
        RehearseFormat::Json => printer.json(&Document::of(result, &about, Among::Alone).0)?,
        RehearseFormat::Github => printer.data(&annotations())?,
    }
    if interrupt.is_pressed() {
        printer.warning("interrupted by Ctrl-C: the result is partial");
        return Ok(Exit::Interrupted);
    }
    let exit = Exit::of(rehearsed.result.verdict);
    leave(rehearsed);
    Ok(exit)
}

/// Seeds that are rehearsed besides, where nobody asks for one: the first is one of many that could come about.
const SPREAD: u64 = 5;
/// Events of a rehearsal up to which these take well under a second.
const SPREAD_EVENTS_MAX: u64 = 7_000;

/// Whether more seeds may be rehearsed besides.
fn may_spread(args: &RehearseArgs) -> bool {
    args.seed.is_none() && args.output == RehearseFormat::Text
}

/// What the first seeds come to, where a person reads the report and it takes no time. By events, not by the clock: the same on every machine.
fn spread(
    args: &RehearseArgs,
    scene: &Scene,
    rehearsed: &Rehearsed,
    interrupt: &Interrupt,
) -> Option<Summary> {
    let is_quick = rehearsed.stop == Stop::Ended && rehearsed.result.events <= SPREAD_EVENTS_MAX;
    if !may_spread(args) || !is_quick || interrupt.is_pressed() {
        return None;
    }
    let mut tally = Tally::default();
    run::many(scene, 1..=SPREAD, args.limit, Remedies::Untried, interrupt, |result| {
        tally.add(&result);
        ControlFlow::Continue(())
    });
    let summary = tally.summary();
    (summary.seeds as u64 == SPREAD).then_some(summary)
}

/// Rehearses once, for callers that need the result only.
pub(crate) fn once(scene: &Scene, seed: u64, interrupt: &Interrupt) -> RehearsalResult {
    run::one(scene, seed, None, None, interrupt).0.result
}
