//! The steps of a recorded sequence of requests.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What opens a scenario.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Meta {
    pub(super) scenario: String,
    pub(super) group: String,
    pub(super) ns: String,
}

/// One step of a scenario.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Step {
    pub(super) seq: u64,
    pub(super) op: String,
    #[serde(default)]
    pub(super) mode: Mode,
    #[serde(default)]
    pub(super) request: Value,
    #[serde(default)]
    pub(super) response: Value,
    /// JSON-pointer globs of what is not compared.
    #[serde(default)]
    pub(super) ignore: Vec<String>,
    #[serde(default)]
    pub(super) compare: Compare,
    /// Variables, and where in the answer their values are.
    #[serde(default)]
    pub(super) save: BTreeMap<String, String>,
    /// How often a request is made at most, and after which codes again.
    pub(super) retry: Option<u32>,
    #[serde(default)]
    pub(super) retry_on: Vec<u16>,
    /// Codes that a request of setup may be refused with.
    #[serde(default)]
    pub(super) ok: Vec<u16>,
    pub(super) timeout_s: Option<f64>,
    pub(super) seconds: Option<f64>,
    /// What `setpods` is to do.
    #[serde(default)]
    pub(super) ns: String,
    #[serde(default)]
    pub(super) selector: String,
    #[serde(default)]
    pub(super) count: usize,
    #[serde(default)]
    pub(super) ready: usize,
    #[serde(default)]
    pub(super) unready: usize,
    pub(super) phase: Option<String>,
    pub(super) prefix: Option<String>,
    #[serde(default)]
    pub(super) only_new: bool,
    /// How the answer is made comparable: `sort` names a list.
    #[serde(default)]
    pub(super) norm: Value,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    /// The answer is compared.
    #[default]
    Exact,
    /// The request is made until the answer is as recorded, or time is up.
    Eventually,
    /// The request must succeed.
    Setup,
    /// Leaves nothing behind. Here the whole world goes.
    Cleanup,
}

/// How much of an answer is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Compare {
    /// All of it.
    #[default]
    Full,
    /// Code and reason.
    Reason,
    /// The code.
    Status,
}
