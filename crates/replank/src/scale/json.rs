//! What would be added and taken away, for a program: docs/scale.md describes it.

use replank_core::scale::{Keep, Refusal, Round, UNKNOWN_MAX, Unneeded};
use replank_protocol::scaling::GroupWhy;
use serde_json::{Value, json};

use super::Simulated;
use super::text::{made_by, no_node};
use crate::failure::Failure;

/// Version of the form.
const SCHEMA: u32 = 1;

pub(super) fn json(simulated: &Simulated) -> Result<String, Failure> {
    let up = &simulated.up;
    let value = json!({
        "schema": SCHEMA,
        "name": simulated.name,
        "now": simulated.now,
        "settings": simulated.settings,
        "coverage": simulated.coverage,
        "scaleUp": {
            "rounds": up.rounds.iter().map(round).collect::<Vec<_>>(),
            "fits": up.fits.iter().map(|(pod, node)| json!({"pod": pod.to_string(), "node": node})).collect::<Vec<_>>(),
            "upcoming": up.upcoming.iter().map(|(group, count)| json!({"group": group, "instances": count})).collect::<Vec<_>>(),
            "stayPending": up.stay_pending(),
            "refusals": up.refusals.iter().map(|one| refusal(simulated, one)).collect::<Vec<_>>(),
            "notAsked": up.not_asked.iter().map(|(pod, why)| json!({"pod": pod.to_string(), "reason": no_node(why)})).collect::<Vec<_>>(),
        },
        "scaleDown": {
            "unneeded": simulated.down.unneeded.iter().map(unneeded).collect::<Vec<_>>(),
            "kept": simulated.down.kept.iter().map(|(node, keep)| json!({"node": node, "kind": keep_kind(keep), "reason": keep.to_string()})).collect::<Vec<_>>(),
        },
        "groups": simulated.groups.all.iter().map(group).collect::<Vec<_>>(),
        "leftOut": simulated.groups.left_out.iter().map(|(group, why)| json!({"group": group, "reason": why.to_string()})).collect::<Vec<_>>(),
        "malformedTags": simulated.groups.bad_tags.iter().map(|bad| json!({"group": bad.group, "key": bad.key, "value": bad.value, "expected": bad.expected})).collect::<Vec<_>>(),
        "assumptions": simulated.groups.assumed.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&value).map_err(Failure::internal)?;
    Ok(text + "\n")
}

fn group(group: &replank_core::scale::Group) -> Value {
    json!({
        "name": group.name,
        "min": group.size.min,
        "max": (group.size.max != UNKNOWN_MAX).then_some(group.size.max),
        "desired": group.size.desired,
        "zones": group.zones,
        "instanceTypes": group.types,
        "market": group.market.as_str(),
        "nodes": group.len(),
    })
}

fn unneeded(one: &Unneeded) -> Value {
    let moves = one.moves.iter().map(|(pod, to)| json!({"pod": pod.to_string(), "to": to}));
    json!({
        "node": one.node,
        "group": one.group,
        "cpuPercent": one.usage.cpu_milli as f64 / 10.0,
        "memoryPercent": one.usage.memory_milli as f64 / 10.0,
        "moves": moves.collect::<Vec<_>>(),
        "since": one.since,
        "goesNow": one.hold.is_none(),
        "waitsFor": one.hold.as_ref().map(ToString::to_string),
    })
}

fn keep_kind(keep: &Keep) -> &'static str {
    match keep {
        Keep::NoGroup => "noGroup",
        Keep::LeftOut(_) => "leftOut",
        Keep::Disabled => "disabled",
        Keep::Rolling => "rolling",
        Keep::NewerVersion { .. } => "newerVersion",
        Keep::Marked { .. } => "marked",
        Keep::Leaving => "leaving",
        Keep::Starting => "starting",
        Keep::Unready => "unready",
        Keep::AtMinimum { .. } => "atMinimum",
        Keep::AtLimit(_) => "atLimit",
        Keep::Busy { .. } => "busy",
        Keep::Pod { .. } => "pod",
        Keep::NoPlace { .. } => "noPlace",
        Keep::Awaited { .. } => "awaited",
        Keep::Receives { .. } => "receives",
    }
}

fn round(round: &Round) -> Value {
    let choices = round.choices.iter().map(|choice| {
        json!({
            "group": choice.group,
            "nodes": choice.nodes,
            "pods": choice.pods,
            "wastePercent": choice.waste as f64 / 20_000.0,
            "pricePerHour": choice.price.map(|price| price as f64 / 1e6),
            "priority": choice.priority,
        })
    });
    let nodes = round.nodes.iter().map(|node| {
        let pods: Vec<String> = node.pods.iter().map(ToString::to_string).collect();
        json!({"group": node.group, "zone": node.zone, "pods": pods})
    });
    json!({
        "chosen": round.choices[round.chosen].group,
        "chosenBy": round.decided.to_string(),
        "choices": choices.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
        "opened": round.opened.iter().map(|(pod, node)| json!({"pod": pod.to_string(), "node": node})).collect::<Vec<_>>(),
    })
}

fn refusal(simulated: &Simulated, refusal: &Refusal) -> Value {
    let groups = refusal
        .groups
        .iter()
        .map(|(group, why)| json!({"group": group, "kind": kind(why), "reason": why.to_string()}));
    json!({
        "workload": refusal.pods.first().map(|pod| made_by(simulated, pod)),
        "pods": refusal.pods.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
    })
}

fn kind(why: &GroupWhy) -> &'static str {
    match why {
        GroupWhy::Objects { .. } => "objects",
        GroupWhy::AtMaximum { .. } => "atMaximum",
        GroupWhy::AtLimit(_) => "atLimit",
        GroupWhy::BackedOff { .. } => "backedOff",
        GroupWhy::Rolling => "rolling",
        GroupWhy::NewerVersion { .. } => "newerVersion",
        GroupWhy::Suspended => "suspended",
        GroupWhy::Empty => "empty",
        GroupWhy::BetweenPods { .. } => "betweenPods",
        GroupWhy::EnoughAtOnce { .. } => "enoughAtOnce",
    }
}
