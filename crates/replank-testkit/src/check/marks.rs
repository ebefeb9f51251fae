//! S3: whose a cordon is. What is left at the end is looked at in [`super::remains`].

use std::collections::BTreeSet;

use replank_model::object::node::Node;
use replank_model::text::{NodeName, RunId};
use replank_model::time::Time;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, Mark};
use replank_sim::Sent;

use super::size::VERSION;
use super::truth::Truth;
use super::{Found, Promise};

/// Annotations of every mark: its version, and who has the node.
const MARK_VERSION: &str = "replank.dev/version";
const OWNER: &str = "replank.dev/owner";
const RUN: &str = "replank.dev/run";
/// Characters that AWS takes in the key and in the value of a tag.
const TAG_CHARACTERS_MAX: (usize, usize) = (128, 256);

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
    pub(super) fn executed(&mut self, truth: &Truth, sent: &Sent, found: &mut Found<'_>) {
        self.runs.insert(sent.command.run.clone());
        if let Effect::Group(GroupEffect::Tag { group, key, value, .. }) = &sent.command.effect {
            let (key_max, value_max) = TAG_CHARACTERS_MAX;
            if key.chars().count() > key_max || value.chars().count() > value_max {
                found.broken(Promise::S3, format!("tag {key} of group {group} exceeds AWS's limit: {value}"));
            }
            if !value.starts_with(VERSION) {
                found.broken(Promise::S3, format!("tag {key} of group {group} has no version: {value}"));
            }
        }
        if let Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) = &sent.command.effect {
            let is_open = truth.nodes.get(&node.name).is_some_and(|node| !node.spec.unschedulable);
            if is_open && mark.role.is_cordoned() {
                self.cordoned.insert(node.name.clone());
            }
        }
    }

    /// A node has changed.
    pub(super) fn node(&mut self, node: &Node, found: &mut Found<'_>) {
        let annotations = &node.meta.annotations;
        let is_said = annotations.value(MARK_VERSION) == Some("1") && annotations.contains_key(OWNER);
        let run = annotations.value(RUN);
        if run.is_some_and(|run| self.runs.iter().any(|known| **known.text() == *run)) && !is_said {
            found.broken(Promise::S3, format!("the mark on node {} has no version or no owner", node.name()));
        }
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
            found.broken(Promise::S3, format!("node {name} is cordoned but does not exist"));
        }
    }
}
