//! Commands that were sent and whose effects are not seen yet.
//!
//! What is to be done is read off the View anew at every decision, so an effect that is not seen yet is wanted again. This memory
//! keeps it from being sent again every second. It is a cache: without it a command is sent once more under the same
//! key, and has one effect all the same.
//!
//! All modules of a decision share one memory: an eviction that any of them has sent counts for every other.

use std::collections::BTreeMap;

use replank_model::text::{GroupName, NodeName, Text};
use replank_model::time::{Span, Time};

use replank_protocol::command::{CommandKey, Outcome, PodTarget, Refusal};
use replank_protocol::waiting::WaitingOn;

/// How long a command may be carried out after it was sent: long enough for a busy API server, short enough that the View
/// it was decided on is not far from the truth.
pub(crate) const COMMAND_LIFE: Span = Span::from_secs(60);
/// How long after the answer an effect may take to be seen before the command is sent again. Watches lag by seconds.
const SEEN_WITHIN: Span = Span::from_secs(60);
/// First wait after a refusal by a budget: kubectl's (pkg/drain).
const BUDGET_RETRY: Span = Span::from_secs(5);
/// First wait after a failed precondition: until the View has caught up.
const CONFLICT_RETRY: Span = Span::from_secs(3);
/// Longest wait between two attempts.
const RETRY_MAX: Span = Span::from_secs(60);

/// See the module's page.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    entries: BTreeMap<CommandKey, Entry>,
}

#[derive(Debug)]
struct Entry {
    what: Text,
    about: About,
    state: State,
    tries: u32,
    is_wanted: bool,
}

#[derive(Debug)]
enum State {
    /// No answer yet.
    Flying { until: Time },
    /// Carried out, not seen.
    Done { until: Time },
    /// Refused.
    Refused { again: Time, message: Text, claims: bool },
}

/// What of a command others have to know while it is under way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum About {
    /// It begins the drain of a node at a moment.
    Drain(NodeName, Time),
    /// It evicts a pod.
    Eviction(PodTarget),
    /// It changes what a group wants.
    Size(GroupName),
    /// Nothing.
    Other,
}

/// Whether to send a command.
#[derive(Debug, PartialEq)]
pub(crate) enum Offer {
    /// Send it.
    Send,
    /// It is under way; look again then.
    UnderWay(Time),
    /// It was refused, and is tried again later.
    Later(Time, WaitingOn),
}

impl Sent {
    /// Asks whether a command that is wanted is to be sent, and notes it if so.
    pub(crate) fn offer(&mut self, now: Time, key: &CommandKey, what: &Text, about: About) -> Offer {
        let state = State::Flying { until: now + COMMAND_LIFE };
        let Some(entry) = self.entries.get_mut(key) else {
            let entry = Entry { what: what.clone(), about, state, tries: 0, is_wanted: true };
            self.entries.insert(key.clone(), entry);
            return Offer::Send;
        };
        entry.is_wanted = true;
        match &entry.state {
            State::Flying { until } | State::Done { until } if *until >= now => Offer::UnderWay(*until),
            State::Refused { again, message, .. } if *again > now => {
                let on = WaitingOn::Retry { what: entry.what.clone(), message: message.clone(), at: *again };
                Offer::Later(*again, on)
            }
            State::Flying { .. } | State::Done { .. } | State::Refused { .. } => {
                entry.about = about;
                entry.state = state;
                Offer::Send
            }
        }
    }

    /// Takes in an answer. One that nobody waits for any more is of no interest.
    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        let Some(entry) = self.entries.get_mut(&outcome.key) else { return };
        entry.state = match &outcome.result {
            Ok(()) => State::Done { until: outcome.at + SEEN_WITHIN },
            Err(refusal) => {
                let wait = retry_after(refusal, entry.tries);
                entry.tries += 1;
                let claims = matches!(refusal, Refusal::Budget { .. } | Refusal::Later { .. });
                let message = Text::from(refusal.to_string());
                State::Refused { again: outcome.at + wait, message, claims }
            }
        };
    }

    /// Whether a command is on its way, or done and not seen.
    pub(crate) fn is_under_way(&self, now: Time, key: &CommandKey) -> bool {
        match self.entries.get(key).map(|entry| &entry.state) {
            Some(State::Flying { until } | State::Done { until }) => *until >= now,
            Some(State::Refused { .. }) | None => false,
        }
    }

    /// Whether a command was refused and is not yet to be tried again.
    pub(crate) fn is_refused(&self, now: Time, key: &CommandKey) -> bool {
        let state = self.entries.get(key).map(|entry| &entry.state);
        matches!(state, Some(State::Refused { again, .. }) if *again > now)
    }

    /// Whether a command has a claim to what it needs: it is under way, or was refused for want of it and will be tried
    /// again before others that need the same.
    pub(crate) fn claims(&self, now: Time, key: &CommandKey) -> bool {
        let is_resting = self.entries.get(key).is_some_and(
            |entry| matches!(&entry.state, State::Refused { again, claims: true, .. } if *again > now),
        );
        is_resting || self.is_under_way(now, key)
    }

    /// Drains whose beginning is under way, and when they begin.
    pub(crate) fn drains(&self, now: Time) -> Vec<(NodeName, Time)> {
        let entries = self.entries.iter().filter(|(key, _)| self.is_under_way(now, key));
        entries
            .filter_map(|(_, entry)| match &entry.about {
                About::Drain(node, from) => Some((node.clone(), *from)),
                About::Eviction(_) | About::Size(_) | About::Other => None,
            })
            .collect()
    }

    /// Whether somebody else than those whose keys begin so is changing what a group wants: what is seen of its size is about to be
    /// out of date.
    pub(crate) fn is_resized(&self, now: Time, group: &GroupName, but: &str) -> bool {
        let others = self.entries.iter().filter(|(key, _)| !key.0.starts_with(but));
        let mut sizes = others.filter(|(_, entry)| matches!(&entry.about, About::Size(of) if of == group));
        sizes.any(|(key, _)| self.is_under_way(now, key))
    }

    /// Goes on wanting everything whose key begins so: whoever sent it does not look at this decision.
    pub(crate) fn keep(&mut self, from: &str) {
        self.entries
            .iter_mut()
            .filter(|(key, _)| key.0.starts_with(from))
            .for_each(|(_, entry)| entry.is_wanted = true);
    }

    /// Pods of which the eviction has a claim to what it needs, those aside whose keys begin so, if any are.
    pub(crate) fn evictions(&self, now: Time, but: Option<&str>) -> Vec<PodTarget> {
        let entries = self.entries.iter().filter(|(key, _)| but.is_none_or(|but| !key.0.starts_with(but)));
        let pods = entries.filter_map(|(key, entry)| match &entry.about {
            About::Eviction(pod) => self.claims(now, key).then(|| pod.clone()),
            About::Drain(..) | About::Size(_) | About::Other => None,
        });
        pods.collect()
    }

    /// Forgets what this decision did not want: it has been seen, or is wanted no more.
    pub(crate) fn sweep(&mut self) {
        self.entries.retain(|_, entry| std::mem::take(&mut entry.is_wanted));
    }
}

fn retry_after(refusal: &Refusal, tries: u32) -> Span {
    let doubled = |first: Span| {
        let factor = 1_i64 << tries.min(5);
        Span::from_millis(first.as_millis() * factor).min(RETRY_MAX)
    };
    match refusal {
        Refusal::Budget { .. } | Refusal::Failed { .. } => doubled(BUDGET_RETRY),
        Refusal::Later { after_seconds, .. } => {
            Span::from_secs((*after_seconds).max(1)).max(doubled(CONFLICT_RETRY))
        }
        Refusal::Conflict { .. } | Refusal::Gone { .. } => doubled(CONFLICT_RETRY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1000)
    }

    fn key() -> CommandKey {
        CommandKey("k".into())
    }

    fn answer(seconds: i64, result: Result<(), Refusal>) -> Outcome {
        Outcome { key: key(), at: at(seconds), result }
    }

    #[test]
    fn a_command_is_sent_once_while_it_is_under_way_and_again_when_it_is_lost() {
        let mut sent = Sent::default();
        let what = Text::from("eviction");
        assert_eq!(sent.offer(at(0), &key(), &what, About::Other), Offer::Send);
        assert_eq!(sent.offer(at(1), &key(), &what, About::Other), Offer::UnderWay(at(60)));
        sent.outcome(&answer(2, Ok(())));
        assert_eq!(sent.offer(at(3), &key(), &what, About::Other), Offer::UnderWay(at(62)));
        assert_eq!(sent.offer(at(63), &key(), &what, About::Other), Offer::Send, "the effect was never seen");
    }

    #[test]
    fn refusals_are_retried_ever_more_slowly() {
        let mut sent = Sent::default();
        let what = Text::from("eviction");
        assert_eq!(sent.offer(at(0), &key(), &what, About::Other), Offer::Send);
        let mut now = 0;
        for wait in [5, 10, 20, 40, 60, 60] {
            sent.outcome(&answer(now, Err(Refusal::Budget { message: "no".into() })));
            let on = WaitingOn::Retry { what: what.clone(), message: "no".into(), at: at(now + wait) };
            assert_eq!(
                sent.offer(at(now + wait - 1), &key(), &what, About::Other),
                Offer::Later(at(now + wait), on)
            );
            now += wait;
            assert_eq!(sent.offer(at(now), &key(), &what, About::Other), Offer::Send);
        }
        sent.outcome(&answer(now, Err(Refusal::Later { after_seconds: 100, message: "busy".into() })));
        assert!(
            matches!(sent.offer(at(now), &key(), &what, About::Other), Offer::Later(again, _) if again == at(now + 100))
        );
    }

    #[test]
    fn evictions_under_way_are_told_to_all_but_whoever_sent_them() {
        let mut sent = Sent::default();
        let pod = PodTarget { key: replank_model::object::meta::Key::new("shop", "web"), uid: "web".into() };
        let what = Text::from("eviction");
        assert_eq!(sent.offer(at(0), &key(), &what, About::Eviction(pod.clone())), Offer::Send);
        assert_eq!(sent.evictions(at(1), None), std::slice::from_ref(&pod));
        assert_eq!(sent.evictions(at(1), Some("another/")), [pod]);
        assert_eq!(sent.evictions(at(1), Some("k")), []);
        assert_eq!(sent.evictions(at(61), None), [], "it was lost");
    }

    #[test]
    fn what_is_wanted_no_more_is_forgotten() {
        let mut sent = Sent::default();
        let what = Text::from("drain");
        let drain = About::Drain(NodeName::from("n"), at(9));
        assert_eq!(sent.offer(at(0), &key(), &what, drain), Offer::Send);
        assert_eq!(sent.drains(at(1)), [(NodeName::from("n"), at(9))]);
        sent.sweep();
        assert!(sent.is_under_way(at(1), &key()), "it was wanted in this decision");
        sent.sweep();
        assert!(!sent.is_under_way(at(1), &key()));
        sent.outcome(&answer(2, Ok(())));
        assert_eq!(sent.drains(at(1)), []);
    }
}
