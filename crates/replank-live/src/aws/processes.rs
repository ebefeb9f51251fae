//! Processes of Auto Scaling groups, suspended and resumed.

use replank_model::object::cloud::{GroupId, ScalingProcess};
use serde_json::json;

use super::account::Aws;
use super::act::{Step, Stop};
use super::answer::{list, text};
use crate::cloud::Order;

impl Aws {
    /// SuspendProcesses and ResumeProcesses: nothing is sent where it is so already.
    pub(super) async fn set_process(
        &self,
        group: &GroupId,
        process: ScalingProcess,
        is_active: bool,
        order: Order<'_>,
    ) -> Step {
        let name = &*group.auto_scaling_group;
        let is_so = |found: &serde_json::Value| {
            let is_it = |one: &serde_json::Value| text(one, "ProcessName") == Some(process.as_str());
            list(&found["SuspendedProcesses"]).iter().any(is_it) != is_active
        };
        if is_so(&self.own(name, &group.node_group).await?) {
            return Err(Stop::Done);
        }
        let action = if is_active { "ResumeProcesses" } else { "SuspendProcesses" };
        let params = json!({"AutoScalingGroupName": name, "ScalingProcesses": [process.as_str()]});
        if self.write(action, &params, order).await? || is_so(&self.group(name).await?) {
            return Ok(());
        }
        let word = if is_active { "suspended" } else { "active" };
        Err(Stop::Unknown(format!("no answer came, and {process} of group {group} is still {word}")))
    }
}
