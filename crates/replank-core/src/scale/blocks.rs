//! Which pods keep their node, whatever room there is elsewhere.
//!
//! Source: Cluster Autoscaler's FAQ, "What types of pods can prevent CA from removing a node?", and its drainability rules. Batch pods are
//! our addition, as they are waited for everywhere else ([`replank_facts::drain`]).

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};

use super::options::DownOptions;
use replank_facts::budget::Ledger;
use replank_facts::drain::{SAFE_TO_EVICT, batch_kind, daemon_set, is_daemon, is_unrecorded};
use replank_protocol::policy::BatchKind;
use replank_protocol::waiting::Blocks;
use replank_schedule::predicate::tolerates_cordon;

/// Annotation: volumes of the node that a pod may lose, by name.
const SAFE_VOLUMES: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
/// A system pod without a budget keeps its node for so long only (Cluster Autoscaler, drainability rule `system`).
const SYSTEM_PODS_FOR: Span = Span::from_minutes(60);

/// What becomes of a pod when its node goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PodFate {
    /// It goes with the node: a DaemonSet's, a static one, one that has ended.
    Goes,
    /// It is evicted, and it does not matter whether it finds a place: its priority is below the cutoff.
    Ends,
    /// It is evicted, and needs a place.
    Moves,
    /// It keeps the node.
    Keeps(Blocks),
}

/// What becomes of a pod, budgets aside.
pub(super) fn fate(view: &View, options: &DownOptions, cutoff: i32, pod: &Pod, now: Time) -> PodFate {
    if pod.is_terminal() {
        return if is_unrecorded(pod) { PodFate::Keeps(Blocks::Unrecorded) } else { PodFate::Goes };
    }
    if pod.is_mirror() || pod.is_terminating() || (is_daemon(pod) && daemon_set(view, pod).is_some()) {
        return PodFate::Goes;
    }
    // That it may be evicted does not keep its successor off.
    if pod.meta.controller().is_some() && tolerates_cordon(&pod.spec.tolerations, false) {
        return PodFate::Keeps(Blocks::ToleratesCordon);
    }
    let safe = pod.meta.annotations.value(SAFE_TO_EVICT);
    if safe == Some("true") {
        return PodFate::Moves;
    }
    if pod.spec.priority.unwrap_or(0) < cutoff {
        return PodFate::Ends;
    }
    match blocks(view, options, pod, now)
        .or((safe == Some("false")).then_some(Blocks::NotSafe))
        .or_else(|| local(options, pod))
    {
        Some(why) => PodFate::Keeps(why),
        None => PodFate::Moves,
    }
}

/// What its controller and its namespace say.
fn blocks(view: &View, options: &DownOptions, pod: &Pod, now: Time) -> Option<Blocks> {
    let Some(owner) = pod.meta.controller() else { return Some(Blocks::Bare) };
    let key = Key::new(pod.meta.namespace.clone(), owner.name.clone());
    let kind = Kind::of(&owner.api_version, &owner.kind);
    let replicas = match kind {
        Some(Kind::ReplicaSet) => view.replica_sets.by_key(&key).and_then(|set| set.spec.replicas),
        Some(Kind::StatefulSet) => view.stateful_sets.by_key(&key).and_then(|set| set.spec.replicas),
        Some(Kind::ReplicationController) => {
            view.replication_controllers.by_key(&key).and_then(|controller| controller.spec.replicas)
        }
        Some(Kind::Job) => None,
        Some(_) | None if options.skips_custom_controllers => {
            return Some(Blocks::CustomController(owner.kind.clone()));
        }
        Some(_) | None => None,
    };
    if let Some(replicas) = replicas.filter(|replicas| *replicas < options.replicas_min) {
        return Some(Blocks::FewReplicas { replicas, min: options.replicas_min });
    }
    // Cluster Autoscaler moves a Job's pod; a run of ours never ends one half way, and here nothing presses.
    let batch = batch_kind(pod, None).filter(|kind| *kind != BatchKind::NotSafeToEvict);
    if let Some(kind) = batch.filter(|_| options.skips_batch) {
        return Some(Blocks::Batch(kind));
    }
    let is_system = pod.meta.namespace.as_str() == "kube-system";
    let has_budget = || view.pods.find(&pod.meta.key()).is_some_and(|ix| !view.budgets_of(ix).is_empty());
    if options.skips_system_pods && is_system && !has_budget() {
        let until = pod.meta.creation_timestamp.unwrap_or(now) + SYSTEM_PODS_FOR;
        return (now < until).then_some(Blocks::System { until });
    }
    None
}

/// Data that would be lost with the node.
fn local(options: &DownOptions, pod: &Pod) -> Option<Blocks> {
    if !options.skips_local_storage {
        return None;
    }
    let safe: Vec<&str> = pod
        .meta
        .annotations
        .value(SAFE_VOLUMES)
        .map(|names| names.split(',').map(str::trim).collect())
        .unwrap_or_default();
    let keeps = pod.spec.volumes.iter().find(|volume| {
        let in_memory = volume.source.empty_dir.as_ref().is_some_and(|dir| &*dir.medium == "Memory");
        let is_local = volume.source.host_path.is_some() || volume.source.empty_dir.is_some();
        is_local && !in_memory && !safe.contains(&&*volume.name)
    })?;
    Some(Blocks::LocalStorage(keeps.name.clone()))
}

/// Whether the pod's budget lets it go, besides all that were charged; then it is charged.
pub(super) fn charge(ledger: &mut Ledger<'_>, ix: Ix<Pod>, pod: &Pod) -> Result<(), Blocks> {
    allowed(ledger, ix, pod)?;
    ledger.charge(ix, pod);
    Ok(())
}

/// Whether the pod's budget lets it go, besides all that were charged.
pub(super) fn allowed(ledger: &mut Ledger<'_>, ix: Ix<Pod>, pod: &Pod) -> Result<(), Blocks> {
    let is_asked = match pod.status.phase {
        PodPhase::Running | PodPhase::Unknown | PodPhase::Pending => {
            pod.meta.annotations.value(SAFE_TO_EVICT) != Some("true")
        }
        PodPhase::Succeeded | PodPhase::Failed => false,
    };
    if is_asked { ledger.check(ix, pod).map_err(Blocks::Budget) } else { Ok(()) }
}
