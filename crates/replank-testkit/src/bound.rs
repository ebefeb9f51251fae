//! Rolls clusters in which some nodes cannot be emptied, and holds the run to the others.

use std::collections::{BTreeMap, BTreeSet};

use replank_advice::preflight;
use replank_core::Core;
use replank_facts::plan::RunOptions;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, RunId};
use replank_model::time::{Span, Time};
use replank_protocol::command::{Effect, KubernetesEffect, NodeRole};
use replank_protocol::decision::End;
use replank_protocol::waiting::Waiting;
use replank_sim::{ImageName, World};

pub use crate::check::bound::Keeps;
use crate::check::bound::{Known, old_nodes};
use crate::clusters::{Bounded, Cluster, OTHER_SCHEDULER};
use crate::trial;

/// How long everything has to come up, the slowest StatefulSet too.
const SETTLES: Span = Span::from_minutes(10);
/// How long until a machine that went off is known to be silent, and its pods not to be Ready.
const NOTICED: Span = Span::from_minutes(2);

/// What a run reached, and what it could have.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Every old node, and what keeps it.
    pub old: BTreeMap<NodeName, Option<Keeps>>,
    /// Old nodes that are gone at the end.
    pub replaced: BTreeSet<NodeName>,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// What the last decision waited for.
    pub waiting: Vec<Waiting>,
    /// How long it took in the cluster's time.
    pub took: Span,
    /// Pods that are to run and are not Ready, before and after.
    pub unwell: [Vec<String>; 2],
    /// How it went: commands in order.
    pub commands: Vec<String>,
}

impl Reached {
    /// Nodes that could have been emptied and are still there.
    pub fn missed(&self) -> impl Iterator<Item = &NodeName> {
        let free = self.old.iter().filter(|(_, keeps)| keeps.is_none());
        free.map(|(name, _)| name).filter(|name| !self.replaced.contains(*name))
    }

    /// Nodes that can be emptied.
    #[must_use]
    pub fn possible(&self) -> usize {
        self.old.values().filter(|keeps| keeps.is_none()).count()
    }
}

/// Rolls a cluster to the end of its run.
#[must_use]
pub fn run(bounded: &Bounded) -> Reached {
    let cluster = &bounded.cluster;
    let mut world = settled(bounded);
    let pods = world.view().pods.sorted();
    let well = pods.iter().filter(|(_, pod)| pod.is_ready()).map(|(_, pod)| pod.meta.key()).collect();
    kill(&mut world, bounded);
    for (whose, fault) in &cluster.troubles {
        world.image_fault(whose, Some(*fault));
    }
    let view = world.view();
    let old = old_nodes(view, &cluster.plan, &Known { faulty: faulty(bounded, &world), well });
    let uid = |world: &World, name: &NodeName| world.view().node(name).map(|node| node.meta.uid.clone());
    let uids: BTreeMap<NodeName, _> = old.keys().map(|name| (name.clone(), uid(&world, name))).collect();
    let before = unwell(&world);
    let start = world.now();
    let options = RunOptions { started: start.floor_seconds(), group_by: Cluster::group_by() };
    let core = Core::new(cluster.plan.clone(), RunId::from("bound"), options, preflight::blocking);
    world.put_in_charge(Box::new(core.with_record()));
    let limit = start + cluster.plan.deadline + Span::from_minutes(60);
    while world.end().is_none() && world.step_until(limit) {}
    // A run that ends blocked keeps what it has retained.
    let is_retained = |name: &NodeName| {
        world.commands().iter().any(|sent| match &sent.command.effect {
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => {
                node.name == *name && mark.role == NodeRole::Retained
            }
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => false,
        })
    };
    let replaced = uids.iter().filter(|(name, before)| uid(&world, name) != **before || is_retained(name));
    let command = |sent: &replank_sim::Sent| format!("{} {:?}", sent.at, sent.command.effect);
    Reached {
        replaced: replaced.map(|(name, _)| name.clone()).collect(),
        old,
        end: world.end().cloned(),
        waiting: world.decision().map(|decision| decision.waiting.to_vec()).unwrap_or_default(),
        unwell: [before, unwell(&world)],
        took: world.now() - start,
        commands: world.commands().iter().map(command).collect(),
    }
}

/// The cluster with everything in its place.
pub(crate) fn settled(bounded: &Bounded) -> World {
    let mut world = trial::settled(&bounded.cluster);
    place_others(&mut world, &bounded.others);
    advance(&mut world, SETTLES);
    world
}

/// Machines go off, and that is noticed.
pub(crate) fn kill(world: &mut World, bounded: &Bounded) {
    bounded.dead.iter().for_each(|name| world.silence(name));
    advance(world, NOTICED);
}

/// Pods that are to run and are not Ready, with their nodes.
fn unwell(world: &World) -> Vec<String> {
    let pods = world.view().pods.sorted();
    let unwell = pods.iter().map(|(_, pod)| pod).filter(|pod| pod.is_active() && !pod.is_ready());
    unwell.map(|pod| format!("{} on {:?}", pod.meta.key(), pod.node)).collect()
}

fn advance(world: &mut World, by: Span) {
    let until: Time = world.now() + by;
    world.run_until(until);
}

/// The other scheduler places its pods, one on each node in turn.
fn place_others(world: &mut World, nodes: &[NodeName]) {
    let pods = world.view().pods.sorted();
    let waiting = pods.iter().filter(|(_, pod)| &*pod.spec.scheduler_name == OTHER_SCHEDULER);
    let keys: Vec<_> = waiting.map(|(_, pod)| pod.meta.key()).collect();
    for (key, node) in keys.iter().zip(nodes.iter().cycle()) {
        let placed = world.request(|api| api.modify::<Pod>(key, |pod| pod.node = Some(node.clone())));
        assert!(placed.is_ok(), "{key} cannot be placed");
    }
}

/// Machines that end no pod. Of one that is off this says nothing.
fn faulty(bounded: &Bounded, world: &World) -> BTreeSet<NodeName> {
    let mut names = BTreeSet::new();
    for (whose, _) in &bounded.cluster.troubles {
        match whose {
            ImageName::OfNode(name) => drop(names.insert(name.clone())),
            // All nodes that are there are made from it.
            ImageName::Named(_) => {
                names.extend(world.view().nodes.sorted().iter().map(|(_, node)| node.name()));
            }
            ImageName::New => {}
        }
    }
    names.retain(|name| !bounded.dead.contains(name));
    names
}
