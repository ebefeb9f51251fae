//! ScaleDecision by decision: what is commanded, and that a scaler that starts anew goes on where the last one was.

use crate::scale::backoff::State;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::{Value, json};

use super::super::group::Groups;
use super::super::in_flight::InFlight;
use super::super::options::Options;
use super::super::prices::Prices;
use super::super::priorities::Priorities;
use super::*;
use replank_facts::budget::Healths;
use replank_facts::group_facts as facts;
use replank_facts::groups::{GroupBy, from_nodes};
use replank_protocol::command::Command;

fn at(minutes: i64) -> Time {
    "2026-01-05T09:00:00Z".parse::<Time>().expect("a time") + Span::from_minutes(minutes)
}

fn node(name: &str) -> Value {
    let all = json!({"cpu": "4", "memory": "16Gi", "pods": "58"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": "web", "topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": name}},
        "spec": {"providerID": format!("aws:///a/i-{name}")},
        "status": {"capacity": all, "allocatable": all, "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(name: &str, cpu: &str, node: Option<&str>) -> Value {
    let phase = if node.is_some() { "Running" } else { "Pending" };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "d", "uid": format!("uid-{name}"),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": true}]},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": phase}})
}

struct Stage {
    view: View,
    desired: u32,
    state: State,
}

impl Stage {
    fn new(objects: Vec<Value>, desired: u32) -> Self {
        let mut stage = Self { view: View::default(), desired, state: State::default() };
        objects.into_iter().for_each(|object| stage.put(object));
        stage
    }

    fn put(&mut self, object: Value) {
        self.view.apply(Delta::Put(Object::from_json(object).expect("valid")));
    }

    /// The group as the cloud has it, with a run's tags on it.
    fn cloud(&mut self, desired: u32, max: u32, tags: &[(&str, &str)]) {
        let learnt = from_nodes(&self.view, &GroupBy::default()).remove(0);
        let mut group = learnt.group;
        group.size = GroupSize { min: 0, max, desired };
        group.tags = tags.iter().fold(group.tags, |tags, (key, value)| tags.with(*key, *value));
        self.view.apply(Delta::Group(group.into()));
    }

    /// A turn of a scaler that is made anew each time.
    fn decision(&mut self, minutes: i64) -> Vec<String> {
        let answer = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "web", "MinSize": 0, "MaxSize": 5, "DesiredCapacity": self.desired,
            "AvailabilityZones": ["a"]}]});
        let options = Options::default();
        let facts = facts::read(&answer).expect("a group");
        let groups = Groups::of(&self.view, &GroupBy::default(), &facts, &options);
        let given = Given {
            view: &self.view,
            groups: &groups,
            options: &options,
            prices: &Prices::default(),
            priorities: &Priorities::default(),
            state: &self.state,
            in_flight: &InFlight::default(),
            now: at(minutes),
        };
        let mut healths = Healths::default();
        let mut scheduler = Scheduler::load(&self.view);
        let mut ledger = Ledger::new(&self.view, &mut healths);
        let decision = Scaler::new().decision(given, &mut scheduler, &mut ledger, &mut Sent::default());
        self.state = decision.state;
        decision.out.finish().commands.into_iter().map(|command| self.carry_out(command)).collect()
    }

    /// Does what a driver would do, and says it.
    fn carry_out(&mut self, command: Command) -> String {
        match command.effect {
            Effect::Group(GroupEffect::Resize { group, from, to }) => {
                assert!(to.desired > from.desired && to.desired <= to.max);
                self.desired = to.desired;
                format!("raises {group} from {} to {}", from.desired, to.desired)
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => {
                let laid = mark::laid(self.view.node(&node.name).expect("it is there"), &command.run, &mark);
                self.view.apply(Delta::from(laid));
                format!("cordons {}", node.name)
            }
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                let gone = self.view.pods.by_key(&pod.key).expect("it is there").clone();
                self.view.apply(Delta::Gone(Object::from(gone).reference()));
                format!("evicts {}", pod.key)
            }
            Effect::Group(GroupEffect::Terminate {
                instance,
                replacement: Replacement::Decrement { .. },
                ..
            }) => {
                self.desired -= 1;
                format!("ends {instance}")
            }
            Effect::Group(GroupEffect::Tag { group, key, from, value }) => {
                let known =
                    self.view.groups().get(&group.node_group).and_then(|group| group.tags.get(&key)).cloned();
                assert_eq!(known, from, "what is written is what was seen");
                format!("writes {value} on {group}")
            }
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                let lifted = mark::lifted(self.view.node(&node.name).expect("it is there"));
                self.view.apply(Delta::from(lifted));
                format!("releases {}", node.name)
            }
            other @ (Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_)) => {
                panic!("no scaler does {other:?}")
            }
        }
    }
}

#[test]
fn a_group_is_raised_once_for_what_waits() {
    let waiting = (0..3).map(|at| pod(&format!("new-{at}"), "2", None));
    let objects = [node("web-1"), pod("old", "3", Some("web-1"))].into_iter().chain(waiting).collect();
    let mut stage = Stage::new(objects, 1);
    assert_eq!(stage.decision(0), ["raises web from 1 to 3"]);
    assert_eq!(stage.state.requests.len(), 1);
    assert_eq!(stage.decision(1), [""; 0], "what was asked for is on its way");
    assert_eq!(stage.decision(16), [""; 0], "what does not come is given up, and the group left alone");
    assert_eq!(stage.state.backoffs.len(), 1);
}

#[test]
fn a_node_that_nobody_needs_is_cordoned_emptied_and_ended_by_its_id() {
    let mut stage = Stage::new(
        vec![node("web-1"), node("web-2"), pod("a", "3", Some("web-1")), pod("b", "500m", Some("web-2"))],
        2,
    );
    assert_eq!(stage.decision(0), [""; 0], "it must not have been needed for ten minutes");
    assert_eq!(stage.decision(9), [""; 0]);
    assert_eq!(stage.decision(10), ["cordons web-2"]);
    assert_eq!(stage.decision(11), ["evicts d/b"]);
    stage.put(pod("b2", "500m", Some("web-1")));
    assert_eq!(stage.decision(12), ["ends i-web-2"]);
    assert_eq!(stage.desired, 1);
}

#[test]
fn nothing_goes_while_pods_bring_nodes() {
    let objects = vec![
        node("web-1"),
        node("web-2"),
        pod("a", "3", Some("web-1")),
        pod("big", "3900m", None),
        pod("big2", "3900m", None),
    ];
    let mut stage = Stage::new(objects, 2);
    let first = stage.decision(0);
    assert_eq!(first, ["raises web from 2 to 3"], "one fits on web-2");
}

/// Three nodes, the first two empty, and pods that need one more than there are.
fn rolled() -> Stage {
    let mut objects = vec![node("web-1"), node("web-2"), node("web-3")];
    objects.extend([
        pod("a", "3", Some("web-1")),
        pod("b", "3", Some("web-2")),
        pod("c", "3", Some("web-3")),
    ]);
    objects.push(pod("new", "2", None));
    Stage::new(objects, 3)
}

#[test]
fn in_a_runs_hands_a_group_grows_within_the_size_that_the_run_wrote_down() {
    let begun = "run nodes=3 surge=1";
    let mut stage = rolled();
    stage.cloud(3, 4, &[(mark::ORIGINAL_SIZE, "0/4/3")]);
    assert_eq!(
        stage.decision(0),
        [""; 0],
        "the run has not begun: what it raises the group by is not known yet"
    );
    let mut stage = rolled();
    // The surge is one of the three nodes; it has come already.
    stage.cloud(3, 3, &[(mark::ORIGINAL_SIZE, "0/3/2"), (mark::BEGUN, begun)]);
    assert_eq!(stage.decision(0), ["raises web from 3 to 4"], "its own maximum is three, the surge aside");
    let mut stage = rolled();
    stage.cloud(3, 3, &[(mark::ORIGINAL_SIZE, "0/2/2"), (mark::BEGUN, begun)]);
    assert_eq!(stage.decision(0), [""; 0], "it was at its maximum before the run");
}

#[test]
fn what_was_added_in_a_runs_hands_is_written_where_the_run_reads_it() {
    let mut stage = Stage::new(vec![node("web-1"), node("web-2"), node("web-3"), node("web-4")], 4);
    stage.cloud(4, 6, &[(mark::ORIGINAL_SIZE, "0/5/2"), (mark::BEGUN, "run nodes=2 surge=1")]);
    assert_eq!(stage.decision(0), ["writes v1 0/5/3 on web"], "the run alone could have raised it to three");
    stage.cloud(3, 6, &[(mark::ORIGINAL_SIZE, "0/5/2"), (mark::BEGUN, "run nodes=2 surge=1")]);
    assert_eq!(stage.decision(0), [""; 0]);
    stage.state.owed.insert("web".into(), 3);
    assert_eq!(stage.decision(0), ["writes v1 0/5/3 on web"], "it is known that this one is not the run's");
}

#[test]
fn no_node_goes_that_a_run_has_in_hand_and_one_that_was_going_is_let_go_of() {
    let objects =
        || vec![node("web-1"), node("web-2"), pod("a", "3", Some("web-1")), pod("b", "500m", Some("web-2"))];
    let mut stage = Stage::new(objects(), 2);
    assert_eq!(stage.decision(0), [""; 0]);
    stage.cloud(2, 3, &[(mark::ORIGINAL_SIZE, "0/3/2")]);
    assert_eq!(stage.decision(30), [""; 0], "a run is rolling it");
    assert_eq!(stage.state.unneeded.len(), 0, "its time begins anew when the run is over");
    let mut stage = Stage::new(objects(), 2);
    assert_eq!(stage.decision(0), [""; 0]);
    assert_eq!(stage.decision(10), ["cordons web-2"]);
    stage.cloud(2, 3, &[(mark::ORIGINAL_SIZE, "0/3/2")]);
    assert_eq!(stage.decision(11), ["releases web-2"]);
}

#[test]
fn a_node_that_cannot_be_emptied_in_time_is_let_go_of() {
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all", "namespace": "d", "uid": "all"},
        "spec": {"selector": {}, "maxUnavailable": 0}});
    let mut stage = Stage::new(
        vec![node("web-1"), node("web-2"), pod("a", "3", Some("web-1")), pod("b", "500m", Some("web-2"))],
        2,
    );
    assert_eq!(stage.decision(0), [""; 0]);
    assert_eq!(stage.decision(10), ["cordons web-2"]);
    stage.put(budget);
    stage.put(pod("b", "500m", Some("web-2")));
    assert_eq!(stage.decision(11), [""; 0], "the budget does not let it go");
    assert_eq!(stage.decision(12), ["releases web-2"]);
    assert!(stage.state.failed.is_some());
}

#[test]
fn no_pod_is_put_where_a_run_is_about_to_move_it_once_more() {
    let mut side = node("side-1");
    side["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = "side".into();
    let objects = vec![node("web-1"), side, pod("a", "2", Some("web-1")), pod("b", "500m", Some("side-1"))];
    for (tags, unneeded) in [(&[][..], vec!["side-1"]), (&[(mark::ORIGINAL_SIZE, "0/3/1")][..], vec![])] {
        let mut stage = Stage::new(objects.clone(), 1);
        for learnt in from_nodes(&stage.view, &GroupBy::default()) {
            let mut group = learnt.group;
            group.size.min = 0;
            if group.name.as_str() == "web" {
                group.size.min = 1;
                group.tags = tags.iter().fold(group.tags, |all, (key, value)| all.with(*key, *value));
            }
            stage.view.apply(Delta::Group(group.into()));
        }
        stage.decision(0);
        let found: Vec<&str> = stage.state.unneeded.keys().map(NodeName::as_str).collect();
        assert_eq!(found, unneeded, "{tags:?}");
    }
}
