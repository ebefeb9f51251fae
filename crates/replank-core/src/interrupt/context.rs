//! One decision about interruptions in the making.

use std::fmt;

use replank_model::object::node::Node;
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::view::View;

use super::Options;
use crate::builder::DecisionBuilder;
use crate::sent::Sent;
use replank_protocol::command::{CommandKey, Effect, KubernetesEffect, NodeTarget};
use replank_protocol::decision::Decision;
use replank_protocol::waiting::{Subject, WaitingOn};

/// See the module's page.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) view: &'a View,
    pub(super) options: &'a Options,
    pub(super) sent: &'a mut Sent,
    builder: DecisionBuilder,
}

impl<'a> Context<'a> {
    pub(super) fn new(now: Time, view: &'a View, options: &'a Options, sent: &'a mut Sent) -> Self {
        let builder = DecisionBuilder::new(now, options.run.clone());
        Self { now, view, options, sent, builder }
    }

    /// Says why something waits; the first reason that is found for it stands.
    pub(super) fn wait(&mut self, what: Subject, on: WaitingOn) {
        self.builder.wait(what, on);
    }

    /// Looks again then, if not earlier.
    pub(super) fn wake_at(&mut self, at: Time) {
        self.builder.wake_at(at);
    }

    /// The key of an effect on something.
    pub(super) fn key(&self, effect: &str, on: impl fmt::Display) -> CommandKey {
        self.builder.key(effect, on)
    }

    /// Sends a command, unless it is under way.
    pub(super) fn send(&mut self, subject: Subject, what: &str, key: CommandKey, effect: Effect) {
        let _wish = self.builder.send(self.sent, (subject, Text::from(what)), key, effect);
    }

    /// Sends a command that nothing waits on, unless it is under way.
    pub(super) fn send_silently(&mut self, key: CommandKey, effect: Effect) {
        self.builder.send_silently(self.sent, &Text::from("hold"), key, effect);
    }

    /// Takes our mark off a node.
    pub(super) fn lift(&mut self, node: &Node) {
        let effect = Effect::Kubernetes(KubernetesEffect::Uncordon {
            node: target(node),
            version: node.meta.resource_version,
        });
        let key = self.key("lift", &node.meta.uid);
        self.send(Subject::Node(node.name()), "removal of the mark", key, effect);
    }

    /// What was found, in order.
    pub(super) fn finish(self) -> Decision {
        self.builder.finish()
    }
}

/// The node as commands name it.
pub(super) fn target(node: &Node) -> NodeTarget {
    NodeTarget { name: node.name(), uid: node.meta.uid.clone() }
}
