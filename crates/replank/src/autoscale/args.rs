//! The command line of `autoscale`.

use std::path::PathBuf;

use clap::Args;
use replank_model::text::Namespace;
use replank_model::time::Span;
use replank_protocol::record::NAMESPACE;

use super::flags::ScalerFlags;
use crate::args::limit;
use crate::live::LiveArgs;
use crate::output::EventsFormat;
use crate::roll::AwsArgs;

/// Arguments of `autoscale`.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct AutoscaleArgs {
    /// Hourly prices of instance types, in JSON, for --expander=price: {"m6i.xlarge": {"onDemand": 0.192, "spot": 0.08}}.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// Shows which nodes would be added and removed now, and changes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Exits when there has been nothing to do for this long. By default it runs until Ctrl-C.
    #[arg(long, value_name = "SPAN", value_parser = limit)]
    pub(crate) idle: Option<Span>,

    /// Maximum number of requests to the API server per second, not counting lists and watches.
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) requests_per_second: u32,

    /// Namespace of the ConfigMap cluster-autoscaler-priority-expander, for --expander=priority.
    #[arg(short = 'n', long, value_name = "NAME", default_value = NAMESPACE)]
    pub(crate) namespace: Namespace,

    /// Writes each decision, its reasons and what came of it to a new file, as lines of JSON: `replank report FILE` tells them.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Output format: json is one event per line.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = EventsFormat::Text)]
    pub(crate) output: EventsFormat,

    /// The cluster.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// The account behind its nodes.
    #[command(flatten)]
    pub(crate) aws: AwsArgs,

    /// What is scaled, and how.
    #[command(flatten)]
    pub(crate) flags: ScalerFlags,
}
