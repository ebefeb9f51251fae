//! Arguments of `replank cluster`.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::ends;
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
    /// token. Controllers, scheduler and kubelets are simulated; no container runs. Bodies of requests are JSON.
    #[command(after_help = ends::table("cluster up"))]
    Up(Box<UpArgs>),
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

    /// How time passes.
    #[arg(long, value_name = "CLOCK", value_enum, default_value_t = Clock::Real)]
    pub(crate) clock: Clock,

    /// Seed of all randomness.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,

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
}
