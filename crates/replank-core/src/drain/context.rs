//! One decision in the making.

use replank_model::object::node::Node;
use replank_model::text::{NodeName, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{CommandKey, Effect, KubernetesEffect, NodeTarget};
use replank_protocol::waiting::{RunWait, Subject, WaitingOn};

use super::request::Request;
use crate::builder::DecisionBuilder;
use crate::moving::Mover;
use crate::sent::{COMMAND_LIFE, Sent};

/// See the module's page.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) view: &'a View,
    pub(super) request: &'a Request,
    pub(super) sent: &'a mut Sent,
    pub(super) builder: DecisionBuilder,
}

impl<'a> Context<'a> {
    pub(super) fn new(now: Time, view: &'a View, request: &'a Request, sent: &'a mut Sent) -> Self {
        Self { now, view, request, sent, builder: DecisionBuilder::new(now, request.run.clone()) }
    }

    /// Cordons a node, and writes down from when on it is drained.
    pub(super) fn cordon(&mut self, target: &NodeTarget, node: &Node, from: Option<Time>) {
        let (what, step) =
            if from.is_some() { ("beginning of the drain", "drain") } else { ("cordon", "cordon") };
        let effect = Effect::Kubernetes(KubernetesEffect::CordonByHand {
            node: target.clone(),
            version: node.meta.resource_version,
            since: self.now,
            from,
        });
        let key = self.builder.key(step, &target.uid);
        self.send(Subject::Node(target.name.clone()), what, key, effect);
    }

    /// Uncordons a node.
    pub(super) fn uncordon(&mut self, target: &NodeTarget, node: &Node) {
        let effect = Effect::Kubernetes(KubernetesEffect::UncordonByHand {
            node: target.clone(),
            version: node.meta.resource_version,
        });
        let key = self.builder.key("uncordon", &target.uid);
        self.send(Subject::Node(target.name.clone()), "uncordon", key, effect);
    }

    /// Whether the cordon of a node may still arrive, which is said: it would outlive the call.
    pub(super) fn may_be_cordoned(&mut self, target: &NodeTarget) -> bool {
        let key = self.builder.key("cordon", &target.uid);
        let is_under_way = self.sent.is_under_way(self.now, &key);
        if is_under_way {
            self.sent.keep(&key.0);
            let on = WaitingOn::Run(RunWait::Effect { what: Text::from("the cordon already sent") });
            self.wait_until(Subject::Node(target.name.clone()), on, self.now + COMMAND_LIFE);
        }
        is_under_way
    }

    /// Whether an eviction of a node's pods may still be on its way, which is said: one that arrives after the node is uncordoned would move a pod off a
    /// node that takes pods.
    pub(super) fn awaits_evictions(&mut self, name: &NodeName) -> bool {
        let pods = self.view.pods_on(name).iter().map(|ix| &self.view.pods[*ix]);
        let left = pods.filter(|pod| !pod.is_terminating());
        let until = left.filter_map(|pod| self.sent.may_be_evicted(self.now, &pod.meta.uid)).max();
        if let Some(until) = until {
            let on = WaitingOn::Run(RunWait::Effect { what: Text::from("evictions already sent") });
            self.wait_until(Subject::Node(name.clone()), on, until);
        }
        until.is_some()
    }
}

impl Mover for Context<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn sent(&self) -> &Sent {
        self.sent
    }

    fn key(&self, effect: &str, on: &str) -> CommandKey {
        self.builder.key(effect, on)
    }

    fn send(&mut self, subject: Subject, what: &str, key: CommandKey, effect: Effect) {
        let _told = self.builder.send(self.sent, (subject, Text::from(what)), key, effect);
    }

    fn renew(&mut self, subject: Subject, key: &CommandKey) -> bool {
        self.builder.renew(self.sent, subject, key).is_some()
    }

    fn wait(&mut self, what: Subject, on: WaitingOn) {
        self.builder.wait(what, on);
    }

    fn wait_until(&mut self, what: Subject, on: WaitingOn, at: Time) {
        self.builder.wake_at(at);
        self.builder.wait(what, on);
    }
}
