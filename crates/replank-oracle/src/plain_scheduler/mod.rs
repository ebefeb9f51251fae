//! A scheduler that is obviously right and slow: every question is answered from the View alone, by walking over all nodes
//! and all pods, with nothing kept between two questions.
//!
//! It shares no code with `replank_schedule` and uses the model only. Plugins and reasons are plain text. Sources are
//! those of kube-scheduler 1.36 (`pkg/scheduler/framework/plugins`); its filters and scores are held to the recorded cases
//! too, so that agreement with the engine means something.

mod disks;
mod failure;
mod filters;
mod pods;
mod question;
mod scores;
mod volumes;

use replank_model::object::pod::Pod;
use replank_model::view::View;
use std::collections::BTreeMap;

pub use filters::Failure;

pub(crate) use question::{OnNode, Question};
pub use question::{Outcome, Settings};

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
