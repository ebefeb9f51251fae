//! Instances that a launch hook holds: they go into service when their nodes are of use.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::{Instance, Lifecycle, Transition};
use replank_model::text::{InstanceId, MessageId, Text};

use super::context::Context;
use super::notice::News;
use super::{Cache, KEEP, hooks_at};
use replank_facts::daemon::missing as daemons_missing;
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::lifecycle::Action;
use replank_protocol::lifecycle::Place;
use replank_protocol::waiting::{CapacityWait, Subject, WaitingOn};

/// Completes what is to be completed. Returns the messages that are still needed.
///
/// An instance whose node does not become Ready is left to the hook's own result, which ends it (ABANDON): to let it into
/// service would only hide it.
pub(super) fn launches(ctx: &mut Context<'_>, cache: &Cache) -> BTreeSet<MessageId> {
    let mut actions: BTreeMap<(InstanceId, Text), Action> = BTreeMap::new();
    let mut open = BTreeSet::new();
    for (message, notice) in cache.inbox.notices() {
        let News::Launching(action) = &notice.news else { continue };
        let known = ctx.view.instances().get(&action.instance);
        let is_open = match known {
            Some(known) => waits(known),
            None => ctx.now < message.sent + KEEP,
        };
        if is_open && ctx.options.hooks.has(&action.hook) {
            open.insert(message.id.clone());
            actions.insert((action.instance.clone(), action.hook.clone()), action.clone());
        }
    }
    for id in &cache.held {
        let Some(instance) = ctx.view.instances().get(id) else { continue };
        if instance.lifecycle != Lifecycle::PendingWait {
            continue;
        }
        for hook in hooks_at(ctx.view, ctx.options, &instance.group, Transition::Launching) {
            let (group, instance) = (instance.group.clone(), id.clone());
            let action = Action { group, hook: hook.name.clone(), instance, token: None, to: Place::Group };
            actions.entry((id.clone(), hook.name.clone())).or_insert(action);
        }
    }
    for ((instance, hook), action) in actions {
        let subject = Subject::Instance(instance.clone());
        match readiness(ctx, cache, &instance, action.to) {
            Ok(()) => {
                let key = ctx.key("complete", format!("{instance}/{hook}"));
                ctx.send(
                    subject,
                    "completion of a lifecycle action",
                    key,
                    Effect::Group(GroupEffect::CompleteAction { action, expected: None }),
                );
            }
            Err(on) => ctx.wait(subject, on),
        }
    }
    open
}

/// Whether a launch hook may hold the instance; its group may be seen later than the message.
fn waits(instance: &Instance) -> bool {
    instance.state.is_alive()
        && matches!(instance.lifecycle, Lifecycle::Pending | Lifecycle::PendingWait | Lifecycle::Warmed)
}

fn readiness(ctx: &Context<'_>, cache: &Cache, instance: &InstanceId, to: Place) -> Result<(), WaitingOn> {
    if to == Place::WarmPool {
        // It is stopped again; nothing of the cluster waits for it.
        return Ok(());
    }
    let node = cache.node_of(instance).and_then(|name| ctx.view.node(name));
    match node {
        None => Err(WaitingOn::Capacity(CapacityWait::NodeReady { daemon_pods_missing: 0 })),
        Some(node) => match (node.is_ready(), daemons_missing(ctx.view, node)) {
            (true, 0) => Ok(()),
            (true, daemon_pods_missing) => {
                Err(WaitingOn::Capacity(CapacityWait::NodeReady { daemon_pods_missing }))
            }
            (false, _) => Err(WaitingOn::Capacity(CapacityWait::NodeReady { daemon_pods_missing: 0 })),
        },
    }
}
