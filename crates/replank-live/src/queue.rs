//! A queue of messages about instances, as the driver sees it: one small trait.

use std::fmt::Debug;

use replank_model::text::{MessageId, Text};
use replank_model::time::{Span, Time};
use replank_protocol::command::QueueEffect;
use replank_protocol::outcome::Answer;

use crate::cloud::{Order, Pending};

/// A message, as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The same whenever it is delivered.
    pub id: MessageId,
    /// What it is deleted by: another one at every delivery.
    pub receipt: Text,
    /// Its body, unread.
    pub body: Text,
    /// When it was sent, by the queue's clock.
    pub sent: Time,
    /// How often it has been received, by whomever.
    pub count: u32,
}

/// A queue of messages about instances.
pub trait Queue: Debug + Send + Sync {
    /// Waits for messages, for some seconds at most. Nobody else receives them for [`Queue::hides_for`].
    fn receive(&self) -> Pending<'_, Result<Vec<Received>, String>>;

    /// How long what was received is hidden from others.
    fn hides_for(&self) -> Span;

    /// Hides a message for longer, as seen from `now`, or deletes it. Both can be repeated.
    fn act<'a>(&'a self, effect: &'a QueueEffect, now: Time, order: Order<'a>) -> Pending<'a, Answer>;
}
