//! Members of a JSON object, asked for one by one; what is wrong is said with where.

use replank_model::object::cloud;
use replank_model::text::{InstanceId, Text};
use replank_model::time::Time;
use serde_json::Value;

use super::Poison;

/// An object within a body.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    value: &'a Value,
    /// What its members are named behind, such as `detail.`.
    prefix: &'static str,
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Self { value, prefix: "" }
    }

    pub(super) fn has(self, member: &str) -> bool {
        self.value.get(member).is_some()
    }

    /// The object `detail`.
    pub(super) fn detail(self) -> Result<Self, Poison> {
        match self.value.get("detail") {
            Some(value @ Value::Object(_)) => Ok(Self { value, prefix: "detail." }),
            Some(other) => Err(self.wrong("detail", other, "an object")),
            None => Err(self.missing("detail")),
        }
    }

    /// A text that is there and not empty.
    pub(super) fn text(self, member: &str) -> Result<&'a str, Poison> {
        match self.value.get(member) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            Some(other) => Err(self.wrong(member, other, "a string")),
            None => Err(self.missing(member)),
        }
    }

    /// The objects of a list; none where it is not there.
    pub(super) fn list(self, member: &'static str) -> Result<&'a [Value], Poison> {
        match self.value.get(member) {
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.wrong(member, other, "a list")),
            None => Err(self.missing(member)),
        }
    }

    /// An instance's id, bare or at the end of an ARN.
    pub(super) fn instance(self, member: &str) -> Result<InstanceId, Poison> {
        let text = self.text(member)?;
        instance(text).ok_or_else(|| self.wrong(member, &Value::from(text), "an instance's id"))
    }

    /// A moment, where one is there that can be read: in RFC 3339 or, as AWS Health writes it, in RFC 1123.
    pub(super) fn time(self, member: &str) -> Option<Time> {
        time(self.text(member).ok()?)
    }

    pub(super) fn wrong(self, member: &str, found: &Value, expected: &'static str) -> Poison {
        let found = if let Value::String(text) = found {
            shown(&format!("{text:?}"))
        } else {
            shown(&found.to_string())
        };
        Poison::Value { member: self.path(member), found, expected }
    }

    pub(super) fn missing(self, member: &str) -> Poison {
        Poison::Missing { member: self.path(member) }
    }

    fn path(self, member: &str) -> Text {
        Text::from(format!("{}{member}", self.prefix))
    }
}

/// The id of an instance, where a text is one or an ARN of one. Which ids there are is the cloud's to say: one that nobody has
/// is looked for in vain, no more.
fn instance(text: &str) -> Option<InstanceId> {
    let id = cloud::instance_of(text)?;
    let is_id = id.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    (is_id && id.as_str().bytes().any(|byte| byte.is_ascii_alphanumeric())).then_some(id)
}

/// The instance that an entity of AWS Health is, if it is one: hosts and volumes have events too.
pub(super) fn entity(text: &str) -> Option<InstanceId> {
    let is_instance = text.starts_with("i-") || text.contains(":instance/");
    instance(text).filter(|_| is_instance)
}

fn time(text: &str) -> Option<Time> {
    let of_mail = || jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp().as_millisecond());
    text.parse().ok().or_else(|| of_mail().map(Time::from_millis))
}

/// Enough of a text to find it by.
pub(super) fn shown(text: &str) -> Text {
    const SHOWN: usize = 64;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => Text::from(format!("{}…", &text[..end])),
        None => Text::from(text),
    }
}
