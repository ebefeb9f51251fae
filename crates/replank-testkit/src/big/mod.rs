//! Big clusters by index arithmetic: the same number gives the same cluster, object by object, and nothing is held.
//!
//! Each node has 30 pods, three of them of DaemonSets. Of 20 nodes
//!
//! | group | nodes | pods beside the DaemonSets' |
//! |---|---|---|
//! | `general` | 17 | 27 of Deployments |
//! | `data` (taint `dedicated=data:NoSchedule`) | 2 | 9 of StatefulSets with a zone-bound volume each, 18 of Deployments |
//! | `batch` (taint `dedicated=batch:NoSchedule`) | 1 | 27 of Jobs |
//!
//! Deployments have 2 to 30 replicas, in turn; of five, four have a disruption budget (`maxUnavailable: 25%`, or
//! `minAvailable` one less than the replicas), one spreads over zones, one avoids sharing a node with itself where it
//! can. StatefulSets have three replicas and a budget. Jobs run nine pods at once; finished runs are there to
//! learn run times from. Nodes are dealt to three zones in turn. A node has 16 CPU, of which about 10 are requested.
//!
//! Nothing here is measured on a real cluster: it is a load, not evidence.

mod cluster;
mod nodes;
mod parts;
mod workloads;

use serde_json::Value;

pub use cluster::BigCluster;
use cluster::{DAEMONS, Group, PODS, STATEFUL};

/// Nodes in a unit of 20.
const GENERAL: usize = 17;
const DATA: usize = 2;
const UNIT: usize = 20;

impl BigCluster {
    /// The smallest of such clusters with at least so many nodes: sizes come in units of 20.
    #[must_use]
    pub fn of_nodes(nodes: usize) -> Self {
        Self { units: nodes.div_ceil(UNIT).max(1) }
    }

    /// How many nodes it has.
    #[must_use]
    pub fn nodes(self) -> usize {
        self.units * UNIT
    }

    /// How many running pods it has.
    #[must_use]
    pub fn pods(self) -> usize {
        self.nodes() * PODS
    }

    /// All of its objects, each as the API server would print it.
    pub fn objects(self) -> impl Iterator<Item = Value> {
        let nodes = Group::ALL
            .into_iter()
            .flat_map(move |group| (0..self.size(group)).flat_map(move |index| nodes::node(group, index)));
        nodes::fixed().into_iter().chain(nodes).chain(workloads::all(self))
    }

    /// How many nodes a group has.
    fn size(self, group: Group) -> usize {
        match group {
            Group::General => self.units * GENERAL,
            Group::Data => self.units * DATA,
            Group::Batch => self.units * (UNIT - GENERAL - DATA),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use replank_model::view::View;

    use super::*;

    #[test]
    fn it_is_as_large_as_it_says_and_every_pod_is_accounted_for() {
        let cluster = BigCluster::of_nodes(100);
        let mut view = View::default();
        let mut names = BTreeSet::new();
        for value in cluster.objects() {
            let meta = &value["metadata"];
            let name = format!("{} {} {}", value["kind"], meta["namespace"], meta["name"]);
            assert!(names.insert(name.clone()), "{name} is there twice");
            view.apply(Delta::Put(
                Object::from_json(value).unwrap_or_else(|error| panic!("{name}: {error}")),
            ));
        }
        assert_eq!((view.nodes.len(), cluster.nodes()), (100, 100));
        let running = view.pods.sorted().into_iter().filter(|(_, pod)| !pod.is_terminal()).count();
        assert_eq!((running, cluster.pods()), (3_000, 3_000));
        for (_, node) in view.nodes.sorted() {
            assert_eq!(view.pods_on(&node.name()).len(), PODS, "{}", node.name());
        }
        owners_have_their_pods(&view);
        budgets_are_as_their_status_says(&view);
    }

    fn owners_have_their_pods(view: &View) {
        let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
        let mut add = |uid: &str, number: i32| {
            wanted.insert(uid.to_owned(), usize::try_from(number).expect("not negative"));
        };
        view.replica_sets
            .sorted()
            .iter()
            .for_each(|(_, set)| add(set.meta.uid.as_str(), set.spec.replicas.unwrap_or(1)));
        view.stateful_sets
            .sorted()
            .iter()
            .for_each(|(_, set)| add(set.meta.uid.as_str(), set.spec.replicas.unwrap_or(1)));
        for (uid, number) in wanted {
            assert_eq!(view.pods_of(&uid.as_str().into()).len(), number, "{uid}");
        }
    }

    fn budgets_are_as_their_status_says(view: &View) {
        assert!(!view.pod_disruption_budgets.is_empty());
        for (ix, budget) in view.pod_disruption_budgets.sorted() {
            let covered = i32::try_from(view.pods_of_budget(ix).count()).expect("few");
            assert_eq!(covered, budget.status.expected_pods, "{}", budget.meta.key());
            assert!(budget.status.disruptions_allowed > 0, "{}", budget.meta.key());
        }
    }

    #[test]
    fn no_node_is_asked_for_more_than_it_has() {
        let mut requested: BTreeMap<String, i64> = BTreeMap::new();
        for value in BigCluster::of_nodes(60).objects() {
            let Ok(Object::Pod(pod)) = Object::from_json(value) else { continue };
            let Some(node) = pod.node.clone().filter(|_| !pod.is_terminal()) else { continue };
            for container in &pod.spec.containers {
                let cpu = container.resources.requests.get("cpu").expect("every container asks for CPU");
                *requested.entry(node.to_string()).or_default() += cpu.milli_value();
            }
        }
        assert_eq!(requested.len(), 60);
        for (node, milli) in requested {
            assert!((6_000..14_000).contains(&milli), "{node}: {milli}m of 15,890m");
        }
    }
}
