//! Commands: what a driver is to do, complete.
//!
//! A driver, simulated or live, has no choices to make. Every precondition it must check is in the command; a command
//! whose precondition fails has no effect and says so.

use replank_model::text::RunId;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

pub use crate::effect::{
    Claim, Dependents, Effect, EmptyInstance, Expected, GroupEffect, KubernetesEffect, QueueEffect,
    Replacement, zero,
};
pub use crate::outcome::{Answer, Outcome, Refusal};
pub use crate::role::{Mark, NodeRole};
pub use crate::target::{ClaimTarget, NodeTarget, PodTarget, Restartable, WorkloadTarget};

pub use super::key::CommandKey;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// Names the effect: two commands with one key are one effect, however often they are sent.
    pub key: CommandKey,
    /// On whose behalf.
    pub run: RunId,
    /// What to do.
    pub effect: Effect,
    /// After this moment the command must not be carried out any more.
    pub deadline: Time,
}
