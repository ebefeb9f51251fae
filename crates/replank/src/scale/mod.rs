//! `replank scale`.

pub(crate) mod input;
mod json;
mod simulated;
mod text;
mod words;

use replank_core::scale;
use replank_core::scale::{Autoscaler, Given, Groups, InFlight, State};
use replank_facts::budget::{Healths, Ledger};
use replank_facts::coverage::{Coverage, Question};
use replank_facts::groups::GroupBy;
use replank_model::time::Time;
use replank_model::view::View;
use replank_rehearse::count_budgets;
use replank_schedule::Scheduler;

use crate::cli::{ScaleArgs, ScaleCommand, SimulateArgs};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::rehearse::example;
use crate::snapshot::{self, Origin};

pub(crate) use simulated::Simulated;
pub(crate) use words::words;

/// Scales.
///
/// # Errors
/// Where what was asked for is not right.
pub(crate) fn run(args: &ScaleArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    match &args.command {
        ScaleCommand::Simulate(args) => simulate(args, printer),
    }
}

fn simulate(args: &SimulateArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    // Small files first: their mistakes are found in no time, and a large snapshot takes a while.
    let facts = input::groups(&args.groups)?;
    let (name, view, now, coverage) = match Origin::of(&args.snapshots, &args.live)? {
        None => {
            let scene = example::scene(args.now, &args.read, printer)?;
            (scene.name, scene.view, scene.now, scene.coverage)
        }
        Some(origin) => {
            let snapshot::Input { sources, name, .. } = origin.read(printer)?;
            let mut cluster = snapshot::read_at(sources, &args.read, args.now, Question::Scaling, printer)?;
            count_budgets(&mut cluster.view, cluster.now);
            (name, cluster.view, cluster.now, cluster.coverage)
        }
    };
    let settings = input::settings(&args.flags, &view, printer)?;
    let prices = input::prices(args.prices.as_deref(), &settings.options)?;
    let priorities = input::priorities(&view, &settings.options, printer);
    let by = GroupBy::Label(args.read.group_label.clone());
    let groups = Groups::of(&view, &by, &facts, &settings.options);
    groups.bad_tags.iter().for_each(|bad| printer.warning(&bad.to_string()));
    let autoscaler = Autoscaler { options: settings.options, facts, prices, priorities, group_by: by };
    let shown = Shown { name, now, origin: settings.origin, view, groups, autoscaler, coverage };
    show(shown, args.output, printer)
}

/// A cluster of which it is shown what an autoscaler would do.
pub(crate) struct Shown {
    /// What was read, in a few words.
    pub(crate) name: String,
    /// When it was.
    pub(crate) now: Time,
    /// Where the settings come from.
    pub(crate) origin: String,
    /// The cluster.
    pub(crate) view: View,
    /// Its groups.
    pub(crate) groups: Groups,
    /// How it is scaled.
    pub(crate) autoscaler: Autoscaler,
    /// What of the cluster could be seen.
    pub(crate) coverage: Coverage,
}

/// Shows it.
///
/// # Errors
/// Where it cannot be printed.
pub(crate) fn show(shown: Shown, format: AnswerFormat, printer: &mut Printer) -> Result<Exit, Failure> {
    let Shown { name, now, origin, view, groups, autoscaler, coverage } = shown;
    let mut scheduler = Scheduler::load(&view);
    let state = State::default();
    let given = Given {
        view: &view,
        groups: &groups,
        options: &autoscaler.options,
        prices: &autoscaler.prices,
        priorities: &autoscaler.priorities,
        state: &state,
        in_flight: &InFlight::default(),
        now,
    };
    let up = scale::up(given, &mut scheduler);
    let mut healths = Healths::default();
    let mut ledger = Ledger::new(&view, &mut healths);
    let down = scale::down(given, &mut scheduler, &mut ledger, &up);
    let simulated = Simulated { name, now, settings: origin, view, groups, up, down, coverage };
    let data = match format {
        AnswerFormat::Text => text::page(&simulated, printer.look()),
        AnswerFormat::Json => json::json(&simulated)?,
    };
    printer.data(&data)?;
    let exit = if simulated.up.stay_pending() == 0 { Exit::Passes } else { Exit::Findings };
    Ok(coverage::end(&simulated.coverage, exit))
}
