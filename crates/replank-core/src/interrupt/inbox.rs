//! Messages, each read once.

use std::collections::BTreeSet;

use replank_model::object::cloud::Message;
use replank_model::text::{MessageId, Text};
use replank_model::time::{Span, Time};

use super::body::Body;
use super::context::Context;
use super::notice::Notice;
use replank_protocol::command::{Effect, QueueEffect};
use replank_protocol::waiting::{InterruptionEnd, Subject, WaitingOn};

pub(super) use super::messages::Inbox;

/// A message is held on to when it would be received by others so soon.
const HOLD_BEFORE: Span = Span::from_secs(10);
/// For how long it is held then: long enough to hold few times, short enough that another process gets it soon should this one
/// be gone.
const HOLD_FOR: Span = Span::from_secs(120);

impl Inbox {
    /// Deletes what is over, holds what is `open`, names what cannot be read.
    pub(super) fn settle(&self, ctx: &mut Context<'_>, open: &BTreeSet<MessageId>) {
        for (message, body) in self.read.values() {
            match body {
                Body::Test | Body::Foreign { .. } => delete(ctx, message),
                Body::Poison(poison) => {
                    let (why, received) = (Text::from(poison.to_string()), message.received_count);
                    ctx.wait(
                        Subject::Message(message.id.clone()),
                        WaitingOn::InterruptionEnd(InterruptionEnd::Poison { why, received }),
                    );
                }
                Body::Notice(_) if open.contains(&message.id) => hold(ctx, message),
                Body::Notice(_) => delete(ctx, message),
            }
        }
    }
}

/// When something happened: when its sender says, but not after it was told.
pub(super) fn happened(message: &Message, notice: &Notice) -> Time {
    notice.at.map_or(message.sent, |at| at.min(message.sent))
}

fn delete(ctx: &mut Context<'_>, message: &Message) {
    let effect = Effect::Queue(QueueEffect::DeleteMessage {
        message: message.id.clone(),
        receipt: message.receipt.clone(),
    });
    let key = ctx.key("delete", format!("{}/{}", message.id, message.received_count));
    ctx.send(Subject::Message(message.id.clone()), "deletion of a message", key, effect);
}

/// Keeps a message from others. Where the queue will not hide it for longer it comes back, to us or to somebody else, and is looked at anew: what has been
/// done is seen on nodes and groups, and is not done again.
fn hold(ctx: &mut Context<'_>, message: &Message) {
    let most = message.hidden_until_max();
    if message.hidden_until >= most {
        return;
    }
    let from = message.hidden_until - HOLD_BEFORE;
    if ctx.now < from {
        ctx.wake_at(from);
        return;
    }
    let until = (ctx.now + HOLD_FOR).min(most);
    let effect = Effect::Queue(QueueEffect::HoldMessage {
        message: message.id.clone(),
        receipt: message.receipt.clone(),
        until,
    });
    let key = ctx.key("hold", format!("{}/{}", message.id, message.hidden_until));
    ctx.send_silently(key, effect);
}
