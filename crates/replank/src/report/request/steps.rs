//! What the plan says will be done, how it is stopped and how it is taken back.

use replank_facts::plan::{
    BlockingFindings, Health, OnDeadline, OnFailure, Order, Plan, Retained, Singletons,
};
use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::time::Span;
use replank_protocol::policy::StuckAction;
use replank_rehearse::RehearsalResult;

use super::super::words::span;

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
    let kept = match plan.care.retain.capacity {
        Retained::Cordoned => ", those aside that are kept",
        Retained::Template | Retained::None => "",
    };
    Some(format!(
        "{refuse}Each group's size is written down on the group; new nodes are launched{into}, up to {} more than before{kept}.",
        plan.budget.surge
    ))
}

fn cordon(plan: &Plan) -> Option<String> {
    let least = match plan.budget.min_ready_per_zone {
        0 => String::new(),
        1 => " At least 1 node stays Ready in each zone.".to_owned(),
        least => format!(" At least {least} nodes stay Ready in each zone."),
    };
    let whose = if plan.target.group.is_some() { "do the groups together" } else { "does a group" };
    let missing = match &plan.budget.max_unavailable {
        count if is_zero(count) && !is_zero(&plan.budget.surge) => {
            format!("At no moment {whose} have fewer nodes in use than before.")
        }
        count => {
            format!(
                "At no moment {whose} have fewer nodes in use than before, less {count} (`maxUnavailable`)."
            )
        }
    };
    Some(format!(
        "When new nodes are Ready, with their DaemonSets' pods, all old nodes are cordoned: a pod moves once.{least} {missing}"
    ))
}

/// Whether a number of nodes is none, whatever the group.
fn is_zero(count: &IntOrString) -> bool {
    matches!(count.scaled(100, Rounding::Up), Ok(0))
}

fn stages(plan: &Plan, result: &RehearsalResult) -> Option<String> {
    let nodes = u32::try_from(result.nodes.total).unwrap_or(u32::MAX);
    let first = plan.stages(nodes).into_iter().find(|stage| stage.pause > Span::ZERO)?;
    let of = if plan.target.group.is_some() { "of all groups together" } else { "of each group" };
    let after = match (&plan.canary, &plan.care.waves) {
        (Some(canary), _) => {
            let nodes = match canary.nodes {
                IntOrString::Int(1) => "node",
                IntOrString::Int(_) => "nodes",
                IntOrString::String(_) => "of the nodes",
            };
            format!("After {} {nodes} {of} (canary)", canary.nodes)
        }
        (None, Some(waves)) => {
            let shares: Vec<String> = waves.nodes.iter().map(ToString::to_string).collect();
            let (_, before_last) = shares.split_last()?;
            format!("After each wave but the last ({} of the nodes {of})", before_last.join(", "))
        }
        (None, None) => return None,
    };
    let health = plan.stage_health().map_or_else(String::new, |health| {
        format!(" Until then it halts with {} on new nodes.", more_than(&health))
    });
    Some(format!("{after} the run stands still for {}.{health}", span(first.pause)))
}

/// What is more than a plan allows.
fn more_than(health: &Health) -> String {
    let Health { crash_looping_max, stuck_terminating_max, not_ready_max } = health;
    match (crash_looping_max, stuck_terminating_max, not_ready_max) {
        (0, 0, 0) => "any pod that crashes, is stuck in Terminating or is not Ready".to_owned(),
        (crash, stuck, unready) => format!(
            "more than {crash} pods that crash, {stuck} that are stuck in Terminating or {unready} that are not Ready"
        ),
    }
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
    let care = &plan.care;
    let delay = match care.load_balancer.exclude {
        true => format!(
            ", but not before {} after it was taken out of load balancers",
            span(care.load_balancer.deregistration_delay)
        ),
        false => String::new(),
    };
    let node = match care.retain.capacity {
        Retained::Cordoned => format!(
            "An empty node is kept, cordoned. {} after the last one is empty, their instances are ended by their ids{delay}.",
            span(care.retain.span)
        ),
        Retained::Template | Retained::None => {
            format!("When a node is empty, its instance is ended by its id{delay}.")
        }
    };
    let bounds = match &plan.target.group {
        Some(group) => {
            format!("In the end `{group}` wants as many nodes more as the other groups want less.")
        }
        None => "In the end each group's bounds are as they were.".to_owned(),
    };
    Some(format!("{node} {bounds}"))
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
    let unwell = plan.care.health.map_or_else(String::new, |health| {
        format!(
            "; and at once with {} in the whole cluster, counted over those at the start",
            more_than(&health)
        )
    });
    format!(
        "- **pause**: nothing further is begun; what is half way is finished or waits. **resume** goes on.\n\
         - **cancel**: nothing further is begun, nodes that were not begun are uncordoned, bounds are given back.\n\
         - **undo**: see below.\n\
         - By itself it {itself}: when nothing has moved for {}, or after {} in all{unwell}.\n\
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
            "Once it is done, nothing of the old nodes is kept (`retain`): a second plan whose target is the old version and image goes back, node by \
             node."
                .to_owned()
        }
    };
    let meanwhile = match &plan.target.group {
        Some(_) => {
            "Until it is done, **undo** uncordons the old nodes that are left; a second plan moves back what has moved."
        }
        None => {
            "Until it is done, **undo** gives the groups their launch template from before, uncordons the old nodes that are left and replaces the \
                 new ones, with the same care."
        }
    };
    let failed = match plan.on_failure {
        OnFailure::Rollback => "\n\nIf the run cannot go on, it goes back by itself.",
        OnFailure::Pause => "",
    };
    format!(
        "{meanwhile}\n\n{kept}{failed}\n\nWhat cannot be taken back: pods that were moved have been restarted, and data in an emptyDir is lost."
    )
}
