//! What happened, node by node and pod by pod: a journal folded.

use std::collections::BTreeMap;

use replank_model::text::{NodeName, Text, Uid};
use replank_model::time::{Span, Time};
use replank_protocol::command::{
    Answer, Command, CommandKey, Effect, GroupEffect, KubernetesEffect, NodeTarget, PodTarget, Refusal,
};
use replank_protocol::decision::End;
use replank_protocol::role::NodeRole;
use replank_protocol::waiting::{Subject, Waiting};
use serde::Serialize;

use crate::entry::{Answered, Beginning, Place, Seen, Sent, Waits, What};
use crate::read::Journal;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tale {
    /// What it is of.
    pub beginning: Beginning,
    /// The first line's moment.
    pub from: Time,
    /// The last line's moment.
    pub to: Time,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// How often another process took over.
    pub anew: usize,
    /// Nodes, in the order in which the run first touched their pods; then those whose pods it left alone.
    pub nodes: Vec<NodeTale>,
    /// Reasons to wait, in the order in which they came up.
    pub waits: Vec<WaitTale>,
    /// Commands whose fate is not known.
    pub unknown: usize,
}

/// What happened to a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeTale {
    /// Which.
    pub name: NodeName,
    /// When it was cordoned.
    pub cordoned: Option<Time>,
    /// When its drain began: when it was marked so, or when its first pod was asked to leave.
    pub drained_from: Option<Time>,
    /// When the last pod that was asked to leave was gone.
    pub emptied: Option<Time>,
    /// When it was uncordoned again.
    pub uncordoned: Option<Time>,
    /// When it was gone.
    pub gone: Option<Time>,
    /// Its pods that were asked to leave, in that order.
    pub pods: Vec<PodTale>,
}

/// What happened to a pod.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTale {
    /// Which.
    pub pod: PodTarget,
    /// Whose, as `ReplicaSet web-6d4b`.
    pub controller: Option<Text>,
    /// How it left.
    pub fate: Fate,
    /// When it was first asked to.
    pub asked: Time,
    /// How often a budget refused.
    pub refused: usize,
    /// When it was granted.
    pub granted: Option<Time>,
    /// When it was gone.
    pub gone: Option<Time>,
}

/// How a pod was made to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// By the eviction API.
    Evicted,
    /// By a deletion that asks no budget.
    Deleted,
    /// By a deletion without grace.
    ForceDeleted,
}

/// A wait that came up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitTale {
    /// What waits, and on what, as it was when it came up.
    pub waiting: Waiting,
    /// Since when.
    pub from: Time,
    /// Until when; nothing where it waits to the end.
    pub until: Option<Time>,
}

impl Tale {
    /// What a journal says.
    #[must_use]
    pub fn of(journal: &Journal) -> Self {
        let mut fold = Fold::default();
        for entry in &journal.entries {
            fold.take(entry.at, &entry.what);
        }
        let moment =
            |entry: Option<&crate::entry::Entry>| entry.map_or(Time::from_millis(0), |entry| entry.at);
        fold.tale(journal.beginning.clone(), moment(journal.entries.first()), moment(journal.entries.last()))
    }

    /// Whether nothing of it was done to a cluster.
    #[must_use]
    pub fn is_rehearsed(&self) -> bool {
        &*self.beginning.verb == "rehearse"
    }

    /// What was done, as a noun: `rehearsal`, `drain`, `roll`.
    #[must_use]
    pub fn deed(&self) -> &str {
        match &*self.beginning.verb {
            "rehearse" => "rehearsal",
            "autoscale" => "autoscaling",
            "handle" => "handling",
            verb => verb,
        }
    }

    /// How long it took.
    #[must_use]
    pub fn took(&self) -> Span {
        self.to - self.from
    }

    /// Pods that were asked to leave.
    pub fn pods(&self) -> impl Iterator<Item = &PodTale> {
        self.nodes.iter().flat_map(|node| &node.pods)
    }

    /// How often a budget refused an eviction.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.pods().map(|pod| pod.refused).sum()
    }
}

impl NodeTale {
    /// From the begin of its drain until its last pod was gone.
    #[must_use]
    pub fn took(&self) -> Option<Span> {
        Some(self.emptied? - self.drained_from?)
    }

    fn named(name: NodeName) -> Self {
        Self {
            name,
            cordoned: None,
            drained_from: None,
            emptied: None,
            uncordoned: None,
            gone: None,
            pods: Vec::new(),
        }
    }
}

/// What a command is for, once it is answered.
#[derive(Clone, Debug)]
enum Asked {
    Cordon(NodeTarget, Option<Time>),
    Uncordon(NodeTarget),
    Pod { node: Option<NodeName>, uid: Uid, fate: Fate },
    Terminate(Option<NodeTarget>),
    Other,
}

#[derive(Debug, Default)]
struct Fold {
    nodes: BTreeMap<NodeName, NodeTale>,
    /// In the order of their first pod.
    order: Vec<NodeName>,
    asked: BTreeMap<CommandKey, Asked>,
    homes: BTreeMap<Uid, NodeName>,
    waits: Vec<WaitTale>,
    open: BTreeMap<Subject, usize>,
    anew: usize,
    unknown: usize,
    end: Option<End>,
}

/// Pods whose node is not known are told under this name.
const NOWHERE: &str = "(no node)";

impl Fold {
    fn take(&mut self, at: Time, what: &What) {
        match what {
            What::Began(_) | What::Noticed(_) | What::Intended(_) => {}
            What::StartedAnew => self.anew += 1,
            What::Sent(sent) => self.sent(at, sent),
            What::Answered(answered) => self.answered(at, answered),
            What::Waits(waits) => self.waited(at, waits),
            What::Seen(seen) => self.saw(at, seen),
            What::Ended(end) => self.end = Some(end.clone()),
        }
    }

    fn node(&mut self, name: &NodeName) -> &mut NodeTale {
        self.nodes.entry(name.clone()).or_insert_with(|| NodeTale::named(name.clone()))
    }

    fn sent(&mut self, at: Time, Sent { command, pod }: &Sent) {
        let asked = self.asks(at, command, pod.as_ref());
        self.asked.insert(command.key.clone(), asked);
    }

    fn asks(&mut self, at: Time, command: &Command, place: Option<&Place>) -> Asked {
        match &command.effect {
            Effect::Kubernetes(effect) => match effect {
                KubernetesEffect::Cordon { node, mark, .. } => Asked::Cordon(node.clone(), drain(&mark.role)),
                KubernetesEffect::CordonByHand { node, .. } => Asked::Cordon(node.clone(), None),
                KubernetesEffect::Uncordon { node, .. } | KubernetesEffect::UncordonByHand { node, .. } => {
                    Asked::Uncordon(node.clone())
                }
                KubernetesEffect::Evict { pod, .. } => self.pod(at, pod, place, Fate::Evicted),
                KubernetesEffect::DeletePod { pod, .. } => self.pod(at, pod, place, Fate::Deleted),
                KubernetesEffect::ForceDelete { pod, .. } => self.pod(at, pod, place, Fate::ForceDeleted),
                KubernetesEffect::Exclude { .. }
                | KubernetesEffect::RestartWorkload { .. }
                | KubernetesEffect::Create { .. }
                | KubernetesEffect::Replace { .. }
                | KubernetesEffect::Delete { .. }
                | KubernetesEffect::DeleteNodeClaim { .. } => Asked::Other,
            },
            Effect::Group(GroupEffect::Terminate { expected, .. }) => {
                Asked::Terminate(expected.node().cloned())
            }
            Effect::Group(_) | Effect::Queue(_) => Asked::Other,
        }
    }

    fn pod(&mut self, at: Time, pod: &PodTarget, place: Option<&Place>, fate: Fate) -> Asked {
        let name = place.and_then(|place| place.node.clone());
        let name = name.unwrap_or_else(|| NodeName::from(NOWHERE));
        if !self.order.contains(&name) {
            self.order.push(name.clone());
        }
        self.homes.insert(pod.uid.clone(), name.clone());
        let node = self.node(&name);
        node.drained_from.get_or_insert(at);
        if !node.pods.iter().any(|one| one.pod.uid == pod.uid) {
            let controller = place.and_then(|place| place.controller.clone());
            node.pods.push(PodTale {
                pod: pod.clone(),
                controller,
                fate,
                asked: at,
                refused: 0,
                granted: None,
                gone: None,
            });
        }
        Asked::Pod { node: Some(name), uid: pod.uid.clone(), fate }
    }

    fn answered(&mut self, at: Time, Answered { key, answer }: &Answered) {
        let Some(asked) = self.asked.get(key).cloned() else { return };
        let is_done = match answer {
            Answer::Done => true,
            Answer::Refused(_) => false,
            Answer::Unknown { .. } => {
                self.unknown += 1;
                false
            }
        };
        match asked {
            Asked::Pod { node: Some(name), uid, fate } => {
                let is_budget = matches!(answer, Answer::Refused(Refusal::Budget { .. }));
                let node = self.node(&name);
                let Some(pod) = node.pods.iter_mut().find(|one| one.pod.uid == uid) else { return };
                pod.refused += usize::from(is_budget);
                if is_done {
                    (pod.granted, pod.fate) = (Some(at), fate);
                }
            }
            Asked::Cordon(node, drain) if is_done => {
                let node = self.node(&node.name);
                node.cordoned.get_or_insert(at);
                node.drained_from = node.drained_from.or(drain);
            }
            Asked::Uncordon(node) if is_done => self.node(&node.name).uncordoned = Some(at),
            Asked::Terminate(Some(node)) if is_done => {
                self.node(&node.name);
            }
            Asked::Pod { node: None, .. }
            | Asked::Cordon(..)
            | Asked::Uncordon(_)
            | Asked::Terminate(_)
            | Asked::Other => {}
        }
    }

    fn saw(&mut self, at: Time, seen: &Seen) {
        match seen {
            Seen::PodGone(pod) => {
                let Some(name) = self.homes.get(&pod.uid).cloned() else { return };
                let node = self.node(&name);
                if let Some(one) = node.pods.iter_mut().find(|one| one.pod.uid == pod.uid) {
                    one.gone = Some(at);
                }
                let is_empty = node.pods.iter().all(|one| one.gone.is_some());
                node.emptied = is_empty.then_some(at);
            }
            Seen::NodeGone(node) => {
                if let Some(node) = self.nodes.get_mut(&node.name) {
                    node.gone = Some(at);
                }
            }
            Seen::NodeReady(_) => {}
        }
    }

    fn waited(&mut self, at: Time, Waits { since, over }: &Waits) {
        for subject in over.iter().chain(since.iter().map(|one| &one.what)) {
            if let Some(index) = self.open.remove(subject) {
                self.waits[index].until = Some(at);
            }
        }
        for waiting in since {
            self.open.insert(waiting.what.clone(), self.waits.len());
            self.waits.push(WaitTale { waiting: waiting.clone(), from: at, until: None });
        }
    }

    fn tale(mut self, beginning: Beginning, from: Time, to: Time) -> Tale {
        let mut nodes: Vec<NodeTale> = self.order.iter().filter_map(|name| self.nodes.remove(name)).collect();
        nodes.extend(self.nodes.into_values());
        Tale {
            beginning,
            from,
            to,
            end: self.end,
            anew: self.anew,
            nodes,
            waits: self.waits,
            unknown: self.unknown,
        }
    }
}

/// From when a mark says that a node is drained.
fn drain(role: &NodeRole) -> Option<Time> {
    match role {
        NodeRole::Draining { from } => Some(*from),
        NodeRole::Queued
        | NodeRole::Postponed { .. }
        | NodeRole::Skipped
        | NodeRole::Surplus
        | NodeRole::Retained
        | NodeRole::Drained
        | NodeRole::Listed
        | NodeRole::Interrupted { .. } => None,
    }
}
