//! The words by which something is made to go wrong with an account, and those that end it.

use replank_model::time::Span;

use super::what::{How, OfCalls, Share, Trouble, Which};
use crate::service::Service;

/// The forms of words, each with what it means.
pub const FORMS: [(&str, &str); 10] = [
    (
        "aws throttles one call in COUNT of CALLS",
        "by chance, this share of calls is refused with the service's own code and status for too many requests; none for 0",
    ),
    ("aws throttles the next COUNT calls of CALLS", "likewise, those that come next"),
    (
        "aws fails one call in COUNT of CALLS",
        "this share of calls is refused with the service's own codes and 500 or 503, and nothing is done",
    ),
    ("aws fails the next COUNT calls of CALLS", "likewise, those that come next"),
    (
        "aws loses one answer in COUNT of CALLS",
        "this share of calls is carried out, and the connection ends without an answer",
    ),
    ("aws loses the next COUNT answers of CALLS", "likewise, those that come next"),
    (
        "aws loses one request in COUNT of CALLS",
        "for this share of calls, the connection ends before anything is done",
    ),
    ("aws loses the next COUNT requests of CALLS", "likewise, those that come next"),
    (
        "aws credentials expire",
        "every call is refused with the service's own code for credentials that have expired",
    ),
    (
        "aws shows new instances after DURATION",
        "EC2 does not know an instance for this long after its launch; Auto Scaling does",
    ),
];

/// What words say; `None` where they are not about an account.
///
/// # Errors
/// Where they are about an account and mean nothing, and why.
pub fn read(words: &str) -> Option<Result<Trouble, String>> {
    let parts: Vec<&str> = words.split_whitespace().collect();
    match parts.as_slice() {
        ["aws", rest @ ..] => Some(of_account(rest).map_err(|why| format!("`{words}`: {why}"))),
        ["queue", "delivers", "one", "message", "in", count, "twice"] => {
            Some(number(count).map(Trouble::Twice))
        }
        ["queue", "delivers", "one", "message", "in", count, "late", "by", by] => {
            Some(number(count).and_then(|count| Ok(Trouble::Late(count, span(by)?))))
        }
        _ => None,
    }
}

/// The words that end what was begun with some.
#[must_use]
pub fn ending(words: &str) -> Option<String> {
    let parts: Vec<&str> = words.split_whitespace().collect();
    let with = |at: usize, instead: &str| {
        let mut parts = parts.clone();
        parts[at] = instead;
        Some(parts.join(" "))
    };
    match parts.as_slice() {
        ["aws", _, "one", _, "in", ..] => with(5, "0"),
        ["aws", _, "the", "next", ..] => with(4, "0"),
        ["aws", "credentials", "expire"] => Some("aws credentials are accepted".to_owned()),
        ["aws", "shows", "new", "instances", "after", _] => with(5, "0s"),
        ["queue", "delivers", "one", "message", "in", _, "twice"] => with(5, "0"),
        ["queue", "delivers", "one", "message", "in", _, "late", "by", _] => with(5, "0"),
        _ => None,
    }
}

fn of_account(parts: &[&str]) -> Result<Trouble, String> {
    let calls = |how, share, of| Ok(Trouble::Calls(OfCalls { how, of: which(of)?, share }));
    match parts {
        ["throttles", "one", "call", "in", count, "of", of] => {
            calls(How::Throttled, Share::OneIn(number(count)?), of)
        }
        ["throttles", "the", "next", count, "calls", "of", of] => {
            calls(How::Throttled, Share::Next(number(count)?), of)
        }
        ["fails", "one", "call", "in", count, "of", of] => {
            calls(How::Failed, Share::OneIn(number(count)?), of)
        }
        ["fails", "the", "next", count, "calls", "of", of] => {
            calls(How::Failed, Share::Next(number(count)?), of)
        }
        ["loses", "one", "answer", "in", count, "of", of] => {
            calls(How::AnswerLost, Share::OneIn(number(count)?), of)
        }
        ["loses", "the", "next", count, "answers", "of", of] => {
            calls(How::AnswerLost, Share::Next(number(count)?), of)
        }
        ["loses", "one", "request", "in", count, "of", of] => {
            calls(How::RequestLost, Share::OneIn(number(count)?), of)
        }
        ["loses", "the", "next", count, "requests", "of", of] => {
            calls(How::RequestLost, Share::Next(number(count)?), of)
        }
        ["credentials", "expire"] => Ok(Trouble::Expired(true)),
        ["credentials", "are", "accepted"] => Ok(Trouble::Expired(false)),
        ["shows", "new", "instances", "after", after] => Ok(Trouble::Unseen(span(after)?)),
        _ => Err("this means nothing; `replank cluster faults list` shows what can be started".to_owned()),
    }
}

fn which(word: &str) -> Result<Which, String> {
    let known = || Service::ALL.map(Service::signing_name).join(", ");
    let is_service = |name: &str| Service::of_signing_name(name).is_some();
    match (word, word.split_once(':')) {
        ("any", _) => Ok(Which::Any),
        ("reads", _) => Ok(Which::Reads),
        ("writes", _) => Ok(Which::Writes),
        (_, Some((service, action))) if is_service(service) && !action.is_empty() => {
            Ok(Which::Action(word.to_owned()))
        }
        (_, None) if is_service(word) => Ok(Which::Of(word.to_owned())),
        _ => Err(format!(
            "`{word}` is none of any, reads, writes, a service ({}), an operation (eks:DescribeNodegroup)",
            known()
        )),
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error| format!("`{text}`: {error}"))
}
