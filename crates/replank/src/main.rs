//! The `replank` binary: command line, progress, report, exit codes.

mod args;
mod autoscale;
mod autoscaler;
mod check;
mod cli;
mod cluster;
mod commit;
mod confirm;
mod coverage;
mod data;
mod drain;
mod ends;
mod examples;
mod exit;
mod explain;
mod failure;
mod github;
mod given_plan;
mod handle;
mod hpa;
mod interrupt;
mod journal;
mod leftover;
mod live;
mod made_like;
mod memory;
mod migrate;
mod moment;
mod output;
mod patience;
mod place;
mod printer;
mod progress;
mod rehearse;
mod releases;
mod report;
mod roll;
mod sarif;
mod scale;
mod scan;
mod setup;
mod shell;
mod snapshot;
mod upgrade;
mod zone;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use cli::{Cli, Command};
use exit::Exit;
use failure::Failure;
use interrupt::Interrupt;
use printer::Printer;

/// Rehearsals make and drop millions of small objects, from two threads with `--seeds`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    memory::choose_pages();
    // clap itself ends the process on a usage error, with the same code as `Exit::Usage`.
    let matches = cli::called(cli::taking_negative_numbers(Cli::command())).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if cli.quiet {
        progress::silence();
    }
    zone::choose(&cli.time_zone);
    let mut printer = Printer::new(cli.color, cli.quiet);
    let exit = run(&cli, &mut printer).unwrap_or_else(|failure| {
        printer.failure(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

fn run(cli: &Cli, printer: &mut Printer) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    match &cli.command {
        Command::Rehearse(args) => rehearse::run(args, printer, &interrupt),
        Command::Cluster(args) => cluster::run(args, printer, &interrupt),
        Command::Snapshot(args) => live::run(args, printer),
        Command::Cordon(args) => drain::cordon(args, printer, &interrupt),
        Command::Uncordon(args) => drain::uncordon(args, printer, &interrupt),
        Command::Drain(args) => drain::drain(args, printer, &interrupt),
        Command::Roll(args) => roll::run(args, printer, &interrupt),
        Command::Handle(args) => handle::run(args, printer, &interrupt),
        Command::Autoscale(args) => autoscale::run(args, printer, &interrupt),
        Command::Setup(args) => setup::run(args, printer),
        Command::Rbac(args) => drain::rbac(args, printer),
        Command::Place(args) => place::run(args, printer),
        Command::Check(args) => check::run(args, printer),
        Command::Hpa(args) => hpa::run(&args.command, printer, &interrupt),
        Command::Scale(args) => scale::run(args, printer),
        Command::Explain(args) => explain::run(args, printer),
        Command::Leftover(args) => leftover::run(args, printer),
        Command::Report(args) => journal::report(args, printer),
        Command::Diff(args) => journal::diff(args, printer),
        Command::Migrate(args) => migrate::run(args, printer, &interrupt),
        Command::Scan(args) => scan::run(args, printer),
        Command::Data(args) => data::run(args, printer),
        Command::Upgrade(args) => upgrade::run(args, printer, &interrupt),
        Command::Completion(args) => shell::completion(args, Cli::command(), printer),
        Command::Man(args) => shell::man(args, cli::called(Cli::command()), printer),
    }
}
