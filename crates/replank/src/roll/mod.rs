//! `replank roll`: a plan, carried out on a live cluster; and what can be done with a run from anywhere.

mod args;
mod balanced;
mod besides;
mod cloud;
mod course;
mod engine;
mod fits;
mod hold;
mod landing;
mod larger;
mod nodes;
mod of_step;
mod records;
mod rehearsed;
mod screen;
mod start;
mod status;
mod wanted;

use replank_protocol::intent::Intent;

use args::RollCommand;
pub(crate) use args::{AwsArgs, RollArgs};
pub(crate) use cloud::{asked as account_asked, of_aws};
pub(crate) use engine::of_group;
pub(crate) use fits::{fits, unhealthy};
pub(crate) use of_step::{Asked, carry_out_plan, is_begun};
pub(crate) use records::identity;
pub(crate) use wanted::works;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;

/// Does what is asked for.
///
/// # Errors
/// Where it is not begun: the arguments are wrong, the cluster cannot be reached, a rule is missing. Or where the cluster is lost for long.
pub(crate) fn run(args: &RollArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        None => start::run(&args.start, printer, interrupt),
        Some(RollCommand::Status(args)) => status::status(args, printer),
        Some(RollCommand::Watch(args)) => status::watch(args, printer, interrupt),
        Some(RollCommand::Pause(args)) => wanted::pause(args, printer),
        Some(RollCommand::Resume(args)) => wanted::carry(args, Intent::Run, printer, interrupt),
        Some(RollCommand::Cancel(args)) => wanted::carry(args, Intent::Cancelled, printer, interrupt),
        Some(RollCommand::Undo(args)) => wanted::carry(args, Intent::Undo, printer, interrupt),
    }
}
