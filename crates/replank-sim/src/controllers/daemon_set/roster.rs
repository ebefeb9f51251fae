//! What is known of all nodes of one DaemonSet, kept up to date node by node: a look costs what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Burst;
use super::fit::Fit;
use super::report::{self, Basis, Doom, Report, Step, Tally};
use super::template::{PodFactory, target};

/// First pause before a failed pod of a node is replaced (`failedPodsBackoff`).
const FAILED_FIRST: Span = Span::from_secs(1);
/// Longest such pause. After twice this time without a failure it begins again.
const FAILED_MAX: Span = Span::from_secs(15 * 60);

/// Pause of one node, by the generation that the status had seen.
type Pauses = FxHashMap<(i64, NodeName), (Span, Time)>;

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pub(super) uid: Uid,
    pub(super) basis: Basis,
    pub(super) factory: PodFactory,
    /// Pods to be made, batch by batch.
    pub(super) burst: Option<Burst>,
    /// Whether pods may have to be adopted or let go.
    pub(super) claims: bool,
    // The order in which nodes are looked at does not show: what is found of them is kept in order.
    placed: FxHashMap<NodeName, Vec<Ix<Pod>>>,
    reports: FxHashMap<NodeName, Report>,
    dirty: FxHashSet<NodeName>,
    due: BTreeSet<(Time, NodeName)>,
    tally: Tally,
    needing: BTreeSet<NodeName>,
    doomed: BTreeSet<NodeName>,
    steps: BTreeMap<Step, BTreeSet<NodeName>>,
    pauses: Pauses,
}

impl Roster {
    pub(super) fn new(uid: Uid) -> Self {
        Self { uid, claims: true, ..Self::default() }
    }

    /// Puts pods, and only these, on their nodes.
    pub(super) fn place_all(&mut self, view: &View, pods: &[Arc<Pod>]) {
        for (node, _) in std::mem::take(&mut self.placed) {
            self.dirty.insert(node);
        }
        for pod in pods {
            if let (Some(ix), Some(node)) = (view.pods.find(&pod.meta.key()), target(pod)) {
                self.place(node, ix);
            }
        }
    }

    pub(super) fn place(&mut self, node: &NodeName, pod: Ix<Pod>) {
        let pods = self.placed.entry(node.clone()).or_default();
        if !pods.contains(&pod) {
            pods.push(pod);
        }
        self.dirty.insert(node.clone());
    }

    pub(super) fn displace(&mut self, node: &NodeName, pod: Ix<Pod>) {
        if let Some(pods) = self.placed.get_mut(node) {
            pods.retain(|known| *known != pod);
            if pods.is_empty() {
                self.placed.remove(node);
            }
        }
        self.dirty.insert(node.clone());
    }

    /// A node changed in what decides whether pods belong there.
    pub(super) fn node_changed(&mut self, node: &NodeName) {
        self.dirty.insert(node.clone());
    }

    pub(super) fn all_changed(&mut self, view: &View) {
        self.dirty.extend(view.nodes.unordered().map(|(_, node)| node.name()));
        self.dirty.extend(self.placed.keys().cloned());
        self.dirty.extend(self.reports.keys().cloned());
    }

    /// Whether a node that came or changed makes the controller look (`syncNodeUpdate`).
    pub(super) fn is_concerned(&self, view: &View, node: &NodeName) -> bool {
        let Some(object) = view.node(node) else { return false };
        let fit = self.basis.demands.fit(object);
        let is_bound = |ix: &Ix<Pod>| view.pods.get(*ix).is_some_and(|pod| pod.node.is_some());
        let has_pod = self.placed.get(node).is_some_and(|pods| pods.iter().any(is_bound));
        match fit {
            Fit::Wanted if !has_pod => true,
            Fit::Unwanted if has_pod => true,
            Fit::Wanted | Fit::Tolerated | Fit::Unwanted => has_pod && self.tally.misscheduled > 0,
        }
    }

    /// Looks at all nodes that changed.
    pub(super) fn refresh(&mut self, view: &View, now: Time) {
        while let Some((at, node)) = self.due.first().cloned().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, node.clone()));
            self.dirty.insert(node);
        }
        for node in std::mem::take(&mut self.dirty) {
            let object = view.node(&node);
            let pods = self.placed.get(&node).map_or(&[][..], Vec::as_slice);
            let is_there = object.is_some() || !pods.is_empty();
            let report =
                is_there.then(|| report::of(view, &self.basis, object.map(|node| &**node), pods, now));
            // Most changes of a pod change nothing of what counts. When a report is due to be made anew is noted with it.
            let is_known = report.as_ref().is_some_and(|report| report.until.is_none());
            if is_known && self.reports.get(&node) == report.as_ref() {
                continue;
            }
            self.forget(&node);
            if let Some(report) = report {
                self.learn(node, report);
            }
        }
    }

    fn forget(&mut self, node: &NodeName) {
        let Some(report) = self.reports.remove(node) else { return };
        self.tally.add(&report.tally, -1);
        self.needing.remove(node);
        self.doomed.remove(node);
        if let Some(nodes) = self.steps.get_mut(&report.step) {
            nodes.remove(node);
        }
        if let Some(at) = report.until {
            self.due.remove(&(at, node.clone()));
        }
    }

    fn learn(&mut self, node: NodeName, report: Report) {
        self.tally.add(&report.tally, 1);
        if report.needs {
            self.needing.insert(node.clone());
        }
        if !report.doomed.is_empty() {
            self.doomed.insert(node.clone());
        }
        if report.step != Step::Settled {
            self.steps.entry(report.step).or_default().insert(node.clone());
        }
        if let Some(at) = report.until {
            self.due.insert((at, node.clone()));
        }
        self.reports.insert(node, report);
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Nodes that need a pod.
    pub(super) fn needing(&self) -> Vec<NodeName> {
        self.needing.iter().cloned().collect()
    }

    /// Nodes on which an update does a thing.
    pub(super) fn at(&self, step: Step) -> Vec<NodeName> {
        self.steps.get(&step).into_iter().flatten().cloned().collect()
    }

    /// On how many nodes an update does a thing.
    pub(super) fn count(&self, step: Step) -> usize {
        self.steps.get(&step).map_or(0, BTreeSet::len)
    }

    /// The pods of another template on nodes.
    pub(super) fn old_on(&self, nodes: &[NodeName]) -> Vec<Ix<Pod>> {
        nodes.iter().filter_map(|node| self.reports.get(node)?.old).collect()
    }

    /// The pods that go, and after what time to look again for those whose pause is not over.
    pub(super) fn doomed(&mut self, generation: i64, now: Time) -> (Vec<Ix<Pod>>, Option<Span>) {
        let (mut doomed, mut again) = (Vec::new(), None::<Span>);
        for node in &self.doomed {
            let Some(report) = self.reports.get(node) else { continue };
            for (pod, doom) in &report.doomed {
                match doom {
                    Doom::Surplus => doomed.push(*pod),
                    Doom::Failed => match pause(&mut self.pauses, (generation, node.clone()), now) {
                        None => doomed.push(*pod),
                        Some(span) => again = Some(again.map_or(span, |known| known.min(span))),
                    },
                }
            }
        }
        (doomed, again)
    }
}

/// The pause of a node if it is not over; else a longer one begins.
fn pause(pauses: &mut Pauses, key: (i64, NodeName), now: Time) -> Option<Span> {
    let is_fresh = |since: Time| now - since <= FAILED_MAX * 2;
    match pauses.get_mut(&key).filter(|(_, since)| is_fresh(*since)) {
        Some((span, since)) if now - *since < *span => return Some(*span),
        Some((span, since)) => (*span, *since) = ((*span * 2).min(FAILED_MAX), now),
        None => {
            // Others that are long over are dropped on the way.
            pauses.retain(|_, (_, since)| is_fresh(*since));
            pauses.insert(key, (FAILED_FIRST, now));
        }
    }
    None
}
