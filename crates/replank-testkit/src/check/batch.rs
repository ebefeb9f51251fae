//! S2: batch pods are not ended half way.

use std::collections::BTreeMap;

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};

use super::promise::SEEN_WITHIN;
use super::truth::is_over;
use super::{Found, Promise, Promised};

/// A deadline is counted in whole seconds from the decision to cordon; the cordon follows within a fraction of one.
const ROUNDING: Span = Span::from_millis(1_200);

/// When each node was first marked.
#[derive(Debug, Default)]
pub(super) struct Batches {
    cordoned: BTreeMap<NodeName, Time>,
    /// Nodes that were released: when that was, and when they had first been marked.
    released: BTreeMap<NodeName, (Time, Time)>,
}

impl Batches {
    pub(super) fn node_changed(&mut self, at: Time, node: &Node) {
        if node.meta.annotations.contains_key("replank.dev/role") {
            self.cordoned.entry(node.name()).or_insert(at);
        } else {
            let name = node.name();
            self.released.extend(self.cordoned.remove(&name).map(|since| (name, (at, since))));
        }
    }

    /// When a node was first marked. Whoever has not seen that it was released a moment ago counts from there, too.
    fn since(&self, node: &NodeName, within: Span, at: Time) -> Option<Time> {
        let lately = self.released.get(node).filter(|(released, _)| *released + within >= at);
        self.cordoned.get(node).copied().into_iter().chain(lately.map(|(_, since)| *since)).min()
    }

    /// An action of ours ends a pod.
    pub(super) fn ended(&self, promised: &Promised, pod: &Pod, found: &mut Found<'_>) {
        if !is_batch(promised, pod) || is_over(pod) || pod.meta.deletion_timestamp.is_some() {
            return;
        }
        let key = pod.meta.key();
        if !promised.ends_batch {
            found.broken(Promise::S2, format!("batch pod {key} is terminated; the plan never allows that"));
            return;
        }
        if must_not_run_again(pod) {
            found.broken(
                Promise::S2,
                format!("batch pod {key} is terminated; its author forbids to run it again"),
            );
            return;
        }
        self.waited(promised, pod, None, found);
    }

    /// Others take its instance away, and there is time: it is waited for no less, and then it is ended.
    /// `held` is since when its group has held the instance.
    pub(super) fn ended_by_interruption(
        &self,
        promised: &Promised,
        pod: &Pod,
        held: Option<Time>,
        found: &mut Found<'_>,
    ) {
        if is_batch(promised, pod) && !is_over(pod) && pod.meta.deletion_timestamp.is_none() {
            self.waited(promised, pod, held, found);
        }
    }

    /// The autoscaler ends a pod: one that runs to an end, or says that it is not to be moved, keeps its node.
    pub(super) fn ended_by_autoscaler(pod: &Pod, found: &mut Found<'_>) {
        if is_said_to_be_batch(pod) && !is_over(pod) && pod.meta.deletion_timestamp.is_none() {
            found.broken(Promise::S2, format!("batch pod {} is terminated to scale down", pod.meta.key()));
        }
    }

    fn waited(&self, promised: &Promised, pod: &Pod, held: Option<Time>, found: &mut Found<'_>) {
        let key = pod.meta.key();
        let cordoned =
            pod.node.as_ref().and_then(|node| self.since(node, SEEN_WITHIN + promised.held_within, found.at));
        let since = cordoned.into_iter().chain(held).min();
        let until = since.map(|since| since + asked(pod).unwrap_or(promised.batch_wait));
        if until.is_none_or(|until| found.at + ROUNDING + promised.held_within < until) {
            found.broken(
                Promise::S2,
                format!("batch pod {key} is terminated; the plan waits for it until {until:?}"),
            );
        }
    }
}

/// How long a pod asks to be waited for.
fn asked(pod: &Pod) -> Option<Span> {
    let text = pod.meta.annotations.value("replank.dev/batch-wait")?;
    text.parse().ok().filter(|span: &Span| span.as_millis() >= 0)
}

/// As docs/plan.md lists them.
pub(super) fn is_batch(promised: &Promised, pod: &Pod) -> bool {
    let by_plan = promised
        .batch_selector
        .as_ref()
        .is_some_and(|selector| selector.matches(|key| pod.meta.labels.value(key)));
    by_plan || is_said_to_be_batch(pod)
}

/// Whether a pod says that its work must not be run again; whatever is not `safe` does.
pub(super) fn must_not_run_again(pod: &Pod) -> bool {
    pod.meta.annotations.value("replank.dev/rerun").is_some_and(|value| value != "safe")
}

/// Whether a pod belongs to a Job or a Workflow, or is annotated not to be moved: then it is batch without any plan.
fn is_said_to_be_batch(pod: &Pod) -> bool {
    let managed = pod.meta.owner_references.iter().filter(|owner| owner.controller == Some(true));
    let by_owner = managed.map(|owner| (&*owner.kind, &*owner.api_version)).any(|(kind, version)| {
        (kind == "Job" && version.starts_with("batch/"))
            || (kind == "Workflow" && version.starts_with("argoproj.io/"))
    });
    let annotation = |key: &str| pod.meta.annotations.value(key);
    // What a workload always has as many of never ends, unless it says for how long it is to be waited for.
    let never_ends = ["ReplicaSet", "StatefulSet", "ReplicationController"];
    let is_kept_up = pod
        .meta
        .owner_references
        .iter()
        .any(|owner| owner.controller == Some(true) && never_ends.contains(&&*owner.kind));
    let is_awaited = !is_kept_up || annotation("replank.dev/batch-wait").is_some();
    let by_annotation = annotation("cluster-autoscaler.kubernetes.io/safe-to-evict") == Some("false")
        && is_awaited
        || annotation("karpenter.sh/do-not-disrupt").is_some_and(|value| value != "false");
    by_owner || by_annotation
}
