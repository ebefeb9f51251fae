//! Random clusters to be rolled: nodes in groups and zones, everything that runs on them, a plan, and a neighbour.
//!
//! A cluster is described from outside, as a person would: bare nodes and manifests. The simulated control plane makes and
//! places the pods, so that what a roll finds is something that a control plane would have made.
//!
//! Each seed is a cluster; nothing else decides. What occurs, and about how often, is written where it is drawn.

mod bounded;
mod budgets;
mod care;
mod cluster;
mod elastic;
mod elasticity;
mod external;
mod network;
mod nodes;
mod plan;
mod restarts;
mod trouble;
mod troubles;
mod workloads;

pub use bounded::{Bounded, OTHER_SCHEDULER};
pub use elastic::{Elastic, How, Strike};
use replank_facts::groups::{LearntGroup, assumed_target};
use replank_facts::plan::{ChosenBy, OnFailure};
use replank_model::text::GroupName;
use replank_model::time::Span;
use replank_protocol::record;
use serde_json::{Value, json};
pub use trouble::Trouble;

use replank_oracle::sched_random::Random;

use cluster::NAMESPACES;
pub use cluster::{BEGIN, Cluster, Neighbour};
/// How long the manifests have to come up before the roll begins.
pub const SETTLED: Span = Span::from_secs(150);

impl Cluster {
    /// The cluster of a seed, with groups that EKS owns.
    #[must_use]
    pub fn managed(seed: u64) -> Self {
        let mut cluster = Self::of(seed);
        cluster.groups =
            cluster.groups.into_iter().map(replank_model::object::cloud::NodeGroup::managed_by_eks).collect();
        cluster
    }

    /// The cluster of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let fleet = nodes::Fleet::draw(&mut random);
        let (groups, instances) = fleet.groups(&mut random);
        let mut base: Vec<Value> = NAMESPACES.into_iter().chain([record::NAMESPACE]).map(namespace).collect();
        base.extend(fleet.objects(&mut random));
        let things = workloads::draw(&mut random, &fleet);
        let mut manifests = things.manifests;
        manifests.extend(budgets::draw(&mut random, &things.covered));
        base.extend(things.there_before);
        let mut plan = plan::draw(&mut random, &fleet);
        care::draw(seed, &mut plan);
        let neighbour = match random.below(100) {
            0..3 => Neighbour::Nobody,
            3..9 => Neighbour::Flaps,
            9..29 => Neighbour::Deploys,
            29..38 => Neighbour::Drains,
            38..47 => Neighbour::Fails,
            _ => Neighbour::Races,
        };
        let mut cluster = Self {
            seed,
            base,
            groups,
            instances,
            manifests,
            plan,
            neighbour,
            troubles: Vec::new(),
            elastic: None,
            network: None,
            restarts: Vec::new(),
            has_intruder: false,
            driver_bug: None,
        };
        trouble::draw(&mut cluster, &fleet);
        cluster
    }

    /// The same cluster, in most cases behind a network that loses, delays and throttles, and in most cases with a Replank that is started anew
    /// now and then.
    #[must_use]
    pub fn disturbed(self) -> Self {
        Self { network: network::draw(self.seed), restarts: restarts::draw(self.seed), ..self }
    }

    /// The cluster of a seed, its chosen nodes to be moved into another group: a new one, or one of those that are not
    /// chosen. `None` where the plan chooses them by label.
    #[must_use]
    pub fn moving(seed: u64) -> Option<Self> {
        let mut cluster = Self::of(seed);
        // The way back is a plan that moves the nodes back.
        cluster.plan.on_failure = OnFailure::Pause;
        let ChosenBy::Groups(sources) = cluster.plan.nodes.by.clone() else { return None };
        // A minimum would keep the last nodes where they are: it is taken off, save now and then.
        for group in cluster.groups.iter_mut().filter(|_| !seed.is_multiple_of(20)) {
            group.size.min = 0;
        }
        let others = cluster.groups.iter().map(|group| &group.name).find(|name| !sources.contains(name));
        let landing = others.filter(|_| seed.is_multiple_of(2)).cloned();
        cluster.plan.target.group = Some(landing.unwrap_or_else(|| GroupName::from("new")));
        let known: Vec<LearntGroup> = cluster
            .groups
            .iter()
            .map(|group| LearntGroup { group: group.clone(), instances: Vec::new() })
            .collect();
        let assumed = assumed_target(&known, &cluster.plan, 0, &Self::group_by());
        cluster.groups.extend(assumed.map(|learnt| learnt.group));
        Some(cluster)
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        "metadata": {"name": name, "uid": name, "creationTimestamp": BEGIN - Span::from_minutes(10_000),
            "labels": {"kubernetes.io/metadata.name": name}}})
}
