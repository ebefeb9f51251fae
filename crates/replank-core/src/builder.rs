//! One decision in the making: what is sent, what waits and on what, and when to look again. Every module of core decides through this.

use std::fmt;

use replank_model::text::{RunId, Text};
use replank_model::time::Time;
use replank_protocol::command::{Command, CommandKey, Effect};
use replank_protocol::decision::Decision;
use replank_protocol::waiting::{RunEnd, RunWait, Subject, Waiting, WaitingOn};

use crate::sent::{COMMAND_LIFE, Offer, Sent};

/// See the module's page.
#[derive(Debug)]
pub(crate) struct DecisionBuilder {
    now: Time,
    run: RunId,
    commands: Vec<Command>,
    /// In the order in which they were found; sorted when they are read, for a decision may find thousands.
    waits: Vec<Waiting>,
    /// What was found in order, and how much else had been found before it.
    in_order: Option<(usize, Vec<Waiting>)>,
    wake: Option<Time>,
}

/// What became of a wish to send something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It is on its way, or has been sent now: until this moment its effect may come to be seen.
    UnderWay(Time),
    /// It was refused, and is tried again later.
    Refused,
}

impl DecisionBuilder {
    pub(crate) fn new(now: Time, run: RunId) -> Self {
        Self { now, run, commands: Vec::new(), waits: Vec::new(), in_order: None, wake: None }
    }

    /// The key of an effect on something; see [`CommandKey`].
    pub(crate) fn key(&self, effect: &str, on: impl fmt::Display) -> CommandKey {
        CommandKey(Text::from(format!("{}/{effect}/{on}", self.run)))
    }

    /// Says why something waits; the first reason that is found for it stands.
    pub(crate) fn wait(&mut self, what: Subject, on: WaitingOn) {
        self.waits.push(Waiting { what, on });
    }

    /// Says why things wait, each a different one, sorted by them: hundreds need not be sorted among all others then.
    pub(crate) fn wait_in_order(&mut self, waits: Vec<Waiting>) {
        self.settle();
        self.in_order = Some((self.waits.len(), waits));
    }

    /// Looks again then, if not earlier.
    pub(crate) fn wake_at(&mut self, at: Time) {
        let at = at.max(self.now);
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Sends a command, unless it is under way, and says that something waits on it.
    pub(crate) fn send(
        &mut self,
        sent: &mut Sent,
        (subject, what): (Subject, Text),
        key: CommandKey,
        effect: Effect,
    ) -> Wish {
        let (wish, on) = self.offer(sent, &what, key, effect);
        self.wait(subject, on.unwrap_or(WaitingOn::Run(RunWait::Effect { what })));
        wish
    }

    /// Sends a command that nothing waits on, unless it is under way.
    pub(crate) fn send_silently(&mut self, sent: &mut Sent, what: &Text, key: CommandKey, effect: Effect) {
        let _nothing_waits = self.offer(sent, what, key, effect);
    }

    fn offer(
        &mut self,
        sent: &mut Sent,
        what: &Text,
        key: CommandKey,
        effect: Effect,
    ) -> (Wish, Option<WaitingOn>) {
        if sent.is_for_eks_only(&effect) {
            return (Wish::Refused, Some(RunEnd::OwnedByEks { what: what.clone() }.into()));
        }
        match sent.offer(self.now, &key, what, effect.claim()) {
            Offer::Send => {
                let deadline = self.now + COMMAND_LIFE;
                self.commands.push(Command { key, run: self.run.clone(), effect, deadline });
                self.wake_at(deadline);
                (Wish::UnderWay(deadline), None)
            }
            Offer::UnderWay(until) => {
                self.wake_at(until);
                (Wish::UnderWay(until), None)
            }
            Offer::Later(again, on) => {
                self.wake_at(again);
                (Wish::Refused, Some(on))
            }
        }
    }

    /// What waits so far, in order.
    pub(crate) fn waits(&mut self) -> &[Waiting] {
        self.settle();
        sort(&mut self.waits);
        &self.waits
    }

    /// Puts what was found in order among what was found otherwise.
    fn settle(&mut self) {
        let Some((before, in_order)) = self.in_order.take() else { return };
        let mut after = self.waits.split_off(before);
        sort(&mut self.waits);
        sort(&mut after);
        let before = std::mem::take(&mut self.waits);
        self.waits = merged(merged(before, in_order), after);
    }

    /// What was found, in order.
    pub(crate) fn finish(mut self) -> Decision {
        self.waits();
        Decision { commands: self.commands, waiting: self.waits, wake_at: self.wake, ..Decision::default() }
    }
}

fn sort(waits: &mut Vec<Waiting>) {
    // Stable: of several reasons for one thing the first stays first.
    waits.sort_by(|a, b| a.what.cmp(&b.what));
    waits.dedup_by(|later, first| later.what == first.what);
}

/// What waits, of two lists in order: of two reasons for one thing that of the first list stays.
fn merged(first: Vec<Waiting>, second: Vec<Waiting>) -> Vec<Waiting> {
    if first.is_empty() || second.is_empty() {
        return if first.is_empty() { second } else { first };
    }
    let mut all = Vec::with_capacity(first.len() + second.len());
    let mut second = second.into_iter().peekable();
    for one in first {
        all.extend(std::iter::from_fn(|| second.next_if(|other| other.what < one.what)));
        second.next_if(|other| other.what == one.what);
        all.push(one);
    }
    all.extend(second);
    all
}
