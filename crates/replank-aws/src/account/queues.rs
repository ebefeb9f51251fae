//! Simple Queue Service: queues that somebody receives from. Standard queues; a message is hidden while somebody has it, and goes to the dead letters when it was
//! received too often. What is sent is received in the order it was sent.

use std::collections::{BTreeMap, VecDeque};

use replank_model::time::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::trouble::Deliveries;

/// All queues, by their names.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Queues {
    pub(crate) by_name: BTreeMap<String, Queue>,
    pub(crate) count: u64,
    /// When queues were deleted whose names cannot be used again yet.
    #[serde(default)]
    pub(crate) deleted: BTreeMap<String, Time>,
}

/// A queue.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) created: Time,
    pub(crate) modified: Time,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) messages: VecDeque<Message>,
    pub(crate) purged: Option<Time>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) body: String,
    pub(crate) attributes: serde_json::Value,
    pub(crate) sent: Time,
    pub(crate) first_received: Option<Time>,
    pub(crate) received: u32,
    pub(crate) receipt: String,
    /// Not shown before.
    pub(crate) visible: Time,
    /// When it was received last; a message is in flight while it is hidden since then.
    pub(crate) taken: Option<Time>,
}

impl Message {
    pub(crate) fn is_in_flight(&self, now: Time) -> bool {
        self.taken.is_some() && self.visible > now
    }
}

impl Queue {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            created: now,
            modified: now,
            attributes: BTreeMap::new(),
            tags: BTreeMap::new(),
            messages: VecDeque::new(),
            purged: None,
        }
    }

    pub(crate) fn secs(&self, attribute: &str, default: i64) -> i64 {
        self.attributes.get(attribute).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Forgets what was kept too long.
    pub(crate) fn expire(&mut self, now: Time) {
        let kept = Span::from_secs(self.secs("MessageRetentionPeriod", 345_600));
        self.messages.retain(|message| message.sent + kept > now);
    }

    /// Where dead letters go, and after how many receives.
    pub(crate) fn redrive(&self) -> Option<(String, u32)> {
        let policy: serde_json::Value = serde_json::from_str(self.attributes.get("RedrivePolicy")?).ok()?;
        let max = &policy["maxReceiveCount"];
        let max = max.as_u64().or_else(|| max.as_str()?.parse().ok())?;
        let name = policy["deadLetterTargetArn"].as_str()?.rsplit(':').next()?.to_owned();
        Some((name, u32::try_from(max).ok()?))
    }
}

impl Queues {
    /// Puts a message into a queue; its id, or none where there is no such queue.
    pub(crate) fn send(
        &mut self,
        name: &str,
        body: String,
        attributes: serde_json::Value,
        delay: Option<i64>,
        (now, deliveries): (Time, &mut Deliveries),
    ) -> Option<String> {
        self.count += 1;
        let id = crate::text::uuid(&format!("message {} {}", self.count, now.as_millis()));
        let queue = self.by_name.get_mut(name)?;
        let delay = Span::from_secs(delay.unwrap_or_else(|| queue.secs("DelaySeconds", 0)));
        let (late, again) = deliveries.of_next();
        let visible = now + delay + late;
        let message = Message {
            id: id.clone(),
            body,
            attributes,
            sent: now,
            first_received: None,
            received: 0,
            receipt: String::new(),
            visible,
            taken: None,
        };
        // The same message once more: another copy of it, which its deletion has missed.
        let copy = again.map(|again| Message { visible: visible + again, ..message.clone() });
        queue.messages.extend([Some(message), copy].into_iter().flatten());
        Some(id)
    }

    /// Messages that somebody receives, at most so many, hidden for so long.
    pub(crate) fn receive(&mut self, name: &str, most: usize, hidden: i64, now: Time) -> Vec<Message> {
        let mut dead = Vec::new();
        let mut got = Vec::new();
        // Where the queue of dead letters is not there, they stay.
        let redrive = self.by_name.get(name).and_then(Queue::redrive);
        let redrive = redrive.filter(|(target, _)| self.by_name.contains_key(target));
        let Some(queue) = self.by_name.get_mut(name) else { return got };
        queue.expire(now);
        let mut at = 0;
        while at < queue.messages.len() && got.len() < most {
            if queue.messages[at].visible > now {
                at += 1;
                continue;
            }
            let is_dead = redrive.as_ref().is_some_and(|(_, max)| queue.messages[at].received >= *max);
            if is_dead {
                dead.extend(queue.messages.remove(at));
                continue;
            }
            let message = &mut queue.messages[at];
            message.received += 1;
            message.first_received = message.first_received.or(Some(now));
            message.taken = Some(now);
            message.visible = now + Span::from_secs(hidden);
            self.count += 1;
            let receipt = format!("{}/{}/{}", message.id, message.received, self.count);
            message.receipt = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, receipt);
            got.push(message.clone());
            at += 1;
        }
        let target = redrive.and_then(|(name, _)| self.by_name.get_mut(&name));
        if let Some(target) = target {
            for message in dead {
                target.messages.push_back(Message {
                    visible: now,
                    taken: None,
                    receipt: String::new(),
                    ..message
                });
            }
        }
        got
    }
}
