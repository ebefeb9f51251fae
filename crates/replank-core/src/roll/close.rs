//! After the last node: the group's bounds as they were, our tags taken off, and new nodes that are not needed ended.
//!
//! A group that is through waits for the others: until all are, what the run wrote down of it is what a way back goes by.
//!
//! A group that others moved into wants more than before, and for good: its maximum comes back as far as that allows.

use std::collections::BTreeSet;

use replank_model::object::cloud::GroupSize;
use replank_model::text::{NodeName, Text, Zone};
use replank_model::time::Time;

use super::balancer;
use super::clear;
use super::evict::{Spare, end_instance};
use super::member::{Scope, Stand};
use super::prepare::{LATE_AFTER, MARK_LIFE, arrivals, last_failure, resize, untag};
use super::retain;
use super::turn::{Track, Turn, Watched};
use super::zones;
use crate::sent::COMMAND_LIFE;
use replank_facts::load::Load;
use replank_facts::plan::Retained;
use replank_protocol::cause::Cause;
use replank_protocol::command::Expected;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, Mark, NodeRole, Replacement};
use replank_protocol::mark::{self, Before, Moment, Until};
use replank_protocol::waiting::{Subject, WaitingOn};

/// Whether a group is as it is to be in the end, its bounds and tags aside; brings it there if it can.
pub(super) fn close(turn: &mut Turn<'_>, track: &Track<'_>, number: usize, spare: &mut Spare) -> bool {
    let has_leaving = is_leaving(turn, track);
    if track.lane.old_left() > 0 {
        return false;
    }
    for name in &track.lane.skipped {
        turn.wait(Subject::Node(name.clone()), WaitingOn::Skipped);
    }
    if has_leaving || is_arriving(turn, track) {
        return false;
    }
    let surplus = surplus(turn, track);
    let is_busy = retire_needless(turn, track, number, spare);
    if is_busy || retire(turn, track, number, surplus, &BTreeSet::new(), spare) {
        return false;
    }
    let now = turn.now;
    if hand_over(turn, track.lane.skipped.iter(), now) {
        return false;
    }
    retain::is_over(turn, track)
}

/// Whether nothing is left to be replaced, and nothing of the run that could be taken back.
pub(super) fn is_over(track: &Track<'_>) -> bool {
    track.lane.old_left() == 0 && !track.is_touched() && track.halted.is_none()
}

/// Lets the marks of nodes that keep them expire at a moment, so that a later run may take the nodes over; whether one is
/// still to be written.
pub(super) fn hand_over<'n>(
    turn: &mut Turn<'_>,
    names: impl Iterator<Item = &'n NodeName>,
    at: Time,
) -> bool {
    let mut is_busy = false;
    for name in names {
        let member = turn.member(name);
        let Some(found) = turn.view.node(name).and_then(|node| mark::of(node)) else { continue };
        if found.mark.expires > at {
            let key = turn.key("hand-over", &member.uid);
            turn.mark(member, "mark to be handed over", key, Mark { expires: at, ..found.mark });
            is_busy = true;
        }
    }
    is_busy
}

/// Whether instances are being ended, which is said; those that are interrupted are waited for until they are gone.
fn is_leaving(turn: &mut Turn<'_>, track: &Track<'_>) -> bool {
    // One may be held for its batch pods; it ends by itself all the same.
    turn.is_moving |= !track.lane.leaving.is_disjoint(&turn.fleet.interrupted);
    say_leaving(turn, track)
}

/// Whether instances are being ended, which is said. Those that are not gone when any should be are not waited for, nor are those that others take
/// away and that are still up.
pub(super) fn say_leaving(turn: &mut Turn<'_>, track: &Track<'_>) -> bool {
    let leaving = track.lane.leaving.len() + track.lane.loose_leaving.len();
    let interrupted = track.lane.leaving.intersection(&turn.fleet.interrupted);
    let kept = interrupted.filter(|name| is_taken_away(turn, name)).count();
    turn.watch(track, Watched::Leaving, leaving > kept);
    if leaving > 0 {
        let instances = u32::try_from(leaving).unwrap_or(u32::MAX);
        turn.wait(track.subject(), WaitingOn::Leaving { instances });
    }
    leaving > 0
}

/// Whether a node is drained because others take its instance away, at a moment that may be far off.
fn is_taken_away(turn: &Turn<'_>, name: &NodeName) -> bool {
    let found = turn.view.node(name).and_then(|node| mark::of(node));
    found.is_some_and(|found| match found.mark.role {
        NodeRole::Interrupted { by, .. } => by != Cause::Down,
        NodeRole::Doomed
        | NodeRole::Draining { .. }
        | NodeRole::Skipped
        | NodeRole::Surplus
        | NodeRole::Retained => false,
    })
}

fn is_arriving(turn: &mut Turn<'_>, track: &Track<'_>) -> bool {
    arrivals(turn, track);
    let lane = track.lane;
    !lane.arriving.is_empty() || !lane.loose_new.is_empty() || track.missing() > 0
}

/// Instances that the group wants beyond its size before the run, those aside that moved into it and those that are kept.
pub(super) fn beyond(track: &Track<'_>) -> u32 {
    match (track.group, track.original) {
        (Some(_), Some(_)) => track.wanted().saturating_sub(track.wanted_before() + track.retained()),
        (Some(_) | None, Some(_) | None) => 0,
    }
}

/// Instances of the run's own surge that are too much once no more nodes are replaced, be it that none is left or that the run has halted.
///
/// A node that was left out half way keeps its place in the group, as an old one does that is left, and the one that was launched for it is too
/// much. So is the surge where old nodes were taken away by somebody else, and the group has launched others in their places; and what it has launched
/// in the place of a node that was kept.
pub(super) fn surplus(turn: &Turn<'_>, track: &Track<'_>) -> u32 {
    let left_out = u32::try_from(track.lane.skipped.len()).unwrap_or(u32::MAX);
    let own = if is_ours(turn, track) { u32::MAX } else { left_out.saturating_add(track.lane.old_left()) };
    beyond(track).min(track.extra(turn.scope)).min(own)
}

/// Whether a group that is to give something back has yet to launch what it wants, which is said: somebody has taken an instance away. What comes up
/// has nothing on it and can go again; a number that is wanted is never lowered by itself (promise S5). What comes too late is not waited for.
pub(super) fn awaits_launch(turn: &mut Turn<'_>, track: &Track<'_>) -> bool {
    let Some(group) = track.group else { return false };
    let instances = turn.view.instances().values();
    let counted = instances.filter(|one| one.group == group.name && one.is_counted()).count();
    let wanted = if beyond(track) > 0 { group.size.desired } else { 0 };
    let is_short = counted < wanted as usize;
    let since = turn.watch(track, Watched::Surplus, is_short);
    if since.is_none_or(|since| turn.now > since + LATE_AFTER) {
        return false;
    }
    let ready = u32::try_from(counted).unwrap_or(u32::MAX);
    turn.wait(
        track.subject(),
        WaitingOn::Capacity { ready, wanted, failure: last_failure(turn.view, track.name) },
    );
    true
}

/// Whether this run has raised the group, and nobody else has changed its maximum: then what it wants beyond its size before the run is the run's surge, as far as that goes.
fn is_ours(turn: &Turn<'_>, track: &Track<'_>) -> bool {
    let (Some(group), Some(original)) = (track.group, track.original) else { return false };
    let is_raised_by_us = track.begun.is_some() && !track.is_moved_into();
    is_raised_by_us && group.size.max <= original.max.max(original.desired + track.extra(turn.scope))
}

/// Ends new instances that came up in zones where nothing is left to do, once the zones that they were launched for have
/// theirs (see [`zones`]); whether one is still to go.
pub(super) fn retire_needless(
    turn: &mut Turn<'_>,
    track: &Track<'_>,
    number: usize,
    spare: &mut Spare,
) -> bool {
    let is_by_zone = turn.scope.plan.budget.min_ready_per_zone > 0;
    if !is_by_zone || !zones::short(turn, track).is_empty() {
        return false;
    }
    let needless = beyond(track).min(track.allowance(turn.scope).surge).saturating_sub(track.lane.old_left());
    retire(turn, track, number, needless, &zones::unfinished(turn, track), spare)
}

/// Ends up to `count` new instances on which nothing runs, each with a place less in the group, but none in the zones of
/// `but_in`; whether one is still to go. A node is cordoned first, and looked at again before its instance is ended: it may be used by then, or
/// wanted, where another that was too much went first.
pub(super) fn retire(
    turn: &mut Turn<'_>,
    track: &Track<'_>,
    number: usize,
    count: u32,
    but_in: &BTreeSet<&Zone>,
    spare: &mut Spare,
) -> bool {
    let mut left = count;
    let mut is_busy = false;
    // News of an instance that is on its way out may come before news of what its group wants, and the other way round.
    let is_settled = track.group.is_some_and(|group| track.lane.alive(track.name) <= group.size.desired);
    for name in &track.lane.surplus {
        let member = turn.member(name);
        let Stand::Surplus { since, is_empty } = member.stand else { continue };
        if !is_empty || left == 0 && is_settled {
            release(turn, name);
        } else if left == 0 {
            turn.wait(track.subject(), WaitingOn::Leaving { instances: 1 });
        } else if !balancer::is_held(turn, member, since) {
            end_instance(turn, member, Vec::new(), Replacement::Decrement);
        }
        left = left.saturating_sub(1);
        is_busy = true;
    }
    for id in track.lane.loose_new.iter().rev() {
        if left == 0 {
            return is_busy;
        }
        if turn.view.instances().get(id).is_some_and(|instance| but_in.contains(&instance.zone)) {
            continue;
        }
        let effect = Effect::Group(GroupEffect::Terminate {
            instance: id.clone(),
            group: track.name.clone(),
            expected: Expected::Unregistered,
            replacement: Replacement::Decrement,
        });
        let key = turn.key("terminate", id);
        turn.send(Subject::Instance(id.clone()), "termination", key, effect);
        left -= 1;
        is_busy = true;
    }
    let idle = track.lane.arriving.iter().chain(&track.lane.usable);
    for name in idle {
        if left == 0 {
            return is_busy;
        }
        let member = turn.member(name);
        let is_kept = member.stand == Stand::Closed || but_in.contains(&member.zone);
        if is_kept || !Load::of(turn.view, &turn.scope.plan, name).is_empty() {
            continue;
        }
        // A node that does not count can be spared. One that does is taken off what can be, and only if it is to go.
        if member.stand == Stand::Usable && spare.take(number, member).is_err() {
            continue;
        }
        let mark = Mark { role: NodeRole::Surplus, since: turn.now, expires: turn.now + MARK_LIFE };
        let key = turn.key("surplus", &member.uid);
        turn.mark(member, "cordon of a node that is not needed", key, mark);
        left -= 1;
        is_busy = true;
    }
    is_busy
}

/// Takes our marks and our cordon off a node.
pub(super) fn release(turn: &mut Turn<'_>, name: &NodeName) {
    let member = turn.member(name);
    let effect =
        Effect::Kubernetes(KubernetesEffect::Uncordon { node: member.target(), version: member.version });
    let key = turn.key("release", &member.uid);
    turn.send(Subject::Node(name.clone()), "uncordon", key, effect);
}

/// Gives a group its bounds back and takes our tags off; whether that is done.
///
/// Only what this run raised is lowered: a maximum that somebody else has set since then stays. The desired number is never
/// lowered here (promise S5). A group that others moved into keeps a maximum that holds them.
pub(super) fn restore(turn: &mut Turn<'_>, track: &Track<'_>) -> bool {
    let Some(group) = track.group else { return track.original.is_none() && track.begun.is_none() };
    if clear::is_held_by_another(turn, track) {
        return true;
    }
    if let Some(original) = track.original {
        let own = format!("{}/", turn.scope.run);
        if track.is_owed || turn.sent.is_resized(turn.now, track.name, &own) {
            let on = WaitingOn::Effect { what: Text::from("size that somebody else has asked for") };
            turn.wait_until(track.subject(), on, turn.now + COMMAND_LIFE);
            return false;
        }
        let kept_most = if turn.scope.plan.care.retain.capacity == Retained::Cordoned {
            track.begun.as_ref().map_or(0, |begun| begun.nodes)
        } else {
            0
        };
        let raised = original.desired + track.moved() + track.allowance(turn.scope).surge + kept_most;
        let kept = track.max_kept(original);
        let is_ours = group.size.max > kept && group.size.max <= raised;
        let max = kept.max(group.size.desired);
        if is_ours && group.size.max != max {
            resize(turn, track, group.size, GroupSize { max, ..group.size }, "original bounds");
            return false;
        }
        // What was launched beside nodes that stay, and is in use by now, cannot be taken back.
        // Where the number of nodes is kept to what is needed, it goes as soon as it is not.
        let is_beyond =
            !turn.is_scaled && (original.desired + track.moved() + 1..=raised).contains(&group.size.desired);
        if is_ours || is_beyond {
            let on = WaitingOn::Bounds { size: group.size, original };
            turn.wait(Subject::Bounds(track.name.clone()), on);
            return true;
        }
        untag(turn, track.name, mark::ORIGINAL_SIZE);
        return false;
    }
    // After the group's own: what moved into it is read off these.
    if let Some(source) = track.sources.iter().find(|source| source.original.is_some()) {
        untag(turn, source.name, mark::ORIGINAL_SIZE);
        return false;
    }
    // A run that has halted leaves it for the way back; and that leaves it to whoever is started anew after it, who finds nothing to be
    // done then, and to a later run, which takes it off. It names no run: so it goes before the tag by which it is known to be this one's.
    if !turn.scope.is_way_back() && track.halted.is_none() && group.tags.contains_key(mark::ORIGINAL_TEMPLATE)
    {
        untag(turn, track.name, mark::ORIGINAL_TEMPLATE);
        return false;
    }
    // The way back may have nothing to do where the run that it takes back had begun: that one's goes, too.
    if track.begun.is_some() || turn.scope.is_way_back() && group.tags.contains_key(mark::BEGUN) {
        untag(turn, track.name, mark::BEGUN);
        return false;
    }
    let notes = notes(turn.scope, track);
    for key in &notes {
        untag(turn, track.name, key);
    }
    notes.is_empty()
}

/// The tags in which the run has written down its stages, its pauses, what it retains and the cluster's health. They would be written
/// anew while the run goes on, so they go after the tag that says that it has begun.
pub(super) fn notes(scope: &Scope, track: &Track<'_>) -> Vec<Text> {
    let is_ours = |key: &str, value: &str| {
        let run = if key == mark::HEALTH {
            Before::read(value).map(|before| before.run)
        } else if key.starts_with(mark::STAGE) || key == mark::RETAINED {
            Until::read(value).map(|until| until.run)
        } else if key == mark::PAUSED || key == mark::RESUMED {
            Moment::read(value).map(|moment| moment.run)
        } else {
            None
        };
        // The way back takes off what the run wrote that it takes back.
        run.is_some_and(|run| run == scope.run || scope.is_way_back())
    };
    let tags = track.group.into_iter().flat_map(|group| group.tags.iter());
    tags.filter(|(key, value)| is_ours(key, value)).map(|(key, _)| Text::from(key)).collect()
}
