//! What becomes of an instance that fails its status checks ("Health checks for instances in an Auto Scaling group" and "How suspended processes affect other
//! processes" in the EC2 Auto Scaling guide).
//!
//! HealthCheck marks an instance in service that fails them Unhealthy, some time later; while it is suspended none is marked, except by somebody's SetInstanceHealth.
//! ReplaceUnhealthy terminates what is marked, and the group launches another. It does nothing while it or Terminate is suspended, and it does at once what there is
//! to do when that ends; while Launch is suspended it terminates and nothing is launched. Scale-in protection protects from none of this.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cloud::{HealthStatus, Instance, Lifecycle, NodeGroup, ScalingProcess};
use replank_model::text::InstanceId;

use super::state::SimulatedCloud;
use crate::context::Ctx;
use crate::event::{CloudDue, Event};
use replank_apiserver::draw::Purpose;

/// How EC2's status checks of an instance come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusCheck {
    /// They fail: the machine does not respond.
    Fails,
    /// They pass.
    Passes,
}

impl SimulatedCloud {
    /// EC2's status checks of an instance fail from now on.
    pub(crate) fn impair(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        if self.impaired.insert(instance.id.clone()) {
            self.check_later(ctx, &instance.id);
        }
    }

    /// They pass again. An instance that its group has marked stays marked.
    pub(crate) fn recover(&mut self, instance: &Instance) {
        self.impaired.remove(&instance.id);
    }

    /// Health checks of a group are resumed: what fails them is found out.
    pub(super) fn checks_are_resumed(&mut self, ctx: &mut Ctx<'_>, group: &NodeGroup) {
        let is_of =
            |id: &&InstanceId| ctx.view().instances().get(*id).is_some_and(|one| one.group == group.name);
        let impaired: Vec<InstanceId> = self.impaired.iter().filter(is_of).cloned().collect();
        for id in &impaired {
            self.check_later(ctx, id);
        }
    }

    fn check_later(&mut self, ctx: &mut Ctx<'_>, id: &InstanceId) {
        let number = self.instance_number(id);
        let span = self.timings.health_check.draw(ctx.draws.draw(id.as_str(), Purpose::HealthCheck, 0));
        ctx.agenda.after(span, Event::Cloud(CloudDue::HealthCheck(number)));
    }

    /// A group looks at an instance that failed its status checks.
    pub(super) fn check_health(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Some(instance) = self.known(ctx.view(), number) else { return };
        let group = ctx.view().groups().get(&instance.group);
        let is_checked = group.is_some_and(|group| group.ways.is_active(ScalingProcess::HealthCheck));
        if is_checked && self.impaired.contains(&instance.id) {
            mark(ctx, &instance, HealthStatus::Unhealthy);
        }
    }

    /// Terminates the instances of a group that are marked, where nothing is suspended that this takes; whether there was one.
    pub(super) fn replace_unhealthy(&mut self, ctx: &mut Ctx<'_>, group: &NodeGroup) -> bool {
        let needs = [ScalingProcess::ReplaceUnhealthy, ScalingProcess::Terminate];
        if !needs.into_iter().all(|process| group.ways.is_active(process)) {
            return false;
        }
        let ids = self.alive.get(&group.name).into_iter().flat_map(|alive| &alive.unhealthy);
        let unhealthy: Vec<Arc<Instance>> =
            ids.filter_map(|id| ctx.view().instances().get(id).cloned()).collect();
        for instance in &unhealthy {
            self.terminate(ctx, instance);
        }
        !unhealthy.is_empty()
    }
}

/// Marks an instance in service (SetInstanceHealth, or a health check).
pub(crate) fn mark(ctx: &mut Ctx<'_>, instance: &Instance, health: HealthStatus) {
    if instance.is_counted() && instance.lifecycle == Lifecycle::InService && instance.health != health {
        ctx.api.apply_cloud(Delta::Instance(Arc::new(Instance { health, ..instance.clone() })));
    }
}

#[cfg(test)]
mod tests;
