//! `replank migrate`: a workload gets another selector, or a Deployment is handed over to a Rollout, without a gap, rehearsed.

mod apply;
mod args;
mod json;
mod rehearsed;
mod report;
mod text;
mod writers;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::snapshot::{HOW_TO_SNAPSHOT, Origin};

pub(crate) use args::MigrateArgs;
use rehearsed::{goal, object, rehearsed};

/// Judges, rehearses, prints; carries it out where that is asked for.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &MigrateArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let (kind, key) = object(args)?;
    if args.apply || args.cancel {
        return apply::run(args, (kind, key), printer, interrupt);
    }
    let Some(origin) = Origin::of(&args.snapshots, &args.live)? else {
        return Err(Failure::usage_message("no snapshot to rehearse on").next(HOW_TO_SNAPSHOT));
    };
    let goal = goal(args, (kind, &key), printer)?;
    rehearsed(args, (kind, &key, goal), origin, printer).map(|rehearsed| rehearsed.exit)
}
