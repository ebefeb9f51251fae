//! `replank upgrade`: the way to another Kubernetes version.

mod args;
mod calendar;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) use args::UpgradeArgs;
use args::UpgradeCommand;

/// Answers.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &UpgradeArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    match &args.command {
        UpgradeCommand::Calendar(args) => calendar::run(args, printer),
    }
}
