//! What is counted of pods and nodes that go.

use replank_facts::shutdown::Path;
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::cloud::{
    GroupSize, HealthStatus, Instance, InstanceState, LaunchTemplate, Lifecycle, Market, NodeGroup,
    NodeProfile, NodeShape,
};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::Span;
use serde_json::{Value, json};

use super::{ConnectionFigures, Connections, Demand};
use crate::testing::{Play, node, world};
use replank_apiserver::DeleteOptions;
use replank_sim::World;

/// A Deployment of pods that take so many seconds to stop, of which their hook takes some.
fn stage(replicas: u32, stop: i64, hook: i64, demand: &str) -> (World, Connections) {
    let container =
        json!({"name": "c", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": hook}}}});
    stage_of(replicas, stop, &json!([container]), demand)
}

/// A Deployment of pods with such containers that take so many seconds to stop.
fn stage_of(replicas: u32, stop: i64, containers: &Value, demand: &str) -> (World, Connections) {
    let of = |name: &str, zone: &str| {
        let mut node = node(name, zone);
        node["spec"] = json!({"providerID": format!("aws:///{zone}/i-{name}")});
        node
    };
    let mut world = world(vec![of("n1", "a"), of("n2", "b")]);
    world.apply(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"},
                "annotations": {"fake.kubelet/stop-ms": (stop * 1000).to_string(), "fake.kubelet/ready-ms": "9500"}},
                "spec": {"terminationGracePeriodSeconds": 60, "containers": containers}}}}));
    world.pass(Span::from_secs(60));
    let demand = Demand::read(demand).expect("it is right");
    assert!(demand.has_pods(world.view()));
    let connections = Connections::of(world.view(), &[demand], world.now());
    world.observe(Box::new(connections.clone()));
    (world, connections)
}

fn delete_one(world: &mut World) {
    let key = world.view().pods.sorted()[0].1.meta.key();
    let deleted = world.request(|api| api.delete(Kind::Pod, &key, &DeleteOptions::default()));
    deleted.expect("it is there");
}

fn figures(world: &World, connections: &Connections) -> ConnectionFigures {
    connections.figures(world.now()).remove(0)
}

#[test]
fn a_pod_that_stops_at_once_refuses_and_cuts() {
    let (mut world, connections) = stage(2, 1, 0, "shop/web=10/s,2s");
    delete_one(&mut world);
    world.pass(Span::from_secs(60));
    let told = figures(&world, &connections);
    // Five a second come to it: for 5 s nobody takes them, and those of the last second before are still open when it ends.
    assert_eq!((told.pods, told.refused, told.cut, told.dark), (1, 25, 5, Span::ZERO));
    assert_eq!(told.path, Path::Proxy.as_str());
}

#[test]
fn a_hook_that_outlasts_the_word_loses_nothing() {
    let (mut world, connections) = stage(2, 8, 5, "shop/web=10/s,2s");
    delete_one(&mut world);
    world.pass(Span::from_secs(60));
    let told = figures(&world, &connections);
    assert_eq!((told.pods, told.refused, told.cut), (1, 0, 0));
    let (mut world, connections) = stage(2, 8, 5, "shop/web=10/s,2s,alb-ip");
    delete_one(&mut world);
    world.pass(Span::from_secs(60));
    assert_eq!(figures(&world, &connections).refused, 50, "an ALB sends for 15 s");
}

/// What is lost when one of two pods with such containers goes that stop after so many seconds.
fn lost(stop: i64, containers: &Value, demand: &str) -> (u64, u64) {
    let (mut world, connections) = stage_of(2, stop, containers, demand);
    delete_one(&mut world);
    world.pass(Span::from_secs(120));
    let told = figures(&world, &connections);
    (told.refused, told.cut)
}

#[test]
fn a_command_that_sleeps_is_a_hook_like_a_sleep() {
    let exec = |command: Value| json!([{"name": "c", "image": "i", "lifecycle": {"preStop": {"exec": {"command": command}}}}]);
    for command in [json!(["sleep", "15"]), json!(["/bin/sh", "-c", "sleep 15 && nginx -s quit"])] {
        assert_eq!(lost(18, &exec(command), "shop/web=10/s,2s,alb-ip"), (0, 0));
    }
    assert_eq!(lost(18, &exec(json!(["nginx", "-s", "quit"])), "shop/web=10/s,2s,alb-ip"), (75, 0));
}

#[test]
fn a_proxy_takes_the_connections_and_ends_as_its_settings_say() {
    let with =
        |env: Value| json!([{"name": "c", "image": "i"}, {"name": "istio-proxy", "image": "p", "env": env}]);
    // The process takes 20 s; Envoy is killed after five, with the connections of 10 s on it.
    assert_eq!(lost(20, &with(json!([])), "shop/web=10/s,10s"), (0, 50));
    let longer = json!([{"name": "TERMINATION_DRAIN_DURATION_SECONDS", "value": "15"}]);
    assert_eq!(lost(20, &with(longer), "shop/web=10/s,10s"), (0, 0));
    // It waits for the last connection, of which the simulated kubelet knows nothing.
    let waits = json!([{"name": "EXIT_ON_ZERO_ACTIVE_CONNECTIONS", "value": "true"}]);
    assert_eq!(lost(5, &with(waits.clone()), "shop/web=10/s,40s"), (0, 0));
    assert_eq!(lost(5, &with(waits), "shop/web=10/s,70s"), (0, 75), "60 s of grace");
}

#[test]
fn the_only_pod_leaves_the_workload_dark_until_the_next_is_ready() {
    let (mut world, connections) = stage(1, 8, 5, "shop/web=10/s,2s");
    delete_one(&mut world);
    world.pass(Span::from_secs(60));
    let told = figures(&world, &connections);
    // The next is bound at once, runs after 0.5 s and is Ready 9.5 s later; the old one takes connections for 5 s.
    let dark = told.dark.as_millis();
    assert!((5_000..5_200).contains(&dark), "{dark}");
    assert_eq!(told.refused, ((dark * 10) as u64).div_ceil(1000));
}

#[test]
fn a_node_that_is_ended_as_a_target_takes_with_it_what_passes_through() {
    let figures_when = |excluded: Option<Span>| {
        let (mut world, connections) = stage(1, 1, 0, "shop/web=10/s,2s,nlb-instance");
        let size = GroupSize { min: 0, max: 2, desired: 1 };
        let profile = NodeProfile { shapes: vec![NodeShape::default()], ..NodeProfile::default() };
        let template = LaunchTemplate { profile, ..LaunchTemplate::default() };
        let group = NodeGroup::new(GroupName::from("web"), size, vec!["a".into()], template);
        let made_from = group.current.clone();
        world.request(|api| api.apply_cloud(Delta::Group(group.into())));
        let other = world.view().pods.sorted()[0].1.node.clone().expect("it runs");
        let name = NodeName::from(if other.as_str() == "n1" { "n2" } else { "n1" });
        let instance = Instance {
            id: InstanceId::from(format!("i-{name}").as_str()),
            group: GroupName::from("web"),
            zone: "a".into(),
            state: InstanceState::Running,
            template: made_from.clone(),
            launched: None,
            node: Some(name.clone()),
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        };
        world.request(|api| api.apply_cloud(Delta::Instance(instance.into())));
        if let Some(before) = excluded {
            let label = |node: &mut Node| {
                node.meta.labels = node.meta.labels.with(replank_protocol::mark::EXCLUDE, "true");
            };
            let key = Key::cluster(name.text().clone());
            world.request(|api| api.modify::<Node>(&key, label).map(drop)).expect("it is there");
            world.pass(before);
        }
        assert!(world.end_instance(&name));
        world.pass(Span::from_minutes(5));
        let told = figures(&world, &connections);
        (told.refused, told.cut, told.pods)
    };
    assert_eq!(figures_when(None), (5 * 180, 10, 0));
    assert_eq!(
        figures_when(Some(Span::from_secs(120))),
        (5 * 60, 10, 0),
        "an NLB sends on for three minutes"
    );
    assert_eq!(figures_when(Some(Span::from_secs(300))), (0, 0, 0));
}
