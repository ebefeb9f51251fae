//! The end of a case: heartbeats while pods are left, then the node's volumes, then the action or the instance.

use std::collections::BTreeSet;

use replank_model::object::node::Node;
use replank_model::time::{Span, Time};

use super::case::Case;
use super::context::{Context, target};
use crate::proof::drained;
use replank_protocol::cause::Cause;
use replank_protocol::command::{CommandKey, Effect, Expected, GroupEffect, Replacement};
use replank_protocol::waiting::{InterruptionWait, Subject, WaitingOn};

/// How long a case waits for the volumes of an empty node: a volume detaches within seconds; one whose driver hangs never
/// does.
const DETACH_MAX: Span = Span::from_minutes(5);

/// See the module's page. `emptied` is when the node was first seen empty.
pub(super) fn finish(
    ctx: &mut Context<'_>,
    case: &Case,
    beats: &BTreeSet<CommandKey>,
    emptied: Option<Time>,
) {
    let Some(node) = &case.node else {
        unregistered(ctx, case);
        return;
    };
    let subject = Subject::Node(node.name());
    let pods = case.pods_left();
    let is_over = case.until.is_some_and(|until| until <= ctx.now);
    if pods > 0 && !is_over {
        heartbeat(ctx, case, beats);
        if let Some(until) = case.until {
            ctx.wake_at(until);
        }
        let until = case.until;
        ctx.wait(
            subject,
            WaitingOn::Interruption(InterruptionWait::Interrupted { by: case.by(), until, pods }),
        );
        return;
    }
    if case.marked_since().is_none() {
        return;
    }
    let volumes = u32::try_from(node.status.volumes_attached.len()).unwrap_or(u32::MAX);
    let wait = emptied.map(|emptied| emptied + DETACH_MAX);
    let wait = wait.map(|wait| case.until.map_or(wait, |until| until.min(wait)));
    if let Some(until) = wait.filter(|until| volumes > 0 && ctx.now < *until) {
        ctx.wake_at(until);
        ctx.wait(subject, WaitingOn::Interruption(InterruptionWait::Volumes { volumes, until }));
        return;
    }
    end(ctx, case, node, pods);
}

fn end(ctx: &mut Context<'_>, case: &Case, node: &Node, pods: u32) {
    // A hook of somebody else's is theirs to complete, and an instance that is not listed cannot be ended.
    let is_ours = if case.held_since().is_some() { !case.actions.is_empty() } else { case.known.is_some() };
    // What is going down with nothing on it is waited for as well: its group may launch another in its place, which a run that ends has to deal with.
    let is_going = case.by() == Cause::Down && pods == 0 && case.known.is_some();
    if is_going || case.by() != Cause::Down && (pods > 0 || !is_ours) {
        let until = case.until.filter(|_| !is_going);
        let on = WaitingOn::Interruption(InterruptionWait::Interrupted { by: case.by(), until, pods });
        ctx.wait(Subject::Node(node.name()), on);
    }
    if case.held_since().is_some() {
        let expected = (pods == 0).then(|| drained(ctx.view, target(node), &ctx.options.run, Vec::new()));
        complete(ctx, case, expected.as_ref());
        return;
    }
    // What is not empty ends by itself when its time is over, and what is going down already needs no end.
    let is_to_end = pods == 0 && case.by() != Cause::Down;
    let Some(known) = case.known.as_ref().filter(|known| is_to_end && known.state.is_alive()) else { return };
    let effect = Effect::Group(GroupEffect::Terminate {
        instance: case.instance.clone(),
        group: known.group.clone(),
        expected: drained(ctx.view, target(node), &ctx.options.run, Vec::new()),
        replacement: Replacement::Launch,
    });
    let key = ctx.key("terminate", &case.instance);
    ctx.send(Subject::Node(node.name()), "termination", key, effect);
}

/// Lets the group go on, until it is seen to.
fn complete(ctx: &mut Context<'_>, case: &Case, expected: Option<&Expected>) {
    for (hook, action) in &case.actions {
        let key = ctx.key("complete", format!("{}/{hook}", case.instance));
        let (action, expected) = (action.clone(), expected.cloned());
        let effect = Effect::Group(GroupEffect::CompleteAction { action, expected });
        ctx.send(Subject::Instance(case.instance.clone()), "completion of a lifecycle action", key, effect);
    }
}

/// Has the hook hold on, twice in its timeout. Which heartbeat is due follows from the time alone.
fn heartbeat(ctx: &mut Context<'_>, case: &Case, beats: &BTreeSet<CommandKey>) {
    let (Some(since), Some(hook)) = (case.held_since(), case.hook(ctx.options, ctx.view)) else { return };
    let half = (hook.timeout.as_millis() / 2).max(1);
    let number = (ctx.now - since).as_millis().max(0) / half;
    ctx.wake_at(since + Span::from_millis((number + 1) * half));
    // Since when it has been held is not known without a message: it may have been long.
    if number == 0 && case.is_told() {
        return;
    }
    for (name, action) in &case.actions {
        let key = ctx.key("heartbeat", format!("{}/{name}/{number}", case.instance));
        if !beats.contains(&key) {
            let effect = Effect::Group(GroupEffect::Heartbeat { action: action.clone() });
            ctx.send(Subject::Instance(case.instance.clone()), "heartbeat", key, effect);
        }
    }
}

/// What never became a node has nothing to be drained.
fn unregistered(ctx: &mut Context<'_>, case: &Case) {
    let until = case.kept_until;
    if case.known.is_some() && ctx.now >= until {
        // News of its node may be late, as they are while no watch is to be had.
        complete(ctx, case, Some(&Expected::Unregistered));
        return;
    }
    ctx.wake_at(until);
    ctx.wait(
        Subject::Instance(case.instance.clone()),
        WaitingOn::Interruption(InterruptionWait::Unregistered { until }),
    );
}
