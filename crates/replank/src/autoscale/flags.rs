//! Cluster Autoscaler's flags on the command line: one argument for each that means something here.

use clap::builder::Str;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use replank_core::scale::{FLAGS, Flag};

/// The flags that were given, as words: `--expander=price`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScalerFlags(pub(crate) Vec<String>);

/// Above them in the help.
const HEADING: &str = "Cluster Autoscaler's flags";

fn argument(flag: &'static Flag) -> Arg {
    let arg = Arg::new(Str::from(flag.name))
        .long(flag.name)
        .help(flag.about)
        .help_heading(HEADING)
        .action(ArgAction::Append);
    match flag.value {
        Some(value) => arg.value_name(value).num_args(1),
        None => {
            arg.value_name("true|false").num_args(0..=1).require_equals(true).default_missing_value("true")
        }
    }
}

impl Args for ScalerFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| command.arg(argument(flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ScalerFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = FLAGS.iter().flat_map(|flag| {
            let values = matches.get_many::<String>(flag.name).into_iter().flatten();
            values.map(|value| format!("--{}={value}", flag.name))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
