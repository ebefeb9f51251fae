//! Which pods go when there are too many (`controller_utils.go`, `ActivePodsWithRanks`).

use std::cmp::Ordering;
use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::pod::{Pod, PodPhase, RestartPolicy};
use replank_model::object::workload::ReplicaSet;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_model::view::Ix;
use rustc_hash::FxHashMap;

use super::Replicated;
use crate::controllers::Ctx;
use crate::controllers::index::Index;

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Chooses `count` of the pods.
pub(super) fn choose<R: Replicated>(
    ctx: &Ctx<'_>,
    index: &Index,
    set: &R,
    active: Vec<Arc<Pod>>,
    count: usize,
) -> Vec<Arc<Pod>> {
    if count >= active.len() {
        return active;
    }
    let crowd = crowd(ctx, index, set);
    let now = ctx.api.now();
    let mut ranked: Vec<(usize, Arc<Pod>)> =
        active.into_iter().map(|pod| (crowd.get(&pod.node).copied().unwrap_or(0), pod)).collect();
    ranked.sort_by(|(rank_a, a), (rank_b, b)| compare(a, *rank_a, b, *rank_b, now));
    ranked.into_iter().take(count).map(|(_, pod)| pod).collect()
}

/// Active pods of all ReplicaSets with the same owner, by node (`getIndirectlyRelatedPods`). Without an owner nobody
/// is related, not even the set's own pods.
fn crowd<R: Replicated>(ctx: &Ctx<'_>, index: &Index, set: &R) -> FxHashMap<Option<NodeName>, usize> {
    let mut crowd = FxHashMap::default();
    let Some(owner) = set.meta().controller() else { return crowd };
    if R::KIND != Kind::ReplicaSet {
        return crowd;
    }
    let view = ctx.view();
    let mut seen = std::collections::BTreeSet::new();
    for slot in index.owned_by(Kind::ReplicaSet, &owner.uid) {
        let Some(related) = view.replica_sets.get(Ix::<ReplicaSet>::new(slot)) else { continue };
        let Some(selector) = related.selector() else { continue };
        for ix in view.select_pods(&related.meta.namespace, &selector) {
            let pod = &view.pods[ix];
            if seen.insert(ix) && pod.is_active() {
                *crowd.entry(pod.node.clone()).or_default() += 1;
            }
        }
    }
    crowd
}

/// `Less` means: goes first.
fn compare(a: &Pod, rank_a: usize, b: &Pod, rank_b: usize, now: Time) -> Ordering {
    let ready = (a.is_ready(), b.is_ready());
    a.node
        .is_some()
        .cmp(&b.node.is_some())
        .then_with(|| phase(a).cmp(&phase(b)))
        .then_with(|| ready.0.cmp(&ready.1))
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then_with(|| rank_b.cmp(&rank_a))
        .then_with(|| match ready {
            (true, true) => younger_first(a.ready_since(), b.ready_since(), now, a, b),
            (true | false, true | false) => Ordering::Equal,
        })
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| younger_first(a.meta.creation_timestamp, b.meta.creation_timestamp, now, a, b))
        // Upstream's order of equals is that of its cache, that is by chance.
        .then_with(|| a.meta.uid.cmp(&b.meta.uid))
}

fn phase(pod: &Pod) -> u8 {
    match pod.status.phase {
        PodPhase::Pending => 0,
        PodPhase::Unknown => 1,
        PodPhase::Running | PodPhase::Succeeded | PodPhase::Failed => 2,
    }
}

fn deletion_cost(pod: &Pod) -> i32 {
    pod.meta.annotations.value(DELETION_COST).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Times are compared in powers of two of the age; those of one power by uid, which is by chance.
fn younger_first(a: Option<Time>, b: Option<Time>, now: Time, pod_a: &Pod, pod_b: &Pod) -> Ordering {
    match (a, b) {
        _ if a == b => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(a), Some(b)) => {
            magnitude(a, now).cmp(&magnitude(b, now)).then_with(|| pod_a.meta.uid.cmp(&pod_b.meta.uid))
        }
    }
}

/// The binary logarithm of an age in nanoseconds; -1 for none.
fn magnitude(since: Time, now: Time) -> i64 {
    let nanos = i128::from((now - since).as_millis()) * 1_000_000;
    if nanos > 0 { i64::from(nanos.ilog2()) } else { -1 }
}

/// Most restarts of any container; sidecars count only where the others are equal.
fn restarts(pod: &Pod) -> (i32, i32) {
    let most = |counts: &mut dyn Iterator<Item = i32>| counts.max().unwrap_or(0);
    let is_sidecar = |name: &str| {
        pod.spec.init_containers.iter().any(|container| {
            &*container.name == name && container.restart_policy == Some(RestartPolicy::Always)
        })
    };
    let regular = most(&mut pod.status.container_statuses.iter().map(|status| status.restart_count));
    let sidecars = most(
        &mut pod
            .status
            .init_container_statuses
            .iter()
            .filter(|status| is_sidecar(&status.name))
            .map(|status| status.restart_count),
    );
    (regular, sidecars)
}
