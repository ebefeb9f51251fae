//! Whether a new instance may still be expected.

use replank_model::object::cloud::ScalingProcess;
use replank_model::time::Time;
use replank_protocol::mark;
use replank_protocol::waiting::{CapacityWait, RollEnd, RollWait, RunEnd, Subject, WaitingOn};

use super::context::Context;
use super::member::{Member, NodeState};
use super::targets::NotHealthy;
use super::terms::LATE_AFTER;

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
