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

use super::{Parts, Replicated};
use crate::controllers::Ctx;
use crate::controllers::index::Index;
use crate::ties::SharedTies;

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Chooses `count` of the pods.
pub(super) fn choose<R: Replicated>(
    ctx: &Ctx<'_>,
    parts: &Parts<'_>,
    set: &R,
    active: Vec<Arc<Pod>>,
    count: usize,
) -> Vec<Arc<Pod>> {
    if count >= active.len() {
        return active;
    }
    let crowd = crowd(ctx, parts.index, set);
    let now = ctx.api.now();
    let mut ranked: Vec<(usize, Arc<Pod>)> =
        active.into_iter().map(|pod| (crowd.get(&pod.node).copied().unwrap_or(0), pod)).collect();
    ranked.sort_by(|(rank_a, a), (rank_b, b)| in_order(a, *rank_a, b, *rank_b));
    let (last_rank, last) = &ranked[count - 1];
    let tied: Vec<bool> =
        ranked.iter().map(|(rank, pod)| compare(pod, *rank, last, *last_rank, now).is_eq()).collect();
    let pods = ranked.into_iter().map(|(_, pod)| pod).collect();
    cut(parts.ties.as_ref(), pods, count, &tied, now)
}

/// The first `count` of ranked pods. `tied` tells which of them are equals of the last one that goes: among these, somebody
/// else may draw the lots.
fn cut(
    ties: Option<&SharedTies>,
    mut pods: Vec<Arc<Pod>>,
    count: usize,
    tied: &[bool],
    now: Time,
) -> Vec<Arc<Pod>> {
    let from = tied.iter().position(|tied| *tied).unwrap_or(count);
    let to = from + tied[from..].iter().take_while(|tied| **tied).count();
    if let Some(ties) = ties.filter(|_| to > count) {
        ties.order_victims(now, &mut pods[from..to]);
    }
    pods.truncate(count);
    pods
}

/// Chooses `count` of a Job's pods, which are ranked by less (`ActivePods`).
pub(crate) fn choose_plainly(
    ties: Option<&SharedTies>,
    mut pods: Vec<Arc<Pod>>,
    count: usize,
    now: Time,
) -> Vec<Arc<Pod>> {
    if count == 0 || count >= pods.len() {
        pods.truncate(count);
        return pods;
    }
    pods.sort_by(|a, b| compare_plainly(a, b).then_with(|| a.meta.uid.cmp(&b.meta.uid)));
    let tied: Vec<bool> = pods.iter().map(|pod| compare_plainly(pod, &pods[count - 1]).is_eq()).collect();
    cut(ties, pods, count, &tied, now)
}

/// `Less` means: goes first; `Equal`: chance decides.
pub(crate) fn compare_plainly(a: &Pod, b: &Pod) -> Ordering {
    let younger = |a: Option<Time>, b: Option<Time>| match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(a), Some(b)) => b.cmp(&a),
    };
    let key = |pod: &Pod| (pod.node.is_some(), phase(pod), pod.is_ready());
    key(a)
        .cmp(&key(b))
        .then_with(|| younger(a.ready_since(), b.ready_since()))
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| younger(a.meta.creation_timestamp, b.meta.creation_timestamp))
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

/// An order that agrees with [`compare`] and goes on where chance decides. What is compared there is no order of its own: of
/// three pods the first may be equal to the second, the second to the third, and the first not to the third.
fn in_order(a: &Pod, rank_a: usize, b: &Pod, rank_b: usize) -> Ordering {
    let younger = |a: Option<Time>, b: Option<Time>| match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(a), Some(b)) => b.cmp(&a),
    };
    let ready_since = |pod: &Pod| pod.ready_since().filter(|_| pod.is_ready());
    condition(a, rank_a, b, rank_b)
        .then_with(|| younger(ready_since(a), ready_since(b)))
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| younger(a.meta.creation_timestamp, b.meta.creation_timestamp))
        .then_with(|| a.meta.uid.cmp(&b.meta.uid))
}

/// What comes before all ages.
fn condition(a: &Pod, rank_a: usize, b: &Pod, rank_b: usize) -> Ordering {
    a.node
        .is_some()
        .cmp(&b.node.is_some())
        .then_with(|| phase(a).cmp(&phase(b)))
        .then_with(|| a.is_ready().cmp(&b.is_ready()))
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then_with(|| rank_b.cmp(&rank_a))
}

/// `Less` means: goes first; `Equal`: chance decides.
fn compare(a: &Pod, rank_a: usize, b: &Pod, rank_b: usize, now: Time) -> Ordering {
    let condition = condition(a, rank_a, b, rank_b);
    if condition.is_ne() {
        return condition;
    }
    let readiness = match (a.is_ready(), b.is_ready()) {
        (true, true) => ages(a.ready_since(), b.ready_since(), now),
        (true | false, true | false) => None,
    };
    readiness.unwrap_or_else(|| {
        restarts(b).cmp(&restarts(a)).then_with(|| {
            let created = |pod: &Pod| pod.meta.creation_timestamp;
            ages(created(a), created(b), now).unwrap_or(Ordering::Equal)
        })
    })
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

/// The younger first, ages compared in powers of two; `None` if they are the same to the second. Different ages of one
/// power are left to chance, whatever else tells the pods apart.
fn ages(a: Option<Time>, b: Option<Time>, now: Time) -> Option<Ordering> {
    match (a, b) {
        _ if a == b => None,
        (None, _) => Some(Ordering::Less),
        (_, None) => Some(Ordering::Greater),
        (Some(a), Some(b)) => Some(magnitude(a, now).cmp(&magnitude(b, now))),
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
