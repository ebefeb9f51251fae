//! What every question needs, and how a pod's cycle comes out.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::view::View;

use super::filters::Failure;

/// Settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Gate TaintTolerationComparisonOperators.
    pub compare_numbers: bool,
    /// Nodes that take no pod, whatever it tolerates.
    pub excluded: BTreeSet<String>,
}

/// How a pod's cycle comes out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Plugin and reason, if the pod is refused before nodes are looked at.
    pub rejected: Option<(String, String)>,
    /// Each node that does not fit: the first objection, and all of them.
    pub failures: BTreeMap<String, (Failure, Vec<Failure>)>,
    /// Each node that fits, with its final score of each plugin that was not skipped.
    pub scores: BTreeMap<String, BTreeMap<String, i64>>,
    /// Plugins that had nothing to filter by.
    pub skipped_filters: BTreeSet<String>,
    /// Plugins that had nothing to score by.
    pub skipped_scores: BTreeSet<String>,
    /// The cycle ends in an error although nodes fit.
    pub is_error: bool,
}

impl Outcome {
    /// Names of the nodes with the highest total, sorted.
    #[must_use]
    pub fn best(&self) -> Vec<String> {
        let total = |scores: &BTreeMap<String, i64>| scores.values().sum::<i64>();
        let highest = self.scores.values().map(total).max();
        let is_best = |(_, scores): &(&String, &BTreeMap<String, i64>)| Some(total(scores)) == highest;
        self.scores.iter().filter(is_best).map(|(name, _)| name.clone()).collect()
    }
}

/// What every question needs.
pub(crate) struct Question<'a> {
    pub(crate) view: &'a View,
    pub(crate) pod: &'a Pod,
    pub(crate) settings: &'a Settings,
    /// All nodes, by name, each with the pods that count on it.
    pub(crate) nodes: BTreeMap<&'a str, OnNode<'a>>,
}

/// A node and the pods on it.
#[derive(Clone)]
pub(crate) struct OnNode<'a> {
    pub(crate) node: &'a Node,
    pub(crate) pods: Vec<&'a Pod>,
}
