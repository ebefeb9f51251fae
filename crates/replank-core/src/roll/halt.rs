//! Ending without being done: nothing more is begun, what was not begun is released, and every blocker is named.
//!
//! That the run has halted is written on its groups (tag [`mark::HALTED`]), so that a restart does not begin again. Then
//!
//! - nodes that were cordoned and not begun are uncordoned, ours only; from those that somebody else has uncordoned the mark
//!   is taken, lest it keep a later run away;
//! - nodes whose drain was begun stay cordoned and marked: fewer pods are left on them than on any other. Their marks,
//!   and those of nodes that were left out, expire at once, so that a later run may take them over. Where a person has cancelled
//!   the run, they are released, too: nothing of it is to be left;
//! - new nodes on which nothing runs are ended where enough others are left (nodes whose drain was begun do not count: they take
//!   no pods any more), and the group's bounds are given back as far as its nodes allow. Where they do not, the tag with the
//!   original size stays, and the report says so;
//! - what is refused meanwhile is tried again for some minutes.
//!
//! Groups on which another run is at work are left as they are: what is written there is its own, and so are the new nodes.
//!
//! Nothing is evicted any more, and no node with pods is ended. Where the plan says to roll back, or a person does, the groups
//! get their former launch template, nodes whose drain was begun are released as well, and [`crate::Core`] goes on with the
//! way back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::condition;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};

use super::clear;
use super::close::{awaits_launch, beyond, hand_over, release, restore, retire, say_leaving, surplus};
use super::evict::{Spare, Works, came_back};
use super::member::Stand;
use super::prepare::{arrivals, set_template};
use super::retain;
use super::stuck;
use super::turn::{Track, Turn};
use replank_facts::load::{Bound, Load};
use replank_facts::places::Places;
use replank_facts::plan::OnFailure;
use replank_facts::target;
use replank_protocol::command::{CommandKey, Effect, GroupEffect};
use replank_protocol::intent::Intent;
use replank_protocol::mark::{self, Halt, Halted};
use replank_protocol::waiting::{Subject, WaitingOn};

/// How long after a halt what is refused is tried again. What is refused for longer than some minutes is refused for a reason
/// that only a person can take away.
const RELEASE_WITHIN: Span = Span::from_minutes(10);

/// Writes down that the run halts; `false` if there is nothing to write it on, for nothing was begun.
pub(super) fn halt(turn: &mut Turn<'_>, tracks: &[Track<'_>], why: Halt) -> bool {
    let mut is_touched = false;
    for track in tracks.iter().filter(|track| track.is_touched() && track.group.is_some()) {
        if clear::is_held_by_another(turn, track) {
            continue;
        }
        is_touched = true;
        if track.halted.is_some() {
            continue;
        }
        let value = Halted { run: turn.scope.run.clone(), at: turn.now, why }.to_text();
        // Another run's is over. In its place at once: a way back that is started anew counts its time from what stands there.
        let from = track.group.and_then(|group| group.tags.get(mark::HALTED)).cloned();
        let effect = Effect::Group(GroupEffect::Tag {
            group: track.name.clone(),
            key: mark::HALTED.into(),
            from,
            value,
        });
        turn.send(track.subject(), "halt", key(turn, track), effect);
    }
    is_touched
}

/// Writes down that a run which has halted is taken back after all; whether that is still to be seen. The way back counts from then on,
/// however long ago the run came to its end.
pub(super) fn undo(turn: &mut Turn<'_>, tracks: &[Track<'_>]) -> bool {
    if turn.intent != Intent::Undo {
        return false;
    }
    let mut is_writing = false;
    for track in tracks {
        let Some(halted) = track.halted.as_ref().filter(|halted| halted.why != Halt::Undone) else {
            continue;
        };
        let value = Halted { at: turn.now, why: Halt::Undone, ..halted.clone() }.to_text();
        let from = track.group.and_then(|group| group.tags.get(mark::HALTED)).cloned();
        let effect = Effect::Group(GroupEffect::Tag {
            group: track.name.clone(),
            key: mark::HALTED.into(),
            from,
            value,
        });
        let id = turn.key("undo", track.name);
        turn.send(track.subject(), "undo", id, effect);
        is_writing = true;
    }
    is_writing
}

/// Whether a halt was written a moment ago and is not seen yet: until then nothing else may be begun.
pub(super) fn is_under_way(turn: &Turn<'_>, tracks: &[Track<'_>]) -> bool {
    tracks.iter().any(|track| turn.sent.is_under_way(turn.now, &key(turn, track)))
}

/// Whether something that is to be released was refused a moment ago, and will be tried again.
pub(super) fn is_tried_again(turn: &mut Turn<'_>, tracks: &[Track<'_>]) -> bool {
    let is_young = tracks.iter().filter_map(halted_at).any(|at| turn.now < at + RELEASE_WITHIN);
    is_young
        && turn
            .waits()
            .iter()
            .any(|waiting| matches!(waiting.on, WaitingOn::Retry { .. } | WaitingOn::Denied { .. }))
}

fn key(turn: &Turn<'_>, track: &Track<'_>) -> CommandKey {
    turn.key("tag", format!("{}/{}", track.name, mark::HALTED))
}

/// Says why the run has halted.
pub(super) fn say(turn: &mut Turn<'_>, why: Halt, at: Time) {
    let on = match why {
        Halt::Hopeless => WaitingOn::Halted { at },
        Halt::Stalled { since } => WaitingOn::Stalled { since, limit: turn.scope.plan.progress_deadline },
        Halt::Deadline => WaitingOn::Deadline { at: turn.scope.options.started + turn.scope.plan.deadline },
        Halt::Unhealthy(ailment) => WaitingOn::Unhealthy { at, ailment },
        Halt::Cancelled => WaitingOn::Cancelled { at },
        Halt::Undone => WaitingOn::Undone { at },
    };
    turn.wait(Subject::Run, on);
}

/// Whether what the run has done is taken back.
pub(crate) fn goes_back(why: Halt, on_failure: OnFailure) -> bool {
    match why {
        Halt::Undone => true,
        Halt::Cancelled => false,
        Halt::Hopeless | Halt::Stalled { .. } | Halt::Deadline | Halt::Unhealthy(_) => {
            on_failure == OnFailure::Rollback
        }
    }
}

/// Whether a run has halted for want of a way: then everything that is in it is named. Else the reason says it all.
pub(super) fn is_for_what_blocks(why: Halt) -> bool {
    match why {
        Halt::Hopeless | Halt::Stalled { .. } | Halt::Deadline => true,
        Halt::Unhealthy(_) | Halt::Cancelled | Halt::Undone => false,
    }
}

/// Releases what is to be released. The run is over when nothing of that is under way any more. Returns why it has halted.
pub(super) fn settle(turn: &mut Turn<'_>, tracks: &[Track<'_>]) -> Halt {
    let halted =
        tracks.iter().find_map(|track| track.halted.as_ref()).expect("a run that settles has halted");
    let why = halted.why;
    halt(turn, tracks, why);
    say(turn, why, halted.at);
    let mut spare = Spare::beside_drains(turn, tracks);
    let goes_back = goes_back(why, turn.scope.plan.on_failure);
    let leaves_nothing = goes_back || why == Halt::Cancelled;
    for (number, track) in tracks.iter().enumerate() {
        if clear::is_held_by_another(turn, track) {
            continue;
        }
        if goes_back {
            former_template(turn, track);
        }
        let reopened = track.lane.aside.iter().filter(|name| turn.member(name).stand == Stand::Reopened);
        let reopened: Vec<&NodeName> = reopened.collect();
        for name in queue_of(track).chain(&track.lane.held).chain(reopened) {
            release(turn, name);
        }
        say_leaving(turn, track);
        if let Some(at) = halted_at(track) {
            if goes_back {
                track.lane.retained.iter().for_each(|name| release(turn, name));
            } else if why == Halt::Cancelled {
                retain::end(turn, track);
            } else {
                hand_over(turn, track.lane.retained.iter(), at);
            }
            if leaves_nothing {
                track.lane.draining.iter().for_each(|name| release(turn, name));
                hand_over(turn, track.lane.skipped.iter(), at);
            } else {
                hand_over(turn, track.lane.draining.iter().chain(&track.lane.skipped), at);
            }
        }
        let surplus = surplus(turn, track);
        let is_retiring = retire(turn, track, number, surplus, &BTreeSet::new(), &mut spare);
        if !is_retiring && !awaits_launch(turn, track) {
            give_back(turn, track);
        }
    }
    why
}

/// Has nothing more made of what failed.
fn former_template(turn: &mut Turn<'_>, track: &Track<'_>) {
    let Some(group) = track.group else { return };
    if let Some(former) = target::original(group).filter(|former| *former != group.template()) {
        set_template(turn, track, group, Arc::new(former.clone()));
    }
}

/// Gives bounds back and takes tags off, unless more instances are in use than there were before.
fn give_back(turn: &mut Turn<'_>, track: &Track<'_>) {
    let (Some(group), Some(original)) = (track.group, track.original) else {
        restore(turn, track);
        return;
    };
    if beyond(track) > 0 {
        let max = track.max_kept(original).max(group.size.desired);
        if group.size.max > max && track.begun.is_some() {
            restore(turn, track);
        } else {
            let on = WaitingOn::Bounds { size: group.size, original };
            turn.wait(Subject::Bounds(track.name.clone()), on);
        }
        return;
    }
    restore(turn, track);
}

/// Names everything that stands in the way of every old node. `places` has an empty new node of each zone and kind: what
/// fits on none of these, fits nowhere.
pub(super) fn blockers(
    turn: &mut Turn<'_>,
    tracks: &[Track<'_>],
    works: &mut Works<'_>,
    places: &mut Places,
) {
    let mut known = BTreeMap::new();
    for track in tracks {
        let lane = track.lane;
        for name in lane.draining.iter().chain(queue_of(track)).chain(&lane.held).chain(&lane.found) {
            let load = Load::of(turn.view, &turn.scope.plan, name);
            for bound in &load.movers {
                if let Stand::Draining { from, .. } = turn.member(name).stand
                    && came_back(&bound.pod, from)
                {
                    turn.wait(Subject::Pod(bound.pod.meta.key()), WaitingOn::CameBack);
                } else if let Err(on) = works.obstacle(bound) {
                    turn.wait(Subject::Pod(bound.pod.meta.key()), on);
                    homeless(turn, bound);
                } else if let Some(message) = places.obstacle_of_kind(&mut known, &bound.pod) {
                    let pod = bound.pod.meta.key();
                    turn.wait(Subject::Pod(pod.clone()), WaitingOn::Room { pod, message });
                }
            }
            held(turn, track, &load);
        }
        aside(turn, track);
        arrivals(turn, track);
    }
}

/// Names the pods without a node that a pod's budgets are short of.
fn homeless(turn: &mut Turn<'_>, bound: &Bound) {
    for ix in turn.view.budgets_of(bound.ix).iter().flat_map(|budget| turn.view.pods_of_budget(*budget)) {
        let pod = &turn.view.pods[ix];
        let scheduled = condition::find(&pod.status.conditions, "PodScheduled");
        if let Some(scheduled) = scheduled.filter(|_| pod.node.is_none() && pod.is_active()) {
            let on = WaitingOn::Room { pod: pod.meta.key(), message: scheduled.message.clone() };
            turn.wait(Subject::Pod(pod.meta.key()), on);
        }
    }
}

pub(super) fn queue_of<'a>(track: &Track<'a>) -> impl Iterator<Item = &'a NodeName> {
    track.lane.queue.values().flatten().map(|(_, name)| name)
}

/// Names the pods of one node that do not simply move.
fn held(turn: &mut Turn<'_>, track: &Track<'_>, load: &Load) {
    for (pod, reason) in &load.refused {
        turn.wait(Subject::Pod(pod.clone()), WaitingOn::Refused { reason: *reason });
    }
    for pod in &load.unrecorded {
        turn.wait(Subject::Pod(pod.clone()), WaitingOn::Unrecorded);
    }
    // They were waited for until the run halted, at the latest.
    let deadline = halted_at(track).unwrap_or(turn.now);
    for batch in &load.batch {
        let pod = &batch.bound.pod;
        let on = WaitingOn::BatchOver { since: pod.status.start_time, deadline };
        turn.wait(Subject::Pod(pod.meta.key()), on);
    }
    let mut census = None;
    for leaving in &load.leaving {
        stuck::name(turn, &mut census, leaving);
    }
}

/// Says why old nodes are left to others.
pub(super) fn aside(turn: &mut Turn<'_>, track: &Track<'_>) {
    for name in &track.lane.aside {
        let on = match &turn.member(name).stand {
            Stand::OtherRun { run, until } if *until <= turn.now => WaitingOn::Leftover { run: run.clone() },
            Stand::OtherRun { run, until } => WaitingOn::OtherRun { run: run.clone(), until: *until },
            Stand::Reopened => WaitingOn::Reopened,
            Stand::NoInstance => WaitingOn::NoInstance,
            Stand::Bystander
            | Stand::Usable
            | Stand::Arriving { .. }
            | Stand::Closed
            | Stand::Surplus { .. }
            | Stand::Found { .. }
            | Stand::Doomed { .. }
            | Stand::Draining { .. }
            | Stand::Skipped { .. }
            | Stand::Retained { .. }
            | Stand::Kept { .. }
            | Stand::Leaving => continue,
        };
        turn.wait(Subject::Node(name.clone()), on);
    }
}

fn halted_at(track: &Track<'_>) -> Option<Time> {
    track.halted.as_ref().map(|halted| halted.at)
}
