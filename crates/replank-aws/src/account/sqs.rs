//! The calls of SQS, by its JSON.

use replank_model::time::{Span, Time};
use serde_json::{Map, Value, json};

use super::md5::{attributes_digest, hex};
use super::own::Account;
use super::queues::{Message, Queue};
use super::unknown::unknown;
use crate::call::{Reply, WAIT};
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::service::Service;

/// Longest time that a message is hidden after it was received.
const HIDDEN_MAX: i64 = 43_200;
/// Longest time that a message is held back after it was sent.
const DELAY_MAX: i64 = 900;
/// Messages of one receive, and of one batch.
const BATCH_MAX: usize = 10;
const BODY_MAX: usize = 1_048_576;
/// How long the name of a queue that was deleted cannot be used (CreateQueue).
const AGAIN_AFTER: Span = Span::from_secs(60);
/// Attributes that can be set.
const SETTABLE: &[&str] = &[
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "Policy",
    "ReceiveMessageWaitTimeSeconds",
    "RedrivePolicy",
    "RedriveAllowPolicy",
    "VisibilityTimeout",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
];
/// Attributes that only FIFO queues have: they can be asked for.
const OF_FIFO: &[&str] =
    &["FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"];

impl Account {
    pub(crate) fn sqs(&mut self, now: Time, action: &str, input: Input<'_>) -> Reply {
        match action {
            "CreateQueue" => self.create_queue(now, input),
            "ListQueues" => self.list_queues(input),
            "GetQueueUrl" => {
                let name = input.text("QueueName").unwrap_or_default();
                if !self.queues.by_name.contains_key(name) {
                    return Err(no_queue());
                }
                Ok(json!({"QueueUrl": self.queue_url(name)}))
            }
            "DeleteQueue" => {
                let name = self.queue_name(input)?;
                self.queues.by_name.remove(&name);
                self.queues.deleted.insert(name, now);
                Ok(Value::Null)
            }
            "PurgeQueue" => self.purge(now, input),
            "GetQueueAttributes" => self.queue_attributes(now, input),
            "SetQueueAttributes" => {
                let name = self.queue_name(input)?;
                let attributes = self.attributes_of(input)?;
                if let Some(queue) = self.queues.by_name.get_mut(&name) {
                    queue.attributes.extend(attributes);
                    // An empty one takes it away.
                    queue.attributes.retain(|_, value| !value.is_empty());
                    queue.modified = now;
                }
                Ok(Value::Null)
            }
            "SendMessage" => self.send_one(now, input, input),
            "SendMessageBatch" => self.batch(input, |account, entry| account.send_one(now, input, entry)),
            "ReceiveMessage" => self.receive(now, input),
            "DeleteMessage" => self.delete_one(input, input),
            "DeleteMessageBatch" => self.batch(input, |account, entry| account.delete_one(input, entry)),
            "ChangeMessageVisibility" => self.hide_one(now, input, input),
            "ChangeMessageVisibilityBatch" => {
                self.batch(input, |account, entry| account.hide_one(now, input, entry))
            }
            "ListQueueTags" => {
                let name = self.queue_name(input)?;
                let tags = self.queues.by_name.get(&name).map(|queue| json!(queue.tags));
                Ok(json!({"Tags": tags}))
            }
            "TagQueue" | "UntagQueue" => {
                let name = self.queue_name(input)?;
                let Some(queue) = self.queues.by_name.get_mut(&name) else { return Err(no_queue()) };
                for (key, value) in input.get("Tags").and_then(Value::as_object).into_iter().flatten() {
                    queue.tags.insert(key.clone(), value.as_str().unwrap_or_default().to_owned());
                }
                for key in input.texts("TagKeys") {
                    queue.tags.remove(&key);
                }
                Ok(Value::Null)
            }
            "ListDeadLetterSourceQueues" => {
                let name = self.queue_name(input)?;
                let sources = self
                    .queues
                    .by_name
                    .iter()
                    .filter(|(_, queue)| queue.redrive().is_some_and(|(target, _)| target == name));
                let urls: Vec<String> = sources.map(|(name, _)| self.queue_url(name)).collect();
                Ok(json!({"queueUrls": urls}))
            }
            _ => Err(unknown(Service::Sqs, action)),
        }
    }

    fn queue_url(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.names.setting.own, self.names.account())
    }

    /// The queue that is meant: by the last part of its URL.
    fn queue_name(&self, input: Input<'_>) -> Result<String, Fault> {
        let url = input.text("QueueUrl").ok_or_else(|| {
            Fault::bad("MissingParameter", "The request must contain the parameter QueueUrl.")
        })?;
        let name = url.rsplit('/').next().unwrap_or_default();
        self.queues.by_name.contains_key(name).then(|| name.to_owned()).ok_or_else(no_queue)
    }

    fn create_queue(&mut self, now: Time, input: Input<'_>) -> Reply {
        let name = input.text("QueueName").unwrap_or_default();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || name.len() > 80 || !name.trim_end_matches(".fifo").chars().all(is_name) {
            return Err(Fault::bad(
                "InvalidParameterValue",
                "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
            ));
        }
        if name.ends_with(".fifo") {
            return Err(Fault::bad("UnsupportedOperation", "The simulated cloud has standard queues only."));
        }
        let attributes = self.attributes_of(input)?;
        self.queues.deleted.retain(|_, deleted| *deleted + AGAIN_AFTER > now);
        if self.queues.deleted.contains_key(name) {
            return Err(Fault::bad(
                "QueueDeletedRecently",
                "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
            ));
        }
        if let Some(queue) = self.queues.by_name.get(name) {
            let differs = attributes.iter().find(|(key, value)| queue.attributes.get(key) != Some(value));
            if let Some((key, _)) = differs {
                return Err(Fault::bad(
                    "QueueNameExists",
                    format!(
                        "A queue already exists with the same name and a different value for attribute {key}"
                    ),
                ));
            }
            return Ok(json!({"QueueUrl": self.queue_url(name)}));
        }
        let mut queue = Queue::new(now);
        queue.attributes.extend(attributes.into_iter().filter(|(_, value)| !value.is_empty()));
        for (key, value) in
            input.get("tags").or(input.get("Tags")).and_then(Value::as_object).into_iter().flatten()
        {
            queue.tags.insert(key.clone(), value.as_str().unwrap_or_default().to_owned());
        }
        self.queues.by_name.insert(name.to_owned(), queue);
        Ok(json!({"QueueUrl": self.queue_url(name)}))
    }

    fn list_queues(&self, input: Input<'_>) -> Reply {
        let prefix = input.text("QueueNamePrefix").unwrap_or_default();
        let names = self.queues.by_name.keys().filter(|name| name.starts_with(prefix));
        let all = names.map(|name| (name.clone(), self.queue_url(name))).collect();
        let size =
            usize::try_from(input.number("MaxResults")?.unwrap_or(1000).clamp(1, 1000)).unwrap_or(1000);
        let (urls, next) = page(
            all,
            size,
            input.text("NextToken"),
            &Fault::bad("InvalidParameterValue", "Invalid NextToken"),
        )?;
        let mut answer = json!({"QueueUrls": urls});
        if let Some(next) = next {
            answer["NextToken"] = json!(next);
        }
        Ok(answer)
    }

    fn purge(&mut self, now: Time, input: Input<'_>) -> Reply {
        let name = self.queue_name(input)?;
        let Some(queue) = self.queues.by_name.get_mut(&name) else { return Err(no_queue()) };
        if queue.purged.is_some_and(|purged| purged + Span::from_secs(60) > now) {
            return Err(Fault::new(
                403,
                "PurgeQueueInProgress",
                format!("Only one PurgeQueue operation on {name} is allowed every 60 seconds."),
            ));
        }
        queue.messages.clear();
        queue.purged = Some(now);
        Ok(Value::Null)
    }

    fn queue_attributes(&mut self, now: Time, input: Input<'_>) -> Reply {
        let name = self.queue_name(input)?;
        let arn = self.names.queue_arn(&name);
        let Some(queue) = self.queues.by_name.get_mut(&name) else { return Err(no_queue()) };
        queue.expire(now);
        let in_flight = queue.messages.iter().filter(|message| message.is_in_flight(now)).count();
        let delayed =
            queue.messages.iter().filter(|message| message.taken.is_none() && message.visible > now).count();
        let mut all: Map<String, Value> = [
            ("QueueArn", arn),
            ("ApproximateNumberOfMessages", (queue.messages.len() - in_flight - delayed).to_string()),
            ("ApproximateNumberOfMessagesNotVisible", in_flight.to_string()),
            ("ApproximateNumberOfMessagesDelayed", delayed.to_string()),
            ("CreatedTimestamp", queue.created.as_millis().div_euclid(1000).to_string()),
            ("LastModifiedTimestamp", queue.modified.as_millis().div_euclid(1000).to_string()),
            ("VisibilityTimeout", "30".to_owned()),
            ("MaximumMessageSize", BODY_MAX.to_string()),
            ("MessageRetentionPeriod", "345600".to_owned()),
            ("DelaySeconds", "0".to_owned()),
            ("ReceiveMessageWaitTimeSeconds", "0".to_owned()),
            ("SqsManagedSseEnabled", "true".to_owned()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
        for (key, value) in &queue.attributes {
            all.insert(key.clone(), json!(value));
        }
        let asked = input.texts("AttributeNames");
        let is_known = |name: &&String| {
            all.contains_key(*name)
                || *name == "All"
                || SETTABLE.contains(&&***name)
                || OF_FIFO.contains(&&***name)
        };
        if let Some(wrong) = asked.iter().find(|name| !is_known(name)) {
            return Err(Fault::bad("InvalidAttributeName", format!("Unknown Attribute {wrong}.")));
        }
        if !asked.iter().any(|name| name == "All") {
            all.retain(|key, _| asked.contains(key));
        }
        Ok(json!({"Attributes": all}))
    }

    fn send_one(&mut self, now: Time, queue: Input<'_>, message: Input<'_>) -> Reply {
        let name = self.queue_name(queue)?;
        let body = message.text("MessageBody").filter(|body| !body.is_empty());
        let body = body.ok_or_else(|| {
            Fault::bad("MissingParameter", "The request must contain the parameter MessageBody.")
        })?;
        let attributes = message.get("MessageAttributes").cloned().unwrap_or_default();
        let digest = attributes_digest(&attributes)?;
        let most = self.queues.by_name.get(&name).map_or(BODY_MAX, |queue| {
            usize::try_from(queue.secs("MaximumMessageSize", 0))
                .ok()
                .filter(|most| *most > 0)
                .unwrap_or(BODY_MAX)
        });
        if body.len() > most {
            return Err(Fault::bad(
                "InvalidParameterValue",
                format!(
                    "One or more parameters are invalid. Reason: Message must be shorter than {most} bytes."
                ),
            ));
        }
        let md5 = hex(body.as_bytes());
        let delay = message.number("DelaySeconds")?;
        in_range("DelaySeconds", delay.unwrap_or(0), DELAY_MAX)?;
        let id =
            self.queues.send(&name, body.to_owned(), attributes, delay, (now, &mut self.troubles.deliveries));
        Ok(json!({"MessageId": id, "MD5OfMessageBody": md5, "MD5OfMessageAttributes": digest}))
    }

    fn receive(&mut self, now: Time, input: Input<'_>) -> Reply {
        let name = self.queue_name(input)?;
        let most = input.number("MaxNumberOfMessages")?.unwrap_or(1);
        let most = usize::try_from(most).ok().filter(|most| (1..=BATCH_MAX).contains(most)).ok_or_else(|| Fault::bad("InvalidParameterValue", format!("Value {most} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.")))?;
        let queue = self.queues.by_name.get(&name);
        let default = |attribute: &str, value| queue.map_or(value, |queue| queue.secs(attribute, value));
        let hidden = input.number("VisibilityTimeout")?.unwrap_or_else(|| default("VisibilityTimeout", 30));
        let wait =
            input.number("WaitTimeSeconds")?.unwrap_or_else(|| default("ReceiveMessageWaitTimeSeconds", 0));
        in_range("VisibilityTimeout", hidden, HIDDEN_MAX)?;
        in_range("WaitTimeSeconds", wait, 20)?;
        let got = self.queues.receive(&name, most, hidden, now);
        if got.is_empty() {
            return Ok(if wait > 0 { json!({WAIT: wait}) } else { json!({}) });
        }
        let mut asked = input.texts("AttributeNames");
        asked.extend(input.texts("MessageSystemAttributeNames"));
        let attributes = input.texts("MessageAttributeNames");
        let messages: Vec<Value> =
            got.iter().map(|message| shown(message, &asked, &attributes, self.names.account())).collect();
        Ok(json!({"Messages": messages}))
    }

    fn delete_one(&mut self, queue: Input<'_>, entry: Input<'_>) -> Reply {
        let name = self.queue_name(queue)?;
        let receipt = receipt_of(entry)?;
        // An older handle of a message that was received again deletes nothing, and the call succeeds all the same.
        if let Some(queue) = self.queues.by_name.get_mut(&name) {
            queue.messages.retain(|message| message.receipt != receipt);
        }
        Ok(Value::Null)
    }

    fn hide_one(&mut self, now: Time, queue: Input<'_>, entry: Input<'_>) -> Reply {
        let name = self.queue_name(queue)?;
        let receipt = receipt_of(entry)?;
        let hidden = entry.number("VisibilityTimeout")?.unwrap_or(0);
        in_range("VisibilityTimeout", hidden, HIDDEN_MAX)?;
        let Some(queue) = self.queues.by_name.get_mut(&name) else { return Err(no_queue()) };
        let found =
            queue.messages.iter_mut().find(|message| message.receipt == receipt && message.is_in_flight(now));
        let Some(message) = found else {
            return Err(Fault::bad(
                "MessageNotInflight",
                format!(
                    "Value {receipt} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change."
                ),
            ));
        };
        let taken = message.taken.unwrap_or(now);
        if now + Span::from_secs(hidden) > taken + Span::from_secs(HIDDEN_MAX) {
            return Err(Fault::bad(
                "InvalidParameterValue",
                format!(
                    "Value {hidden} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [{HIDDEN_MAX} seconds]."
                ),
            ));
        }
        message.visible = now + Span::from_secs(hidden);
        Ok(Value::Null)
    }

    /// Each entry of a batch by itself.
    fn batch(&mut self, input: Input<'_>, mut one: impl FnMut(&mut Self, Input<'_>) -> Reply) -> Reply {
        self.queue_name(input)?;
        let entries: Vec<Input<'_>> = input.inputs("Entries").collect();
        if entries.is_empty() {
            return Err(Fault::bad(
                "EmptyBatchRequest",
                "There should be at least one entry in the request.",
            ));
        }
        if entries.len() > BATCH_MAX {
            return Err(Fault::bad(
                "TooManyEntriesInBatchRequest",
                format!("Maximum number of entries per request are 10. You have sent {}.", entries.len()),
            ));
        }
        let mut ids: Vec<&str> = entries.iter().map(|entry| entry.text("Id").unwrap_or_default()).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Fault::bad(
                "BatchEntryIdsNotDistinct",
                "Two or more batch entries in the request have the same Id.",
            ));
        }
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in entries {
            let id = entry.text("Id").unwrap_or_default();
            match one(self, entry) {
                Ok(mut answer) => {
                    if answer.is_null() {
                        answer = json!({});
                    }
                    answer["Id"] = json!(id);
                    successful.push(answer);
                }
                Err(fault) => failed.push(
                    json!({"Id": id, "Code": fault.code, "Message": fault.message, "SenderFault": true}),
                ),
            }
        }
        Ok(json!({"Successful": successful, "Failed": failed}))
    }
}

fn in_range(name: &str, value: i64, max: i64) -> Result<(), Fault> {
    if (0..=max).contains(&value) {
        return Ok(());
    }
    Err(Fault::bad(
        "InvalidParameterValue",
        format!(
            "Value {value} for parameter {name} is invalid. Reason: Must be >= 0 and <= {max}, if provided."
        ),
    ))
}

fn receipt_of(entry: Input<'_>) -> Result<String, Fault> {
    let receipt = entry.text("ReceiptHandle").ok_or_else(|| {
        Fault::bad("MissingParameter", "The request must contain the parameter ReceiptHandle.")
    })?;
    // Messages that nobody has received have an empty one.
    let is_ours = !receipt.is_empty()
        && base64::Engine::decode(&base64::engine::general_purpose::STANDARD, receipt).is_ok();
    is_ours.then(|| receipt.to_owned()).ok_or_else(|| {
        Fault::new(
            404,
            "ReceiptHandleIsInvalid",
            format!("The input receipt handle \"{receipt}\" is not a valid receipt handle."),
        )
    })
}

impl Account {
    /// Attributes that a call sets; empty ones are to be taken away.
    fn attributes_of(&self, input: Input<'_>) -> Result<Vec<(String, String)>, Fault> {
        let all = input.get("Attributes").and_then(Value::as_object).into_iter().flatten();
        let read = all.map(|(key, value)| {
            if !SETTABLE.contains(&&**key) {
                return Err(Fault::bad("InvalidAttributeName", format!("Unknown Attribute {key}.")));
            }
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let bounds = match &**key {
                "VisibilityTimeout" => Some((0, HIDDEN_MAX)),
                "ReceiveMessageWaitTimeSeconds" => Some((0, 20)),
                "DelaySeconds" => Some((0, DELAY_MAX)),
                "MessageRetentionPeriod" => Some((60, 1_209_600)),
                "MaximumMessageSize" => Some((1_024, BODY_MAX as i64)),
                "KmsDataKeyReusePeriodSeconds" => Some((60, 86_400)),
                _ => None,
            };
            let is_policy = ["Policy", "RedrivePolicy", "RedriveAllowPolicy"].contains(&&**key);
            let is_object = || serde_json::from_str::<Value>(&value).is_ok_and(|policy| policy.is_object());
            let is_right = bounds.is_none_or(|(min, max)| {
                value.parse().is_ok_and(|number: i64| (min..=max).contains(&number))
            }) && (!is_policy || value.is_empty() || is_object());
            if !is_right {
                return Err(Fault::bad(
                    "InvalidAttributeValue",
                    format!("Invalid value for the parameter {key}."),
                ));
            }
            if key == "RedrivePolicy" && !value.is_empty() {
                self.redrive_asked(&value)?;
            }
            Ok((key.clone(), value))
        });
        read.collect()
    }

    /// A queue of dead letters has to be there, and messages go to it after 1 to 1,000 receives.
    fn redrive_asked(&self, text: &str) -> Result<(), Fault> {
        let wrong = |reason: &str| {
            Fault::bad(
                "InvalidParameterValue",
                format!("Value {text} for parameter RedrivePolicy is invalid. Reason: {reason}"),
            )
        };
        let policy: Value = serde_json::from_str(text).unwrap_or_default();
        let lacks = |member: &str| policy[member].is_null();
        if let Some(member) = ["deadLetterTargetArn", "maxReceiveCount"].into_iter().find(|one| lacks(one)) {
            return Err(wrong(&format!("Redrive policy does not contain mandatory attribute: {member}.")));
        }
        let count = &policy["maxReceiveCount"];
        let given = count.as_str().map_or_else(|| count.to_string(), str::to_owned);
        if !given.parse::<u32>().is_ok_and(|count| (1..=1_000).contains(&count)) {
            let valid = "valid values are from 1 to 1000 both inclusive";
            return Err(wrong(&format!("Invalid value for maxReceiveCount: {given}, {valid}.")));
        }
        let target = policy["deadLetterTargetArn"].as_str().and_then(|arn| arn.rsplit(':').next());
        match target.is_some_and(|name| self.queues.by_name.contains_key(name)) {
            true => Ok(()),
            false => Err(wrong("Dead letter target does not exist.")),
        }
    }
}

fn no_queue() -> Fault {
    Fault::bad("QueueDoesNotExist", "The specified queue does not exist.")
}

fn shown(message: &Message, asked: &[String], attributes: &[String], account: &str) -> Value {
    let millis = |time: Time| json!(time.as_millis().to_string());
    let mut system: Map<String, Value> = [
        ("SenderId", json!(account)),
        ("SentTimestamp", millis(message.sent)),
        ("ApproximateReceiveCount", json!(message.received.to_string())),
        ("ApproximateFirstReceiveTimestamp", millis(message.first_received.unwrap_or(message.sent))),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    if !asked.iter().any(|name| name == "All") {
        system.retain(|key, _| asked.contains(key));
    }
    let mut shown = json!({"MessageId": message.id, "ReceiptHandle": message.receipt, "Body": message.body, "MD5OfBody": hex(message.body.as_bytes())});
    if !system.is_empty() {
        shown["Attributes"] = Value::Object(system);
    }
    let wanted = |key: &str| attributes.iter().any(|name| name == "All" || name == ".*" || name == key);
    let own = message.attributes.as_object().cloned().unwrap_or_default();
    let own: Map<String, Value> = own.into_iter().filter(|(key, _)| wanted(key)).collect();
    if !own.is_empty() {
        let own = Value::Object(own);
        shown["MD5OfMessageAttributes"] = json!(attributes_digest(&own).ok().flatten());
        shown["MessageAttributes"] = own;
    }
    shown
}
