//! What a shell and `man` are told about the command line: both are made from its one definition.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Arguments of `completion`.
#[derive(Args, Debug)]
pub(crate) struct CompletionArgs {
    /// The shell that completes.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The page of this command, such as `roll status`; without it and --dir, that of replank itself.
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,

    /// Writes the pages of all commands into this directory, which is made if it is not there.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Prints the completion script of a shell, for a definition of the command line.
///
/// # Errors
/// Where standard output cannot be written.
pub(crate) fn completion(
    args: &CompletionArgs,
    mut whole: clap::Command,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole, "replank", &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Passes)
}

/// Prints a man page, or writes all of them, from a definition of the command line.
///
/// # Errors
/// Where there is no such command, or the pages cannot be written.
pub(crate) fn man(args: &ManArgs, whole: clap::Command, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut root = whole.disable_help_subcommand(true);
    root.build();
    let Some(dir) = &args.dir else {
        let found = find(&root, &args.command)?;
        let page = page(found).map_err(Failure::internal)?;
        printer.data(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Passes);
    };
    let written = write_all(&root, dir)
        .map_err(|error| Failure::usage(error).next("give a directory that may be written to"))?;
    printer.story(&format!(
        "{written} man pages written; to read one: man -l {}",
        dir.join("replank.1").display()
    ));
    Ok(Exit::Passes)
}

fn find<'a>(root: &'a clap::Command, path: &[String]) -> Result<&'a clap::Command, Failure> {
    let mut command = root;
    for name in path {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            let of = command.get_bin_name().unwrap_or("replank");
            Failure::usage_message(format!("{of} has no command {name:?}")).next(match known.as_slice() {
                [] => format!("its own page: replank man{}", of.strip_prefix("replank").unwrap_or_default()),
                known => format!("one of: {}", known.join(", ")),
            })
        })?;
    }
    Ok(command)
}

/// Every command that is not hidden, those that only hold others included. Returns how many there are.
fn write_all(root: &clap::Command, dir: &Path) -> anyhow::Result<usize> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    let mut written = 0;
    let mut waiting = vec![root];
    while let Some(command) = waiting.pop() {
        let path = dir.join(format!("{}.1", hyphened(command)));
        std::fs::write(&path, page(command)?)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        written += 1;
        waiting.extend(command.get_subcommands().filter(|below| !below.is_hide_set()));
    }
    Ok(written)
}

/// `replank-roll-status`, as git names its pages.
fn hyphened(command: &clap::Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

fn page(command: &clap::Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    let (version, date) = dated(env!("REPLANK_VERSION"));
    let man = clap_mangen::Man::new(command.clone())
        .title(hyphened(command))
        .date(date)
        .source(format!("replank {version}"))
        .manual("Replank");
    man.render(&mut page)?;
    page.flush()?;
    Ok(page)
}

/// The number of a version such as `0.1.0 (6d11719117a3 2026-11-29)`, and its date. Without one it is a blank: what is empty is left out of a page's title, and what follows it
/// would stand in its place.
fn dated(version: &str) -> (&str, &str) {
    let (number, commit) = version.split_once(' ').unwrap_or((version, ""));
    // Whoever builds without git may have given a commit alone.
    let date =
        commit.trim_end_matches(')').split(' ').next_back().filter(|word| word.matches('-').count() == 2);
    (number, date.unwrap_or(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_date_with_and_without_a_commit() {
        assert_eq!(dated("0.1.0 (6d11719117a3 2026-11-29)"), ("0.1.0", "2026-11-29"));
        assert_eq!(dated("0.1.0 (6d11719117a3)"), ("0.1.0", " "));
        assert_eq!(dated("0.1.0"), ("0.1.0", " "));
    }
}
