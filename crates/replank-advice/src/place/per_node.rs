//! A DaemonSet: every node is asked about a pod of its own.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;

use super::query::{PlacementQuery, Row};
use replank_facts::pod_factory::PodFactory;
use replank_schedule::predicate::{spec_matches, untolerated_taint};
use replank_schedule::{Detail, Verdict};

/// One node, and the outcome for the pod that the DaemonSet would create for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonRow {
    /// The node's answer.
    pub row: Row,
    /// Whether the controller makes a pod for the node at all.
    pub wanted: Wanted,
    /// The pod.
    pub pod: Arc<Pod>,
}

/// Whether a DaemonSet's controller makes a pod for a node (`NodeShouldRunDaemonPod`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It does.
    Yes,
    /// Selector, required node affinity or taints keep the pod off the node, and that is meant so.
    No,
}

impl PlacementQuery {
    /// How each node answers the pod that a DaemonSet would make for it. Pods of the DaemonSet that are there are taken
    /// away first; the new ones are taken to be where they fit from then on.
    #[must_use]
    pub fn ask_per_node(&mut self, factory: &PodFactory) -> Vec<DaemonRow> {
        let own = |pod: &Pod| {
            pod.meta.namespace == factory.object.key.namespace
                && pod.meta.controller().is_some_and(|owner| {
                    owner.kind == factory.object.kind && owner.name == factory.object.key.name
                })
        };
        let there: Vec<_> = self.view.pods.sorted().into_iter().map(|(_, pod)| pod.clone()).collect();
        let there = there.into_iter().filter(|pod| own(pod)).map(|pod| pod.meta.key());
        let there: Vec<_> = there.collect();
        let nodes = self.view.nodes.sorted().into_iter().map(|(_, node)| node.clone());
        let nodes: Vec<_> = nodes.collect();
        let mut trial = self.scheduler.trial();
        for key in &there {
            trial.take_away(&self.view, key);
        }
        let mut answers = Vec::new();
        for node in &nodes {
            let pod = factory.for_node(&node.name());
            let is_wanted = spec_matches(&pod.spec, pod.pin.as_ref(), node)
                && untolerated_taint(&pod.spec.tolerations, &node.spec.taints, false).is_none();
            let detail = trial.details(&self.view, &pod, &[node.name()]).into_iter().next();
            answers.push((node.name(), is_wanted, pod, detail));
        }
        drop(trial);
        let row = |(name, is_wanted, pod, detail): (NodeName, bool, _, Option<(_, Detail)>)| {
            let verdict = detail.map_or(Verdict::Fits(None), |(_, detail)| verdict(detail));
            let wanted = if is_wanted { Wanted::Yes } else { Wanted::No };
            DaemonRow { row: self.row(name, verdict), wanted, pod }
        };
        let rows: Vec<DaemonRow> = answers.into_iter().map(row).collect();
        self.replace(&there, &rows);
        rows
    }

    /// Pods that are there give way to those of the rows.
    fn replace(&mut self, there: &[Key], rows: &[DaemonRow]) {
        for key in there {
            if let Some(pod) = self.view.pods.by_key(key).cloned() {
                self.apply(Delta::Gone(Object::from(pod).reference()));
            }
        }
        for daemon in rows {
            match (daemon.wanted, &daemon.row.verdict) {
                (Wanted::Yes, Verdict::Fits(_)) => {
                    let node = Some(daemon.row.node.clone());
                    let pod = Arc::new(Pod { node, ..Pod::clone(&daemon.pod) });
                    self.apply(Delta::Put(pod.into()));
                }
                (Wanted::Yes | Wanted::No, Verdict::Fits(_) | Verdict::Fails { .. }) => {}
            }
        }
    }
}

fn verdict(detail: Detail) -> Verdict {
    match detail.first {
        Some(first) => Verdict::Fails { first, all: detail.all },
        None => Verdict::Fits(None),
    }
}
