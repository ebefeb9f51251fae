//! What each suspended process keeps a group from doing about an instance that fails its status checks.

use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupSize, HealthStatus, Instance, InstanceState, LaunchTemplate, Lifecycle, Market, NodeGroup,
    NodeProfile, NodeShape, ScalingProcess,
};
use replank_model::text::{InstanceId, NodeName};
use replank_model::time::Span;
use serde_json::json;

use super::StatusCheck;
use crate::World;
use crate::testing::{node, world};

/// A group of two, some of whose processes are suspended, and whose instances are protected from scale-in. The status checks of one fail.
fn stage(suspended: &[ScalingProcess]) -> World {
    let of = |name: &str| {
        let mut node = node(name, "a");
        node["spec"] = json!({"providerID": format!("aws:///a/i-{name}")});
        node
    };
    let mut world = world(vec![of("sick"), of("well")]);
    let template = LaunchTemplate {
        profile: NodeProfile {
            shapes: vec![NodeShape { weight: 1, ..NodeShape::default() }],
            ..NodeProfile::default()
        },
        ..LaunchTemplate::default()
    };
    let size = GroupSize { min: 0, max: 2, desired: 2 };
    let mut group = NodeGroup::new("web".into(), size, vec!["a".into()], template);
    group.ways.suspended.extend(suspended);
    let current = group.current.clone();
    world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    for name in ["sick", "well"] {
        let instance = Instance {
            id: InstanceId::from(format!("i-{name}").as_str()),
            group: "web".into(),
            zone: "a".into(),
            state: InstanceState::Running,
            template: current.clone(),
            launched: None,
            node: Some(NodeName::from(name)),
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: true,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        };
        world.request(|api| api.apply_cloud(Delta::Instance(instance.into())));
    }
    assert!(world.check_status(&NodeName::from("sick"), StatusCheck::Fails));
    world.pass(Span::from_minutes(10));
    world
}

fn resume(world: &mut World, process: ScalingProcess) {
    let mut group = NodeGroup::clone(&world.view().groups()["web"]);
    assert!(group.ways.suspended.remove(&process), "{process}");
    world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    world.pass(Span::from_minutes(10));
}

/// What the instance is taken for, if its group counts it, and how many others there are.
fn shown(world: &World) -> (Option<HealthStatus>, usize) {
    let counted = || world.view().instances().values().filter(|one| one.is_counted());
    let sick = counted().find(|one| one.id.as_str() == "i-sick");
    (sick.map(|one| one.health), counted().filter(|one| one.id.as_str() != "i-sick").count())
}

const REPLACED: (Option<HealthStatus>, usize) = (None, 2);

#[test]
fn an_instance_that_fails_its_status_checks_is_replaced_even_if_it_is_protected_from_scale_in() {
    assert_eq!(shown(&stage(&[])), REPLACED);
}

#[test]
fn while_health_check_is_suspended_none_is_marked_but_by_somebody() {
    let mut world = stage(&[ScalingProcess::HealthCheck]);
    assert_eq!(shown(&world), (Some(HealthStatus::Healthy), 1));
    assert!(world.set_instance_health(&NodeName::from("sick"), HealthStatus::Unhealthy));
    world.pass(Span::from_minutes(10));
    assert_eq!(shown(&world), REPLACED, "custom health checks go on");

    let mut world = stage(&[ScalingProcess::HealthCheck]);
    resume(&mut world, ScalingProcess::HealthCheck);
    assert_eq!(shown(&world), REPLACED);

    let mut world = stage(&[ScalingProcess::HealthCheck]);
    assert!(world.check_status(&NodeName::from("sick"), StatusCheck::Passes));
    resume(&mut world, ScalingProcess::HealthCheck);
    assert_eq!(shown(&world), (Some(HealthStatus::Healthy), 1), "it was never marked");
}

#[test]
fn while_replace_unhealthy_or_terminate_is_suspended_it_is_marked_and_stays() {
    for process in [ScalingProcess::ReplaceUnhealthy, ScalingProcess::Terminate] {
        let mut world = stage(&[process]);
        assert_eq!(shown(&world), (Some(HealthStatus::Unhealthy), 1), "{process}");
        assert!(world.check_status(&NodeName::from("sick"), StatusCheck::Passes));
        world.pass(Span::from_minutes(10));
        assert_eq!(
            shown(&world),
            (Some(HealthStatus::Unhealthy), 1),
            "{process}: what is marked stays marked"
        );
        resume(&mut world, process);
        assert_eq!(shown(&world), REPLACED, "{process}");
    }
}

#[test]
fn while_launch_is_suspended_it_is_terminated_and_nothing_takes_its_place() {
    let mut world = stage(&[ScalingProcess::Launch]);
    assert_eq!(shown(&world), (None, 1));
    resume(&mut world, ScalingProcess::Launch);
    assert_eq!(shown(&world), REPLACED);
}

#[test]
fn other_processes_matter_to_none_of_this() {
    let others = [
        ScalingProcess::AzRebalance,
        ScalingProcess::AddToLoadBalancer,
        ScalingProcess::AlarmNotification,
        ScalingProcess::ScheduledActions,
        ScalingProcess::InstanceRefresh,
    ];
    for process in others {
        assert_eq!(shown(&stage(&[process])), REPLACED, "{process}");
    }
}
