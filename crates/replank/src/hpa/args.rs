//! The command line of `replank hpa`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use replank_model::text::Namespace;
use replank_model::time::{Span, Time};

use crate::autoscaler::AutoscalerArgs;
use crate::cli::limit;
use crate::ends;
use crate::live::LiveArgs;
use crate::output::{AnswerFormat, LoadFormat};
use crate::snapshot::ReadArgs;
use replank_core::scale::window;
use replank_rehearse::replay::{Rule, Says};

/// Arguments of `hpa`.
#[derive(Args, Debug)]
pub(crate) struct HpaArgs {
    /// What is wanted.
    #[command(subcommand)]
    pub(crate) command: HpaCommand,
}

/// What `hpa` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum HpaCommand {
    /// Explains how an autoscaler calculates its replica count: pods, ratio, windows, policies, step by step.
    ///
    /// Metrics come from --metrics and the snapshot's PodMetrics; otherwise from the autoscaler's own status.
    /// docs/hpa.md has examples.
    #[command(after_help = ends::table("hpa explain"))]
    Explain(HpaExplainArgs),

    /// Replays a load on autoscalers, pods and nodes in virtual time, and compares the current settings with those to try.
    ///
    /// The load is CSV: time, and one column per metric. Ready pods share it, and metrics are as delayed as metrics-server's.
    /// Without SNAPSHOT the manifest must contain the scale target, and pods are schedulable at once. docs/hpa.md has examples.
    #[command(after_help = ends::table("hpa simulate"))]
    Simulate(HpaSimulateArgs),
}

/// Arguments of `hpa explain`.
#[derive(Args, Debug)]
pub(crate) struct HpaExplainArgs {
    /// The autoscaler: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Responses of the metrics APIs, as `kubectl get --raw` prints them.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Vec<PathBuf>,

    /// Namespace of NAME.
    #[arg(short = 'n', long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// Time of the snapshot, such as 2026-11-20T09:52:00Z. By default it is taken from the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,
}

/// Arguments of `hpa simulate`.
#[derive(Args, Debug)]
pub(crate) struct HpaSimulateArgs {
    /// Node groups, and whether an autoscaler scales them.
    #[command(flatten)]
    pub(crate) scaled: AutoscalerArgs,

    /// Keeps the number of nodes fixed, even if the snapshot contains a Cluster Autoscaler.
    #[arg(long, conflicts_with = "autoscaler")]
    pub(crate) no_autoscaler: bool,

    /// A manifest with the autoscaler, and its scale target if that is not in the snapshot. By default the snapshot's autoscalers.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,

    /// The load: CSV with a column `time` and one per metric.
    #[arg(long, value_name = "FILE")]
    pub(crate) load: PathBuf,

    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Settings to try: a file with a behavior, or with minReplicas, maxReplicas, metrics and behavior of a spec. May be given
    /// several times.
    #[arg(long = "try", value_name = "FILE")]
    pub(crate) tries: Vec<PathBuf>,

    /// Adds a variant whose autoscalers do not scale down in this window, such as `Mon-Fri 09:00,9h,Europe/Dublin`. May be given
    /// several times.
    #[arg(long, value_name = "START,DURATION,ZONE", value_parser = no_scale_down)]
    pub(crate) no_scale_down: Vec<Rule>,

    /// Adds a variant with at least this many replicas in this window, such as `6,Mon-Fri 09:00,9h,Europe/Dublin`. May be given
    /// several times; one variant has these rules and those of --no-scale-down.
    #[arg(long, value_name = "COUNT,START,DURATION,ZONE", value_parser = min_replicas)]
    pub(crate) min_replicas: Vec<Rule>,

    /// Time between two rows, such as 5m. By default there are 24 rows.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    pub(crate) every: Option<Span>,

    /// Draws a chart into a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Namespace of manifest objects without one.
    #[arg(short = 'n', long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// Seed of all random draws: the same input and seed give the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// When the load begins, such as 2026-11-20T09:52:00Z. By default at the time of the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Output format; docs/hpa.md describes CSV and JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = LoadFormat::Text)]
    pub(crate) output: LoadFormat,
}

fn no_scale_down(value: &str) -> Result<Rule, String> {
    Ok(Rule { window: window(value)?, says: Says::NoScaleDown })
}

fn min_replicas(value: &str) -> Result<Rule, String> {
    let wrong = || "expected COUNT,START,DURATION,ZONE such as 6,Mon-Fri 09:00,8h,Asia/Tokyo".to_owned();
    let (count, rest) = value.split_once(',').ok_or_else(wrong)?;
    let count = count.parse().ok().filter(|count| *count >= 1).ok_or_else(wrong)?;
    Ok(Rule { window: window(rest)?, says: Says::MinReplicas(count) })
}
