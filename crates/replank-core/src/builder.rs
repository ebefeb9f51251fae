//! One decision in the making: what is sent, what waits and on what, and when to look again. Every module of core decides through this.

use std::fmt;
use std::iter::Peekable;
use std::vec::IntoIter;

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
    /// How many of these are in order by now.
    sorted: usize,
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
        Self { now, run, commands: Vec::new(), waits: Vec::new(), sorted: 0, wake: None }
    }

    /// The key of an effect on something; see [`CommandKey`].
    pub(crate) fn key(&self, effect: &str, on: impl fmt::Display) -> CommandKey {
        CommandKey(Text::from(format!("{}/{effect}/{on}", self.run)))
    }

    /// Says why something waits; the first reason that is found for it stands.
    pub(crate) fn wait(&mut self, what: Subject, on: WaitingOn) {
        self.waits.push(Waiting { what, on });
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
        if self.sorted < self.waits.len() {
            sort(&mut self.waits);
            self.sorted = self.waits.len();
        }
        &self.waits
    }

    /// Puts things that wait among the others, each a different one and sorted by them: they were found when so many others had been. Hundreds need not be
    /// sorted with all others then.
    pub(crate) fn wait_in_order(&mut self, found: usize, in_order: impl Iterator<Item = Waiting>) {
        let mut after = self.waits.split_off(found);
        sort(&mut self.waits);
        sort(&mut after);
        let size = self.waits.len() + after.len() + in_order.size_hint().1.unwrap_or(0);
        let before = std::mem::replace(&mut self.waits, Vec::with_capacity(size));
        let many = in_order;
        let mut in_order: Vec<Waiting> = Vec::with_capacity(many.size_hint().1.unwrap_or(0));
        in_order.extend(many);
        in_order.dedup_by(|later, first| later.what == first.what);
        // Few are found otherwise, and each is looked for among the many: of two reasons for one thing that of the first list stays.
        let mut before = before.into_iter().peekable();
        let mut after = after.into_iter().peekable();
        let mut rest = in_order.into_iter();
        while let Some((other, is_first)) = first(&mut before, &mut after) {
            let smaller = count_before(rest.as_slice(), &other.what);
            self.waits.extend(rest.by_ref().take(smaller));
            if rest.as_slice().first().is_some_and(|one| one.what == other.what) {
                let one = rest.next();
                self.push_in_order(if is_first { other } else { one.unwrap_or(other) });
            } else {
                self.push_in_order(other);
            }
        }
        self.waits.extend(rest);
        self.sorted = self.waits.len();
    }

    /// Adds what comes after all that is there, unless a reason is there for it.
    fn push_in_order(&mut self, one: Waiting) {
        if self.waits.last().is_none_or(|last| last.what != one.what) {
            self.waits.push(one);
        }
    }

    /// How many reasons were found.
    pub(crate) fn found(&self) -> usize {
        self.waits.len()
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

type Sorted = Peekable<IntoIter<Waiting>>;

/// How many of those that are in order come before something. It is looked for among the next few first.
fn count_before(in_order: &[Waiting], what: &Subject) -> usize {
    let (mut from, mut to) = (0, 1);
    while in_order.get(to - 1).is_some_and(|one| one.what < *what) {
        (from, to) = (to, 2 * to);
    }
    let near = &in_order[from..to.min(in_order.len())];
    from + near.partition_point(|one| one.what < *what)
}

/// The first of two lists, and whether it is of the first list; of two reasons for one thing that of the first list.
fn first(before: &mut Sorted, after: &mut Sorted) -> Option<(Waiting, bool)> {
    let is_later = match (before.peek(), after.peek()) {
        (Some(one), Some(other)) => other.what < one.what,
        (None, Some(_)) => true,
        (Some(_) | None, None) => false,
    };
    let next = if is_later { after.next() } else { before.next() };
    next.map(|one| (one, !is_later))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(pod: &str, why: &str) -> Waiting {
        let on = WaitingOn::Run(RunWait::Effect { what: why.into() });
        Waiting { what: Subject::Object(pod.into()), on }
    }

    #[test]
    fn what_is_found_in_order_is_put_where_it_would_be_sorted_to() {
        let before = [("d", "before"), ("b", "before"), ("d", "again"), ("h", "before")];
        let in_order = [("a", "in order"), ("b", "in order"), ("c", "in order"), ("g", "in order")];
        let after = [("g", "after"), ("e", "after"), ("h", "after"), ("a", "after"), ("i", "after")];
        let mut plain = DecisionBuilder::new(Time::from_millis(0), RunId::default());
        for (pod, why) in before.into_iter().chain(in_order).chain(after) {
            let Waiting { what, on } = waiting(pod, why);
            plain.wait(what, on);
        }
        let mut builder = DecisionBuilder::new(Time::from_millis(0), RunId::default());
        for (pod, why) in before {
            let Waiting { what, on } = waiting(pod, why);
            builder.wait(what, on);
        }
        let found = builder.found();
        for (pod, why) in after {
            let Waiting { what, on } = waiting(pod, why);
            builder.wait(what, on);
        }
        builder.wait_in_order(found, in_order.into_iter().map(|(pod, why)| waiting(pod, why)));
        assert_eq!(builder.waits(), plain.waits());
        let Waiting { what, on } = waiting("f", "last");
        builder.wait(what.clone(), on.clone());
        plain.wait(what, on);
        assert_eq!(builder.finish(), plain.finish());
    }
}
