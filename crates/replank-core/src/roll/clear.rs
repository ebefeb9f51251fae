//! What runs that are over have left on the nodes and groups of this one ([`replank_facts::leftover`]): cleared before anything is begun.
//!
//! Nothing of a run is touched that still holds. Five things are not cleared but taken over: a group's size from before tells the true one
//! until this run is over, too; so does the process that was suspended; so do the instances that are protected from scale-in; so does its launch template from before, as long as it is the current one; and a node that is to be
//! replaced gets this run's mark in place of the other in one write, when all are cordoned, lest pods move onto it meanwhile.

use replank_model::object::cloud::NodeGroup;
use replank_model::text::NodeName;

use super::close::release;
use super::context::{Context, GroupRoll};
use super::prepare::untag;
use replank_facts::leftover::{Holds, Leftover};
use replank_protocol::mark;
use replank_protocol::waiting::{RollWait, RunEnd, Subject, WaitingOn};

pub(super) use super::held::{is_held_by_another, newer};

/// Whether something of runs that are over is still to be cleared. The way back clears nothing: it goes by what the run wrote that it
/// takes back.
pub(super) fn clear(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    if ctx.scope.is_way_back() {
        return false;
    }
    let holds = Holds::of(ctx.view, ctx.now);
    let groups: Vec<&NodeGroup> =
        roll.group.into_iter().chain(roll.others().map(|(_, group)| group)).collect();
    let mut is_busy = false;
    for group in groups {
        let mut left = holds.on_group(group);
        left.retain(|leftover| is_over(ctx, leftover));
        for leftover in &left {
            let is_taken_over = |key: &str| {
                let is_one = [mark::ORIGINAL_SIZE, mark::ORIGINAL_TEMPLATE, mark::SUSPENDED].contains(&key);
                is_one || mark::protected_in(key).is_some()
            };
            for key in leftover.keys.iter().filter(|key| !is_taken_over(key)) {
                say(ctx, Subject::Group(group.name.clone()), leftover);
                untag(ctx, &group.name, key);
                is_busy = true;
            }
        }
    }
    let members = ctx.fleet.members.values().filter(|member| ctx.is_in(member, roll) && !member.is_old());
    let mut left: Vec<(NodeName, Leftover)> = members
        .filter_map(|member| Some((member.name.clone(), holds.on_node(ctx.view.node(&member.name)?)?)))
        .filter(|(_, leftover)| is_over(ctx, leftover))
        .collect();
    left.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, leftover) in &left {
        say(ctx, Subject::Node(name.clone()), leftover);
        release(ctx, name);
    }
    is_busy || !left.is_empty()
}

fn is_over(ctx: &Context<'_>, leftover: &Leftover) -> bool {
    leftover.is_expired() && leftover.run.as_ref().is_some_and(|run| *run != ctx.scope.run)
}

fn say(ctx: &mut Context<'_>, subject: Subject, leftover: &Leftover) {
    if let Some(run) = leftover.run.clone() {
        ctx.wait(subject, WaitingOn::Roll(RollWait::Leftover { run }));
    }
}

/// Whether a newer Replank has written on one of the groups, which is said. Then nothing is done to any group.
pub(super) fn is_newer(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let own = roll.group.map(|group| (roll.name, group));
    let mut found = false;
    for (name, group) in own.into_iter().chain(roll.others()) {
        if let Some(version) = mark::newer_on_group(group) {
            ctx.wait(Subject::Group(name.clone()), WaitingOn::RunEnd(RunEnd::NewerVersion { version }));
            found = true;
        }
    }
    found
}
