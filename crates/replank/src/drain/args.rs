//! The command line of `cordon`, `uncordon` and `drain`: kubectl's flags with kubectl's meanings, and what goes beyond them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use replank_core::drain::{DryRun, OnInterrupt, Options, Sparing};
use replank_facts::kubectl::Filters;
use replank_facts::plan::VersionBound;
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::selector::Selector;
use replank_model::text::{GroupName, Text};
use replank_model::time::Span;

use crate::args::limit;
use crate::live::LiveArgs;
use crate::output::EventsFormat;

/// Which nodes, and how it is told.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodesArgs {
    /// Nodes, in the order in which they are taken up.
    #[arg(value_name = "NODE", conflicts_with_all = ["selector", "node_group", "kubelet_version", "older_than"])]
    pub(crate) nodes: Vec<String>,

    /// Nodes with such labels: 'role=web,!spot', 'zone in (a,b)'.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,

    /// Nodes of a node group. May be given several times.
    #[arg(long, value_name = "GROUP")]
    pub(crate) node_group: Vec<GroupName>,

    /// Node label whose value names a node's group.
    #[arg(long, value_name = "KEY", default_value = LABEL_EKS_NODEGROUP)]
    pub(crate) group_label: Text,

    /// Nodes whose kubelet has such a version: '<1.36', '=1.34.2', '>=1.35'.
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubelet_version: Option<VersionBound>,

    /// Nodes that were created longer ago than that: 30d.
    #[arg(long, value_name = "SPAN", value_parser = age)]
    pub(crate) older_than: Option<Span>,

    /// Objects in one answer to a list of nodes; 0 is all at once.
    #[arg(long, value_name = "NUMBER", default_value_t = 500)]
    pub(crate) chunk_size: u64,

    /// Changes nothing: client prints what would be sent, server has the API server check it, too.
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value_t = DryRunArg::None, default_missing_value = "client")]
    pub(crate) dry_run: DryRunArg,

    /// The cluster.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// Output format: json is one event per line.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = EventsFormat::Text)]
    pub(crate) output: EventsFormat,
}

/// `--dry-run`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRunArg {
    /// Everything is carried out.
    None,
    /// Nothing is sent.
    Client,
    /// Everything is sent, and nothing carried out.
    Server,
}

impl DryRunArg {
    pub(super) fn dry_run(self) -> DryRun {
        match self {
            Self::None => DryRun::None,
            Self::Client => DryRun::Client,
            Self::Server => DryRun::Server,
        }
    }
}

/// Arguments of `cordon` and `uncordon`.
#[derive(Args, Debug)]
pub(crate) struct CordonArgs {
    /// The nodes.
    #[command(flatten)]
    pub(crate) nodes: NodesArgs,
}

/// Arguments of `drain`.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct DrainArgs {
    /// The nodes.
    #[command(flatten)]
    pub(crate) nodes: NodesArgs,

    /// Ignore DaemonSet-managed pods.
    #[arg(long)]
    pub(crate) ignore_daemonsets: bool,

    /// Continue even if there are pods using emptyDir (local data that will be deleted when the node is drained).
    #[arg(long)]
    pub(crate) delete_emptydir_data: bool,

    /// Continue even if there are pods that do not declare a controller.
    #[arg(long)]
    pub(crate) force: bool,

    /// Period of time in seconds given to each pod to terminate gracefully. If negative, the pod's own.
    #[arg(long, value_name = "SECONDS", default_value_t = -1)]
    pub(crate) grace_period: i64,

    /// The length of time to wait before giving a node up, which stays cordoned; zero means infinite.
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "0s")]
    pub(crate) timeout: Span,

    /// Label selector to filter pods on the node.
    #[arg(long, value_name = "SELECTOR", value_parser = pod_selector)]
    pub(crate) pod_selector: Option<Selector>,

    /// Delete pods instead of evicting them. This bypasses disruption budgets.
    #[arg(long)]
    pub(crate) disable_eviction: bool,

    /// If a pod's deletionTimestamp is older than so many seconds, do not wait for the pod. Seconds must be greater than 0 to skip.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) skip_wait_for_delete_timeout: i64,

    /// Nodes that are drained at the same time.
    #[arg(long, value_name = "NODES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) parallel: u32,

    /// How long batch pods (of Jobs and Workflows, and those declared as batch) are waited for, from the cordon on, before they are evicted.
    #[arg(long, value_name = "SPAN", value_parser = limit)]
    pub(crate) wait_batch: Option<Span>,

    /// What to do with workloads of one replica, and those whose budget never allows an eviction: evict them, or start the successor first (a rolling restart of the Deployment).
    #[arg(long, value_enum, value_name = "HOW", default_value_t = SingletonsArg::Evict)]
    pub(crate) singletons: SingletonsArg,

    /// What becomes of the nodes that are not drained yet after Ctrl-C.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = OnInterruptArg::Keep)]
    pub(crate) on_interrupt: OnInterruptArg,

    /// Writes each decision, its reasons and what came of it to a new file, as lines of JSON: `replank report FILE` tells them.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Rehearses the drain on a copy of the cluster first, and says how long it takes.
    #[arg(long)]
    pub(crate) rehearse: bool,
}

/// `--singletons`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SingletonsArg {
    /// As kubectl: missing until the successor is Ready.
    Evict,
    /// The successor is Ready before the pod goes.
    Surge,
}

/// `--on-interrupt`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnInterruptArg {
    /// They take pods again, if they were not cordoned before.
    Uncordon,
    /// They stay cordoned.
    Keep,
}

impl DrainArgs {
    /// What the engine is told.
    pub(super) fn options(&self) -> Options {
        let skip = Span::from_secs(self.skip_wait_for_delete_timeout.max(0));
        Options {
            filters: Filters {
                ignore_daemonsets: self.ignore_daemonsets,
                delete_emptydir_data: self.delete_emptydir_data,
                force: self.force,
                pods: self.pod_selector.clone(),
                skip_deleted: (skip > Span::ZERO).then_some(skip),
            },
            grace_seconds: (self.grace_period >= 0).then_some(self.grace_period),
            timeout: (self.timeout > Span::ZERO).then_some(self.timeout),
            disable_eviction: self.disable_eviction,
            parallel: self.parallel,
            wait_batch: self.wait_batch,
            sparing: match self.singletons {
                SingletonsArg::Evict => Sparing::Evict,
                SingletonsArg::Surge => Sparing::Surge,
            },
            on_interrupt: match self.on_interrupt {
                OnInterruptArg::Uncordon => OnInterrupt::Uncordon,
                OnInterruptArg::Keep => OnInterrupt::Keep,
            },
            dry_run: self.nodes.dry_run.dry_run(),
            ..Options::default()
        }
    }
}

/// `30d`, or a duration.
fn age(text: &str) -> Result<Span, String> {
    let days = text.strip_suffix('d').and_then(|number| number.parse::<u32>().ok()).filter(|days| *days > 0);
    days.map_or_else(|| limit(text), |days| Ok(Span::from_minutes(i64::from(days) * 24 * 60)))
}

fn span(text: &str) -> Result<Span, String> {
    text.parse::<Span>().map_err(|error| error.to_string())
}

/// kubectl's words.
fn pod_selector(text: &str) -> Result<Selector, String> {
    text.parse::<Selector>()
        .map_err(|_| "--pod-selector=<pod_selector> must be a valid label selector".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_in_days_or_a_duration() {
        assert_eq!(age("30d"), Ok(Span::from_minutes(30 * 24 * 60)));
        assert_eq!(age("36h"), Ok(Span::from_minutes(36 * 60)));
        assert!(["0d", "-1d", "d", "1.5d", "0s", ""].into_iter().all(|text| age(text).is_err()));
    }
}
