//! Limits of the whole cluster: nodes, cores, memory, accelerators.

use replank_model::object::node::Node;
use replank_model::object::resources::{CPU, MEMORY};
use replank_model::view::View;
use replank_protocol::scaling::Limit;

use super::options::Options;

/// What the cluster has of what is limited.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) nodes: i64,
    pub(super) cores: i64,
    memory: i64,
    gpus: Vec<i64>,
}

impl Totals {
    pub(super) fn of(view: &View, options: &Options) -> Self {
        let mut totals = Self { gpus: vec![0; options.gpus.len()], ..Self::default() };
        for (_, node) in view.nodes.unordered() {
            totals.add(node, options, 1);
        }
        totals
    }

    /// Counts nodes of a kind in, or with a negative number out.
    pub(super) fn add(&mut self, node: &Node, options: &Options, times: i64) {
        self.nodes += times;
        self.cores += times * of(node, CPU);
        self.memory += times * of(node, MEMORY);
        for (have, (resource, _)) in self.gpus.iter_mut().zip(&options.gpus) {
            *have += times * of(node, resource);
        }
    }

    /// How many nodes of a kind may still come, and what stops more.
    pub(super) fn room(&self, node: &Node, options: &Options) -> (u32, Option<Limit>) {
        let mut rooms: Vec<(i64, Limit)> = Vec::new();
        let often =
            |max: i64, have: i64, each: i64| if each <= 0 { i64::MAX } else { (max - have).max(0) / each };
        if options.nodes_max > 0 {
            let max = i64::from(options.nodes_max);
            rooms.push((often(max, self.nodes, 1), Limit::Nodes { have: self.nodes, max }));
        }
        let max = options.cores.max;
        rooms.push((often(max, self.cores, of(node, CPU)), Limit::Cores { have: self.cores, max }));
        let max = options.memory_gib.max;
        let room = often(max.saturating_mul(1 << 30), self.memory, of(node, MEMORY));
        rooms.push((room, Limit::MemoryGib { have: self.memory >> 30, max }));
        for (have, (resource, limits)) in self.gpus.iter().zip(&options.gpus) {
            let room = often(limits.max, *have, of(node, resource));
            rooms.push((room, Limit::Gpus { resource: resource.clone(), have: *have, max: limits.max }));
        }
        let least = rooms.into_iter().min_by_key(|(room, _)| *room);
        match least {
            Some((room, limit)) if room < i64::from(u32::MAX) => {
                (u32::try_from(room).unwrap_or(u32::MAX), Some(limit))
            }
            Some(_) | None => (u32::MAX, None),
        }
    }

    /// Whether a node may go without falling below a limit.
    pub(super) fn may_lose(&self, node: &Node, options: &Options) -> Result<(), Limit> {
        let cores = self.cores - of(node, CPU);
        if cores < options.cores.min {
            return Err(Limit::Cores { have: self.cores, max: options.cores.min });
        }
        let memory = (self.memory - of(node, MEMORY)) >> 30;
        if memory < options.memory_gib.min {
            return Err(Limit::MemoryGib { have: self.memory >> 30, max: options.memory_gib.min });
        }
        for (have, (resource, limits)) in self.gpus.iter().zip(&options.gpus) {
            if have - of(node, resource) < limits.min && of(node, resource) > 0 {
                return Err(Limit::Gpus { resource: resource.clone(), have: *have, max: limits.min });
            }
        }
        Ok(())
    }
}

fn of(node: &Node, resource: &str) -> i64 {
    node.status.capacity.get(resource).map_or(0, replank_model::quantity::Quantity::value)
}
