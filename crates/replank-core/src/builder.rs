//! One decision in the making: what is sent, what waits and on what, and when to look again. Every module of core decides through this.

use std::fmt;

use replank_model::text::{RunId, Text};
use replank_model::time::Time;
use replank_protocol::command::{Command, CommandKey, Effect};
use replank_protocol::decision::Decision;
use replank_protocol::wait_list::{Shelves, WaitList};
use replank_protocol::waiting::{RunEnd, RunWait, Subject, Waiting, WaitingOn};

use crate::order::sort;
use crate::sent::{COMMAND_LIFE, Offer, Sent};

/// See the module's page.
#[derive(Debug)]
pub(crate) struct DecisionBuilder {
    now: Time,
    run: RunId,
    commands: Vec<Command>,
    /// In the order in which they were found; sorted when they are read, for a decision may find thousands.
    waits: Vec<Waiting>,
    /// How many of these are in order by now, and not on shelves.
    sorted: usize,
    /// The place of each of those, in the order in which they were found.
    places: Vec<u32>,
    /// What waits besides.
    shelves: Shelves,
    /// What the decision before told.
    last: WaitList,
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
        Self {
            now,
            run,
            commands: Vec::new(),
            waits: Vec::new(),
            sorted: 0,
            places: Vec::new(),
            shelves: Shelves::default(),
            last: WaitList::default(),
            wake: None,
        }
    }

    /// Says what the decision before told: the more is told again, the sooner it is in order.
    pub(crate) fn follow(&mut self, last: WaitList) {
        self.waits.reserve(last.own().len());
        self.last = last;
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

    /// Goes on with a command that is under way, or refused and to be tried again, and says that something waits on it; `None` where there is none.
    pub(crate) fn renew(&mut self, sent: &mut Sent, subject: Subject, key: &CommandKey) -> Option<Wish> {
        let (until, what, refused) = sent.renew(self.now, key)?;
        self.wake_at(until);
        let wish = if refused.is_some() { Wish::Refused } else { Wish::UnderWay(until) };
        self.wait(subject, refused.unwrap_or(WaitingOn::Run(RunWait::Effect { what })));
        Some(wish)
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

    /// What was found to wait so far, in order.
    pub(crate) fn found(&mut self) -> &[Waiting] {
        if self.sorted < self.waits.len() {
            if !self.shelves.is_empty() {
                let mut later = self.waits.split_off(self.sorted);
                later.retain(|one| !self.shelves.has(&one.what));
                self.waits.append(&mut later);
            }
            self.places = sort(&mut self.waits, &self.last);
            self.sorted = self.waits.len();
        }
        &self.waits
    }

    /// All that waits so far.
    pub(crate) fn waits(&mut self) -> impl Iterator<Item = &Waiting> {
        self.found();
        self.waits.iter().chain(self.shelves.iter())
    }

    /// Says what waits as it did at other decisions; that was found when so many others had been. `may_be` leaves out most of what is not on the shelves: to
    /// look for everything there would cost more than all else.
    pub(crate) fn wait_for_shelved(
        &mut self,
        found: usize,
        mut shelves: Shelves,
        may_be: impl Fn(&Subject) -> bool,
    ) {
        let mut count = 0;
        self.waits.retain(|one| {
            count += 1;
            let is_earlier = count <= found;
            if may_be(&one.what) && shelves.has(&one.what) {
                if is_earlier {
                    shelves.remove(&one.what);
                }
                return is_earlier;
            }
            true
        });
        self.shelves = shelves;
        self.places = sort(&mut self.waits, &self.last);
        self.sorted = self.waits.len();
    }

    /// How many reasons were found.
    pub(crate) fn count(&self) -> usize {
        self.waits.len()
    }

    /// What was found, in order.
    pub(crate) fn finish(mut self) -> Decision {
        self.found();
        let waiting = WaitList::found_as(self.waits, self.places, self.shelves);
        Decision { commands: self.commands, waiting, wake_at: self.wake, ..Decision::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn waiting(pod: &str, why: &str) -> Waiting {
        let on = WaitingOn::Run(RunWait::Effect { what: why.into() });
        Waiting { what: Subject::Object(pod.into()), on }
    }

    #[test]
    fn what_is_on_shelves_is_put_where_it_would_be_sorted_to() {
        let before = [("d", "before"), ("b", "before"), ("d", "again"), ("h", "before")];
        let shelved = [[("a", "shelved"), ("b", "shelved")], [("c", "shelved"), ("g", "shelved")]];
        let after =
            [("g", "after"), ("e", "after"), ("h", "after"), ("a", "after"), ("b", "after"), ("i", "after")];
        let mut plain = DecisionBuilder::new(Time::from_millis(0), RunId::default());
        for (pod, why) in before.into_iter().chain(shelved.into_iter().flatten()).chain(after) {
            let Waiting { what, on } = waiting(pod, why);
            plain.wait(what, on);
        }
        let mut builder = DecisionBuilder::new(Time::from_millis(0), RunId::default());
        for (pod, why) in before {
            let Waiting { what, on } = waiting(pod, why);
            builder.wait(what, on);
        }
        let found = builder.count();
        for (pod, why) in after {
            let Waiting { what, on } = waiting(pod, why);
            builder.wait(what, on);
        }
        let shelf = |of: [(&str, &str); 2]| Arc::new(of.map(|(pod, why)| waiting(pod, why)).to_vec());
        builder.wait_for_shelved(found, Shelves::new(shelved.into_iter().map(shelf)), |_| true);
        for pod in ["f", "c", "h"] {
            let Waiting { what, on } = waiting(pod, "last");
            builder.wait(what.clone(), on.clone());
            plain.wait(what, on);
        }
        assert_eq!(builder.finish(), plain.finish());
    }
}
