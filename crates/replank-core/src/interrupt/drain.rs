//! Pods of interrupted nodes are moved, those first that have least time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::case::{Case, MARGIN, ReadyNodes};
use super::context::Context;
use replank_facts::batch::wait::wait_of;
use replank_facts::budget::{Healths, Ledger};
use replank_facts::node_pods::Bound;
use replank_facts::node_pods::{Actives, missing_replicas};
use replank_facts::room::{Room, Search, is_about_to_be_placed};
use replank_protocol::command::{CommandKey, Effect, KubernetesEffect, PodTarget};
use replank_protocol::waiting::{PodEnd, PodWait, Subject, WaitingOn};

/// What is kept at the end of a node for the end of a pod whose own grace is longer: half of what a spot instance has.
const GRACE_MAX: Span = Span::from_secs(60);
/// A pod that was made so long after its node was marked was made on a closed node.
const CLOSED: Span = Span::from_secs(10);
/// Pods without a node for which room is kept at a decision.
const WAITING_PODS_MAX: usize = 256;

/// See the module's page.
pub(super) fn drain(
    ctx: &mut Context<'_>,
    cases: &[Case],
    healths: &mut Healths,
    room: &mut Option<Room>,
    interrupted: &BTreeSet<NodeName>,
) {
    if cases.is_empty() {
        return;
    }
    let ready = ReadyNodes::of_all(ctx.view);
    let is_movable = |case: &&Case| is_closed(ctx, case) && !case.waits_for_another(ctx, &ready);
    let closed: Vec<&Case> = cases.iter().filter(is_movable).collect();
    let due: Vec<(&Case, Vec<&Bound>)> = closed.into_iter().map(|case| (case, due(ctx, case))).collect();
    if due.iter().all(|(_, pods)| pods.is_empty()) {
        return;
    }
    let view = ctx.view;
    let room = room.get_or_insert_with(|| Room::load(view, interrupted.clone()));
    room.set_all_closed(interrupted);
    let mut works = Works::new(ctx, Ledger::new(view, healths), room.search(view), cases);
    for (case, pods) in due {
        for bound in pods {
            works.move_off(ctx, case, bound);
        }
    }
}

/// Whether a pod that is moved off the node will not come back to it: before the cordon is seen nothing is moved, but where it
/// is too late to wait.
fn is_closed(ctx: &Context<'_>, case: &Case) -> bool {
    let is_over = case.until.is_some_and(|until| until - GRACE_MAX <= ctx.now);
    case.marked_since().is_some() || is_over
}

/// The pods of a case that are to go now: all that are no batch pods, and those of these that were waited for long enough.
fn due<'c>(ctx: &mut Context<'_>, case: &'c Case) -> Vec<&'c Bound> {
    let mut due: Vec<&Bound> = case.node_pods.movers.iter().collect();
    // Without a hook nobody keeps the instance: its batch pods have until the end, but not for ever where none is known.
    let since = case.held_since().or_else(|| case.marked_since()).unwrap_or(ctx.now);
    for batch in &case.node_pods.batch {
        let pod = &batch.bound.pod;
        let wait = since + wait_of(pod, ctx.options.plan.batch.wait);
        let deadline = last_moment(case, pod).map_or(wait, |last| last.min(wait));
        if deadline <= ctx.now {
            due.push(&batch.bound);
        } else {
            let on = WaitingOn::Pod(PodWait::Batch { since: pod.status.start_time, deadline });
            ctx.wait(Subject::Pod(pod.meta.key()), on);
            ctx.wake_at(deadline);
        }
    }
    due
}

/// When a pod must be told to go at the latest, to end before its instance does.
fn last_moment(case: &Case, pod: &Pod) -> Option<Time> {
    let grace = Span::from_secs(pod.grace_seconds()).min(GRACE_MAX);
    case.until.map(|until| until - grace - MARGIN)
}

/// What evictions are measured against.
struct Works<'r> {
    ledger: Ledger<'r>,
    search: Search<'r>,
}

impl<'r> Works<'r> {
    /// With everything charged that is under way, whichever module requested it.
    fn new(ctx: &Context<'_>, mut ledger: Ledger<'r>, mut search: Search<'r>, cases: &[Case]) -> Self {
        let view = ctx.view;
        for target in ctx.sent.evictions(ctx.now, None) {
            let Some(ix) = view.pods.find(&target.key) else { continue };
            let pod = &view.pods[ix];
            if pod.meta.uid == target.uid {
                ledger.charge(ix, pod);
                // One that finds no place waits, and takes none.
                let _found = search.fits(pod);
            }
        }
        for pod in about_to_be_placed(view) {
            let _found = search.fits(pod);
        }
        let leaving = cases.iter().flat_map(|case| &case.node_pods.leaving);
        for (pod, count) in missing_replicas(view, &mut Actives::default(), leaving) {
            let mut numbers = 0..count;
            let _last = numbers.find(|number| !search.find_for_another(&pod, *number));
        }
        Self { ledger, search }
    }

    fn move_off(&mut self, ctx: &mut Context<'_>, case: &Case, bound: &Bound) {
        let Bound { ix, pod, .. } = bound;
        let key = ctx.key("evict", &pod.meta.uid);
        let last = last_moment(case, pod);
        let is_last = last.is_some_and(|last| last <= ctx.now);
        if let Some(last) = last.filter(|_| !is_last) {
            ctx.wake_at(last);
        }
        if ctx.sent.is_under_way(ctx.now, &key) || !is_last && ctx.sent.claims(ctx.now, &key) {
            evict(ctx, pod, key);
            return;
        }
        if came_back(case, pod) && (!is_last || is_too_late(last, pod)) {
            ctx.wait(Subject::Pod(pod.meta.key()), WaitingOn::PodEnd(PodEnd::CameBack));
            return;
        }
        if self.ledger.is_granted(ctx.now, *ix, pod) {
            return;
        }
        let allowed = self.ledger.check(*ix, pod);
        let allowed = match (allowed, is_last) {
            (Ok(()), true) if !ctx.sent.is_refused(ctx.now, &key) => Ok(()),
            (Ok(()) | Err(_), true) => {
                delete(ctx, case, pod);
                return;
            }
            (Ok(()), false) => {
                let found = self.search.fits(pod);
                found.map_err(|message| WaitingOn::Pod(PodWait::Room { pod: pod.meta.key(), message }))
            }
            (Err(on), false) => Err(on),
        };
        match allowed {
            Ok(()) => {
                self.ledger.charge(*ix, pod);
                let is_begun = case.is_begun(ctx.now);
                if !is_begun {
                    case.begin(ctx);
                }
                if is_begun || is_last {
                    evict(ctx, pod, key);
                }
            }
            Err(on) => ctx.wait(Subject::Pod(pod.meta.key()), on),
        }
    }
}

/// Whether no cordon keeps a pod off its node: to evict it would have no end.
fn came_back(case: &Case, pod: &Pod) -> bool {
    let since = case.marked_since();
    since.is_some_and(|since| pod.meta.creation_timestamp.is_some_and(|created| created > since + CLOSED))
}

/// Whether a pod that came back was made when the one before it was told to go in the last moment. So would its successor be; for none of them
/// enough is left of the time to end as it ought to.
fn is_too_late(last: Option<Time>, pod: &Pod) -> bool {
    last.is_some_and(|last| pod.meta.creation_timestamp.is_some_and(|created| created >= last))
}

fn evict(ctx: &mut Context<'_>, pod: &Pod, key: CommandKey) {
    let effect = Effect::Kubernetes(KubernetesEffect::Evict { pod: target(pod), grace_seconds: None });
    ctx.send(Subject::Pod(pod.meta.key()), "eviction", key, effect);
}

/// With its instance a pod ends for certain; so it ends as orderly as the time that is left allows.
fn delete(ctx: &mut Context<'_>, case: &Case, pod: &Pod) {
    let left = case.until.map_or(0, |until| (until - ctx.now).as_millis() / 1000);
    let grace_seconds = Some(pod.grace_seconds().min(left.max(1)));
    let effect = Effect::Kubernetes(KubernetesEffect::DeletePod { pod: target(pod), grace_seconds });
    let key = ctx.key("delete-pod", &pod.meta.uid);
    ctx.send(Subject::Pod(pod.meta.key()), "deletion", key, effect);
}

fn target(pod: &Pod) -> PodTarget {
    PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() }
}

/// Pods that wait for a node and will take one at any moment, the most important first.
fn about_to_be_placed(view: &View) -> Vec<&Arc<Pod>> {
    let waiting = view.pods.unordered().map(|(_, pod)| pod).filter(|pod| is_about_to_be_placed(pod));
    let mut by_rank: BTreeMap<_, &Arc<Pod>> = BTreeMap::new();
    for pod in waiting {
        let priority = std::cmp::Reverse(pod.spec.priority.unwrap_or(0));
        by_rank.insert((priority, pod.meta.creation_timestamp, pod.meta.key()), pod);
    }
    by_rank.into_values().take(WAITING_PODS_MAX).collect()
}
