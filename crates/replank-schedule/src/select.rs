//! The best node for a pod, without asking every node.
//!
//! The base for the pod's shape has the nodes that can take it, in groups whose nodes are alike in everything that is
//! normalised or decided per coarse domain. What is counted per fine domain (mostly: per node) concerns few nodes. Those,
//! the *marked* ones, are looked at one by one; all others of a group are decided together, and the best of them is the
//! first in the group's best bucket.

use smallvec::SmallVec;

use super::base::{Base, Group};
use super::explain::soft_count;
use super::filter::{Cycle, OnNode, count_in};
use super::ids::{DomainId, NodeId, SumId, TopologyId};
use super::plan::{Counted, Hard, Soft, SoftCount};
use super::plugin::{CycleError, Plugin};
use super::score::{normalized, range_normalized, reversed, spread_normalized, spread_score, spread_weight};
use super::sorting::{Sign, Sorting};
use super::world::World;

/// Which nodes are marked.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    at: Vec<u32>,
    now: u32,
}

impl Marks {
    fn start(&mut self, slots: usize) {
        self.at.resize(slots.max(self.at.len()), 0);
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.at.fill(0);
            self.now = 1;
        }
    }

    fn has(&self, node: NodeId) -> bool {
        self.at[node.at()] == self.now
    }

    /// Marks a node; whether it was not marked before.
    fn set(&mut self, node: NodeId) -> bool {
        std::mem::replace(&mut self.at[node.at()], self.now) != self.now
    }
}

/// How a pod's search came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Number of nodes that the pod fits on.
    pub(super) feasible: usize,
    /// Those with the best score.
    pub(super) best: Vec<NodeId>,
}

/// The count of a constraint whose label the node does not have.
const MISSING: i64 = -1;

/// What holds of a group's nodes that are not marked.
#[derive(Clone, Debug, Default)]
struct GroupView {
    /// Whether coarse domains let the pod in.
    is_open: bool,
    /// Nodes that are marked, and those of them that fit.
    marked: usize,
    fitting: usize,
    /// Nodes that fit and are not marked.
    plain: usize,
    /// Score from affinity in coarse domains.
    pull: i64,
    /// Pods in the coarse domains of the constraints that only score; 0 for fine ones, [`MISSING`] without domain.
    counts: SmallVec<[i64; 2]>,
    /// Whether the nodes lack a label that such constraints need.
    is_ignored: bool,
}

/// A marked node that fits.
#[derive(Clone, Debug)]
struct Special {
    node: NodeId,
    group: usize,
    resources: i64,
    pull: i64,
    counts: SmallVec<[i64; 2]>,
    is_ignored: bool,
}

/// A search among the nodes of a base.
pub(super) struct Search<'a> {
    pub(super) world: &'a World,
    pub(super) cycle: &'a Cycle<'a>,
    pub(super) base: &'a Base,
    pub(super) sorting: &'a Sorting,
    pub(super) marks: &'a mut Marks,
}

impl Search<'_> {
    /// The best nodes.
    ///
    /// # Errors
    /// When nodes fit and cannot be scored.
    pub(super) fn run(mut self) -> Result<Found, CycleError> {
        self.marks.start(self.world.nodes.slots());
        let limits = Limits::of(self.world, self.cycle);
        let mut groups: SmallVec<[GroupView; 4]> =
            self.base.groups().iter().map(|group| self.view(group, &limits)).collect();
        let specials = self.specials(&mut groups, &limits);
        for (view, group) in groups.iter_mut().zip(self.base.groups()) {
            let fits = view.is_open && limits.plain_fit;
            view.plain = if fits { group.len - view.marked } else { 0 };
        }
        let feasible = groups.iter().map(|view| view.plain + view.fitting).sum();
        if feasible == 0 {
            return Ok(Found::default());
        }
        if feasible == 1 {
            return Ok(Found { feasible, best: vec![self.only(&groups, &specials)] });
        }
        if let Err(message) = self.cycle.plan.preference.clone() {
            return Err(CycleError::PreScore { plugin: Plugin::NodeAffinity, message });
        }
        let best = self.best(&groups, &specials);
        Ok(Found { feasible, best })
    }

    /// What coarse domains say of a group.
    fn view(&self, group: &Group, limits: &Limits) -> GroupView {
        if group.len == 0 {
            return GroupView::default();
        }
        let (world, plan) = (self.world, self.cycle.plan);
        let part = group.sign.part;
        let domain = |topology: TopologyId| world.topologies.domain_of_part(part, topology);
        let is_coarse = |topology: TopologyId| world.topologies[topology].is_coarse;
        let is_counted =
            |term: &Counted| is_coarse(term.topology) && count_of(world, term, domain(term.topology)) > 0;
        let is_spread = plan.hard.iter().zip(&limits.fewest).all(|(hard, fewest)| {
            !is_coarse(hard.topology) || fits_spread(world, hard, domain(hard.topology), *fewest)
        });
        let is_near =
            plan.near.iter().flat_map(|near| &near.terms).all(|(topology, sum)| {
                !is_coarse(*topology) || limits.fits_near(world, *sum, domain(*topology))
            });
        let mut view = GroupView {
            is_open: is_spread
                && is_near
                && !plan.apart.iter().any(is_counted)
                && !self.cycle.repelled.iter().any(is_counted),
            ..GroupView::default()
        };
        if !view.is_open {
            return view;
        }
        for (term, weight) in self.pulls() {
            if is_coarse(term.topology) {
                view.pull += weight * count_of(world, term, domain(term.topology));
            }
        }
        for soft in &plan.soft.constraints {
            let place = domain(soft.topology);
            let is_missing = is_coarse(soft.topology) && place == DomainId::MISSING;
            view.is_ignored |= is_missing && plan.soft.needs_all_labels;
            view.counts.push(match is_coarse(soft.topology) {
                true if is_missing => MISSING,
                // No node is asked for: a coarse topology is not counted on the node.
                true => soft_count(world, soft, NodeId(0), place),
                false => 0,
            });
        }
        view
    }

    fn pulls(&self) -> impl Iterator<Item = (&Counted, i64)> {
        self.cycle.plan.liked.iter().chain(&self.cycle.pulled).map(|(term, weight)| (term, *weight))
    }

    /// Looks at the nodes that must be looked at one by one, and marks them.
    fn specials(&mut self, groups: &mut [GroupView], limits: &Limits) -> Vec<Special> {
        let mut specials = Vec::new();
        if limits.one_by_one {
            for at in 0..groups.len() {
                if groups[at].is_open {
                    let nodes: Vec<(i64, NodeId)> = self.base.groups()[at]
                        .best_first()
                        .flat_map(|(score, nodes)| nodes.iter().map(move |node| (score, *node)))
                        .collect();
                    for (resources, node) in nodes {
                        self.special(node, at, resources, limits, groups, &mut specials);
                    }
                }
            }
            return specials;
        }
        if !self.cycle.volumes.is_nothing() {
            self.leave_out_for_volumes(groups);
        }
        let concerned = self.concerned(limits);
        specials.reserve(concerned.len());
        for node in concerned {
            if let Some((group, resources)) = self.base.find(node)
                && groups[group].is_open
            {
                self.special(node, group, resources, limits, groups, &mut specials);
            }
        }
        specials
    }

    /// Marks the nodes that do not take the pod's volumes: to all others those are nothing that tells them apart.
    fn leave_out_for_volumes(&mut self, groups: &mut [GroupView]) {
        let base = self.base;
        for (view, group) in groups.iter_mut().zip(base.groups()).filter(|(view, _)| view.is_open) {
            for node in group.nodes().filter(|node| !self.cycle.fit_volumes(self.world, *node)) {
                view.marked += usize::from(self.marks.set(node));
            }
        }
    }

    /// Nodes in whose fine domains something is counted.
    fn concerned(&self, limits: &Limits) -> Vec<NodeId> {
        let (world, plan) = (self.world, self.cycle.plan);
        let mut nodes: Vec<NodeId> = limits.nominated.clone();
        // Nodes that lack a label which must be there do not fit.
        let near = plan.near.iter().flat_map(|near| near.terms.iter().map(|(topology, _)| *topology));
        for topology in plan.hard.iter().map(|hard| hard.topology).chain(near) {
            if !world.topologies[topology].is_coarse {
                nodes.extend_from_slice(world.topologies[topology].members(DomainId::MISSING));
            }
        }
        let mut add = |topology: TopologyId, entries: &[(u32, i64)]| {
            let topology = &world.topologies[topology];
            if !topology.is_coarse {
                for (domain, _) in entries.iter().filter(|(domain, _)| *domain != DomainId::MISSING.0) {
                    nodes.extend_from_slice(topology.members(DomainId(*domain)));
                }
            }
        };
        for hard in &plan.hard {
            if let super::plan::Selects::Counted(_, sum) = hard.selects {
                add(hard.topology, world.counters[sum].by_domain.entries());
            }
        }
        if !limits.is_first {
            for (topology, sum) in plan.near.iter().flat_map(|near| &near.terms) {
                add(*topology, world.counters[*sum].by_domain.entries());
            }
        }
        let terms = plan.apart.iter().chain(&self.cycle.repelled).chain(self.pulls().map(|(term, _)| term));
        for term in terms {
            add(term.topology, world.counters[term.sum].by_domain.entries());
        }
        for soft in &plan.soft.constraints {
            if let Some(SoftCount::OnNode(counter)) = soft.counted {
                nodes
                    .extend(world.counters[counter].per_node.entries().iter().map(|(node, _)| NodeId(*node)));
            }
        }
        nodes
    }

    /// Looks at one node, unless that was done.
    fn special(
        &mut self,
        node: NodeId,
        group: usize,
        resources: i64,
        limits: &Limits,
        groups: &mut [GroupView],
        specials: &mut Vec<Special>,
    ) {
        if !self.marks.set(node) {
            return;
        }
        groups[group].marked += 1;
        if !self.fits_fine(node, limits) {
            return;
        }
        groups[group].fitting += 1;
        let world = self.world;
        let mut pull = groups[group].pull;
        for (term, weight) in self.pulls() {
            let topology = &world.topologies[term.topology];
            if !topology.is_coarse {
                pull += weight * count_of(world, term, topology.domain(node));
            }
        }
        let mut counts = groups[group].counts.clone();
        let mut is_ignored = groups[group].is_ignored;
        for (count, soft) in counts.iter_mut().zip(&self.cycle.plan.soft.constraints) {
            let topology = &world.topologies[soft.topology];
            if !topology.is_coarse {
                let domain = topology.domain(node);
                let is_missing = domain == DomainId::MISSING;
                is_ignored |= is_missing && self.cycle.plan.soft.needs_all_labels;
                *count = if is_missing { MISSING } else { soft_count(world, soft, node, domain) };
            }
        }
        specials.push(Special { node, group, resources, pull, counts, is_ignored });
    }

    /// Whether fine domains, nominated pods and volumes let the pod onto a node.
    fn fits_fine(&self, node: NodeId, limits: &Limits) -> bool {
        let (world, plan) = (self.world, self.cycle.plan);
        let fine = |topology: TopologyId| {
            let topology = &world.topologies[topology];
            (!topology.is_coarse).then(|| topology.domain(node))
        };
        let is_counted =
            |term: &Counted| fine(term.topology).is_some_and(|domain| count_of(world, term, domain) > 0);
        let is_spread = plan.hard.iter().zip(&limits.fewest).all(|(hard, fewest)| {
            fine(hard.topology).is_none_or(|domain| fits_spread(world, hard, domain, *fewest))
        });
        let is_near = plan.near.iter().flat_map(|near| &near.terms).all(|(topology, sum)| {
            fine(*topology).is_none_or(|domain| limits.fits_near(world, *sum, domain))
        });
        is_spread
            && is_near
            && !plan.apart.iter().any(is_counted)
            && !self.cycle.repelled.iter().any(is_counted)
            && self.cycle.fit_volumes(world, node)
            && (!limits.nominated.contains(&node) || self.cycle.failure(world, node).is_none())
    }

    /// The one node that fits.
    fn only(&self, groups: &[GroupView], specials: &[Special]) -> NodeId {
        if let Some(special) = specials.first() {
            return special.node;
        }
        let at = groups.iter().position(|view| view.plain > 0).expect("one node fits");
        let mut nodes = self.base.groups()[at].best_first().flat_map(|(_, nodes)| nodes);
        *nodes.find(|node| !self.marks.has(**node)).expect("one of the group's nodes is not marked")
    }

    /// The nodes with the best total.
    fn best(&self, groups: &[GroupView], specials: &[Special]) -> Vec<NodeId> {
        let scale = Scale::of(self, groups, specials);
        let signs: SmallVec<[i64; 4]> =
            self.base.groups().iter().map(|group| self.sign_score(&group.sign, &scale)).collect();
        let mut best = Vec::new();
        let mut highest = i64::MIN;
        let mut plain: SmallVec<[(usize, i64); 4]> = SmallVec::new();
        for (at, (view, group)) in groups.iter().zip(self.base.groups()).enumerate() {
            if view.plain == 0 {
                continue;
            }
            let is_free = |(_, nodes): &(i64, &[NodeId])| {
                view.marked == 0 || nodes.iter().any(|node| !self.marks.has(*node))
            };
            let (resources, _) = group.best_first().find(is_free).expect("a plain node is in some bucket");
            let raw = self.raw(&view.counts, &scale.weights);
            let total = signs[at] + resources + scale.dynamic(view.pull, raw, view.is_ignored);
            if total > highest {
                highest = total;
                plain.clear();
            }
            if total == highest {
                plain.push((at, resources));
            }
        }
        for special in specials {
            let raw = self.raw(&special.counts, &scale.weights);
            let total = signs[special.group]
                + special.resources
                + scale.dynamic(special.pull, raw, special.is_ignored);
            if total > highest {
                highest = total;
                plain.clear();
                best.clear();
            }
            if total == highest {
                best.push(special.node);
            }
        }
        for (at, resources) in plain {
            let mut buckets = self.base.groups()[at].best_first();
            let (_, nodes) = buckets.find(|(score, _)| *score == resources).expect("just found");
            if groups[at].marked == 0 {
                best.extend_from_slice(nodes);
            } else {
                best.extend(nodes.iter().filter(|node| !self.marks.has(**node)));
            }
        }
        best
    }

    /// What plugins that look at the node alone give, resources left out.
    fn sign_score(&self, sign: &Sign, scale: &Scale) -> i64 {
        let plan = self.cycle.plan;
        let preferred = match plan.preference {
            Ok(Some(_)) => normalized(sign.preferred, scale.most_preferred),
            Ok(None) | Err(_) => 0,
        };
        let images = self.world.images.score(plan.images, self.sorting.images(sign), self.world.nodes.len());
        Plugin::TaintToleration.weight() * reversed(sign.avoided, scale.most_avoided)
            + Plugin::NodeAffinity.weight() * preferred
            + images
    }

    /// PodTopologySpread's score before it is normalised.
    fn raw(&self, counts: &[i64], weights: &[f64]) -> i64 {
        let mut score = 0.0;
        for ((soft, count), weight) in self.cycle.plan.soft.constraints.iter().zip(counts).zip(weights) {
            if *count != MISSING {
                score += spread_score(*count, soft.max_skew, *weight);
            }
        }
        score.round() as i64
    }
}

fn count_of(world: &World, term: &Counted, domain: DomainId) -> i64 {
    if domain == DomainId::MISSING { 0 } else { world.counters[term.sum].by_domain.get(domain.0) }
}

/// Whether a spread constraint lets the pod into a domain; a node without the label is in none.
fn fits_spread(world: &World, hard: &Hard, domain: DomainId, fewest: i64) -> bool {
    domain != DomainId::MISSING
        && count_in(world, hard, domain) + i64::from(hard.is_self) - fewest <= hard.max_skew
}

/// What holds of the whole cluster.
#[derive(Clone, Debug)]
struct Limits {
    /// For each spread constraint that must hold, the fewest pods in a domain.
    fewest: SmallVec<[i64; 2]>,
    /// Whether required affinity lets the pod go anywhere, as the first of its kind.
    is_first: bool,
    /// Whether nodes in whose fine domains nothing is counted fit.
    plain_fit: bool,
    /// Whether every node must be looked at by itself.
    one_by_one: bool,
    /// Nodes to which pods are nominated that come first.
    nominated: Vec<NodeId>,
}

impl Limits {
    /// Whether required affinity lets the pod into a domain; a node without the label is in none.
    fn fits_near(&self, world: &World, sum: SumId, domain: DomainId) -> bool {
        domain != DomainId::MISSING && (self.is_first || world.counters[sum].by_domain.get(domain.0) > 0)
    }

    fn of(world: &World, cycle: &Cycle<'_>) -> Self {
        let plan = cycle.plan;
        let is_coarse = |topology: TopologyId| world.topologies[topology].is_coarse;
        let fewest: SmallVec<[i64; 2]> = plan.hard.iter().map(|hard| fewest(world, hard)).collect();
        let is_first = plan.near.as_ref().is_none_or(|near| {
            let mut entries = near.terms.iter().flat_map(|(_, sum)| world.counters[*sum].by_domain.entries());
            near.is_self && !entries.any(|(domain, _)| *domain != DomainId::MISSING.0)
        });
        let near_is_fine =
            plan.near.iter().flat_map(|near| &near.terms).any(|(topology, _)| !is_coarse(*topology));
        let is_spread = plan.hard.iter().zip(&fewest).all(|(hard, fewest)| {
            is_coarse(hard.topology) || i64::from(hard.is_self) - fewest <= hard.max_skew
        });
        let is_odd = |soft: &Soft| {
            let topology = &world.topologies[soft.topology];
            !topology.is_coarse && (!soft.is_hostname || !topology.members(DomainId::MISSING).is_empty())
        };
        let nominated = world.pods.nominees().filter(|entry| {
            world.priority(entry) >= cycle.pod.spec.priority.unwrap_or(0)
                && entry.pod.meta.uid != cycle.pod.meta.uid
        });
        Self {
            plain_fit: (is_first || !near_is_fine) && is_spread,
            one_by_one: plan.soft.constraints.iter().any(is_odd),
            nominated: nominated.filter_map(|entry| world.nodes.find(&entry.node_name)).collect(),
            fewest,
            is_first,
        }
    }
}

/// The fewest pods that a constraint counts in a domain.
fn fewest(world: &World, hard: &Hard) -> i64 {
    let domains = world.eligibles[hard.eligible].domains(hard.topology);
    let known = i64::try_from(domains.len()).expect("fewer than 2^63 domains");
    let super::plan::Selects::Counted(_, sum) = hard.selects else { return 0 };
    let counts = &world.counters[sum].by_domain;
    if known < hard.min_domains || counts.len() < domains.len() {
        return 0;
    }
    counts.entries().iter().map(|(_, count)| *count).min().unwrap_or(0)
}

/// What raw scores are measured by.
#[derive(Clone, Debug, Default)]
struct Scale {
    most_avoided: i64,
    most_preferred: i64,
    weights: SmallVec<[f64; 2]>,
    /// Lowest and highest raw spread score, if there are constraints that only score.
    spread: Option<(i64, i64)>,
    /// Lowest and highest raw affinity score.
    pull: (i64, i64),
}

impl Scale {
    fn of(search: &Search<'_>, groups: &[GroupView], specials: &[Special]) -> Self {
        let all =
            || groups.iter().zip(search.base.groups()).filter(|(view, _)| view.plain + view.fitting > 0);
        let mut scale = Self {
            most_avoided: all().map(|(_, group)| group.sign.avoided).max().unwrap_or(0),
            most_preferred: all().map(|(_, group)| group.sign.preferred).max().unwrap_or(0),
            ..Self::default()
        };
        let pulls = || {
            let plain = groups.iter().filter(|view| view.plain > 0).map(|view| view.pull);
            plain.chain(specials.iter().map(|special| special.pull))
        };
        scale.pull = (pulls().min().unwrap_or(0), pulls().max().unwrap_or(0));
        if search.cycle.plan.soft.constraints.is_empty() {
            return scale;
        }
        scale.weights = weights(search, groups, specials);
        let mut range = (i64::MAX, 0);
        let mut widen = |counts: &[i64]| {
            let raw = search.raw(counts, &scale.weights);
            range = (range.0.min(raw), range.1.max(raw));
        };
        groups.iter().filter(|view| view.plain > 0 && !view.is_ignored).for_each(|view| widen(&view.counts));
        specials.iter().filter(|special| !special.is_ignored).for_each(|special| widen(&special.counts));
        scale.spread = Some(range);
        scale
    }

    /// What spread and affinity give.
    fn dynamic(&self, pull: i64, raw: i64, is_ignored: bool) -> i64 {
        let spread = match self.spread {
            Some((lowest, highest)) if !is_ignored => spread_normalized(raw, lowest, highest),
            Some(_) | None => 0,
        };
        Plugin::PodTopologySpread.weight() * spread
            + Plugin::InterPodAffinity.weight() * range_normalized(pull, self.pull.0, self.pull.1)
    }
}

/// The weights of the constraints that only score: the more domains there are, the more each counts.
fn weights(search: &Search<'_>, groups: &[GroupView], specials: &[Special]) -> SmallVec<[f64; 2]> {
    let world = search.world;
    // Nodes that count, and whether a group has some.
    let mut has_some: SmallVec<[bool; 8]> =
        groups.iter().map(|view| view.plain > 0 && !view.is_ignored).collect();
    let mut counted: usize = groups.iter().filter(|view| !view.is_ignored).map(|view| view.plain).sum();
    for special in specials.iter().filter(|special| !special.is_ignored) {
        has_some[special.group] = true;
        counted += 1;
    }
    let weight = |soft: &Soft| {
        let topology = &world.topologies[soft.topology];
        if soft.is_hostname {
            return spread_weight(counted);
        }
        let mut domains: SmallVec<[DomainId; 8]> = if topology.is_coarse {
            let some = has_some.iter().zip(search.base.groups()).filter(|(has_some, _)| **has_some);
            some.map(|(_, group)| world.topologies.domain_of_part(group.sign.part, soft.topology)).collect()
        } else {
            let nodes = specials.iter().filter(|special| !special.is_ignored);
            nodes.map(|special| topology.domain(special.node)).collect()
        };
        // A label that is missing is a domain like that of the empty value.
        if let Some(empty) = topology.empty_value {
            domains.iter_mut().filter(|domain| **domain == DomainId::MISSING).for_each(|d| *d = empty);
        }
        domains.sort();
        domains.dedup();
        spread_weight(domains.len())
    };
    search.cycle.plan.soft.constraints.iter().map(weight).collect()
}

impl Cycle<'_> {
    /// Whether a node takes the pod's volumes.
    fn fit_volumes(&self, world: &World, node: NodeId) -> bool {
        if self.volumes.is_nothing() {
            return true;
        }
        // The others are asked of nodes alone that reach the volumes, because what is attached there is known of these.
        if !self.volumes.reaches(world, self.view, node) {
            return false;
        }
        if self.volumes.decides_by_node() {
            return self.volumes.suits(world, node);
        }
        let on = OnNode::of(world, node);
        [Plugin::VolumeRestrictions, Plugin::NodeVolumeLimits, Plugin::VolumeBinding, Plugin::VolumeZone]
            .iter()
            .filter(|plugin| !self.skips(world, **plugin))
            .all(|plugin| self.ask(world, *plugin, node, &on).is_none())
    }
}
