//! The course of a run: what was rehearsed, what happens, and where the two part.

use std::collections::{BTreeMap, BTreeSet};

use replank_journal::{Answered, Entry, Seen, Sent, What};
use replank_model::text::{Name, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{Answer, CommandKey, Effect, KubernetesEffect, Refusal};
use replank_protocol::role::NodeRole;

use crate::report::words::span;

/// A node that takes longer than rehearsed by less than this, or by less than half, is not told of.
const SLOWER: Span = Span::from_secs(30);
/// As many more evictions may be refused than twice those that were in the rehearsal, before the run is paused.
const REFUSED_MORE: usize = 50;
/// So many more are told of.
const REFUSED_TOLD: usize = 10;

/// What is read off the lines of a journal.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// Nodes of NodeClaims, as they were in the beginning.
    claims: BTreeMap<Name, NodeName>,
    /// In the order in which they were begun.
    begun: Vec<(NodeName, Time)>,
    /// When what the run does to a node was done: it was gone, or empty where somebody else replaces it.
    done: BTreeMap<NodeName, Time>,
    evictions: BTreeSet<CommandKey>,
    refused: usize,
    from: Option<Time>,
}

impl Course {
    /// Nothing has happened yet.
    pub(super) fn of(view: &View) -> Self {
        let claims = view.node_claims.unordered();
        let claims =
            claims.filter_map(|(_, claim)| Some((claim.meta.name.clone(), claim.status.node_name.clone()?)));
        Self { claims: claims.collect(), ..Self::default() }
    }

    pub(super) fn take(&mut self, Entry { at, what }: &Entry) {
        self.from.get_or_insert(*at);
        match what {
            What::Sent(Sent { command, .. }) => self.sent(*at, &command.key, &command.effect),
            What::Answered(Answered { key, answer: Answer::Refused(Refusal::Budget { .. }) }) => {
                self.refused += usize::from(self.evictions.contains(key));
            }
            What::Seen(Seen::NodeGone(node)) => {
                if self.begun.iter().any(|(name, _)| *name == node.name) {
                    self.done.entry(node.name.clone()).or_insert(*at);
                }
            }
            What::Began(_)
            | What::Intended(_)
            | What::StartedAnew
            | What::Answered(_)
            | What::Waits(_)
            | What::Noticed(_)
            | What::Seen(_)
            | What::Ended(_) => {}
        }
    }

    fn sent(&mut self, at: Time, key: &CommandKey, effect: &Effect) {
        let Effect::Kubernetes(effect) = effect else { return };
        let begins = match effect {
            KubernetesEffect::Cordon { node, mark, .. } => match mark.role {
                NodeRole::Draining { .. } => Some(node.name.clone()),
                NodeRole::Drained => {
                    self.done.entry(node.name.clone()).or_insert(at);
                    None
                }
                NodeRole::Queued
                | NodeRole::Listed
                | NodeRole::Postponed { .. }
                | NodeRole::Skipped
                | NodeRole::Surplus
                | NodeRole::Retained
                | NodeRole::Interrupted { .. } => None,
            },
            KubernetesEffect::DeleteNodeClaim { claim, .. } => self.claims.get(&claim.name).cloned(),
            KubernetesEffect::Evict { .. } => {
                self.evictions.insert(key.clone());
                None
            }
            KubernetesEffect::Uncordon { .. }
            | KubernetesEffect::CordonByHand { .. }
            | KubernetesEffect::UncordonByHand { .. }
            | KubernetesEffect::Exclude { .. }
            | KubernetesEffect::DeletePod { .. }
            | KubernetesEffect::ForceDelete { .. }
            | KubernetesEffect::RestartWorkload { .. }
            | KubernetesEffect::Create { .. }
            | KubernetesEffect::Replace { .. }
            | KubernetesEffect::Delete { .. } => None,
        };
        if let Some(node) = begins.filter(|node| !self.begun.iter().any(|(known, _)| known == node)) {
            self.begun.push((node, at));
        }
    }

    /// From its begin until it was done.
    fn took(&self, node: &NodeName) -> Option<Span> {
        let begun = self.begun.iter().find(|(name, _)| name == node)?.1;
        Some(*self.done.get(node)? - begun)
    }

    /// From the beginning of all until a node was done.
    pub(super) fn done_after(&self) -> BTreeMap<NodeName, Span> {
        let Some(from) = self.from else { return BTreeMap::new() };
        self.done.iter().map(|(node, at)| (node.clone(), *at - from)).collect()
    }
}

/// What happens beside what was rehearsed.
#[derive(Debug)]
pub(super) struct Compared {
    rehearsed: Course,
    happens: Course,
    tolerance: Span,
    told: BTreeSet<String>,
    /// How many nodes have been compared in their order.
    placed: usize,
}

impl Compared {
    pub(super) fn new(rehearsed: Course, view: &View, tolerance: Span) -> Self {
        Self { rehearsed, happens: Course::of(view), tolerance, told: BTreeSet::new(), placed: 0 }
    }

    pub(super) fn take(&mut self, entry: &Entry) {
        self.happens.take(entry);
    }

    /// What parts from the rehearsal and was not told yet; and what is beyond what is tolerated.
    pub(super) fn look(&mut self, now: Time) -> (Vec<String>, Option<String>) {
        let mut found = Vec::new();
        let mut beyond = None;
        while self.placed < self.happens.begun.len() {
            let node = &self.happens.begun[self.placed].0;
            match self.rehearsed.begun.get(self.placed).map(|(node, _)| node) {
                Some(expected) if expected == node => {}
                Some(expected) => {
                    found.push(format!("node {node} is begun; in the rehearsal it was {expected}'s turn"));
                }
                None => {
                    found.push(format!("node {node} is begun; in the rehearsal it was not"));
                }
            }
            self.placed += 1;
        }
        for (node, begun) in &self.happens.begun {
            let Some(rehearsed) = self.rehearsed.took(node) else { continue };
            let (took, is_done) = match self.happens.took(node) {
                Some(took) => (took, true),
                None => (now - *begun, false),
            };
            let longer = took - rehearsed;
            if is_done && longer > SLOWER && longer + longer > rehearsed {
                found.push(format!("node {node} took {}; rehearsed were {}", span(took), span(rehearsed)));
            }
            if !is_done && took > rehearsed + rehearsed + self.tolerance {
                beyond = Some(format!(
                    "node {node} has taken {} so far; rehearsed were {}, and twice that and {} more are tolerated",
                    span(took),
                    span(rehearsed),
                    span(self.tolerance)
                ));
            }
        }
        if let Some((from, rehearsed)) = self.is_to_begin()
            && now > from + rehearsed + rehearsed + self.tolerance
        {
            beyond = Some(format!(
                "no node was begun in {}; rehearsed were {} until the first",
                span(now - from),
                span(rehearsed)
            ));
        }
        let (refused, rehearsed) = (self.happens.refused, self.rehearsed.refused);
        if refused > rehearsed * 2 + REFUSED_MORE {
            beyond = Some(format!(
                "disruption budgets have refused {refused} evictions; {rehearsed} in the rehearsal"
            ));
        } else if refused > rehearsed + REFUSED_TOLD {
            found.push(format!(
                "disruption budgets refuse more evictions than the {rehearsed} of the rehearsal"
            ));
        }
        found.retain(|one| self.told.insert(one.clone()));
        (found, beyond)
    }

    /// Since when, and for how long by the rehearsal, the first node has been waited for.
    fn is_to_begin(&self) -> Option<(Time, Span)> {
        let first = self.rehearsed.begun.first().filter(|_| self.happens.begun.is_empty())?.1;
        Some((self.happens.from?, first - self.rehearsed.from?))
    }

    /// When a node that is open, or the first that is waited for, is beyond what is tolerated.
    pub(super) fn next(&self) -> Option<Time> {
        let open = self.happens.begun.iter().filter(|(node, _)| !self.happens.done.contains_key(node));
        let ends = open.filter_map(|(node, begun)| {
            let rehearsed = self.rehearsed.took(node)?;
            Some(*begun + rehearsed + rehearsed + self.tolerance + Span::from_secs(1))
        });
        let first =
            self.is_to_begin().map(|(from, span)| from + span + span + self.tolerance + Span::from_secs(1));
        ends.chain(first).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    fn course(nodes: &[(&str, i64, Option<i64>)]) -> Course {
        Course {
            begun: nodes.iter().map(|(name, begun, _)| (NodeName::from(*name), at(*begun))).collect(),
            done: nodes
                .iter()
                .filter_map(|(name, _, done)| Some((NodeName::from(*name), at((*done)?))))
                .collect(),
            from: Some(at(0)),
            ..Course::default()
        }
    }

    fn compared(rehearsed: Course, happens: Course) -> Compared {
        Compared { rehearsed, happens, tolerance: Span::from_secs(60), told: BTreeSet::new(), placed: 0 }
    }

    #[test]
    fn another_order_and_slow_nodes_are_told_once_and_a_node_beyond_the_tolerance_pauses() {
        let rehearsed = course(&[("a", 0, Some(60)), ("b", 60, Some(120))]);
        let mut one = compared(rehearsed.clone(), course(&[("b", 0, Some(110)), ("a", 110, None)]));
        let (told, beyond) = one.look(at(120));
        assert_eq!(
            told,
            [
                "node b is begun; in the rehearsal it was a's turn",
                "node a is begun; in the rehearsal it was b's turn",
                "node b took 1m50s; rehearsed were 1m"
            ]
        );
        assert_eq!(beyond, None);
        assert_eq!(one.look(at(290)), (Vec::new(), None));
        assert_eq!(one.next(), Some(at(291)));
        let (_, beyond) = one.look(at(291));
        assert!(beyond.is_some_and(|beyond| beyond.starts_with("node a has taken 3m")));
        let mut same = compared(rehearsed.clone(), rehearsed);
        assert_eq!(same.look(at(500)), (Vec::new(), None));
    }

    #[test]
    fn a_run_whose_first_node_is_not_begun_is_beyond_what_is_tolerated() {
        let rehearsed = course(&[("a", 10, Some(60))]);
        let mut one = compared(rehearsed, course(&[]));
        assert_eq!((one.look(at(80)), one.next()), ((Vec::new(), None), Some(at(81))));
        assert!(one.look(at(81)).1.is_some());
    }

    #[test]
    fn refused_evictions_are_told_and_too_many_pause() {
        let of = |refused| Course { refused, ..Course::default() };
        assert_eq!(compared(of(2), of(12)).look(at(0)), (Vec::new(), None));
        assert_eq!(compared(of(2), of(13)).look(at(0)).0.len(), 1);
        assert!(compared(of(2), of(55)).look(at(0)).1.is_some());
    }
}
