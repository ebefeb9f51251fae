//! Connections that a rehearsal would cut: what comes to a workload is given, and every pod and node that is ended on the way takes its
//! leave as [`replank_facts::shutdown`] has it, with the times of the simulated cluster.
//!
//! What is counted are upper bounds. Load comes evenly to the pods that are Ready, and senders learn in the last moment that a pod is none
//! any more; clients do not try again.

mod demand;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_facts::groups::instance_id_of;
use replank_facts::shutdown::{Leave, Listener, Lost, Path, Serving, Timing, node_timing, paths_of};
use replank_model::object::Object;
use replank_model::object::cloud::{Instance, InstanceState};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::mark;
use serde::Serialize;

pub use demand::{Demand, DemandError};

use replank_sim::Observer;
use replank_sim::series_of;

/// Connections of one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionFigures {
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// How many begin each second.
    pub per_second: f64,
    /// How long each takes.
    #[serde(rename = "lengthMs", serialize_with = "crate::millis::millis")]
    pub length: Span,
    /// By which way they come.
    pub path: &'static str,
    /// Pods of the workload that were ended.
    pub pods: usize,
    /// Connections that were sent to pods or nodes which took none any more, or for which there was no pod.
    pub refused: u64,
    /// Connections that were open when their pod or node ended, or their load balancer gave up.
    pub cut: u64,
    /// How long no pod took connections.
    #[serde(rename = "darkMs", serialize_with = "crate::millis::millis")]
    pub dark: Span,
}

/// Watches a rehearsal and counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections(Rc<RefCell<Vec<Tally>>>);

/// What is counted for one demand.
#[derive(Debug)]
struct Tally {
    demand: Demand,
    path: Path,
    /// Pods that take connections, and their nodes.
    ready: BTreeMap<Uid, Option<NodeName>>,
    leaving: BTreeMap<Uid, Leaving>,
    /// Since when nobody takes connections, and until when the last one that leaves still does.
    dark_from: Option<Time>,
    excluded: BTreeMap<NodeName, Time>,
    pods: usize,
    lost: Lost,
    dark: Span,
}

/// A pod on its way out.
#[derive(Clone, Debug)]
struct Leaving {
    since: Time,
    leave: Leave,
    node: Option<NodeName>,
    /// How many connections come to it each second.
    share: f64,
}

impl Leaving {
    /// When what takes its connections ends, if its last container did at `observed` and the last connection would at `idle`. A proxy that
    /// ends before the other containers cuts what is open then; one that waits for its connections outlives the rehearsed pod, for the rehearsal's
    /// kubelet knows of no connections. What ended without a deletion had no time at all.
    fn exit(&self, observed: Span, idle: Span) -> Span {
        match self.leave.serving {
            Serving::UntilIdle { .. } if observed > Span::ZERO => self.leave.exit(idle),
            Serving::UntilIdle { .. } | Serving::For(_) => observed.min(self.leave.exit(idle)),
        }
    }
}

impl Connections {
    /// Counts for these demands from here on.
    pub(super) fn of(view: &View, demands: &[Demand], at: Time) -> Self {
        let tallies = demands.iter().map(|demand| Tally::new(view, demand, at)).collect();
        Self(Rc::new(RefCell::new(tallies)))
    }

    pub(super) fn figures(&self, now: Time) -> Vec<ConnectionFigures> {
        self.0.borrow().iter().map(|tally| tally.figures(now)).collect()
    }
}

impl Demand {
    /// Whether the workload has a pod.
    #[must_use]
    pub fn has_pods(&self, view: &View) -> bool {
        view.pods.sorted().iter().any(|(_, pod)| is_of(&self.workload, view, pod))
    }
}

fn is_of(workload: &Key, view: &View, pod: &Pod) -> bool {
    pod.meta.namespace == workload.namespace
        && series_of(view, pod).is_some_and(|found| *found.name == *workload.name.as_str())
}

impl Observer for Connections {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        for tally in self.0.borrow_mut().iter_mut() {
            match change {
                Change::Object { old: Some(Object::Pod(old)), new: Some(Object::Pod(new)), .. } => {
                    tally.pod(at, view, old, Some(new));
                }
                Change::Object { old: Some(Object::Pod(old)), new: None, .. } => {
                    tally.pod(at, view, old, None);
                }
                Change::Object { old: None, new: Some(Object::Pod(new)), .. } => {
                    tally.pod(at, view, new, Some(new));
                }
                Change::Object { new: Some(Object::Node(node)), .. } => tally.node(at, node),
                Change::Instance { old: Some(old), new } => tally.instance(at, view, old, new.as_deref()),
                Change::Object { .. }
                | Change::Instance { old: None, .. }
                | Change::Group { .. }
                | Change::Message { .. }
                | Change::Unread(_)
                | Change::Stale => {}
            }
        }
    }
}

impl Tally {
    fn new(view: &View, demand: &Demand, at: Time) -> Self {
        let mut tally = Self {
            demand: demand.clone(),
            path: Path::Proxy,
            ready: BTreeMap::new(),
            leaving: BTreeMap::new(),
            dark_from: None,
            excluded: BTreeMap::new(),
            pods: 0,
            lost: Lost::default(),
            dark: Span::ZERO,
        };
        let mut paths = Vec::new();
        for (_, pod) in view.pods.sorted() {
            if !is_of(&demand.workload, view, pod) {
                continue;
            }
            paths.extend(paths_of(view, pod));
            if takes(pod) {
                tally.ready.insert(pod.meta.uid.clone(), pod.node.clone());
            }
        }
        for (_, node) in view.nodes.sorted() {
            tally.node(at, node);
        }
        // The one through which word spreads most slowly: from outside, where there is a way from outside.
        let from_outside = paths.into_iter().max_by_key(|path| reach(*path));
        tally.path = demand.path.or(from_outside).unwrap_or(Path::Proxy);
        tally.dark_from = tally.ready.is_empty().then_some(at);
        tally
    }

    fn pod(&mut self, at: Time, view: &View, old: &Pod, new: Option<&Pod>) {
        let uid = &old.meta.uid;
        let is_known = self.ready.contains_key(uid) || self.leaving.contains_key(uid);
        if !is_known && !is_of(&self.demand.workload, view, old) {
            return;
        }
        if let Some(new) = new.filter(|new| takes(new)) {
            if self.ready.insert(new.meta.uid.clone(), new.node.clone()).is_none() {
                self.light(at);
            }
            return;
        }
        let is_over = new.is_none_or(Pod::is_terminal);
        if self.ready.contains_key(uid) {
            let share = self.demand.per_second / self.ready.len() as f64;
            self.ready.remove(uid);
            let pod = new.unwrap_or(old);
            // One that is not Ready for a while keeps what it has; one that is over without a word had no time to take leave.
            if pod.is_terminating() || is_over {
                self.pods += 1;
                // Of a process whose settings are not known, the simulated kubelet tells when it ends, within its grace.
                let leave = Leave::of(view, pod, Span::from_secs(pod.grace_seconds()));
                let node = pod.node.clone();
                self.leaving.insert(uid.clone(), Leaving { since: at, leave, node, share });
            }
            self.darken(at);
        }
        if is_over && let Some(leaving) = self.leaving.remove(uid) {
            let idle = self.path.routed_until() + self.demand.length;
            self.end(leaving.exit(at - leaving.since, idle), &leaving);
        }
    }

    /// A machine is off, and with it whatever ran there.
    fn machine_off(&mut self, at: Time, node: &NodeName) {
        let share = self.demand.per_second / self.ready.len().max(1) as f64;
        let before = self.ready.len();
        self.ready.retain(|_, on| on.as_ref() != Some(node));
        let killed = before - self.ready.len();
        for _ in 0..killed {
            self.pods += 1;
            let leave = Leave {
                pre_stop: Span::ZERO,
                serving: Serving::For(Span::ZERO),
                listener: Listener::ClosesAtSignal,
                grace: Span::ZERO,
            };
            self.end(Span::ZERO, &Leaving { since: at, leave, node: Some(node.clone()), share });
        }
        let ended: Vec<Uid> = self
            .leaving
            .iter()
            .filter(|(_, one)| one.node.as_ref() == Some(node))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in ended {
            if let Some(leaving) = self.leaving.remove(&uid) {
                self.end(at - leaving.since, &leaving);
            }
        }
        self.darken(at);
    }

    /// What took a pod's connections is gone, so long after the pod's deletion.
    fn end(&mut self, exit: Span, leaving: &Leaving) {
        let timing = Timing {
            accepts_until: leaving.leave.accepts_until(exit),
            exit,
            routed_until: self.path.routed_until(),
            cut_at: self.path.cuts_at(),
        };
        let lost = timing.lost(leaving.share, self.demand.length);
        // Where nobody else was there, what it refused is counted as dark.
        let was_alone = leaving.share >= self.demand.per_second;
        self.lost.refused += if was_alone { 0.0 } else { lost.refused };
        self.lost.cut += lost.cut;
    }

    /// Nobody is Ready: those that leave take connections as long as they can.
    fn darken(&mut self, at: Time) {
        if self.ready.is_empty() && self.dark_from.is_none() {
            let until = |leaving: &Leaving| {
                leaving.since + leaving.leave.accepts_until(leaving.leave.exit(Span::ZERO))
            };
            self.dark_from = Some(self.leaving.values().map(until).max().unwrap_or(at).max(at));
        }
    }

    /// Somebody is Ready again.
    fn light(&mut self, at: Time) {
        if let Some(from) = self.dark_from.take() {
            self.dark += (at - from).max(Span::ZERO);
        }
    }

    fn node(&mut self, at: Time, node: &Node) {
        if node.meta.labels.contains_key(mark::EXCLUDE) {
            self.excluded.entry(node.name()).or_insert(at);
        } else {
            self.excluded.remove(&node.name());
        }
    }

    fn instance(&mut self, at: Time, view: &View, old: &Instance, new: Option<&Instance>) {
        self.passes_through(at, view, old, new);
        let is_off = new.is_none_or(|new| new.state == InstanceState::Terminated);
        if let Some(node) = old.node.as_ref().filter(|_| is_off && old.state != InstanceState::Terminated) {
            self.machine_off(at, node);
        }
    }

    /// A node that is ended while load balancers may still send to it takes with it what passes through.
    fn passes_through(&mut self, at: Time, view: &View, old: &Instance, new: Option<&Instance>) {
        let Path::Nodes { balancer, delay } = self.path else { return };
        let goes = old.state == InstanceState::Running && new.is_none_or(|new| !new.state.is_alive());
        let Some(name) = old.node.as_ref().filter(|_| goes) else { return };
        let nodes = view.nodes.sorted();
        let is_target = |node: &Node| {
            node.is_ready()
                && (node.name() == *name || !node.meta.labels.contains_key(mark::EXCLUDE))
                && view
                    .instances()
                    .get(&instance_id_of(node))
                    .is_none_or(|one| one.state.is_alive() || one.id == old.id)
        };
        let targets = nodes.iter().filter(|(_, node)| is_target(node)).count().max(1);
        let excluded = self.excluded.get(name).map_or(Span::ZERO, |since| at - *since);
        let share = self.demand.per_second / targets as f64;
        let lost = node_timing(balancer, delay, excluded).lost(share, self.demand.length);
        self.lost.refused += lost.refused;
        self.lost.cut += lost.cut;
    }

    fn figures(&self, now: Time) -> ConnectionFigures {
        let since_dark = self.dark_from.map_or(Span::ZERO, |from| (now - from).max(Span::ZERO));
        let dark = self.dark + since_dark;
        let refused = self.lost.refused + self.demand.per_second * dark.as_secs_f64();
        ConnectionFigures {
            namespace: self.demand.workload.namespace.text().clone(),
            name: self.demand.workload.name.text().clone(),
            per_second: self.demand.per_second,
            length: self.demand.length,
            path: self.path.as_str(),
            pods: self.pods,
            refused: rounded(refused),
            cut: rounded(self.lost.cut),
            dark,
        }
    }
}

/// Whether a pod is sent connections.
fn takes(pod: &Pod) -> bool {
    pod.is_ready() && !pod.is_terminating() && !pod.is_terminal()
}

/// How slowly word spreads on a way: through nodes it takes as long as the nodes themselves do.
fn reach(path: Path) -> Span {
    match path {
        Path::Nodes { balancer, .. } => balancer.routed_until(),
        Path::Proxy | Path::AlbIp { .. } | Path::NlbIp { .. } | Path::Local { .. } => path.routed_until(),
    }
}

/// Up: what may be lost in part may be lost. No count comes near 2^53.
fn rounded(count: f64) -> u64 {
    // Sums of fractions are a little off.
    (count - 1e-6).ceil().max(0.0) as u64
}

#[cfg(test)]
mod tests;
