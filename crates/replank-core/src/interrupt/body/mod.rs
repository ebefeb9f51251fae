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
use crate::interrupt::Home;
use fields::Fields;
use replank_model::text::Text;
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

/// Reads a body as far as it is about an account and region, where these are known: what another one has sent is foreign.
#[must_use]
pub fn read_at(text: &str, home: Option<&Home>) -> Body {
    let body = read(text);
    match (&body, home) {
        (Body::Notice(_), Some(home)) => elsewhere(text, home).map_or(body, |what| Body::Foreign { what }),
        (Body::Notice(_) | Body::Test | Body::Foreign { .. } | Body::Poison(_), Some(_) | None) => body,
    }
}

/// Which other account or region a whole body is about, if it says so. An event of AWS Health is sent to a second region as well (`backupEvent`): it names
/// the region that it is about.
fn elsewhere(text: &str, home: &Home) -> Option<Text> {
    let outer = json(text).ok()?;
    let fields = Fields::of(&outer);
    let inner = fields.text("Message").ok().and_then(|inner| json(inner).ok());
    let fields = inner.as_ref().map_or(fields, Fields::of);
    let region = fields.detail().ok().and_then(|detail| detail.text("eventRegion").ok());
    let region = region.or_else(|| fields.text("region").ok());
    let account = fields.text("account").or_else(|_| fields.text("AccountId")).ok();
    if let Some(account) = account.filter(|account| **account != *home.account) {
        return Some(fields::shown(&format!("account {account}")));
    }
    let region = region.filter(|region| **region != *home.region && *region != "global")?;
    Some(fields::shown(&format!("region {region}")))
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
