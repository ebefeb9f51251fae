//! Protection of instances from scale-in, set and ended.

use replank_model::object::cloud::GroupId;
use replank_model::text::{InstanceId, Text};
use replank_protocol::command::Refusal;
use serde_json::{Value, json};

use super::account::Aws;
use super::act::{Step, Stop};
use super::answer::text;
use crate::cloud::Order;

impl Aws {
    /// SetInstanceProtection: nothing is sent where it is so already. An instance that has left its group has nothing that could be ended.
    pub(super) async fn protect(
        &self,
        id: &InstanceId,
        group: &GroupId,
        is_protected: bool,
        order: Order<'_>,
    ) -> Step {
        let name = &*group.auto_scaling_group;
        self.own(name, &group.node_group).await?;
        let Some(member) = self.member(id).await? else {
            let message = format!("instance {id} is in no Auto Scaling group");
            return Err(Refusal::Gone { message: Text::from(message) }.into());
        };
        let own = text(&member, "AutoScalingGroupName").unwrap_or_default();
        if own != name {
            let message = format!("instance {id} belongs to Auto Scaling group {own}");
            return Err(Refusal::Conflict { message: Text::from(message) }.into());
        }
        if is_so(&member, is_protected) {
            return Err(Stop::Done);
        }
        let params = json!({"AutoScalingGroupName": name, "InstanceIds": [id.as_str()], "ProtectedFromScaleIn": is_protected});
        if self.write("SetInstanceProtection", &params, order).await? {
            return Ok(());
        }
        match self.member(id).await? {
            Some(member) if is_so(&member, is_protected) => Ok(()),
            Some(_) | None => Err(Stop::Unknown(format!(
                "no answer came, and the protection of instance {id} is not to be seen as it was asked for"
            ))),
        }
    }
}

fn is_so(member: &Value, is_protected: bool) -> bool {
    (member["ProtectedFromScaleIn"] == true) == is_protected
}
