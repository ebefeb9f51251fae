//! The command line: one flag, one definition.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use replank_advice::place::Pick;
use replank_facts::plan::VersionPrefix;
use replank_model::text::{GroupName, Namespace, RunId, Text};
use replank_model::time::{Span, Time};

use crate::autoscaler::AutoscalerArgs;
use crate::data::DataArgs;
use crate::exit::Exit;
use crate::hpa::HpaArgs;
use crate::migrate::MigrateArgs;
use crate::scan::ScanArgs;
use crate::snapshot::ReadArgs;
use crate::upgrade::{UpgradeArgs, UpgradeRehearsalArgs};

pub(crate) use super::args::{When, limit};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Replaces the nodes of a Kubernetes cluster so that nobody who uses it notices, and rehearses it first.
#[derive(Debug, Parser)]
#[command(name = "replank", version, styles = STYLES, after_help = Exit::table(), subcommand_required = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub(crate) color: When,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Rehearses a node roll on a simulated copy of a cluster, in virtual time. Touches nothing.
    ///
    /// Reads what `kubectl get … -A -o json` (or `-o yaml`) prints, runs the plan on a simulated copy of it, and reports
    /// how long it takes, what would break, and what to change first. Without SNAPSHOT and plan a bundled example is
    /// rehearsed. The report is written to standard output, everything else to standard error.
    #[command(after_help = Exit::table())]
    Rehearse(Box<RehearseArgs>),

    /// Tells where a pod would go: every node's answer as kube-scheduler gives it, and what to change where none fits.
    ///
    /// Asks about POD, or about the workloads of a manifest (-f), or about all pods that wait (--all-pending). A pod that is
    /// on a node is asked about as if it were to be placed now. POD is NAME, NAMESPACE/NAME or KIND/NAME (deployment/web: one
    /// more of its pods). SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints. docs/place.md has examples.
    #[command(
        after_help = Exit::table(),
        override_usage = "replank place POD SNAPSHOT… [OPTIONS]\n       replank place -f FILE SNAPSHOT… [OPTIONS]\n       \
                          replank place --all-pending SNAPSHOT… [OPTIONS]\n       \
                          replank place --audit SNAPSHOT… [OPTIONS]"
    )]
    Place(PlaceArgs),

    /// Finds what would block a node roll, interrupt somebody or lose work, without rehearsing it. Touches nothing.
    ///
    /// Looks at the pods on the nodes that a plan (-f) or --roll replaces; without either, at all of them, as if every node
    /// group were rolled like with like. SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; without it and a
    /// plan, the bundled example is checked. `replank explain ID` says more about a finding. docs/check.md has examples.
    #[command(after_help = Exit::table())]
    Check(CheckArgs),

    /// Tells how many nodes there are to be, and why: what Cluster Autoscaler's flags, tags and annotations come to.
    #[command(after_help = Exit::table())]
    Scale(ScaleArgs),

    /// Explains a finding: what it means, when it does not matter, what to do. Without ID all of them are listed.
    #[command(after_help = Exit::table())]
    Explain(ExplainArgs),

    /// Finds where API versions are used that are deprecated or gone at a Kubernetes version, and writes what is to be there instead (--fix).
    ///
    /// Reads manifests, charts, kustomizations, dumps of a cluster with its Helm releases and its field managers, Terraform's states and
    /// plans, the API server's metrics and audit logs. Every document is parsed; one that cannot be read hides none of its
    /// neighbours. docs/scan.md has examples.
    #[command(after_help = Exit::table())]
    Scan(ScanArgs),

    /// Says what data is built in, and of which day it is: the lives of API versions, the calendar of EKS.
    #[command(after_help = Exit::table())]
    Data(DataArgs),

    /// Plans the way to another Kubernetes version, and tells how long each is supported. Touches nothing.
    Upgrade(UpgradeArgs),

    /// Lists what runs have written on nodes and groups and not taken off, with the commands that clear it. Touches nothing.
    ///
    /// SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; tags of Auto Scaling groups are looked at with --groups.
    /// A later run clears what has expired by itself. docs/leftover.md says what is found.
    #[command(after_help = Exit::table())]
    Leftover(LeftoverArgs),

    /// Rehearses how a workload gets another selector, which cannot be changed, without a moment at which nobody serves. Touches nothing.
    ///
    /// The pods are kept where the new selector matches them; else a copy serves while a Deployment is made anew, and other kinds are
    /// refused. --to-rollout hands a Deployment over to an Argo Rollout. SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints. docs/migrate.md says how it goes about it.
    #[command(after_help = Exit::table())]
    Migrate(MigrateArgs),

    /// Explains a HorizontalPodAutoscaler, or tries it on a load, before it is deployed. Touches nothing.
    Hpa(HpaArgs),
}

/// Arguments of `leftover`.
#[derive(Args, Debug)]
pub(crate) struct LeftoverArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Node groups with their tags: what `aws autoscaling describe-auto-scaling-groups --output json` prints.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Option<PathBuf>,

    /// Only what this run has left.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run: Option<RunId>,

    /// Only what does not hold any more.
    #[arg(long)]
    pub(crate) expired: bool,

    /// The moment of the snapshot, such as 2026-11-20T09:52:00Z. Otherwise it is found in the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the list; docs/leftover.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = LeftoverFormat::Text)]
    pub(crate) output: LeftoverFormat,
}

/// Form of what was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LeftoverFormat {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

/// The name of a run.
fn run_id(text: &str) -> Result<RunId, String> {
    if text.is_empty() { Err("expected the name of a run".to_owned()) } else { Ok(RunId::from(text)) }
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// What is to be done.
    #[command(flatten)]
    pub(crate) what: PlanArgs,

    /// Bounds, tags and types of groups: the JSON of `aws autoscaling describe-auto-scaling-groups` or `aws eks describe-nodegroup`.
    /// May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Vec<PathBuf>,

    /// The moment of the snapshot, such as 2026-11-20T09:52:00Z. Otherwise it is found in the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the findings; docs/check.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = CheckFormat::Text)]
    pub(crate) output: CheckFormat,
}

/// Form of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For a person.
    Text,
    /// For a program.
    Json,
    /// For code scanning: SARIF 2.1.0.
    Sarif,
    /// For a ticket or a pull request.
    Markdown,
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
    /// Tells which nodes would be added or taken away now, and for every pod and node why not. Touches nothing.
    ///
    /// SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; without it the bundled example is looked at. Cluster
    /// Autoscaler's flags are read off its Deployment in the snapshot; those behind `--` come after them. docs/scale.md has
    /// examples.
    #[command(after_help = Exit::table())]
    Simulate(SimulateArgs),
}

/// Arguments of `scale simulate`.
#[derive(Args, Debug)]
pub(crate) struct SimulateArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Bounds, tags and types of groups: the JSON of `aws autoscaling describe-auto-scaling-groups` or `aws eks describe-nodegroup`.
    /// May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Vec<PathBuf>,

    /// Prices of instance types an hour, in JSON: {"m6i.xlarge": {"onDemand": 0.192, "spot": 0.08}}.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// The moment of the snapshot, such as 2026-11-20T09:52:00Z. Otherwise it is found in the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the answer; docs/scale.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = ScaleFormat::Text)]
    pub(crate) output: ScaleFormat,

    /// Flags of Cluster Autoscaler, behind `--`: `-- --expander=price --max-nodes-total=50`.
    #[arg(last = true, value_name = "FLAG")]
    pub(crate) flags: Vec<String>,
}

/// Form of an answer about scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleFormat {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The id of a finding, such as pdb-never-allows.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Form of the explanation.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = ExplainFormat::Text)]
    pub(crate) output: ExplainFormat,
}

/// Form of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For a person.
    Text,
    /// For a program.
    Json,
    /// As it stands in docs/findings.md.
    Markdown,
}

/// What is to be done: a plan, or groups with the defaults of one.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlanArgs {
    /// The plan: a file with a NodeRoll; docs/plan.md lists every field.
    #[arg(short = 'f', long = "filename", value_name = "PLAN", conflicts_with_all = ["roll", "to_version", "image"])]
    pub(crate) plan: Option<PathBuf>,

    /// Node groups to replace, with the defaults of a plan.
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    pub(crate) roll: Vec<Text>,

    /// Kubernetes version of the new nodes, such as 1.36.
    #[arg(long, value_name = "VERSION", requires = "roll")]
    pub(crate) to_version: Option<VersionPrefix>,

    /// Machine image of the new nodes.
    #[arg(long, value_name = "AMI", requires = "roll")]
    pub(crate) image: Option<Text>,
}

impl PlanArgs {
    /// Whether anything says what is to be done.
    pub(crate) fn is_given(&self) -> bool {
        self.plan.is_some() || !self.roll.is_empty()
    }
}

/// Arguments of `place`.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// The pod or workload; not with -f, --all-pending and --audit.
    #[arg(value_name = "POD")]
    pub(crate) pod: Option<OsString>,

    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// A manifest: its workloads are asked about one after the other, its other objects are taken to be there. `-` is
    /// standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with_all = ["all_pending", "audit"])]
    pub(crate) manifest: Option<PathBuf>,

    /// Asks about every pod without a node, in the order of the scheduler's queue.
    #[arg(long, conflicts_with_all = ["audit", "replicas"])]
    pub(crate) all_pending: bool,

    /// Lists workloads that can land where they should not, and taints, tolerations and selectors that match nothing.
    #[arg(long, conflicts_with_all = ["replicas", "without", "cordon", "only_group"])]
    pub(crate) audit: bool,

    /// Node groups that an autoscaler adds and removes nodes of, besides those that say so themselves.
    #[arg(long, value_name = "GROUP", value_delimiter = ',', requires = "audit")]
    pub(crate) autoscaled: Vec<GroupName>,

    /// Namespace of POD, and of objects of a manifest that name none.
    #[arg(short = 'n', long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// How many copies are to fit, one after the other.
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

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the answer; docs/place-json.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = PlaceFormat::Text)]
    pub(crate) output: PlaceFormat,

    /// One row per node however many there are.
    #[arg(long)]
    pub(crate) all_nodes: bool,
}

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlaceFormat {
    /// For a person.
    Text,
    /// With scores, and one row per node.
    Wide,
    /// For a program.
    Json,
    /// Names of nodes that fit, the best first.
    Name,
}

/// Arguments of `rehearse`.
#[derive(Args, Debug)]
pub(crate) struct RehearseArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// What is to be done.
    #[command(flatten)]
    pub(crate) what: PlanArgs,

    /// What happens meanwhile: a file with one line for each pause, fault or foreign hand; docs/script.md lists them.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Counts the connections that would be lost: NAMESPACE/NAME=RATE,LENGTH such as web/frontend=50/s,20s, or a file with one on each
    /// line. docs/connections.md tells how they are counted.
    #[arg(long, value_name = "LOAD")]
    pub(crate) connections: Vec<String>,

    /// Node groups, and who keeps their number of nodes to what is needed.
    #[command(flatten)]
    pub(crate) scaled: AutoscalerArgs,

    /// Lets the targets of HorizontalPodAutoscalers meet a load: CSV, a column `time` and one for each metric, as `hpa simulate` takes it.
    /// It begins with the rehearsal, which goes on to its end. docs/load.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) load: Option<PathBuf>,

    /// Takes instances away: a file, CSV with the columns time, target, kind, count and notice, or shares of the spot instances that an hour
    /// takes, such as spot=5%/h,rebalance=10%/h,zone:eu-west-1a=20%/h. docs/load.md.
    #[arg(long, value_name = "FILE|RATES")]
    pub(crate) interruptions: Option<PathBuf>,

    /// Seed of everything that is drawn: the same input and seed give the same rehearsal.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "seeds")]
    pub(crate) seed: u64,

    /// Rehearses with the seeds 1 to N and reports the spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    pub(crate) seeds: Option<u64>,

    /// The moment of the snapshot, such as 2026-11-20T09:52:00Z. Otherwise it is found in the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the report; docs/rehearsal-json.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) output: Format,

    /// Shows every node's way through the roll.
    #[arg(long)]
    pub(crate) timeline: bool,

    /// Compares the starts within the next days instead of rehearsing: when would runs of batch work hold the nodes the shortest. Such as
    /// 7d or 12h; docs/batch.md.
    #[arg(
        long,
        value_name = "SPAN",
        value_parser = sweep,
        conflicts_with_all = ["seeds", "timeline", "limit"]
    )]
    pub(crate) start_sweep: Option<Span>,

    /// Longest virtual time that is rehearsed, such as 48h. Otherwise an hour more than the plan's deadline.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    pub(crate) limit: Option<Span>,

    /// A whole upgrade.
    #[command(flatten)]
    pub(crate) upgrade: UpgradeRehearsalArgs,
}

/// Copies of one call: more than a cluster of 5,000 nodes takes at 110 pods a node.
const COPIES_MAX: u64 = 600_000;

/// Seeds of one call: results are held until the summary, and nobody reads a longer table.
const SEEDS_MAX: u64 = 10_000;

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
        false => Err(format!("expected more than nothing and at most {SWEEP_DAYS_MAX}d")),
    }
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person.
    Text,
    /// For a program.
    Json,
    /// A change request: what, when, who notices, risks, what to do first, how to stop, how to go back.
    Markdown,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_must_be_more_than_nothing() {
        assert_eq!(limit("90m"), Ok(Span::from_minutes(90)));
        assert_eq!(sweep("7d"), Ok(Span::from_minutes(7 * 24 * 60)));
        assert_eq!(sweep("12h"), Ok(Span::from_minutes(12 * 60)));
        assert!(["0d", "32d", "800h", "-1d", "a week"].into_iter().all(|text| sweep(text).is_err()));
        assert!(limit("0s").is_err() && limit("-1h").is_err() && limit("2 days").is_err());
    }
}
