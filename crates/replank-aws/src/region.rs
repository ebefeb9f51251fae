//! The world behind an account, as the wire sees it: groups, instances, and what can be done with them.

use std::sync::Arc;

use replank_model::object::cloud::{GroupSize, Instance, LaunchTemplate, NodeGroup, NodeShape, TargetGroup};
use replank_model::text::{GroupName, InstanceId, Text};
use replank_model::time::Time;
use replank_protocol::command::{Refusal, Replacement};
use replank_protocol::lifecycle::Action;
use serde_json::Value;

/// What can be told of an instance beside its group's view of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its type.
    pub instance_type: Text,
    /// Its address, once its node has one.
    pub address: Option<Text>,
    /// Whether its node is Ready.
    pub is_ready: bool,
}

/// An instance type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceType {
    /// Its name.
    pub name: Text,
    /// `x86_64` or `arm64`.
    pub arch: &'static str,
    /// Cores.
    pub vcpu: i64,
    /// Memory.
    pub memory_mib: i64,
}

/// The machines of an account. What is written is there when the call returns; what follows from it takes its time.
pub trait Region {
    /// The present moment in the world.
    fn now(&self) -> Time;

    /// All groups, by their names.
    fn groups(&self) -> Vec<Arc<NodeGroup>>;

    /// All instances, by their ids; one that is terminated for a while only.
    fn instances(&self) -> Vec<Arc<Instance>>;

    /// What else can be told of an instance.
    fn machine(&self, instance: &Instance) -> Machine;

    /// All instance types that are known.
    fn instance_types(&self) -> Vec<InstanceType>;

    /// What a node of an instance type offers; `None` where the type is not known.
    fn shape(&self, instance_type: &str) -> Option<NodeShape>;

    /// Makes a group, or makes one what it is to be: it works towards that.
    fn put_group(&mut self, group: NodeGroup);

    /// Takes away a group that has no instances.
    fn remove_group(&mut self, group: &GroupName);

    /// Changes what is known of an instance: its protection, its health, its place in its group.
    fn put_instance(&mut self, instance: Instance);

    /// Elastic Load Balancing RegisterTargets, or DeregisterTargets, of one instance. What follows takes its time: health checks, and the deregistration delay.
    fn put_target(&mut self, instance: &InstanceId, target_group: &TargetGroup, is_registered: bool);

    /// Auto Scaling TerminateInstanceInAutoScalingGroup.
    ///
    /// # Errors
    /// Why it is refused.
    fn terminate(&mut self, instance: &InstanceId, replacement: Replacement) -> Result<(), Refusal>;

    /// EC2 TerminateInstances: no hook holds it.
    fn end(&mut self, instance: &InstanceId);

    /// Auto Scaling CompleteLifecycleAction, CONTINUE.
    ///
    /// # Errors
    /// Where no action is active.
    fn complete(&mut self, action: &Action) -> Result<(), Refusal>;

    /// Auto Scaling RecordLifecycleActionHeartbeat.
    ///
    /// # Errors
    /// Where no action is active.
    fn heartbeat(&mut self, action: &Action) -> Result<(), Refusal>;

    /// EKS UpdateNodegroupVersion.
    ///
    /// # Errors
    /// Why it is refused.
    fn update_nodegroup_version(
        &mut self,
        group: &GroupName,
        token: &Text,
        template: &LaunchTemplate,
        force: bool,
    ) -> Result<(), Refusal>;

    /// EKS UpdateNodegroupConfig, of sizes.
    ///
    /// # Errors
    /// Why it is refused.
    fn update_nodegroup_config(
        &mut self,
        group: &GroupName,
        token: &Text,
        to: GroupSize,
    ) -> Result<(), Refusal>;

    /// The pod template of an add-on's workload in kube-system; `None` where there is none.
    fn workload(&self, addon: &str) -> Option<Value>;

    /// Gives an add-on's workload another pod template.
    fn put_workload(&mut self, addon: &str, template: &Value);

    /// How many nodes of a managed node group an update replaces at once.
    fn set_max_unavailable(&mut self, group: &GroupName, nodes: u32);
}
