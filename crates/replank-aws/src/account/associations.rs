//! Which roles pods have, as it is kept.

use std::collections::BTreeMap;

use replank_model::time::Time;
use serde::{Deserialize, Serialize};

/// Associations, by their ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Associations(pub(crate) BTreeMap<String, Association>);

/// One of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Association {
    pub(crate) namespace: String,
    pub(crate) account: String,
    pub(crate) role: String,
    /// The add-on that it was made for.
    #[serde(default)]
    pub(crate) owner: Option<String>,
    pub(crate) created: Time,
    pub(crate) modified: Time,
}
