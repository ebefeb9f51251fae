//! A cluster before anything runs on it.

use replank_facts::groups::GroupBy;
use replank_facts::plan::Plan;
use replank_model::object::cloud::{Instance, NodeGroup};
use replank_model::time::Time;
use replank_oracle::sched_random::Random;
use replank_sim::{DriverBug, Network};
use serde_json::Value;

use super::elastic::Elastic;
use super::trouble::Trouble;

/// A cluster before anything runs on it, and what is to be done with it.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Everything below is a function of it.
    pub seed: u64,
    /// Namespaces, nodes and what else is there from the beginning.
    pub base: Vec<Value>,
    /// Node groups.
    pub groups: Vec<NodeGroup>,
    /// Their instances.
    pub instances: Vec<Instance>,
    /// Manifests, in the order in which they are applied.
    pub manifests: Vec<Value>,
    /// How the nodes are replaced.
    pub plan: Plan,
    /// Who else is there.
    pub neighbour: Neighbour,
    /// Nodes that misbehave from the beginning of the run on.
    pub troubles: Vec<Trouble>,
    /// Load, and instances that are taken away, where there is any.
    pub elastic: Option<Elastic>,
    /// What comes between the run and everything else, if anything does.
    pub network: Option<Network>,
    /// After how many commands, in ascending order, Replank is started anew.
    pub restarts: Vec<usize>,
    /// Whether somebody puts a pod on a node, past the scheduler, when its instance is about to be ended.
    pub has_intruder: bool,
    /// What the driver does wrong, where a bug is planted in it.
    pub driver_bug: Option<DriverBug>,
}

/// Somebody who acts on the cluster while it is rolled, and knows nothing of the roll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Neighbour {
    /// Nobody.
    Nobody,
    /// Readiness probes fail now and then, for a while.
    Flaps,
    /// Deployments are restarted and scaled.
    Deploys,
    /// Somebody evicts pods of the same budgets at the same moment, before our eviction has arrived.
    Races,
    /// Somebody drains nodes that are none of ours, as `kubectl drain` does.
    Drains,
    /// Machines fail: nodes stop being Ready, new ones too.
    Fails,
}

/// When clusters begin: what is applied has time to start until [`SETTLED`].
pub const BEGIN: Time = Time::from_millis(1_795_165_200_000);

/// The namespaces in which things are.
pub(super) const NAMESPACES: [&str; 2] = ["shop", "data"];

impl Cluster {
    /// How nodes show their group.
    #[must_use]
    pub fn group_by() -> GroupBy {
        GroupBy::default()
    }

    /// Moves what is there from the beginning about. The cluster stays the same.
    pub fn shuffle(&mut self, random: &mut Random) {
        for left in (1..self.base.len()).rev() {
            let at = random.below(left as u64 + 1);
            self.base.swap(left, usize::try_from(at).expect("a position"));
        }
    }
}
