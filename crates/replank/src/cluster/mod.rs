//! `replank cluster`: the simulated cluster as a Kubernetes API server.

mod args;
mod aws;
mod call;
mod data_dir;
mod kubeconfig;
mod listening;
mod up;
mod versions;

pub(crate) use args::{ClusterArgs, ClusterCommand};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;

/// Does what is asked of a cluster.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &ClusterArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        ClusterCommand::Up(args) => up::run(args, printer, interrupt),
        ClusterCommand::Advance(args) => call::advance(args, printer),
        ClusterCommand::Faults(args) => call::faults(args, printer),
        ClusterCommand::Status(args) => call::status(args, printer),
    }
}
