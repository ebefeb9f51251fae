//! `replank upgrade`: the way to another Kubernetes version.

mod args;
mod calendar;
#[cfg(test)]
mod documented;
mod plan;
pub(crate) mod rehearse;
mod run;
mod values;
mod watch;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;

use args::UpgradeCommand;
pub(crate) use args::{UpgradeArgs, UpgradeRehearsalArgs};

/// Answers.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &UpgradeArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        UpgradeCommand::Calendar(args) => calendar::run(args, printer),
        UpgradeCommand::Watch(args) => watch::run(args, printer, interrupt),
        UpgradeCommand::Plan(args) => plan::run(args, printer, interrupt),
        UpgradeCommand::Run(args) => run::run(args, printer, interrupt),
        UpgradeCommand::Resume(args) => run::resume(args, printer, interrupt),
        UpgradeCommand::Status(args) => run::status(args, printer),
        UpgradeCommand::Rollback(args) => run::rollback(args, printer, interrupt),
        UpgradeCommand::Cancel(args) => run::cancel(args, printer),
    }
}
