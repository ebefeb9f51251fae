//! Rest: while it lasts nothing is begun and no pod is moved.
//!
//! A run rests while a person has paused it, outside of the plan's windows, and while all its groups are watched after a stage. What is
//! half way then:
//!
//! - a node that was cordoned and not begun is uncordoned, unless the rest is over within [`SHORT`]: a cluster is not to be without
//!   the room on it for hours. It is cordoned again when the run goes on;
//! - a node whose drain was begun stays cordoned, with the pods that are left on it. The drain goes on after the rest;
//! - an empty node's instance is ended, but not while a person has paused the run;
//! - new nodes stay, marks are renewed, and the plan's `deadline` counts on, while its `progressDeadline` does not.
//!
//! When windows open and stages end is known from the plan and from tags. A person's pause is written on the groups that the run has
//! begun ([`note`]): tag [`mark::PAUSED`] while it lasts, then [`mark::RESUMED`]. So a process that starts anew right after the pause
//! does not count it as a lack of progress.

use replank_model::object::cloud::NodeGroup;
use replank_model::time::{Span, Time};

use super::close::release;
use super::context::{Context, GroupRoll};
use super::halt::queue_of;
use super::prepare::{tag, untag};
use super::stage::{self, Standing};
use replank_facts::plan::Standing as WindowStanding;
use replank_protocol::intent::Intent;
use replank_protocol::mark::{self, Moment};
use replank_protocol::waiting::{RunWait, Subject, WaitingOn};

/// A rest that is over so soon is not worth two writes to each node.
const SHORT: Span = Span::from_minutes(15);

/// A rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// A person has paused the run.
    Paused,
    /// The next window opens then.
    Window { opens: Time },
    /// All groups are watched, the first until then.
    Stage { until: Time },
}

/// Whether the run rests.
pub(super) fn of(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) -> Option<Rest> {
    if ctx.intent == Intent::Paused {
        return Some(Rest::Paused);
    }
    match ctx.scope.plan.care.windows.at(ctx.now) {
        WindowStanding::Closed(opens) => return Some(Rest::Window { opens }),
        WindowStanding::Open(closes) => closes.into_iter().for_each(|at| ctx.wake_at(at)),
    }
    let busy = rolls.iter().filter(|roll| roll.nodes.old_left() > 0);
    let ends: Option<Vec<Time>> = busy
        .map(|roll| match stage::standing(ctx, roll) {
            Standing::Watched { until, .. } => Some(until),
            Standing::Under { .. } | Standing::Unwritten { .. } | Standing::Over => None,
        })
        .collect();
    ends.and_then(|ends| ends.into_iter().min()).map(|until| Rest::Stage { until })
}

/// Reports what it waits for, and uncordons what was not begun.
pub(super) fn rest(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], rest: Rest) {
    let over = match rest {
        Rest::Paused => {
            ctx.is_moving = true;
            ctx.wait(Subject::Run, WaitingOn::Run(RunWait::Paused));
            None
        }
        Rest::Window { opens } => {
            ctx.wait_until(Subject::Run, WaitingOn::Run(RunWait::Window { opens }), opens);
            Some(opens)
        }
        // Each group says so.
        Rest::Stage { until } => Some(until),
    };
    if over.is_none_or(|over| over > ctx.now + SHORT) {
        for name in rolls.iter().flat_map(|roll| queue_of(roll).chain(&roll.nodes.held)) {
            release(ctx, name);
        }
    }
}

/// Writes down that a pause has begun or has ended. Of the two tags the first goes only when the second is there, and the
/// second before the next pause is over, so that what is there says at any moment what is still to be written.
pub(super) fn note(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], rest: Option<Rest>) {
    for roll in rolls.iter().filter(|roll| roll.is_touched()) {
        let Some(group) = roll.group else { continue };
        if rest == Some(Rest::Paused) {
            if group.tags.contains_key(mark::RESUMED) {
                untag(ctx, roll.name, mark::RESUMED);
            }
            moment(ctx, roll, group, "start of a pause", mark::PAUSED);
        } else if roll.moment(&ctx.scope.run, mark::PAUSED).is_some() {
            if roll.moment(&ctx.scope.run, mark::RESUMED).is_some() {
                untag(ctx, roll.name, mark::PAUSED);
            } else {
                moment(ctx, roll, group, "end of a pause", mark::RESUMED);
            }
        }
    }
}

/// Writes a moment down, unless it is; what a run that is over has left goes first.
fn moment(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup, what: &str, key: &str) {
    if roll.moment(&ctx.scope.run, key).is_some() {
        return;
    }
    if group.tags.contains_key(key) {
        untag(ctx, roll.name, key);
        return;
    }
    let value = Moment { run: ctx.scope.run.clone(), at: ctx.now }.to_text();
    tag(ctx, roll.name, what, key, value);
}

/// When a group's last pause ended, if one has.
pub(super) fn resumed(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> Option<Time> {
    roll.moment(&ctx.scope.run, mark::RESUMED)
}

/// Since when the run may act, where that is known from the plan.
pub(super) fn over_since(ctx: &Context<'_>) -> Option<Time> {
    ctx.scope.plan.care.windows.opened(ctx.now)
}
