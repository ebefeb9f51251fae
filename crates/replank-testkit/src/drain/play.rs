//! A random cluster, drained twice: by kubectl, as scripts have it, and by Replank with the same flags.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_core::drain::{Drain, Options, Request, Verb};
use replank_facts::kubectl::Filters;
use replank_facts::workload::workload_of;
use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::text::{NodeName, RunId};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_oracle::sched_random::Random;
use replank_protocol::command::{NodeTarget, Refusal};
use replank_protocol::decision::End;
use replank_sim::script::{AsGiven, Script, happen};
use replank_sim::{Asked, Observer, Sent, World};

use crate::clusters::Cluster;
use crate::trial::settled;

/// How long either may take.
const LIMIT: Span = Span::from_minutes(12 * 60);

/// What the two came to.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Nodes that were drained.
    pub nodes: Vec<NodeName>,
    /// kubectl's.
    pub kubectl: Drained,
    /// Replank's.
    pub replank: Drained,
    /// How Replank ended.
    pub end: Option<End>,
}

/// What one of them came to.
#[derive(Clone, Debug, Default)]
pub struct Drained {
    /// Pods that left the nodes by eviction.
    pub evicted: BTreeSet<Key>,
    /// Evictions that a budget refused.
    pub refused: usize,
    /// Fewest ready pods of each workload.
    pub fewest: BTreeMap<Key, usize>,
    /// Whether all was over within the limit.
    pub is_done: bool,
    /// Whether a pod was refused with 500, because several budgets cover it: `kubectl drain` ends with an error then, and the scripts' asks again.
    pub has_failed: bool,
}

/// Drains some nodes of the cluster of a seed; `None` where kubectl would not begin.
#[must_use]
pub fn compare(seed: u64) -> Option<Compared> {
    let cluster = Cluster::of(seed);
    let world = settled(&cluster);
    let mut random = Random::new(seed);
    let names: Vec<NodeName> = world.view().nodes.sorted().into_iter().map(|(_, node)| node.name()).collect();
    let nodes: Vec<NodeName> = names.into_iter().filter(|_| random.below(2) == 0).take(4).collect();
    drop(world);
    if nodes.is_empty() {
        return None;
    }
    let kubectl = by_kubectl(settled(&cluster), &nodes)?;
    let (replank, end) = by_replank(settled(&cluster), &nodes);
    Some(Compared { nodes, kubectl, replank, end })
}

fn by_kubectl(mut world: World, nodes: &[NodeName]) -> Option<Drained> {
    let notes = watched(&mut world);
    let listed: Vec<&str> = nodes.iter().map(NodeName::as_str).collect();
    let script = Script::read(&format!("before: somebody drains {}", listed.join(",")));
    let script = script.unwrap_or_else(|flaws| panic!("{flaws}"));
    happen(&mut world, &AsGiven, &script.events[0].what).ok()?;
    let limit = world.now() + LIMIT;
    // It looks again every five seconds: what it waits for no more it has not come to yet.
    let mut idle = 0;
    while idle < 3 && world.now() < limit {
        let until = world.now() + Span::from_secs(6);
        world.run_until(until);
        idle = if world.standing_drains().is_empty() { idle + 1 } else { 0 };
    }
    let is_done = idle >= 3;
    let noted = notes.borrow().clone();
    Some(Drained { is_done, ..noted })
}

fn by_replank(mut world: World, nodes: &[NodeName]) -> (Drained, Option<End>) {
    let notes = watched(&mut world);
    let target = |name: &NodeName| {
        let node = world.view().node(name).expect("it is there");
        NodeTarget { name: name.clone(), uid: node.meta.uid.clone() }
    };
    let filters = Filters { ignore_daemonsets: true, delete_emptydir_data: true, ..Filters::default() };
    let request = Request {
        run: RunId::from("drain"),
        verb: Verb::Drain,
        nodes: nodes.iter().map(target).collect(),
        options: Options { filters, ..Options::default() },
    };
    world.put_in_charge(Box::new(Drain::new(request)));
    let limit = world.now() + LIMIT;
    while world.end().is_none() && world.step_until(limit) {}
    let noted = notes.borrow().clone();
    (Drained { is_done: world.end().is_some(), ..noted }, world.end().cloned())
}

fn watched(world: &mut World) -> Rc<RefCell<Drained>> {
    let notes = Drained { fewest: ready(world.view()), ..Drained::default() };
    let notes = Rc::new(RefCell::new(notes));
    world.observe(Box::new(Watch(notes.clone())));
    notes
}

fn ready(view: &View) -> BTreeMap<Key, usize> {
    let mut all: BTreeMap<Key, usize> = BTreeMap::new();
    for (_, pod) in view.pods.unordered() {
        let Some(workload) = workload_of(view, pod) else { continue };
        let key = workload.key.clone();
        *all.entry(key).or_default() += usize::from(pod.is_ready() && !pod.is_terminating());
    }
    all
}

struct Watch(Rc<RefCell<Drained>>);

impl Observer for Watch {
    fn changed(&mut self, _at: Time, change: &Change, view: &View) {
        let Change::Object { old, new, .. } = change else { return };
        if new.as_ref().or(old.as_ref()).is_none_or(|object| object.kind() != Kind::Pod) {
            return;
        }
        let now = ready(view);
        for (workload, fewest) in &mut self.0.borrow_mut().fewest {
            *fewest = now.get(workload).copied().unwrap_or(0).min(*fewest);
        }
    }

    fn asked(&mut self, _at: Time, asked: &Asked, _view: &View) {
        let mut notes = self.0.borrow_mut();
        match &asked.refused {
            None => _ = notes.evicted.insert(asked.pod.meta.key()),
            Some(words) => {
                notes.refused += 1;
                notes.has_failed |= words.contains("more than one PodDisruptionBudget");
            }
        }
    }

    fn executed(&mut self, _at: Time, sent: &Sent, _view: &View) {
        let mut notes = self.0.borrow_mut();
        if let replank_protocol::command::Effect::Kubernetes(
            replank_protocol::command::KubernetesEffect::Evict { pod, .. },
        ) = &sent.command.effect
        {
            match &sent.result {
                Some((_, Ok(()))) => _ = notes.evicted.insert(pod.key.clone()),
                Some((_, Err(Refusal::Budget { .. }))) => notes.refused += 1,
                Some((_, Err(_))) | None => {}
            }
        }
    }
}
