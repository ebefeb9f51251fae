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
//! - a node that becomes as the target says without being replaced (its kubelet was upgraded in place) is its own successor: it is uncordoned;
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
/// A node on which something is waited for is cordoned all the same, lest more of that comes.
pub(super) fn role(ctx: &Context<'_>, member: &Member) -> NodeRole {
    let takes_pods = ctx.scope.plan.external().is_some_and(|external| external.old_nodes == OldNodes::Avoid);
    let is_free = member.state == NodeState::Found { is_free: true };
    if takes_pods && is_free { NodeRole::Listed } else { NodeRole::Queued }
}

/// Nodes that take no pods once a run has halted: old ones that are not begun do, where they did before.
pub(super) fn closed_at_end(ctx: &Context<'_>) -> BTreeSet<NodeName> {
    let takes_pods = ctx.scope.plan.external().is_some_and(|external| external.old_nodes == OldNodes::Avoid);
    let mut closed = ctx.fleet.closed();
    closed.retain(|name| !takes_pods || !matches!(ctx.member(name).state, NodeState::Found { .. }));
    closed
}

/// Cordons what takes pods and has something on it by now that is waited for.
pub(super) fn shut(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    for name in &roll.nodes.held {
        let member = ctx.member(name);
        if member.is_open {
            let mark = Mark {
                owner: Owner::Run,
                role: NodeRole::Queued,
                since: ctx.now,
                expires: ctx.now + MARK_LIFE,
            };
            let key = ctx.key("queue", format!("{}/held", member.uid));
            ctx.mark(member, "cordon", key, mark);
        }
    }
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
