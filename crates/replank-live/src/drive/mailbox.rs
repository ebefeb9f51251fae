//! Messages about instances: received one poll after the other, known until they are deleted or others may receive them again.

use std::sync::Arc;
use std::time::Duration;

use replank_model::delta::Delta;
use replank_model::object::cloud::Message;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::QueueEffect;
use replank_protocol::outcome::{Answer, Refusal};

use super::repeated::Repeated;
use super::seen::Learned;
use crate::queue::{Queue, Received};

/// What is received, in words.
const WHAT: &str = "messages of the queue";
/// So many messages are known at most: what is beyond stays in the queue until some are done.
const KNOWN_MAX: usize = 5_000;
/// The longest time until it is looked whether a poll is due.
const LOOK: Duration = Duration::from_secs(1);

/// See the module's page.
#[derive(Debug)]
pub(super) struct Mailbox {
    queue: Arc<dyn Queue>,
    polls: Repeated<Result<Vec<Received>, String>>,
    /// How many are known.
    known: usize,
}

impl Mailbox {
    pub(super) fn new(queue: Arc<dyn Queue>, run: &str) -> Self {
        Self { queue, polls: Repeated::new(WHAT, format!("{run}/queue")), known: 0 }
    }

    pub(super) fn queue(&self) -> &Arc<dyn Queue> {
        &self.queue
    }

    /// Begins to wait for messages, where that is due.
    pub(super) fn poll(&mut self) {
        if self.known < KNOWN_MAX && self.polls.is_due() {
            let queue = self.queue.clone();
            self.polls.ask(async move { queue.receive().await });
        }
    }

    /// How long nothing is due.
    pub(super) fn pause(&self) -> Duration {
        self.polls.pause(LOOK)
    }

    /// What the poll that is under way receives; never, while none is.
    pub(super) async fn received(&mut self) -> Result<Vec<Received>, String> {
        self.polls.answer().await
    }

    /// Takes in what was received.
    pub(super) fn receive(
        &mut self,
        received: Result<Vec<Received>, String>,
        now: Time,
        view: &mut View,
    ) -> Learned {
        let mut learned = Learned::default();
        match received {
            Ok(received) => {
                learned.events.extend(self.polls.succeeded(Duration::ZERO));
                let hidden_until = now + self.queue.hides_for();
                for Received { id, receipt, body, sent, count } in received {
                    let message = Message {
                        id,
                        receipt,
                        body,
                        sent,
                        received: now,
                        hidden_until,
                        received_count: count,
                    };
                    let delta = Delta::Message(Arc::new(message));
                    view.apply(delta.clone());
                    learned.deltas.push(delta);
                }
                self.known = view.messages().len();
            }
            Err(why) => learned.events.extend(self.polls.failed(why)),
        }
        learned
    }

    /// Messages that others may receive by now are not ours any more.
    pub(super) fn give_back(&mut self, now: Time, view: &mut View) -> Vec<Delta> {
        let over = view.messages().values().filter(|message| message.hidden_until <= now);
        let gone: Vec<Delta> = over.map(|message| Delta::MessageGone(message.id.clone())).collect();
        gone.iter().for_each(|delta| drop(view.apply(delta.clone())));
        self.known = view.messages().len();
        gone
    }

    /// Takes in what became of a message. That a receipt was of no use says that the message is not ours any more.
    pub(super) fn settle(&mut self, effect: &QueueEffect, answer: &Answer, view: &mut View) -> Option<Delta> {
        let (id, receipt) = match effect {
            QueueEffect::HoldMessage { message, receipt, .. }
            | QueueEffect::DeleteMessage { message, receipt } => (message, receipt),
        };
        // It may have been received anew meanwhile.
        let known = view.messages().get(id).filter(|known| known.receipt == *receipt)?;
        let delta = match (answer, effect) {
            (Answer::Done, QueueEffect::HoldMessage { until, .. }) => {
                Delta::Message(Arc::new(Message { hidden_until: *until, ..Message::clone(known) }))
            }
            (Answer::Done, QueueEffect::DeleteMessage { .. })
            | (Answer::Refused(Refusal::Gone { .. }), _) => Delta::MessageGone(id.clone()),
            (Answer::Refused(_) | Answer::Unknown { .. }, _) => return None,
        };
        view.apply(delta.clone());
        self.known = view.messages().len();
        Some(delta)
    }
}

#[cfg(test)]
mod tests {
    use replank_model::time::Span;

    use super::*;
    use crate::cloud::{Order, Pending};

    #[derive(Debug)]
    struct Nothing;

    impl Queue for Nothing {
        fn receive(&self) -> Pending<'_, Result<Vec<Received>, String>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn hides_for(&self) -> Span {
            Span::from_secs(30)
        }

        fn act<'a>(&'a self, _: &'a QueueEffect, _: Time, _: Order<'a>) -> Pending<'a, Answer> {
            Box::pin(async { Answer::Done })
        }
    }

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    fn received(receipt: &str, count: u32) -> Received {
        Received { id: "m".into(), receipt: receipt.into(), body: "{}".into(), sent: at(0), count }
    }

    #[test]
    fn a_message_is_known_until_it_is_deleted_or_others_may_receive_it() {
        let (mut mailbox, mut view) = (Mailbox::new(Arc::new(Nothing), "run"), View::default());
        mailbox.receive(Ok(vec![received("r1", 1)]), at(10), &mut view);
        assert!(mailbox.give_back(at(39), &mut view).is_empty());
        let hold = |receipt: &str| QueueEffect::HoldMessage {
            message: "m".into(),
            receipt: receipt.into(),
            until: at(150),
        };
        assert!(mailbox.settle(&hold("r1"), &Answer::Done, &mut view).is_some());
        assert!(mailbox.give_back(at(149), &mut view).is_empty());
        assert_eq!(mailbox.give_back(at(150), &mut view), [Delta::MessageGone("m".into())]);
        // Delivered anew: what becomes of the receipt before says nothing of it.
        mailbox.receive(Ok(vec![received("r2", 2)]), at(151), &mut view);
        let delete =
            |receipt: &str| QueueEffect::DeleteMessage { message: "m".into(), receipt: receipt.into() };
        assert_eq!(mailbox.settle(&delete("r1"), &Answer::Done, &mut view), None);
        assert_eq!(
            mailbox.settle(&delete("r2"), &Answer::Done, &mut view),
            Some(Delta::MessageGone("m".into()))
        );
        assert!(view.messages().is_empty());
    }

    #[test]
    fn a_poll_that_fails_is_told_once_and_takes_nothing_away() {
        let (mut mailbox, mut view) = (Mailbox::new(Arc::new(Nothing), "run"), View::default());
        mailbox.receive(Ok(vec![received("r1", 1)]), at(10), &mut view);
        for events in [1, 0] {
            let lost = mailbox.receive(Err("throttled".to_owned()), at(11), &mut view);
            assert_eq!((lost.deltas.len(), lost.events.len()), (0, events));
        }
        assert_eq!(mailbox.receive(Ok(Vec::new()), at(12), &mut view).events.len(), 1);
        assert_eq!(view.messages().len(), 1);
    }
}
