//! What the API server's answer to a write means (docs/effects.md, "Answers").

use std::time::Duration;

use replank_model::text::Text;
use replank_protocol::outcome::Refusal;
use serde_json::Value;

use super::line::Heard;

/// What an answer means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// It is carried out; the object, or the Status, that was answered with.
    Done(Value),
    /// It is not.
    Refused(Refusal),
    /// It is not, because there are too many requests (API Priority and Fairness): it may be sent again after a while.
    Throttled(Option<Duration>),
    /// A JSON patch was not carried out, because one of its tests failed or because it is wrong: the answer does not tell which.
    Tested(String),
    /// Whether it is carried out is not known.
    Lost(String),
}

/// What a request was, as far as answers to it mean different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A JSON patch with tests.
    Patch,
    /// Anything else.
    Plain,
}

impl Heard {
    /// The message of its Status, or the beginning of its body.
    pub(super) fn message(&self) -> String {
        crate::Answer { code: self.code, body: self.body.clone(), date: None }.message()
    }
}

/// What an answer means. A webhook's denial comes first: it may have any code, a budget's and a conflict's among them.
pub(super) fn meaning(heard: &Heard, sort: Sort) -> Meaning {
    let body: Value = serde_json::from_slice(&heard.body).unwrap_or_default();
    if (200..300).contains(&heard.code) {
        return Meaning::Done(body);
    }
    let message = heard.message();
    if let Some(denied) = Refusal::denied(&message) {
        return Meaning::Refused(denied);
    }
    let text = Text::from(&*message);
    match (heard.code, sort) {
        (429, _) => match budgets(&body) {
            Some(causes) => Meaning::Refused(Refusal::Budget {
                message: Text::from(causes),
                retry_after_seconds: retry_after(heard).and_then(|wait| i64::try_from(wait.as_secs()).ok()),
            }),
            None => Meaning::Throttled(retry_after(heard)),
        },
        (409, _) => Meaning::Refused(Refusal::Conflict { message: text }),
        (404, _) => Meaning::Refused(Refusal::Gone { message: text }),
        (422, Sort::Patch) => Meaning::Tested(message),
        // What stands before the server may have passed the request on; the server's own time limit ends its answer and not what it does.
        (502..=504, _) => Meaning::Lost(format!("{}: {message}", heard.code)),
        (500, _) if is_etcds(&message) => Meaning::Lost(format!("500: {message}")),
        (code, _) => Meaning::Refused(Refusal::Failed { code, message: text }),
    }
}

/// What a disruption budget says, where the refusal is one's.
fn budgets(body: &Value) -> Option<String> {
    let causes = body["details"]["causes"].as_array()?;
    let of_budgets = causes.iter().filter(|cause| cause["reason"] == "DisruptionBudget");
    let words: Vec<&str> = of_budgets.map(|cause| cause["message"].as_str().unwrap_or_default()).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The store's own errors: a write that it did not confirm may be there (etcd `rpctypes`).
fn is_etcds(message: &str) -> bool {
    message.contains("etcdserver: request timed out") || message.contains("etcdserver: leader changed")
}

/// How long the server asks to wait: in whole seconds, in a header and in the Status.
pub(super) fn retry_after(heard: &Heard) -> Option<Duration> {
    let header = heard.headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let header = header.and_then(|text| text.trim().parse::<u64>().ok());
    let body = || {
        let body: Value = serde_json::from_slice(&heard.body).ok()?;
        body["details"]["retryAfterSeconds"].as_u64()
    };
    header.or_else(body).map(Duration::from_secs)
}
