//! New instances, and whether they come in time.

use replank_model::object::cloud::ScalingProcess;
use replank_model::text::{GroupName, Text};
use replank_model::view::View;
use replank_protocol::waiting::{CapacityWait, RollWait, Subject, WaitingOn};

use super::context::{Context, GroupRoll, Watched};
use super::external;
pub(super) use super::on_time::is_on_time;
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
    for (id, launched) in nodes.loose_new.iter().chain(&nodes.loose_old) {
        let launched = *launched;
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
        let is_in_time = is_on_time(ctx, Subject::Node(name.clone()), member.last_step, Some(member));
        on_time += u32::from(is_in_time);
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
