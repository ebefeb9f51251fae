//! Whether the run still moves: when it last did, read off the View.
//!
//! A run that waits for something that somebody else's doing may end (a budget's pods become healthy, room appears) waits for
//! as long as the plan's `progressDeadline` after its last step. Steps are: a mark, a new instance or node and its
//! becoming Ready, the creation of a pod that is under a budget waited for or has an owner in common with a pod waited for,
//! the moment by which a pod on its way out is due, the end of a stage's pause, the opening of a window, the end of a person's
//! pause. All of these are written on objects or in the plan, so that a restart changes nothing; only that a run rested of which
//! nothing is written on its groups yet is remembered, and no more.

use replank_model::time::Time;

use super::evict::{Drain, batch_deadline, batch_is_over};
use super::member::{Stand, last_step};
use super::turn::{Track, Turn};
use super::{rest, stage};
use replank_facts::load::Load;
use replank_protocol::waiting::{Hope, WaitingOn};

/// What is to be made of a decision in which nothing is in motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Somebody else's doing may help until then.
    Until(Time),
    /// Only a person can help.
    Hopeless,
}

pub(super) fn outlook(turn: &mut Turn<'_>, tracks: &[Track<'_>], drains: &[Drain<'_>]) -> Outlook {
    let may_end = |on: &WaitingOn| match on.hope() {
        Hope::Moving | Hope::Possible => true,
        Hope::None => false,
    };
    if turn.waits().iter().any(|waiting| may_end(&waiting.on)) {
        Outlook::Until(last(turn, tracks, drains) + turn.scope.plan.progress_deadline)
    } else {
        Outlook::Hopeless
    }
}

/// When the run last moved.
pub(super) fn last(turn: &Turn<'_>, tracks: &[Track<'_>], drains: &[Drain<'_>]) -> Time {
    let started = turn.scope.options.started;
    let of_drains = drains.iter().map(|drain| drain.from.max(drain.since).max(of_load(turn, drain.load)));
    let of_tracks = tracks.iter().map(|track| of_track(turn, track));
    let of_rests = turn.rested.into_iter().chain(rest::over_since(turn));
    of_drains.chain(of_tracks).chain(of_rests).fold(started, Time::max)
}

fn of_track(turn: &Turn<'_>, track: &Track<'_>) -> Time {
    let lane = track.lane;
    let new = lane.usable.iter().chain(&lane.arriving);
    let of_nodes = new.filter_map(|name| last_step(turn.view.node(name)?));
    let instances = lane.loose_new.iter().chain(&lane.loose_old);
    let of_instances = instances.filter_map(|id| turn.view.instances().get(id)?.launched);
    let queued = lane.queue.values().flatten().map(|(_, name)| name);
    let of_marks =
        queued.chain(&lane.held).chain(&lane.skipped).filter_map(|name| match turn.member(name).stand {
            // What was held by batch pods may move once their time is up.
            Stand::Doomed { since, ref load } => {
                let over = load.batch.iter().filter(|batch| batch_is_over(turn, since, batch));
                Some(over.map(|batch| batch_deadline(turn, since, batch)).fold(since, Time::max))
            }
            Stand::Skipped { since } => Some(since),
            Stand::Bystander
            | Stand::Usable
            | Stand::Arriving { .. }
            | Stand::Closed
            | Stand::Surplus { .. }
            | Stand::Found { .. }
            | Stand::Draining { .. }
            | Stand::Retained { .. }
            | Stand::Reopened
            | Stand::OtherRun { .. }
            | Stand::NoInstance
            | Stand::Kept { .. }
            | Stand::Leaving => None,
        });
    let of_rests = stage::last_end(turn, track).into_iter().chain(rest::resumed(turn, track));
    of_nodes.chain(of_instances).chain(of_marks).chain(of_rests).fold(turn.scope.options.started, Time::max)
}

fn of_load(turn: &Turn<'_>, load: &Load) -> Time {
    let due = load.leaving.iter().map(|leaving| leaving.due);
    let kin = load.movers.iter().flat_map(|bound| {
        let owner = bound.pod.meta.controller().map(|owner| &owner.uid);
        let siblings = owner.map_or(&[][..], |owner| turn.view.pods_of(owner)).iter().copied();
        let budgets = turn.view.budgets_of(bound.ix).iter();
        siblings.chain(budgets.flat_map(|budget| turn.view.pods_of_budget(*budget)))
    });
    let created = kin.filter_map(|ix| turn.view.pods[ix].meta.creation_timestamp);
    due.chain(created).fold(turn.scope.options.started, Time::max)
}
