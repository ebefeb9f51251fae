//! Arguments of `upgrade`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use replank_lifecycle::calendar::Policy;
use replank_lifecycle::release::Release;
use replank_model::time::{Span, Time};

use super::run::{UpgradeResumeArgs, UpgradeRollbackArgs, UpgradeRunArgs, UpgradeStateArgs};
pub(crate) use super::values::{RouteWord, release};
use super::values::{ahead, day_or_time, kubelet};
use crate::cli::limit;
use crate::ends;
use crate::live::LiveArgs;
use crate::output::{AnswerFormat, DocumentFormat};
use crate::snapshot::ReadArgs;

/// Arguments of `upgrade`.
#[derive(Args, Debug)]
pub(crate) struct UpgradeArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: UpgradeCommand,
}

/// What `upgrade` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum UpgradeCommand {
    /// Lists how long Amazon EKS supports each Kubernetes version, and fails if support ends soon. Changes nothing.
    ///
    /// The dates are built in (`replank data` shows their age); --calendar reads them from AWS output. docs/upgrade.md
    /// has examples.
    #[command(after_help = ends::table("upgrade calendar"))]
    Calendar(CalendarArgs),

    /// Lists the dates ahead for one cluster, and whether what is installed in it is compatible with its version; exits with code 3 if something needs attention. Changes nothing.
    ///
    /// Made for a job that runs once a month. SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; without it, the live cluster is read. --eks takes what `aws eks describe-cluster` and others
    /// print. docs/upgrade.md has examples.
    #[command(after_help = ends::table("upgrade watch"))]
    Watch(UpgradeWatchArgs),

    /// Plans the upgrade to another version: every step in order, what blocks it and how to resolve that, how long it takes, and how to roll it back. Changes
    /// nothing.
    ///
    /// SNAPSHOT is what `kubectl get … -A -o json` (or `-o yaml`) prints; without it, the live cluster is read. --eks takes what `aws eks describe-cluster` and others print. The
    /// replacement of each node group is rehearsed. docs/upgrade.md has examples.
    #[command(after_help = ends::table("upgrade plan"))]
    Plan(UpgradePlanArgs),

    /// Carries out the plan of a live EKS cluster, step by step: control plane, add-ons, node groups. Asks first.
    ///
    /// It reads the cluster and EKS, shows the plan with what EKS's insights say, and is recorded in the cluster, so that another process can go on with it. docs/upgrade.md
    /// has examples.
    #[command(after_help = ends::table("upgrade run"))]
    Run(Box<UpgradeRunArgs>),

    /// Goes on with an upgrade that was begun: after Ctrl-C, a step that failed, or the end of its process.
    #[command(after_help = ends::table("upgrade resume"))]
    Resume(UpgradeResumeArgs),

    /// Shows how far the upgrades of a cluster are. Changes nothing.
    #[command(after_help = ends::table("upgrade status"))]
    Status(UpgradeStateArgs),

    /// Takes the control plane of a live EKS cluster back to the version before, where EKS does that: within 7 days, while no node is newer. Asks first.
    #[command(after_help = ends::table("upgrade rollback"))]
    Rollback(UpgradeRollbackArgs),

    /// Ends an upgrade that no process works on: its record is removed, and what was done stays.
    #[command(after_help = ends::table("upgrade cancel"))]
    Cancel(UpgradeStateArgs),
}

/// Arguments of `upgrade plan`.
#[derive(Args, Debug)]
pub(crate) struct UpgradePlanArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(super) snapshots: Vec<OsString>,

    /// The Kubernetes version to go to, such as 1.36.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(super) to: Release,

    /// Additional input and options.
    #[command(flatten)]
    pub(super) way: WayArgs,

    /// Skips the rehearsals of the rolls: their duration, and whether they finish, is then unknown.
    #[arg(long)]
    pub(super) no_rehearsal: bool,

    /// Seed of the rehearsals.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,

    /// Time of the snapshot, such as 2026-11-20T09:52:00Z or 2026-11-20. By default it is taken from the snapshot; without a snapshot it is now.
    #[arg(long, value_name = "TIME", value_parser = day_or_time)]
    pub(super) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(super) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(super) read: ReadArgs,

    /// Output format; docs/upgrade.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = DocumentFormat::Text)]
    pub(super) output: DocumentFormat,
}

/// Arguments of `upgrade watch`.
#[derive(Args, Debug)]
pub(crate) struct UpgradeWatchArgs {
    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(super) snapshots: Vec<OsString>,

    /// Support that ends within this time needs attention, such as 90d.
    #[arg(long, value_name = "SPAN", value_parser = ahead, default_value = "90d")]
    pub(super) within: Span,

    /// Version of the control plane. It overrides what the API server and EKS report, and is needed only if neither does.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(super) from: Option<Release>,

    /// EKS output as JSON: describe-cluster, list-addons, describe-addon, describe-addon-versions, list-insights. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(super) eks: Vec<PathBuf>,

    /// Manifests, charts and other input of `replank scan`, to find API versions that the next version removes.
    #[arg(long, value_name = "PATH")]
    pub(super) scan: Vec<PathBuf>,

    /// The cluster's `upgradePolicy`, if no --eks file has it.
    #[arg(long, value_name = "POLICY", value_parser = policy, default_value = "EXTENDED")]
    pub(super) policy: Policy,

    /// Dates that replace the built-in ones: what `aws eks describe-cluster-versions` prints.
    #[arg(long, value_name = "FILE")]
    pub(super) calendar: Vec<PathBuf>,

    /// Lists the dates of all versions that EKS will offer, not only of the next two.
    #[arg(long)]
    pub(super) all: bool,

    /// Reference time, such as 2026-11-20T09:52:00Z or 2026-11-20. By default the snapshot's; without a snapshot it is now.
    #[arg(long, value_name = "TIME", value_parser = day_or_time)]
    pub(super) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(super) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(super) read: ReadArgs,

    /// Output format; docs/upgrade.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(super) output: AnswerFormat,
}

impl UpgradeWatchArgs {
    /// The same as additional input of a plan.
    pub(super) fn way(&self) -> WayArgs {
        WayArgs {
            from: self.from,
            eks: self.eks.clone(),
            scan: self.scan.clone(),
            kubelet: Vec::new(),
            calendar: self.calendar.clone(),
            route: None,
            hop_takes: None,
            addon_takes: None,
            bake: None,
        }
    }
}

/// Additional input about the cluster, and how to upgrade it.
#[derive(Args, Clone, Debug)]
pub(crate) struct WayArgs {
    /// Version of the control plane. It overrides what the API server and EKS report, and is needed only if neither does.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(crate) from: Option<Release>,

    /// EKS output as JSON: describe-cluster, describe-nodegroup, list-addons, describe-addon, describe-addon-versions, list-insights,
    /// describe-update, `aws ec2 describe-subnets`. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) eks: Vec<PathBuf>,

    /// Manifests, charts and other input of `replank scan`, to find API versions that are removed on the way.
    #[arg(long, value_name = "PATH")]
    pub(crate) scan: Vec<PathBuf>,

    /// Arguments of a group's kubelets: its user data or a NodeConfig, also in base64 or as `aws ec2
    /// describe-launch-template-versions` prints it.
    #[arg(long, value_name = "GROUP=FILE", value_parser = kubelet)]
    pub(crate) kubelet: Vec<(String, PathBuf)>,

    /// Dates of the calendar that replace the built-in ones: what `aws eks describe-cluster-versions` prints.
    #[arg(long, value_name = "FILE")]
    pub(crate) calendar: Vec<PathBuf>,

    /// When to roll nodes. By default as rarely as the version skew policy allows.
    #[arg(long, value_enum, value_name = "WAY")]
    pub(crate) route: Option<RouteWord>,

    /// Assumed duration of one control plane step. Default 15m.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    pub(crate) hop_takes: Option<Span>,

    /// Assumed duration of one add-on update. Default 5m.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    pub(crate) addon_takes: Option<Span>,

    /// How long the control plane is watched after each step. Default 1d; 0d skips this.
    #[arg(long, value_name = "SPAN", value_parser = ahead)]
    pub(crate) bake: Option<Span>,
}

/// Arguments of `rehearse` for an upgrade.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The upgrade of a cluster")]
pub(crate) struct UpgradeRehearsalArgs {
    /// Rehearses the whole upgrade to another Kubernetes version instead of one roll, in the order of `replank upgrade plan`; see docs/upgrade.md.
    #[arg(
        long,
        value_name = "VERSION",
        value_parser = release,
        conflicts_with_all = ["plan", "roll", "script", "connections", "seeds", "timeline", "start_sweep", "limit", "autoscaler", "groups", "prices", "load", "interruptions"]
    )]
    pub(crate) upgrade_to: Option<Release>,

    /// Continues past blocking findings as if they were resolved, and shows what would fail.
    #[arg(long)]
    pub(crate) as_if_cleared: bool,

    /// Additional input and options.
    #[command(flatten)]
    pub(crate) way: WayArgs,
}

impl UpgradeRehearsalArgs {
    /// An upgrade option without --upgrade-to.
    pub(crate) fn stray(&self) -> Option<&'static str> {
        let WayArgs { from, eks, scan, kubelet, calendar, route, hop_takes, addon_takes, bake } = &self.way;
        let given = [
            ("--as-if-cleared", self.as_if_cleared),
            ("--from", from.is_some()),
            ("--eks", !eks.is_empty()),
            ("--scan", !scan.is_empty()),
            ("--kubelet", !kubelet.is_empty()),
            ("--calendar", !calendar.is_empty()),
            ("--route", route.is_some()),
            ("--hop-takes", hop_takes.is_some()),
            ("--addon-takes", addon_takes.is_some()),
            ("--bake", bake.is_some()),
        ];
        let stray = given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name);
        stray.filter(|_| self.upgrade_to.is_none())
    }
}

/// Arguments of `upgrade calendar`.
#[derive(Args, Debug)]
pub(crate) struct CalendarArgs {
    /// Only these versions, such as 1.33,1.35.
    #[arg(long, value_name = "VERSION", value_delimiter = ',', value_parser = release)]
    pub(super) of: Vec<Release>,

    /// Only this cluster's version and upgrade policy: what `aws eks describe-cluster` prints.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["of", "policy"])]
    pub(super) eks: Option<PathBuf>,

    /// Exits with code 3 if the current support of a version ends within this time, such as 90d, or has ended. Without --of, every
    /// version that is still supported counts.
    #[arg(long, value_name = "SPAN", value_parser = ahead)]
    pub(super) fail_within: Option<Span>,

    /// The clusters' `upgradePolicy`: what happens at the end of standard support.
    #[arg(long, value_name = "POLICY", value_parser = policy, default_value = "EXTENDED")]
    pub(super) policy: Policy,

    /// Dates that replace the built-in ones: what `aws eks describe-cluster-versions` prints, or rows as `replank data --table calendar -o json`
    /// prints them.
    #[arg(long, value_name = "FILE")]
    pub(super) calendar: Vec<PathBuf>,

    /// Also versions that are no longer supported.
    #[arg(long)]
    pub(super) all: bool,

    /// Reference date, such as 2026-11-20 or 2026-11-20T09:52:00Z. Default: today.
    #[arg(long, value_name = "TIME", value_parser = day_or_time)]
    pub(super) now: Option<Time>,

    /// Output format; docs/upgrade.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(super) output: AnswerFormat,
}

fn policy(text: &str) -> Result<Policy, String> {
    Policy::parse(&text.to_uppercase()).ok_or_else(|| "expected STANDARD or EXTENDED".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_one_of_two() {
        assert_eq!(policy("standard"), Ok(Policy::Standard));
        assert!(policy("none").is_err());
    }
}
