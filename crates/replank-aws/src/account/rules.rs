//! Rules of EventBridge, as they are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::uuid;

/// Rules of the default event bus, by their names.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rules {
    pub(crate) by_name: BTreeMap<String, Rule>,
    pub(crate) count: u64,
}

/// A rule, and where it leads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) pattern: Option<String>,
    pub(crate) schedule: Option<String>,
    pub(crate) description: Option<String>,
    /// The role by which it sends: kept and shown.
    #[serde(default)]
    pub(crate) role: Option<String>,
    pub(crate) is_enabled: bool,
    pub(crate) targets: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) tags: BTreeMap<String, String>,
}

/// The token of the action by which a hook holds an instance.
pub(crate) fn token_of(hook: &str, instance: &str) -> String {
    uuid(&format!("{hook}-{instance}"))
}
