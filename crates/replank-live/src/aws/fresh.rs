//! What several effects at once rest on, asked for once: whether a group is ours, and whether it has a hook.

use std::time::{Duration, Instant};

use replank_model::text::InstanceId;
use serde_json::{Value, json};

use super::account::Aws;
use super::answer::{taken, text};
use super::client::Manner;
use super::error::AwsError;
use super::service::Service;

/// How old an answer may be: so many interruptions at once would ask for it hundreds of times, at a few calls a second.
const FRESH: Duration = Duration::from_secs(1);

impl Aws {
    /// The termination hooks of an Auto Scaling group, by an answer that is a second old at most.
    pub(super) async fn recent_hooks(&self, name: &str) -> Result<Vec<Value>, AwsError> {
        let params = json!({ "AutoScalingGroupName": name });
        self.recently((Service::AutoScaling, "DescribeLifecycleHooks"), &params, "LifecycleHooks").await
    }

    /// An Auto Scaling group, which has to be there, by such an answer.
    pub(super) async fn recent_group(&self, name: &str) -> Result<Value, AwsError> {
        match self.recently_found(name).await? {
            Some(group) => Ok(group),
            // It may just have been made.
            None => self.group(name).await,
        }
    }

    /// An instance as such an answer about its group has it; nothing where it has not, or the group is not there.
    pub(super) async fn recent_member(
        &self,
        id: &InstanceId,
        group: &str,
    ) -> Result<Option<Value>, AwsError> {
        let Some(group) = self.recently_found(group).await? else { return Ok(None) };
        let mut members = group["Instances"].as_array().into_iter().flatten();
        Ok(members.find(|one| text(one, "InstanceId") == Some(id.as_str())).cloned())
    }

    async fn recently_found(&self, group: &str) -> Result<Option<Value>, AwsError> {
        let params = json!({ "AutoScalingGroupNames": [group] });
        let call = (Service::AutoScaling, "DescribeAutoScalingGroups");
        let found = self.recently(call, &params, "AutoScalingGroups").await?;
        Ok(found.into_iter().find(|one| text(one, "AutoScalingGroupName") == Some(group)))
    }

    async fn recently(
        &self,
        call: (Service, &'static str),
        params: &Value,
        items: &str,
    ) -> Result<Vec<Value>, AwsError> {
        let slot = self.recent.slot(format!("{} {params}", call.1));
        let mut known = slot.lock().await;
        if let Some((_, found)) = known.as_ref().filter(|(asked, _)| asked.elapsed() < FRESH) {
            return Ok(found.clone());
        }
        let asked = Instant::now();
        let mut answer = self.caller.query(call, params, Manner::Read).await?;
        let found = taken(&mut answer, call, items)?;
        *known = Some((asked, found.clone()));
        Ok(found)
    }
}
