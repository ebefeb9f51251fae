//! `replank rehearse --upgrade-to`: the whole way to another version in virtual time, step after step on one simulated cluster.

mod chain;
mod json;
mod rehearsed;
mod text;

use replank_advice::upgrade::plan::UpgradePlan;
use replank_lifecycle::release::Release;

use super::plan::{Looked, Taken, input, uses};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::RehearseFormat;
use crate::printer::Printer;
use crate::rehearse::RehearseArgs;
use crate::snapshot::{HOW_TO_SNAPSHOT, Origin};
use chain::Came;

pub(super) use rehearsed::Rehearsed;

/// Rehearses the way, and reports.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(
    args: &RehearseArgs,
    to: Release,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let Some(origin) = Origin::of(&args.snapshots, &args.live)? else {
        return Err(Failure::usage_message("no snapshot to rehearse on").next(HOW_TO_SNAPSHOT));
    };
    let taken = input::take(Some(origin), args.now, &args.read, &args.upgrade.way, to, printer)?;
    let draft = taken.plan(&Looked::default())?;
    let (found, scanned) = uses::find(&args.upgrade.way.scan, Some(origin), &draft, printer)?;
    let looked = Looked { uses: found, scanned, ..Looked::default() };
    let plan = taken.plan(&looked)?;
    let rehearsed = rehearse(args, &taken, plan, &looked, interrupt)?;
    let text = match args.output {
        RehearseFormat::Text => text::text(&rehearsed, printer.look()),
        RehearseFormat::Json => json::json(&rehearsed)?,
        RehearseFormat::Markdown => {
            return Err(Failure::usage_message("a change request covers one roll")
                .next("use replank upgrade plan -o markdown for the whole upgrade"));
        }
        RehearseFormat::Github => {
            return Err(Failure::usage_message("annotations cover one roll")
                .next("use replank check -o github, or -o text for the whole upgrade"));
        }
    };
    printer.data(&text)?;
    if interrupt.is_pressed() {
        printer.warning("interrupted by Ctrl-C: the result is partial");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::of(rehearsed.verdict()))
}

fn rehearse(
    args: &RehearseArgs,
    taken: &Taken,
    plan: UpgradePlan,
    looked: &Looked,
    interrupt: &Interrupt,
) -> Result<Rehearsed, Failure> {
    let mut chain = chain::Chain::begin(taken, args.seed(), args.upgrade.as_if_cleared, &looked.uses);
    let mut passed = Vec::new();
    for step in &plan.steps {
        if interrupt.is_pressed() {
            break;
        }
        let one = chain.step(step, interrupt)?;
        let goes_on = match &one.came {
            Came::Done | Came::AsIfCleared(_) | Came::LeftToProvisioner => true,
            Came::Blocked(_) | Came::NotBegun(_) => false,
        };
        passed.push(one);
        if !goes_on {
            break;
        }
    }
    Ok(Rehearsed {
        name: taken.name.clone(),
        seed: args.seed(),
        start: taken.now,
        passed,
        assumptions: chain.assumptions(),
        coverage: taken.coverage.clone(),
        plan,
    })
}
