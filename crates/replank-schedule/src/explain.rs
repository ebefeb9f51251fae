//! Every node's answer to one pod, with reasons and scores.

use std::collections::BTreeMap;

use replank_model::text::NodeName;

use super::cycle::Rejection;
use super::filter::{Cycle, OnNode, has_domain};
use super::ids::{DomainId, NodeId};
use super::nodes::Load;
use super::place::Unschedulable;
use super::plan::SoftCount;
use super::plugin::{CycleError, Failure, Plugin, Reason};
use super::predicate::Narrowing;
use super::score::{
    balanced_allocation, least_allocated, normalized, range_normalized, reversed, spread_normalized,
    spread_score, spread_weight,
};
use super::world::World;

pub(super) use super::histogram::Histogram;

/// How a pod's cycle comes out, node by node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The pod is refused before any node is looked at.
    pub rejected: Option<Rejection>,
    /// Only these nodes are looked at, because required affinity names them. Sorted.
    pub narrowed: Option<Vec<NodeName>>,
    /// Plugins that had nothing to filter by.
    pub skipped_filters: Vec<Plugin>,
    /// Plugins that had nothing to score by.
    pub skipped_scores: Vec<Plugin>,
    /// All nodes, sorted by name.
    pub nodes: Vec<(NodeName, Verdict)>,
    /// The cycle ends in an error although nodes fit.
    pub error: Option<CycleError>,
}

/// One node's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pod fits. Without scores where the cycle ends in an error.
    Fits(Option<Scores>),
    /// The pod does not fit.
    Fails {
        /// The objection that decides: the first in the order of the profile.
        first: Failure,
        /// The objections of all plugins, each asked on its own; empty if none was asked.
        all: Vec<Failure>,
    },
}

/// A node's scores, final: normalised and times the plugin's weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// By plugin, in the order of the profile; those that were skipped are left out.
    pub by_plugin: Vec<(Plugin, i64)>,
    /// The sum.
    pub total: i64,
}

impl Explanation {
    /// Names of the nodes with the highest total, sorted.
    #[must_use]
    pub fn best(&self) -> Vec<NodeName> {
        let totals = || {
            self.nodes.iter().filter_map(|(name, verdict)| match verdict {
                Verdict::Fits(Some(scores)) => Some((name, scores.total)),
                Verdict::Fits(None) | Verdict::Fails { .. } => None,
            })
        };
        let highest = totals().map(|(_, total)| total).max();
        totals().filter(|(_, total)| Some(*total) == highest).map(|(name, _)| name.clone()).collect()
    }

    /// Number of nodes that the pod fits on.
    #[must_use]
    pub fn feasible(&self) -> usize {
        self.nodes.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Fits(_))).count()
    }

    /// The text of the FailedScheduling event, without what preemption adds; `None` if some node fits.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        if self.nodes.is_empty() {
            return Some(Unschedulable::NoNodes.to_string());
        }
        if self.feasible() > 0 {
            return None;
        }
        if let Some(rejected) = &self.rejected {
            return Some(rejection_message(self.nodes.len(), rejected));
        }
        let mut reasons = Histogram::default();
        for (_, verdict) in &self.nodes {
            match verdict {
                Verdict::Fails { first, .. } => reasons.add(&first.reasons, 1),
                Verdict::Fits(_) => {}
            }
        }
        Some(reasons.message(self.nodes.len()))
    }
}

/// The message for a pod that is refused as a whole.
pub(super) fn rejection_message(nodes: usize, rejected: &Rejection) -> String {
    let reasons: Vec<String> = rejected.reasons.iter().map(ToString::to_string).collect();
    format!("0/{nodes} nodes are available: {}.", reasons.join(", "))
}

impl Cycle<'_> {
    /// Asks every node.
    pub(super) fn explain(&mut self, world: &mut World, rejected: Option<Rejection>) -> Explanation {
        let all = world.nodes.sorted();
        let skipped_filters = self.skipped_filters(world, rejected.as_ref());
        let mut explanation = Explanation {
            narrowed: match &self.narrowing {
                Narrowing::Names(names) => Some(names.clone()),
                Narrowing::All | Narrowing::Conflict => None,
            },
            rejected,
            skipped_filters,
            skipped_scores: Vec::new(),
            nodes: Vec::with_capacity(all.len()),
            error: None,
        };
        if let Some(rejected) = explanation.rejected.clone() {
            explanation.narrowed = None;
            let Rejection { plugin, code, reasons } = rejected;
            let first = Failure { plugin, code, reasons };
            explanation.nodes = all
                .iter()
                .map(|id| {
                    (world.nodes[*id].name.clone(), Verdict::Fails { first: first.clone(), all: Vec::new() })
                })
                .collect();
            return explanation;
        }
        self.measure(world, &all);
        let scope = self.scope(world);
        let feasible: Vec<NodeId> = all
            .iter()
            .copied()
            .filter(|id| scope.contains(id) || self.narrowing == Narrowing::All)
            .filter(|id| self.failure(world, *id).is_none())
            .collect();
        let mut scores = BTreeMap::new();
        if !feasible.is_empty() {
            match self.scores(world, &feasible) {
                Ok((skipped, all)) => {
                    explanation.skipped_scores = skipped;
                    scores = all;
                }
                Err(error) => explanation.error = Some(error),
            }
        }
        for id in all {
            let verdict = if feasible.contains(&id) {
                Verdict::Fits(scores.remove(&id))
            } else if self.narrowing != Narrowing::All && !scope.contains(&id) {
                let first = Failure::unresolvable(Plugin::NodeAffinity, Reason::OutsideNarrowing);
                Verdict::Fails { first, all: Vec::new() }
            } else {
                let on = OnNode::of(world, id);
                let first = self.failure(world, id).expect("the node is not among the feasible ones");
                Verdict::Fails { first, all: self.all_failures(world, id, &on) }
            };
            explanation.nodes.push((world.nodes[id].name.clone(), verdict));
        }
        explanation
    }

    /// The scores of nodes that fit, and the plugins that had nothing to score by.
    pub(super) fn scores(
        &self,
        world: &World,
        nodes: &[NodeId],
    ) -> Result<(Vec<Plugin>, BTreeMap<NodeId, Scores>), CycleError> {
        let mut skipped = vec![Plugin::VolumeBinding];
        let mut all: BTreeMap<NodeId, Scores> = nodes.iter().map(|id| (*id, Scores::default())).collect();
        let mut give = |plugin: Plugin, scores: Option<Vec<i64>>| match scores {
            None => skipped.push(plugin),
            Some(scores) => {
                for (id, score) in nodes.iter().zip(scores) {
                    let entry = all.get_mut(id).expect("every node has an entry");
                    entry.by_plugin.push((plugin, score * plugin.weight()));
                    entry.total += score * plugin.weight();
                }
            }
        };
        let each = |score: &dyn Fn(&Load) -> i64| -> Vec<i64> {
            nodes.iter().map(|id| score(world.nodes.load(*id))).collect()
        };
        let request = &self.plan.request;
        let tolerated = &world.eligibles[self.plan.tolerations];
        let avoided: Vec<i64> = nodes.iter().map(|id| tolerated.avoided(*id)).collect();
        let most = avoided.iter().copied().max().unwrap_or(0);
        give(Plugin::TaintToleration, Some(avoided.iter().map(|score| reversed(*score, most)).collect()));
        give(Plugin::NodeAffinity, self.preference_scores(world, nodes)?);
        give(Plugin::NodeResourcesFit, Some(each(&|node| least_allocated(request, node))));
        give(Plugin::PodTopologySpread, self.spread_scores(world, nodes));
        give(Plugin::InterPodAffinity, self.affinity_scores(world, nodes));
        give(Plugin::DynamicResources, Some(vec![0; nodes.len()]));
        let balance = (!request.is_best_effort()).then(|| each(&|node| balanced_allocation(request, node)));
        give(Plugin::NodeResourcesBalancedAllocation, balance);
        let images = nodes.iter().map(|id| {
            let present = world.images.present(self.plan.images, &world.nodes[*id].images);
            world.images.score(self.plan.images, present, world.nodes.len())
        });
        give(Plugin::ImageLocality, Some(images.collect()));
        Ok((skipped, all))
    }

    fn preference_scores(&self, world: &World, nodes: &[NodeId]) -> Result<Option<Vec<i64>>, CycleError> {
        let preference = self
            .plan
            .preference
            .clone()
            .map_err(|message| CycleError::PreScore { plugin: Plugin::NodeAffinity, message })?;
        let Some(preference) = preference else { return Ok(None) };
        let raw: Vec<i64> = nodes.iter().map(|id| world.eligibles.preferred(preference, *id)).collect();
        let highest = raw.iter().copied().max().unwrap_or(0);
        Ok(Some(raw.iter().map(|score| normalized(*score, highest)).collect()))
    }

    fn spread_scores(&self, world: &World, nodes: &[NodeId]) -> Option<Vec<i64>> {
        let soft = &self.plan.soft;
        if soft.constraints.is_empty() {
            return None;
        }
        let domain = |topology, id: NodeId| world.topologies[topology].domain(id);
        let is_ignored = |id: NodeId| {
            soft.needs_all_labels
                && soft.constraints.iter().any(|c| domain(c.topology, id) == DomainId::MISSING)
        };
        let counted: Vec<NodeId> = nodes.iter().copied().filter(|id| !is_ignored(*id)).collect();
        let weights: Vec<f64> = soft
            .constraints
            .iter()
            .map(|constraint| {
                let mut domains: Vec<DomainId> =
                    counted.iter().map(|id| domain(constraint.topology, *id)).collect();
                // A label that is missing is a domain like that of the empty value.
                if let Some(empty) = world.topologies[constraint.topology].empty_value {
                    domains.iter_mut().filter(|d| **d == DomainId::MISSING).for_each(|d| *d = empty);
                }
                domains.sort();
                domains.dedup();
                spread_weight(if constraint.is_hostname { counted.len() } else { domains.len() })
            })
            .collect();
        let raw: BTreeMap<NodeId, i64> = counted
            .iter()
            .map(|id| {
                let mut score = 0.0;
                for (constraint, weight) in soft.constraints.iter().zip(&weights) {
                    let place = domain(constraint.topology, *id);
                    if place != DomainId::MISSING {
                        let count = soft_count(world, constraint, *id, place);
                        score += spread_score(count, constraint.max_skew, *weight);
                    }
                }
                (*id, score.round() as i64)
            })
            .collect();
        let lowest = raw.values().copied().min().unwrap_or(i64::MAX);
        let highest = raw.values().copied().max().unwrap_or(0).max(0);
        let score = |id| raw.get(id).map_or(0, |score| spread_normalized(*score, lowest, highest));
        Some(nodes.iter().map(score).collect())
    }

    fn affinity_scores(&self, world: &World, nodes: &[NodeId]) -> Option<Vec<i64>> {
        let terms: Vec<_> = self.plan.liked.iter().chain(&self.pulled).collect();
        if !terms.iter().any(|(term, _)| has_domain(world, *term)) {
            return None;
        }
        let raw: Vec<i64> = nodes
            .iter()
            .map(|id| {
                let count = |term: &super::plan::Counted| {
                    let domain = world.topologies[term.topology].domain(*id);
                    if domain == DomainId::MISSING {
                        0
                    } else {
                        world.counters[term.sum].by_domain.get(domain.0)
                    }
                };
                terms.iter().map(|(term, weight)| weight * count(term)).sum()
            })
            .collect();
        let lowest = raw.iter().copied().min().unwrap_or(0);
        let highest = raw.iter().copied().max().unwrap_or(0);
        Some(raw.iter().map(|score| range_normalized(*score, lowest, highest)).collect())
    }
}

/// Pods that a constraint which only scores counts for a node in a domain.
pub(super) fn soft_count(
    world: &World,
    constraint: &super::plan::Soft,
    node: NodeId,
    domain: DomainId,
) -> i64 {
    let sum = match constraint.counted {
        Some(SoftCount::OnNode(counter)) => return world.counters[counter].per_node.get(node.0),
        Some(SoftCount::InDomain(sum)) => sum,
        None => return 0,
    };
    let counts = &world.counters[sum].by_domain;
    // Nodes without the label count for the domain of the empty value.
    let is_empty = world.topologies[constraint.topology].empty_value == Some(domain);
    counts.get(domain.0) + if is_empty { counts.get(DomainId::MISSING.0) } else { 0 }
}
