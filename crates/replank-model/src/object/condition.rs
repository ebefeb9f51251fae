//! Conditions: the same shape in every kind that has them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::Text;
use crate::time::Time;
use crate::wire::is_default;

/// `status` of a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// Nobody can say.
    #[default]
    Unknown,
}

impl ConditionStatus {
    /// As the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ConditionStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ConditionStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(match &*text {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        })
    }
}

/// One condition (meta/v1 Condition and its older relatives).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What the condition is about, such as `Ready`.
    pub r#type: Text,
    /// Whether it holds. Always written, `Unknown` too.
    pub status: ConditionStatus,
    /// One CamelCase word that says why.
    #[serde(skip_serializing_if = "is_default")]
    pub reason: Text,
    /// A sentence that says why.
    #[serde(skip_serializing_if = "is_default")]
    pub message: Text,
    /// Generation of the object that the condition speaks of.
    #[serde(skip_serializing_if = "is_default")]
    pub observed_generation: i64,
    /// Last change of `status`.
    #[serde(skip_serializing_if = "is_default")]
    pub last_transition_time: Option<Time>,
    /// Last write (Deployments).
    #[serde(skip_serializing_if = "is_default")]
    pub last_update_time: Option<Time>,
    /// Last sign of life (nodes).
    #[serde(skip_serializing_if = "is_default")]
    pub last_heartbeat_time: Option<Time>,
    /// Last check (pods, jobs).
    #[serde(skip_serializing_if = "is_default")]
    pub last_probe_time: Option<Time>,
}

/// The condition of one type.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], r#type: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| &*condition.r#type == r#type)
}

/// Whether the condition of one type is there and true.
#[must_use]
pub fn is_true(conditions: &[Condition], r#type: &str) -> bool {
    find(conditions, r#type).is_some_and(|condition| condition.status == ConditionStatus::True)
}
