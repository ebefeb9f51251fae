//! Draining: what becomes of each pod of a node that is to be emptied.
//!
//! The order of the questions follows `kubectl drain` (kubectl `pkg/drain/filters.go`), with batch pods known besides:
//!
//! | pod | what becomes of it |
//! |---|---|
//! | mirror of a static pod | it stays: only its kubelet can end it, and goes with the machine |
//! | of a DaemonSet that exists | it stays: it would come back at once |
//! | of a DaemonSet that is gone | refused, as by kubectl without `--force` |
//! | finished (Succeeded, Failed) | nothing is left to move; it goes with the node |
//! | finished, of a Workflow, label `workflows.argoproj.io/completed: "false"` | waited for: its result is not recorded, and would be lost as "pod deleted" |
//! | on its way out | waited for |
//! | batch (see [`BatchKind`]) | waited for until the plan's deadline; then as if it were none, but refused if its work must not be run again |
//! | with an emptyDir, where the plan says `localStorage: refuse` | refused |
//! | without a controller, unless the plan says `barePods: evict` | refused: nothing would recreate it |
//! | any other | moved, by eviction |
//!
//! A node is empty when nothing is left that is moved, waited for or refused.

mod batch;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::workload::DaemonSet;
use replank_model::time::{Span, Time};
use replank_model::view::View;

pub use batch::{DO_NOT_DISRUPT, SAFE_TO_EVICT, WORKFLOW_COMPLETED, batch_kind, is_unrecorded};

use crate::batch::rerun;
use crate::plan::{BarePods, LocalStorage, Plan};
use replank_protocol::policy::{BatchKind, Refused};

/// What becomes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays and goes with the machine.
    Stays,
    /// It has finished; nothing is left to move.
    Finished,
    /// It has finished and its result is not recorded yet.
    Unrecorded,
    /// It is on its way out.
    Leaving {
        /// When it is due to be gone.
        due: Time,
        /// The grace that it was given.
        grace: Span,
    },
    /// It must not be ended half way.
    Batch {
        /// How that is known.
        kind: BatchKind,
        /// What becomes of it after the deadline.
        otherwise: Otherwise,
    },
    /// It is moved, or not.
    Plain(Otherwise),
}

/// What becomes of a running pod that is not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// It is evicted.
    Moves,
    /// It is not.
    Refused(Refused),
}

/// What becomes of a pod when its node is emptied.
#[must_use]
pub fn fate(view: &View, plan: &Plan, pod: &Pod) -> Fate {
    if pod.is_mirror() {
        return Fate::Stays;
    }
    if pod.is_terminal() {
        return if is_unrecorded(pod) { Fate::Unrecorded } else { Fate::Finished };
    }
    let is_daemon = is_daemon(pod);
    if is_daemon && daemon_set(view, pod).is_some() {
        return Fate::Stays;
    }
    if let Some(due) = pod.meta.deletion_timestamp {
        let grace = pod.meta.deletion_grace_period_seconds.unwrap_or_else(|| pod.grace_seconds());
        return Fate::Leaving { due, grace: Span::from_secs(grace) };
    }
    let otherwise = otherwise(plan, pod, is_daemon);
    match batch_kind(pod, plan.batch.selector.as_ref()) {
        Some(kind) if rerun::is_unsafe(pod) => {
            Fate::Batch { kind, otherwise: Otherwise::Refused(Refused::RerunUnsafe) }
        }
        Some(kind) => Fate::Batch { kind, otherwise },
        None => Fate::Plain(otherwise),
    }
}

fn otherwise(plan: &Plan, pod: &Pod, is_daemon: bool) -> Otherwise {
    if is_daemon {
        return Otherwise::Refused(Refused::Orphan);
    }
    if plan.local_storage == LocalStorage::Refuse && has_local_storage(pod) {
        return Otherwise::Refused(Refused::LocalStorage);
    }
    if plan.bare_pods == BarePods::Refuse && is_bare(pod) {
        return Otherwise::Refused(Refused::Bare);
    }
    Otherwise::Moves
}

/// Whether nobody would make the pod again.
#[must_use]
pub fn is_bare(pod: &Pod) -> bool {
    pod.meta.controller().is_none()
}

/// Whether the pod belongs to a DaemonSet, existing or not.
#[must_use]
pub fn is_daemon(pod: &Pod) -> bool {
    pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet" && &*owner.api_version == "apps/v1")
}

/// The DaemonSet of a pod, if it exists.
#[must_use]
pub fn daemon_set<'a>(view: &'a View, pod: &Pod) -> Option<&'a DaemonSet> {
    let owner = pod.meta.controller()?;
    let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
    view.find::<DaemonSet>(&key).filter(|set| set.meta.uid == owner.uid).map(|set| &**set)
}

/// Whether the pod has an emptyDir volume, on disk or in memory.
#[must_use]
pub fn has_local_storage(pod: &Pod) -> bool {
    pod.spec.volumes.iter().any(|volume| volume.source.empty_dir.is_some())
}

#[cfg(test)]
mod tests;
