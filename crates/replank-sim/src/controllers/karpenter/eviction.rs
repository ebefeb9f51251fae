//! Which pods of a node that Karpenter drains are evicted next, and which are deleted because its time is up.
//!
//! Pods go in four groups, each when the one before is gone: those of no DaemonSet, those of DaemonSets, then critical ones in the same order. Karpenter asks the
//! eviction API, and waits where a budget refuses. A pod annotated `karpenter.sh/do-not-disrupt: "true"` is not evicted; the drain waits until it ends, or until the
//! NodeClaim's termination grace period is over: then every pod is deleted, so early that it has its own grace.

use replank_facts::drain::is_daemon;
use replank_model::object::Kind;
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::karpenter::{DISRUPTED_TAINT, DO_NOT_DISRUPT};
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};

use crate::context::Ctx;
use replank_apiserver::{DeleteOptions, Eviction};

/// How long after its grace a pod is waited for (`IsStuckTerminating`).
const STUCK_AFTER: Span = Span::from_secs(60);
/// How soon an eviction that was refused is asked for again at most (`evictionQueueMaxDelay`).
const AGAIN: Span = Span::from_secs(10);
/// Grace of pods that name none.
const GRACE: i64 = 30;

/// How far a drain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// Nothing is waited for any more.
    Yes,
    /// Pods are left; when to look again, whatever changes.
    No { again: Option<Time> },
}

/// The taint of a node that is drained.
pub(super) fn taint() -> Taint {
    Taint::new(DISRUPTED_TAINT, TaintEffect::NoSchedule)
}

/// Whether a pod is waited for (`IsWaitingEviction`).
pub(super) fn is_waited_for(pod: &Pod, now: Time) -> bool {
    let is_stuck = pod.meta.deletion_timestamp.is_some_and(|due| now > due + STUCK_AFTER);
    !pod.is_terminal() && !stays(pod) && !is_stuck
}

/// Whether a pod stays on a node that is drained: it tolerates the taint, or is the kubelet's own.
pub(super) fn stays(pod: &Pod) -> bool {
    let taint = taint();
    pod.is_mirror() || pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint, false))
}

/// Asks for the next evictions of a node.
pub(super) fn drain(ctx: &mut Ctx<'_>, node: &NodeName, deadline: Option<Time>) -> Drained {
    let now = ctx.api.now();
    let pods: Vec<Pod> = ctx.view().sorted_pods_on(node).into_iter().map(|pod| Pod::clone(pod)).collect();
    let left: Vec<&Pod> = pods.iter().filter(|pod| is_waited_for(pod, now)).collect();
    let Some(turn) = left.iter().map(|pod| group(pod)).min() else { return Drained::Yes };
    let mut again: Option<Time> = None;
    let mut look_by = |at: Time| again = Some(again.map_or(at, |known: Time| known.min(at)));
    for pod in left {
        if let Some(due) = pod.meta.deletion_timestamp {
            look_by(due + STUCK_AFTER + Span::from_secs(1));
            continue;
        }
        let grace = pod.spec.termination_grace_period_seconds.unwrap_or(GRACE);
        let due = deadline.map(|deadline| deadline - Span::from_secs(grace));
        if let Some((deadline, _)) = deadline.zip(due).filter(|(_, due)| now >= *due) {
            let left = (deadline - now).as_secs().clamp(1, grace.max(1));
            let options = DeleteOptions {
                grace_seconds: Some(left),
                uid: Some(pod.meta.uid.clone()),
                ..DeleteOptions::default()
            };
            let deleted = ctx.api.delete(Kind::Pod, &pod.meta.key(), &options);
            debug_assert!(deleted.is_ok(), "the pod was just read");
            continue;
        }
        due.into_iter().for_each(&mut look_by);
        let is_evicted = group(pod) == turn && pod.meta.annotations.value(DO_NOT_DISRUPT) != Some("true");
        if !is_evicted {
            continue;
        }
        let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
        if ctx.api.evict(&Eviction::of(pod.meta.key(), options)).is_err() {
            look_by(now + AGAIN);
        }
    }
    Drained::No { again }
}

/// When a pod's turn is.
fn group(pod: &Pod) -> (bool, bool) {
    let class = &*pod.spec.priority_class_name;
    (matches!(class, "system-cluster-critical" | "system-node-critical"), is_daemon(pod))
}
