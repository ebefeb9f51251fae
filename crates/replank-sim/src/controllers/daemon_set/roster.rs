//! What is known of all nodes of one DaemonSet, kept up to date node by node: a look costs what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};
use rustc_hash::FxHashMap;

use super::Burst;
use super::fit::{Demands, Fit};
use super::report::{self, Basis, Doom, Report, Step, Tally};
use super::revisions::Settled;
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
    /// The revisions as a look found them.
    pub(super) settled: Option<Settled>,
    /// Pods to be made, batch by batch.
    pub(super) burst: Option<Burst>,
    /// Whether pods may have to be adopted or let go.
    pub(super) claims: bool,
    // The order in which nodes are looked at does not show: what is found of them is kept in order.
    places: FxHashMap<NodeName, Place>,
    dirty: Vec<NodeName>,
    due: BTreeSet<(Time, NodeName)>,
    tally: Tally,
    needing: BTreeSet<NodeName>,
    doomed: BTreeSet<NodeName>,
    steps: BTreeMap<Step, BTreeSet<NodeName>>,
    pauses: Pauses,
}

/// What is known of one node.
#[derive(Debug, Default)]
struct Place {
    pods: Vec<Ix<Pod>>,
    node: NodeIs,
    /// What the node's labels say of that: they outlast its taints.
    selected: Option<(Labels, bool)>,
    report: Option<Report>,
    is_dirty: bool,
}

/// What is known of the node itself, as long as it does not change in what decides whether pods belong there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NodeIs {
    #[default]
    Unknown,
    Absent,
    There(Fit),
}

impl Place {
    /// Finds out whether pods belong on the node.
    fn judge(&mut self, demands: &Demands, node: Option<&Node>) -> NodeIs {
        let Some(node) = node else { return NodeIs::Absent };
        let labels = &node.meta.labels;
        let known = self.selected.as_ref().filter(|(known, _)| known.same(labels)).map(|(_, known)| *known);
        let is_selected = known.unwrap_or_else(|| demands.select(node));
        if known.is_none() {
            self.selected = Some((labels.clone(), is_selected));
        }
        NodeIs::There(if is_selected { demands.fit_of_selected(node) } else { Fit::Unwanted })
    }
}

impl Roster {
    pub(super) fn new(uid: Uid) -> Self {
        Self { uid, claims: true, ..Self::default() }
    }

    /// Puts pods, and only these, on their nodes.
    pub(super) fn place_all(&mut self, view: &View, pods: &[Arc<Pod>]) {
        for (node, place) in self.places.iter_mut().filter(|(_, place)| !place.pods.is_empty()) {
            place.pods.clear();
            mark(&mut self.dirty, node, place);
        }
        for pod in pods {
            if let (Some(ix), Some(node)) = (view.pods.find(&pod.meta.key()), target(pod)) {
                self.place(node, ix);
            }
        }
    }

    pub(super) fn place(&mut self, node: &NodeName, pod: Ix<Pod>) {
        let place = place_at(&mut self.places, node);
        if !place.pods.contains(&pod) {
            place.pods.push(pod);
        }
        mark(&mut self.dirty, node, place);
    }

    pub(super) fn displace(&mut self, node: &NodeName, pod: Ix<Pod>) {
        let place = place_at(&mut self.places, node);
        place.pods.retain(|known| *known != pod);
        mark(&mut self.dirty, node, place);
    }

    /// A node came, went or changed in what decides whether pods belong there. Whether that makes the controller look (`syncNodeUpdate`).
    pub(super) fn node_changed(&mut self, view: &View, name: &NodeName, node: Option<&Node>) -> bool {
        let place = place_at(&mut self.places, name);
        let judged = place.judge(&self.basis.demands, node);
        if place.node != judged {
            place.node = judged;
            mark(&mut self.dirty, name, place);
        }
        let NodeIs::There(fit) = judged else { return false };
        let is_bound = |ix: &Ix<Pod>| view.pods.get(*ix).is_some_and(|pod| pod.node.is_some());
        let has_pod = place.pods.iter().any(is_bound);
        match fit {
            Fit::Wanted if !has_pod => true,
            Fit::Unwanted if has_pod => true,
            Fit::Wanted | Fit::Tolerated | Fit::Unwanted => has_pod && self.tally.misscheduled > 0,
        }
    }

    /// Nodes are judged by something else from now on.
    pub(super) fn all_changed(&mut self, view: &View) {
        for (_, node) in view.nodes.unordered() {
            place_at(&mut self.places, &node.name());
        }
        for (name, place) in &mut self.places {
            (place.node, place.selected) = (NodeIs::Unknown, None);
            mark(&mut self.dirty, name, place);
        }
    }

    /// Looks at all nodes that changed.
    pub(super) fn refresh(&mut self, view: &View, now: Time) {
        while self.due.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, node)) = self.due.pop_first()
        {
            mark(&mut self.dirty, &node, place_at(&mut self.places, &node));
        }
        for name in std::mem::take(&mut self.dirty) {
            let Some(place) = self.places.get_mut(&name) else { continue };
            place.is_dirty = false;
            if place.node == NodeIs::Unknown {
                place.node = place.judge(&self.basis.demands, view.node(&name).map(|node| &**node));
            }
            let fit = match place.node {
                NodeIs::There(fit) => Some(fit),
                NodeIs::Absent | NodeIs::Unknown => None,
            };
            let is_there = fit.is_some() || !place.pods.is_empty();
            let report = is_there.then(|| report::of(view, &self.basis, fit, &place.pods, now));
            // Most changes of a pod change nothing of what counts. When a report is due to be made anew is noted with it.
            let is_known = report.as_ref().is_some_and(|report| report.until.is_none());
            if is_known && place.report == report {
                continue;
            }
            let before = std::mem::replace(&mut place.report, report.clone());
            if !is_there {
                self.places.remove(&name);
            }
            if let Some(before) = &before {
                self.forget(&name, before);
            }
            if let Some(report) = &report {
                self.learn(&name, report);
            }
        }
    }

    fn forget(&mut self, node: &NodeName, report: &Report) {
        self.tally.add(&report.tally, -1);
        if report.needs {
            self.needing.remove(node);
        }
        if !report.doomed.is_empty() {
            self.doomed.remove(node);
        }
        if let Some(nodes) = self.steps.get_mut(&report.step) {
            nodes.remove(node);
        }
        if let Some(at) = report.until {
            self.due.remove(&(at, node.clone()));
        }
    }

    fn learn(&mut self, node: &NodeName, report: &Report) {
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
    }

    fn report(&self, node: &NodeName) -> Option<&Report> {
        self.places.get(node)?.report.as_ref()
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
        nodes.iter().filter_map(|node| self.report(node)?.old).collect()
    }

    /// The pods that go, and after what time to look again for those whose pause is not over.
    pub(super) fn doomed(&mut self, generation: i64, now: Time) -> (Vec<Ix<Pod>>, Option<Span>) {
        let (mut doomed, mut again) = (Vec::new(), None::<Span>);
        for node in &self.doomed {
            let Some(report) = self.places.get(node).and_then(|place| place.report.as_ref()) else {
                continue;
            };
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

/// What is known of a node, nothing at first.
fn place_at<'a>(places: &'a mut FxHashMap<NodeName, Place>, node: &NodeName) -> &'a mut Place {
    places.entry(node.clone()).or_default()
}

/// Has a node looked at.
fn mark(dirty: &mut Vec<NodeName>, node: &NodeName, place: &mut Place) {
    if !std::mem::replace(&mut place.is_dirty, true) {
        dirty.push(node.clone());
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
