//! The command line of `handle`.

use std::path::PathBuf;

use clap::Args;
use replank_model::text::Namespace;
use replank_model::time::Span;
use replank_protocol::record::NAMESPACE;

use crate::args::limit;
use crate::live::LiveArgs;
use crate::output::EventsFormat;
use crate::roll::AwsArgs;

/// Arguments of `handle`.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct HandleArgs {
    /// The SQS queue that receives the events: https://sqs.REGION.amazonaws.com/ACCOUNT/NAME.
    #[arg(long, value_name = "URL")]
    pub(crate) queue_url: String,

    /// A lifecycle hook whose actions are kept waiting and completed. May be given several times. Hooks whose names begin with `replank` need not be named.
    #[arg(long, value_name = "NAME")]
    pub(crate) hook: Vec<String>,

    /// A plan (NodeRoll): its lifecycleHooks, and how it waits for batch pods.
    #[arg(short = 'f', long = "filename", value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,

    /// Also scales groups, as `replank autoscale` does, within the same budgets and room: by Cluster Autoscaler's flags, such as
    /// --autoscale='--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/CLUSTER'.
    #[arg(long, value_name = "FLAGS", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "dry_run")]
    pub(crate) autoscale: Option<String>,

    /// How long a hook is kept waiting for pods other than batch pods.
    #[arg(long, value_name = "SPAN", value_parser = limit, default_value = "1h")]
    pub(crate) patience: Span,

    /// Says what would be done about the messages that are in the queue now, and changes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Ends when there has been nothing to do for so long. By default it goes on until Ctrl-C.
    #[arg(long, value_name = "SPAN", value_parser = limit)]
    pub(crate) idle: Option<Span>,

    /// Requests to the API server in a second at most, lists and watches aside.
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) requests_per_second: u32,

    /// The namespace of the Lease by which one process at a time handles the messages.
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
}
