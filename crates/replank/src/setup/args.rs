//! The command line of `setup`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use replank_model::time::Span;

use crate::args::limit;
use crate::ends;
use crate::output::SetupFormat;

/// Arguments of `setup`.
#[derive(Args, Debug)]
pub(crate) struct SetupArgs {
    /// Which cloud.
    #[command(subcommand)]
    pub(crate) command: SetupCommand,
}

/// What can be set up.
#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    /// Prints what an AWS account needs for Replank: the queue with its rules and lifecycle hooks, and a role with no permission more than is used. Creates nothing.
    #[command(after_help = ends::table("setup aws"))]
    Aws(SetupAwsArgs),
}

/// Arguments of `setup aws`.
#[derive(Args, Debug)]
pub(crate) struct SetupAwsArgs {
    /// The cluster's name in EKS.
    #[arg(long, value_name = "NAME", value_parser = cluster)]
    pub(crate) cluster: String,

    /// What Replank is to do.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = SetupMode::All)]
    pub(crate) mode: SetupMode,

    /// An Auto Scaling group that gets a termination hook, and that permissions are limited to. May be given several times. Without it, permissions are limited to groups
    /// with the tag kubernetes.io/cluster/CLUSTER=owned.
    #[arg(long, value_name = "NAME")]
    pub(crate) group: Vec<String>,

    /// The IAM role of nodes, by its name or ARN. With it, Replank may make managed node groups that have it (`replank roll --make-group`), and launch instances with no other role; without it, it may make none, and launch with any role. May be given several times.
    #[arg(long, value_name = "ROLE", value_parser = role)]
    pub(crate) node_role: Vec<String>,

    /// How long the hook holds an instance without a heartbeat.
    #[arg(long, value_name = "SPAN", value_parser = heartbeat, default_value = "5m")]
    pub(crate) heartbeat: Span,

    /// The namespace of Replank's service account.
    #[arg(short = 'n', long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) namespace: String,

    /// Replank's service account: it gets the role by EKS Pod Identity.
    #[arg(long, value_name = "NAME", default_value = "replank")]
    pub(crate) service_account: String,

    /// Writes a file into this folder, instead of printing it.
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Option<PathBuf>,

    /// Output format.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = SetupFormat::Cloudformation)]
    pub(crate) output: SetupFormat,
}

/// `--mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupMode {
    /// `replank handle`.
    Handle,
    /// `replank roll`.
    Roll,
    /// `replank autoscale`.
    Autoscale,
    /// `replank handle --autoscale`.
    HandleAutoscale,
    /// `replank upgrade run`: what roll needs, and updates of the control plane and its add-ons.
    Upgrade,
    /// All of them but upgrade.
    All,
}

/// What EKS takes for a name.
fn cluster(text: &str) -> Result<String, String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && text.len() <= 100
        && text.bytes().all(is_word);
    if is_name {
        return Ok(text.to_owned());
    }
    Err("expected the name of an EKS cluster: at most 100 letters, digits, hyphens and underscores"
        .to_owned())
}

/// What IAM takes for a role's name, with its path: `node` of `arn:aws:iam::111122223333:role/node`.
fn role(text: &str) -> Result<String, String> {
    let name = text.split_once(":role/").map_or(text, |(_, name)| name);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@_-/".contains(&byte);
    if !name.is_empty() && !name.starts_with('/') && name.len() <= 512 && name.bytes().all(is_word) {
        return Ok(name.to_owned());
    }
    Err("expected the name of an IAM role, or its ARN".to_owned())
}

/// What Auto Scaling takes for a hook (HeartbeatTimeout).
fn heartbeat(text: &str) -> Result<Span, String> {
    let span = limit(text)?;
    let range = Span::from_secs(30)..=Span::from_secs(7_200);
    if range.contains(&span) { Ok(span) } else { Err("expected 30s to 2h".to_owned()) }
}
