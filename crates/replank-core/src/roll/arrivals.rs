//! New instances, and whether they come in time.

use std::sync::Arc;

use replank_model::object::cloud::ScalingProcess;
use replank_model::object::node::Node;
use replank_model::text::{GroupName, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::mark;
use replank_protocol::waiting::{CapacityWait, RollEnd, RollWait, RunEnd, Subject, WaitingOn};

use super::context::{Context, GroupRoll, Watched};
use super::external;
use super::member::{Member, NodeState, last_step};
use super::targets::NotHealthy;
use super::terms::LATE_AFTER;

/// Why a group that has fewer instances than it wants could not launch the last.
pub(super) fn last_failure(view: &View, name: &GroupName) -> Option<Text> {
    let group = view.groups().get(name)?;
    let last = group.failures.iter().max_by_key(|failure| failure.at)?;
    let counted = view.instances().values().filter(|one| one.group == *name && one.is_counted()).count();
    (counted < group.size.desired as usize).then(|| Text::from(last.to_string()))
}

/// Says what new instances the group waits for.
pub(super) fn arrivals(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    if ctx.scope.is_external() {
        external::arrivals(ctx, roll);
        return;
    }
    let nodes = roll.nodes;
    let usable = u32::try_from(nodes.usable.len()).unwrap_or(u32::MAX);
    let mut on_time = 0;
    for id in nodes.loose_new.iter().chain(&nodes.loose_old) {
        let launched = ctx.view.instances().get(id).and_then(|instance| instance.launched);
        // What the run has not launched is not late: it had a node, or never got one.
        let is_older = launched.is_some_and(|at| at + LATE_AFTER < ctx.scope.options.started);
        if is_older {
            ctx.wait(Subject::Instance(id.clone()), WaitingOn::Capacity(CapacityWait::NodeMissing));
            continue;
        }
        on_time += u32::from(is_on_time(ctx, Subject::Instance(id.clone()), launched, None));
    }
    for name in &nodes.arriving {
        let member = ctx.member(name);
        let node = ctx.view.node(name);
        let since = node.and_then(|node: &Arc<Node>| last_step(node));
        on_time += u32::from(is_on_time(ctx, Subject::Node(name.clone()), since, Some(member)));
    }
    let missing = roll.missing();
    let stopped = roll.group.filter(|group| !group.ways.is_active(ScalingProcess::Launch));
    // The time of a launch counts from the moment at which there can be one.
    ctx.watch(roll, Watched::Launching, missing > 0 && stopped.is_none());
    if let Some(group) = stopped.filter(|_| missing > 0) {
        let auto_scaling_group = group.auto_scaling_group.clone();
        let on = RollWait::Suspended { process: ScalingProcess::Launch, auto_scaling_group };
        ctx.wait(roll.subject(), on.into());
        return;
    }
    if let Some(since) = ctx.launches_nothing(roll) {
        ctx.wait(
            roll.subject(),
            WaitingOn::Capacity(CapacityWait::InstanceLate { since, daemon_pods_missing: 0 }),
        );
    }
    if on_time + missing > 0 {
        let wanted = usable + on_time + missing;
        let failure = last_failure(ctx.view, roll.name);
        ctx.wait(
            roll.subject(),
            WaitingOn::Capacity(CapacityWait::Capacity { ready: usable, wanted, failure }),
        );
    }
}

/// Says what an arriving instance waits for; whether it may still be expected.
pub(super) fn is_on_time(
    ctx: &mut Context<'_>,
    subject: Subject,
    since: Option<Time>,
    member: Option<&Member>,
) -> bool {
    let since = since.unwrap_or(ctx.scope.options.started);
    let (daemon_pods_missing, target) = match member.map(|member| &member.state) {
        Some(NodeState::Closed) => {
            let node = member.and_then(|member| ctx.view.node(&member.name));
            let newer = node.and_then(|node| mark::newer_on_node(node));
            let on = newer.map_or(WaitingOn::RollEnd(RollEnd::ForeignCordon), |version| {
                WaitingOn::RunEnd(RunEnd::NewerVersion { version })
            });
            ctx.wait(subject, on);
            return false;
        }
        Some(NodeState::Arriving { daemon_pods_missing, target }) => (*daemon_pods_missing, target.clone()),
        Some(_) | None => (0, None),
    };
    if let Some(NotHealthy { target_group, health, registrar, suspended }) = target {
        let on = match suspended {
            Some(auto_scaling_group) => {
                RollWait::Suspended { process: ScalingProcess::AddToLoadBalancer, auto_scaling_group }.into()
            }
            None => {
                WaitingOn::Capacity(CapacityWait::TargetHealth { target_group, health, registrar, since })
            }
        };
        if ctx.now > since + LATE_AFTER {
            ctx.wait(subject, on);
            return false;
        }
        ctx.wait_until(subject, on, since + LATE_AFTER);
        return true;
    }
    if ctx.now > since + LATE_AFTER {
        ctx.wait(subject, WaitingOn::Capacity(CapacityWait::InstanceLate { since, daemon_pods_missing }));
        return false;
    }
    ctx.wait_until(
        subject,
        WaitingOn::Capacity(CapacityWait::NodeReady { daemon_pods_missing }),
        since + LATE_AFTER,
    );
    true
}
