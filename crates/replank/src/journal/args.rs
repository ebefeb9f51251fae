//! Arguments of `report` and `diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// File that was written with --journal.
    #[arg(value_name = "JOURNAL")]
    pub(crate) journal: PathBuf,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = JournalFormat::Text)]
    pub(crate) output: JournalFormat,
}

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The journal that the other is held against: usually the rehearsal's.
    #[arg(value_name = "JOURNAL")]
    pub(crate) first: PathBuf,

    /// The other journal: usually the live run's.
    #[arg(value_name = "OTHER")]
    pub(crate) second: PathBuf,

    /// By how many percent times may differ. Differences of two seconds are never told.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub(crate) tolerance: u16,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = JournalFormat::Text)]
    pub(crate) output: JournalFormat,
}

/// Form of what a journal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JournalFormat {
    /// Text for people.
    Text,
    /// JSON.
    Json,
}
