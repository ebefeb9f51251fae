//! Zones that must keep a Ready node, and how many instances it takes until each surely has a new one.
//!
//! An Auto Scaling group launches in the zone that has fewest instances, by chance among equals. A zone that has no more
//! Ready nodes than `minReadyPerZone` can let its last old node go only when a new one has come up in it. To be sure
//! of that, every zone that has as few instances may have to get one first.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::Zone;

use super::context::{Context, GroupRoll};
use super::fleet::GroupNodes;
use super::member::NodeState;
use super::start;

/// Instances to be launched until every zone in which a node could be begun surely can spare it; 0 if all can.
pub(super) fn launches(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> u32 {
    let short = short(ctx, roll);
    let Some(group) = roll.group.filter(|_| !short.is_empty()) else { return 0 };
    let mut alive: BTreeMap<&Zone, u32> = group.zones.iter().map(|zone| (zone, 0)).collect();
    let instances = ctx.view.instances().values().filter(|instance| instance.group == group.name);
    for instance in instances.filter(|instance| instance.is_counted()) {
        if let Some(count) = alive.get_mut(&instance.zone) {
            *count += 1;
        }
    }
    let level = short.iter().filter_map(|zone| alive.get(zone)).max().map_or(0, |most| most + 1);
    alive.values().map(|count| level.saturating_sub(*count)).sum()
}

/// Zones that have a node that could be begun, and can spare none.
pub(super) fn short<'a>(ctx: &'a Context<'_>, roll: &'a GroupRoll<'_>) -> BTreeSet<&'a Zone> {
    let nodes: &GroupNodes = roll.nodes;
    let needed = ctx.scope.plan.budget.min_ready_per_zone;
    if needed == 0 {
        return BTreeSet::new();
    }
    let found = nodes.found.iter().map(|name| ctx.member(name));
    let found =
        found.filter(|member| matches!(&member.state, NodeState::Found { node_pods } if node_pods.is_free()));
    let late = start::late(ctx, roll.nodes).map(|name| ctx.member(name));
    let zones = nodes.queue.keys().chain(found.chain(late).map(|member| &member.zone));
    zones.filter(|zone| nodes.ready.get(*zone).is_none_or(|ready| *ready <= needed)).collect()
}

/// Zones in which old nodes are left.
pub(super) fn unfinished<'a>(ctx: &Context<'a>, roll: &GroupRoll<'a>) -> BTreeSet<&'a Zone> {
    let nodes = roll.nodes;
    let old = nodes
        .found
        .iter()
        .chain(&nodes.held)
        .chain(&nodes.draining)
        .chain(&nodes.postponed)
        .chain(&nodes.aside);
    nodes.queue.keys().chain(old.map(|name| &ctx.member(name).zone)).collect()
}
