//! What the owner of an account does with groups beside what an engine does: makes and removes them, says how they behave, ends instances.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cloud::{Instance, NodeGroup, TargetGroup};
use replank_model::text::{GroupName, InstanceId};

use super::api::Cloud;
use super::calls::Calls;

/// Calls of an account's owner.
pub trait OwnCloud: Cloud {
    /// Makes a group, or makes one what it is to be (Auto Scaling CreateAutoScalingGroup, UpdateAutoScalingGroup, PutLifecycleHook and the like; EKS
    /// CreateNodegroup): it works towards that.
    fn put_group(&mut self, group: NodeGroup);

    /// Takes away a group (Auto Scaling DeleteAutoScalingGroup). It has no instances any more.
    fn remove_group(&mut self, group: &GroupName);

    /// Changes what is known of an instance (Auto Scaling SetInstanceProtection, SetInstanceHealth, EnterStandby, DetachInstances).
    fn put_instance(&mut self, instance: Instance);

    /// Registers an instance in a target group, or deregisters it there (Elastic Load Balancing RegisterTargets, DeregisterTargets), whoever keeps it otherwise.
    fn put_target(&mut self, instance: &InstanceId, target_group: &TargetGroup, is_registered: bool);

    /// Ends an instance at once (EC2 TerminateInstances): no hook holds it, and its group launches another.
    fn end_instance(&mut self, instance: &InstanceId);

    /// How many nodes an update of a managed node group replaces at once (EKS `updateConfig.maxUnavailable`).
    fn set_max_unavailable(&mut self, group: &GroupName, nodes: u32);
}

impl OwnCloud for Calls<'_, '_> {
    fn put_group(&mut self, group: NodeGroup) {
        self.ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
    }

    fn remove_group(&mut self, group: &GroupName) {
        self.ctx.api.apply_cloud(Delta::GroupGone(group.clone()));
    }

    fn put_instance(&mut self, instance: Instance) {
        self.ctx.api.apply_cloud(Delta::Instance(Arc::new(instance)));
    }

    fn put_target(&mut self, instance: &InstanceId, target_group: &TargetGroup, is_registered: bool) {
        let known = self.ctx.view().instances().get(instance).filter(|one| one.state.is_alive()).cloned();
        if let Some(known) = known {
            self.cloud.set_target(self.ctx, &known, target_group, is_registered);
        }
    }

    fn end_instance(&mut self, instance: &InstanceId) {
        let known = self.ctx.view().instances().get(instance).filter(|one| one.state.is_alive()).cloned();
        if let Some(known) = known {
            self.cloud.shut_down(self.ctx, &known);
        }
    }

    fn set_max_unavailable(&mut self, group: &GroupName, nodes: u32) {
        self.cloud.nodegroups.max_unavailable.insert(group.clone(), nodes);
    }
}
