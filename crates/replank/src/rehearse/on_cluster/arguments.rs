//! The command that is run in the pods: the arguments of this process, with files replaced by those that the pods are given.

use std::any::TypeId;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{ArgAction, ArgMatches, CommandFactory as _};
use replank_model::time::Time;

use crate::cli::{self, Cli};
use crate::failure::Failure;

/// Where the pods find their input.
pub(super) const FOLDER: &str = "/replank/input";
/// Arguments that are about where and how the parts are made, or that a pod is given by itself.
const OWN: [&str; 19] = [
    "snapshots",
    "on_cluster",
    "apply",
    "container_image",
    "namespace",
    "input_claim",
    "pods",
    "part",
    "part_file",
    "output",
    "context",
    "kubeconfig",
    "now",
    "color",
    "quiet",
    "time_zone",
    "all_seeds",
    "html",
    "reports",
];
/// Arguments whose value may be a file, or something else.
const MAYBE_FILES: [&str; 2] = ["connections", "interruptions"];

/// The command's arguments, and files that are taken along.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) words: Vec<String>,
    pub(super) files: Vec<Taken>,
}

/// A file that is taken along.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Arguments {
    /// Those of this process, at the snapshot's time.
    ///
    /// # Errors
    /// Where a file cannot be taken along.
    pub(super) fn of_process(now: Time) -> Result<Self, Failure> {
        let command = cli::taking_negative_numbers(Cli::command());
        let matches = command.clone().get_matches();
        let (Some(command), Some(matches)) =
            (command.find_subcommand("rehearse"), matches.subcommand_matches("rehearse"))
        else {
            return Err(Failure::internal(anyhow::anyhow!("the command line is none of `rehearse`")));
        };
        Self::of(command, matches, now)
    }

    fn of(command: &clap::Command, matches: &ArgMatches, now: Time) -> Result<Self, Failure> {
        let mut all = Self::default();
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            let is_given = matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
            let Some(long) = argument.get_long().filter(|_| is_given && !OWN.contains(&id)) else { continue };
            if !matches!(argument.get_action(), ArgAction::Set | ArgAction::Append) {
                all.words.push(format!("--{long}"));
                continue;
            }
            let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            for value in matches.get_raw(id).into_iter().flatten() {
                let is_file = is_path || MAYBE_FILES.contains(&id) && Path::new(value).is_file();
                let value = if is_file { all.take(value)? } else { text(value)? };
                all.words.push(format!("--{long}={value}"));
            }
        }
        all.words.push(format!("--now={now}"));
        Ok(all)
    }

    /// Takes a file along; where it is in a pod.
    fn take(&mut self, path: &OsStr) -> Result<String, Failure> {
        if path == "-" {
            return Err(Failure::usage_message("standard input cannot be taken along into the pods")
                .next("pass a file instead of -"));
        }
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::usage(
                anyhow::Error::new(error)
                    .context(format!("{} cannot be taken along into the pods", path.to_string_lossy())),
            )
            .next("pass a file that can be read, not a directory")
        })?;
        let named = Path::new(path).file_name().unwrap_or(path).to_string_lossy();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        let plain: String = named.chars().map(|one| if is_plain(one) { one } else { '-' }).collect();
        let name = format!("{}-{plain}", self.files.len());
        let place = format!("{FOLDER}/{name}");
        self.files.push(Taken { name, bytes });
        Ok(place)
    }
}

fn text(value: &OsStr) -> Result<String, Failure> {
    value.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::usage_message(format!(
            "{} is not UTF-8, and cannot be written into a Job",
            value.to_string_lossy()
        ))
    })
}
