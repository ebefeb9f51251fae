//! Lifecycle actions of Auto Scaling groups.

use replank_model::text::{GroupName, InstanceId, Text};
use serde::{Deserialize, Serialize};

/// A lifecycle action that a group waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// The group.
    pub group: GroupName,
    /// Its hook.
    pub hook: Text,
    /// The instance.
    pub instance: InstanceId,
    /// The action's token, where it was told: a later action of the same hook has another one.
    pub token: Option<Text>,
    /// Where the instance goes, where it was told: before warm pools there was one place only.
    pub to: Place,
}

/// Where an instance is, as a lifecycle action names it (`Origin`, `Destination`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Place {
    /// EC2: outside of the group.
    Ec2,
    /// The group, in service.
    Group,
    /// The group's warm pool.
    WarmPool,
}
