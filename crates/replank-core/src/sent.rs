//! Commands that were sent and whose effects are not seen yet.
//!
//! What is to be done is read off the View anew at every decision, so an effect that is not seen yet is wanted again. This memory
//! keeps it from being sent again every second. It is a cache: without it a command is sent once more under the same
//! key, and has one effect all the same.
//!
//! All modules of a decision share one memory: an eviction that any of them has sent counts for every other.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::GroupKind;
use replank_model::text::{GroupName, NodeName, Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use rustc_hash::FxHashMap;

use replank_protocol::command::{Answer, Claim, CommandKey, Effect, Outcome, PodTarget, Refusal};
use replank_protocol::waiting::{RunWait, WaitingOn};

/// How long a command may be carried out after it was sent: long enough for a busy API server, short enough that the View
/// it was decided on is not far from the truth.
pub(crate) const COMMAND_LIFE: Span = Span::from_secs(60);
/// How long after the answer an effect may take to be seen before the command is sent again. Watches lag by seconds.
const SEEN_WITHIN: Span = Span::from_secs(60);
/// How long the effect of a command may take to be seen of which nobody knows whether it was carried out.
pub(crate) const SETTLED_WITHIN: Span = Span::from_secs(120);
/// First wait after a refusal by a budget: kubectl's (pkg/drain).
const BUDGET_RETRY: Span = Span::from_secs(5);
/// First wait after a failed precondition: until the View has caught up.
const CONFLICT_RETRY: Span = Span::from_secs(3);
/// Longest wait between two attempts.
const RETRY_MAX: Span = Span::from_secs(60);

/// See the module's page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    entries: BTreeMap<CommandKey, Entry>,
    /// How many of these evict a pod: hardly any pod that is asked about is one of them, and its keys need not be made.
    evicting: FxHashMap<Uid, u32>,
    /// Evictions that may still be carried out, wanted or not, and until when.
    unanswered: BTreeMap<CommandKey, (PodTarget, Time)>,
    /// Groups whose Auto Scaling group EKS owns.
    owned_by_eks: BTreeSet<GroupName>,
}

#[derive(Clone, Debug)]
struct Entry {
    what: Text,
    claim: Claim,
    state: State,
    tries: u32,
    is_wanted: bool,
}

#[derive(Clone, Debug)]
enum State {
    /// No answer yet.
    Flying { until: Time },
    /// Carried out, not seen.
    Done { until: Time },
    /// Sent, and nobody knows whether it was carried out: until then its effect may come to be seen.
    Unknown { until: Time },
    /// Refused.
    Refused { again: Time, refusal: Refusal },
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
    /// Notes which groups EKS owns, as of this decision.
    pub(crate) fn note_owners(&mut self, view: &View) {
        let groups = view.groups().values().filter(|group| group.kind == GroupKind::EksManaged);
        self.owned_by_eks = groups.map(|group| group.name.clone()).collect();
    }

    /// Whether an effect would change an Auto Scaling group that EKS owns: nobody sends that.
    pub(crate) fn is_for_eks_only(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Group(effect) => {
                effect.changes_auto_scaling_group().is_some_and(|group| self.owned_by_eks.contains(group))
            }
            Effect::Kubernetes(_) | Effect::Queue(_) => false,
        }
    }

    /// Asks whether a command that is wanted is to be sent, and notes it if so.
    pub(crate) fn offer(&mut self, now: Time, key: &CommandKey, what: &Text, claim: Claim) -> Offer {
        let pod = if let Claim::Eviction(pod) = &claim { Some(pod.clone()) } else { None };
        let offer = self.look_up(now, key, what, claim);
        if let (Offer::Send, Some(pod)) = (&offer, pod) {
            self.unanswered.insert(key.clone(), (pod, now + COMMAND_LIFE));
        }
        offer
    }

    fn look_up(&mut self, now: Time, key: &CommandKey, what: &Text, claim: Claim) -> Offer {
        let state = State::Flying { until: now + COMMAND_LIFE };
        let Some(entry) = self.entries.get_mut(key) else {
            count(&mut self.evicting, &claim, 1);
            let entry = Entry { what: what.clone(), claim, state, tries: 0, is_wanted: true };
            self.entries.insert(key.clone(), entry);
            return Offer::Send;
        };
        entry.is_wanted = true;
        if let Some((until, refused)) = entry.standing(now) {
            return refused.map_or(Offer::UnderWay(until), |on| Offer::Later(until, on));
        }
        count(&mut self.evicting, &claim, 1);
        count(&mut self.evicting, &entry.claim, -1);
        entry.claim = claim;
        entry.state = state;
        Offer::Send
    }

    /// Asks for a command again that is under way, or refused and to be tried again: until when, what it is, and what it was refused with. `None` where it would be
    /// sent.
    pub(crate) fn renew(&mut self, now: Time, key: &CommandKey) -> Option<(Time, Text, Option<WaitingOn>)> {
        let entry = self.entries.get_mut(key)?;
        let (until, refused) = entry.standing(now)?;
        entry.is_wanted = true;
        Some((until, entry.what.clone(), refused))
    }

    /// Takes in an answer. One that nobody waits for any more is of no interest.
    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        if self.is_of_an_earlier_copy(outcome) {
            return;
        }
        match &outcome.answer {
            // The driver may have given up before the server has.
            Answer::Unknown { .. } => {}
            Answer::Done | Answer::Refused(_) => _ = self.unanswered.remove(&outcome.key),
        }
        let Some(entry) = self.entries.get_mut(&outcome.key) else { return };
        entry.state = match &outcome.answer {
            Answer::Done => State::Done { until: outcome.at + SEEN_WITHIN },
            // It keeps its claim for as long as it may still be carried out and come to be seen. What is then wanted is decided anew from what is
            // observed, and the driver checks before it repeats.
            Answer::Unknown { .. } => State::Unknown { until: outcome.at + SETTLED_WITHIN },
            Answer::Refused(refusal) => {
                let wait = retry_after(refusal, entry.tries);
                // One that was too late was not tried.
                entry.tries += u32::from(*refusal != Refusal::Late);
                State::Refused { again: outcome.at + wait, refusal: refusal.clone() }
            }
        };
    }

    /// Whether an answer says that a command is too late which is still in time: it is of a copy that was sent before.
    fn is_of_an_earlier_copy(&self, outcome: &Outcome) -> bool {
        let is_late = matches!(outcome.answer, Answer::Refused(Refusal::Late));
        let state = self.entries.get(&outcome.key).map(|entry| &entry.state);
        is_late && matches!(state, Some(State::Flying { until }) if *until > outcome.at)
    }

    /// Whether a command is known whose key begins so.
    pub(crate) fn knows_any(&self, from: &CommandKey) -> bool {
        self.entries.range(from..).next().is_some_and(|(key, _)| key.0.starts_with(&*from.0))
    }

    /// Whether a command is on its way, or done and not seen.
    pub(crate) fn is_under_way(&self, now: Time, key: &CommandKey) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.is_under_way(now))
    }

    /// Whether a command that evicts a pod is known, whoever sent it and whatever has become of it.
    pub(crate) fn knows_eviction(&self, pod: &Uid) -> bool {
        self.evicting.contains_key(pod)
    }

    /// Pods that known commands evict, whoever sent them and whatever has become of them.
    pub(crate) fn evicted(&self) -> impl Iterator<Item = &PodTarget> {
        self.entries.values().filter_map(|entry| match &entry.claim {
            Claim::Eviction(pod) => Some(pod),
            Claim::Drain(..) | Claim::Size(_) | Claim::Nothing => None,
        })
    }

    /// Whether an answer has come to a command.
    pub(crate) fn is_answered(&self, key: &CommandKey) -> bool {
        match self.entries.get(key).map(|entry| &entry.state) {
            Some(State::Done { .. } | State::Unknown { .. } | State::Refused { .. }) => true,
            Some(State::Flying { .. }) | None => false,
        }
    }

    /// Whether a command was refused and is not yet to be tried again.
    pub(crate) fn is_refused(&self, now: Time, key: &CommandKey) -> bool {
        let state = self.entries.get(key).map(|entry| &entry.state);
        matches!(state, Some(State::Refused { again, .. }) if *again > now)
    }

    /// What a command was refused with, if that was the last answer. It stays known as long as this is asked.
    pub(crate) fn refusal(&mut self, key: &CommandKey) -> Option<&Refusal> {
        let entry = self.entries.get_mut(key)?;
        entry.is_wanted = true;
        match &entry.state {
            State::Refused { refusal, .. } => Some(refusal),
            State::Flying { .. } | State::Done { .. } | State::Unknown { .. } => None,
        }
    }

    /// Whether a command has a claim to what it needs: it is under way, or was refused for want of it and will be tried
    /// again before others that need the same.
    pub(crate) fn claims(&self, now: Time, key: &CommandKey) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.claims(now))
    }

    /// Drains whose beginning is under way, and when they begin.
    pub(crate) fn drains(&self, now: Time) -> Vec<(NodeName, Time)> {
        let entries = self.entries.values().filter(|entry| entry.is_under_way(now));
        entries
            .filter_map(|entry| match &entry.claim {
                Claim::Drain(node, from) => Some((node.name.clone(), *from)),
                Claim::Eviction(_) | Claim::Size(_) | Claim::Nothing => None,
            })
            .collect()
    }

    /// Whether somebody else than those whose keys begin so is changing what a group wants: what is seen of its size is about to be
    /// out of date.
    pub(crate) fn is_resized(&self, now: Time, group: &GroupName, but: &str) -> bool {
        let others = self.entries.iter().filter(|(key, _)| !key.0.starts_with(but));
        let mut sizes = others.filter(|(_, entry)| matches!(&entry.claim, Claim::Size(of) if of == group));
        sizes.any(|(_, entry)| entry.is_under_way(now))
    }

    /// Keeps every command whose key begins so: its module does not decide now.
    pub(crate) fn keep(&mut self, from: &str) {
        self.entries
            .iter_mut()
            .filter(|(key, _)| key.0.starts_with(from))
            .for_each(|(_, entry)| entry.is_wanted = true);
    }

    /// Pods of which the eviction has a claim to what it needs, those aside whose keys begin so, if any are.
    pub(crate) fn evictions(&self, now: Time, but: Option<&str>) -> Vec<PodTarget> {
        let entries = self.entries.iter().filter(|(key, _)| but.is_none_or(|but| !key.0.starts_with(but)));
        let pods = entries.filter_map(|(_, entry)| match &entry.claim {
            Claim::Eviction(pod) => entry.claims(now).then(|| pod.clone()),
            Claim::Drain(..) | Claim::Size(_) | Claim::Nothing => None,
        });
        pods.collect()
    }

    /// Until when an eviction of a pod may still be carried out, if one was sent and not answered. That it is wanted no more does not stop it.
    pub(crate) fn may_be_evicted(&self, now: Time, pod: &Uid) -> Option<Time> {
        let mut sent = self.unanswered.values().filter(|(of, until)| of.uid == *pod && *until >= now);
        sent.next().map(|(_, until)| *until)
    }

    /// Forgets evictions that can no longer be carried out.
    pub(crate) fn forget_late(&mut self, now: Time) {
        self.unanswered.retain(|_, (_, until)| *until >= now);
    }

    /// Forgets what this decision did not want: it has been seen, or is wanted no more.
    pub(crate) fn sweep(&mut self) {
        let evicting = &mut self.evicting;
        self.entries.retain(|_, entry| {
            let is_wanted = std::mem::take(&mut entry.is_wanted);
            if !is_wanted {
                count(evicting, &entry.claim, -1);
            }
            is_wanted
        });
    }
}

impl Entry {
    /// Until when it is under way, or is not tried again and for what it was refused; `None` where it is to be sent.
    fn standing(&self, now: Time) -> Option<(Time, Option<WaitingOn>)> {
        match &self.state {
            State::Flying { until } | State::Done { until } | State::Unknown { until } => {
                (*until >= now).then_some((*until, None))
            }
            State::Refused { again, refusal } => {
                (*again > now).then(|| (*again, Some(waits_on(self, refusal, *again))))
            }
        }
    }

    /// Whether it is on its way, or done and not seen.
    fn is_under_way(&self, now: Time) -> bool {
        match &self.state {
            State::Flying { until } | State::Done { until } | State::Unknown { until } => *until >= now,
            State::Refused { .. } => false,
        }
    }

    /// See [`Sent::claims`].
    fn claims(&self, now: Time) -> bool {
        match &self.state {
            State::Refused { again, refusal: Refusal::Budget { .. } } => *again > now,
            State::Flying { .. } | State::Done { .. } | State::Unknown { .. } | State::Refused { .. } => {
                self.is_under_way(now)
            }
        }
    }
}

/// Counts one more or one less eviction of a pod, where that is what is claimed.
fn count(evicting: &mut FxHashMap<Uid, u32>, claim: &Claim, more: i32) {
    let Claim::Eviction(pod) = claim else { return };
    let count = evicting.entry(pod.uid.clone()).or_default();
    *count = count.saturating_add_signed(more);
    if *count == 0 {
        evicting.remove(&pod.uid);
    }
}

fn retry_after(refusal: &Refusal, tries: u32) -> Span {
    let doubled = |first: Span| {
        let factor = 1_i64 << tries.min(5);
        Span::from_millis(first.as_millis() * factor).min(RETRY_MAX)
    };
    match refusal {
        Refusal::Budget { retry_after_seconds, .. } => {
            let asked = retry_after_seconds.map_or(Span::default(), Span::from_secs);
            doubled(BUDGET_RETRY).max(asked)
        }
        Refusal::Denied { .. } | Refusal::Failed { .. } => doubled(BUDGET_RETRY),
        Refusal::Conflict { .. } | Refusal::Gone { .. } | Refusal::Mismatch { .. } => doubled(CONFLICT_RETRY),
        Refusal::Late => CONFLICT_RETRY,
    }
}

fn waits_on(entry: &Entry, refusal: &Refusal, at: Time) -> WaitingOn {
    let what = entry.what.clone();
    match refusal {
        Refusal::Denied { webhook, message } => {
            let (webhook, message) = (webhook.clone(), message.clone());
            WaitingOn::Run(RunWait::Denied { what, webhook, message, tries: entry.tries, at })
        }
        Refusal::Budget { .. }
        | Refusal::Conflict { .. }
        | Refusal::Gone { .. }
        | Refusal::Mismatch { .. }
        | Refusal::Late
        | Refusal::Failed { .. } => {
            WaitingOn::Run(RunWait::Retry { what, message: Text::from(refusal.to_string()), at })
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_protocol::command::NodeTarget;

    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1000)
    }

    fn key() -> CommandKey {
        CommandKey("k".into())
    }

    fn answer(seconds: i64, result: Result<(), Refusal>) -> Outcome {
        Outcome { key: key(), at: at(seconds), answer: result.into() }
    }

    #[test]
    fn a_command_is_sent_once_while_it_is_under_way_and_again_when_it_is_lost() {
        let mut sent = Sent::default();
        let what = Text::from("eviction");
        assert_eq!(sent.offer(at(0), &key(), &what, Claim::Nothing), Offer::Send);
        assert_eq!(sent.offer(at(1), &key(), &what, Claim::Nothing), Offer::UnderWay(at(60)));
        sent.outcome(&answer(2, Ok(())));
        assert_eq!(sent.offer(at(3), &key(), &what, Claim::Nothing), Offer::UnderWay(at(62)));
        assert_eq!(
            sent.offer(at(63), &key(), &what, Claim::Nothing),
            Offer::Send,
            "the effect was never seen"
        );
    }

    #[test]
    fn refusals_are_retried_ever_more_slowly() {
        let mut sent = Sent::default();
        let what = Text::from("eviction");
        assert_eq!(sent.offer(at(0), &key(), &what, Claim::Nothing), Offer::Send);
        let mut now = 0;
        for wait in [5, 10, 20, 40, 60, 60] {
            sent.outcome(&answer(
                now,
                Err(Refusal::Budget { message: "no".into(), retry_after_seconds: None }),
            ));
            let on = WaitingOn::Run(RunWait::Retry {
                what: what.clone(),
                message: "no".into(),
                at: at(now + wait),
            });
            assert_eq!(
                sent.offer(at(now + wait - 1), &key(), &what, Claim::Nothing),
                Offer::Later(at(now + wait), on)
            );
            now += wait;
            assert_eq!(sent.offer(at(now), &key(), &what, Claim::Nothing), Offer::Send);
        }
        sent.outcome(&answer(
            now,
            Err(Refusal::Budget { message: "busy".into(), retry_after_seconds: Some(100) }),
        ));
        assert!(
            matches!(sent.offer(at(now), &key(), &what, Claim::Nothing), Offer::Later(again, _) if again == at(now + 100))
        );
    }

    #[test]
    fn what_was_too_late_was_not_tried() {
        let mut sent = Sent::default();
        let what = Text::from("eviction");
        for now in [0, 100, 200] {
            assert_eq!(sent.offer(at(now), &key(), &what, Claim::Nothing), Offer::Send);
            sent.outcome(&answer(now + 61, Err(Refusal::Late)));
            assert!(
                matches!(sent.offer(at(now + 61), &key(), &what, Claim::Nothing), Offer::Later(again, _) if again == at(now + 64)),
                "after {now} s"
            );
        }
    }

    #[test]
    fn a_late_answer_to_an_earlier_copy_is_none_to_the_one_that_is_under_way() {
        let mut sent = Sent::default();
        let pod = PodTarget { key: replank_model::object::meta::Key::new("shop", "web"), uid: "web".into() };
        let (what, claim) = (Text::from("eviction"), || Claim::Eviction(pod.clone()));
        assert_eq!(sent.offer(at(0), &key(), &what, claim()), Offer::Send);
        assert_eq!(sent.offer(at(61), &key(), &what, claim()), Offer::Send, "nothing was heard of it");
        sent.outcome(&answer(62, Err(Refusal::Late)));
        assert_eq!(sent.offer(at(63), &key(), &what, claim()), Offer::UnderWay(at(121)));
        assert_eq!(sent.may_be_evicted(at(63), &pod.uid), Some(at(121)));
    }

    #[test]
    fn what_nobody_knows_keeps_its_claim_and_is_not_repeated_until_it_can_no_longer_come() {
        let mut sent = Sent::default();
        let pod = PodTarget { key: replank_model::object::meta::Key::new("shop", "web"), uid: "web".into() };
        let (what, claim) = (Text::from("eviction"), || Claim::Eviction(pod.clone()));
        assert_eq!(sent.offer(at(0), &key(), &what, claim()), Offer::Send);
        let unknown = Answer::Unknown { message: "the connection was cut".into() };
        sent.outcome(&Outcome { key: key(), at: at(10), answer: unknown });
        assert_eq!(sent.offer(at(11), &key(), &what, claim()), Offer::UnderWay(at(130)));
        assert_eq!(sent.evictions(at(130), None), std::slice::from_ref(&pod));
        assert_eq!(sent.offer(at(131), &key(), &what, claim()), Offer::Send);
    }

    #[test]
    fn a_webhook_s_denial_is_a_reason_of_its_own_and_counts_its_tries() {
        let mut sent = Sent::default();
        let what = Text::from("eviction");
        let mut now = 0;
        for tries in 1..=3 {
            assert_eq!(sent.offer(at(now), &key(), &what, Claim::Nothing), Offer::Send);
            sent.outcome(&answer(now, Err(Refusal::Denied { webhook: "w".into(), message: "no".into() })));
            let Offer::Later(again, WaitingOn::Run(RunWait::Denied { tries: told, .. })) =
                sent.offer(at(now), &key(), &what, Claim::Nothing)
            else {
                panic!("it is tried again later")
            };
            assert_eq!(told, tries);
            now = again.as_millis() / 1000;
        }
    }

    #[test]
    fn evictions_under_way_are_told_to_all_but_whoever_sent_them() {
        let mut sent = Sent::default();
        let pod = PodTarget { key: replank_model::object::meta::Key::new("shop", "web"), uid: "web".into() };
        let what = Text::from("eviction");
        assert_eq!(sent.offer(at(0), &key(), &what, Claim::Eviction(pod.clone())), Offer::Send);
        assert_eq!(sent.evictions(at(1), None), std::slice::from_ref(&pod));
        assert_eq!(sent.evictions(at(1), Some("another/")), [pod]);
        assert_eq!(sent.evictions(at(1), Some("k")), []);
        assert_eq!(sent.evictions(at(61), None), [], "it was lost");
    }

    #[test]
    fn an_eviction_that_is_wanted_no_more_may_still_be_carried_out() {
        let mut sent = Sent::default();
        let pod = PodTarget { key: replank_model::object::meta::Key::new("shop", "web"), uid: "web".into() };
        let what = Text::from("eviction");
        assert_eq!(sent.offer(at(0), &key(), &what, Claim::Eviction(pod.clone())), Offer::Send);
        sent.sweep();
        sent.sweep();
        assert_eq!(sent.may_be_evicted(at(9), &pod.uid), Some(at(60)));
        assert_eq!(sent.may_be_evicted(at(61), &pod.uid), None, "its deadline has passed");
        sent.outcome(&Outcome { key: key(), at: at(10), answer: Answer::Unknown { message: "".into() } });
        assert_eq!(sent.may_be_evicted(at(11), &pod.uid), Some(at(60)));
        sent.outcome(&answer(12, Ok(())));
        assert_eq!(sent.may_be_evicted(at(13), &pod.uid), None);
    }

    #[test]
    fn what_is_wanted_no_more_is_forgotten() {
        let mut sent = Sent::default();
        let what = Text::from("drain");
        let drain = Claim::Drain(NodeTarget { name: NodeName::from("n"), uid: "n".into() }, at(9));
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
