//! The command line of `replank hpa`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use replank_model::text::Namespace;
use replank_model::time::{Span, Time};

use crate::autoscaler::AutoscalerArgs;
use crate::cli::limit;
use crate::exit::Exit;
use crate::snapshot::ReadArgs;

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
    /// Tells why an autoscaler wants as many replicas as it does: pods, ratio, windows, policies, one step after the other.
    ///
    /// Metrics are those of --metrics and PodMetrics of the snapshot; where there are none, those in the autoscaler's own status.
    /// docs/hpa.md has examples.
    #[command(after_help = Exit::table())]
    Explain(HpaExplainArgs),

    /// Replays a load on autoscalers, pods and nodes in virtual time, as they are and with what is to be tried, side by side.
    ///
    /// The load is CSV: time, and a column for each metric. Pods that are ready share it, and metrics come as late as metrics-server's.
    /// Without SNAPSHOT the manifest must have what is scaled, and pods find room at once. docs/hpa.md has examples.
    #[command(after_help = Exit::table())]
    Simulate(HpaSimulateArgs),
}

/// Arguments of `hpa explain`.
#[derive(Args, Debug)]
pub(crate) struct HpaExplainArgs {
    /// The autoscaler: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// What the metrics APIs answered, as `kubectl get --raw` prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Vec<PathBuf>,

    /// Namespace of NAME.
    #[arg(short = 'n', long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// The moment of the snapshot, such as 2026-11-20T09:52:00Z. Otherwise it is found in the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the explanation.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = HpaExplainFormat::Text)]
    pub(crate) output: HpaExplainFormat,
}

/// Form of an autoscaler's explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HpaExplainFormat {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

/// Arguments of `hpa simulate`.
#[derive(Args, Debug)]
pub(crate) struct HpaSimulateArgs {
    /// Node groups, and who keeps their number of nodes to what is needed.
    #[command(flatten)]
    pub(crate) scaled: AutoscalerArgs,

    /// Leaves the number of nodes as it is, though a Cluster Autoscaler runs in the snapshot.
    #[arg(long, conflicts_with = "autoscaler")]
    pub(crate) no_autoscaler: bool,

    /// A manifest with the autoscaler, and what it scales where that is not in the snapshot. Otherwise the snapshot's autoscalers.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,

    /// The load: CSV with a column `time` and one for each metric.
    #[arg(long, value_name = "FILE")]
    pub(crate) load: PathBuf,

    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// What to try instead: a file with a behavior, or with minReplicas, maxReplicas, metrics and behavior of a spec. May be given
    /// several times.
    #[arg(long = "try", value_name = "FILE")]
    pub(crate) tries: Vec<PathBuf>,

    /// Time between two rows, such as 5m. Otherwise there are 24.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    pub(crate) every: Option<Span>,

    /// Draws a chart into a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Namespace of objects of the manifest that name none.
    #[arg(short = 'n', long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// Seed of everything that is drawn: the same input and seed give the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The moment of the snapshot, such as 2026-11-20T09:52:00Z. Otherwise it is found in the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the result; docs/hpa.md describes CSV and JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = HpaFormat::Text)]
    pub(crate) output: HpaFormat,
}

/// Form of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HpaFormat {
    /// For a person: figures, charts, rows.
    #[value(alias = "table")]
    Text,
    /// Rows for a spreadsheet.
    Csv,
    /// For a program.
    Json,
}
