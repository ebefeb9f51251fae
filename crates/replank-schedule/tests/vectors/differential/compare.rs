//! Both schedulers' answers in one form.

use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::view::View;
use replank_oracle::plain_scheduler::{self, Outcome};
use replank_schedule::{Code, Explanation, Failure, Scheduler, Verdict};

fn plain_failure(failure: &Failure) -> plain_scheduler::Failure {
    plain_scheduler::Failure {
        plugin: failure.plugin.to_string(),
        resolvable: failure.code == Code::Unschedulable,
        reasons: failure.reasons.iter().map(ToString::to_string).collect(),
    }
}

fn outcome(explanation: &Explanation) -> Outcome {
    let names = |plugins: &[replank_schedule::Plugin]| plugins.iter().map(ToString::to_string).collect();
    let mut outcome = Outcome {
        skipped_filters: names(&explanation.skipped_filters),
        skipped_scores: names(&explanation.skipped_scores),
        is_error: explanation.error.is_some(),
        ..Outcome::default()
    };
    if let Some(rejected) = &explanation.rejected {
        let reasons: Vec<String> = rejected.reasons.iter().map(ToString::to_string).collect();
        // Nodes and skipped plugins follow from the rejection.
        return Outcome {
            rejected: Some((rejected.plugin.to_string(), reasons.join(", "))),
            ..Outcome::default()
        };
    }
    for (name, verdict) in &explanation.nodes {
        let name = name.to_string();
        match verdict {
            Verdict::Fits(scores) => {
                let scores = scores.iter().flat_map(|scores| &scores.by_plugin);
                let scores = scores.map(|(plugin, score)| (plugin.to_string(), *score)).collect();
                outcome.scores.insert(name, scores);
            }
            Verdict::Fails { first, all } => {
                let all = all.iter().map(plain_failure).collect();
                outcome.failures.insert(name, (plain_failure(first), all));
            }
        }
    }
    outcome
}

/// Where the two do not say the same of a node.
pub(crate) fn differences(engine: &Explanation, plain: &Outcome) -> Vec<String> {
    let ours = outcome(engine);
    let mut found = Vec::new();
    let mut compare = |what: &str, name: &str, ours: String, theirs: String| {
        if ours != theirs {
            found.push(format!("{what} {name}: engine {ours}, plain {theirs}"));
        }
    };
    for (name, theirs) in &plain.failures {
        compare("failures of", name, format!("{:?}", ours.failures.get(name)), format!("{:?}", Some(theirs)));
    }
    for (name, theirs) in &plain.scores {
        compare("scores of", name, format!("{:?}", ours.scores.get(name)), format!("{:?}", Some(theirs)));
    }
    if found.is_empty() && ours != *plain {
        found.push(format!("engine {ours:?}, plain {plain:?}"));
    }
    found
}

/// Where the short way's best nodes are not those that scoring every node gives.
pub(crate) fn differences_of_best(best: &[NodeName], pod: &Pod, plain: &Outcome) -> Vec<String> {
    let nominated = pod.status.nominated_node_name.as_ref().map(ToString::to_string);
    let expected = match nominated {
        // A nominated node that fits is taken without asking others.
        Some(node) if plain.scores.contains_key(&node) => vec![node],
        // A single node is not scored, so that errors of scoring do not come up.
        Some(_) | None if plain.scores.len() == 1 => plain.scores.keys().cloned().collect(),
        Some(_) | None if plain.is_error => Vec::new(),
        Some(_) | None => plain.best(),
    };
    let best: Vec<String> = best.iter().map(ToString::to_string).collect();
    if best == expected {
        return Vec::new();
    }
    vec![format!("best nodes: the short way {best:?}, plain {expected:?}")]
}

/// Everything about one pod.
pub(crate) fn all_differences(
    scheduler: &mut Scheduler,
    view: &View,
    pod: &Arc<Pod>,
    plain: &Outcome,
) -> Vec<String> {
    // The short way first: it must not profit from what the long one has looked up.
    let best = scheduler.best(view, pod);
    let explanation = scheduler.explain(view, pod);
    let mut found = differences(&explanation, plain);
    found.extend(differences_of_best(&best, pod, plain));
    match scheduler.place(view, pod, 5) {
        Ok(placed) => {
            let looks_at_one = pod.status.nominated_node_name.is_some();
            if !best.contains(&placed.node) || (placed.feasible != plain.scores.len() && !looks_at_one) {
                found.push(format!("{placed:?} is not of {best:?}"));
            }
        }
        Err(why) => {
            let words = explanation.error.as_ref().map(ToString::to_string).or(explanation.message());
            if !best.is_empty() || (words != Some(why.to_string()) && !view.nodes.is_empty()) {
                found.push(format!("no place: {why}; node by node: {words:?}"));
            }
        }
    }
    found
}
