//! Target groups: who registers instances there, when they become healthy, and how they drain.
//!
//! An Auto Scaling group registers an instance before it puts it into service, unless AddToLoadBalancer is suspended: then the instance is never registered by itself.
//! It deregisters an instance that it terminates, and waits for the deregistration delay before any termination hook holds the instance ("How lifecycle hooks work").
//! A controller of the cluster registers every Ready node that does not carry the label `node.kubernetes.io/exclude-from-external-load-balancers`, and deregisters
//! all others (AWS Load Balancer Controller, `pkg/k8s/node_utils.go`); AddToLoadBalancer means nothing to it.
//!
//! A target is `initial` until its first health check ("Health checks for Application Load Balancer target groups": one is enough for a new target), then `healthy`
//! while its node is Ready. One that is deregistered is `draining` for the deregistration delay, with or without open connections, and is not listed any more then.

use std::sync::Arc;

use replank_facts::groups::instance_id_of;
use replank_model::delta::Delta;
use replank_model::object::cloud::{
    Instance, Lifecycle, NodeGroup, Registrar, ScalingProcess, Target, TargetGroup, TargetHealth,
};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, Text};
use replank_model::time::{Span, Time};
use replank_protocol::mark;

use super::registrations::{Next, Step};
use super::state::SimulatedCloud;
use crate::context::Ctx;
use crate::event::{CloudDue, Event};
use replank_apiserver::draw::Purpose;

/// Whether new targets of a group pass their health checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetChecks {
    /// They fail.
    Fail,
    /// They pass.
    Pass,
}

impl SimulatedCloud {
    /// Health checks of targets that a group registers from now on fail; or all pass again.
    pub(crate) fn set_target_checks(&mut self, ctx: &mut Ctx<'_>, group: &GroupName, checks: TargetChecks) {
        match checks {
            TargetChecks::Fail => drop(self.targets.failing.insert(group.clone(), ctx.api.now())),
            TargetChecks::Pass => {
                self.targets.failing.remove(group);
                let members = ctx.view().instances().values().filter(|one| one.group == *group);
                let members: Vec<Arc<Instance>> = members.cloned().collect();
                for instance in &members {
                    self.targets.unwell.remove(&instance.id);
                    self.check_again(ctx, instance);
                }
            }
        }
    }

    /// An instance fails the health checks of its target groups from now on.
    pub(crate) fn fail_target_checks(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        self.targets.unwell.insert(instance.id.clone());
        for target in instance.targets.iter().filter(|target| target.health == TargetHealth::Healthy) {
            self.check_at(ctx, &instance.id, &target.group);
        }
    }

    /// RegisterTargets: registers an instance in the target groups of its group that somebody else does not keep.
    pub(crate) fn register_targets(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        let Some(group) = ctx.view().groups().get(&instance.group).cloned() else { return };
        let mut changed = instance.clone();
        for target_group in of(&group, Registrar::AutoScaling) {
            self.registered(ctx, &mut changed, target_group);
        }
        apply(ctx, instance, changed);
    }

    /// RegisterTargets or DeregisterTargets, of one instance in one target group.
    pub(super) fn set_target(
        &mut self,
        ctx: &mut Ctx<'_>,
        instance: &Instance,
        target_group: &TargetGroup,
        is_registered: bool,
    ) {
        let mut changed = instance.clone();
        if is_registered {
            self.registered(ctx, &mut changed, target_group);
        } else {
            self.deregistered(ctx, &mut changed, target_group);
        }
        apply(ctx, instance, changed);
    }

    /// An instance's group puts it into service: it registers it first.
    pub(super) fn add_to_load_balancers(&mut self, ctx: &mut Ctx<'_>, instance: &mut Instance) {
        let Some(group) = ctx.view().groups().get(&instance.group).cloned() else { return };
        if group.ways.is_active(ScalingProcess::AddToLoadBalancer) {
            for target_group in of(&group, Registrar::AutoScaling) {
                self.registered(ctx, instance, target_group);
            }
        }
    }

    /// An instance is to be terminated: its group deregisters it first. Whether it drains.
    pub(super) fn drains_first(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) -> bool {
        if self.targets.leaving.contains(&instance.id) {
            return true;
        }
        let Some(group) = ctx.view().groups().get(&instance.group).cloned() else { return false };
        let mut changed = instance.clone();
        for target_group in of(&group, Registrar::AutoScaling) {
            self.deregistered(ctx, &mut changed, target_group);
        }
        if changed.targets == instance.targets && !is_drained_by(&group, instance) {
            return false;
        }
        self.targets.leaving.insert(instance.id.clone());
        changed.lifecycle = Lifecycle::Terminating;
        apply(ctx, instance, changed);
        true
    }

    /// A controller of the cluster hears of a node that it has to register or deregister.
    pub(super) fn watch_node(&mut self, ctx: &mut Ctx<'_>, old: Option<&Node>, new: Option<&Node>) {
        let is_ready = |node: Option<&Node>| node.is_some_and(Node::is_ready);
        if is_proxy(old) == is_proxy(new) && is_ready(old) == is_ready(new) {
            return;
        }
        let Some(node) = new.or(old) else { return };
        let id = instance_id_of(node);
        let has_targets = ctx.view().instances().get(&id).is_some_and(|instance| {
            ctx.view().groups().get(&instance.group).is_some_and(|group| !group.target_groups.is_empty())
        });
        if has_targets {
            let draw = ctx.draws.draw(id.as_str(), Purpose::Target, u64::from(is_proxy(new)));
            let span = self.timings.controller.draw(draw);
            self.look_at_targets(ctx, &id, span);
        }
    }

    fn look_at_targets(&mut self, ctx: &mut Ctx<'_>, id: &InstanceId, after: Span) {
        let number = self.instance_number(id);
        ctx.agenda.after(after, Event::Cloud(CloudDue::Targets(number)));
    }

    /// What is due of an instance's targets, and what the controller has to do about them.
    pub(super) fn targets_due(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let id = self.instances[number as usize].clone();
        let Some(instance) = ctx.view().instances().get(&id).cloned() else { return };
        let Some(group) = ctx.view().groups().get(&instance.group).cloned() else { return };
        let mut changed = Instance::clone(&instance);
        self.steps(ctx, &mut changed);
        let node = instance.node.as_ref().and_then(|name| ctx.view().node(name)).cloned();
        let is_proxy = instance.state.is_alive() && is_proxy(node.as_deref());
        for target_group in of(&group, Registrar::Controller) {
            if is_proxy {
                self.registered(ctx, &mut changed, target_group);
            } else {
                self.deregistered(ctx, &mut changed, target_group);
            }
        }
        let is_ready = node.is_some_and(|node| node.is_ready());
        let fails = self.fails(&instance);
        for target in &mut changed.targets {
            match target.health {
                TargetHealth::Healthy if !is_ready => target.health = TargetHealth::Unhealthy,
                TargetHealth::Unhealthy if is_ready && !fails => {
                    self.check_later_again(ctx, &id, &target.group);
                }
                TargetHealth::Healthy
                | TargetHealth::Unhealthy
                | TargetHealth::Initial
                | TargetHealth::Draining
                | TargetHealth::Unused
                | TargetHealth::Unavailable => {}
            }
        }
        let is_over = self.targets.leaving.contains(&id) && !is_drained_by(&group, &changed);
        apply(ctx, &instance, changed.clone());
        if is_over {
            self.targets.leaving.remove(&id);
            self.terminate_drained(ctx, &changed);
        }
    }

    /// Takes the steps that are due.
    fn steps(&mut self, ctx: &mut Ctx<'_>, instance: &mut Instance) {
        let now = ctx.api.now();
        let node = instance.node.as_ref().and_then(|name| ctx.view().node(name));
        let is_ready = node.is_some_and(|node| node.is_ready());
        let fails = self.fails(instance);
        let mut left = Vec::new();
        for mut target in std::mem::take(&mut instance.targets) {
            let key = (instance.id.clone(), target.group.clone());
            let due = self.targets.next.get(&key).filter(|next| next.at <= now).map(|next| next.step);
            if due.is_some() {
                self.targets.next.remove(&key);
            }
            match due {
                Some(Step::Drained) => continue,
                Some(Step::Checked) if is_ready && !fails => target.health = TargetHealth::Healthy,
                Some(Step::Checked) => target.health = TargetHealth::Unhealthy,
                None => {}
            }
            left.push(target);
        }
        instance.targets = left;
    }

    /// Whether an instance fails the health checks of load balancers.
    fn fails(&self, instance: &Instance) -> bool {
        let since = self.targets.failing.get(&instance.group);
        let is_failing = |since: &Time| instance.launched.is_some_and(|launched| launched >= *since);
        self.targets.unwell.contains(&instance.id) || since.is_some_and(is_failing)
    }

    fn registered(&mut self, ctx: &mut Ctx<'_>, instance: &mut Instance, target_group: &TargetGroup) {
        let known = instance.targets.iter_mut().find(|target| target.group == target_group.arn);
        match known {
            Some(target) if target.health == TargetHealth::Draining => target.health = TargetHealth::Initial,
            Some(_) => return,
            None => {
                let target = Target { group: target_group.arn.clone(), health: TargetHealth::Initial };
                instance.targets.push(target);
                instance.targets.sort();
            }
        }
        let id = instance.id.clone();
        self.check_at(ctx, &id, &target_group.arn);
    }

    fn check_at(&mut self, ctx: &mut Ctx<'_>, id: &InstanceId, target_group: &Text) {
        let entity = format!("{id}/{target_group}");
        let span = self.timings.target_check.draw(ctx.draws.draw(&entity, Purpose::Target, 0));
        self.step_after(ctx, (id, target_group), span, Step::Checked);
    }

    /// An unhealthy target is checked again, unless it is already.
    fn check_later_again(&mut self, ctx: &mut Ctx<'_>, id: &InstanceId, target_group: &Text) {
        if !self.targets.next.contains_key(&(id.clone(), target_group.clone())) {
            self.check_at(ctx, id, target_group);
        }
    }

    fn check_again(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        for target in instance.targets.iter().filter(|target| target.health == TargetHealth::Unhealthy) {
            self.check_at(ctx, &instance.id, &target.group);
        }
    }

    fn deregistered(&mut self, ctx: &mut Ctx<'_>, instance: &mut Instance, target_group: &TargetGroup) {
        let known = instance.targets.iter_mut().find(|target| target.group == target_group.arn);
        let Some(target) = known.filter(|target| target.health != TargetHealth::Draining) else { return };
        target.health = TargetHealth::Draining;
        let id = instance.id.clone();
        self.step_after(ctx, (&id, &target_group.arn), target_group.deregistration_delay, Step::Drained);
    }

    fn step_after(&mut self, ctx: &mut Ctx<'_>, of: (&InstanceId, &Text), span: Span, step: Step) {
        let at = ctx.api.now() + span;
        self.targets.next.insert((of.0.clone(), of.1.clone()), Next { at, step });
        self.look_at_targets(ctx, of.0, span);
    }
}

fn of(group: &NodeGroup, registrar: Registrar) -> impl Iterator<Item = &TargetGroup> {
    group.target_groups.iter().filter(move |target_group| target_group.registrar == registrar)
}

/// Whether an instance is registered, or still drains, where its Auto Scaling group registers instances.
fn is_drained_by(group: &NodeGroup, instance: &Instance) -> bool {
    of(group, Registrar::AutoScaling).any(|own| instance.targets.iter().any(|target| target.group == own.arn))
}

/// Whether a controller sends to a node.
fn is_proxy(node: Option<&Node>) -> bool {
    node.is_some_and(|node| {
        node.is_ready() && !node.meta.is_terminating() && !node.meta.labels.contains_key(mark::EXCLUDE)
    })
}

fn apply(ctx: &mut Ctx<'_>, was: &Instance, is: Instance) {
    if is != *was {
        ctx.api.apply_cloud(Delta::Instance(Arc::new(is)));
    }
}

#[cfg(test)]
mod tests;
