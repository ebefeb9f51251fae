//! `replank setup`: what a cloud needs before Replank can be used there, printed or written. Nothing is created.

mod args;
mod cloudformation;
mod parts;
mod policy;
mod terraform;

use std::io::Write;

use anyhow::Context;

pub(crate) use args::SetupArgs;
use args::{SetupAwsArgs, SetupCommand, SetupMode};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::SetupFormat;
use crate::printer::Printer;
use parts::{OF_ALL, Setup};
pub(crate) use terraform::block;

/// Prints or writes what is asked for.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn run(args: &SetupArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    match &args.command {
        SetupCommand::Aws(args) => aws(args, printer),
    }
}

fn aws(args: &SetupAwsArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    if let (SetupMode::Handle | SetupMode::Autoscale | SetupMode::HandleAutoscale, [_, ..]) =
        (args.mode, &args.node_role[..])
    {
        return Err(Failure::usage_message("--node-role: only `replank roll` makes node groups")
            .next("pass --mode roll, upgrade or all; or leave --node-role out"));
    }
    let setup = Setup::of(args);
    let (text, name) = match args.output {
        SetupFormat::Cloudformation => {
            (cloudformation::template(&setup), format!("{}.cloudformation.json", setup.name))
        }
        SetupFormat::Terraform => (terraform::module(&setup), format!("{}.tf", setup.name)),
    };
    if setup.needs_queue() && args.group.is_empty() {
        printer.warning(
            "the output has no lifecycle hook: pass --group NAME for each Auto Scaling group that should have one; without a hook, spot instances are still drained, but a group terminates its instances without waiting for their drain",
        );
    }
    if setup.needs_queue() {
        printer.warning(&format!(
            "{OF_ALL}; a queue for each cluster keeps them apart from others' handlers, and `replank handle` deletes those of instances that are no nodes of its cluster; Karpenter drains its own nodes if it has a queue of its own (--interruption-queue), and `replank handle` drains them, too",
        ));
    }
    let Some(folder) = &args.write else {
        printer.data(&text)?;
        return Ok(Exit::Passes);
    };
    let file = folder.join(name);
    let shown = file.display().to_string();
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))
        .map_err(Failure::usage)?;
    // What somebody may have changed is not written over.
    let mut out = std::fs::File::create_new(&file).with_context(|| format!("cannot write {shown}")).map_err(
        |error| {
            Failure::usage(error)
                .next("move the file that is there away, or name another folder: --write DIR")
        },
    )?;
    out.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {shown}"))
        .map_err(Failure::internal)?;
    printer.story(&format!("written: {shown}"));
    Ok(Exit::Passes)
}
