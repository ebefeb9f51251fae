//! What is done with the nodes, in order: see the module's page.

use std::collections::BTreeSet;

use replank_facts::kubectl::Sorted;
use replank_facts::room::Room;
use replank_model::object::node::Node;
use replank_model::text::NodeName;
use replank_protocol::command::NodeTarget;
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use replank_protocol::mark::ByHand;
use replank_protocol::taker::Taker;
use replank_protocol::waiting::Hope;
use replank_protocol::waiting::{DrainEnd, DrainWait, Finality, RunWait, Subject, Waiting, WaitingOn};

use super::context::Context;
use super::dry_run;
use super::memory::Memory;
use super::pods::{Course, Works};
use super::request::{DryRun, OnInterrupt, Sparing, Verb};
use super::stage::{NodeStatus, Phase, Stage, counted, waiting};
use crate::moving::Mover;

/// A node and how far it is.
struct Staged<'a> {
    target: &'a NodeTarget,
    stage: Stage,
}

/// Decides, and says how far each node is.
pub(super) fn decide(
    mut ctx: Context<'_>,
    memory: &mut Memory,
    intent: Intent,
) -> (Decision, Vec<NodeStatus>) {
    match ctx.request.options.dry_run {
        DryRun::None => {}
        DryRun::Client | DryRun::Server => return (dry_run::decide(ctx), Vec::new()),
    }
    match (ctx.request.verb, intent) {
        (Verb::Cordon | Verb::Uncordon, Intent::Run | Intent::Paused) => mark_all(ctx),
        (Verb::Drain, Intent::Run | Intent::Paused) => {
            let (statuses, end) = drain(&mut ctx, memory, intent);
            (Decision { end, ..ctx.builder.finish() }, statuses)
        }
        (_, Intent::Cancelled | Intent::Undo) => interrupted(ctx, memory),
    }
}

/// Cordons or uncordons all nodes.
fn mark_all(mut ctx: Context<'_>) -> (Decision, Vec<NodeStatus>) {
    let is_cordon = ctx.request.verb == Verb::Cordon;
    let (mut ended, mut statuses) = (Vec::new(), Vec::new());
    let mut is_done = true;
    for target in &ctx.request.nodes {
        let known = ctx.view.node(&target.name).filter(|node| node.meta.uid == target.uid);
        let Some(node) = known else {
            ended.push(waiting(&target.name, DrainEnd::NodeGone));
            statuses.push(status(&ctx, target, Phase::Ended(DrainEnd::NodeGone), None));
            continue;
        };
        let is_so = node.spec.unschedulable == is_cordon;
        if !is_so {
            match is_cordon {
                true => ctx.cordon(target, node, None),
                false => ctx.uncordon(target, node),
            }
            let refusal = last_of(&mut ctx, &Subject::Node(target.name.clone()));
            match refusal.filter(|waiting| waiting.on.hope() == Hope::None) {
                Some(waiting) => ended.push(waiting),
                None => is_done = false,
            }
        }
        let phase = if node.spec.unschedulable { Phase::Cordoned } else { Phase::Open };
        statuses.push(status(&ctx, target, phase, None));
    }
    let end = is_done.then_some(if ended.is_empty() { End::Done } else { End::Blocked(ended) });
    (Decision { end, ..ctx.builder.finish() }, statuses)
}

fn last_of(ctx: &mut Context<'_>, subject: &Subject) -> Option<Waiting> {
    ctx.builder.found().iter().find(|waiting| waiting.what == *subject).cloned()
}

fn drain(ctx: &mut Context<'_>, memory: &mut Memory, intent: Intent) -> (Vec<NodeStatus>, Option<End>) {
    let request = ctx.request;
    let mut staged: Vec<Staged<'_>> =
        request.nodes.iter().map(|target| Staged { target, stage: Stage::of(ctx, memory, target) }).collect();
    cordon_all(ctx, &mut staged, intent);
    move_all(ctx, memory, &mut staged, intent);
    let mut ended = Vec::new();
    for one in &staged {
        if let Stage::Over(on) = &one.stage {
            ctx.wait(Subject::Node(one.target.name.clone()), on.clone().into());
            ended.push(waiting(&one.target.name, on.clone()));
        }
    }
    let is_over = staged.iter().all(|one| matches!(one.stage, Stage::Over(_) | Stage::Drained));
    let is_done = ended.iter().all(|waiting| waiting.on.finality() == Some(Finality::Kept));
    let end = is_over.then_some(if is_done { End::Done } else { End::Blocked(ended) });
    let statuses = staged.iter().map(|one| told(ctx, one)).collect();
    (statuses, end)
}

/// Cordons what is not cordoned yet.
fn cordon_all(ctx: &mut Context<'_>, staged: &mut [Staged<'_>], intent: Intent) {
    for one in staged.iter_mut() {
        let Stage::Open(node) = &one.stage else { continue };
        if intent == Intent::Paused {
            ctx.wait(Subject::Node(one.target.name.clone()), WaitingOn::Run(RunWait::Paused));
            continue;
        }
        ctx.cordon(one.target, node, None);
    }
}

/// Has nodes begun whose turn has come, and moves the pods of those that are.
fn move_all(ctx: &mut Context<'_>, memory: &mut Memory, staged: &mut [Staged<'_>], intent: Intent) {
    let open = staged.iter().filter(|one| matches!(one.stage, Stage::Open(_))).count();
    let limit = ctx.request.options.parallel.max(1);
    let mut active = 0;
    if open == 0 {
        let closed: BTreeSet<NodeName> = ctx.request.nodes.iter().map(|node| node.name.clone()).collect();
        let room = match ctx.request.options.sparing {
            Sparing::Surge => {
                let room = memory.room.get_or_insert_with(|| Room::load(ctx.view, closed.clone()));
                room.set_all_closed(&closed);
                Some(room)
            }
            Sparing::Evict => None,
        };
        let mut works = Works::new(ctx, &mut memory.healths, room);
        for one in staged.iter_mut() {
            let Stage::Draining { by, sorted } = &one.stage else { continue };
            if let Some(limit) = ctx.request.options.timeout {
                ctx.builder.wake_at(by.from.unwrap_or(ctx.now) + limit);
            }
            let moved = move_one(ctx, &mut works, (one.target, by, sorted), intent);
            active += u32::from(moved == Moved::Busy);
            if moved == Moved::Immovable {
                one.stage = Stage::Over(DrainEnd::Immovable { pods: counted(sorted.going.len()) });
            }
        }
    }
    for one in staged.iter() {
        let Stage::Queued(node) = &one.stage else { continue };
        let subject = Subject::Node(one.target.name.clone());
        if open > 0 {
            ctx.wait(subject, DrainWait::AllCordoned { nodes: counted(open) }.into());
        } else if intent == Intent::Paused {
            ctx.wait(subject, WaitingOn::Run(RunWait::Paused));
        } else if active >= limit {
            ctx.wait(subject, DrainWait::DrainTurn { active, limit }.into());
        } else {
            begin(ctx, one.target, node);
            active += 1;
        }
    }
}

fn begin(ctx: &mut Context<'_>, target: &NodeTarget, node: &Node) {
    let now = ctx.now;
    ctx.cordon(target, node, Some(now));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// Pods are on their way, or may be soon.
    Busy,
    /// All that are left wait for something else.
    Held,
    /// Nothing will ever move what is left.
    Immovable,
}

fn move_one(
    ctx: &mut Context<'_>,
    works: &mut Works<'_>,
    (target, by, sorted): (&NodeTarget, &ByHand, &Sorted),
    intent: Intent,
) -> Moved {
    let pods = counted(sorted.going.len());
    let mut moved = Moved::Held;
    for (bound, _) in &sorted.going {
        if intent == Intent::Paused && !bound.pod.is_terminating() {
            ctx.wait(Subject::Pod(bound.key.clone()), WaitingOn::Run(RunWait::Paused));
        } else if works.move_off(ctx, by, bound) == Course::Moving {
            moved = Moved::Busy;
        }
    }
    ctx.wait(Subject::Node(target.name.clone()), DrainWait::PodsLeft { pods }.into());
    let waits = ctx.builder.found();
    let is_immovable = sorted.going.iter().all(|(bound, _)| {
        let subject = Subject::Pod(bound.key.clone());
        let found = waits.binary_search_by(|waiting| waiting.what.cmp(&subject));
        found.is_ok_and(|at| waits[at].on.hope() == Hope::None)
    });
    if is_immovable { Moved::Immovable } else { moved }
}

/// A person has interrupted: nothing more is begun. What stays cordoned is said by the statuses.
fn interrupted(mut ctx: Context<'_>, memory: &mut Memory) -> (Decision, Vec<NodeStatus>) {
    let request = ctx.request;
    let mut statuses = Vec::new();
    let mut is_done = true;
    for target in &request.nodes {
        let one = Staged { target, stage: Stage::of(&ctx, memory, target) };
        let known = ctx.view.node(&target.name).filter(|node| node.meta.uid == target.uid);
        let is_ours = |node: &Node| {
            let by = ByHand::of(node).filter(|by| by.run == request.run && !by.is_foreign);
            by.is_some() && node.spec.unschedulable
        };
        let is_drained = matches!(one.stage, Stage::Drained);
        // Who takes a node away relies on a cordon, too.
        let is_taken = known.is_some_and(|node| Taker::of(node).is_some());
        let is_undone = request.options.on_interrupt == OnInterrupt::Uncordon && !is_drained && !is_taken;
        if let Some(node) = known.filter(|node| is_undone && is_ours(node)) {
            is_done = false;
            if !ctx.awaits_evictions(&target.name) {
                ctx.uncordon(target, node);
            }
        } else if is_undone && ctx.may_be_cordoned(target) {
            is_done = false;
        }
        statuses.push(told(&ctx, &one));
    }
    let end = is_done.then(|| End::Cancelled(Vec::new()));
    (Decision { end, ..ctx.builder.finish() }, statuses)
}

fn told(ctx: &Context<'_>, one: &Staged<'_>) -> NodeStatus {
    let (phase, sorted) = match &one.stage {
        Stage::Over(DrainEnd::RefusedPods { refused }) => (Phase::Refused(refused.clone()), None),
        Stage::Over(on) => (Phase::Ended(on.clone()), None),
        Stage::Open(_) => (Phase::Open, None),
        Stage::Queued(_) => (Phase::Cordoned, None),
        Stage::Draining { sorted, .. } => (Phase::Draining, Some(sorted)),
        Stage::Drained => (Phase::Drained, None),
    };
    status(ctx, one.target, phase, sorted)
}

fn status(ctx: &Context<'_>, target: &NodeTarget, phase: Phase, sorted: Option<&Sorted>) -> NodeStatus {
    let node = ctx.view.node(&target.name).filter(|node| node.meta.uid == target.uid);
    let by = node.and_then(|node| ByHand::of(node)).filter(|by| by.run == ctx.request.run);
    let from = by.and_then(|by| by.from);
    let all = || Sorted::of(ctx.view, &ctx.request.options.filters, &target.name, from, ctx.now);
    let is_pending = match &phase {
        Phase::Drained => false,
        Phase::Ended(on) => *on != DrainEnd::NodeGone,
        Phase::Open | Phase::Cordoned | Phase::Draining | Phase::Refused(_) => true,
    };
    let keys = |sorted: &Sorted| sorted.going.iter().map(|(bound, _)| bound.key.clone()).collect();
    let pods = match (sorted, is_pending) {
        (Some(sorted), _) => keys(sorted),
        (None, true) => keys(&all()),
        (None, false) => Vec::new(),
    };
    NodeStatus {
        node: target.clone(),
        phase,
        is_cordoned: node.is_some_and(|node| node.spec.unschedulable),
        pods,
        from,
    }
}
