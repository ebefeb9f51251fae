use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupSize, HealthStatus, HookResult, Instance, InstanceState, LaunchTemplate, LaunchTemplateRef,
    Lifecycle, LifecycleHook, Market, Message, NodeGroup, Transition,
};
use replank_model::object::node::Node;
use replank_model::object::{Object, ObjectRef};
use replank_model::text::{InstanceId, MessageId};
use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use super::Home;
use super::Options;
use crate::Core;
use replank_facts::groups::GroupBy;
use replank_facts::plan::Plan;
use replank_protocol::cause::Cause;
use replank_protocol::command::Answer;
use replank_protocol::command::{
    Command, Effect, Expected, GroupEffect, KubernetesEffect, Outcome, QueueEffect,
};
use replank_protocol::decision::End;
use replank_protocol::mark;
use replank_protocol::release::Release;
use replank_protocol::waiting::{InterruptionEnd, InterruptionWait, PodEnd, RunEnd, Subject, WaitingOn};

/// A core that handles interruptions, beside a run with nothing to do.
struct Frame {
    core: Core,
    now: Time,
    group: NodeGroup,
}

fn at(seconds: i64) -> Time {
    let start: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
    start + Span::from_secs(seconds)
}

fn object(value: Value) -> Object {
    Object::from_json(value).expect("an object")
}

fn node(name: &str, instance: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("{name}-{instance}"), "resourceVersion": "1"},
        "spec": {"providerID": format!("aws:///a/{instance}")},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(name: &str, node: &str, owner: &str) -> Value {
    let kind = if owner == "crunch" { ("batch/v1", "Job") } else { ("apps/v1", "ReplicaSet") };
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": owner},
            "ownerReferences": [{"apiVersion": kind.0, "kind": kind.1, "name": owner, "uid": owner, "controller": true}]},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
}

/// A budget that allows so many disruptions.
fn budget(app: &str, healthy: i32, needed: i32) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "shop", "uid": app, "generation": 1},
        "spec": {"minAvailable": needed, "selector": {"matchLabels": {"app": app}}},
        "status": {"observedGeneration": 1, "currentHealthy": healthy, "desiredHealthy": needed,
            "expectedPods": healthy, "disruptionsAllowed": healthy - needed}})
}

fn event(kind: &str, source: &str, detail: &Value) -> String {
    json!({"detail-type": kind, "source": source, "time": at(0).to_string(), "detail": detail}).to_string()
}

fn spot(instance: &str) -> String {
    event("EC2 Spot Instance Interruption Warning", "aws.ec2", &json!({"instance-id": instance}))
}

fn rebalance(instance: &str) -> String {
    event("EC2 Instance Rebalance Recommendation", "aws.ec2", &json!({"instance-id": instance}))
}

fn health(status: &str, instances: &[&str]) -> String {
    let entities: Vec<Value> = instances.iter().map(|id| json!({"entityValue": id})).collect();
    event(
        "AWS Health Event",
        "aws.health",
        &json!({"service": "EC2", "eventTypeCategory": "scheduledChange", "eventTypeCode": "RETIREMENT",
            "statusCode": status, "startTime": at(86_400).to_string(), "affectedEntities": entities}),
    )
}

fn terminating(instance: &str, to: &str) -> String {
    event(
        "EC2 Instance-terminate Lifecycle Action",
        "aws.autoscaling",
        &json!({"AutoScalingGroupName": "web", "LifecycleHookName": "drain", "EC2InstanceId": instance,
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "Destination": to}),
    )
}

impl Frame {
    fn new(objects: Vec<Value>) -> Self {
        let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"},
            "spec": {"selector": {"matchLabels": {"of": "nobody"}}, "lifecycleHooks": ["drain"]}});
        let plan = Plan::read(&plan).expect("a plan");
        let options = replank_facts::plan::RunOptions { started: at(0), group_by: GroupBy::default() };
        let interruptions = Options::beside(Some(&plan));
        let core =
            Core::new(plan, "run".into(), options, |_, _, _| Vec::new()).with_interruptions(interruptions);
        let size = GroupSize { min: 0, max: 9, desired: 2 };
        let group = NodeGroup::new("web".into(), size, vec!["a".into()], LaunchTemplate::default());
        let mut frame = Self { core, now: at(0), group };
        for value in objects {
            frame.core.observe(Delta::Put(object(value)));
        }
        frame.core.observe(Delta::Group(frame.group.clone().into()));
        frame
    }

    fn hook(&mut self, timeout: i64) {
        let timeout = Span::from_secs(timeout);
        let (at, result) = (Transition::Terminating, HookResult::default());
        self.group.hooks = vec![LifecycleHook { name: "drain".into(), at, timeout, result }];
        self.core.observe(Delta::Group(self.group.clone().into()));
    }

    fn instance(&mut self, id: &str, node: Option<&str>, lifecycle: Lifecycle) {
        let instance = Instance {
            id: id.into(),
            group: "web".into(),
            zone: "a".into(),
            state: InstanceState::Running,
            template: LaunchTemplateRef::invented(&"web".into()),
            launched: Some(at(-3600)),
            node: node.map(Into::into),
            lifecycle,
            market: Market::Spot,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        };
        self.core.observe(Delta::Instance(instance.into()));
    }

    fn message(&mut self, id: &str, body: &str) {
        self.message_of(id, body, 1);
    }

    /// A message that was sent and received at a moment.
    fn message_of(&mut self, id: &str, body: &str, seconds: i64) {
        let message = Message {
            id: id.into(),
            receipt: format!("{id}#1").into(),
            body: body.into(),
            sent: at(seconds),
            received: at(seconds),
            hidden_until: at(1_000_000),
            received_count: 1,
        };
        self.core.observe(Delta::Message(message.into()));
    }

    /// A message that is hidden from others until a moment, as it is when it was received the so-manieth time.
    fn received(&mut self, body: &str, received: i64, hidden_until: i64, count: u32) {
        let message = Message {
            id: "m".into(),
            receipt: format!("m#{count}").into(),
            body: body.into(),
            sent: at(1),
            received: at(received),
            hidden_until: at(hidden_until),
            received_count: count,
        };
        self.core.observe(Delta::Message(message.into()));
    }

    /// What is sent at a moment; nothing of it is carried out.
    fn decide(&mut self, seconds: i64) -> Vec<Command> {
        self.now = at(seconds);
        self.core.decide(self.now).commands
    }

    /// The same in words.
    fn keys(&mut self, seconds: i64) -> Vec<String> {
        self.decide(seconds).iter().map(|command| command.key.to_string()).collect()
    }

    /// Decides until nothing new is sent, with marks laid as they are asked for; what was sent.
    fn settle(&mut self, seconds: i64) -> Vec<Command> {
        let mut all = Vec::new();
        loop {
            let commands = self.decide(seconds);
            if commands.is_empty() {
                return all;
            }
            for command in &commands {
                if let Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) = &command.effect {
                    let known = self.core.view().node(&node.name).expect("it is there").clone();
                    let mut marked = mark::laid(&known, &command.run, mark);
                    marked.meta.resource_version.0 += 1;
                    self.core.observe(Delta::Put(marked.into()));
                }
                if !matches!(command.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })) {
                    let outcome = Outcome { key: command.key.clone(), at: self.now, answer: Answer::Done };
                    self.core.outcome(&outcome);
                }
            }
            all.extend(commands);
        }
    }

    fn gone(&mut self, value: &Value) {
        let gone: ObjectRef = object(value.clone()).reference();
        self.core.observe(Delta::Gone(gone));
    }

    fn node(&self, name: &str) -> Node {
        Node::clone(self.core.view().node(&name.into()).expect("it is there"))
    }

    fn wait(&mut self, what: &Subject) -> Option<WaitingOn> {
        let decision = self.core.decide(self.now);
        decision.waiting.iter().find(|waiting| waiting.what == *what).map(|waiting| waiting.on.clone())
    }
}

fn is_of(commands: &[Command], part: &str) -> bool {
    commands.iter().any(|command| command.key.0.contains(part))
}

fn two_nodes() -> Vec<Value> {
    vec![
        node("web-1", "i-1"),
        node("web-2", "i-2"),
        pod("shop-1", "web-1", "shop"),
        pod("shop-2", "web-2", "shop"),
    ]
}

fn serving(objects: Vec<Value>) -> Frame {
    let mut frame = Frame::new(objects);
    frame.instance("i-1", Some("web-1"), Lifecycle::InService);
    frame.instance("i-2", Some("web-2"), Lifecycle::InService);
    frame
}

#[test]
fn every_entity_of_a_health_event_is_drained_and_the_message_stays_until_the_last_is_gone() {
    let mut frame = serving(two_nodes());
    frame.message("m", &health("upcoming", &["i-1", "i-2"]));
    let sent = frame.settle(2);
    assert!(is_of(&sent, "cordon/web-1") && is_of(&sent, "cordon/web-2"), "{sent:?}");
    frame.core.observe(Delta::InstanceGone("i-1".into()));
    frame.gone(&pod("shop-1", "web-1", "shop"));
    frame.gone(&node("web-1", "i-1"));
    assert!(!is_of(&frame.settle(3), "delete/m"), "the other is still there");
    frame.core.observe(Delta::InstanceGone("i-2".into()));
    frame.gone(&pod("shop-2", "web-2", "shop"));
    frame.gone(&node("web-2", "i-2"));
    assert!(is_of(&frame.settle(4), "delete/m/1"));
}

#[test]
fn a_change_that_is_called_off_takes_the_mark_off() {
    let mut frame = serving(two_nodes());
    frame.message("m", &health("upcoming", &["i-1"]));
    let sent = frame.settle(2);
    assert!(is_of(&sent, "cordon/web-1"), "{sent:?}");
    let marked = frame.node("web-1");
    assert!(marked.spec.unschedulable);
    assert_eq!(&*marked.spec.taints[0].key, mark::INTERRUPTED);
    let mut frame = Frame::new(vec![node("web-2", "i-2")]);
    frame.core.observe(Delta::Put(marked.into()));
    frame.instance("i-1", Some("web-1"), Lifecycle::InService);
    frame.message("m", &health("closed", &["i-1"]));
    let sent = frame.settle(5);
    assert!(
        is_of(&sent, "lift/web-1") && !is_of(&sent, "delete/m"),
        "until it is seen to be lifted: {sent:?}"
    );
    frame.core.observe(Delta::Put(mark::lifted(&frame.node("web-1")).into()));
    assert!(is_of(&frame.settle(6), "delete/m"));
}

#[test]
fn an_old_event_about_a_name_that_is_used_again_touches_nobody() {
    let mut frame = Frame::new(vec![node("web-1", "i-new"), pod("shop-1", "web-1", "shop")]);
    frame.instance("i-new", Some("web-1"), Lifecycle::InService);
    frame.message("m", &spot("i-old"));
    assert!(frame.settle(2).is_empty());
    let on = frame.wait(&Subject::Instance(InstanceId::from("i-old")));
    assert_eq!(on, Some(WaitingOn::Interruption(InterruptionWait::Unregistered { until: at(301) })));
    let sent = frame.settle(301);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(is_of(&sent, "delete/m"));
}

#[test]
fn an_instance_that_is_not_registered_yet_is_kept_and_looked_at_again() {
    let mut frame = Frame::new(vec![node("web-2", "i-2")]);
    frame.instance("i-1", None, Lifecycle::InService);
    frame.message("m", &spot("i-1"));
    assert!(frame.settle(2).is_empty());
    frame.core.observe(Delta::Put(object(node("web-1", "i-1"))));
    assert!(is_of(&frame.settle(30), "cordon/web-1"));
}

#[test]
fn the_action_of_an_instance_without_a_node_is_completed_only_if_it_has_none_still() {
    let mut frame = Frame::new(vec![node("web-2", "i-2")]);
    frame.hook(600);
    frame.instance("i-1", None, Lifecycle::TerminatingWait);
    frame.message("m", &terminating("i-1", "EC2"));
    assert!(frame.settle(300).is_empty(), "it may register yet");
    let sent = frame.settle(301);
    let completed = sent.iter().find_map(|command| match &command.effect {
        Effect::Group(GroupEffect::CompleteAction { action, expected }) => Some((action, expected)),
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    });
    let (action, expected) = completed.expect("nothing is waited for any more");
    assert_eq!((action.instance.as_str(), expected), ("i-1", &Some(Expected::Unregistered)));
    // It has a node, of which the view did not know: now it is drained like any other.
    frame.core.observe(Delta::Put(object(node("web-1", "i-1"))));
    frame.core.observe(Delta::Put(object(pod("shop-1", "web-1", "shop"))));
    let sent = frame.settle(400);
    assert!(is_of(&sent, "cordon/web-1") && !is_of(&sent, "complete"), "{sent:?}");
}

#[test]
fn an_action_is_completed_when_the_node_is_empty_and_its_message_deleted_when_that_is_seen() {
    let mut frame = serving(two_nodes());
    frame.hook(600);
    frame.message("m", &terminating("i-1", "EC2"));
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingWait);
    let sent = frame.settle(2);
    assert!(is_of(&sent, "cordon/web-1") && is_of(&sent, "evict/shop-1"), "{sent:?}");
    assert!(!is_of(&sent, "complete") && !is_of(&sent, "relieve") && !is_of(&sent, "terminate"), "{sent:?}");
    frame.gone(&pod("shop-1", "web-1", "shop"));
    let sent = frame.settle(6);
    assert!(is_of(&sent, "complete/i-1/drain") && !is_of(&sent, "delete/m"), "{sent:?}");
    assert!(is_of(&frame.settle(68), "complete/i-1/drain"), "it is not seen to have been taken");
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingProceed);
    let sent = frame.settle(69);
    assert!(is_of(&sent, "delete/m") && !is_of(&sent, "complete"), "{sent:?}");
}

#[test]
fn a_hook_is_kept_waiting_for_a_batch_pod_and_no_longer() {
    let job = pod("crunch-1", "web-1", "crunch");
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2"), job.clone()]);
    frame.hook(120);
    frame.message("m", &terminating("i-1", "EC2"));
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingWait);
    let sent = frame.settle(2);
    assert!(!is_of(&sent, "heartbeat") && !is_of(&sent, "evict"), "{sent:?}");
    for (seconds, number) in [(60, 1), (120, 2), (180, 3), (600, 10)] {
        let sent = frame.settle(seconds);
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert!(is_of(&sent, &format!("heartbeat/i-1/drain/{number}")), "{sent:?}");
        assert!(frame.settle(seconds + 30).is_empty(), "once");
    }
    frame.gone(&job);
    let sent = frame.settle(661);
    assert!(is_of(&sent, "complete") && !is_of(&sent, "heartbeat"), "{sent:?}");
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingProceed);
    assert!(!is_of(&frame.settle(720), "heartbeat"));
}

#[test]
fn the_ceiling_of_a_hook_ends_the_wait() {
    let job = pod("crunch-1", "web-1", "crunch");
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2"), job]);
    frame.hook(30);
    frame.message("m", &terminating("i-1", "EC2"));
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingWait);
    frame.settle(2);
    // A hundred times its timeout: 3000 s; the pod's grace of 30 s and 5 s before.
    assert!(!is_of(&frame.settle(2964), "evict/crunch-1"));
    assert!(is_of(&frame.settle(2965), "evict/crunch-1"));
    assert!(is_of(&frame.settle(3000), "complete"), "what is over is not kept");
}

#[test]
fn what_goes_to_the_warm_pool_is_drained_and_not_replaced() {
    let mut frame = serving(two_nodes());
    frame.hook(600);
    frame.message("m", &terminating("i-1", "WarmPool"));
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingWait);
    let sent = frame.settle(2);
    assert!(is_of(&sent, "cordon/web-1-i-1/to-warm-pool") && is_of(&sent, "evict/shop-1"), "{sent:?}");
    assert!(!is_of(&sent, "relieve") && !is_of(&sent, "terminate"), "{sent:?}");
    frame.gone(&pod("shop-1", "web-1", "shop"));
    assert!(is_of(&frame.settle(10), "complete"));
    frame.instance("i-1", Some("web-1"), Lifecycle::Warmed);
    assert!(is_of(&frame.settle(11), "delete/m"));
    frame.core.observe(Delta::MessageGone(MessageId::from("m")));
    frame.instance("i-1", Some("web-1"), Lifecycle::InService);
    assert!(is_of(&frame.settle(900), "lift/web-1"), "it is back");
}

#[test]
fn a_pod_that_its_budget_holds_is_deleted_when_just_its_grace_is_left() {
    let mut objects = two_nodes();
    objects.push(budget("shop", 2, 2));
    let mut frame = serving(objects);
    frame.message("m", &spot("i-1"));
    frame.settle(2);
    assert!(frame.settle(84).is_empty());
    let sent = frame.settle(85);
    let deleted = sent.iter().find_map(|command| match &command.effect {
        Effect::Kubernetes(KubernetesEffect::DeletePod { pod, grace_seconds }) => {
            Some((pod.uid.to_string(), *grace_seconds))
        }
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    });
    assert_eq!(deleted, Some(("shop-1".to_owned(), Some(30))), "{sent:?}");
}

#[test]
fn a_pod_that_no_cordon_keeps_off_is_told_to_go_at_the_mark_and_in_the_last_moment_and_no_more() {
    let made = |name: &str, seconds: i64| {
        let mut pod = pod(name, "web-1", "shop");
        pod["metadata"]["creationTimestamp"] = json!(at(seconds).to_string());
        pod
    };
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2"), made("shop-1", -600)]);
    frame.message("m", &spot("i-1"));
    assert!(is_of(&frame.settle(2), "evict/shop-1"));
    frame.gone(&made("shop-1", -600));
    frame.core.observe(Delta::Put(object(made("shop-2", 20))));
    assert!(frame.settle(21).is_empty(), "its successor would come back, too");
    assert!(is_of(&frame.settle(85), "evict/shop-2"), "just its grace is left");
    frame.gone(&made("shop-2", 20));
    frame.core.observe(Delta::Put(object(made("shop-3", 86))));
    for seconds in [87, 100, 119, 121] {
        assert!(!is_of(&frame.settle(seconds), "shop-3"), "at {seconds} s");
    }
    let on = frame.wait(&Subject::Pod(replank_model::object::meta::Key::new("shop", "shop-3")));
    assert_eq!(on, Some(WaitingOn::PodEnd(PodEnd::CameBack)));
}

#[test]
fn one_slot_of_a_budget_is_spent_once_on_two_nodes() {
    let mut objects = two_nodes();
    objects.extend([budget("shop", 2, 1), node("web-3", "i-3")]);
    let mut frame = serving(objects);
    frame.message("a", &spot("i-1"));
    frame.message("b", &spot("i-2"));
    let sent = frame.settle(2);
    let evicted = sent
        .iter()
        .filter(|command| matches!(command.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })))
        .count();
    assert_eq!(evicted, 1, "{sent:?}");
}

#[test]
fn another_is_asked_for_first_where_a_hook_holds_the_one_that_goes() {
    let mut frame = serving(two_nodes());
    frame.hook(600);
    frame.message("m", &health("upcoming", &["i-1"]));
    let sent = frame.settle(2);
    assert!(is_of(&sent, "relieve/i-1") && !is_of(&sent, "evict"), "there is a day: {sent:?}");
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingWait);
    assert!(!is_of(&frame.settle(20), "evict"), "one of two Ready nodes");
    frame.core.observe(Delta::Put(object(node("web-3", "i-3"))));
    frame.instance("i-3", Some("web-3"), Lifecycle::InService);
    assert!(is_of(&frame.settle(90), "evict/shop-1"));
}

#[test]
fn duplicates_are_one_case_and_each_is_deleted() {
    let mut frame = serving(two_nodes());
    for id in ["a", "b", "c"] {
        frame.message(id, &spot("i-1"));
    }
    let sent = frame.settle(2);
    assert_eq!(sent.iter().filter(|command| command.key.0.contains("evict")).count(), 1);
    frame.core.observe(Delta::InstanceGone("i-1".into()));
    frame.gone(&pod("shop-1", "web-1", "shop"));
    frame.gone(&node("web-1", "i-1"));
    let sent = frame.settle(130);
    assert!(["a", "b", "c"].iter().all(|id| is_of(&sent, &format!("delete/{id}"))), "{sent:?}");
}

#[test]
fn an_old_warning_that_comes_late_says_nothing_against_a_new_one() {
    for order in [["old", "new"], ["new", "old"]] {
        let mut frame = serving(two_nodes());
        for id in order {
            let time = if id == "old" { at(-700_000) } else { at(0) };
            let body = json!({"detail-type": "EC2 Spot Instance Interruption Warning", "source": "aws.ec2",
                "time": time.to_string(), "detail": {"instance-id": "i-1"}});
            frame.message(id, &body.to_string());
        }
        let sent = frame.settle(2);
        assert!(is_of(&sent, "cordon/web-1") && is_of(&sent, "evict/shop-1"), "{sent:?}");
        assert!(!is_of(&sent, "/delete/"), "{sent:?}");
    }
    // Alone it is over: the instance runs on.
    let mut frame = serving(two_nodes());
    frame.message_of("m", &spot("i-1"), -700_000);
    let sent = frame.settle(2);
    assert!(is_of(&sent, "delete/m/1") && !is_of(&sent, "cordon/"), "{sent:?}");
}

#[test]
fn a_message_of_another_account_or_region_is_about_none_of_the_cluster() {
    let told = |account: &str, region: &str| {
        json!({"detail-type": "EC2 Spot Instance Interruption Warning", "source": "aws.ec2", "time": at(0).to_string(),
            "account": account, "region": region, "detail": {"instance-id": "i-1"}})
        .to_string()
    };
    let home = Home { account: "111122223333".into(), region: "eu-west-1".into() };
    for (account, region, is_ours) in [
        ("111122223333", "eu-west-1", true),
        ("999900001111", "eu-west-1", false),
        ("111122223333", "us-east-1", false),
    ] {
        let mut frame = serving(two_nodes());
        frame.core = Core::without_run()
            .with_interruptions(Options { home: Some(home.clone()), ..Options::beside(None) });
        for value in two_nodes() {
            frame.core.observe(Delta::Put(object(value)));
        }
        frame.message("m", &told(account, region));
        let sent = frame.settle(2);
        assert_eq!(is_of(&sent, "cordon/web-1"), is_ours, "{account} {region}: {sent:?}");
        assert_eq!(is_of(&sent, "delete/m/1"), !is_ours, "{account} {region}: {sent:?}");
    }
}

#[test]
fn a_process_that_starts_anew_without_the_message_goes_on_from_the_mark() {
    let mut frame = serving(two_nodes());
    frame.message("m", &spot("i-1"));
    frame.settle(2);
    let marked = frame.node("web-1");
    let mut other = serving(vec![node("web-2", "i-2"), pod("shop-1", "web-1", "shop")]);
    other.core.observe(Delta::Put(marked.into()));
    assert_eq!(other.keys(10), ["interruptions/evict/shop-1"]);
    assert_eq!(
        other
            .wait(&Subject::Pod(replank_model::object::meta::Key::new("shop", "shop-1")))
            .map(|on| on.kind()),
        Some("effect")
    );
}

#[test]
fn poison_is_named_and_stops_nothing() {
    let mut frame = serving(two_nodes());
    frame.message("bad", &spot("i-1")[..60]);
    frame.message("good", &spot("i-1"));
    let sent = frame.settle(2);
    assert!(is_of(&sent, "cordon/web-1") && !is_of(&sent, "delete/bad"), "{sent:?}");
    let on = frame.wait(&Subject::Message(MessageId::from("bad")));
    assert!(on.is_some_and(|on| on.to_string().contains("after 60 bytes")));
}

#[test]
fn a_recommendation_is_given_up_when_pods_cannot_be_moved_for_an_hour_and_its_node_takes_pods_again() {
    let mut objects = two_nodes();
    objects.push(budget("shop", 2, 2));
    let mut frame = serving(objects);
    frame.message("m", &rebalance("i-1"));
    assert!(is_of(&frame.settle(2), "cordon/web-1"));
    assert!(frame.settle(3599).is_empty(), "the budget may allow it yet");
    let sent = frame.settle(3600);
    assert!(is_of(&sent, "lift/web-1") && !is_of(&sent, "delete/m"), "until it is seen: {sent:?}");
    let why = Release::GivenUp { since: at(0) };
    let on = frame.wait(&Subject::Node("web-1".into()));
    assert_eq!(
        on,
        Some(WaitingOn::InterruptionEnd(InterruptionEnd::Release { by: Cause::Rebalance, why, pods: 1 }))
    );
    frame.core.observe(Delta::Put(mark::lifted(&frame.node("web-1")).into()));
    let sent = frame.settle(3602);
    assert!(is_of(&sent, "delete/m") && !is_of(&sent, "cordon"), "{sent:?}");
    // Another one is heeded.
    frame.core.observe(Delta::MessageGone(MessageId::from("m")));
    frame.message_of("n", &rebalance("i-1").replace(&at(0).to_string(), &at(4000).to_string()), 4001);
    assert!(is_of(&frame.settle(4002), "cordon/web-1"));
}

#[test]
fn a_recommendation_waits_for_batch_pods_and_an_hour_more() {
    let mut job = pod("crunch-1", "web-1", "crunch");
    job["metadata"]["annotations"] = json!({"replank.dev/batch-wait": "2h"});
    let objects = vec![node("web-1", "i-1"), node("web-2", "i-2"), job.clone(), budget("crunch", 1, 1)];
    let mut frame = serving(objects);
    frame.message("m", &rebalance("i-1"));
    frame.settle(2);
    assert!(frame.settle(10_799).is_empty());
    assert!(is_of(&frame.settle(10_800), "lift/web-1"));
    // Where it ends in time the instance is ended, however long that took.
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2"), job.clone()]);
    frame.message("m", &rebalance("i-1"));
    frame.settle(2);
    frame.gone(&job);
    let sent = frame.settle(7000);
    assert!(is_of(&sent, "terminate/i-1") && !is_of(&sent, "lift"), "{sent:?}");
}

#[test]
fn no_recommendation_is_heeded_for_longer_than_its_message_can_be_kept() {
    let mut job = pod("crunch-1", "web-1", "crunch");
    job["metadata"]["annotations"] = json!({"replank.dev/batch-wait": "30h"});
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2"), job]);
    frame.message("m", &rebalance("i-1"));
    frame.settle(2);
    assert!(frame.settle(43_199).is_empty());
    assert!(is_of(&frame.settle(43_200), "lift/web-1"));
}

#[test]
fn an_instance_that_runs_on_long_after_it_was_to_be_gone_is_let_go_of() {
    // What names its node comes back whatever is evicted.
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2")]);
    frame.message("m", &spot("i-1"));
    frame.settle(2);
    let mut back = pod("pinned-1", "web-1", "pinned");
    back["metadata"]["creationTimestamp"] = json!(at(95).to_string());
    frame.core.observe(Delta::Put(object(back)));
    let sent = frame.settle(100);
    assert!(!is_of(&sent, "pinned-1"), "it came after the last moment, and another would come: {sent:?}");
    assert!(frame.settle(3719).is_empty());
    let sent = frame.settle(3720);
    assert!(is_of(&sent, "lift/web-1"), "{sent:?}");
    let why = Release::Spared { until: at(120) };
    let on = frame.wait(&Subject::Node("web-1".into()));
    assert_eq!(
        on,
        Some(WaitingOn::InterruptionEnd(InterruptionEnd::Release { by: Cause::Spot, why, pods: 1 }))
    );
    frame.core.observe(Delta::Put(mark::lifted(&frame.node("web-1")).into()));
    assert!(is_of(&frame.settle(3722), "delete/m"));
}

#[test]
fn a_message_is_held_for_twelve_hours_at_most_and_what_was_begun_goes_on_when_it_comes_back() {
    let mut job = pod("crunch-1", "web-1", "crunch");
    job["metadata"]["annotations"] = json!({"replank.dev/batch-wait": "20h"});
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2"), job]);
    let body = health("upcoming", &["i-1"]);
    frame.received(&body, 1, 31, 1);
    let held_until = |sent: &[Command]| {
        let held = sent.iter().find_map(|command| match &command.effect {
            Effect::Queue(QueueEffect::HoldMessage { until, .. }) => Some(*until),
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
        });
        held.map(|until| (until - at(0)).as_millis() / 1000)
    };
    let sent = frame.settle(21);
    assert_eq!(held_until(&sent), Some(141), "{sent:?}");
    frame.received(&body, 1, 43_190, 1);
    let sent = frame.settle(43_185);
    assert_eq!(held_until(&sent), Some(43_201), "not a second more: {sent:?}");
    frame.received(&body, 1, 43_201, 1);
    assert!(frame.settle(43_200).is_empty(), "no visibility timeout is longer");
    frame.core.observe(Delta::MessageGone(MessageId::from("m")));
    assert!(frame.settle(43_202).is_empty(), "the mark says what is under way");
    frame.received(&body, 43_203, 43_233, 2);
    let sent = frame.settle(43_230);
    assert_eq!(held_until(&sent), Some(43_350), "{sent:?}");
    assert_eq!(sent.len(), 1, "nothing is done twice: {sent:?}");
}

#[test]
fn the_end_of_a_run_waits_an_hour_for_an_interruption_and_no_longer() {
    let job = pod("crunch-1", "web-1", "crunch");
    let mut frame = serving(vec![node("web-1", "i-1"), node("web-2", "i-2"), job]);
    frame.hook(7200);
    frame.message("m", &terminating("i-1", "EC2"));
    frame.instance("i-1", Some("web-1"), Lifecycle::TerminatingWait);
    frame.settle(2);
    assert_eq!(frame.core.decide(at(3601)).end, None);
    let decision = frame.core.decide(at(3602));
    assert_eq!(decision.end, Some(End::Done));
    assert!(
        decision.waiting.iter().any(|waiting| matches!(
            waiting.on,
            WaitingOn::Interruption(InterruptionWait::Interrupted { .. })
        ))
    );
    frame.settle(7300);
    assert!(is_of(&frame.settle(10_900), "heartbeat"), "it goes on all the same");
}

#[test]
fn a_mark_is_renewed_while_a_change_is_still_to_come() {
    let mut objects = two_nodes();
    objects.push(budget("shop", 2, 2));
    let mut frame = serving(objects);
    let days = |days: i64| days * 86_400;
    let body = health("upcoming", &["i-1"]).replace(&at(days(1)).to_string(), &at(days(9)).to_string());
    frame.message("m", &body);
    frame.settle(2);
    let first = mark::of(&frame.node("web-1")).expect("it is marked").mark;
    assert!(!is_of(&frame.settle(days(2)), "cordon"));
    assert!(is_of(&frame.settle(days(2) + 2), "cordon/web-1"), "a day before it expires");
    let second = mark::of(&frame.node("web-1")).expect("it is marked").mark;
    assert_eq!((second.since, second.role), (first.since, first.role));
    assert_eq!(second.expires, at(days(5) + 2));
}

#[test]
fn a_node_that_a_newer_replank_has_marked_is_left_to_it_and_the_message_is_kept() {
    let mut web = node("web-1", "i-1");
    web["metadata"]["annotations"] = json!({mark::VERSION: "2", mark::RUN: "newer"});
    let mut frame = Frame::new(vec![web, pod("shop-1", "web-1", "shop")]);
    frame.instance("i-1", Some("web-1"), Lifecycle::InService);
    frame.message("m", &spot("i-1"));
    let mut sent = frame.settle(2);
    let on = frame.wait(&Subject::Node("web-1".into()));
    assert_eq!(on, Some(WaitingOn::RunEnd(RunEnd::NewerVersion { version: 2 })));
    sent.extend(frame.settle(100));
    assert!(!["cordon", "evict", "terminate", "delete/"].iter().any(|what| is_of(&sent, what)), "{sent:?}");
}
