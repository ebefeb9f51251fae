//! What is remembered of instances that are registered in target groups.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::{GroupName, InstanceId, Text};
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

/// What is remembered of targets.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Targets {
    /// What becomes of a target next.
    #[serde(with = "replank_model::pairs")]
    pub(super) next: BTreeMap<(InstanceId, Text), Next>,
    /// Groups whose new targets fail their health checks, and since when.
    pub(super) failing: BTreeMap<GroupName, Time>,
    /// Instances that fail them, whatever others of their group do.
    pub(super) unwell: BTreeSet<InstanceId>,
    /// Instances that are terminated when they are drained.
    pub(super) leaving: BTreeSet<InstanceId>,
}

/// A step, and when it is due.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Next {
    pub(super) at: Time,
    pub(super) step: Step,
}

/// What a target waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Its health check comes out.
    Checked,
    /// It is drained.
    Drained,
}
