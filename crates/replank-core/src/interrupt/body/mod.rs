//! Message bodies, read: from an EventBridge rule (in an envelope), from a lifecycle hook (without), and either of them wrapped
//! by SNS.
//!
//! An event is known by its `detail`: `resources` may be missing, and names a spot instance by an ARN of no account. Nothing that a
//! body says can stop the others: one that cannot be read is [`Body::Poison`], with what is wrong with it.

mod detail;
mod fields;
#[cfg(test)]
mod tests;

use replank_model::text::Text;
use serde_json::Value;

use super::notice::Notice;
use fields::Fields;

/// What a body is.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// It says something about instances.
    Notice(Notice),
    /// It was sent to try out a queue, or to open a subscription: nothing is to be done.
    Test,
    /// It is whole, and not about what an instance of ours may be interrupted by.
    Foreign {
        /// What it is about.
        what: Text,
    },
    /// It cannot be read.
    Poison(Poison),
}

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Poison {
    /// It is no JSON, or is cut.
    #[error("it is not JSON: {why}, after {bytes} bytes")]
    Json {
        /// The reader's words.
        why: Text,
        /// Its length.
        bytes: usize,
    },
    /// A member that must be there is not.
    #[error("it has no {member}")]
    Missing {
        /// Where it would be, such as `detail.instance-id`.
        member: Text,
    },
    /// A member has a value that cannot be.
    #[error("its {member} is {found}, not {expected}")]
    Value {
        /// Where.
        member: Text,
        /// What is there, cut where it is long.
        found: Text,
        /// What should be.
        expected: &'static str,
    },
}

/// Reads a body.
#[must_use]
pub fn read(text: &str) -> Body {
    let outer = match json(text) {
        Ok(value) => value,
        Err(poison) => return Body::Poison(poison),
    };
    let fields = Fields::of(&outer);
    let read = match fields.text("Type").ok() {
        Some("Notification") if fields.has("Message") => return wrapped(fields),
        Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => Ok(Body::Test),
        Some(_) | None => unwrapped(fields),
    };
    read.unwrap_or_else(Body::Poison)
}

/// A body within a notification of SNS (SNS developer guide, "Fanout to Amazon SQS queues").
fn wrapped(outer: Fields<'_>) -> Body {
    let inner = outer.text("Message").and_then(json);
    inner.and_then(|inner| unwrapped(Fields::of(&inner))).unwrap_or_else(Body::Poison)
}

fn unwrapped(fields: Fields<'_>) -> Result<Body, Poison> {
    if fields.has("detail-type") {
        return detail::of_rule(fields);
    }
    if fields.text("Event").ok() == Some("autoscaling:TEST_NOTIFICATION") {
        return Ok(Body::Test);
    }
    if fields.has("LifecycleTransition") {
        return detail::of_hook(fields);
    }
    let what = fields.text("Event").or_else(|_| fields.text("Service")).unwrap_or("no event that is known");
    Ok(Body::Foreign { what: fields::shown(what) })
}

fn json(text: &str) -> Result<Value, Poison> {
    let poison = |why: String| Poison::Json { why: why.into(), bytes: text.len() };
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(poison("it holds no object".to_owned())),
        Err(error) => Err(poison(error.to_string())),
    }
}
