//! What the plan says will be done, how it is stopped and how it is taken back.

use replank_facts::plan::{
    BlockingFindings, Health, OnDeadline, OnFailure, Order, Plan, Retained, Singletons, Spread, Surge,
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
        BlockingFindings::Refuse => "The run does not start with blocking findings. ",
        BlockingFindings::Proceed => "",
    };
    let into = plan.target.group.as_ref().map_or_else(String::new, |group| format!(" in group `{group}`"));
    let kept = match plan.care.retain.capacity {
        Retained::Cordoned => ", except those that are kept",
        Retained::Template | Retained::None => "",
    };
    Some(format!(
        "{refuse}Each group's size is recorded on the group; new nodes are launched{into}, {}{kept}.",
        surge_in_words(plan)
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
        count if is_zero(count) && !plan.budget.surge.is_zero() => {
            format!("At no time {whose} have fewer nodes in use than before.")
        }
        count => {
            format!(
                "At no time {whose} have more than {count} fewer nodes in use than before (`maxUnavailable`)."
            )
        }
    };
    Some(format!(
        "When new nodes are Ready, with their DaemonSets' pods, all old nodes are cordoned: a pod moves once.{least} {missing}"
    ))
}

fn surge_in_words(plan: &Plan) -> String {
    let whose = if plan.target.group.is_some() { "in the groups together" } else { "in each group" };
    match &plan.budget.surge {
        Surge::PerZone => "up to one more than before for each of its zones".to_owned(),
        Surge::Nodes(value) => format!("up to {value} more than before {whose}"),
    }
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
        format!(
            " Until then it halts with {} on new nodes, and with {}.",
            more_than(&health),
            bad_nodes(&health)
        )
    });
    Some(format!("{after} the run pauses for {}.{health}", span(first.pause)))
}

/// More new nodes in a bad way than a plan allows.
fn bad_nodes(health: &Health) -> String {
    match health.bad_nodes_max {
        0 => "any new node under pressure or without network".to_owned(),
        max => format!("more than {max} new nodes under pressure or without network"),
    }
}

/// More pods in a bad way than a plan allows.
fn more_than(health: &Health) -> String {
    let Health { crash_looping_max, restarting_max, stuck_terminating_max, not_ready_max, bad_nodes_max: _ } =
        health;
    match (crash_looping_max, restarting_max, stuck_terminating_max, not_ready_max) {
        (0, 0, 0, 0) => {
            "any pod that crashes, keeps restarting, is stuck in Terminating or is not Ready".to_owned()
        }
        (crash, restart, stuck, unready) => format!(
            "more than {crash} pods that crash, {restart} that keep restarting, {stuck} that are stuck in Terminating or {unready} that are not Ready"
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
            " Single replicas are moved by a rolling restart first, if their strategy allows it."
        }
        Singletons::Evict => "",
        Singletons::Skip => " Nodes with single replicas are skipped.",
    };
    let spread = match plan.care.spread {
        Spread::Honour => "",
        Spread::LastPending => {
            " The last pods that a topology spread keeps on a node are evicted all the same, and are Pending until the node is gone."
        }
    };
    Some(format!(
        "Nodes are drained {parallel}, {order}, by evictions subject to every disruption budget; a node is started only if its pods fit elsewhere.{singletons}{spread}"
    ))
}

fn batch(plan: &Plan) -> Option<String> {
    let then = match plan.batch.on_deadline {
        OnDeadline::Pause => "then the run is blocked and the operator decides",
        OnDeadline::Evict => "then they are evicted",
        OnDeadline::Skip => "then their nodes are skipped",
    };
    Some(format!(
        "Nodes with running batch pods come last. The run waits up to {} for batch pods; {then}.",
        span(plan.batch.wait)
    ))
}

fn end(plan: &Plan) -> Option<String> {
    let care = &plan.care;
    let delay = match care.load_balancer.exclude {
        true => format!(
            ", but not before {} after it was removed from load balancers",
            span(care.load_balancer.deregistration_delay)
        ),
        false => String::new(),
    };
    let node = match care.retain.capacity {
        Retained::Cordoned => format!(
            "An empty node is kept and cordoned. {} after the last one is empty, their instances are terminated by id{delay}.",
            span(care.retain.span)
        ),
        Retained::Template | Retained::None => {
            format!("When a node is empty, its instance is terminated by id{delay}.")
        }
    };
    let bounds = match &plan.target.group {
        Some(group) => {
            format!(
                "At the end the desired size of `{group}` has grown by as many nodes as the other groups have shrunk."
            )
        }
        None => "At the end each group's bounds are restored.".to_owned(),
    };
    Some(format!("{node} {bounds}"))
}

pub(super) fn stop(plan: &Plan) -> String {
    let itself = match plan.on_failure {
        OnFailure::Pause => "starts nothing more, uncordons the queued nodes, and waits for the operator",
        OnFailure::Rollback => "starts nothing more, and rolls back to the previous launch template",
    };
    let stuck = match plan.care.stuck.action {
        StuckAction::Report => "is reported with what blocks it",
        StuckAction::ReplaceNode => {
            "is reported, and its instance is terminated when only stuck pods are left on it"
        }
        StuckAction::ForceDelete => {
            "is reported, its instance is terminated, and the remaining pod objects are deleted"
        }
    };
    let unwell = plan.care.health.map_or_else(String::new, |health| {
        format!(
            "; and at once with {} in the whole cluster, counted over those at the start",
            more_than(&health)
        )
    });
    format!(
        "- **pause** (`replank roll pause`): no further node is started; started nodes are finished or wait. **resume** (`replank roll resume`) continues.\n\
         - **cancel** (`replank roll cancel`): no further node is started, queued nodes are uncordoned, bounds are restored.\n\
         - **undo** (`replank roll undo`): see below.\n\
         - By itself the run {itself}: when there is no progress for {}, or after {} in total{unwell}.\n\
         - A pod that has not terminated {} after its grace period {stuck}.\n",
        span(plan.progress_deadline),
        span(plan.deadline),
        span(plan.care.stuck.after),
    )
}

pub(super) fn back(plan: &Plan) -> String {
    let kept = match plan.care.retain.capacity {
        Retained::Cordoned => format!(
            "The old nodes are kept, empty and cordoned, for {} after the last of them is empty: **undo** uncordons them and moves pods back.",
            span(plan.care.retain.span)
        ),
        Retained::Template => format!(
            "The old launch template is remembered for {}: **undo** recreates nodes as they were and moves pods back.",
            span(plan.care.retain.span)
        ),
        Retained::None => {
            "Once done, nothing of the old nodes is kept (`retain`): to go back, roll to the old version and image with a second plan."
                .to_owned()
        }
    };
    let meanwhile = match &plan.target.group {
        Some(_) => {
            "Until the run is done, **undo** uncordons the remaining old nodes; a second plan moves the pods back."
        }
        None => {
            "Until the run is done, **undo** restores the groups' previous launch template, uncordons the remaining old nodes and replaces the new ones with the same care."
        }
    };
    let failed = match plan.on_failure {
        OnFailure::Rollback => "\n\nIf the run cannot continue, it rolls back by itself.",
        OnFailure::Pause => "",
    };
    format!(
        "{meanwhile}\n\n{kept}{failed}\n\nNot reversible: moved pods have been restarted, and data in an emptyDir is lost."
    )
}
