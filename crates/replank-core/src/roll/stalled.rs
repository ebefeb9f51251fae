//! Drains that do not go on: what is left on the node waits for something that has no known end (a budget that allows nothing, room, a pod
//! that does not terminate), and nothing has moved for [`PATIENCE`].
//!
//! Such a drain gives up what it holds. Its place of `pace.parallel` goes to the next node at once; it goes on trying meanwhile, and goes on when the
//! reason is gone. Its share of the surge is another thing: a node off which pods were moved serves no more, for as long as it is cordoned. So where another
//! node of the group could be begun but for that share, the drain is *postponed*: the node is uncordoned, takes pods
//! again, and counts as Ready. That is done only then, for what comes to such a node is moved once more.
//!
//! A postponed node is taken up again when all of its pods can be evicted and have room ([`super::start`]). How often it was postponed is written on it: after
//! [`TIMES_MAX`] times it is left alone, so that a run comes to its end whatever happens on the node.

use replank_facts::node_pods::NodePods;
use replank_model::time::{Span, Time};
use replank_protocol::mark;

use super::context::{Context, GroupRoll};
use super::dead;
use super::member::{Member, NodeState};
use super::stuck;

/// A drain that moves at all does so every few minutes: a pod has its grace, its successor has to become Ready.
const PATIENCE: Span = Span::from_minutes(10);
/// How often a node is postponed: each time the reason was gone, or seemed to be.
pub(super) const TIMES_MAX: u32 = 3;

/// A person's pause of the run, as a group says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    began: Option<Time>,
    ended: Option<Time>,
}

impl Pause {
    /// That of the nodes of a group.
    pub(super) fn of(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> Self {
        let moment = |key| roll.moment(&ctx.scope.run, key);
        Self { began: moment(mark::PAUSED), ended: moment(mark::RESUMED) }
    }
}

/// When a node's drain counts as stalled if nothing moves until then; `None` where something is about to move by itself.
pub(super) fn until(ctx: &Context<'_>, pause: Pause, member: &Member) -> Option<Time> {
    let NodeState::Draining { since, from, node_pods } = &member.state else { return None };
    let is_moving = || {
        let due = node_pods.leaving.iter().map(|leaving| leaving.due);
        due.max().is_some_and(|due| ctx.now < ctx.scope.plan.care.stuck_from(due))
    };
    if stuck::may_end(ctx, member, node_pods) || dead::is_dead(ctx, member) || is_moving() {
        return None;
    }
    if pause.began.is_some() && pause.ended.is_none() {
        return None;
    }
    // Where the plan's patience is shorter, so is this.
    let patience = PATIENCE.min(Span::from_millis(ctx.scope.plan.progress_deadline.as_millis() / 2));
    let rested = ctx.rested.into_iter().chain(pause.ended).chain(ctx.scope.plan.care.windows.opened(ctx.now));
    let begun = rested.fold(*since.max(from), Time::max);
    // What its pods' budgets and owners do is looked at only when it matters.
    if ctx.now < begun + patience {
        return Some(begun + patience);
    }
    Some(begun.max(last_step(ctx, node_pods)) + patience)
}

/// When something last happened to what pods on their way wait for: they are due, or their kin was made.
pub(super) fn last_step(ctx: &Context<'_>, node_pods: &NodePods) -> Time {
    let due = node_pods.leaving.iter().map(|leaving| leaving.due);
    let kin = node_pods.movers.iter().flat_map(|bound| {
        let owner = bound.pod.meta.controller().map(|owner| &owner.uid);
        let siblings = owner.map_or(&[][..], |owner| ctx.view.pods_of(owner)).iter().copied();
        let budgets = ctx.view.budgets_of(bound.ix).iter();
        siblings.chain(budgets.flat_map(|budget| ctx.view.pods_of_budget(*budget)))
    });
    let created = kin.filter_map(|ix| ctx.view.pods[ix].meta.creation_timestamp);
    due.chain(created).fold(ctx.scope.options.started, Time::max)
}
