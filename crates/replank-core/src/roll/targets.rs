//! Target groups of load balancers, where they are known: whether a new node gets requests, and whether an old one still does.
//!
//! A new node counts once it is healthy in each target group of its group. That is asked only where it can be had: while instances from before the run are registered in
//! the target group, and all of them whose nodes are Ready are healthy. Where some of them are not, health may depend on which pods a node has
//! (`externalTrafficPolicy: Local`), and pods come to new nodes only when these count.

use replank_model::object::cloud::{
    Instance, NodeGroup, Registrar, ScalingProcess, Target, TargetGroup, TargetHealth,
};
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::View;

/// A target group in which a new node is not healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotHealthy {
    /// The target group's name.
    pub(super) target_group: Text,
    /// What the new node is there.
    pub(super) health: TargetHealth,
    /// Who registers it.
    pub(super) registrar: Registrar,
    /// The Auto Scaling group that does not register it, because AddToLoadBalancer is suspended.
    pub(super) suspended: Option<Text>,
}

/// Why load balancers do not send to a new node of a run that started then; `None` where they do, and where that is not known.
pub(super) fn not_healthy(view: &View, started: Time, instance: &Instance) -> Option<NotHealthy> {
    let group = view.groups().get(&instance.group)?;
    group.target_groups.iter().find_map(|target_group| {
        let health = health_of(instance, target_group).unwrap_or(TargetHealth::Unused);
        let is_well = match health {
            TargetHealth::Healthy | TargetHealth::Unavailable => true,
            TargetHealth::Initial
            | TargetHealth::Unhealthy
            | TargetHealth::Draining
            | TargetHealth::Unused => false,
        };
        (!is_well && is_asked(view, started, target_group)).then(|| NotHealthy {
            target_group: Text::from(TargetGroup::name_of(&target_group.arn)),
            health,
            registrar: target_group.registrar,
            suspended: suspended(group, target_group, health),
        })
    })
}

/// Whether new nodes have to be healthy in a target group: see the module's page.
fn is_asked(view: &View, started: Time, target_group: &TargetGroup) -> bool {
    let is_before = |instance: &&std::sync::Arc<Instance>| {
        instance.is_counted() && instance.launched.is_none_or(|launched| launched <= started)
    };
    let is_ready = |instance: &&std::sync::Arc<Instance>| {
        instance.node.as_ref().and_then(|name| view.node(name)).is_some_and(|node| node.is_ready())
    };
    let before = view.instances().values().filter(is_before).filter(is_ready);
    let mut checked = before.filter_map(|instance| match health_of(instance, target_group)? {
        TargetHealth::Healthy => Some(true),
        TargetHealth::Unhealthy => Some(false),
        TargetHealth::Initial | TargetHealth::Draining | TargetHealth::Unused | TargetHealth::Unavailable => {
            None
        }
    });
    let first = checked.next();
    first == Some(true) && checked.all(|is_healthy| is_healthy)
}

fn suspended(group: &NodeGroup, target_group: &TargetGroup, health: TargetHealth) -> Option<Text> {
    let registers = match target_group.registrar {
        Registrar::AutoScaling => group.ways.is_active(ScalingProcess::AddToLoadBalancer),
        Registrar::Controller => true,
    };
    (!registers && health == TargetHealth::Unused).then(|| group.auto_scaling_group.clone())
}

/// The target groups in which a controller of the cluster registers nodes, where some are known: an old instance that is excluded is out of load balancers when it is in
/// none of them any more.
pub(super) fn of_controllers(group: &NodeGroup) -> impl Iterator<Item = &TargetGroup> {
    group.target_groups.iter().filter(|target_group| target_group.registrar == Registrar::Controller)
}

/// The first of them in which an instance still is: its name, the state there, and how long it drains.
pub(super) fn still_in(group: &NodeGroup, instance: &Instance) -> Option<(Text, TargetHealth, Span)> {
    of_controllers(group).find_map(|target_group| {
        let health = health_of(instance, target_group).filter(|health| *health != TargetHealth::Unused)?;
        let name = Text::from(TargetGroup::name_of(&target_group.arn));
        Some((name, health, target_group.deregistration_delay))
    })
}

fn health_of(instance: &Instance, target_group: &TargetGroup) -> Option<TargetHealth> {
    let is_it = |target: &&Target| target.group == target_group.arn;
    instance.targets.iter().find(is_it).map(|target| target.health)
}
