//! The cloud's API, as far as a driver calls it: the calls of EC2, Auto Scaling, EKS and SQS that docs/effects.md names, one method each.
//!
//! What a call checks by itself it checks here, and no more: what has to be so besides, the driver looks up before it calls. The simulated cloud
//! implements it; a server that speaks AWS' protocols can be put in front of it, as in front of [`replank_apiserver::Store`].

use std::sync::Arc;

use replank_model::object::cloud::GroupSize;
use replank_model::object::cloud::{
    Instance, LaunchTemplate, LaunchTemplateRef, NodeGroup, ScalingProcess, VersionWord,
};
use replank_model::text::{GroupName, InstanceId, MessageId, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Refusal, Replacement};
use replank_protocol::lifecycle::Action;

/// Calls that read.
pub trait DescribeCloud {
    /// A group (Auto Scaling DescribeAutoScalingGroups, DescribeTags and DescribeLifecycleHooks; EC2 DescribeLaunchTemplateVersions; EKS DescribeNodegroup and
    /// DescribeUpdate).
    fn describe_group(&self, group: &GroupName) -> Option<Arc<NodeGroup>>;

    /// An instance (EC2 DescribeInstances, Auto Scaling DescribeAutoScalingInstances). `None` proves nothing: a terminated one is listed for a while only.
    fn describe_instance(&self, instance: &InstanceId) -> Option<Arc<Instance>>;
}

/// All calls.
pub trait Cloud: DescribeCloud {
    /// Writes a tag (Auto Scaling CreateOrUpdateTags, EKS TagResource).
    ///
    /// # Errors
    /// Gone.
    fn create_or_update_tag(&mut self, group: &GroupName, key: &Text, value: &Text) -> Result<(), Refusal>;

    /// Takes a tag off (Auto Scaling DeleteTags, EKS UntagResource).
    ///
    /// # Errors
    /// Gone.
    fn delete_tag(&mut self, group: &GroupName, key: &Text) -> Result<(), Refusal>;

    /// Suspends a process of a group, or resumes it (Auto Scaling SuspendProcesses, ResumeProcesses).
    ///
    /// # Errors
    /// Gone.
    fn set_process(
        &mut self,
        group: &GroupName,
        process: ScalingProcess,
        is_active: bool,
    ) -> Result<(), Refusal>;

    /// Protects an instance from scale-in, or ends that (Auto Scaling SetInstanceProtection).
    ///
    /// # Errors
    /// Gone, and 400 where the instance is neither in service nor in standby.
    fn set_instance_protection(
        &mut self,
        group: &GroupName,
        instance: &InstanceId,
        is_protected: bool,
    ) -> Result<(), Refusal>;

    /// Makes a version of a group's launch template (EC2 CreateLaunchTemplateVersion with a ClientToken): the equal one, where there is one at that place.
    ///
    /// # Errors
    /// Gone.
    fn create_launch_template_version(
        &mut self,
        group: &GroupName,
        template: &LaunchTemplate,
        place: Place,
    ) -> Result<LaunchTemplateRef, Refusal>;

    /// Changes what is named of a group (Auto Scaling UpdateAutoScalingGroup). Without a desired capacity, a bound that the group is beyond moves it.
    ///
    /// # Errors
    /// Gone, and 400 where desired would not lie between minimum and maximum.
    fn update_auto_scaling_group(&mut self, group: &GroupName, update: &GroupUpdate) -> Result<(), Refusal>;

    /// Terminates an instance (Auto Scaling TerminateInstanceInAutoScalingGroup). Scale-in protection does not keep it. It knows of no node.
    ///
    /// # Errors
    /// Gone, and 400 where the group is at its minimum and is to want one less.
    fn terminate_instance(&mut self, instance: &InstanceId, replacement: Replacement) -> Result<(), Refusal>;

    /// Ends the wait of an instance that a hook holds (Auto Scaling CompleteLifecycleAction, CONTINUE).
    ///
    /// # Errors
    /// 400 where no action is active.
    fn complete_lifecycle_action(&mut self, action: &Action) -> Result<(), Refusal>;

    /// Has a hook hold an instance for longer (Auto Scaling RecordLifecycleActionHeartbeat).
    ///
    /// # Errors
    /// 400 where no action is active.
    fn record_lifecycle_action_heartbeat(&mut self, action: &Action) -> Result<(), Refusal>;

    /// Begins to replace all nodes of a managed node group (EKS UpdateNodegroupVersion).
    ///
    /// # Errors
    /// Gone where it is no managed one, 409 while another update is in progress.
    fn update_nodegroup_version(
        &mut self,
        asked: &NodegroupRequest<'_>,
        template: &LaunchTemplate,
        force: bool,
    ) -> Result<(), Refusal>;

    /// Begins to change the size of a managed node group (EKS UpdateNodegroupConfig).
    ///
    /// # Errors
    /// Gone where it is no managed one, 409 while another update is in progress, 400 where desired does not lie between minimum and maximum.
    fn update_nodegroup_config(&mut self, asked: &NodegroupRequest<'_>, to: GroupSize)
    -> Result<(), Refusal>;

    /// Hides a message from others until a moment (SQS ChangeMessageVisibility).
    ///
    /// # Errors
    /// 400 where the receipt handle has expired, or the moment is too far.
    fn change_message_visibility(
        &mut self,
        message: &MessageId,
        receipt: &str,
        until: Time,
    ) -> Result<(), Refusal>;

    /// Takes a message out of its queue (SQS DeleteMessage).
    ///
    /// # Errors
    /// 400 where the receipt handle has expired.
    fn delete_message(&mut self, message: &MessageId, receipt: &str) -> Result<(), Refusal>;
}

/// What a call changes of an Auto Scaling group: what is not named stays what others have made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupUpdate {
    /// The launch template version that new instances get.
    pub template: Option<VersionNamed>,
    /// The minimum.
    pub min: Option<u32>,
    /// The maximum.
    pub max: Option<u32>,
    /// The desired capacity.
    pub desired: Option<u32>,
}

/// How an Auto Scaling group names a version of its launch template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionNamed {
    /// By its number.
    Number(LaunchTemplateRef),
    /// By a word.
    Word(VersionWord),
}

/// Where among the versions of its launch template a version is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Anywhere.
    Any,
    /// It is the last.
    Last,
}

/// Which managed node group is meant, and the client request token: the same token is the same request.
#[derive(Clone, Copy, Debug)]
pub struct NodegroupRequest<'a> {
    /// The node group.
    pub group: &'a GroupName,
    /// The token.
    pub token: &'a Text,
}

/// The truth answers every read.
impl DescribeCloud for View {
    fn describe_group(&self, group: &GroupName) -> Option<Arc<NodeGroup>> {
        self.groups().get(group).cloned()
    }

    fn describe_instance(&self, instance: &InstanceId) -> Option<Arc<Instance>> {
        self.instances().get(instance).cloned()
    }
}

/// A group that has to be there.
pub(crate) fn known_group(cloud: &dyn DescribeCloud, name: &GroupName) -> Result<Arc<NodeGroup>, Refusal> {
    let known = cloud.describe_group(name);
    known.ok_or_else(|| Refusal::Gone { message: Text::from(format!("node group {name} not found")) })
}

/// An instance that has to be listed.
pub(crate) fn known_instance(cloud: &dyn DescribeCloud, id: &InstanceId) -> Result<Arc<Instance>, Refusal> {
    let known = cloud.describe_instance(id);
    known.ok_or_else(|| Refusal::Gone { message: Text::from(format!("instance {id} not found")) })
}
