//! One node's answer to one pod, plugin by plugin.
//!
//! Sources (Kubernetes 1.36): the plugins' own files below `pkg/scheduler/framework/plugins`, and
//! `RunFilterPluginsWithNominatedPods` in `pkg/scheduler/framework/runtime/framework.go`.

use std::borrow::Cow;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::view::View;
use smallvec::SmallVec;

use super::amounts::Amounts;
use super::ids::{DomainId, NodeId, PodId};
use super::labels::TermKind;
use super::plan::{Counted, Hard, Plan, Selects};
use super::plugin::{Code, Failure, Plugin, Reason, Reasons};
use super::pods::PodEntry;
use super::ports::Port;
use super::predicate::Narrowing;
use super::volumes::VolumePlan;
use super::world::World;

/// One pod's cycle: what it asks for, and what of the cluster's state concerns all nodes alike.
#[derive(Clone, Debug)]
pub(super) struct Cycle<'a> {
    pub(super) view: &'a View,
    pub(super) pod: &'a Arc<Pod>,
    pub(super) plan: &'a Plan,
    pub(super) narrowing: Narrowing,
    pub(super) volumes: Arc<VolumePlan>,
    /// Terms of pods on nodes that keep this pod out of their domains.
    pub(super) repelled: Vec<Counted>,
    /// Terms of pods on nodes that add to scores (1), or take from them (-1).
    pub(super) pulled: Vec<(Counted, i64)>,
    /// For each spread constraint that must hold, the fewest pods in a domain.
    pub(super) fewest: Vec<Fewest>,
    /// What the nodes say to which required affinity narrows the search, once all of them have refused the pod.
    pub(super) refused_by: Vec<(NodeId, Option<Failure>)>,
    /// Whether the gate NodeDeclaredFeatures is on.
    pub(super) looks_at_features: bool,
}

/// The two domains with the fewest pods, so that the fewest is known when one domain changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fewest {
    first: (DomainId, i64),
    second: i64,
    domains: i64,
}

impl Fewest {
    /// More than any count.
    const NONE: i64 = i32::MAX as i64;

    pub(super) fn of(world: &World, hard: &Hard) -> Self {
        let domains = world.eligibles[hard.eligible].domains(hard.topology);
        let mut first = (DomainId::MISSING, Self::NONE);
        let mut second = Self::NONE;
        for (domain, _) in domains.entries() {
            let count = count_in(world, hard, DomainId(*domain));
            if count < first.1 {
                second = first.1;
                first = (DomainId(*domain), count);
            } else if count < second {
                second = count;
            }
        }
        Self { first, second, domains: i64::try_from(domains.len()).expect("fewer than 2^63 domains") }
    }

    /// The fewest, if the count of `domain` is `count`.
    fn with(&self, domain: DomainId, count: i64, min_domains: i64) -> i64 {
        if self.domains < min_domains {
            return 0;
        }
        if domain == self.first.0 { count.min(self.second) } else { count.min(self.first.1) }
    }
}

/// Pods that a spread constraint counts in a domain.
pub(super) fn count_in(world: &World, hard: &Hard, domain: DomainId) -> i64 {
    match hard.selects {
        Selects::Counted(_, sum) => world.counters[sum].by_domain.get(domain.0),
        Selects::Everything => 0,
    }
}

/// What is on one node, as it is or as it would be.
#[derive(Clone, Debug)]
pub(super) struct OnNode<'a> {
    pub(super) used: Cow<'a, Amounts>,
    pub(super) ports: Cow<'a, [Port]>,
    pub(super) pods: i64,
    /// Pods taken away, and pods put there in addition.
    removed: Vec<PodId>,
    added: Vec<&'a PodEntry>,
    /// What that changes in the node's domains: for each spread constraint that must hold,
    spread: SmallVec<[i64; 2]>,
    /// in pods that required affinity looks for,
    near: i64,
    /// in pods that each required anti-affinity term means,
    apart: SmallVec<[i64; 2]>,
    /// in pods whose anti-affinity means this pod, by position in [`Cycle::repelled`],
    repelled: SmallVec<[i64; 2]>,
    /// and in users of claims that only one pod may use.
    taken: i64,
}

impl<'a> OnNode<'a> {
    /// A node as it is.
    pub(super) fn of(world: &'a World, node: NodeId) -> Self {
        let entry = &world.nodes[node];
        Self {
            used: Cow::Borrowed(&entry.used),
            ports: Cow::Borrowed(&entry.ports),
            pods: i64::try_from(entry.pods.len()).expect("a node has few pods"),
            removed: Vec::new(),
            added: Vec::new(),
            spread: SmallVec::new(),
            near: 0,
            apart: SmallVec::new(),
            repelled: SmallVec::new(),
            taken: 0,
        }
    }

    /// Takes a pod of the node away.
    pub(super) fn remove(&mut self, world: &World, cycle: &Cycle<'_>, node: NodeId, id: PodId) {
        self.removed.push(id);
        self.shift(world, cycle, node, &world.pods[id], -1);
    }

    /// Puts a pod back that was taken away.
    pub(super) fn put_back(&mut self, world: &World, cycle: &Cycle<'_>, node: NodeId, id: PodId) {
        self.removed.retain(|removed| *removed != id);
        self.shift(world, cycle, node, &world.pods[id], 1);
    }

    /// Puts a pod there that is elsewhere or nowhere.
    pub(super) fn add(&mut self, world: &World, cycle: &Cycle<'_>, node: NodeId, entry: &'a PodEntry) {
        self.added.push(entry);
        self.shift(world, cycle, node, entry, 1);
    }

    fn shift(&mut self, world: &World, cycle: &Cycle<'_>, node: NodeId, entry: &PodEntry, sign: i64) {
        let spec = &world.specs[entry.spec];
        self.used.to_mut().add(&entry.resized.as_deref().unwrap_or(&spec.usage).amounts, sign);
        self.pods += sign;
        // Ports are a set upstream: of two pods that have one, either takes it away.
        let ports = self.ports.to_mut();
        for port in &spec.ports {
            ports.retain(|known| known != port);
            if sign > 0 {
                ports.push(port.clone());
            }
        }
        self.taken += sign * exclusive_claims(cycle, &entry.pod);
        self.spread.resize(cycle.plan.hard.len(), 0);
        self.apart.resize(cycle.plan.apart.len(), 0);
        self.repelled.resize(cycle.repelled.len(), 0);
        let is_counted = |counter| world.labels.is_counted(entry.labels, counter);
        for (delta, hard) in self.spread.iter_mut().zip(&cycle.plan.hard) {
            let is_meant = match hard.selects {
                Selects::Counted(counter, _) => is_counted(counter),
                Selects::Everything => entry.pod.meta.namespace == cycle.pod.meta.namespace,
            };
            if is_meant && world.eligibles[hard.eligible].has(node) {
                *delta += sign;
            }
        }
        if cycle.plan.near.as_ref().is_some_and(|near| is_counted(near.counter)) {
            self.near += sign;
        }
        for (delta, term) in self.apart.iter_mut().zip(&cycle.plan.apart) {
            *delta += if is_counted(term.counter) { sign } else { 0 };
        }
        for (delta, term) in self.repelled.iter_mut().zip(&cycle.repelled) {
            let carried = entry.carried.iter().flat_map(|carried| carried.iter());
            let times = carried.filter(|(counter, _)| *counter == term.counter).count();
            *delta += sign * i64::try_from(times).expect("a pod has few terms");
        }
    }
}

/// How many of the claims that only one pod may use another pod uses (`conflictingPVCRefCountForPod`).
fn exclusive_claims(cycle: &Cycle<'_>, pod: &Pod) -> i64 {
    let names = &cycle.volumes.exclusive;
    let claims = pod.spec.volumes.iter().filter_map(|v| v.source.persistent_volume_claim.as_ref());
    let count = if names.is_empty() { 0 } else { claims.filter(|c| names.contains(&c.claim_name)).count() };
    i64::try_from(count).expect("a pod has few claims")
}

impl Cycle<'_> {
    /// Plugins that have nothing to look at, in the order of the profile (PreFilter returned Skip).
    pub(super) fn skips(&self, world: &World, plugin: Plugin) -> bool {
        match plugin {
            Plugin::NodeAffinity => self.plan.affinity.is_none(),
            Plugin::NodePorts => world.specs[self.plan.key.spec].ports.is_empty(),
            Plugin::VolumeRestrictions => self.volumes.skips_restrictions(),
            Plugin::NodeVolumeLimits => self.volumes.skips_limits(),
            Plugin::VolumeBinding => self.volumes.skips_binding(),
            Plugin::VolumeZone => self.volumes.skips_zones(),
            Plugin::PodTopologySpread => self.plan.hard.is_empty(),
            Plugin::InterPodAffinity => {
                self.plan.near.is_none()
                    && self.plan.apart.is_empty()
                    && !self.repelled.iter().any(|term| has_domain(world, *term))
            }
            Plugin::DynamicResources => true,
            Plugin::NodeDeclaredFeatures => !self.looks_at_features || self.plan.features == 0,
            Plugin::NodeUnschedulable
            | Plugin::NodeName
            | Plugin::TaintToleration
            | Plugin::NodeResourcesFit
            | Plugin::NodeResourcesBalancedAllocation
            | Plugin::ImageLocality => false,
        }
    }

    /// The first objection of a node, in the order of the profile.
    pub(super) fn first_failure(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> Option<Failure> {
        Plugin::FILTERS
            .iter()
            .filter(|plugin| !self.skips(world, **plugin))
            .find_map(|plugin| self.ask(world, *plugin, node, on))
    }

    /// All objections of a node, each plugin asked on its own.
    pub(super) fn all_failures(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> Vec<Failure> {
        Plugin::FILTERS
            .iter()
            .filter(|plugin| !self.skips(world, **plugin))
            .filter_map(|plugin| self.ask(world, *plugin, node, on))
            .collect()
    }

    /// One plugin's objection.
    pub(super) fn ask(
        &self,
        world: &World,
        plugin: Plugin,
        node: NodeId,
        on: &OnNode<'_>,
    ) -> Option<Failure> {
        let entry = &world.nodes[node];
        let final_if = |fails: bool, reason: Reason| fails.then(|| Failure::unresolvable(plugin, reason));
        let tolerated = &world.eligibles[self.plan.tolerations];
        match plugin {
            Plugin::NodeUnschedulable => {
                let is_cordoned = entry.node.spec.unschedulable && !tolerated.bears_cordon;
                final_if(is_cordoned || entry.is_excluded, Reason::NodeUnschedulable)
            }
            Plugin::NodeName => {
                let elsewhere = self.pod.node.as_ref().is_some_and(|name| *name != entry.name);
                final_if(elsewhere, Reason::OtherNodeName)
            }
            Plugin::TaintToleration => final_if(tolerated.is_blocked(node), Reason::UntoleratedTaint),
            Plugin::NodeAffinity => {
                let is_pinned_elsewhere = self.pod.pin.as_ref().is_some_and(|pin| *pin != entry.name);
                let matches =
                    self.plan.affinity.is_none_or(|affinity| world.eligibles.matches(affinity, node));
                final_if(is_pinned_elsewhere || !matches, Reason::NodeAffinity)
            }
            Plugin::NodePorts => {
                let wanted = &world.specs[self.plan.key.spec].ports;
                let is_taken = wanted.iter().any(|port| on.ports.iter().any(|known| known.conflicts(port)));
                is_taken.then(|| Failure::resolvable(plugin, Reason::PortTaken))
            }
            Plugin::NodeResourcesFit => self.fit(world, node, on),
            Plugin::VolumeRestrictions => {
                let pods = entry.pods.iter().filter(|pod| !on.removed.contains(pod));
                let pods = pods.map(|pod| &*world.pods[*pod].pod).chain(on.added.iter().map(|pod| &*pod.pod));
                self.volumes.check_restrictions(self.pod, pods, self.volumes.taken + on.taken)
            }
            Plugin::NodeVolumeLimits if !self.volumes.attaches() => None,
            Plugin::NodeVolumeLimits if on.removed.is_empty() && on.added.is_empty() => {
                self.volumes.check_limits(world.attached(node))
            }
            Plugin::NodeVolumeLimits => {
                let left = entry.pods.iter().filter(|pod| !on.removed.contains(pod));
                let pods = left.map(|pod| &world.pods[*pod]).chain(on.added.iter().copied());
                self.volumes.check_limits(&world.attached_with(self.view, node, pods))
            }
            Plugin::VolumeBinding => self.volumes.check_binding(world, self.view, node).err(),
            Plugin::VolumeZone => self.volumes.check_zones(world, node),
            Plugin::PodTopologySpread => self.spread(world, node, on),
            Plugin::InterPodAffinity => self.affinity(world, node, on),
            Plugin::NodeDeclaredFeatures => {
                final_if(self.plan.features & !entry.features != 0, Reason::DeclaredFeatures)
            }
            Plugin::DynamicResources | Plugin::NodeResourcesBalancedAllocation | Plugin::ImageLocality => {
                None
            }
        }
    }

    fn fit(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> Option<Failure> {
        let room = &world.nodes[node].room;
        let mut reasons = Reasons::new();
        let mut code = Code::Unschedulable;
        if on.pods.saturating_add(1) > room.pods {
            reasons.push(Reason::TooManyPods);
        }
        let wanted = &self.plan.request.amounts;
        let mut check = |name: &str, wanted: i64, has: i64, used: i64| {
            if wanted > 0 && wanted > has.saturating_sub(used) {
                reasons.push(Reason::Insufficient(name.into()));
                if wanted > has {
                    code = Code::UnschedulableAndUnresolvable;
                }
            }
        };
        if !self.plan.request.is_nothing() {
            let has = &room.amounts;
            check("cpu", wanted.milli_cpu, has.milli_cpu, on.used.milli_cpu);
            check("memory", wanted.memory, has.memory, on.used.memory);
            check("ephemeral-storage", wanted.ephemeral, has.ephemeral, on.used.ephemeral);
            // Upstream takes these as its map happens to lie; here they are sorted by name.
            let mut others: Vec<_> = wanted.others.iter().collect();
            others.sort_by_key(|(id, _)| world.resources.name(*id));
            for (id, wanted) in others {
                check(world.resources.name(*id), *wanted, has.other(*id), on.used.other(*id));
            }
        }
        (!reasons.is_empty()).then_some(Failure { plugin: Plugin::NodeResourcesFit, code, reasons })
    }

    fn spread(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> Option<Failure> {
        for (at, hard) in self.plan.hard.iter().enumerate() {
            let domain = world.topologies[hard.topology].domain(node);
            if domain == DomainId::MISSING {
                return Some(Failure::unresolvable(Plugin::PodTopologySpread, Reason::SpreadLabelMissing));
            }
            let count = count_in(world, hard, domain) + on.spread.get(at).copied().unwrap_or(0);
            let fewest = self.fewest_with(world, at, domain, count);
            if count + i64::from(hard.is_self) - fewest > hard.max_skew {
                return Some(Failure::resolvable(Plugin::PodTopologySpread, Reason::Spread));
            }
        }
        None
    }

    /// The fewest pods that a domain of a spread constraint has, if the count of `domain` is `count`.
    pub(super) fn fewest_with(&self, world: &World, at: usize, domain: DomainId, count: i64) -> i64 {
        let hard = &self.plan.hard[at];
        // Only a domain with eligible nodes can have the fewest pods.
        let has_eligible = world.eligibles[hard.eligible].domains(hard.topology).get(domain.0) > 0;
        let own = if has_eligible { count } else { Fewest::NONE };
        self.fewest[at].with(domain, own, hard.min_domains)
    }

    fn affinity(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> Option<Failure> {
        if !self.is_near(world, node, on) {
            return Some(Failure::unresolvable(Plugin::InterPodAffinity, Reason::PodAffinity));
        }
        let counts = |terms: &[Counted], deltas: &[i64]| {
            terms.iter().enumerate().any(|(at, term)| {
                let domain = world.topologies[term.topology].domain(node);
                let count = world.counters[term.sum].by_domain.get(domain.0);
                domain != DomainId::MISSING && count + deltas.get(at).copied().unwrap_or(0) > 0
            })
        };
        if counts(&self.plan.apart, &on.apart) {
            return Some(Failure::resolvable(Plugin::InterPodAffinity, Reason::PodAntiAffinity));
        }
        counts(&self.repelled, &on.repelled)
            .then(|| Failure::resolvable(Plugin::InterPodAffinity, Reason::ExistingPodAntiAffinity))
    }

    /// Whether required affinity is met: pods that match all terms are in the node's domain of each, or there are none
    /// anywhere and the pod would be the first of its kind.
    fn is_near(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> bool {
        let Some(near) = &self.plan.near else { return true };
        let mut is_met = true;
        let mut are_none = true;
        for (topology, sum) in &near.terms {
            let domain = world.topologies[*topology].domain(node);
            if domain == DomainId::MISSING {
                return false;
            }
            let counts = &world.counters[*sum].by_domain;
            let here = counts.get(domain.0) + on.near;
            is_met &= here > 0;
            let elsewhere = |(other, _): &&(u32, i64)| *other != domain.0 && *other != DomainId::MISSING.0;
            are_none &= here == 0 && !counts.entries().iter().any(|entry| elsewhere(&entry));
        }
        is_met || (are_none && near.is_self)
    }
}

/// Whether a term counts anything in a domain.
pub(super) fn has_domain(world: &World, term: Counted) -> bool {
    world.counters[term.sum].by_domain.entries().iter().any(|(domain, _)| *domain != DomainId::MISSING.0)
}

/// The terms of pods on nodes that mean a class: those that repel, and those that pull with the direction.
pub(super) type Meaning = (Vec<Counted>, Vec<(Counted, i64)>);

impl World {
    /// The terms of pods on nodes that mean pods of a plan's class.
    pub(super) fn meaning(&mut self, plan: &Plan) -> Meaning {
        self.labels.catch_up(plan.key.labels);
        let (mut repelled, mut pulled) = Meaning::default();
        // A term that nobody on a node carries can still be carried by a pod that is nominated to one.
        let keep_all = self.pods.has_nominees();
        for id in &self.labels[plan.key.labels].meant_by {
            let term = &self.labels[*id];
            if self.counters[term.counter].per_node.is_empty() && !keep_all {
                continue;
            }
            let counted = Counted { topology: term.topology, counter: term.counter, sum: term.sum };
            match term.kind {
                TermKind::Repels => repelled.push(counted),
                TermKind::Attracts => pulled.push((counted, 1)),
                TermKind::Deters => pulled.push((counted, -1)),
            }
        }
        (repelled, pulled)
    }
}
