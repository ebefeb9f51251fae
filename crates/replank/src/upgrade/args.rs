//! Arguments of `upgrade`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use replank_lifecycle::calendar::Policy;
use replank_lifecycle::release::Release;
use replank_model::time::{Span, Time};

use crate::cli::limit;
use crate::exit::Exit;

/// Arguments of `upgrade`.
#[derive(Args, Debug)]
pub(crate) struct UpgradeArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: UpgradeCommand,
}

/// What `upgrade` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum UpgradeCommand {
    /// Lists how long Amazon EKS supports each Kubernetes version, and fails where that ends soon. Touches nothing.
    ///
    /// The days are built in (`replank data` says of which day they are); --calendar takes those that AWS tells. docs/upgrade.md
    /// has examples.
    #[command(after_help = Exit::table())]
    Calendar(CalendarArgs),
}

/// Arguments of `upgrade calendar`.
#[derive(Args, Debug)]
pub(crate) struct CalendarArgs {
    /// Only these versions: those of one's clusters, such as 1.33,1.35.
    #[arg(long, value_name = "VERSION", value_delimiter = ',', value_parser = release)]
    pub(super) of: Vec<Release>,

    /// Ends with exit code 3 where the support that a version is in ends within this time, such as 90d, or is over. Without --of every
    /// version counts that is still supported.
    #[arg(long, value_name = "SPAN", value_parser = ahead)]
    pub(super) fail_within: Option<Span>,

    /// What becomes of the clusters at the end of standard support, as their `upgradePolicy` says.
    #[arg(long, value_name = "POLICY", value_parser = policy, default_value = "EXTENDED")]
    pub(super) policy: Policy,

    /// Days that replace those built in: what `aws eks describe-cluster-versions` prints, or rows as `replank data --table calendar -o json`
    /// prints them.
    #[arg(long, value_name = "FILE")]
    pub(super) calendar: Vec<PathBuf>,

    /// The versions that are not supported any more, too.
    #[arg(long)]
    pub(super) all: bool,

    /// The day to tell from, such as 2026-11-20T09:52:00Z. Otherwise today.
    #[arg(long, value_name = "TIME")]
    pub(super) now: Option<Time>,

    /// Form of the calendar; docs/upgrade.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = CalendarFormat::Text)]
    pub(super) output: CalendarFormat,
}

/// Form of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CalendarFormat {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

/// Longest look ahead: versions live for little more than two years.
const AHEAD_DAYS_MAX: i64 = 3_660;

/// Days, or a duration.
fn ahead(text: &str) -> Result<Span, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok());
    let span = match days {
        Some(days) => Span::from_minutes(days.clamp(-1, AHEAD_DAYS_MAX + 1) * 24 * 60),
        None => limit(text).map_err(|_| "expected days or a duration, such as 90d or 36h".to_owned())?,
    };
    match span >= Span::ZERO && span <= Span::from_minutes(AHEAD_DAYS_MAX * 24 * 60) {
        true => Ok(span),
        false => Err(format!("expected 0d to {AHEAD_DAYS_MAX}d")),
    }
}

/// A minor version.
pub(super) fn release(text: &str) -> Result<Release, String> {
    let read: Result<Release, _> = text.parse();
    let release = read.map_err(|_| "expected a minor version such as 1.36".to_owned())?;
    if release.patch > 0 {
        return Err("expected a minor version such as 1.36: EKS chooses the patch".to_owned());
    }
    Ok(release)
}

fn policy(text: &str) -> Result<Policy, String> {
    Policy::parse(&text.to_uppercase()).ok_or_else(|| "expected STANDARD or EXTENDED".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_ahead_is_days_or_a_duration() {
        assert_eq!(ahead("90d"), Ok(Span::from_minutes(90 * 24 * 60)));
        assert_eq!(ahead("0d"), Ok(Span::ZERO));
        assert_eq!(ahead("36h"), Ok(Span::from_minutes(36 * 60)));
        assert!(
            ["-1d", "99999999999999d", "soon", "90", "4000d"].into_iter().all(|text| ahead(text).is_err())
        );
    }

    #[test]
    fn versions_are_minor_ones() {
        assert_eq!(release("v1.36"), Ok(Release::minor(1, 36)));
        assert!(release("1.36.2").is_err() && release("1").is_err());
        assert_eq!(policy("standard"), Ok(Policy::Standard));
        assert!(policy("none").is_err());
    }
}
