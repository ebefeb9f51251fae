//! AZRebalance, suspended while nodes of an Auto Scaling group are replaced one by one.
//!
//! Such a group launches and terminates instances to have as many in each zone. A roll brings its zones out of balance again and again, and what the group then
//! terminates it does not drain. What is suspended is written down in a tag first, and resumed before the tag is taken off: whoever goes on with the run, or
//! comes after it, knows from the group alone what is to be resumed. What somebody else had suspended stays so.

use replank_model::object::cloud::{GroupKind, NodeGroup, ScalingProcess};
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::mark::{self, process_tag, read_process};
use replank_protocol::waiting::Subject;

use super::context::{Context, GroupRoll};
use super::tags::{tag, untag};

/// Suspends AZRebalance of the groups of a roll before one of them is changed: of those that nodes leave, and of those that they move into. Whether that is still to be seen.
pub(super) fn suspend_all(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let others = roll.others().map(|(_, group)| group);
    let groups: Vec<&NodeGroup> = roll.group.into_iter().chain(others).collect();
    groups.into_iter().fold(false, |is_any, group| suspend(ctx, group) | is_any)
}

fn suspend(ctx: &mut Context<'_>, group: &NodeGroup) -> bool {
    let process = ScalingProcess::AzRebalance;
    // EKS suspends and resumes what it has to; in one zone there is nothing to balance.
    let is_own = group.kind == GroupKind::SelfManaged;
    if !is_own || group.zones.len() < 2 || !group.ways.is_active(process) {
        return false;
    }
    if group.tags.contains_key(mark::SUSPENDED) {
        set(ctx, group, process, false);
    } else {
        tag(ctx, &group.name, "suspended process", mark::SUSPENDED, process_tag(process));
    }
    true
}

/// Resumes what was suspended on the groups of a roll, and takes the tags off; whether that is done.
pub(super) fn resume_all(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    if roll.group.is_some_and(|group| !resume(ctx, group)) {
        return false;
    }
    // What a run that is over had suspended on a group that nodes are moved out of: its tags are off by now, and this one is nobody's.
    let is_left =
        |group: &NodeGroup| ![mark::BEGUN, mark::HALTED].iter().any(|key| group.tags.contains_key(key));
    let left: Vec<&NodeGroup> =
        roll.others().map(|(_, group)| group).filter(|group| is_left(group)).collect();
    left.into_iter().all(|group| resume(ctx, group))
}

/// Resumes what was suspended on a group, and takes the tag off; whether that is done.
fn resume(ctx: &mut Context<'_>, group: &NodeGroup) -> bool {
    let Some(value) = group.tags.value(mark::SUSPENDED) else { return true };
    match read_process(value).filter(|process| !group.ways.is_active(*process)) {
        Some(process) => set(ctx, group, process, true),
        None => untag(ctx, &group.name, mark::SUSPENDED),
    }
    false
}

fn set(ctx: &mut Context<'_>, group: &NodeGroup, process: ScalingProcess, is_active: bool) {
    let verb = if is_active { "resume" } else { "suspend" };
    let key = ctx.key(verb, format!("{}/{process}", group.name));
    let effect = Effect::Group(GroupEffect::SetProcess { group: group.id(), process, is_active });
    ctx.send(Subject::Group(group.name.clone()), &format!("{verb} of {process}"), key, effect);
}
