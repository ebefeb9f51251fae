//! The engine, and what is told of it: each decision is looked at once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_core::drain::{Drain, DryRun, NodeStatus, Phase, Request, Verb, forecast};
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::text::{NodeName, Uid};
use replank_model::time::Time;
use replank_protocol::command::{Command, CommandKey, Effect, KubernetesEffect, Outcome};
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::DrainEnd;

use super::eta::by_grace;
use super::remedy::remedy;
use super::said::{How, Said, kubectl, warnings};
use super::screen::Screen;
use crate::live::refused;

/// See the module's page.
pub(super) struct Watch {
    drain: Drain,
    request: Request,
    screen: Rc<RefCell<Screen>>,
    has_begun: bool,
    /// Pods that were asked to go and are still there.
    asked: BTreeMap<Uid, (Key, How)>,
    /// What each command does, in kubectl's words for when it fails.
    sent: BTreeMap<CommandKey, String>,
    /// Nodes whose cordon, or its end, was told.
    marked: BTreeSet<NodeName>,
    /// Nodes whose end was told.
    ended: BTreeSet<NodeName>,
}

impl Watch {
    pub(super) fn new(request: Request, screen: Rc<RefCell<Screen>>) -> Self {
        Self {
            drain: Drain::new(request.clone()),
            request,
            screen,
            has_begun: false,
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            marked: BTreeSet::new(),
            ended: BTreeSet::new(),
        }
    }

    /// How far each node was when it was looked at last.
    pub(super) fn statuses(&self) -> &[NodeStatus] {
        self.drain.statuses()
    }

    fn say(&self, now: Time, said: &Said) {
        self.screen.borrow_mut().say(now, said);
    }

    /// Before anything is begun: what is lost, and what will not go and why.
    fn begin(&mut self, now: Time) {
        let is_cordon = self.request.verb != Verb::Uncordon;
        let found = forecast(self.drain.view(), &self.request, now);
        let dry_run = self.request.options.dry_run;
        for node in &found {
            let name = &node.node.name;
            let is_so = node.is_cordoned == is_cordon && !node.is_gone;
            if is_so || dry_run != DryRun::None && !node.is_gone {
                self.marked.insert(name.clone());
                self.say(now, &Said::Marked { node: name.clone(), is_cordon, already: is_so });
            }
        }
        for node in &found {
            let name = &node.node.name;
            if let Some(words) = warnings(node).filter(|_| node.refused.is_empty()) {
                self.say(now, &Said::Warning { node: name.clone(), words });
            }
            match (node.ends(), dry_run) {
                (Some(on), DryRun::None) => self.foretell(now, name, &on),
                (Some(on), DryRun::Client | DryRun::Server) => {
                    self.say(now, &Said::Left { node: name.clone(), on });
                }
                (None, DryRun::Client) if self.request.verb == Verb::Drain => {
                    let how = if self.request.options.disable_eviction { How::Delete } else { How::Evict };
                    for (pod, _) in &node.going {
                        self.say(now, &Said::Asked { pod: pod.clone(), how });
                    }
                    self.say(now, &Said::Drained { node: name.clone() });
                }
                (None, DryRun::None | DryRun::Client | DryRun::Server) => {}
            }
            for waiting in &node.blockers {
                self.screen.borrow_mut().foretell(now, waiting);
            }
        }
    }

    /// Everything was answered: nodes that nothing keeps would be drained.
    fn would_be(&self, now: Time) {
        if self.request.verb != Verb::Drain {
            return;
        }
        for node in
            forecast(self.drain.view(), &self.request, now).iter().filter(|node| node.ends().is_none())
        {
            self.say(now, &Said::Drained { node: node.node.name.clone() });
        }
    }

    /// A node that will not be drained.
    fn foretell(&self, now: Time, node: &NodeName, on: &DrainEnd) {
        let waiting = replank_protocol::waiting::Waiting {
            what: replank_protocol::waiting::Subject::Node(node.clone()),
            on: on.clone().into(),
        };
        if !self.screen.borrow().is_text() {
            self.say(now, &Said::Waits { waiting });
            return;
        }
        let next = remedy(&waiting.on).map(|next| format!("\n  next: {next}")).unwrap_or_default();
        let text = format!("node {node} will be cordoned and not drained: {}{next}", kubectl(on));
        self.screen.borrow_mut().note(&text);
    }

    fn commands(&mut self, now: Time, commands: &[Command]) {
        for command in commands {
            let (asked, words) = match &command.effect {
                Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                    self.asked.insert(pod.uid.clone(), (pod.key.clone(), How::Evict));
                    (Some((pod.key.clone(), How::Evict)), of_pod("evicting", &pod.key))
                }
                Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                    self.asked.insert(pod.uid.clone(), (pod.key.clone(), How::Delete));
                    (Some((pod.key.clone(), How::Delete)), of_pod("deleting", &pod.key))
                }
                Effect::Kubernetes(KubernetesEffect::RestartWorkload { workload, .. }) => (
                    Some((workload.key.clone(), How::Restart)),
                    format!(
                        "restarting deployments/{:?} -n {:?}",
                        workload.key.name.as_str(),
                        workload.key.namespace.as_str()
                    ),
                ),
                Effect::Kubernetes(KubernetesEffect::CordonByHand { node, .. }) => {
                    (None, format!("cordoning node {:?}", node.name.as_str()))
                }
                Effect::Kubernetes(KubernetesEffect::UncordonByHand { node, .. }) => {
                    (None, format!("uncordoning node {:?}", node.name.as_str()))
                }
                Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => {
                    (None, command.key.0.to_string())
                }
            };
            if let Some((pod, how)) = asked {
                self.say(now, &Said::Asked { pod, how });
            }
            self.sent.insert(command.key.clone(), words);
        }
    }

    /// Pods that have gone since.
    fn gone(&mut self, now: Time) {
        let view = self.drain.view();
        let is_there = |uid: &Uid, key: &Key| view.pods.by_key(key).is_some_and(|pod| pod.meta.uid == *uid);
        let gone: Vec<Uid> = self
            .asked
            .iter()
            .filter(|(uid, (key, _))| !is_there(uid, key))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in gone {
            if let Some((pod, how)) = self.asked.remove(&uid) {
                self.say(now, &Said::Gone { pod, how });
            }
        }
    }

    fn nodes(&mut self, now: Time) {
        let is_cordon = self.request.verb != Verb::Uncordon;
        for status in self.drain.statuses().to_vec() {
            let node = status.node.name.clone();
            if status.is_cordoned == is_cordon && self.marked.insert(node.clone()) {
                self.say(now, &Said::Marked { node: node.clone(), is_cordon, already: false });
            }
            let said = match &status.phase {
                Phase::Drained => Said::Drained { node: node.clone() },
                Phase::Refused(refused) => {
                    Said::Left { node: node.clone(), on: DrainEnd::RefusedPods { refused: refused.clone() } }
                }
                Phase::Ended(on) => Said::Left { node: node.clone(), on: on.clone() },
                Phase::Open | Phase::Cordoned | Phase::Draining => continue,
            };
            if self.ended.insert(node) {
                self.say(now, &said);
            }
        }
    }
}

fn of_pod(verb: &str, key: &Key) -> String {
    format!("{verb} pods/{:?} -n {:?}", key.name.as_str(), key.namespace.as_str())
}

impl Engine for Watch {
    fn observe(&mut self, delta: Delta) {
        self.drain.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        let message = refused(&outcome.answer);
        if let (Some(message), Some(what)) = (message, self.sent.get(&outcome.key)) {
            self.say(outcome.at, &Said::Refused { what: what.clone(), message });
        }
        self.drain.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        if !self.has_begun {
            self.has_begun = true;
            self.begin(now);
        }
        let mut decision = self.drain.decide(now);
        self.gone(now);
        self.nodes(now);
        self.commands(now, &decision.commands);
        match self.request.options.dry_run {
            DryRun::None => {
                let (statuses, waiting) = (self.drain.statuses(), &decision.waiting);
                let options = &self.request.options;
                let grace = || by_grace(self.drain.view(), statuses, waiting, options, now);
                let next = self.screen.borrow_mut().show(now, statuses, waiting, grace);
                // What is shown grows old by itself.
                decision.wake_at = decision.wake_at.into_iter().chain(next).min();
            }
            DryRun::Server if decision.end.is_some() => self.would_be(now),
            DryRun::Client | DryRun::Server => {}
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.drain.intend(intent);
    }

    fn start_anew(&mut self) {
        self.drain.start_anew();
    }

    fn watches(&self, kind: Kind) -> bool {
        self.drain.reads(kind)
    }
}
