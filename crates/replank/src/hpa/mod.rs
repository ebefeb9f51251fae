//! `replank hpa`: why an autoscaler wants as many replicas as it does, and what it would make of a load.

mod args;
mod chart;
mod explain;
mod explained;
mod explanation;
mod figures;
mod input;
mod replay;
mod simulate;
mod simulation;
mod svg;
mod text;
pub(crate) mod trace;

pub(crate) use args::{HpaArgs, HpaCommand};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;

/// Runs one of its parts.
///
/// # Errors
/// Where what was asked for is not right.
pub(crate) fn run(
    command: &HpaCommand,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    match command {
        HpaCommand::Explain(args) => explain::run(args, printer),
        HpaCommand::Simulate(args) => simulate::run(args, printer, interrupt),
    }
}
