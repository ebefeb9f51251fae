//! What happens during a drain, as kubectl says it and as events.

use replank_core::drain::{DryRun, Forecast};
use replank_facts::kubectl::{Skipped, Warning};
use replank_model::object::meta::Key;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_protocol::waiting::{DrainEnd, Waiting, WaitingOn};
use serde_json::{Value, json};

use super::remedy::remedy;

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// A node is cordoned, or uncordoned; whether it was so before.
    Marked { node: NodeName, is_cordon: bool, already: bool },
    /// What kubectl warns of before it evicts the pods of a node.
    Warning { node: NodeName, words: String },
    /// A pod is asked to go; with a restart, its Deployment.
    Asked { pod: Key, how: How },
    /// A pod has gone.
    Gone { pod: Key, how: How },
    /// Something was refused, and is tried again or not.
    Refused { what: String, message: String },
    /// A node is drained.
    Drained { node: NodeName },
    /// A node is not drained.
    Left { node: NodeName, on: DrainEnd },
    /// Something that was to be is not so yet: told again when it changes.
    Waits { waiting: Waiting },
}

/// How a pod goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By eviction.
    Evict,
    /// By deletion.
    Delete,
    /// Its Deployment is restarted.
    Restart,
}

/// What kubectl appends where nothing is changed.
pub(super) fn suffix(dry_run: DryRun) -> &'static str {
    match dry_run {
        DryRun::None => "",
        DryRun::Client => " (dry run)",
        DryRun::Server => " (server dry run)",
    }
}

impl Said {
    /// As kubectl prints it: a line for standard output, or one for standard error.
    pub(super) fn line(&self, dry_run: DryRun) -> Result<String, String> {
        let dry = suffix(dry_run);
        Ok(match self {
            Self::Marked { node, is_cordon, already } => {
                let already = if *already { "already " } else { "" };
                let word = if *is_cordon { "cordoned" } else { "uncordoned" };
                format!("node/{node} {already}{word}{dry}")
            }
            Self::Warning { words, .. } => return Err(format!("Warning: {words}")),
            Self::Asked { pod, how: How::Evict } => format!("evicting pod {pod}{dry}"),
            Self::Asked { pod, how: How::Delete } => format!("deleting pod {pod}{dry}"),
            Self::Asked { pod, how: How::Restart } => {
                format!("restarting deployment {pod}: the successor of its pod starts first{dry}")
            }
            Self::Gone { pod, how: How::Evict } => format!("pod/{} evicted{dry}", pod.name),
            Self::Gone { pod, how: How::Delete } => format!("pod/{} deleted{dry}", pod.name),
            Self::Gone { pod, how: How::Restart } => format!("pod/{} replaced{dry}", pod.name),
            Self::Refused { what, message } => return Err(format!("error when {what}: {message}")),
            Self::Drained { node } => format!("node/{node} drained{dry}"),
            Self::Left { node, on } => {
                return Err(format!(
                    "error: unable to drain node \"{node}\" due to error: {on}, continuing command...",
                    on = kubectl(on)
                ));
            }
            Self::Waits { waiting } => match remedy(&waiting.on) {
                Some(next) => return Err(format!("{waiting}\n  next: {next}")),
                None => return Err(waiting.to_string()),
            },
        })
    }

    /// As one event.
    pub(super) fn event(&self, at: Time, dry_run: DryRun) -> Value {
        let mut event = match self {
            Self::Marked { node, is_cordon, already } => {
                json!({"event": if *is_cordon { "cordoned" } else { "uncordoned" }, "node": node, "already": already})
            }
            Self::Warning { node, words } => json!({"event": "warning", "node": node, "message": words}),
            Self::Asked { pod, how } => json!({"event": how.asked(), "pod": pod.to_string()}),
            Self::Gone { pod, how } => json!({"event": how.gone(), "pod": pod.to_string()}),
            Self::Refused { what, message } => {
                json!({"event": "refused", "what": what, "message": message})
            }
            Self::Drained { node } => json!({"event": "drained", "node": node}),
            Self::Left { node, on } => {
                let (message, on) = (kubectl(on), WaitingOn::from(on.clone()));
                json!({"event": "notDrained", "node": node, "message": message, "on": on, "remedy": remedy(&on)})
            }
            Self::Waits { waiting } => {
                json!({"event": "waits", "what": waiting.what, "on": waiting.on, "message": waiting.to_string(), "remedy": remedy(&waiting.on)})
            }
        };
        event["time"] = at.to_string().into();
        match dry_run {
            DryRun::None => {}
            DryRun::Client => event["dryRun"] = "client".into(),
            DryRun::Server => event["dryRun"] = "server".into(),
        }
        event
    }
}

impl How {
    fn asked(self) -> &'static str {
        match self {
            Self::Evict => "evicting",
            Self::Delete => "deleting",
            Self::Restart => "restarting",
        }
    }

    fn gone(self) -> &'static str {
        match self {
            Self::Evict => "evicted",
            Self::Delete => "deleted",
            Self::Restart => "replaced",
        }
    }
}

/// kubectl's words for why a node is not drained: several errors stand in brackets.
pub(super) fn kubectl(on: &DrainEnd) -> String {
    match on {
        DrainEnd::RefusedPods { refused } => match refused.as_slice() {
            [only] => only.to_string(),
            several => {
                let all: Vec<String> = several.iter().map(ToString::to_string).collect();
                format!("[{}]", all.join(", "))
            }
        },
        DrainEnd::DrainTimeout { .. }
        | DrainEnd::Immovable { .. }
        | DrainEnd::Uncordoned
        | DrainEnd::NodeGone => on.to_string(),
    }
}

/// What kubectl warns of before it evicts pods of a node; nothing where there is nothing.
pub(super) fn warnings(node: &Forecast) -> Option<String> {
    let classes = [
        ("ignoring DaemonSet-managed Pods", skipped(node, Skipped::DaemonSet)),
        ("deleting Pods with local storage", going(node, Warning::LocalStorage)),
        ("deleting Pods that declare no controller", going(node, Warning::Unmanaged)),
        ("deleting Pods of a DaemonSet that is gone", going(node, Warning::Orphan)),
    ];
    let all: Vec<String> = classes
        .into_iter()
        .filter_map(|(words, pods)| {
            let pods: Vec<String> = pods.into_iter().map(ToString::to_string).collect();
            (!pods.is_empty()).then(|| format!("{words}: {}", pods.join(", ")))
        })
        .collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn skipped(node: &Forecast, why: Skipped) -> Vec<&Key> {
    node.skipped.iter().filter(|(_, skipped)| *skipped == why).map(|(pod, _)| pod).collect()
}

fn going(node: &Forecast, why: Warning) -> Vec<&Key> {
    node.going.iter().filter(|(_, warning)| *warning == Some(why)).map(|(pod, _)| pod).collect()
}
