//! An instance, as EC2 has it.

use replank_model::object::cloud::{Instance, InstanceState, Market};
use replank_model::time::Time;
use serde_json::Value;

use super::answer::text;

/// What EC2 says of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) state: Option<InstanceState>,
    pub(super) launched: Option<Time>,
    pub(super) market: Market,
    /// The instance as its group had it, once it has left that.
    pub(super) left: Option<Instance>,
}

impl Machine {
    pub(super) fn of(one: &Value) -> Self {
        let state = match one["instanceState"]["name"].as_str() {
            Some("pending") => Some(InstanceState::Pending),
            Some("running") => Some(InstanceState::Running),
            // One that is stopped does not come back by itself, and is not terminated.
            Some("shutting-down" | "stopping" | "stopped") => Some(InstanceState::ShuttingDown),
            Some("terminated") => Some(InstanceState::Terminated),
            Some(_) | None => None,
        };
        let market = if one["instanceLifecycle"] == "spot" { Market::Spot } else { Market::OnDemand };
        let launched = text(one, "launchTime").and_then(|text| text.parse().ok());
        Self { state, launched, market, left: None }
    }
}
