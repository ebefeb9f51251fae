//! A cluster that is asked where pods would go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::view::View;
use serde_json::Value;

use super::what_if::{Pick, WhatIf, WhatIfError, cordoned, others, picked};
use replank_facts::groups::{self, GroupBy, LearntGroup, group_of};
use replank_facts::pod_factory::{self as subject, Made, PodFactory, SubjectError, admit_claim};
use replank_facts::why::why;
use replank_schedule::{CycleError, Explanation, Nomination, Scheduler, Unschedulable, Verdict};

/// The lot among equally good nodes: always the same, so that a question has one answer.
pub(super) const DRAW: u64 = 0;

/// Pods, and where they are.
pub(super) type Settled = Vec<(Arc<Pod>, NodeName)>;

/// A cluster that is asked where pods would go.
#[derive(Debug)]
pub struct PlacementQuery {
    pub(super) view: View,
    pub(super) scheduler: Scheduler,
    pub(super) group_by: GroupBy,
    /// Groups as the snapshot shows them, those of nodes that are taken to be gone too.
    pub(super) groups: Vec<LearntGroup>,
    /// Nodes that a what-if question closes.
    pub(super) closed: BTreeSet<NodeName>,
    pub(super) only_group: Option<GroupName>,
    /// Labels of nodes that a what-if question takes away or closes: no new node of theirs is an answer to it.
    pub(super) lost: Vec<(Text, Text)>,
    /// Copies that were placed before the one that did not fit, and that one.
    pub(super) stopped: Option<(Key, Settled)>,
    /// Pods of nodes that are taken to be gone.
    pub(super) displaced: Vec<Arc<Pod>>,
}

/// How all nodes answer a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The pod.
    pub pod: Arc<Pod>,
    /// All nodes, by name.
    pub rows: Vec<Row>,
    /// Nodes with the highest score, sorted; among several the scheduler draws lots.
    pub best: Vec<NodeName>,
    /// How it ends.
    pub outcome: Outcome,
}

/// One node's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The node.
    pub node: NodeName,
    /// Its group.
    pub group: Option<GroupName>,
    /// Its zone.
    pub zone: Option<Text>,
    /// What it says.
    pub verdict: Verdict,
}

/// How a question ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The pod fits on so many nodes.
    Fits(usize),
    /// It waits until gates are lifted, and is then asked about.
    Gated {
        /// The gates.
        gates: Vec<Text>,
        /// How many nodes it would fit on.
        feasible: usize,
    },
    /// It fits nowhere.
    DoesNotFit(UnschedulablePod),
    /// The scheduler fails although nodes fit.
    Error(CycleError),
}

/// A pod that fits nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnschedulablePod {
    /// The scheduler's words, those of preemption among them.
    pub message: String,
    /// The node on which preemption would make room, and the pods that would go.
    pub preemption: Option<Nomination>,
}

/// How many copies of a pod fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// How many were asked about.
    pub asked: usize,
    /// Where they go, one after the other.
    pub placed: Vec<(Key, NodeName)>,
    /// The first that does not fit, and why.
    pub stopped: Option<(Arc<Pod>, UnschedulablePod)>,
}

impl Copies {
    /// How many go to each node.
    #[must_use]
    pub fn by_node(&self) -> BTreeMap<&NodeName, usize> {
        let mut counts = BTreeMap::new();
        for (_, node) in &self.placed {
            *counts.entry(node).or_default() += 1;
        }
        counts
    }
}

impl PlacementQuery {
    /// A cluster as it is, but for what is taken to be otherwise.
    ///
    /// # Errors
    /// Where that names a node or group that is not there.
    pub fn new(mut view: View, group_by: GroupBy, what_if: &WhatIf) -> Result<Self, WhatIfError> {
        let groups = groups::from_nodes(&view, &group_by);
        let gone = picked(&view, &what_if.without)?;
        let cordon = picked(&view, &what_if.cordon)?;
        let left_out = match &what_if.only_group {
            Some(only) => others(&view, &group_by, only)?,
            None => BTreeSet::new(),
        };
        let displaced = remove(&mut view, &gone);
        if view.nodes.is_empty() {
            return Err(WhatIfError::NoneLeft);
        }
        let to_cordon: Vec<Node> = cordon.iter().filter_map(|name| view.node(name)).map(cordoned).collect();
        for node in to_cordon {
            view.apply(Delta::from(node));
        }
        let mut scheduler = Scheduler::load(&view);
        for name in &left_out {
            scheduler.set_excluded(name, true);
        }
        let closed = cordon.into_iter().chain(left_out).collect();
        let only_group = what_if.only_group.clone();
        let lost = what_if.without.iter().chain(&what_if.cordon).filter_map(|pick| match pick {
            Pick::Labelled(key, value) => Some((key.clone(), value.clone())),
            Pick::Named(_) => None,
        });
        let (lost, stopped) = (lost.collect(), None);
        Ok(Self { view, scheduler, group_by, groups, closed, only_group, lost, stopped, displaced })
    }

    /// The cluster, with everything that was taken to be there besides.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Nodes that the question closes: cordoned, or outside the one group.
    #[must_use]
    pub fn closed(&self) -> &BTreeSet<NodeName> {
        &self.closed
    }

    pub(super) fn apply(&mut self, delta: Delta) {
        let change = self.view.apply(delta);
        self.scheduler.observe(&self.view, &change);
    }

    /// Takes an object to be there, or to look like this.
    pub fn put(&mut self, object: Object) {
        let object = if let Object::PersistentVolumeClaim(claim) = object {
            let mut claim = (*claim).clone();
            admit_claim(&self.view, &mut claim);
            claim.into()
        } else {
            object
        };
        // A manifest knows no version; it comes after everything that is there.
        let known = self.view.object(object.kind(), &object.meta().key());
        let version = known.map_or(object.meta().resource_version, |known| known.meta().resource_version);
        self.apply(Delta::Put(object.map_meta(|meta| meta.resource_version = version)));
    }

    /// What the pods of a workload are made from. The workload is in the View afterwards.
    ///
    /// # Errors
    /// Where it makes no pods, or admission refuses them.
    pub fn factory(&mut self, object: &Object) -> Result<PodFactory, SubjectError> {
        let (factory, siblings) = subject::of_object(&self.view, object)?;
        siblings.into_iter().for_each(|sibling| self.put(sibling));
        Ok(factory)
    }

    /// Makes the next pod of a factory: it is in the View afterwards, waiting, with its claims.
    #[must_use]
    pub fn make(&mut self, factory: &PodFactory) -> Arc<Pod> {
        let Made { pod, claims } = factory.next(&self.view);
        for claim in claims {
            if self.view.persistent_volume_claims.find(&claim.meta.key()).is_none() {
                self.put(claim.into());
            }
        }
        self.apply(Delta::Put(pod.clone().into()));
        pod
    }

    /// A pod of the cluster as if it were to be placed now: it is taken away from its node.
    #[must_use]
    pub fn release(&mut self, pod: &Arc<Pod>) -> Arc<Pod> {
        let new = subject::anew(pod);
        if !Arc::ptr_eq(&new, pod) {
            self.apply(Delta::Put(new.clone().into()));
        }
        new
    }

    /// A pod of a node that is taken to be gone, as if it were made again: it is in the View afterwards, waiting.
    #[must_use]
    pub fn restore(&mut self, pod: &Key) -> Option<Arc<Pod>> {
        let known = self.displaced.iter().find(|known| known.meta.key() == *pod)?;
        let new = subject::anew(known);
        self.apply(Delta::Put(new.clone().into()));
        Some(new)
    }

    /// How all nodes answer a pod.
    #[must_use]
    pub fn ask(&mut self, pod: &Arc<Pod>) -> Answer {
        let explanation = self.scheduler.explain(&self.view, pod);
        let feasible = explanation.feasible();
        let outcome = match (feasible, &explanation.error) {
            (_, Some(error)) => Outcome::Error(error.clone()),
            (0, None) => Outcome::DoesNotFit(self.unschedulable(pod, &explanation)),
            (feasible, None) if is_gated(pod) => Outcome::Gated { gates: gates(pod), feasible },
            (feasible, None) => Outcome::Fits(feasible),
        };
        let best = explanation.best();
        let rows = explanation.nodes.into_iter().map(|(node, verdict)| self.row(node, verdict)).collect();
        Answer { pod: pod.clone(), rows, best, outcome }
    }

    fn unschedulable(&mut self, pod: &Arc<Pod>, explanation: &Explanation) -> UnschedulablePod {
        let message = explanation.message().unwrap_or_default();
        self.unschedulable_of(pod, &message)
    }

    /// As the scheduler's event words it: why no node fits, then how preemption came out.
    pub(super) fn unschedulable_of(&mut self, pod: &Arc<Pod>, message: &str) -> UnschedulablePod {
        let preemption = self.scheduler.preempt(&self.view, pod, DRAW);
        let message = format!("{message} {}", preemption.message);
        UnschedulablePod { message: message.trim_end().to_owned(), preemption: preemption.nominated }
    }

    pub(super) fn row(&self, node: NodeName, verdict: Verdict) -> Row {
        let known = self.view.node(&node);
        Row {
            group: known.and_then(|node| group_of(node, &self.group_by)),
            zone: known.and_then(|node| node.zone().cloned()),
            node,
            verdict,
        }
    }

    /// Every objection of some nodes in words, with numbers: in the order of the profile.
    #[must_use]
    pub fn why(&mut self, pod: &Arc<Pod>, nodes: &[NodeName]) -> BTreeMap<NodeName, Vec<String>> {
        let details = self.scheduler.details(&self.view, pod, nodes);
        let worded = details.into_iter().filter_map(|(name, detail)| {
            let node = self.view.node(&name)?;
            let is_closed = self.closed.contains(&name);
            let words = detail.all.iter().map(|failure| why(pod, node, is_closed, failure, &detail));
            Some((name, words.collect()))
        });
        worded.collect()
    }

    /// Places a pod, and takes it to be there from then on.
    ///
    /// # Errors
    /// When it fits nowhere, with the scheduler's words.
    pub fn settle(&mut self, pod: &Arc<Pod>) -> Result<NodeName, Unschedulable> {
        let placed = self.scheduler.place(&self.view, pod, DRAW)?;
        self.scheduler.assume(&self.view, pod, &placed.node, &placed.volumes);
        Ok(placed.node)
    }

    /// How many copies fit one after the other, and where. The first is `first`, if there is one.
    #[must_use]
    pub fn copies(&mut self, first: Option<&Arc<Pod>>, factory: &PodFactory, asked: usize) -> Copies {
        let mut copies = Copies { asked, placed: Vec::new(), stopped: None };
        let mut settled = Vec::new();
        while copies.placed.len() < asked {
            let own = first.filter(|_| copies.placed.is_empty()).cloned();
            let pod = own.unwrap_or_else(|| self.make(factory));
            match self.settle(&pod) {
                Ok(node) => {
                    copies.placed.push((pod.meta.key(), node.clone()));
                    settled.push((pod, node));
                }
                Err(error) => {
                    self.stopped = Some((pod.meta.key(), std::mem::take(&mut settled)));
                    let unschedulable = self.unschedulable_of(&pod, &error.to_string());
                    copies.stopped = Some((pod, unschedulable));
                    break;
                }
            }
        }
        copies
    }
}

/// Takes nodes away, and returns the pods that were on them, sorted.
fn remove(view: &mut View, gone: &BTreeSet<NodeName>) -> Vec<Arc<Pod>> {
    let mut displaced = Vec::new();
    for name in gone {
        displaced.extend(view.sorted_pods_on(name).into_iter().cloned());
        if let Some(node) = view.node(name).cloned() {
            view.apply(Delta::Gone(Object::from(node).reference()));
        }
    }
    for pod in &displaced {
        view.apply(Delta::Gone(Object::from(pod.clone()).reference()));
    }
    displaced
}

/// Whether something must be cleared before the pod is placed.
pub(super) fn is_gated(pod: &Pod) -> bool {
    !pod.spec.scheduling_gates.is_empty()
}

pub(super) fn gates(pod: &Pod) -> Vec<Text> {
    pod.spec.scheduling_gates.iter().map(|gate| gate.name.clone()).collect()
}

/// Whether an object is a pod or makes some.
#[must_use]
pub fn is_workload(object: &Value) -> bool {
    subject::is_workload(object)
}
