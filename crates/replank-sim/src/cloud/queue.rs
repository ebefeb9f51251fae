//! The queue that events about instances come by, as Amazon SQS keeps one.
//!
//! A message comes at least once: late, out of order, one in ten twice, unless a script says otherwise. A receiver has it alone until its
//! visibility timeout is over, then it is received again; one that was received too often goes to the dead letters.

use std::collections::BTreeMap;

use replank_model::delta::Delta;
use replank_model::object::cloud::Message;
use replank_model::text::{MessageId, Text};
use replank_model::time::{Span, Time};
use replank_protocol::command::Refusal;

use super::Range;
use crate::context::Ctx;
use crate::event::{CloudDue, Event};
use replank_apiserver::draw::{Draw, Purpose};
use serde::{Deserialize, Serialize};

/// How long a message is hidden from others once it is received.
const VISIBILITY: Span = Span::from_secs(30);
/// How often one is received before it goes to the dead letters (`maxReceiveCount`).
const RECEIVES_MAX: u32 = 5;
/// From an event to its message, and from a message that can be received to its receipt.
const ON_THE_WAY: Range = Range { low: Span::from_millis(200), high: Span::from_secs(5) };
/// From one delivery to another that should not be.
const AGAIN: Range = Range { low: Span::from_millis(500), high: Span::from_secs(20) };
/// One message in so many comes twice.
const TWICE_IN: u32 = 10;

/// How the queue for events about instances delivers its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// What is sent is lost for so long.
    Lost(Span),
    /// One message in so many comes twice; none for 0.
    Twice(u32),
    /// One message in so many comes so much later; none for 0.
    Late(u32, Span),
}

/// See the module's page.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Queue {
    messages: Vec<Queued>,
    number_of: BTreeMap<MessageId, usize>,
    /// What the receiver is shown.
    #[serde(skip)]
    deliveries: Vec<Delta>,
    /// Until when nothing that is sent arrives.
    lost_until: Option<Time>,
    /// One message in so many comes twice.
    twice_in: u32,
    /// One in so many comes so much later.
    late: (u32, Span),
}

#[derive(Debug, Serialize, Deserialize)]
struct Queued {
    message: Message,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    Waiting,
    Received,
    Deleted,
    Dead,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            number_of: BTreeMap::new(),
            deliveries: Vec::new(),
            lost_until: None,
            twice_in: TWICE_IN,
            late: (0, Span::ZERO),
        }
    }
}

impl Queue {
    /// Changes how messages come that are sent from now on.
    pub(super) fn deliver(&mut self, delivery: Delivery, now: Time) {
        match delivery {
            Delivery::Lost(span) => self.lost_until = Some(now + span),
            Delivery::Twice(one_in) => self.twice_in = one_in,
            Delivery::Late(one_in, by) => self.late = (one_in, by),
        }
    }

    pub(super) fn send(&mut self, ctx: &mut Ctx<'_>, body: String) {
        let now = ctx.api.now();
        if self.lost_until.is_some_and(|until| now < until) {
            return;
        }
        let number = self.messages.len();
        let count = u64::try_from(number).expect("few messages");
        let id = MessageId::from(format!("m-{number:04}"));
        let message = Message {
            id: id.clone(),
            receipt: Text::default(),
            body: Text::from(body),
            sent: now,
            received: now,
            hidden_until: now,
            received_count: 0,
        };
        self.number_of.insert(id, number);
        self.messages.push(Queued { message, place: Place::Waiting });
        let due = Event::Cloud(CloudDue::Receive(u32::try_from(number).expect("few messages")));
        let draw = |nth| ctx.draws.draw("queue", Purpose::Queue, count * 4 + nth);
        let is_one_in = |one_in: u32, draw: Draw| one_in > 0 && draw.below(one_in.into()) == 0;
        let (late_in, late_by) = self.late;
        let is_late = is_one_in(late_in, ctx.draws.draw("queue/late", Purpose::Queue, count));
        let first = ON_THE_WAY.draw(draw(0)) + if is_late { late_by } else { Span::ZERO };
        ctx.agenda.after(first, due);
        if is_one_in(self.twice_in, draw(1)) {
            ctx.agenda.after(first + AGAIN.draw(draw(2)), due);
        }
    }

    /// A message is received.
    pub(super) fn receive(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Queued { message, place } = &mut self.messages[number as usize];
        match place {
            Place::Deleted | Place::Dead => return,
            Place::Waiting | Place::Received => {}
        }
        if message.received_count >= RECEIVES_MAX {
            *place = Place::Dead;
            self.deliveries.push(Delta::MessageGone(message.id.clone()));
            return;
        }
        *place = Place::Received;
        message.received_count += 1;
        message.receipt = Text::from(format!("{}#{}", message.id, message.received_count));
        message.received = ctx.api.now();
        message.hidden_until = message.received + VISIBILITY;
        self.deliveries.push(Delta::Message(message.clone().into()));
        ctx.agenda.at(message.hidden_until, Event::Cloud(CloudDue::Visible(number)));
    }

    /// A visibility timeout may be over.
    pub(super) fn visible(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Queued { message, place } = &mut self.messages[number as usize];
        if *place != Place::Received || message.hidden_until > ctx.api.now() {
            return;
        }
        *place = Place::Waiting;
        self.deliveries.push(Delta::MessageGone(message.id.clone()));
        let count = u64::from(number) * 4 + 3;
        let span = ON_THE_WAY.draw(ctx.draws.draw(
            "queue",
            Purpose::Queue,
            count + (u64::from(message.received_count) << 32),
        ));
        ctx.agenda.after(span, Event::Cloud(CloudDue::Receive(number)));
    }

    /// ChangeMessageVisibility.
    pub(super) fn hold(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: &MessageId,
        receipt: &str,
        until: Time,
    ) -> Result<(), Refusal> {
        let number = self.received(id, receipt)?;
        let message = &mut self.messages[number].message;
        if until > message.hidden_until_max() {
            let seconds = Message::HIDDEN_MAX.as_millis() / 1000;
            let message =
                format!("the total visibility timeout of {id} would be beyond the limit of {seconds} s");
            return Err(Refusal::Failed { code: 400, message: Text::from(message) });
        }
        message.hidden_until = until;
        self.deliveries.push(Delta::Message(message.clone().into()));
        let number = u32::try_from(number).expect("few messages");
        ctx.agenda.at(until, Event::Cloud(CloudDue::Visible(number)));
        Ok(())
    }

    /// DeleteMessage.
    pub(super) fn delete(&mut self, id: &MessageId, receipt: &str) -> Result<(), Refusal> {
        let number = self.received(id, receipt)?;
        self.messages[number].place = Place::Deleted;
        self.deliveries.push(Delta::MessageGone(id.clone()));
        Ok(())
    }

    fn received(&self, id: &MessageId, receipt: &str) -> Result<usize, Refusal> {
        let number = self.number_of.get(id).copied();
        let is_it = |number: &usize| {
            let Queued { message, place } = &self.messages[*number];
            *place == Place::Received && &*message.receipt == receipt
        };
        number.filter(is_it).ok_or_else(|| {
            let message = Text::from(format!("the receipt handle {receipt} has expired"));
            Refusal::Failed { code: 400, message }
        })
    }

    /// What has been delivered since this was last asked.
    pub(super) fn take_deliveries(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deliveries)
    }

    /// Bodies of messages that nobody could handle.
    pub(super) fn dead_letters(&self) -> impl Iterator<Item = &Text> {
        let dead = self.messages.iter().filter(|queued| queued.place == Place::Dead);
        dead.map(|queued| &queued.message.body)
    }

    /// Messages that are neither deleted nor dead.
    pub(super) fn left(&self) -> usize {
        let is_left = |queued: &&Queued| matches!(queued.place, Place::Waiting | Place::Received);
        self.messages.iter().filter(is_left).count()
    }
}
