//! Arguments of `report` and `diff`.

use std::path::PathBuf;

use crate::output::AnswerFormat;
use clap::Args;

/// Arguments of `report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// File that was written with --journal. With --html also what `rehearse -o json` printed: of a rehearsal there is only the page.
    #[arg(value_name = "JOURNAL")]
    pub(crate) journal: PathBuf,

    /// Writes a page for a browser instead: one file, which asks for nothing from outside. docs/html.md shows it.
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) html: Option<PathBuf>,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,
}

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The journal that the other is held against, usually the rehearsal's; or what `rehearse -o json` printed, and OTHER the same of another plan or snapshot.
    #[arg(value_name = "JOURNAL")]
    pub(crate) first: PathBuf,

    /// The other journal: usually the live run's.
    #[arg(value_name = "OTHER")]
    pub(crate) second: PathBuf,

    /// By how many percent times may differ. Differences of up to two seconds are never reported.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub(crate) tolerance: u16,

    /// Writes a page for a browser, too, of two rehearsals: one file, which asks for nothing from outside. docs/html.md shows it.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,
}
