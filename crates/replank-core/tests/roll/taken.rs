//! Nodes that others take away in the middle of a run: left to them, and counted as what they are.

use replank_model::delta::Delta;
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::cloud::{Instance, InstanceState};
use replank_model::object::node::Node;
use replank_model::time::Span;
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::noticed::Noticed;
use replank_protocol::taker::Taker;
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, node, plan};

const DAY: Span = Span::from_minutes(24 * 60);
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

fn node_of(stage: &Stage, name: &str) -> Node {
    Node::clone(stage.truth.node(&name.into()).expect("it is there"))
}

fn taint(stage: &mut Stage, name: &str, key: &str) {
    let mut node = node_of(stage, name);
    node.spec.taints.push(Taint::new(key, TaintEffect::NoSchedule));
    stage.put(node);
}

fn untaint(stage: &mut Stage, name: &str) {
    let mut node = node_of(stage, name);
    node.spec.taints.clear();
    stage.put(node);
}

/// Its machine goes, by whoever's doing.
fn end(stage: &mut Stage, name: &str) {
    let instances = stage.truth.instances().values();
    let mut of_node = instances.filter(|one| one.node.as_ref().is_some_and(|node| node.as_str() == name));
    let instance = Instance::clone(of_node.next().expect("it has an instance"));
    if stage.plan.external().is_some() {
        stage.renew(&instance.group);
    }
    let stopping = Instance { state: InstanceState::ShuttingDown, launched: Some(stage.now), ..instance };
    stage.change(Delta::Instance(stopping.into()));
}

fn ticks(stage: &mut Stage, seconds: u32) -> Vec<Noticed> {
    let mut noticed = Vec::new();
    for _ in 0..seconds {
        assert_eq!(stage.tick(), None, "{}", stage.story());
        noticed.extend(stage.last.noticed.clone());
    }
    noticed
}

fn of_a_group() -> Stage {
    Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}, "order": "oldest"})), shop())
}

fn of_others(extra: Value) -> Stage {
    let mut spec = json!({"provider": "external", "budget": null, "order": "oldest", "target": {"kubernetesVersion": "1.36"}});
    crate::stage::merge(&mut spec, extra);
    let mut objects = shop();
    objects.push(node("spare", "other", "a"));
    let mut stage = Stage::new(plan(&["web"], spec), objects);
    stage.replaces_after = Some(Span::from_minutes(1));
    stage
}

fn asks_of(stage: &Stage, part: &str) -> usize {
    stage.done.iter().filter(|(_, command, _)| command.key.0.contains(part)).count()
}

#[test]
fn what_cluster_autoscaler_takes_away_is_left_to_it() {
    for mut stage in [of_a_group(), of_others(json!({}))] {
        stage.run_until("nodes that wait", DAY, |stage| stage.when("/queue/n2").is_some());
        taint(&mut stage, "n1", TO_BE_DELETED);
        let noticed = ticks(&mut stage, 200);
        assert!(noticed.contains(&Noticed::TakenAway("n1".into(), Taker::ClusterAutoscaler)), "{noticed:?}");
        assert!(stage.seen.contains_key("takenAway"), "{:?}", stage.seen.keys());
        for part in ["/evict/web-x1", "/drain/n1", "/terminate/i-n1", "/release/n1"] {
            assert_eq!(asks_of(&stage, part), 0, "{part}\n{}", stage.story());
        }
        end(&mut stage, "n1");
        assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
        assert_eq!(asks_of(&stage, "/evict/web-x1"), 0, "{}", stage.story());
        for (_, node) in stage.truth.nodes.sorted() {
            assert_eq!(mark::of(node), None);
        }
    }
}

#[test]
fn a_drain_that_somebody_else_takes_over_is_not_gone_on_with() {
    for mut stage in [of_a_group(), of_others(json!({}))] {
        // Its last pod may not go.
        stage.stubborn.insert(replank_model::object::meta::Key::new("shop", "web-y0"));
        stage.run_until("a drain", DAY, |stage| asks_of(stage, "/evict/web-y0") > 0);
        taint(&mut stage, "n0", "karpenter.sh/disrupted");
        stage.tick();
        let asked = asks_of(&stage, "/evict/web-y0");
        ticks(&mut stage, 300);
        assert_eq!(asks_of(&stage, "/evict/web-y0"), asked, "{}", stage.story());
        assert_eq!(
            asks_of(&stage, "/terminate/i-n0") + asks_of(&stage, "/drained/n0"),
            0,
            "{}",
            stage.story()
        );
        // They think better of it: it is the run's again.
        untaint(&mut stage, "n0");
        stage.stubborn.clear();
        assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    }
}

#[test]
fn a_node_that_is_taken_away_is_no_capacity() {
    let mut stage = of_others(json!({}));
    stage.run_until("nodes that wait", DAY, |stage| stage.when("/queue/n2").is_some());
    // One may be missing, and this is the one.
    taint(&mut stage, "n2", "aws-node-termination-handler/spot-itn");
    let before = asks_of(&stage, "/drain/");
    ticks(&mut stage, 120);
    assert_eq!(asks_of(&stage, "/drain/"), before, "{}", stage.story());
    assert!(stage.seen.contains_key("available"), "{:?}", stage.seen.keys());
    untaint(&mut stage, "n2");
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
}

#[test]
fn a_run_that_is_called_off_does_not_uncordon_what_somebody_takes_away() {
    for mut stage in [of_a_group(), of_others(json!({"external": {"oldNodes": "cordon"}}))] {
        stage.run_until("nodes that wait", DAY, |stage| stage.when("/queue/n2").is_some());
        taint(&mut stage, "n1", TO_BE_DELETED);
        stage.tick();
        stage.core.intend(Intent::Cancelled);
        let end = stage.run(DAY);
        assert!(matches!(end, End::Cancelled(_)), "{end:?}\n{}", stage.story());
        let node = node_of(&stage, "n1");
        assert!(node.spec.unschedulable, "{}", stage.story());
        let found = mark::of(&node).expect("whose it was is told");
        assert!(found.mark.expires <= stage.now, "and keeps nobody away");
        assert!(!node_of(&stage, "n2").spec.unschedulable, "{}", stage.story());
    }
}

#[test]
fn what_only_may_be_taken_away_is_replaced_as_ever() {
    for mut stage in [of_a_group(), of_others(json!({}))] {
        for (name, key) in [
            ("n0", "DeletionCandidateOfClusterAutoscaler"),
            ("n1", "aws-node-termination-handler/rebalance-recommendation"),
        ] {
            let mut node = node_of(&stage, name);
            node.spec.taints.push(Taint::new(key, TaintEffect::PreferNoSchedule));
            stage.put(node);
        }
        assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
        assert!(!stage.seen.contains_key("takenAway"));
    }
}

#[test]
fn a_node_that_somebody_deletes_before_its_turn_counts_as_gone() {
    let mut stage = of_others(json!({}));
    stage.run_until("a drain", DAY, |stage| stage.when("/drain/n0").is_some());
    end(&mut stage, "n2");
    let noticed = ticks(&mut stage, 40);
    assert!(noticed.contains(&Noticed::NodeGone("n2".into())), "{noticed:?}");
    assert!(stage.seen.contains_key("successor"), "{:?}", stage.seen.keys());
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!(asks_of(&stage, "/evict/web-x2"), 0, "{}", stage.story());
}
