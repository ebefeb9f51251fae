//! How a pod leaves its node, as a roll and a drain have it in common: by eviction within the budgets, or by a rolling restart of its workload.

use std::sync::Arc;

use replank_facts::budget::Ledger;
use replank_facts::node_pods::{Bound, LeavingPod};
use replank_facts::plan::StuckTerminating;
use replank_facts::singleton::{is_being_replaced, is_restarted_by, is_singleton, surging};
use replank_facts::stuck::{self, Census};
use replank_model::object::workload::Deployment;
use replank_model::text::{RunId, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{
    CommandKey, Effect, KubernetesEffect, PodTarget, Restartable, WorkloadTarget,
};
use replank_protocol::mark;
use replank_protocol::policy::StuckAction;
use replank_protocol::waiting::{PodWait, RunWait, Subject, WaitingOn};

use crate::sent::Sent;

/// How long an eviction that was granted may take to be seen before it is looked at again.
const GRANTED_SEEN: Span = Span::from_secs(5);

/// One decision in the making that moves pods.
pub(crate) trait Mover {
    /// The moment.
    fn now(&self) -> Time;
    /// What was sent.
    fn sent(&self) -> &Sent;
    /// The key of an effect on something.
    fn key(&self, effect: &str, on: &str) -> CommandKey;
    /// Sends a command, unless it is under way.
    fn send(&mut self, subject: Subject, what: &str, key: CommandKey, effect: Effect);
    /// Goes on with a command that is under way, or refused and to be tried again; whether it is.
    fn renew(&mut self, subject: Subject, key: &CommandKey) -> bool;
    /// Says why something waits.
    fn wait(&mut self, what: Subject, on: WaitingOn);
    /// Says why something waits for a moment that is known.
    fn wait_until(&mut self, what: Subject, on: WaitingOn, at: Time);
}

/// The eviction of a pod.
pub(crate) fn eviction(bound: &Bound, grace_seconds: Option<i64>) -> Effect {
    Effect::Kubernetes(KubernetesEffect::Evict { pod: target(bound), grace_seconds })
}

/// Evicts a pod, unless that is under way.
pub(crate) fn evict(mover: &mut impl Mover, bound: &Bound, grace_seconds: Option<i64>) {
    let key = mover.key("evict", bound.pod.meta.uid.as_str());
    mover.send(Subject::Pod(bound.key.clone()), "eviction", key, eviction(bound, grace_seconds));
}

/// A pod's incarnation.
pub(crate) fn target(bound: &Bound) -> PodTarget {
    PodTarget { key: bound.key.clone(), uid: bound.pod.meta.uid.clone() }
}

/// Goes on with an eviction that was asked for before, as an answer or the budget's status tells; whether it was.
pub(crate) fn goes_on(mover: &mut impl Mover, ledger: &Ledger<'_>, bound: &Bound) -> bool {
    let now = mover.now();
    if mover.sent().knows_eviction(&bound.pod.meta.uid) {
        let key = mover.key("evict", bound.pod.meta.uid.as_str());
        // What something other than a budget refuses keeps nothing for itself until it is tried again: others may need the same budget.
        if mover.renew(Subject::Pod(bound.key.clone()), &key) {
            return true;
        }
    }
    let is_granted = ledger.is_granted(now, bound.ix, &bound.pod);
    if is_granted {
        let on = WaitingOn::Run(RunWait::Effect { what: Text::from("eviction") });
        mover.wait_until(Subject::Pod(bound.key.clone()), on, now + GRANTED_SEEN);
    }
    is_granted
}

/// The Deployment whose rolling restart is to move a pod, where singletons are to be moved so.
pub(crate) fn moved_by<'v>(view: &'v View, run: &RunId, bound: &Bound) -> Option<&'v Arc<Deployment>> {
    // One that is not Ready has nothing to lose.
    let deployment = bound.pod.is_ready().then(|| surging(view, &bound.pod).ok()).flatten()?;
    // While a restart is under way there is one pod more, and the budget may let one go.
    let is_moved = is_singleton(view, bound.ix, &bound.pod) || is_restarted_by(deployment, run, &bound.pod);
    is_moved.then_some(deployment)
}

/// Moves a pod by a rolling restart of its Deployment, if a second one like it has room.
pub(crate) fn restart(
    mover: &mut impl Mover,
    deployment: &Deployment,
    bound: &Bound,
    room: impl FnOnce() -> Result<(), WaitingOn>,
) {
    let subject = Subject::Pod(bound.key.clone());
    let restarted = deployment.spec.template.meta.annotations.value(mark::RESTARTED_AT);
    if is_being_replaced(deployment, &bound.pod) {
        let since = restarted.and_then(|text| text.parse().ok());
        mover.wait(subject, WaitingOn::Pod(PodWait::Restart { workload: deployment.meta.key(), since }));
        return;
    }
    if let Err(on) = room() {
        mover.wait(subject, on);
        return;
    }
    let meta = &deployment.meta;
    let workload = WorkloadTarget { kind: Restartable::Deployment, key: meta.key(), uid: meta.uid.clone() };
    let effect = Effect::Kubernetes(KubernetesEffect::RestartWorkload {
        workload,
        version: meta.resource_version,
        at: mover.now(),
    });
    // Each restart makes a new generation: one is asked for once, whatever is seen of it.
    let key = mover.key("restart", &format!("{}/{}", meta.uid, meta.generation));
    mover.send(subject, "rolling restart of its Deployment", key, effect);
}

/// What a pod on its way out waits for; the cluster's stuck pods are counted when one is first met.
pub(crate) fn leaves(
    view: &View,
    (policy, action): (&StuckTerminating, StuckAction),
    census: &mut Option<Census>,
    leaving: &LeavingPod,
    now: Time,
) -> WaitingOn {
    let evidence = stuck::is_stuck(policy, &leaving.pod, now).then(|| {
        let census = census.get_or_insert_with(|| Census::of(view, policy, now));
        census.evidence(view, &leaving.pod)
    });
    match evidence.flatten() {
        Some(evidence) => WaitingOn::Pod(PodWait::Stuck { action, evidence: Box::new(evidence) }),
        None => WaitingOn::Pod(PodWait::Terminating { pods: 1, grace_max: leaving.grace }),
    }
}
