//! A queue of SQS: messages are received by long polls, hidden for longer, and deleted.

use std::sync::Arc;

use replank_model::object::cloud::Message;
use replank_model::text::{MessageId, Text};
use replank_model::time::{Span, Time};
use replank_protocol::command::{Answer, QueueEffect, Refusal};
use serde_json::{Value, json};

use super::account::Aws;
use super::act::{Stop, is_lost};
use super::answer::{list, text};
use super::client::Manner;
use super::error::{AwsError, said};
use super::partition::region_of_sqs;
use super::service::Service;
use crate::cloud::{Order, Pending};
use crate::queue::{Queue, Received};

/// How long a poll waits for messages: the longest that SQS allows.
const WAIT_SECONDS: u32 = 20;
/// Messages in one answer at most: as many as SQS allows.
const MESSAGES_MAX: u32 = 10;
/// How long what was received is hidden: long enough to be decided on and hidden for longer, short enough that another process has it soon should this one be gone.
const HIDDEN: Span = Span::from_secs(30);
/// The same for what is only looked at.
const LOOKED: Span = Span::from_secs(8);
/// How often a call is sent of which no answer came. Both can be repeated.
const SENDS: u32 = 3;

/// A queue of SQS.
#[derive(Debug)]
pub struct AwsQueue {
    aws: Arc<Aws>,
    url: String,
    wait_seconds: u32,
    hidden: Span,
    has_dead_letters: bool,
}

impl AwsQueue {
    /// Looks at a queue: whether it is there, and this account's.
    ///
    /// # Errors
    /// Where it is not, or may not be read.
    pub async fn open(aws: Arc<Aws>, url: &str) -> Result<Self, AwsError> {
        let wrong =
            |why: String, next: &str| AwsError::Queue { url: url.to_owned(), why, next: next.to_owned() };
        let Some((host, account)) = parts(url) else {
            let why = "this is no URL of an SQS queue".to_owned();
            return Err(wrong(why, "pass it as AWS shows it: aws sqs get-queue-url --queue-name NAME"));
        };
        if account != aws.account() {
            let why = format!("it belongs to account {account}, and the credentials to {}", aws.account());
            return Err(wrong(why, "pass a queue of this account, or other credentials: --profile NAME"));
        }
        if let Some(region) = region_of_sqs(host).filter(|region| *region != aws.region()) {
            let why = format!("it is in region {region}, and {} is meant", aws.region());
            return Err(wrong(why, "pass the queue's region: --region REGION"));
        }
        let asked = json!({"QueueUrl": url, "AttributeNames": ["QueueArn", "RedrivePolicy"]});
        let answered = aws.sqs("GetQueueAttributes", &asked, Manner::Read).await;
        if let Err(AwsError::Refused { code, .. }) = &answered
            && is_unknown(code)
        {
            let why = format!("there is no such queue in account {} in {}", aws.account(), aws.region());
            let next = "list them: aws sqs list-queues; make one: replank setup aws --cluster NAME";
            return Err(wrong(why, next));
        }
        let answer = answered?;
        let has_dead_letters = text(&answer["Attributes"], "RedrivePolicy").is_some();
        Ok(Self { aws, url: url.to_owned(), wait_seconds: WAIT_SECONDS, hidden: HIDDEN, has_dead_letters })
    }

    /// Whether what cannot be handled goes to a dead-letter queue some day.
    #[must_use]
    pub fn has_dead_letters(&self) -> bool {
        self.has_dead_letters
    }

    /// Messages are only looked at: others receive them soon.
    #[must_use]
    pub fn looking(self) -> Self {
        Self { wait_seconds: 1, hidden: LOOKED, ..self }
    }

    async fn received(&self) -> Result<Vec<Received>, AwsError> {
        let asked = json!({"QueueUrl": self.url, "MaxNumberOfMessages": MESSAGES_MAX,
            "WaitTimeSeconds": self.wait_seconds, "VisibilityTimeout": self.hidden.as_millis() / 1_000,
            "MessageSystemAttributeNames": ["ApproximateReceiveCount", "SentTimestamp"]});
        let answer = self.aws.sqs("ReceiveMessage", &asked, Manner::Read).await?;
        Ok(list(&answer["Messages"]).iter().filter_map(message).collect())
    }

    async fn carry(&self, effect: &QueueEffect, now: Time, order: Order<'_>) -> Answer {
        let (action, mut body) = match effect {
            QueueEffect::HoldMessage { receipt, until, .. } => {
                let most = Message::HIDDEN_MAX.as_millis() / 1_000;
                let seconds = ((*until - now).as_millis() / 1_000).clamp(0, most);
                let body = json!({"ReceiptHandle": &**receipt, "VisibilityTimeout": seconds});
                ("ChangeMessageVisibility", body)
            }
            QueueEffect::DeleteMessage { receipt, .. } => {
                ("DeleteMessage", json!({ "ReceiptHandle": &**receipt }))
            }
        };
        body["QueueUrl"] = (&*self.url).into();
        let mut sends = 0;
        loop {
            sends += 1;
            match self.aws.sqs(action, &body, Manner::Write(order.may_send)).await {
                Ok(_) => return Answer::Done,
                Err(error) if is_lost(&error) && sends < SENDS => {}
                Err(error) if is_lost(&error) => {
                    return Answer::Unknown { message: Text::from(error.to_string()) };
                }
                // It is in the queue again, or somebody has deleted it.
                Err(AwsError::Refused { code, message, .. }) if is_stale(&code) => {
                    return Answer::Refused(Refusal::Gone { message: Text::from(message) });
                }
                Err(error) => match Stop::from(error) {
                    Stop::No(refusal) => return Answer::Refused(refusal),
                    Stop::Done => return Answer::Done,
                    Stop::Unknown(why) => return Answer::Unknown { message: Text::from(why) },
                },
            }
        }
    }
}

impl Queue for AwsQueue {
    fn receive(&self) -> Pending<'_, Result<Vec<Received>, String>> {
        Box::pin(async move { self.received().await.map_err(|error| said(&error)) })
    }

    fn hides_for(&self) -> Span {
        self.hidden
    }

    fn act<'a>(&'a self, effect: &'a QueueEffect, now: Time, order: Order<'a>) -> Pending<'a, Answer> {
        Box::pin(self.carry(effect, now, order))
    }
}

impl Aws {
    async fn sqs(&self, action: &str, body: &Value, manner: Manner<'_>) -> Result<Value, AwsError> {
        self.caller.json((Service::Sqs, action), ("1.0", "AmazonSQS"), body, manner).await
    }
}

/// Host and account of a queue's URL: `https://sqs.eu-west-1.amazonaws.com/111122223333/name`.
fn parts(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let mut parts = rest.split('/');
    let (host, account, name) = (parts.next()?, parts.next()?, parts.next()?);
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    (is_account && !name.is_empty() && parts.next().is_none()).then_some((host, account))
}

fn message(one: &Value) -> Option<Received> {
    let number = |member: &str| text(&one["Attributes"], member)?.parse::<i64>().ok();
    Some(Received {
        id: MessageId::from(text(one, "MessageId")?),
        receipt: Text::from(text(one, "ReceiptHandle")?),
        body: Text::from(one["Body"].as_str().unwrap_or_default()),
        sent: Time::from_millis(number("SentTimestamp")?),
        count: number("ApproximateReceiveCount").and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
    })
}

fn is_unknown(code: &str) -> bool {
    matches!(code, "QueueDoesNotExist" | "AWS.SimpleQueueService.NonExistentQueue" | "NonExistentQueue")
}

fn is_stale(code: &str) -> bool {
    matches!(code, "ReceiptHandleIsInvalid" | "MessageNotInflight" | "InvalidParameterValue")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_known_by_its_url() {
        let found = parts("https://sqs.eu-west-1.amazonaws.com/111122223333/replank");
        assert_eq!(found, Some(("sqs.eu-west-1.amazonaws.com", "111122223333")));
        assert_eq!(parts("http://127.0.0.1:4566/111122223333/q"), Some(("127.0.0.1:4566", "111122223333")));
        for not in [
            "replank",
            "arn:aws:sqs:eu-west-1:111122223333:q",
            "https://sqs/1/q",
            "https://h/111122223333/",
            "https://h/111122223333/q/x",
        ] {
            assert_eq!(parts(not), None, "{not}");
        }
    }

    #[test]
    fn a_message_is_read_as_sqs_writes_it() {
        let one = json!({"MessageId": "m", "ReceiptHandle": "r", "Body": "{}",
            "Attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1764230400000"}});
        let found = message(&one).expect("it is whole");
        assert_eq!((found.count, found.sent, &*found.body), (3, Time::from_millis(1_764_230_400_000), "{}"));
        assert_eq!(message(&json!({"MessageId": "m"})), None);
    }
}
