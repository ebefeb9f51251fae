//! How far a Workflow is: its steps that have begun, from the status that the snapshot has of it and from its pods, and then from what happens.

use std::collections::BTreeMap;

use replank_model::object::pod::{Pod, PodPhase};
use replank_model::time::Time;
use serde_json::Value;

use super::is_unrecorded;
use super::names::{UNNAMED, name_in_status, node_of, step_of};

/// What a step has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// It failed, or was in error, and is not run again.
    Bad,
    /// Nothing asked for it (`depends`).
    Omitted,
    /// Its condition did not hold.
    Skipped,
    /// It ended well.
    Good,
    /// It has begun, or waits for others.
    Open,
}

impl State {
    pub(super) fn of_end(is_good: bool) -> Self {
        if is_good { Self::Good } else { Self::Bad }
    }

    /// What several come to together.
    pub(super) fn of_all(states: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::Skipped;
        for state in states {
            all = match (all, state) {
                (Self::Open, _) | (_, Self::Open) => Self::Open,
                (Self::Bad, _) | (_, Self::Bad) => Self::Bad,
                (Self::Good, _) | (_, Self::Good) => Self::Good,
                (Self::Skipped | Self::Omitted, Self::Skipped | Self::Omitted) => Self::Skipped,
            };
        }
        all
    }
}

/// Why a Workflow is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its `activeDeadlineSeconds` are over.
    Deadline,
    /// Another takes its place (`spec.shutdown: Terminate`).
    Terminated,
}

/// A Workflow that goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Steps that have begun, by their names without groups and attempts.
    pub(super) steps: BTreeMap<String, State>,
    /// Its status is kept elsewhere, or compressed: nobody can say what has ended.
    pub(super) is_blind: bool,
    /// It is to end: nothing more is begun, and nothing run again.
    pub(super) stop: Option<Stop>,
    /// Until when it may go on.
    pub(super) deadline: Option<Time>,
}

impl Run {
    /// A Workflow as it is found.
    pub(super) fn found<'a>(raw: &Value, pods: impl Iterator<Item = &'a Pod>) -> Self {
        let status = &raw["status"];
        let is_kept_elsewhere = ["compressedNodes", "offloadNodeStatusVersion"]
            .iter()
            .any(|member| status[*member].as_str().is_some_and(|text| !text.is_empty()));
        let mut run = Self { is_blind: is_kept_elsewhere, ..Self::default() };
        let mut present = Vec::new();
        for pod in pods {
            let node = node_of(raw, pod);
            let state = match pod.status.phase {
                PodPhase::Succeeded if !is_unrecorded(pod) => State::Good,
                PodPhase::Failed if !is_unrecorded(pod) => State::Bad,
                PodPhase::Succeeded
                | PodPhase::Failed
                | PodPhase::Pending
                | PodPhase::Running
                | PodPhase::Unknown => State::Open,
            };
            run.add(&node, state);
            present.push(node);
        }
        for node in status["nodes"].as_object().into_iter().flatten().map(|(_, node)| node) {
            let Some(name) = name_in_status(raw, node) else { continue };
            // Of one whose pod is there the pod says more.
            if let Some(state) = state_of(node).filter(|_| !present.contains(&name)) {
                run.add(&name, state);
            }
        }
        run
    }

    /// Whether a pod ended badly of which nobody can say which step it was.
    pub(super) fn has_failed_unnamed(&self) -> bool {
        self.steps.iter().any(|(step, state)| step.starts_with(UNNAMED) && *state == State::Bad)
    }

    /// Of several attempts the one that says most counts.
    fn add(&mut self, node: &str, state: State) {
        let known = self.steps.entry(step_of(node)).or_insert(state);
        *known = state.max(*known);
    }
}

/// What the status says of a node whose pod is not there.
fn state_of(node: &Value) -> Option<State> {
    // Groups have the names of what they are part of.
    if matches!(node["type"].as_str(), Some("StepGroup" | "TaskGroup")) {
        return None;
    }
    match (node["phase"].as_str()?, node["type"].as_str()) {
        ("Succeeded", _) => Some(State::Good),
        ("Skipped", _) => Some(State::Skipped),
        ("Omitted", _) => Some(State::Omitted),
        ("Failed" | "Error", _) => Some(State::Bad),
        // `pod deleted`, as the controller would say.
        ("Running", Some("Pod")) => Some(State::Bad),
        ("Running", Some("Suspend")) => Some(State::Open),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    fn found(status: &Value, pods: &[Value]) -> BTreeMap<String, State> {
        let raw = json!({"metadata": {"name": "w"}, "status": status});
        let pods: Vec<Pod> = pods
            .iter()
            .map(|pod| {
                let object = replank_model::object::Object::from_json(pod.clone()).expect("a pod");
                let replank_model::object::Object::Pod(pod) = &object else {
                    panic!("a pod, not {object:?}")
                };
                Pod::clone(pod)
            })
            .collect();
        Run::found(&raw, pods.iter()).steps
    }

    #[test]
    fn attempts_count_together_and_a_running_node_without_its_pod_is_lost() {
        let node = |name: &str, kind: &str, phase: &str| json!({"name": name, "type": kind, "phase": phase});
        let steps = found(
            &json!({"nodes": {
                "1": node("w", "Steps", "Running"), "2": node("w[0]", "StepGroup", "Succeeded"),
                "3": node("w[0].a", "Retry", "Succeeded"), "4": node("w[0].a(0)", "Pod", "Failed"), "5": node("w[0].a(1)", "Pod", "Succeeded"),
                "6": node("w[1].b", "Pod", "Running"), "7": node("w[1].c", "Skipped", "Skipped"), "8": node("w[1].d", "Pod", "Pending"),
                "9": node("w[1].e(0)", "Pod", "Failed"), "10": node("w[1].e(1)", "Pod", "Running"), "11": node("w[1].e", "Retry", "Running")}}),
            &[{
                let mut pod = testing::running("w-e-1", "n");
                pod["metadata"]["annotations"] = json!({"workflows.argoproj.io/node-name": "w[1].e(1)"});
                pod
            }],
        );
        let expected =
            [("w.a", State::Good), ("w.b", State::Bad), ("w.c", State::Skipped), ("w.e", State::Open)];
        let expected: BTreeMap<String, State> =
            expected.into_iter().map(|(name, state)| (name.to_owned(), state)).collect();
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_status_that_is_compressed_tells_nothing() {
        let raw = json!({"metadata": {"name": "w"}, "status": {"compressedNodes": "H4sI"}});
        assert!(Run::found(&raw, std::iter::empty()).is_blind);
    }
}
