//! The pods of the nodes that are being drained: evicted, waited for, or moved by a restart of their workload.

use replank_facts::batch::wait::wait_of;
use replank_facts::budget::{Healths, Ledger};
use replank_facts::drain::{batch_kind, is_unrecorded};
use replank_facts::node_pods::{Bound, LeavingPod};
use replank_facts::room::{Room, Search};
use replank_facts::stuck::{self, Census};
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::mark::ByHand;
use replank_protocol::waiting::{PodWait, Subject, WaitingOn};

use super::context::Context;
use super::request::Sparing;
use crate::moving::{self, Mover};

/// What evictions are measured against.
pub(super) struct Works<'r> {
    pub(super) ledger: Ledger<'r>,
    search: Option<Search<'r>>,
    census: Option<Census>,
}

/// Whether a pod takes part in what its node is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// It is on its way, or may be soon.
    Moving,
    /// It is there for long: what it waits for has nothing to do with the drain.
    Held,
}

impl<'r> Works<'r> {
    /// Everything that is under way is charged first.
    pub(super) fn new(ctx: &Context<'r>, healths: &'r mut Healths, room: Option<&'r mut Room>) -> Self {
        let mut ledger = Ledger::new(ctx.view, healths);
        for target in ctx.sent.evictions(ctx.now, None) {
            let Some(ix) = ctx.view.pods.find(&target.key) else { continue };
            let pod = &ctx.view.pods[ix];
            if pod.meta.uid == target.uid {
                ledger.charge(ix, pod);
            }
        }
        let search = room.map(|room| room.search(ctx.view));
        Self { ledger, search, census: None }
    }

    /// Moves a pod off its node, as far as that is possible now.
    pub(super) fn move_off(&mut self, ctx: &mut Context<'_>, by: &ByHand, bound: &Bound) -> Course {
        let pod = &bound.pod;
        if let Some(due) = pod.meta.deletion_timestamp {
            return self.leaves(ctx, bound, due);
        }
        if let Some(deadline) = waited_for(ctx, by, pod) {
            let subject = Subject::Pod(pod.meta.key());
            match pod.is_terminal() {
                true => ctx.wait_until(subject, WaitingOn::Pod(PodWait::Unrecorded), deadline),
                false => {
                    let since = pod.status.start_time;
                    ctx.wait_until(subject, WaitingOn::Pod(PodWait::Batch { since, deadline }), deadline);
                }
            }
            return Course::Held;
        }
        if ctx.request.options.disable_eviction {
            delete(ctx, bound);
            return Course::Moving;
        }
        if let Some(search) = &mut self.search
            && ctx.request.options.sparing == Sparing::Surge
            && let Some(deployment) = moving::moved_by(ctx.view, &ctx.request.run, bound)
        {
            moving::restart(ctx, deployment, bound, || {
                let found = search.find_beside(pod, 0).map(drop);
                found.map_err(|message| WaitingOn::Pod(PodWait::Room { pod: pod.meta.key(), message }))
            });
            return Course::Moving;
        }
        self.evict(ctx, bound)
    }

    fn evict(&mut self, ctx: &mut Context<'_>, bound: &Bound) -> Course {
        let grace_seconds = ctx.request.options.grace_seconds;
        if moving::goes_on(ctx, &self.ledger, bound) {
            return Course::Moving;
        }
        match self.ledger.check(bound.ix, &bound.pod) {
            Ok(()) => {
                self.ledger.charge(bound.ix, &bound.pod);
                moving::evict(ctx, bound, grace_seconds);
                Course::Moving
            }
            Err(on) => {
                ctx.wait(Subject::Pod(bound.key.clone()), on);
                let is_hopeless = self.ledger.hopeless(bound.ix, &bound.pod).is_some();
                if is_hopeless { Course::Held } else { Course::Moving }
            }
        }
    }

    fn leaves(&mut self, ctx: &mut Context<'_>, bound: &Bound, due: Time) -> Course {
        let pod = &bound.pod;
        let (policy, filters) = (&ctx.request.options.stuck, &ctx.request.options.filters);
        let grace = pod.meta.deletion_grace_period_seconds.unwrap_or_else(|| pod.grace_seconds());
        let leaving = LeavingPod::new(pod, due, Span::from_secs(grace));
        let on = moving::leaves(ctx.view, (policy, policy.action), &mut self.census, &leaving, ctx.now);
        let is_stuck = stuck::is_stuck(policy, pod, ctx.now);
        let looks =
            [Some(due + policy.after), filters.skip_deleted.map(|after| due + after + Span::from_secs(1))];
        for at in looks.into_iter().flatten().filter(|at| *at > ctx.now) {
            ctx.builder.wake_at(at);
        }
        ctx.wait(Subject::Pod(pod.meta.key()), on);
        if is_stuck { Course::Held } else { Course::Moving }
    }
}

/// Until when a pod is waited for, if it is a batch pod and that time has not come.
fn waited_for(ctx: &Context<'_>, by: &ByHand, pod: &Pod) -> Option<Time> {
    let span = ctx.request.options.wait_batch?;
    let is_waited_for = match pod.is_terminal() {
        true => is_unrecorded(pod),
        false => batch_kind(pod, None).is_some(),
    };
    let deadline = by.since + wait_of(pod, span);
    (is_waited_for && ctx.now < deadline).then_some(deadline)
}

fn delete(ctx: &mut Context<'_>, bound: &Bound) {
    let grace_seconds = ctx.request.options.grace_seconds;
    let effect =
        Effect::Kubernetes(KubernetesEffect::DeletePod { pod: moving::target(bound), grace_seconds });
    let key = ctx.key("delete", bound.pod.meta.uid.as_str());
    ctx.send(Subject::Pod(bound.key.clone()), "deletion", key, effect);
}
