//! The command line: one flag, one definition.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use replank_advice::place::Pick;
use replank_model::text::{GroupName, Namespace, RunId};
use replank_model::time::Time;

use crate::autoscale::AutoscaleArgs;
use crate::check::GateArgs;
use crate::cluster::ClusterArgs;
use crate::data::DataArgs;
use crate::drain::{CordonArgs, DrainArgs, RbacArgs};
use crate::ends;
use crate::exit::Exit;
use crate::handle::HandleArgs;
use crate::hpa::HpaArgs;
use crate::journal::{DiffArgs, ReportArgs};
use crate::live::{LiveArgs, SnapshotArgs};
use crate::migrate::MigrateArgs;
use crate::output::{AnswerFormat, CheckFormat, DocumentFormat, PlaceFormat};
use crate::rehearse::RehearseArgs;
use crate::roll::RollArgs;
use crate::scan::ScanArgs;
use crate::setup::SetupArgs;
use crate::shell::{CompletionArgs, ManArgs};
use crate::snapshot::ReadArgs;
use crate::upgrade::UpgradeArgs;
use crate::zone::Zone;

use super::args::PlanArgs;
pub(crate) use super::args::{When, limit};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Rehearses the replacement of a Kubernetes cluster's nodes, and finds what would go wrong. Only cordon, uncordon, drain, roll, handle, autoscale, migrate --apply, upgrade run, upgrade resume and upgrade rollback change a cluster; rehearse --on-cluster --apply creates a Job in one.
#[derive(Debug, Parser)]
#[command(name = "replank", version = env!("REPLANK_VERSION"), styles = STYLES, after_help = Exit::table(), subcommand_required = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub(crate) color: When,

    /// Prints results, warnings and errors only: no progress, and nothing on what is being done.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// The time zone of times in text and Markdown, such as Europe/Berlin; `local` is this machine's. JSON, and other forms for programs, stay in UTC.
    #[arg(long, global = true, value_name = "NAME", default_value = "UTC")]
    pub(crate) time_zone: Zone,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Rehearses a node roll on a simulated copy of a cluster, in virtual time. Changes nothing; only --on-cluster --apply creates a Job, which rehearses on a cluster.
    ///
    /// Reads what `kubectl get … -A -o json` (or `-o yaml`) prints, runs the plan on a simulated copy of it, and reports
    /// how long it takes, what would break, and what to change first. Without SNAPSHOT and plan a bundled example is
    /// rehearsed. The report goes to standard output, everything else to standard error.
    #[command(after_help = ends::table("rehearse"))]
    Rehearse(Box<RehearseArgs>),

    /// Saves what a rehearsal needs of a live cluster: no Secrets, no ConfigMaps but those that are named, no values of environment variables. Changes nothing.
    ///
    /// Lists objects page by page and writes them as one JSON document, the same for the same objects. What may not be listed is left out and named, with the
    /// RBAC rule that is missing. docs/snapshot.md says more.
    #[command(after_help = ends::table("snapshot"))]
    Snapshot(SnapshotArgs),

    /// Marks nodes of a live cluster as unschedulable, as `kubectl cordon` does.
    #[command(after_help = ends::table("cordon"))]
    Cordon(CordonArgs),

    /// Marks nodes of a live cluster as schedulable, as `kubectl uncordon` does, whoever had cordoned them.
    #[command(after_help = ends::table("uncordon"))]
    Uncordon(CordonArgs),

    /// Drains nodes of a live cluster as `kubectl drain` does, several at a time, and asks for no eviction that a disruption budget would refuse.
    ///
    /// Flags of kubectl have kubectl's meanings. All nodes are cordoned first; a node with pods that the flags do not allow to move is left before a single eviction,
    /// and the others go on. docs/drain.md says what goes beyond kubectl.
    #[command(after_help = ends::table("drain"))]
    Drain(Box<DrainArgs>),

    /// Carries a plan out on a live cluster: looked at and rehearsed first, then node by node; it can be followed, paused, gone on with and ended from anywhere.
    ///
    /// Nodes of Karpenter's pools are replaced by deleting their NodeClaims; with --provider external Replank drains, and somebody else replaces. Run again, it goes
    /// on with what was begun; `replank roll resume` does the same without the plan. docs/roll.md says more.
    #[command(after_help = ends::table("roll"))]
    Roll(Box<RollArgs>),

    /// Drains nodes whose instances AWS takes away, in the time that is left: messages of an SQS queue say so (spot interruptions, rebalance recommendations, lifecycle hooks,
    /// scheduled maintenance).
    ///
    /// What aws-node-termination-handler does in queue mode, by Replank's budgets and room. It goes on until Ctrl-C. `replank setup aws` prints the queue, its rules, hooks
    /// and permissions. docs/handle.md says more.
    #[command(after_help = ends::table("handle"))]
    Handle(Box<HandleArgs>),

    /// Keeps the number of nodes of Auto Scaling groups to what is needed: pods that wait for a node bring some, nodes that are not needed are drained and removed.
    ///
    /// What Cluster Autoscaler does, by its flags, tags and annotations, with the decisions that `replank scale simulate` and a rehearsal show. It goes on until Ctrl-C.
    /// docs/autoscale.md says more.
    #[command(after_help = ends::table("autoscale"))]
    Autoscale(Box<AutoscaleArgs>),

    /// Prints the ClusterRole that a command on a live cluster needs, with no rule more than that.
    #[command(after_help = ends::table("rbac"))]
    Rbac(RbacArgs),

    /// Shows where a pod would be scheduled: every node's result as kube-scheduler computes it, and what to change if no node fits.
    ///
    /// Checks POD, the workloads of a manifest (-f), or all pending pods (--all-pending). A pod that is already
    /// on a node is checked as if it were scheduled now. POD is NAME, NAMESPACE/NAME or KIND/NAME (deployment/web: one
    /// more of its pods). SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints. docs/place.md has examples.
    #[command(
        after_help = ends::table("place"),
        override_usage = "replank place POD SNAPSHOT… [OPTIONS]\n       replank place -f FILE SNAPSHOT… [OPTIONS]\n       \
                          replank place --all-pending SNAPSHOT… [OPTIONS]\n       \
                          replank place --audit SNAPSHOT… [OPTIONS]"
    )]
    Place(PlaceArgs),

    /// Finds what would block a node roll, cause downtime or lose work, without a rehearsal. Changes nothing.
    ///
    /// Checks the pods on the nodes that a plan (-f) or --roll replaces; without either, all pods, as if every node
    /// were replaced by an identical one. SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; without it, the
    /// cluster of the current kubeconfig context is read. Without a snapshot, a cluster and a plan, the bundled example is
    /// checked. `replank explain ID` says more about a finding. docs/check.md has examples.
    #[command(after_help = ends::table("check"))]
    Check(CheckArgs),

    /// Shows how many nodes the cluster needs and why, from Cluster Autoscaler's flags, tags and annotations.
    #[command(after_help = Exit::table())]
    Scale(ScaleArgs),

    /// Explains a finding: what it means, when it does not matter, what to do. Without ID, lists all findings.
    #[command(after_help = ends::table("explain"))]
    Explain(ExplainArgs),

    /// Finds uses of API versions that a Kubernetes version deprecates or removes, and rewrites them (--fix).
    ///
    /// Reads manifests, charts, kustomizations, dumps of a cluster with its Helm releases and its field managers, Terraform's states and
    /// plans, the API server's metrics and audit logs. Every document is parsed; an unreadable one does not hide its
    /// neighbours. docs/scan.md has examples.
    #[command(after_help = ends::table("scan"))]
    Scan(ScanArgs),

    /// Shows the built-in data and its date: API version lifecycles and the EKS calendar.
    #[command(after_help = ends::table("data"))]
    Data(DataArgs),

    /// Plans the upgrade to another Kubernetes version, carries it out on a live EKS cluster, and shows how long each version is supported.
    Upgrade(UpgradeArgs),

    /// Lists marks, cordons and tags that runs have left on nodes and groups, with the commands that remove them. Changes nothing.
    ///
    /// SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; tags of Auto Scaling groups are read from --groups.
    /// A later run removes expired leftovers by itself. docs/leftover.md lists what is found.
    #[command(after_help = ends::table("leftover"))]
    Leftover(LeftoverArgs),

    /// Reports what a run did, when and why, from the journal that it wrote (--journal). With --html, makes a page of it, or of the JSON of a rehearsal. Changes nothing.
    ///
    /// A rehearsal and a live run write the same lines. docs/journal.md describes them.
    #[command(after_help = ends::table("report"))]
    Report(ReportArgs),

    /// Compares two rehearsals (their JSON), or two journals, such as a rehearsal's with that of the live run. Changes nothing.
    ///
    /// Compared are the end, the nodes and their order, the pods of each workload that were moved from each node, refused evictions, and times.
    #[command(after_help = ends::table("diff"))]
    Diff(DiffArgs),

    /// Rehearses the change of a workload's immutable selector without downtime, and carries it out on a live cluster (--apply).
    ///
    /// The pods are kept if the new selector matches them; otherwise a temporary copy serves while a Deployment is recreated, and other kinds are
    /// refused. --to-rollout hands a Deployment over to an Argo Rollout. SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints. docs/migrate.md describes the steps.
    #[command(after_help = ends::table("migrate"))]
    Migrate(MigrateArgs),

    /// Explains a HorizontalPodAutoscaler, or tests it under a load before it is deployed. Changes nothing.
    Hpa(HpaArgs),

    /// Serves a simulated cluster as a Kubernetes API server, for kubectl and others. Changes no real cluster.
    Cluster(ClusterArgs),

    /// Prints what a cloud needs before Replank can be used there. Creates nothing.
    Setup(SetupArgs),

    /// Prints the completion script of a shell. docs/install.md says where it goes.
    #[command(after_help = ends::table("completion"))]
    Completion(CompletionArgs),

    /// Prints a man page, or writes those of all commands (--dir).
    #[command(after_help = ends::table("man"))]
    Man(ManArgs),
}

/// Arguments of `leftover`.
#[derive(Args, Debug)]
pub(crate) struct LeftoverArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Node groups with their tags: what `aws autoscaling describe-auto-scaling-groups --output json` prints.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Option<PathBuf>,

    /// Only leftovers of this run.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run: Option<RunId>,

    /// Only expired leftovers.
    #[arg(long)]
    pub(crate) expired: bool,

    /// Time of the snapshot, such as 2026-11-20T09:52:00Z. By default it is taken from the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Output format; docs/leftover.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,
}

/// The name of a run.
fn run_id(text: &str) -> Result<RunId, String> {
    if text.is_empty() { Err("expected the name of a run".to_owned()) } else { Ok(RunId::from(text)) }
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// What to do.
    #[command(flatten)]
    pub(crate) what: PlanArgs,

    /// Bounds, tags and types of groups: the JSON of `aws autoscaling describe-auto-scaling-groups` or `aws eks describe-nodegroup`.
    /// May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Vec<PathBuf>,

    /// Time of the snapshot, such as 2026-11-20T09:52:00Z. By default it is taken from the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// What counts.
    #[command(flatten)]
    pub(crate) gate: GateArgs,

    /// Also names the nodes at which EKS's own update of their managed group would give up after 15 minutes, or may, and why.
    #[arg(long)]
    pub(crate) managed_update: bool,

    /// A list of machine images that must not be used: nodes with one are found, with the release to go back to; docs/check.md describes it.
    #[arg(long, value_name = "FILE")]
    pub(crate) bad_images: Option<PathBuf>,

    /// Releases of EKS's images that replace or add to the built-in ones, as JSON rows in the form of `replank data --table images -o json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) image_releases: Option<PathBuf>,

    /// A directory with output of the AWS command line: also compares the security groups of the group that nodes move into (docs/check.md), and finds what is missing
    /// for nodes to be drained whose instance AWS takes away: lifecycle hooks, EventBridge rules, queue (docs/termination.md).
    #[arg(long, value_name = "DIR")]
    pub(crate) aws: Option<PathBuf>,

    /// Shows what the proved changes do to each object, before and after, instead of the findings. With -o json, the whole objects.
    #[arg(long)]
    pub(crate) fix_preview: bool,

    /// Output format; docs/check.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = CheckFormat::Text)]
    pub(crate) output: CheckFormat,
}

/// Arguments of `scale`.
#[derive(Args, Debug)]
pub(crate) struct ScaleArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ScaleCommand,
}

/// What `scale` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum ScaleCommand {
    /// Shows which nodes would be added or removed now, and for every other pod and node why not. Changes nothing.
    ///
    /// SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; without it the bundled example is used. Cluster
    /// Autoscaler's flags are read from its Deployment in the snapshot; those after `--` override them. docs/scale.md has
    /// examples.
    #[command(after_help = ends::table("scale simulate"))]
    Simulate(SimulateArgs),
}

/// Arguments of `scale simulate`.
#[derive(Args, Debug)]
pub(crate) struct SimulateArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Bounds, tags and types of groups: the JSON of `aws autoscaling describe-auto-scaling-groups` or `aws eks describe-nodegroup`.
    /// May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Vec<PathBuf>,

    /// Hourly prices of instance types, in JSON: {"m6i.xlarge": {"onDemand": 0.192, "spot": 0.08}}.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// Time of the snapshot, such as 2026-11-20T09:52:00Z. By default it is taken from the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Output format; docs/scale.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,

    /// Flags of Cluster Autoscaler, after `--`: `-- --expander=price --max-nodes-total=50`.
    #[arg(last = true, value_name = "FLAG")]
    pub(crate) flags: Vec<String>,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The id of a finding, such as pdb-never-allows.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = DocumentFormat::Text)]
    pub(crate) output: DocumentFormat,
}

/// Arguments of `place`.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// The pod or workload; not with -f, --all-pending and --audit.
    #[arg(value_name = "POD")]
    pub(crate) pod: Option<OsString>,

    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// A manifest: its workloads are checked one after the other, its other objects are assumed to exist. `-` is
    /// standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with_all = ["all_pending", "audit"])]
    pub(crate) manifest: Option<PathBuf>,

    /// Checks every pending pod, in the order of the scheduler's queue.
    #[arg(long, conflicts_with_all = ["audit", "replicas"])]
    pub(crate) all_pending: bool,

    /// Lists workloads that can be scheduled where they should not be, and taints, tolerations and selectors that match nothing.
    #[arg(long, conflicts_with_all = ["replicas", "without", "cordon", "only_group"])]
    pub(crate) audit: bool,

    /// Node groups that an autoscaler scales, in addition to those found in the snapshot.
    #[arg(long, value_name = "GROUP", value_delimiter = ',', requires = "audit")]
    pub(crate) autoscaled: Vec<GroupName>,

    /// Namespace of POD, and of manifest objects without a namespace.
    #[arg(short = 'n', long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// How many copies have to fit, one after the other.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=COPIES_MAX))]
    pub(crate) replicas: Option<u64>,

    /// What if these nodes were gone, with their pods: names, or KEY=VALUE of a node label.
    #[arg(long, value_name = "NODE", value_delimiter = ',')]
    pub(crate) without: Vec<Pick>,

    /// What if these nodes were cordoned: names, or KEY=VALUE of a node label.
    #[arg(long, value_name = "NODE", value_delimiter = ',')]
    pub(crate) cordon: Vec<Pick>,

    /// What if this node group alone took pods.
    #[arg(long, value_name = "GROUP")]
    pub(crate) only_group: Option<GroupName>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Output format; docs/place-json.md describes the JSON. Wide has scores and one row per node, name the nodes that fit, best first.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = PlaceFormat::Text)]
    pub(crate) output: PlaceFormat,

    /// One row per node, however many nodes there are.
    #[arg(long)]
    pub(crate) all_nodes: bool,
}

/// Copies of one call: more than a cluster of 5,000 nodes takes at 110 pods a node.
const COPIES_MAX: u64 = 600_000;

/// The same with values of options that may begin with a minus and a digit: it is the option that says what is wrong with `--surge -1`, not the parser, which would
/// take it for another option.
pub(crate) fn taking_negative_numbers(command: clap::Command) -> clap::Command {
    let takes = |argument: clap::Arg| match argument.get_action().takes_values() && !argument.is_positional()
    {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    command.mut_args(takes).mut_subcommands(taking_negative_numbers)
}

/// As kubectl calls it, where it is installed as a plugin: usage texts say `kubectl replank` then.
pub(crate) fn called(command: clap::Command) -> clap::Command {
    let own = std::env::args_os().next().map(PathBuf::from);
    let is_plugin =
        own.as_ref().and_then(|path| path.file_stem()).is_some_and(|name| name == "kubectl-replank");
    if is_plugin { command.bin_name("kubectl replank").display_name("kubectl replank") } else { command }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
