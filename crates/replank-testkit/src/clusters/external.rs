//! The same clusters, whose nodes somebody else replaces (`provider: external`).

use replank_facts::plan::{External, OldNodes, OnFailure, Plan, Provider, Retained, Surge, Target};
use replank_model::time::Span;
use replank_protocol::policy::StuckAction;

use super::Cluster;

impl Cluster {
    /// A random cluster with a random plan that leaves it to somebody else to replace nodes.
    #[must_use]
    pub fn external(seed: u64) -> Self {
        let cluster = Self::of(seed);
        let plan = left_to_others(cluster.plan, seed);
        Self { plan, ..cluster }
    }
}

/// What such a plan cannot ask for is left out.
fn left_to_others(plan: Plan, seed: u64) -> Plan {
    let mut plan = plan;
    let old_nodes = if seed.is_multiple_of(4) { OldNodes::Cordon } else { OldNodes::Avoid };
    let wait = if seed.is_multiple_of(3) { Span::from_minutes(45) } else { Span::from_minutes(5 * 60) };
    plan.provider = Provider::External(External { wait, old_nodes });
    plan.budget.surge = Surge::from(0);
    // A few nodes may be missing, or one has to come first, which nobody brings.
    let missing = i32::try_from(seed % 7).expect("small");
    plan.budget.max_unavailable = missing.into();
    plan.target = Target { group: None, image: None, ..plan.target };
    plan.care.retain.capacity = Retained::None;
    plan.care.stuck.action = plan.care.stuck.action.min(StuckAction::ReplaceNode);
    plan.on_failure = OnFailure::Pause;
    plan
}
