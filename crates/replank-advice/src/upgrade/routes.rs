//! The ways that nodes can take: at which steps each group is rolled.
//!
//! Kubernetes lets kubelets be up to three minor versions behind (two before 1.25), so nodes can skip versions. Of managed node
//! groups EKS's texts contradict each other: the API reference of `UpdateClusterVersion` asks that all of them match the control plane
//! before it goes on; the user guide ("Update existing cluster to new Kubernetes version") asks to update them first, and lets
//! kubelets of 1.25 and later lag three; the best practices guide (2026-05) recommends that they match, and allows three. Kubelets before 1.25 must match
//! by all of them.
//! Both ways are worked out and compared by the pods they move and the time they take. What both forbid is never planned.

use std::collections::BTreeMap;

use replank_model::text::Text;
use replank_model::time::Span;

use super::minor::{Hop, Minor};
use super::survey::Nodes;

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// As few rolls as the skew policy allows: each group as late as it can be, and once more at the end.
    FewestRolls,
    /// Every group matches the control plane before each of its steps, and at the end.
    EveryStep,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::FewestRolls, Self::EveryStep];

    /// A word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::FewestRolls => "fewest-rolls",
            Self::EveryStep => "every-step",
        }
    }
}

/// One roll of a group: while the control plane runs the version it is rolled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roll {
    /// The group.
    pub group: Text,
    /// Its oldest kubelet before.
    pub from: Minor,
    /// Afterwards: what the control plane runs then.
    pub to: Minor,
    /// Nodes that are replaced.
    pub nodes: usize,
    /// Pods that move.
    pub pods: usize,
}

/// A way, worked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Which.
    pub way: Way,
    /// Its rolls, in order.
    pub rolls: Vec<Roll>,
    /// How long they take one after the other, where every group's roll was rehearsed.
    pub takes: Option<Span>,
}

impl Route {
    /// Pods that move in all.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.rolls.iter().map(|roll| roll.pods).sum()
    }

    /// Nodes that are replaced in all.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.rolls.iter().map(|roll| roll.nodes).sum()
    }

    /// The rolls that come while the control plane runs a version.
    pub fn at(&self, version: Minor) -> impl Iterator<Item = &Roll> {
        self.rolls.iter().filter(move |roll| roll.to == version)
    }
}

/// A way of the groups that are rolled.
#[must_use]
pub fn route(way: Way, nodes: &[Nodes], from: Minor, hops: &[Hop], takes: &BTreeMap<Text, Span>) -> Route {
    let groups: Vec<&Nodes> = nodes.iter().filter(|nodes| nodes.is_rolled()).collect();
    let mut at: Vec<Minor> = groups.iter().map(|group| group.oldest).collect();
    let mut rolls = Vec::new();
    // Every version that the control plane runs, and the one that comes after it.
    let next = |index: usize| hops.get(index).copied();
    for (index, version) in std::iter::once(from).chain(hops.iter().map(|hop| hop.to)).enumerate() {
        for (group, kubelet) in groups.iter().zip(&mut at) {
            if *kubelet < version && is_due(way, group, *kubelet, next(index)) {
                rolls.push(Roll {
                    group: group.name.clone(),
                    from: *kubelet,
                    to: version,
                    nodes: group.nodes,
                    pods: group.pods,
                });
                *kubelet = version;
            }
        }
    }
    let spans: Option<Vec<Span>> = rolls.iter().map(|roll| takes.get(&roll.group).copied()).collect();
    Route { way, rolls, takes: spans.map(|spans| spans.into_iter().sum()) }
}

/// Whether a group is rolled before the control plane's next step, if there is one.
fn is_due(way: Way, group: &Nodes, kubelet: Minor, next: Option<Hop>) -> bool {
    match (way, next) {
        (Way::EveryStep, _) | (Way::FewestRolls, None) => true,
        (Way::FewestRolls, Some(next)) => !group.can_stay(kubelet, next),
    }
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
