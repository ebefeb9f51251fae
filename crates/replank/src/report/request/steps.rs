//! What the plan says will be done, how it is stopped and how it is taken back.

use replank_core::plan::{
    BlockingFindings, OnDeadline, OnFailure, Order, Plan, Retained, Singletons, StuckAction,
};
use replank_sim::rehearse::RehearsalResult;

use super::super::words::{count, span};

/// The steps in order.
pub(super) fn steps(plan: &Plan, result: &RehearsalResult) -> String {
    let steps = [surge(plan), cordon(plan), stages(plan, result), drain(plan), batch(plan), end(plan)];
    let numbered = steps.iter().flatten().enumerate();
    numbered.map(|(at, step)| format!("{}. {step}\n", at + 1)).collect()
}

fn surge(plan: &Plan) -> Option<String> {
    let refuse = match plan.care.blocking_findings {
        BlockingFindings::Refuse => "Nothing is begun while something blocking is found. ",
        BlockingFindings::Proceed => "",
    };
    let into = plan.target.group.as_ref().map_or_else(String::new, |group| format!(" in group `{group}`"));
    Some(format!(
        "{refuse}Each group's size is written down on the group; new nodes are launched{into}, up to {} more than before.",
        plan.budget.surge
    ))
}

fn cordon(plan: &Plan) -> Option<String> {
    let least = match plan.budget.min_ready_per_zone {
        0 => String::new(),
        least => format!(
            " At least {} stay Ready in each zone.",
            count(usize::try_from(least).unwrap_or(usize::MAX), "node")
        ),
    };
    Some(format!(
        "When new nodes are Ready, with their DaemonSets' pods, all old nodes are cordoned: a pod moves once.{least} No group has fewer nodes \
         than it wanted, less {} (`maxUnavailable`).",
        plan.budget.max_unavailable
    ))
}

fn stages(plan: &Plan, result: &RehearsalResult) -> Option<String> {
    let nodes = u32::try_from(result.nodes.total).unwrap_or(u32::MAX);
    let stages = plan.stages(nodes);
    let first = stages.first()?;
    let kind = if plan.canary.is_some() { "canary" } else { "first wave" };
    let later: Vec<String> = stages[1..].iter().map(|stage| format!("after {} nodes", stage.nodes)).collect();
    let later = if later.is_empty() { String::new() } else { format!("; again {}", later.join(", ")) };
    let health = plan.stage_health().map_or_else(String::new, |health| {
        format!(
            " It halts if more than {} pods crash, {} are stuck or {} are not Ready on new nodes.",
            health.crash_looping_max, health.stuck_terminating_max, health.not_ready_max
        )
    });
    Some(format!(
        "After {} ({kind}) the run stands still for {}{later}.{health}",
        count(first.nodes as usize, "node"),
        span(first.pause)
    ))
}

fn drain(plan: &Plan) -> Option<String> {
    let order = match plan.order {
        Order::LeastDisruption => "fewest pods under a disruption budget first",
        Order::Oldest => "the oldest first",
        Order::ZoneByZone => "zone by zone",
    };
    let parallel = match plan.pace.parallel {
        1 => "one at a time".to_owned(),
        many => format!("{many} at once"),
    };
    let singletons = match plan.care.singletons {
        Singletons::Surge => {
            " Single replicas are moved by a rolling restart beforehand, where their strategy allows it."
        }
        Singletons::Evict => "",
        Singletons::Skip => " Nodes with single replicas are left out.",
    };
    Some(format!(
        "Nodes are drained {parallel}, {order}, by evictions that every disruption budget may refuse; a node is begun only if its pods have room \
         elsewhere.{singletons}"
    ))
}

fn batch(plan: &Plan) -> Option<String> {
    let then = match plan.batch.on_deadline {
        OnDeadline::Pause => "then the run is blocked and a person decides",
        OnDeadline::Evict => "then they are evicted",
        OnDeadline::Skip => "then their nodes are left out",
    };
    Some(format!(
        "Nodes with running batch pods go last. Batch pods are waited for up to {}; {then}.",
        span(plan.batch.wait)
    ))
}

fn end(plan: &Plan) -> Option<String> {
    let kept = match (plan.care.load_balancer.exclude, plan.care.retain.capacity) {
        (true, _) => format!(
            " Its instance is kept for {} after it was taken out of load balancers.",
            span(plan.care.load_balancer.deregistration_delay)
        ),
        (false, Retained::Cordoned | Retained::Template | Retained::None) => String::new(),
    };
    Some(format!(
        "When a node is empty, its instance is ended by its id.{kept} In the end each group's bounds are as they were."
    ))
}

pub(super) fn stop(plan: &Plan) -> String {
    let itself = match plan.on_failure {
        OnFailure::Pause => "begins nothing more, uncordons what it has not begun, and waits for a person",
        OnFailure::Rollback => "begins nothing more, and goes back to the launch template from before",
    };
    let stuck = match plan.care.stuck.action {
        StuckAction::Report => "is reported with what holds it",
        StuckAction::ReplaceNode => "is reported, and its instance is ended when nothing else is left on it",
        StuckAction::ForceDelete => "is reported, its instance is ended, and what is left of it is deleted",
    };
    format!(
        "- **pause**: nothing further is begun; what is half way is finished or waits. **resume** goes on.\n\
         - **cancel**: nothing further is begun, nodes that were not begun are uncordoned, bounds are given back.\n\
         - **undo**: see below.\n\
         - By itself it {itself}: when nothing has moved for {}, or after {} in all.\n\
         - A pod that does not end {} past its grace {stuck}.\n",
        span(plan.progress_deadline),
        span(plan.deadline),
        span(plan.care.stuck.after),
    )
}

pub(super) fn back(plan: &Plan) -> String {
    let kept = match plan.care.retain.capacity {
        Retained::Cordoned => format!(
            "The old nodes are kept, empty and cordoned, for {} after the last of them is empty: **undo** opens them again and moves pods back.",
            span(plan.care.retain.span)
        ),
        Retained::Template => format!(
            "The old launch template is kept in mind for {}: **undo** makes nodes as they were and moves pods back.",
            span(plan.care.retain.span)
        ),
        Retained::None => {
            "Nothing of the old nodes is kept (`retain`). A second plan whose target is the old version and image goes back, node by node."
                .to_owned()
        }
    };
    let failed = match plan.on_failure {
        OnFailure::Rollback => "\n\nIf the run cannot go on, it goes back by itself.",
        OnFailure::Pause => "",
    };
    format!(
        "{kept}{failed}\n\nWhat cannot be taken back: pods that were moved have been restarted, and data in an emptyDir is lost."
    )
}
