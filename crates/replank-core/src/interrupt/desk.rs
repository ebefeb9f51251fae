//! One decision about interruptions in the making.

use std::fmt;

use replank_model::object::node::Node;
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::view::View;

use super::Options;
use crate::sent::{About, COMMAND_LIFE, Offer, Sent};
use replank_protocol::command::{Command, CommandKey, Effect, NodeTarget};
use replank_protocol::decision::Decision;
use replank_protocol::waiting::{Subject, Waiting, WaitingOn};

/// See the module's page.
pub(super) struct Desk<'a> {
    pub(super) now: Time,
    pub(super) view: &'a View,
    pub(super) options: &'a Options,
    pub(super) sent: &'a mut Sent,
    commands: Vec<Command>,
    waits: Vec<Waiting>,
    wake: Option<Time>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(now: Time, view: &'a View, options: &'a Options, sent: &'a mut Sent) -> Self {
        Self { now, view, options, sent, commands: Vec::new(), waits: Vec::new(), wake: None }
    }

    /// Says why something waits; the first reason that is found for it stands.
    pub(super) fn wait(&mut self, what: Subject, on: WaitingOn) {
        self.waits.push(Waiting { what, on });
    }

    /// Looks again then, if not earlier.
    pub(super) fn wake_at(&mut self, at: Time) {
        let at = at.max(self.now);
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// The key of an effect on something.
    pub(super) fn key(&self, effect: &str, on: impl fmt::Display) -> CommandKey {
        CommandKey(Text::from(format!("{}/{effect}/{on}", self.options.run)))
    }

    /// Sends a command, unless it is under way.
    pub(super) fn send(&mut self, subject: Subject, what: &str, key: CommandKey, effect: Effect) {
        let what = Text::from(what);
        let about = match &effect {
            Effect::Evict { pod, .. } | Effect::DeletePod { pod, .. } => About::Eviction(pod.clone()),
            _ => About::Other,
        };
        match self.sent.offer(self.now, &key, &what, about) {
            Offer::Send => {
                let deadline = self.now + COMMAND_LIFE;
                self.commands.push(Command { key, run: self.options.run.clone(), effect, deadline });
                self.wake_at(deadline);
                self.wait(subject, WaitingOn::Effect { what });
            }
            Offer::UnderWay(until) => {
                self.wake_at(until);
                self.wait(subject, WaitingOn::Effect { what });
            }
            Offer::Later(again, on) => {
                self.wake_at(again);
                self.wait(subject, on);
            }
        }
    }

    /// Sends a command that nothing waits on, unless it is under way.
    pub(super) fn send_silently(&mut self, key: CommandKey, effect: Effect) {
        match self.sent.offer(self.now, &key, &Text::from("hold"), About::Other) {
            Offer::Send => {
                let deadline = self.now + COMMAND_LIFE;
                self.commands.push(Command { key, run: self.options.run.clone(), effect, deadline });
                self.wake_at(deadline);
            }
            Offer::UnderWay(until) | Offer::Later(until, _) => self.wake_at(until),
        }
    }

    /// Takes our mark off a node.
    pub(super) fn lift(&mut self, node: &Node) {
        let effect = Effect::Uncordon { node: target(node), version: node.meta.resource_version };
        let key = self.key("lift", &node.meta.uid);
        self.send(Subject::Node(node.name()), "mark to be lifted", key, effect);
    }

    /// What was found, in order.
    pub(super) fn finish(mut self) -> Decision {
        // Stable: of several reasons for one thing the first stays first.
        self.waits.sort_by(|a, b| a.what.cmp(&b.what));
        self.waits.dedup_by(|later, first| later.what == first.what);
        Decision { commands: self.commands, waiting: self.waits, wake_at: self.wake, ..Decision::default() }
    }
}

/// The node as commands name it.
pub(super) fn target(node: &Node) -> NodeTarget {
    NodeTarget { name: node.name(), uid: node.meta.uid.clone() }
}
