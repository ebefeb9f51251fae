//! Who is registered where, and how targets drain.

use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::cloud::{
    GroupSize, HealthStatus, HookResult, Instance, InstanceState, LaunchTemplate, Lifecycle, LifecycleHook,
    Market, NodeGroup, NodeProfile, NodeShape, Registrar, ScalingProcess, Target, TargetGroup, TargetHealth,
    Transition,
};
use replank_model::text::{InstanceId, NodeName};
use replank_model::time::Span;
use replank_protocol::mark;
use serde_json::json;

use super::TargetChecks;
use crate::World;
use crate::testing::{node, world};
use replank_apiserver::json::Method;

const ARN: &str = "arn:aws:elasticloadbalancing:r:1:targetgroup/web/1";

/// A group of one instance, which is healthy in its target group, with a termination hook.
fn stage(registrar: Registrar) -> World {
    let mut old = node("old", "a");
    old["spec"] = json!({"providerID": "aws:///a/i-old"});
    let mut world = world(vec![old]);
    let template = LaunchTemplate {
        profile: NodeProfile {
            shapes: vec![NodeShape { weight: 1, ..NodeShape::default() }],
            ..NodeProfile::default()
        },
        ..LaunchTemplate::default()
    };
    let size = GroupSize { min: 0, max: 3, desired: 1 };
    let mut group = NodeGroup::new("web".into(), size, vec!["a".into()], template);
    group.target_groups = vec![TargetGroup { registrar, ..TargetGroup::attached(ARN) }];
    group.hooks.push(LifecycleHook {
        name: "drain".into(),
        at: Transition::Terminating,
        timeout: Span::from_minutes(30),
        result: HookResult::default(),
    });
    let instance = Instance {
        id: InstanceId::from("i-old"),
        group: "web".into(),
        zone: "a".into(),
        state: InstanceState::Running,
        template: group.current.clone(),
        launched: None,
        node: Some(NodeName::from("old")),
        lifecycle: Lifecycle::InService,
        market: Market::OnDemand,
        is_protected: false,
        health: HealthStatus::Healthy,
        targets: vec![Target { group: ARN.into(), health: TargetHealth::Healthy }],
    };
    world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    world.request(|api| api.apply_cloud(Delta::Instance(instance.into())));
    world
}

fn change(world: &mut World, change: impl FnOnce(&mut NodeGroup)) {
    let mut group = NodeGroup::clone(&world.view().groups()["web"]);
    change(&mut group);
    world.request(|api| api.apply_cloud(Delta::Group(group.into())));
}

fn label(world: &mut World, value: &serde_json::Value) {
    let patch = json!({"metadata": {"labels": {mark::EXCLUDE: value}}});
    let answer = world.send(Method::Patch, "/api/v1/nodes/old", patch);
    assert_eq!(answer.code, 200, "{:?}", answer.body);
    assert!(world.get(Kind::Node, "old").is_some());
}

/// The old instance, or the first new one: where it is in its group, and what in its target group.
fn shown(world: &World, is_old: bool) -> String {
    let of = |one: &&std::sync::Arc<Instance>| (one.id.as_str() == "i-old") == is_old;
    let Some(one) = world.view().instances().values().find(of) else { return "gone".to_owned() };
    let targets: Vec<&str> = one.targets.iter().map(|target| target.health.as_str()).collect();
    format!("{} {}", one.lifecycle, targets.join(","))
}

#[test]
fn an_auto_scaling_group_registers_before_service_and_drains_before_its_hook() {
    let mut world = stage(Registrar::AutoScaling);
    label(&mut world, &"true".into());
    world.pass(Span::from_minutes(10));
    assert_eq!(shown(&world, true), "InService healthy", "the label means nothing to it");
    change(&mut world, |group| group.size.desired = 2);
    world.pass(Span::from_minutes(5));
    assert_eq!(shown(&world, false), "InService healthy");
    assert!(world.end_instance(&NodeName::from("old")));
    world.pass(Span::from_secs(299));
    assert_eq!(shown(&world, true), "Terminating draining");
    world.pass(Span::from_secs(2));
    assert_eq!(shown(&world, true), "Terminating:Wait ", "the hook comes after the deregistration delay");
    world.pass(Span::from_minutes(40));
    assert_eq!(shown(&world, true), "gone");
}

#[test]
fn what_is_launched_while_add_to_load_balancer_is_suspended_is_registered_by_hand_only() {
    let mut world = stage(Registrar::AutoScaling);
    change(&mut world, |group| {
        group.ways = group.ways.clone().without(ScalingProcess::AddToLoadBalancer);
        group.size.desired = 2;
    });
    world.pass(Span::from_minutes(5));
    assert_eq!(shown(&world, false), "InService ");
    change(&mut world, |group| {
        assert!(group.ways.suspended.remove(&ScalingProcess::AddToLoadBalancer));
    });
    world.pass(Span::from_minutes(5));
    assert_eq!(shown(&world, false), "InService ", "resumption registers later ones only");
    let new = world
        .view()
        .instances()
        .values()
        .find_map(|one| one.node.clone().filter(|_| one.id.as_str() != "i-old"));
    assert!(world.register_targets(&new.expect("it has joined")));
    world.pass(Span::from_minutes(1));
    assert_eq!(shown(&world, false), "InService healthy");
}

#[test]
fn a_controller_keeps_ready_nodes_that_are_not_excluded() {
    let mut world = stage(Registrar::Controller);
    change(&mut world, |group| {
        group.ways = group.ways.clone().without(ScalingProcess::AddToLoadBalancer);
        group.size.desired = 2;
    });
    label(&mut world, &"true".into());
    world.pass(Span::from_secs(10));
    assert_eq!(shown(&world, true), "InService draining");
    world.pass(Span::from_minutes(5));
    assert_eq!(shown(&world, true), "InService ");
    assert_eq!(shown(&world, false), "InService healthy", "whatever processes of its group are suspended");
    label(&mut world, &serde_json::Value::Null);
    world.pass(Span::from_minutes(1));
    assert_eq!(shown(&world, true), "InService healthy", "it is registered again");
    assert!(world.end_instance(&NodeName::from("old")));
    world.pass(Span::from_secs(1));
    assert_eq!(shown(&world, true), "Terminating:Wait healthy", "its group does not drain it");
}

#[test]
fn a_target_is_unhealthy_while_its_node_is_not_ready_or_its_checks_fail() {
    let mut world = stage(Registrar::AutoScaling);
    assert!(world.fail_target_checks(&NodeName::from("old")));
    world.set_target_checks(&"web".into(), TargetChecks::Fail);
    change(&mut world, |group| group.size.desired = 2);
    world.pass(Span::from_minutes(5));
    assert_eq!(
        (shown(&world, true), shown(&world, false)),
        ("InService unhealthy".into(), "InService unhealthy".into())
    );
    world.set_target_checks(&"web".into(), TargetChecks::Pass);
    world.pass(Span::from_minutes(1));
    assert_eq!(
        (shown(&world, true), shown(&world, false)),
        ("InService healthy".into(), "InService healthy".into())
    );
    world.silence(&NodeName::from("old"));
    world.pass(Span::from_minutes(2));
    assert_eq!(shown(&world, true), "InService unhealthy", "its kubelet is silent");
}
