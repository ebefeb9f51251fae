//! The command line of `roll`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use replank_model::text::Namespace;
use replank_model::time::Span;
use replank_protocol::record::NAMESPACE;

use crate::args::limit;
use crate::ends;
use crate::live::LiveArgs;
use crate::output::EventsFormat;
use crate::snapshot::ReadArgs;

/// Arguments of `roll`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct RollArgs {
    /// What to do with a run that was begun.
    #[command(subcommand)]
    pub(crate) command: Option<RollCommand>,

    /// How a run is begun.
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

/// What can be done with a run that was begun.
#[derive(Debug, Subcommand)]
pub(crate) enum RollCommand {
    /// Shows the runs of a cluster: what is wanted of each, who carries it out, and how many nodes are left. Changes nothing.
    #[command(after_help = ends::table("roll status"))]
    Status(RunArgs),
    /// Shows a run as it goes on, until it is over. Changes nothing.
    #[command(after_help = ends::table("roll watch"))]
    Watch(RunArgs),
    /// Has a run begin nothing further.
    #[command(after_help = ends::table("roll pause"))]
    Pause(RunArgs),
    /// Has a run go on; where no process works on it, this one does.
    #[command(after_help = ends::table("roll resume"))]
    Resume(CarryArgs),
    /// Ends a run: nothing further is begun, and nothing of its own is left behind. Where no process works on it, this one does.
    #[command(after_help = ends::table("roll cancel"))]
    Cancel(CarryArgs),
    /// Takes a run back as far as that can be done. Where no process works on it, this one does.
    #[command(after_help = ends::table("roll undo"))]
    Undo(CarryArgs),
}

/// Arguments of `roll -f`.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct StartArgs {
    /// The plan: a file with a NodeRoll; docs/plan.md lists every field.
    #[arg(short = 'f', long = "filename", value_name = "PLAN", required = true)]
    pub(crate) plan: Option<PathBuf>,

    /// Who replaces the nodes that are drained: Karpenter, or somebody else (spec.provider of the plan). Otherwise Replank does, through the AWS APIs, where Karpenter does not run them.
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) provider: Option<ProviderArg>,

    /// Begins without asking. Needed where there is no terminal.
    #[arg(long)]
    pub(crate) yes: bool,

    /// Checks and rehearses only, and changes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Where the managed node group that the plan's target.group names does not exist, has EKS make it like the one that nodes leave, waits until it can be used, and then begins: docs/managed-groups.md.
    #[arg(long)]
    pub(crate) make_group: bool,

    /// How it is told.
    #[command(flatten)]
    pub(crate) tell: TellArgs,

    /// What it handles besides.
    #[command(flatten)]
    pub(crate) besides: BesidesArgs,

    /// The cluster.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// The account behind its nodes.
    #[command(flatten)]
    pub(crate) aws: AwsArgs,

    /// How the cluster is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// How a run is followed and told.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct TellArgs {
    /// How much longer than twice the rehearsed time a node may take, before the run is paused.
    #[arg(long, value_name = "SPAN", value_parser = limit, default_value = "15m")]
    pub(crate) tolerance: Span,

    /// Writes each decision, its reasons and what came of it to a new file, as lines of JSON: `replank report FILE` tells them.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Output format: json is one event per line.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = EventsFormat::Text)]
    pub(crate) output: EventsFormat,
}

/// Which run.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct RunArgs {
    /// The run: the name of its plan. It can be left out where there is one.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,

    /// The namespace of its record: metadata.namespace of the plan.
    #[arg(short = 'n', long, value_name = "NAME", default_value = NAMESPACE)]
    pub(crate) namespace: Namespace,

    /// The cluster.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// Output format: json is one object per line.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = EventsFormat::Text)]
    pub(crate) output: EventsFormat,
}

/// Which run, and how it is carried out where nobody else does.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct CarryArgs {
    /// The run: the name of its plan. It can be left out where there is one.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,

    /// The namespace of its record: metadata.namespace of the plan.
    #[arg(short = 'n', long, value_name = "NAME", default_value = NAMESPACE)]
    pub(crate) namespace: Namespace,

    /// The cluster.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// The account behind its nodes.
    #[command(flatten)]
    pub(crate) aws: AwsArgs,

    /// How it is told.
    #[command(flatten)]
    pub(crate) tell: TellArgs,

    /// What it handles besides.
    #[command(flatten)]
    pub(crate) besides: BesidesArgs,
}

/// What a run handles besides its plan.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub(crate) struct BesidesArgs {
    /// Also handles the messages of this SQS queue until the run ends, as `replank handle` does, within the same budgets and room.
    #[arg(long, value_name = "URL")]
    pub(crate) queue_url: Option<String>,

    /// Also scales groups until the run ends, as `replank autoscale` does, within the same budgets and room: by Cluster Autoscaler's flags, such as
    /// --autoscale='--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/CLUSTER'.
    #[arg(long, value_name = "FLAGS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) autoscale: Option<String>,
}

/// `--provider`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderArg {
    /// Somebody else: Cluster API, kops, a person.
    External,
    /// Karpenter.
    Karpenter,
}

/// An AWS account, as AWS's CLI would find it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AwsArgs {
    /// AWS region of the nodes, instead of AWS_REGION and the profile's.
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,

    /// AWS profile, instead of the environment's credentials and of AWS_PROFILE.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Address of all AWS APIs, instead of AWS_ENDPOINT_URL and of AWS's own.
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint_url: Option<String>,
}
