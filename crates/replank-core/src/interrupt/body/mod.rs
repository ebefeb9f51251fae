//! Message bodies, read: from an EventBridge rule (in an envelope), from a lifecycle hook (without), and either of them wrapped
//! by SNS.
//!
//! An event is known by its `detail`: `resources` may be missing, and names a spot instance by an ARN of no account. Nothing that a
//! body says can stop the others: one that cannot be read is [`Body::Poison`], with what is wrong with it.

mod detail;
mod fields;
mod poison;

pub use poison::{Body, Poison};
#[cfg(test)]
mod tests;
use fields::Fields;
use serde_json::Value;

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
    let what = fields.text("Event").or_else(|_| fields.text("Service")).unwrap_or("unknown event type");
    Ok(Body::Foreign { what: fields::shown(what) })
}

fn json(text: &str) -> Result<Value, Poison> {
    let poison = |why: String| Poison::Json { why: why.into(), bytes: text.len() };
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(poison("it contains no object".to_owned())),
        Err(error) => Err(poison(error.to_string())),
    }
}
