//! Somebody else replaces the nodes (`provider: external`): Cluster API, kops, a person. The run drains them, and waits.
//!
//! No group and no instance is known then, only nodes. So the run is given a *stand-in* for each group: as many nodes wanted as there were when it began, and in the place
//! of tags what is written in the run's record ([`super::notes`]). All rules of a roll hold for it (order, stages, pace, budgets, batch pods, room, health, rests), but for these:
//!
//! - nothing is raised, and no template is changed. `budget.maxUnavailable` is how many nodes may be missing, one unless the plan says otherwise. With 0 a new node has to
//!   be there before an old one goes;
//! - a node that is empty is marked as `drained`, which tells everybody that it is to be replaced. It stays cordoned until its object is gone. What comes back onto it
//!   tolerates the cordon, and goes with it;
//! - a node is new if its object was created after the run began. As many as are gone have to become Ready; until then the group is short, which is written down with
//!   the moment (note [`mark::AWAITED`]), and the run waits for as long as the plan says (`external.wait`);
//! - a node that becomes as the target says without being replaced (its kubelet was upgraded in place) is its own successor: it is uncordoned once it is Ready, and at the
//!   latest when the run ends;
//! - the end gives nothing back, and no way leads back from what somebody else has done: nodes that are not replaced are uncordoned, the others are told.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::plan::{External, OldNodes};
use replank_model::object::cloud::{GroupSize, LaunchTemplate, NodeGroup};
use replank_model::text::{GroupName, NodeName};
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::mark::{self, Moment};
use replank_protocol::owner::Owner;
use replank_protocol::record::GroupRecord;
use replank_protocol::waiting::{RollEnd, RollWait, Subject};

use super::context::{Context, GroupRoll};
use super::fleet::Fleet;
use super::member::{Member, NodeState, last_step};
use super::on_time::is_on_time;
use super::tags::{tag, untag};
use super::terms::MARK_LIFE;

/// The groups of a run as it knows them, with what its record says of them.
pub(super) fn stand_ins(
    fleet: &Fleet,
    noted: &BTreeMap<GroupName, GroupRecord>,
) -> BTreeMap<GroupName, NodeGroup> {
    let known = fleet.groups.iter().filter_map(|(name, nodes)| {
        let notes = noted.get(name).map(|noted| noted.notes.clone()).unwrap_or_default();
        let alive = nodes.alive(name);
        let before = notes.value(mark::ORIGINAL_SIZE).and_then(mark::read_size);
        // A group of which there is no node, and never was one in this run, is none.
        let size = before.or((alive > 0).then_some(GroupSize { min: 0, max: alive, desired: alive }))?;
        let zones = nodes.ready.keys().cloned().collect();
        let mut group = NodeGroup::new(name.clone(), size, zones, LaunchTemplate::default());
        group.tags = notes;
        Some((name.clone(), group))
    });
    known.collect()
}

/// What a node is to be marked as that waits for its turn. Where nodes go before others come, pods may have no room but on nodes that go later; they move once more then.
/// A node on which something is waited for is cordoned all the same, lest more of that comes; but not where no node would be left that takes pods.
pub(super) fn role(ctx: &Context<'_>, member: &Member) -> NodeRole {
    // One that was marked before is cordoned, whatever else is open: the run has come to its end.
    let NodeState::Found { node_pods } = &member.state else { return NodeRole::Queued };
    if takes_pods(ctx) && (node_pods.is_free() || !has_open(ctx)) {
        NodeRole::Listed
    } else {
        NodeRole::Queued
    }
}

/// Whether old nodes take pods until their turn comes.
fn takes_pods(ctx: &Context<'_>) -> bool {
    ctx.scope.plan.external().is_some_and(|external| external.old_nodes == OldNodes::Avoid)
}

/// Whether nodes take pods on which nothing is waited for: one that stays, or more of those that go than the next one.
fn has_open(ctx: &Context<'_>) -> bool {
    let mut goes = 0;
    // What a person has cordoned takes none, whatever else it is.
    let mut all = ctx.fleet.members.values().filter(|member| member.unready.is_none() && !member.is_cordoned);
    all.any(|member| {
        let is_free = if let NodeState::Found { node_pods } = &member.state {
            node_pods.is_free()
        } else if let NodeState::Queued { node_pods, .. } = &member.state {
            member.is_open && node_pods.is_free()
        } else if member.is_closed() {
            false
        } else {
            return true;
        };
        goes += usize::from(is_free);
        goes > 1
    })
}

/// Nodes that take no pods once a run has halted: old ones that are not begun do, where they did before.
pub(super) fn closed_at_end(ctx: &Context<'_>) -> BTreeSet<NodeName> {
    let takes_pods = takes_pods(ctx);
    let mut closed = ctx.fleet.closed();
    closed.retain(|name| !takes_pods || !matches!(ctx.member(name).state, NodeState::Found { .. }));
    closed
}

/// Cordons what takes pods and has something on it by now that is waited for. Where no node would be left that takes pods, it is one node at a time.
pub(super) fn shut(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    if roll.nodes.held_open == 0 {
        return;
    }
    let (open, shut): (Vec<&NodeName>, Vec<&NodeName>) =
        roll.nodes.held.iter().partition(|name| ctx.member(name).is_open);
    let is_begun = !shut.is_empty() || !roll.nodes.draining.is_empty() || !roll.nodes.drained.is_empty();
    let count = match (has_open(ctx), is_begun) {
        (true, true | false) => usize::MAX,
        (false, true) => 0,
        (false, false) => 1,
    };
    for name in open.into_iter().take(count) {
        remark(ctx, name, NodeRole::Queued, "cordon");
    }
}

/// Has nodes take pods again on which nothing is waited for any more, until they are begun.
pub(super) fn open(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, starting: &BTreeSet<NodeName>) {
    if !takes_pods(ctx) {
        return;
    }
    let free = roll.nodes.queue.values().flatten().map(|(_, name)| name);
    let shut = free.filter(|name| !starting.contains(*name) && !ctx.member(name).is_open);
    for name in shut.cloned().collect::<Vec<_>>() {
        remark(ctx, &name, NodeRole::Listed, "uncordon");
    }
}

/// Marks a node that waits for its turn as something else.
fn remark(ctx: &mut Context<'_>, name: &NodeName, role: NodeRole, what: &str) {
    let member = ctx.member(name);
    let NodeState::Queued { since, .. } = member.state else { return };
    let mark = Mark { owner: Owner::Run, role, since: ctx.now, expires: ctx.now + MARK_LIFE };
    // It may happen to a node more than once.
    let key = ctx.key("queue", format!("{}/{}/{since}", member.uid, role.as_str()));
    ctx.mark(member, what, key, mark);
}

/// Tells everybody that a node is empty and to be replaced.
pub(super) fn hand_out(ctx: &mut Context<'_>, member: &Member) {
    let mark =
        Mark { owner: Owner::Run, role: NodeRole::Drained, since: ctx.now, expires: ctx.now + MARK_LIFE };
    let key = ctx.key("drained", &member.uid);
    ctx.mark(member, "mark for a drained node", key, mark);
}

/// Says what the run waits for others to do: nodes to be replaced, nodes to come, new nodes to become Ready.
pub(super) fn arrivals(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    let Some(External { wait, .. }) = ctx.scope.plan.external().copied() else { return };
    for name in &roll.nodes.drained {
        let NodeState::Drained { since } = ctx.member(name).state else { continue };
        let (subject, until) = (Subject::Node(name.clone()), since + wait);
        if ctx.now < until {
            ctx.wait_until(subject, RollWait::Replacement { since, until }.into(), until);
        } else {
            ctx.wait(subject, RollEnd::NotReplaced { since, limit: wait }.into());
        }
    }
    for name in &roll.nodes.arriving {
        let since = ctx.view.node(name).and_then(|node| last_step(node));
        is_on_time(ctx, Subject::Node(name.clone()), since, Some(ctx.member(name)));
    }
    let noted = roll.moment(&ctx.scope.run, mark::AWAITED);
    if roll.missing() == 0 {
        if noted.is_some() {
            untag(ctx, roll.name, mark::AWAITED);
        }
        return;
    }
    let since = noted.unwrap_or(ctx.now);
    if noted.is_none() {
        let value = Moment { run: ctx.scope.run.clone(), at: since }.to_text();
        tag(ctx, roll.name, "moment from which a new node is waited for", mark::AWAITED, value);
    }
    let (ready, wanted) = (roll.nodes.ready_total(), roll.wanted());
    let until = since + wait;
    if ctx.now < until {
        let on = RollWait::Successor { ready, wanted, since, until };
        ctx.wait_until(roll.subject(), on.into(), until);
    } else {
        ctx.wait(roll.subject(), RollEnd::NoSuccessor { ready, wanted, since, limit: wait }.into());
    }
}

/// Nodes of a group that are gone, and in whose places none is Ready yet: they are not replaced.
pub(super) fn without_successor(roll: &GroupRoll<'_>) -> u32 {
    let arriving = u32::try_from(roll.nodes.arriving.len()).unwrap_or(u32::MAX);
    roll.missing().saturating_add(arriving)
}

/// Says which nodes stay replaced though the run is called off.
pub(super) fn say_replaced(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    let nodes = roll.gone();
    if nodes > 0 {
        ctx.wait(roll.subject(), RollEnd::ReplacedByOthers { nodes }.into());
    }
}
