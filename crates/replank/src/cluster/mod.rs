//! `replank cluster`: the simulated cluster as a Kubernetes API server.

mod args;
mod kubeconfig;
mod up;

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
    }
}
