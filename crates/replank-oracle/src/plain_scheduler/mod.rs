//! A scheduler that is obviously right and slow: every question is answered from the View alone, by walking over all nodes
//! and all pods, with nothing kept between two questions.
//!
//! It shares no code with `replank_schedule` and uses the model only. Plugins and reasons are plain text. Sources are
//! those of kube-scheduler 1.36 (`pkg/scheduler/framework/plugins`); its filters and scores are held to the recorded cases
//! too, so that agreement with the engine means something.

mod disks;
mod filters;
mod pods;
mod scores;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::view::View;

pub use filters::Failure;

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

/// Asks every node.
#[must_use]
pub fn explain(view: &View, pod: &Pod, settings: &Settings) -> Outcome {
    let mut nodes: BTreeMap<&str, OnNode<'_>> = BTreeMap::new();
    for (_, node) in view.nodes.sorted() {
        nodes.insert(node.meta.name.as_str(), OnNode { node, pods: Vec::new() });
    }
    for (_, other) in view.pods.sorted() {
        if other.is_terminal() {
            continue;
        }
        if let Some(name) = &other.node
            && let Some(on) = nodes.get_mut(name.as_str())
        {
            on.pods.push(other);
        }
    }
    let question = Question { view, pod, settings, nodes };
    let mut outcome = Outcome::default();
    match question.rejection() {
        Some(rejected) => outcome.rejected = Some(rejected),
        None => question.answer(&mut outcome),
    }
    outcome
}

impl<'a> Question<'a> {
    fn answer(&self, outcome: &mut Outcome) {
        outcome.skipped_filters = self.skipped_filters();
        let names = self.narrowed();
        let mut feasible: Vec<&'a str> = Vec::new();
        for (name, on) in &self.nodes {
            if names.as_ref().is_some_and(|names| !names.contains(*name)) {
                let outside = Failure {
                    plugin: "NodeAffinity".into(),
                    resolvable: false,
                    reasons: vec!["node(s) didn't satisfy plugin(s) [NodeAffinity]".into()],
                };
                outcome.failures.insert((*name).to_owned(), (outside, Vec::new()));
                continue;
            }
            match self.first_failure(on) {
                Some(first) => {
                    let all = self.failures(on, &[]);
                    outcome.failures.insert((*name).to_owned(), (first, all));
                }
                None => feasible.push(*name),
            }
        }
        if !feasible.is_empty() {
            self.score(&feasible, outcome);
        }
    }

    /// With the pods nominated to the node that come first, and then without.
    fn first_failure(&self, on: &OnNode<'a>) -> Option<Failure> {
        let nominated: Vec<&Pod> = self
            .view
            .pods
            .sorted()
            .into_iter()
            .map(|(_, pod)| &**pod)
            .filter(|other| {
                other.node.is_none()
                    && !other.is_terminal()
                    && other.status.nominated_node_name.as_ref().map(replank_model::text::NodeName::as_str)
                        == Some(on.node.meta.name.as_str())
                    && other.spec.priority.unwrap_or(0) >= self.pod.spec.priority.unwrap_or(0)
                    && other.meta.uid != self.pod.meta.uid
            })
            .collect();
        let with = if nominated.is_empty() { None } else { self.failures(on, &nominated).into_iter().next() };
        with.or_else(|| self.failures(on, &[]).into_iter().next())
    }
}
