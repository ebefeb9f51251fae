//! Whether things became worse than the plan allows.
//!
//! Two questions are asked at every decision. Of the whole cluster, where the plan has a `health`: are there more pods in a bad way than
//! when the run began (which is written down, tag [`mark::HEALTH`]) plus what the plan allows? And of new nodes, while a canary or a
//! wave is watched: is anything wrong on them at all, beyond what the plan allows? New nodes began with nothing.
//!
//! Pods that restart again and again are counted on new nodes alone, at all times. In a large cluster some pod or other restarts at any time, and it would not
//! always be the same number; what restarts on new nodes has done so since the run began. Of these, too, as many may be as did in the whole cluster
//! before: they move there. So are nodes counted of which a condition says that they are in a bad way: of old ones, and of others, it is not the run's doing.

use replank_model::object::meta::Key;
use replank_model::text::{NodeName, Text};

use super::context::{Context, GroupRoll};
use super::fleet::GroupNodes;
use super::member::{NodeState, last_step};
use super::prepare::{LATE_AFTER, tag, untag};
use super::stage;
use replank_facts::plan::NOT_READY_AFTER;
use replank_protocol::mark::{self, Ailment, Before, Illness, Whose};
use replank_protocol::waiting::{PodEnd, RollWait, Subject, WaitingOn};

use super::vitals::bad_conditions;
pub(super) use super::vitals::{Counts, Vitals, narrow};

/// How many pods or nodes are named for which a run has halted.
const NAMED_MAX: usize = 10;

/// Writes down how things are before a group is begun; whether that is still to be written.
pub(super) fn write_before(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    if ctx.scope.plan.care.health.is_none() || roll.health_before.is_some() {
        return false;
    }
    if roll.group.is_some_and(|group| group.tags.contains_key(mark::HEALTH)) {
        // A run that is over has left it.
        untag(ctx, roll.name, mark::HEALTH);
        return true;
    }
    let Some(vitals) = ctx.vitals else { return false };
    let (counts, _) = vitals.count(ctx.now, ctx.scope.plan.care.stuck.after, |_| true);
    let restarting = narrow(vitals.restarting(ctx.now).count());
    // What is on its way up at this moment is nobody's fault of the run's, however long it takes.
    let before = Before {
        run: ctx.scope.run.clone(),
        crash_looping: counts.crash_looping,
        stuck_terminating: counts.stuck_terminating,
        not_ready: narrow(vitals.unready.len()),
        restarting,
    };
    let value: Text = before.to_text();
    tag(ctx, roll.name, "health before the run", mark::HEALTH, value);
    true
}

/// What became worse than the plan allows.
pub(super) fn ailment(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) -> Option<Ailment> {
    let vitals = ctx.vitals?;
    let stuck_after = ctx.scope.plan.care.stuck.after;
    let (restarting, bad_nodes) = (restarting(ctx, vitals, rolls), bad_nodes(ctx, vitals, rolls));
    if let (Some(health), Some(before)) = (ctx.scope.plan.care.health, before(rolls)) {
        let (counts, next) = vitals.count(ctx.now, stuck_after, |_| true);
        let counts = Counts { restarting, bad_nodes, ..counts };
        if let Some(ailment) = counts.beyond(Whose::All, &health, &before) {
            return Some(ailment);
        }
        next.into_iter().for_each(|at| ctx.wake_at(at));
    }
    let health = ctx.scope.plan.stage_health().filter(|_| stage::is_on_trial(ctx, rolls))?;
    let (counts, next) = vitals.count(ctx.now, stuck_after, |key| is_on_new(ctx, rolls, key));
    let counts = Counts { restarting, bad_nodes, ..counts };
    if let Some(ailment) = counts.beyond(Whose::New, &health, &Counts::default()) {
        return Some(ailment);
    }
    next.into_iter().for_each(|at| ctx.wake_at(at));
    late_node(ctx, rolls)
}

/// Names pods that are in the bad way for which the run has halted.
pub(super) fn name(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], ailment: Ailment) {
    let Some(vitals) = ctx.vitals else { return };
    let after = ctx.scope.plan.care.stuck.after;
    let now = ctx.now;
    let counts = |key: &&Key| ailment.whose == Whose::All || is_on_new(ctx, rolls, key);
    let ill: Vec<Key> = match ailment.illness {
        Illness::CrashLooping => vitals.crash_looping.iter().filter(counts).cloned().collect(),
        Illness::Restarting => vitals.restarting(now).filter(counts).cloned().collect(),
        Illness::StuckTerminating => {
            let stuck = vitals.leaving.iter().filter(|(_, due)| **due + after <= now);
            stuck.map(|(key, _)| key).filter(counts).cloned().collect()
        }
        Illness::NotReady => {
            let unready = vitals.unready.iter().filter(|(_, since)| **since + NOT_READY_AFTER <= now);
            unready.map(|(key, _)| key).filter(counts).cloned().collect()
        }
        Illness::NodeCondition => return name_nodes(ctx, vitals, rolls),
        Illness::NodeNotReady => Vec::new(),
    };
    for key in ill.into_iter().take(NAMED_MAX) {
        ctx.wait(Subject::Pod(key), WaitingOn::PodEnd(PodEnd::Ailing { illness: ailment.illness }));
    }
}

/// Says of new nodes in which bad way they are.
fn name_nodes(ctx: &mut Context<'_>, vitals: &Vitals, rolls: &[GroupRoll<'_>]) {
    let nodes = vitals.bad_nodes.iter().filter(|name| is_new(ctx, rolls, name));
    let nodes = nodes.filter_map(|name| ctx.view.node(name));
    let bad = nodes.filter_map(|node| Some((node.name(), bad_conditions(node).next()?)));
    for (name, condition) in bad.take(NAMED_MAX).collect::<Vec<_>>() {
        let condition = Text::from(condition);
        ctx.wait(Subject::Node(name), WaitingOn::Roll(RollWait::BadCondition { condition }));
    }
}

/// New nodes of which a condition says that they are in a bad way.
fn bad_nodes(ctx: &Context<'_>, vitals: &Vitals, rolls: &[GroupRoll<'_>]) -> u32 {
    narrow(vitals.bad_nodes.iter().filter(|name| is_new(ctx, rolls, name)).count())
}

/// Pods on new nodes that restart again and again.
fn restarting(ctx: &Context<'_>, vitals: &Vitals, rolls: &[GroupRoll<'_>]) -> u32 {
    narrow(vitals.restarting(ctx.now).filter(|key| is_on_new(ctx, rolls, key)).count())
}

/// Whether a node is on trial: a new one, unless somebody has cordoned it. New nodes are many, and what is in a bad way is little: each node where something is, is looked up, at
/// every decision, and the new ones are not listed.
fn is_new(ctx: &Context<'_>, rolls: &[GroupRoll<'_>], node: &NodeName) -> bool {
    let is_listed = rolls.iter().any(|roll| is_new_of(roll.nodes, node));
    is_listed && ctx.member(node).state != NodeState::Closed && !is_old(ctx, node)
}

/// A node that was upgraded in place arrives until it is Ready, and has the run's mark until then: what is on it was there before.
fn is_old(ctx: &Context<'_>, node: &NodeName) -> bool {
    ctx.member(node).expires.is_some()
}

fn is_new_of(nodes: &GroupNodes, node: &NodeName) -> bool {
    nodes.usable.contains(node) || nodes.arriving.contains(node)
}

/// Whether a pod is on a node that is on trial.
fn is_on_new(ctx: &Context<'_>, rolls: &[GroupRoll<'_>], key: &Key) -> bool {
    let node = ctx.view.pods.by_key(key).and_then(|pod| pod.node.as_ref());
    node.is_some_and(|node| is_new(ctx, rolls, node))
}

/// What was written down when the run began: the least of what its groups say.
fn before(rolls: &[GroupRoll<'_>]) -> Option<Counts> {
    let all = rolls.iter().filter_map(|roll| roll.health_before.as_ref());
    let counts = all.map(|before| Counts {
        crash_looping: before.crash_looping,
        restarting: before.restarting,
        stuck_terminating: before.stuck_terminating,
        not_ready: before.not_ready,
        // New nodes are not there yet.
        bad_nodes: 0,
    });
    counts.reduce(|a, b| Counts {
        crash_looping: a.crash_looping.min(b.crash_looping),
        restarting: a.restarting.min(b.restarting),
        stuck_terminating: a.stuck_terminating.min(b.stuck_terminating),
        not_ready: a.not_ready.min(b.not_ready),
        bad_nodes: 0,
    })
}

/// A new node that is not of use for long, while new nodes are on trial.
fn late_node(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> Option<Ailment> {
    let arriving = rolls.iter().flat_map(|roll| &roll.nodes.arriving);
    let is_late = |name: &&NodeName| {
        let since = ctx.view.node(name).and_then(|node| last_step(node));
        matches!(ctx.member(name).state, NodeState::Arriving { .. })
            && !is_old(ctx, name)
            && since.is_some_and(|since| ctx.now > since + LATE_AFTER)
    };
    let late = narrow(arriving.filter(is_late).count());
    (late > 0).then_some(Ailment { illness: Illness::NodeNotReady, whose: Whose::New, found: late, max: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_nodes_are_those_that_are_of_use_and_those_that_arrive() {
        let mut group = GroupNodes::default();
        group.usable.extend([NodeName::from("a")]);
        group.arriving.extend([NodeName::from("b")]);
        group.found.extend([NodeName::from("old")]);
        let is_new = |name: &str| is_new_of(&group, &NodeName::from(name));
        assert_eq!(["a", "b", "old", "c"].map(is_new), [true, true, false, false]);
    }
}
