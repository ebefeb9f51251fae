//! Keeping what was replaced for a while, so that `undo` has something to go back to.
//!
//! - `cordoned`: an empty old node is marked as retained instead of being ended, and its group is raised by one for the node that
//!   takes its place. Trouble that shows days later is met by uncordoning what is still there.
//! - `template`: nodes are ended as ever; what the run wrote of the launch template from before stays.
//!
//! When the last old node is empty, the moment until which all of this is kept is written on the group (tag [`mark::RETAINED`]). Only after
//! it is the run over.

use super::beyond::floor;
use super::context::{Context, GroupRoll};
use super::departure;
use super::evict::{end_instance, minimum};
use super::prepare::{tag, untag};
use super::start;
use replank_facts::node_pods::NodePods;
use replank_facts::plan::Retained;
use replank_protocol::command::Replacement;
use replank_protocol::mark::{self, Until};
use replank_protocol::waiting::{RollWait, WaitingOn};

use super::kept::kept;
pub(super) use super::kept::{keep, keeps_nodes};

/// Whether nothing is kept any more.
pub(super) fn is_over(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    if !keeps_nodes(ctx.scope) && !departure::end(ctx, roll) {
        return false;
    }
    if kept(ctx.scope) == Retained::None || roll.begun.is_none() {
        return true;
    }
    let Some(until) = roll.retained_until else {
        if roll.group.is_some_and(|group| group.tags.contains_key(mark::RETAINED)) {
            // A run that is over has left it.
            untag(ctx, roll.name, mark::RETAINED);
        } else {
            let until = ctx.now + ctx.scope.plan.care.retain.span;
            let value = Until { run: ctx.scope.run.clone(), until }.to_text();
            tag(ctx, roll.name, "end of retention", mark::RETAINED, value);
        }
        return false;
    };
    if ctx.now < until {
        ctx.wait_until(roll.subject(), WaitingOn::Roll(RollWait::Retained { until }), until);
        return false;
    }
    end(ctx, roll);
    roll.nodes.retained.is_empty()
}

/// Ends the nodes that were kept. One that has got pods since then is drained once more.
pub(super) fn end(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    departure::end(ctx, roll);
    for name in &roll.nodes.retained {
        let member = ctx.member(name);
        if roll.is_from_managed(member) {
            continue;
        }
        let is_own = member.group == *roll.name;
        let keep = if is_own { floor(roll, roll.retained()) } else { minimum(roll, member) };
        if NodePods::of(ctx.view, &ctx.scope.plan, name).is_empty() {
            end_instance(ctx, member, Vec::new(), Replacement::Decrement { keep });
        } else {
            start::begin(ctx, name, ctx.now, ctx.now);
        }
    }
}
