//! The calls of the cloud's API, as the simulated cloud carries them out.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupSize, Instance, LaunchTemplate, LaunchTemplateRef, Lifecycle, NodeGroup, ScalingProcess,
};
use replank_model::text::{GroupName, InstanceId, MessageId, Text};
use replank_model::time::Time;
use replank_protocol::command::{Refusal, Replacement};
use replank_protocol::lifecycle::Action;

use super::api::{
    Cloud, DescribeCloud, GroupUpdate, NodegroupRequest, Place, VersionNamed, known_group, known_instance,
};
use super::state::SimulatedCloud;
use crate::context::Ctx;

/// The simulated cloud, with what it may touch while it answers a call.
pub(crate) struct Calls<'c, 'a> {
    pub(super) cloud: &'c mut SimulatedCloud,
    pub(super) ctx: &'c mut Ctx<'a>,
}

impl<'c, 'a> Calls<'c, 'a> {
    pub(crate) fn new(cloud: &'c mut SimulatedCloud, ctx: &'c mut Ctx<'a>) -> Self {
        Self { cloud, ctx }
    }

    /// As a call that names what it writes: everything else stays what others have made of it.
    fn change(
        &mut self,
        name: &GroupName,
        change: impl FnOnce(&mut NodeGroup) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let known = known_group(self, name)?;
        let mut group = NodeGroup::clone(&known);
        change(&mut group)?;
        if group != *known {
            self.ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
        }
        Ok(())
    }
}

impl DescribeCloud for Calls<'_, '_> {
    fn describe_group(&self, group: &GroupName) -> Option<Arc<NodeGroup>> {
        self.ctx.view().describe_group(group)
    }

    fn describe_instance(&self, instance: &InstanceId) -> Option<Arc<Instance>> {
        self.ctx.view().describe_instance(instance)
    }
}

impl Cloud for Calls<'_, '_> {
    fn create_or_update_tag(&mut self, group: &GroupName, key: &Text, value: &Text) -> Result<(), Refusal> {
        self.change(group, |group| {
            group.tags = group.tags.with(key.clone(), value.clone());
            Ok(())
        })
    }

    fn delete_tag(&mut self, group: &GroupName, key: &Text) -> Result<(), Refusal> {
        self.change(group, |group| {
            group.tags = group.tags.without(key);
            Ok(())
        })
    }

    fn set_process(
        &mut self,
        group: &GroupName,
        process: ScalingProcess,
        is_active: bool,
    ) -> Result<(), Refusal> {
        self.change(group, |group| {
            group.ways.suspended.retain(|one| *one != process);
            if !is_active {
                group.ways.suspended.insert(process);
            }
            Ok(())
        })
    }

    fn set_instance_protection(
        &mut self,
        group: &GroupName,
        id: &InstanceId,
        is_protected: bool,
    ) -> Result<(), Refusal> {
        let instance = known_instance(self, id)?;
        let refused = |message| Err(Refusal::Failed { code: 400, message: Text::from(message) });
        if instance.group != *group {
            return refused(format!("The instance {id} is not part of Auto Scaling group {group}."));
        }
        if !matches!(instance.lifecycle, Lifecycle::InService | Lifecycle::Standby) {
            return refused(format!("The instance {id} is not in InService or Standby."));
        }
        if instance.is_protected != is_protected {
            let changed = Instance { is_protected, ..Instance::clone(&instance) };
            self.ctx.api.apply_cloud(Delta::Instance(Arc::new(changed)));
        }
        Ok(())
    }

    fn create_launch_template_version(
        &mut self,
        group: &GroupName,
        template: &LaunchTemplate,
        place: Place,
    ) -> Result<LaunchTemplateRef, Refusal> {
        let known = known_group(self, group)?;
        let version = match place {
            Place::Any => known.version_of(template),
            Place::Last => known.last_version_of(template),
        };
        self.change(group, |group| {
            group.templates.entry(version.clone()).or_insert_with(|| template.clone());
            // What follows the last version launches this one from now on.
            if let Some(word) = group.follows {
                group.current = group.version_called(word);
            }
            Ok(())
        })?;
        Ok(version)
    }

    fn update_auto_scaling_group(&mut self, group: &GroupName, update: &GroupUpdate) -> Result<(), Refusal> {
        self.change(group, |group| {
            let GroupSize { min, max, desired } = group.size;
            let (min, max) = (update.min.unwrap_or(min), update.max.unwrap_or(max));
            let moved = if min <= max { desired.clamp(min, max) } else { desired };
            let size = GroupSize { min, max, desired: update.desired.unwrap_or(moved) };
            if size.min > size.desired || size.desired > size.max {
                return Err(not_within(&group.name, size));
            }
            group.size = size;
            match &update.template {
                Some(VersionNamed::Number(version)) => {
                    group.current = version.clone();
                    group.follows = None;
                }
                Some(VersionNamed::Word(word)) => {
                    group.current = group.version_called(*word);
                    group.follows = Some(*word);
                }
                None => {}
            }
            Ok(())
        })
    }

    fn terminate_instance(&mut self, id: &InstanceId, replacement: Replacement) -> Result<(), Refusal> {
        let instance = known_instance(self, id)?;
        // Whether a second call lowers the size once more is not documented. Here it does: the caller reads first.
        match replacement {
            Replacement::Launch => {}
            Replacement::Decrement { .. } => self.change(&instance.group, |group| {
                if group.size.desired <= group.size.min {
                    let message = format!("group {} is at its minimum: {}", group.name, group.size);
                    return Err(Refusal::Failed { code: 400, message: Text::from(message) });
                }
                group.size.desired -= 1;
                Ok(())
            })?,
        }
        if instance.is_counted() {
            self.cloud.terminate(self.ctx, &instance);
        }
        Ok(())
    }

    fn complete_lifecycle_action(&mut self, action: &Action) -> Result<(), Refusal> {
        self.cloud.complete(self.ctx, action)
    }

    fn record_lifecycle_action_heartbeat(&mut self, action: &Action) -> Result<(), Refusal> {
        self.cloud.heartbeat(self.ctx, action)
    }

    fn update_nodegroup_version(
        &mut self,
        asked: &NodegroupRequest<'_>,
        template: &LaunchTemplate,
        force: bool,
    ) -> Result<(), Refusal> {
        self.cloud.update_nodegroup_version(self.ctx, asked, (template, force))
    }

    fn update_nodegroup_config(
        &mut self,
        asked: &NodegroupRequest<'_>,
        to: GroupSize,
    ) -> Result<(), Refusal> {
        self.cloud.update_nodegroup_config(self.ctx, asked, to)
    }

    fn change_message_visibility(
        &mut self,
        message: &MessageId,
        receipt: &str,
        until: Time,
    ) -> Result<(), Refusal> {
        self.cloud.hold_message(self.ctx, message, receipt, until)
    }

    fn delete_message(&mut self, message: &MessageId, receipt: &str) -> Result<(), Refusal> {
        self.cloud.delete_message(message, receipt)
    }
}

/// What Auto Scaling says of sizes that do not go together.
pub(crate) fn not_within(group: &GroupName, size: GroupSize) -> Refusal {
    let message = format!("group {group}: desired must lie between min and max: {size}");
    Refusal::Failed { code: 400, message: Text::from(message) }
}
