//! Whether the run still moves: when it last did, read off the View.
//!
//! A run that waits for something that somebody else's doing may end (a budget's pods become healthy, room appears) waits for
//! as long as the plan's `progressDeadline` after its last step. Steps are: a mark, a new instance or node and its
//! becoming Ready, the creation of a pod that is under a budget waited for or has an owner in common with a pod waited for,
//! the moment by which a pod on its way out is due, the end of a pod that was waited for, the end of a stage's pause, the opening of a window, the end of a person's
//! pause. All of these are written on objects or in the plan, so that a restart changes nothing; only that a run rested of which
//! nothing is written on its groups yet is remembered, and no more.

use replank_model::text::NodeName;
use replank_model::time::Time;

use super::context::{Context, GroupRoll};
use super::evict::{Drain, batch_deadline, batch_is_over};
use super::member::{NodeState, last_step};
use super::{rest, stage, stalled};
use replank_protocol::mark;
use replank_protocol::waiting::{Hope, WaitingOn};

/// What is to be made of a decision in which nothing is in motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Somebody else's doing may help until then.
    Until(Time),
    /// Only a person can help.
    Hopeless,
}

impl Outlook {
    /// Something else has moved, and may help until then.
    pub(super) fn not_before(self, at: Option<Time>) -> Self {
        match (self, at) {
            (Self::Until(until), Some(at)) => Self::Until(until.max(at)),
            (Self::Until(_) | Self::Hopeless, _) => self,
        }
    }
}

pub(super) fn outlook(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], drains: &[Drain<'_>]) -> Outlook {
    let may_end = |on: &WaitingOn| match on.hope() {
        Hope::Moving | Hope::Possible => true,
        Hope::None => false,
    };
    if ctx.waits().any(|waiting| may_end(&waiting.on)) {
        Outlook::Until(last(ctx, rolls, drains) + ctx.scope.plan.progress_deadline)
    } else {
        Outlook::Hopeless
    }
}

/// When the run last moved.
pub(super) fn last(ctx: &Context<'_>, rolls: &[GroupRoll<'_>], drains: &[Drain<'_>]) -> Time {
    let started = ctx.scope.options.started;
    let of_drains =
        drains.iter().map(|drain| drain.from.max(drain.since).max(stalled::last_step(ctx, drain.node_pods)));
    let of_tracks = rolls.iter().map(|roll| of_track(ctx, roll));
    let of_rests = ctx.rested.into_iter().chain(rest::over_since(ctx));
    of_drains.chain(of_tracks).chain(of_rests).fold(started, Time::max)
}

fn of_track(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> Time {
    let nodes = roll.nodes;
    let new = nodes.usable.iter().chain(&nodes.arriving);
    let of_nodes = new.filter_map(|name| last_step(ctx.view.node(name)?));
    let instances = nodes.loose_new.iter().chain(&nodes.loose_old);
    let of_instances = instances.filter_map(|(_, launched)| *launched);
    let queued = nodes.queue.values().flatten().map(|(_, name)| name);
    let of_marks = queued
        .chain(&nodes.held)
        .chain(&nodes.postponed)
        .chain(&nodes.skipped)
        .chain(&nodes.drained)
        .filter_map(|name| match ctx.member(name).state {
            // What was held by batch pods may move once their time is up.
            NodeState::Queued { since, ref node_pods } => {
                let over = node_pods.batch.iter().filter(|batch| batch_is_over(ctx, since, batch));
                Some(over.map(|batch| batch_deadline(ctx, since, batch)).fold(since, Time::max))
            }
            NodeState::Postponed { since, .. }
            | NodeState::Skipped { since }
            | NodeState::Drained { since } => Some(since),
            NodeState::Bystander
            | NodeState::Usable
            | NodeState::Arriving { .. }
            | NodeState::Closed
            | NodeState::Surplus { .. }
            | NodeState::Found { .. }
            | NodeState::Draining { .. }
            | NodeState::Retained { .. }
            | NodeState::Upgraded
            | NodeState::OtherNode
            | NodeState::Reopened
            | NodeState::OtherRun { .. }
            | NodeState::Newer { .. }
            | NodeState::NoInstance
            | NodeState::Kept { .. }
            | NodeState::Leaving => None,
        });
    let cordoned = nodes.queue.values().flatten().map(|(_, name)| name).chain(&nodes.held);
    let of_ends = cordoned.chain(&nodes.postponed).filter_map(|name| last_end(ctx, name));
    let of_rests = stage::last_end(ctx, roll).into_iter().chain(rest::resumed(ctx, roll));
    let of_rests = of_rests.chain(roll.moment(&ctx.scope.run, mark::AWAITED));
    of_nodes
        .chain(of_instances)
        .chain(of_marks)
        .chain(of_ends)
        .chain(of_rests)
        .fold(ctx.scope.options.started, Time::max)
}

/// When a pod on a node last ended by itself: what was waited for may be over.
fn last_end(ctx: &Context<'_>, name: &NodeName) -> Option<Time> {
    let pods = ctx.view.pods_on(name).iter().map(|ix| &ctx.view.pods[*ix]);
    let ended = pods.filter(|pod| pod.is_terminal());
    let states = ended.flat_map(|pod| pod.status.container_statuses.iter().map(|status| &status.state));
    states.filter_map(|state| state.terminated.as_ref()?.finished_at).max()
}
