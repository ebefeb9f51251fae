//! What Auto Scaling keeps of a group beside what the region knows.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is kept of a group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Extra {
    /// When it was made; unknown for a group that the region began with.
    pub(crate) created: Option<Time>,
    /// What its hooks say beside what the region knows of them.
    pub(crate) hooks: BTreeMap<String, HookExtra>,
    /// Keys of tags that instances get.
    pub(crate) propagated: Vec<String>,
    /// The mixed instances policy, as it was given.
    pub(crate) mixed: Option<Value>,
    /// Health check type and grace.
    pub(crate) health: Option<(String, i64)>,
    /// Default cooldown.
    pub(crate) cooldown: Option<i64>,
    /// Longest life of an instance.
    pub(crate) lifetime: Option<i64>,
    /// Whether it rebalances its capacity.
    pub(crate) rebalances: bool,
    /// Other settings of its own, as they were given and are shown.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, Value>,
    /// Metrics that are collected.
    #[serde(default)]
    pub(crate) metrics: BTreeSet<String>,
    /// Whether it is being deleted.
    pub(crate) is_going: bool,
    /// Since when its size is what it is.
    pub(crate) activities: Vec<Activity>,
}

/// What a lifecycle hook says beside what the region knows of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct HookExtra {
    /// `ABANDON` or `CONTINUE`.
    pub(crate) result: Option<String>,
    /// What is told with every notice.
    pub(crate) metadata: Option<String>,
    /// Where notices go, beside EventBridge.
    pub(crate) target: Option<String>,
    /// By which role.
    pub(crate) role: Option<String>,
}

/// Something that a group did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Activity {
    /// Its id.
    pub(crate) id: String,
    /// What.
    pub(crate) description: String,
    /// Why.
    pub(crate) cause: String,
    /// When it began.
    pub(crate) start: Time,
    /// When it was over.
    pub(crate) end: Option<Time>,
    /// Its status.
    pub(crate) status: String,
    /// In words, where it failed.
    pub(crate) message: Option<String>,
    /// The instance that it is about.
    pub(crate) instance: Option<String>,
}
