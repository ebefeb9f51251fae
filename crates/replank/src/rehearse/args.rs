//! What `rehearse` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use replank_model::time::{Span, Time};

use super::on_cluster::OnClusterArgs;
use crate::args::{PlanArgs, limit};
use crate::autoscaler::AutoscalerArgs;
use crate::check::Asked;
use crate::live::LiveArgs;
use crate::output::RehearseFormat;
use crate::snapshot::ReadArgs;
use crate::upgrade::UpgradeRehearsalArgs;

/// Seeds of one call: a line is held for each, some hundred megabytes.
const SEEDS_MAX: u64 = 1_000_000;

/// Days of a sweep: schedules that come once a month are met, and the table stays one that somebody reads.
const SWEEP_DAYS_MAX: i64 = 31;

/// Days, or a duration.
fn sweep(text: &str) -> Result<Span, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok());
    let span = match days {
        Some(days) => Span::from_minutes(days.clamp(0, SWEEP_DAYS_MAX + 1) * 24 * 60),
        None => limit(text)?,
    };
    match span > Span::ZERO && span <= Span::from_minutes(SWEEP_DAYS_MAX * 24 * 60) {
        true => Ok(span),
        false => Err(format!("expected more than 0 and at most {SWEEP_DAYS_MAX}d")),
    }
}

/// Arguments of `rehearse`.
#[derive(Args, Debug)]
pub(crate) struct RehearseArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// What to do.
    #[command(flatten)]
    pub(crate) what: PlanArgs,

    /// Makes the proved changes of these findings first, by the ids of their rules, such as pdb-never-allows,singleton, or all of them.
    #[arg(long, value_name = "ID|all", value_delimiter = ',', value_parser = Asked::read, conflicts_with = "upgrade_to")]
    pub(crate) with_remedies: Vec<Asked>,

    /// Which nodes must be replaced for the rehearsal not to be `blocked`: those that can be emptied, or all of them.
    #[arg(long, value_enum, value_name = "NODES", default_value_t = Require::Possible)]
    pub(crate) require: Require,

    /// Events during the rehearsal: a file with one line per pause, fault or change by an external actor; docs/script.md lists them.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Counts the connections that would be lost: NAMESPACE/NAME=RATE,LENGTH such as web/frontend=50/s,20s, or a file with one on each
    /// line. docs/connections.md describes how they are counted.
    #[arg(long, value_name = "LOAD")]
    pub(crate) connections: Vec<String>,

    /// Compares what others would have done with the same nodes, in one table: EKS's own update, the same with force, a person with kubectl, Replank.
    /// docs/compare.md describes each of them.
    #[arg(
        long = "as",
        value_enum,
        value_name = "WAY",
        value_delimiter = ',',
        conflicts_with_all = ["seeds", "start_sweep", "upgrade_to", "journal", "timeline", "with_remedies", "html"]
    )]
    pub(crate) ways: Vec<WayArg>,

    /// With --as kubectl: the `--timeout` of each `kubectl drain`, such as 10m. A node that is not empty by then is left cordoned, and the next one is drained.
    /// By default a drain never gives up, as kubectl's.
    #[arg(long, value_name = "DURATION", value_parser = limit, requires = "ways")]
    pub(crate) drain_timeout: Option<Span>,

    /// A directory with output of the AWS command line: adds the findings of `replank check --aws` to the rehearsal's. docs/check.md describes the files.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["ways", "start_sweep", "upgrade_to", "on_cluster"])]
    pub(crate) aws: Option<PathBuf>,

    /// A list of machine images that must not be used: adds the findings of `replank check --bad-images` to the rehearsal's. docs/check.md describes the list.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ways", "start_sweep", "upgrade_to", "on_cluster"])]
    pub(crate) bad_images: Option<PathBuf>,

    /// Node groups, and whether an autoscaler scales them.
    #[command(flatten)]
    pub(crate) scaled: AutoscalerArgs,

    /// Puts a load on the targets of HorizontalPodAutoscalers: CSV with a column `time` and one per metric, as for `hpa simulate`.
    /// The load starts with the rehearsal, which continues until the load ends. See docs/load.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) load: Option<PathBuf>,

    /// Interrupts instances: a CSV file with the columns time, target, kind, count and notice, or hourly rates of spot interruptions,
    /// such as spot=5%/h,rebalance=10%/h,zone:eu-west-1a=20%/h. See docs/load.md.
    #[arg(long, value_name = "FILE|RATES")]
    pub(crate) interruptions: Option<PathBuf>,

    /// Seed of all random draws: the same input and seed give the same rehearsal.
    /// By default 1, and the report of a short rehearsal says what the seeds 1 to 5 come to.
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    pub(crate) seed: Option<u64>,

    /// Rehearses with the seeds 1 to N and reports the spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    pub(crate) seeds: Option<u64>,

    /// With --seeds: lists every seed, not only the worst 20.
    #[arg(long, requires = "seeds")]
    pub(crate) all_seeds: bool,

    /// Many seeds in the pods of a cluster.
    #[command(flatten)]
    pub(crate) on_cluster: OnClusterArgs,

    /// Time of the snapshot, such as 2026-11-20T09:52:00Z. By default it is taken from the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Output format; docs/rehearsal-json.md describes the JSON. Markdown is a change request: what, when, impact, risks, prerequisites, how to stop, how to roll back.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = RehearseFormat::Text)]
    pub(crate) output: RehearseFormat,

    /// Shows a timeline of every node.
    #[arg(long, conflicts_with = "seeds")]
    pub(crate) timeline: bool,

    /// Writes each decision, its reasons and what came of it to a new file, as lines of JSON: `replank report FILE` tells them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "start_sweep", "upgrade_to"])]
    pub(crate) journal: Option<PathBuf>,

    /// Writes the report as a page for a browser, too: one file, which asks for nothing from outside. docs/html.md shows it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["start_sweep", "upgrade_to"])]
    pub(crate) html: Option<PathBuf>,

    /// Writes the other forms of the same report into this directory, too: report.html (the page of --html), report.md (-o markdown) and annotations.txt
    /// (-o github), as far as there are such forms: --seeds has no Markdown, --on-cluster has the page only; --as, --start-sweep and --upgrade-to have none of them.
    /// What is not written is named on standard error.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) reports: Option<PathBuf>,

    /// Compares start times within the next days instead of rehearsing: when would batch runs block the nodes for the shortest time? Such as
    /// 7d or 12h; docs/batch.md.
    #[arg(
        long,
        value_name = "SPAN",
        value_parser = sweep,
        conflicts_with_all = ["seeds", "timeline", "limit"]
    )]
    pub(crate) start_sweep: Option<Span>,

    /// Maximum virtual time to rehearse, such as 48h. By default, one hour more than the plan's deadline.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    pub(crate) limit: Option<Span>,

    /// A whole upgrade.
    #[command(flatten)]
    pub(crate) upgrade: UpgradeRehearsalArgs,
}

impl RehearseArgs {
    /// The seed of the rehearsal that is shown.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

/// Which nodes must be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Require {
    /// Those that can be emptied: what keeps the others is reported, with the verdict `partial`.
    Possible,
    /// All of them.
    All,
}

/// Who replaces the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WayArg {
    /// EKS's own update of managed node groups.
    Eks,
    /// The same with force.
    EksForce,
    /// A person who drains node after node.
    Kubectl,
    /// Replank, as the plan says.
    Replank,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_of_days_or_hours_and_no_more_than_a_month() {
        assert_eq!(sweep("7d"), Ok(Span::from_minutes(7 * 24 * 60)));
        assert_eq!(sweep("12h"), Ok(Span::from_minutes(12 * 60)));
        assert!(["0d", "32d", "800h", "-1d", "a week"].into_iter().all(|text| sweep(text).is_err()));
    }
}
