//! S3: whose a cordon is. What is left at the end is looked at in [`super::remains`].

use std::collections::BTreeSet;

use replank_model::object::node::Node;
use replank_model::text::{NodeName, RunId};
use replank_model::time::Time;
use replank_protocol::command::{Effect, KubernetesEffect, Mark};
use replank_sim::Sent;

use super::truth::Truth;
use super::{Found, Promise};

pub(super) const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// What was whose.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Nodes that somebody else had cordoned before the run.
    pub(super) foreign: BTreeSet<NodeName>,
    /// Nodes that somebody else had said something of to load balancers.
    pub(super) excluded: BTreeSet<NodeName>,
    /// Nodes that took pods until a command of ours cordoned them, and have taken none since.
    pub(super) cordoned: BTreeSet<NodeName>,
    /// Runs on whose behalf there were commands.
    pub(super) runs: BTreeSet<RunId>,
}

impl Marks {
    pub(super) fn begin(truth: &Truth) -> Self {
        let cordoned = truth.nodes.iter().filter(|(_, node)| node.spec.unschedulable);
        let excluded = truth.nodes.iter().filter(|(_, node)| node.meta.labels.contains_key(EXCLUDE));
        Self {
            foreign: cordoned.map(|(name, _)| name.clone()).collect(),
            excluded: excluded.map(|(name, _)| name.clone()).collect(),
            ..Self::default()
        }
    }

    /// A command took effect.
    pub(super) fn executed(&mut self, truth: &Truth, sent: &Sent) {
        self.runs.insert(sent.command.run.clone());
        if let Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) = &sent.command.effect {
            let is_open = truth.nodes.get(&node.name).is_some_and(|node| !node.spec.unschedulable);
            if is_open && mark.role.is_cordoned() {
                self.cordoned.insert(node.name.clone());
            }
        }
    }

    /// A node has changed.
    pub(super) fn node(&mut self, node: &Node) {
        if !node.spec.unschedulable {
            self.cordoned.remove(&node.name());
        }
    }

    pub(super) fn cordoned(
        &self,
        truth: &Truth,
        name: &NodeName,
        mark: &Mark,
        at: Time,
        found: &mut Found<'_>,
    ) {
        if mark.since > mark.expires || mark.since > at {
            found.broken(
                Promise::S3,
                format!("node {name} is marked from {} to {}", mark.since, mark.expires),
            );
        }
        let node = truth.nodes.get(name);
        if node.is_none() {
            found.broken(Promise::S3, format!("node {name} is cordoned and not there"));
        }
    }
}
