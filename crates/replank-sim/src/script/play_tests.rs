//! What lines come to in a world.

use replank_model::delta::Delta;
use replank_model::object::cloud::{GroupSize, LaunchTemplate, NodeGroup, NodeProfile, NodeShape};
use replank_model::object::{Kind, Object};
use replank_model::text::{InstanceId, NodeName};
use replank_model::time::Span;
use serde_json::json;

use super::{AsGiven, NotPossible, Script, happen};
use crate::World;
use crate::testing::{node, running, world};

fn lets(world: &mut World, line: &str) -> Result<(), NotPossible> {
    let script = Script::read(&format!("before: {line}")).unwrap_or_else(|flaws| panic!("{flaws}"));
    happen(world, &AsGiven, &script.events[0].what)
}

fn is_ready(world: &World, name: &str) -> Option<bool> {
    match world.get(Kind::Pod, name) {
        Some(Object::Pod(pod)) => Some(pod.is_ready()),
        _ => None,
    }
}

#[test]
fn hands_do_to_objects_what_kubectl_does() {
    let mut world = world(vec![node("n1", "a"), running("web-0", "n1")]);
    let node_of = |world: &World| world.view().node(&NodeName::from("n1")).expect("it is there").clone();
    for line in [
        "somebody cordons n1",
        "somebody taints n1 spot=yes:NoSchedule",
        "somebody labels node n1 tier=web",
        "somebody annotates node n1 owner=ops",
        "somebody annotates pod shop/web-0 note=x",
    ] {
        assert_eq!(lets(&mut world, line), Ok(()), "{line}");
    }
    let node = node_of(&world);
    assert!(node.spec.unschedulable && node.spec.taints.iter().any(|taint| &*taint.key == "spot"));
    assert_eq!(node.meta.labels.value("tier"), Some("web"));
    assert_eq!(node.meta.annotations.value("owner"), Some("ops"));
    for line in ["somebody uncordons n1", "somebody removes label tier from node n1"] {
        assert_eq!(lets(&mut world, line), Ok(()), "{line}");
    }
    assert!(!node_of(&world).spec.unschedulable);
    assert_eq!(node_of(&world).meta.labels.value("tier"), None);
    assert_eq!(lets(&mut world, "somebody deletes pod shop/web-0"), Ok(()));
    world.pass(Span::from_secs(60));
    assert_eq!(is_ready(&world, "web-0"), None);
}

#[test]
fn pods_and_machines_do_what_they_are_told() {
    let mut world = world(vec![node("n1", "a")]);
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 2,
            "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    assert_eq!(lets(&mut world, &format!("somebody creates {deployment}")), Ok(()));
    world.pass(Span::from_secs(30));
    let ready = |world: &World| world.view().pods.sorted().iter().filter(|(_, pod)| pod.is_ready()).count();
    assert_eq!(ready(&world), 2);
    assert_eq!(lets(&mut world, "pods of deployment shop/web unready"), Ok(()));
    assert_eq!(ready(&world), 0);
    assert_eq!(lets(&mut world, "pods of deployment shop/web ready"), Ok(()));
    let old: Vec<_> = world.view().pods.sorted().iter().map(|(_, pod)| pod.meta.uid.clone()).collect();
    assert_eq!(lets(&mut world, "pods of deployment shop/web get stuck"), Ok(()));
    assert_eq!(lets(&mut world, "somebody restarts deployment shop/web"), Ok(()));
    world.pass(Span::from_minutes(5));
    let stays = |world: &World| {
        world.view().pods.sorted().iter().filter(|(_, pod)| old.contains(&pod.meta.uid)).count()
    };
    assert_eq!((stays(&world), ready(&world) >= 2), (2, true), "the new ones come, the old ones stay");
    assert_eq!(lets(&mut world, "pods of deployment shop/web get unstuck"), Ok(()));
    world.pass(Span::from_minutes(1));
    assert_eq!(stays(&world), 0);
    assert_eq!(lets(&mut world, "somebody scales deployment shop/web to 0"), Ok(()));
    assert_eq!(lets(&mut world, "node n1 falls silent"), Ok(()));
    world.pass(Span::from_minutes(2));
    assert!(!world.view().node(&NodeName::from("n1")).expect("it is there").is_ready());
    assert_eq!(lets(&mut world, "node n1 speaks again"), Ok(()));
    world.pass(Span::from_minutes(1));
    assert!(world.view().pods.sorted().is_empty());
}

#[test]
fn what_is_not_there_cannot_happen_and_says_so() {
    let mut world = world(vec![node("n1", "a")]);
    for (line, expected) in [
        ("pod shop/web-0 unready", "pod shop/web-0 not found"),
        ("pods of deployment shop/web unready", "deployment shop/web has no pod"),
        ("node n2 falls silent", "node n2 not found"),
        ("somebody cordons n2", "node n2 not found"),
        ("somebody ends instance n1", "node n1 has no running instance"),
        ("somebody scales group web to 3", "node group web not found"),
        ("somebody removes tag a from group web", "node group web not found"),
        ("pause", "no run has started yet"),
        ("replank restarts", "no run has started yet"),
    ] {
        assert_eq!(lets(&mut world, line), Err(NotPossible(expected.to_owned())), "{line}");
    }
    let refused = lets(&mut world, "somebody deletes deployment shop/web").expect_err("it is not there");
    assert!(refused.0.contains("404"), "{refused}");
}

#[test]
fn a_group_launches_the_version_that_its_word_means_at_that_moment() {
    let mut world = world(vec![node("n1", "a")]);
    let template = LaunchTemplate {
        image: "ami-old".into(),
        profile: NodeProfile {
            shapes: vec![NodeShape { weight: 1, ..NodeShape::default() }],
            ..NodeProfile::default()
        },
        ..LaunchTemplate::default()
    };
    let size = GroupSize { min: 0, max: 9, desired: 0 };
    let group = NodeGroup::new("web".into(), size, vec!["a".into()], template);
    world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    let mut desired = 0;
    // What each line makes the next instance of.
    for (line, image) in [
        ("somebody makes a launch template version of group web with ami-2", "ami-old"),
        ("somebody has group web launch $Default", "ami-old"),
        ("somebody makes a launch template version of group web with ami-3", "ami-old"),
        ("somebody makes the last launch template version of group web the default", "ami-3"),
        ("somebody makes a launch template version of group web with ami-4", "ami-3"),
        ("somebody has group web launch $Latest", "ami-4"),
        ("somebody makes a launch template version of group web with ami-2", "ami-2"),
    ] {
        assert_eq!(lets(&mut world, line), Ok(()), "{line}");
        let known: Vec<InstanceId> = world.view().instances().keys().cloned().collect();
        desired += 1;
        assert_eq!(lets(&mut world, &format!("somebody scales group web to {desired}")), Ok(()));
        world.pass(Span::from_minutes(5));
        let new =
            world.view().instances().values().find(|one| !known.contains(&one.id)).expect("it was launched");
        let group = &world.view().groups()["web"];
        assert_eq!(&*group.made_from(new).expect("its version").image, image, "{line}");
    }
}

#[test]
fn somebody_drains_nodes_as_kubectl_does() {
    let mut world = world(vec![node("n1", "a"), node("n2", "a"), node("n3", "a")]);
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 4,
            "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    for object in [deployment, budget] {
        assert_eq!(lets(&mut world, &format!("somebody creates {object}")), Ok(()));
    }
    world.pass(Span::from_secs(60));
    let on = |world: &World, node: &str| world.view().pods_on(&NodeName::from(node)).len();
    let before = (on(&world, "n1"), on(&world, "n2"), on(&world, "n3"));
    assert!(before.0 > 0 && before.1 > 0, "{before:?}");

    assert_eq!(lets(&mut world, "somebody drains n1,n2"), Ok(()));
    let is_cordoned = |world: &World, node: &str| {
        world.view().node(&NodeName::from(node)).expect("there").spec.unschedulable
    };
    assert!(is_cordoned(&world, "n1") && is_cordoned(&world, "n2"), "both are cordoned at once");
    // The budget is asked again and again, and never broken.
    for _ in 0..120 {
        world.pass(Span::from_secs(1));
        let ready =
            world.view().pods.sorted().iter().filter(|(_, pod)| pod.is_ready() && pod.is_active()).count();
        assert!(ready >= 3, "{ready} are Ready");
    }
    assert_eq!((on(&world, "n1"), on(&world, "n2"), on(&world, "n3")), (0, 0, 4));

    let name = world.view().pods.sorted()[0].1.meta.key();
    assert_eq!(lets(&mut world, &format!("somebody evicts {name}")), Ok(()));
    let other = world.view().pods.sorted()[1].1.meta.key();
    let refused = lets(&mut world, &format!("somebody evicts {other}"));
    assert!(refused.is_err_and(|why| why.0.contains("disruption budget")));
}

#[test]
fn kubectl_gives_a_pod_under_two_budgets_up_and_goes_on_with_the_next_node() {
    let mut world = world(vec![node("n1", "a"), node("n2", "a"), node("n3", "a")]);
    let set = |name: &str, node: &str| {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"kubernetes.io/hostname": node}}}}})
    };
    let budget = |name: &str| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": "two"}}}})
    };
    for object in [set("two", "n1"), set("one", "n1"), set("other", "n2"), budget("a"), budget("b")] {
        assert_eq!(lets(&mut world, &format!("somebody creates {object}")), Ok(()));
    }
    world.pass(Span::from_secs(60));
    let on = |world: &World, node: &str| world.view().pods_on(&NodeName::from(node)).len();
    assert_eq!((on(&world, "n1"), on(&world, "n2")), (2, 1));
    assert_eq!(lets(&mut world, "somebody drains n1,n2"), Ok(()));
    world.pass(Span::from_secs(120));
    assert_eq!((on(&world, "n1"), on(&world, "n2")), (1, 0), "n2 is emptied though a pod is left on n1");
    let standing = world.standing_drains();
    let [left] = standing.as_slice() else { panic!("{standing:?}") };
    assert!(left.is_given_up && left.node.as_str() == "n1" && left.pods.len() == 1, "{left:?}");
}

#[test]
fn a_pod_without_a_controller_keeps_kubectl_from_draining() {
    let mut world = world(vec![node("n1", "a"), running("web-0", "n1")]);
    let refused = lets(&mut world, "somebody drains n1").expect_err("it has no controller");
    assert_eq!(
        refused.0,
        "pod shop/web-0 has no controller: kubectl drain asks for --force, and nothing would recreate it"
    );
    assert!(world.view().node(&NodeName::from("n1")).expect("there").spec.unschedulable, "it stays cordoned");
}

#[test]
fn an_instance_starts_and_stops_in_the_time_that_is_told() {
    let mut world = world(vec![node("n1", "a")]);
    let profile = NodeProfile {
        shapes: vec![NodeShape { weight: 1, ..NodeShape::default() }],
        ..NodeProfile::default()
    };
    let template = LaunchTemplate { profile, ..LaunchTemplate::default() };
    let size = GroupSize { min: 0, max: 9, desired: 0 };
    let group = NodeGroup::new("web".into(), size, vec!["a".into()], template);
    world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    // The group has looked at itself once.
    world.pass(Span::from_minutes(1));
    for line in ["instances take 3s to start", "instances take 2s to stop", "changes are seen within 0s"] {
        assert_eq!(lets(&mut world, line), Ok(()), "{line}");
    }
    let ready =
        |world: &World| world.view().nodes.sorted().iter().filter(|(_, node)| node.is_ready()).count();
    let all = |world: &World| world.view().nodes.sorted().len();
    let before = ready(&world);
    assert_eq!(lets(&mut world, "somebody scales group web to 1"), Ok(()));
    world.pass(Span::from_millis(2_900));
    assert_eq!(ready(&world), before);
    world.pass(Span::from_millis(200));
    assert_eq!((ready(&world), all(&world)), (before + 1, 2));
    assert_eq!(lets(&mut world, "somebody scales group web to 0"), Ok(()));
    world.pass(Span::from_millis(1_900));
    assert_eq!(all(&world), 2);
    world.pass(Span::from_millis(200));
    assert_eq!(all(&world), 1);
}
