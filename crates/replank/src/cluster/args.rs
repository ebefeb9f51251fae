//! Arguments of `replank cluster`.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use replank_api::{Authorization, Release};

use replank_model::time::Span;

use crate::ends;
use crate::examples;
use crate::output::AnswerFormat;
use crate::snapshot::ReadArgs;

/// Arguments of `cluster`.
#[derive(Args, Debug)]
pub(crate) struct ClusterArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

/// What can be done with a cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Starts a simulated cluster, and serves it as a Kubernetes API server until it is interrupted.
    ///
    /// Begins with SNAPSHOT (what `kubectl get … -A -o json` or `-o yaml` prints), or with --nodes empty nodes. Writes a kubeconfig with its own authority and
    /// token. Controllers, scheduler and kubelets are simulated; no container runs. docs/cluster.md shows it at work.
    #[command(after_help = ends::table("cluster up"))]
    Up(Box<UpArgs>),

    /// Lets time pass at once in a running cluster that was started with --clock step.
    #[command(after_help = ends::table("cluster advance"))]
    Advance(AdvanceArgs),

    /// Shows what can go wrong in a running cluster and what was made to, starts it, or ends it.
    ///
    /// The words are those of scripts (docs/script.md): `spot instance NODE is taken back`, `image IMAGE crashes pods`, `node NODE falls silent`.
    #[command(after_help = examples::section("cluster faults"))]
    Faults(FaultsArgs),

    /// Shows how a running cluster is: its objects, its time, what is due next.
    #[command(after_help = ends::table("cluster status"))]
    Status(CallArgs),
}

/// Which cluster is meant, and how it answers.
#[derive(Args, Clone, Debug)]
pub(crate) struct CallArgs {
    /// Kubeconfig of the running cluster. By default the one that the environment variable KUBECONFIG names.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,
}

/// Arguments of `cluster advance`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AdvanceArgs {
    /// How much time passes, such as `90s` or `1h30m`.
    #[arg(value_name = "DURATION")]
    pub(crate) span: Span,

    #[command(flatten)]
    pub(crate) call: CallArgs,
}

/// Arguments of `cluster faults`.
#[derive(Args, Clone, Debug)]
pub(crate) struct FaultsArgs {
    #[command(subcommand)]
    pub(crate) command: FaultsCommand,
}

/// What is done about what goes wrong.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum FaultsCommand {
    /// Shows what can go wrong, and what was made to.
    #[command(after_help = ends::table("cluster faults list"))]
    List(CallArgs),
    /// Makes something go wrong.
    #[command(after_help = ends::table("cluster faults start"))]
    Start {
        /// What, in the words of scripts.
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,

        #[command(flatten)]
        call: CallArgs,
    },
    /// Ends what goes on: the faults of these numbers, or all of them.
    #[command(after_help = ends::table("cluster faults clear"))]
    Clear {
        /// The fault's number, as `list` shows it. Without one all are ended.
        #[arg(value_name = "NUMBER")]
        number: Option<usize>,

        #[command(flatten)]
        call: CallArgs,
    },
}

/// Arguments of `cluster up`.
#[derive(Args, Debug)]
pub(crate) struct UpArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT", conflicts_with_all = ["nodes", "zones"])]
    pub(crate) snapshots: Vec<OsString>,

    /// Number of nodes, where there is no snapshot.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) nodes: u32,

    /// Number of zones that the nodes are spread over.
    #[arg(long, value_name = "Z", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=26))]
    pub(crate) zones: u32,

    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) address: IpAddr,

    /// Port to listen on; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// File that the kubeconfig is written to. By default one in the directory for temporary files.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Version of Kubernetes that is served, from 1.15 to 1.36: what it did not serve yet is absent, what it still served is there, converted.
    #[arg(long, value_name = "VERSION", default_value = "1.36", value_parser = super::versions::read)]
    pub(crate) kubernetes_version: Release,

    /// Call the admission webhooks that clients configure by URL. Without it they are kept and never called.
    #[arg(long)]
    pub(crate) call_webhooks: bool,

    /// Serve AWS' APIs as well, over plain HTTP: EKS, EC2 Auto Scaling, EC2, SQS, EventBridge, SSM, STS and Elastic Load Balancing, for the node groups of this cluster
    /// (docs/cluster-aws.md). Prints the variables that AWS' clients read.
    #[arg(long)]
    pub(crate) aws: bool,

    /// Port of AWS' APIs; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "aws")]
    pub(crate) aws_port: u16,

    /// AWS actions to refuse, as if the permission were missing, such as eks:UpdateClusterVersion. May be given several times.
    #[arg(long, value_name = "ACTION", value_delimiter = ',', requires = "aws")]
    pub(crate) aws_deny: Vec<String>,

    /// Name of the cluster in EKS. By default the one that nodes tell, else `rehearsal`.
    #[arg(long, value_name = "NAME", requires = "aws")]
    pub(crate) cluster_name: Option<String>,

    /// Directory that the cluster is kept in: it is there again after the process has ended, however that was. Begins with what the directory holds; only an
    /// empty one takes a snapshot.
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// So many times as fast as usual: instances boot, images are pulled, containers start, run and stop. The clock stays as it is, and so do the deadlines
    /// and periods of grace that objects name.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,

    /// How time passes.
    #[arg(long, value_name = "CLOCK", value_enum, default_value_t = Clock::Real)]
    pub(crate) clock: Clock,

    /// Seed of all randomness.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Who may do what. With RBAC roles and bindings decide; the kubeconfig's user may do anything.
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Mode::Rbac)]
    pub(crate) authorization_mode: Mode,

    /// Admission plugins that are left out, separated by commas. Without ServiceAccount pods mount no tokens.
    #[arg(long, value_name = "PLUGINS", value_enum, value_delimiter = ',')]
    pub(crate) disable_admission_plugins: Vec<Plugin>,

    /// How snapshots are read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// How time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clock {
    /// As outside.
    Real,
    /// Sixty times as fast: an hour in a minute. Clients see times of the future.
    Fast,
    /// It stands still, and `replank cluster advance` lets it pass.
    Step,
}

/// Reads how many times as fast.
fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    match (0.01..=10_000.0).contains(&speed) {
        true => Ok(speed),
        false => Err("expected a number from 0.01 to 10000".to_owned()),
    }
}

/// Who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Whoever shows a token may do anything.
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    /// Roles and bindings decide.
    #[value(name = "RBAC")]
    Rbac,
}

impl From<Mode> for Authorization {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::AlwaysAllow => Self::AlwaysAllow,
            Mode::Rbac => Self::Rbac,
        }
    }
}

/// Admission plugins that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plugin {
    /// Pods have a service account, and mount its token.
    #[value(name = "ServiceAccount")]
    ServiceAccount,
}
