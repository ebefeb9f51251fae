use replank_facts::network::Network;
use serde_json::{Value, json};

use super::super::stage::{merge, node, options, pod, service, view};
use super::*;

/// A node of no managed group, of the instance `i-n`.
fn own(name: &str) -> Value {
    let mut node = node(name, "a");
    node["metadata"]["labels"] = json!({"kubernetes.io/hostname": name});
    node
}

fn handler(kind: &str, env: &[(&str, &str)]) -> Value {
    let env: Vec<Value> = env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "nth", "namespace": "kube-system", "uid": "nth"},
        "spec": {"template": {"spec": {"containers": [{"name": "nth", "image": "public.ecr.aws/aws-ec2/aws-node-termination-handler:v1.25.6", "env": env}]}}}})
}

fn queue_mode(more: &[(&str, &str)]) -> Value {
    handler("Deployment", &[&[("ENABLE_SQS_TERMINATION_DRAINING", "true")], more].concat())
}

/// An account where all is as it should be.
fn account() -> Vec<Value> {
    let rule = |name: &str, source: &str, kind: &str| json!({"Name": name, "State": "ENABLED", "EventPattern": json!({"source": [source], "detail-type": [kind]}).to_string()});
    let rules: Vec<Value> = EVENTS
        .iter()
        .enumerate()
        .map(|(at, (source, kind, ..))| rule(&format!("r{at}"), source, kind))
        .collect();
    let policy = json!({"Statement": [{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage"}]});
    vec![
        json!({"AutoScalingGroups": [{"AutoScalingGroupName": "web", "Instances": [{"InstanceId": "i-n"}],
            "Tags": [{"Key": TAG, "Value": "", "PropagateAtLaunch": true}]}]}),
        json!({"LifecycleHooks": [{"LifecycleHookName": "drain", "AutoScalingGroupName": "web",
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "HeartbeatTimeout": 300}]}),
        json!({"Rules": rules}),
        json!({"RuleNames": ["r0", "r1", "r2", "r3", "r4"]}),
        json!({"Attributes": {"QueueArn": "arn:aws:sqs:eu-west-1:1:nth", "MessageRetentionPeriod": "300", "RedrivePolicy": json!({"maxReceiveCount": "100"}).to_string(), "Policy": policy.to_string()}}),
    ]
}

const TAG: &str = "aws-node-termination-handler/managed";

fn found(objects: Vec<Value>, answers: &[Value]) -> Vec<String> {
    let mut account = Account::default();
    answers.iter().for_each(|answer| account.read(answer).expect("an answer"));
    let found = super::super::super::termination_setup(&view(objects), None, &options(), &account);
    assert!(found.iter().all(|finding| !finding.remedy.is_empty()), "{found:?}");
    found.iter().map(ToString::to_string).collect()
}

fn web(seconds: i64) -> Vec<Value> {
    service("web", &["n"], &json!({"spec": {"terminationGracePeriodSeconds": seconds}}))
}

#[test]
fn what_is_sufficient_is_not_found() {
    let all = [vec![own("n"), queue_mode(&[])], web(60)].concat();
    assert_eq!(found(all, &account()), [""; 0]);
    assert_eq!(found(vec![node("n", "a")], &account()), [""; 0], "EKS drains managed nodes");
}

#[test]
fn each_part_that_is_missing_is_found() {
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut answers = account();
        change(&mut answers);
        let mut spot = own("n");
        merge(&mut spot, json!({"metadata": {"labels": {"node.kubernetes.io/lifecycle": "spot"}}}));
        found([vec![spot, queue_mode(&[])], web(60)].concat(), &answers)
    };
    let hookless = with(&|all| all[1]["LifecycleHooks"] = json!([]));
    assert!(
        hookless.len() == 1
            && hookless[0]
                .starts_with("warning termination-setup AutoScalingGroup web: has no lifecycle hook"),
        "{hookless:?}"
    );
    let untagged = with(&|all| all[0]["AutoScalingGroups"][0]["Tags"] = json!([]));
    assert!(
        untagged[0].contains("does not give its instances the tag aws-node-termination-handler/managed"),
        "{untagged:?}"
    );
    let off = with(&|all| all[2]["Rules"][1]["State"] = json!("DISABLED"));
    assert_eq!(
        off,
        [
            "warning termination-setup Deployment kube-system/nth: no rule of EventBridge that is on matches \"EC2 Spot Instance Interruption Warning\": spot instances go without a drain"
        ]
    );
    let elsewhere = with(&|all| all[3]["RuleNames"] = json!(["r1", "r2", "r3", "r4"]));
    assert!(elsewhere[0].contains("the queue is no target of rule r0"), "{elsewhere:?}");
    let closed = with(&|all| all[4]["Attributes"]["Policy"] = json!("{}"));
    assert!(
        closed[0].starts_with("blocking termination-setup Queue nth: its policy does not let events"),
        "{closed:?}"
    );
}

#[test]
fn a_grace_period_is_held_against_the_hook_and_the_handler() {
    let with = |seconds: i64, env: &[(&str, &str)]| {
        found([vec![own("n"), queue_mode(env)], web(seconds)].concat(), &account())
    };
    let long = with(600, &[]);
    assert!(
        long.iter()
            .any(|one| one.contains("hook drain holds an instance for 5m, and pod shop/web-a may take 10m")),
        "{long:?}"
    );
    assert!(long.iter().any(|one| one.contains("waits 2m for the pods of a node")), "{long:?}");
    let told = [("NODE_TERMINATION_GRACE_PERIOD", "600"), ("HEARTBEAT_INTERVAL", "60")];
    let kept = with(600, &told);
    assert!(
        kept.len() == 1 && kept[0].contains("keeps messages for 5m, and a drain may take 10m"),
        "{kept:?}"
    );
    let told = [("NODE_TERMINATION_GRACE_PERIOD", "300"), ("HEARTBEAT_INTERVAL", "60")];
    assert_eq!(with(300, &told), [""; 0]);
    let until =
        [("NODE_TERMINATION_GRACE_PERIOD", "300"), ("HEARTBEAT_INTERVAL", "60"), ("HEARTBEAT_UNTIL", "120")];
    let short = with(600, &until);
    assert!(
        short
            .iter()
            .any(|one| one.contains("hook drain holds an instance for 7m, and pod shop/web-a may take 10m")),
        "{short:?}"
    );
    let late = with(60, &[("HEARTBEAT_INTERVAL", "300")]);
    assert!(late[0].contains("gives up after 5m without a heartbeat"), "{late:?}");
}

#[test]
fn in_imds_mode_terminations_by_the_group_and_nodes_without_it_are_found() {
    let set = |env: &[(&str, &str)]| handler("DaemonSet", env);
    let blind = found([vec![own("n"), set(&[])], web(60)].concat(), &account());
    assert!(blind.len() == 1 && blind[0].contains("without ENABLE_ASG_LIFECYCLE_DRAINING"), "{blind:?}");
    let seeing = [("ENABLE_ASG_LIFECYCLE_DRAINING", "true")];
    assert_eq!(found([vec![own("n"), set(&seeing)], web(60)].concat(), &account()), [""; 0]);
    let mut tainted = own("m");
    merge(&mut tainted, json!({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}));
    let left = found([vec![own("n"), tainted, set(&seeing)], web(60)].concat(), &account());
    assert!(left[0].contains("does not run on 1 node") && left[0].ends_with(": m"), "{left:?}");
}

#[test]
fn groups_of_other_clusters_are_not_looked_after() {
    let queued = || vec![own("n"), queue_mode(&[("HEARTBEAT_INTERVAL", "60")])];
    let tag = |cluster: &str| json!({"Key": format!("kubernetes.io/cluster/{cluster}"), "Value": "owned"});
    let with = |cluster: &str, instances: Value| {
        let mut answers = account();
        let groups = answers[0]["AutoScalingGroups"].as_array_mut().expect("a list");
        groups[0]["Tags"].as_array_mut().expect("a list").push(tag("shop"));
        groups.push(json!({"AutoScalingGroupName": "data", "Instances": instances, "Tags": [tag(cluster)]}));
        answers.push(json!({"LifecycleHooks": []}));
        // One that ends before the handler's heartbeat.
        answers
            .push(json!({"LifecycleHooks": [{"LifecycleHookName": "short", "AutoScalingGroupName": "data",
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "HeartbeatTimeout": 30}]}));
        (found(queued(), &answers[..6]), found(queued(), &answers))
    };
    let elsewhere = || json!([{"InstanceId": "i-elsewhere"}]);
    let none = (Vec::new(), Vec::new());
    assert_eq!(with("other", elsewhere()), none);
    assert_eq!(with("other", json!([])), none, "its tag names another cluster");
    for instances in [elsewhere(), json!([])] {
        let (hookless, short) = with("shop", instances);
        assert!(
            hookless.len() == 2
                && hookless[0].contains("AutoScalingGroup data: does not give")
                && hookless[1].contains("AutoScalingGroup data: has no lifecycle hook"),
            "{hookless:?}"
        );
        assert!(short.iter().any(|one| one.contains("hook short gives up after 30s")), "{short:?}");
    }
    let unsent = |cluster: &str| {
        let mut answers = account();
        answers[1]["LifecycleHooks"][0]["NotificationTargetARN"] = json!("arn:aws:sqs:eu-west-1:1:nth");
        answers[2]["Rules"] = json!([]);
        let groups = answers[0]["AutoScalingGroups"].as_array_mut().expect("a list");
        groups[0]["Tags"].as_array_mut().expect("a list").push(tag("shop"));
        groups
            .push(json!({"AutoScalingGroupName": "data", "Instances": elsewhere(), "Tags": [tag(cluster)]}));
        found(queued(), &answers).iter().filter(|one| one.contains("Lifecycle Action")).count()
    };
    assert_eq!(unsent("other"), 0, "the hooks of this cluster's groups send by themselves");
    assert_eq!(unsent("shop"), 1);
}

#[test]
fn without_a_handler_nodes_of_no_managed_group_are_named() {
    let none = found(vec![own("n")], &account());
    assert_eq!(none.len(), 1);
    assert!(none[0].ends_with("no aws-node-termination-handler is in the input: n"), "{none:?}");
    let mut other = handler("Deployment", &[]);
    other["spec"]["template"]["spec"]["containers"][0] = json!({"name": "c", "image": "registry.example.com/replank:1", "args": ["handle", "--queue-url=https://q"]});
    assert_eq!(found(vec![own("n"), other], &account()), [""; 0], "replank handle does it");
    assert_eq!(
        found(vec![own("n")], &account()[..1]),
        [""; 0],
        "nothing was said of hooks, rules or a queue"
    );
}

#[test]
fn a_message_comes_again_while_its_drain_goes_on() {
    let with = |env: &[(&str, &str)], limit: i64, replicas: i64| {
        let mut answers = account();
        answers[4]["Attributes"]["RedrivePolicy"] = json!(json!({"maxReceiveCount": limit}).to_string());
        let mut handler = queue_mode(env);
        handler["spec"]["replicas"] = json!(replicas);
        found([vec![own("n"), handler], web(60)].concat(), &answers)
    };
    let early = with(&[], 3, 1);
    assert_eq!(
        early,
        [
            "warning termination-setup Queue nth: moves a message to its dead-letter queue after 3 receipts; Deployment kube-system/nth hides one for 20s and drains for up to 2m, in which it comes 7 times: if the handler restarts, nobody goes on with the drain"
        ]
    );
    assert_eq!(with(&[], 7, 1), [""; 0]);
    assert_eq!(with(&[("SQS_MSG_VISIBILITY_TIMEOUT_SEC", "110")], 3, 1), [""; 0]);
    let dead = with(&[("SQS_MSG_VISIBILITY_TIMEOUT_SEC", "300")], 20, 1);
    assert!(
        dead[0].starts_with(
            "blocking termination-setup Deployment kube-system/nth: SQS_MSG_VISIBILITY_TIMEOUT_SEC is 300"
        ),
        "{dead:?}"
    );
    let twice = with(&[], 20, 2);
    assert!(
        twice.len() == 1
            && twice[0].starts_with("info")
            && twice[0].contains("2 replicas, and a message is hidden for 20s"),
        "{twice:?}"
    );
    assert_eq!(
        with(&[("NODE_TERMINATION_GRACE_PERIOD", "60"), ("SQS_MSG_VISIBILITY_TIMEOUT_SEC", "90")], 20, 2),
        [""; 0]
    );
}

#[test]
fn batch_work_on_spot_nodes_is_found() {
    let work = |labels: Value, spec: Value, annotations: Value| {
        let mut node = own("n");
        merge(&mut node, json!({"metadata": {"labels": labels}}));
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "shop", "uid": "train"},
            "spec": {"template": {"spec": {}}}, "status": {"startTime": "2026-01-01T07:00:00Z"}});
        merge(&mut job["spec"], spec);
        let extra = json!({"metadata": {"labels": {"app": "train"}, "annotations": annotations}});
        let pod = pod("p", "n", Some(("batch/v1", "Job", "train")), extra);
        found(vec![node, queue_mode(&[]), job, pod], &account())
    };
    let spot = || json!({"node.kubernetes.io/lifecycle": "spot"});
    assert_eq!(
        work(spot(), json!({"backoffLimit": 0}), json!({})),
        [
            "warning termination-setup Job shop/train: runs on spot node n, which AWS takes away with 2m notice; no heartbeat and no grace period is longer than that. backoffLimit 0: an eviction fails the Job; running for 5h"
        ]
    );
    let again = work(spot(), json!({"backoffLimit": 3}), json!({}));
    assert!(again.len() == 1 && again[0].starts_with("info"), "{again:?}");
    let twice = work(spot(), json!({"backoffLimit": 3}), json!({"replank.dev/rerun": "unsafe"}));
    assert!(twice[0].starts_with("warning") && twice[0].contains("declared unsafe"), "{twice:?}");
    assert_eq!(work(spot(), json!({"backoffLimit": 3}), json!({"replank.dev/rerun": "safe"})), [""; 0]);
    assert_eq!(work(json!({}), json!({"backoffLimit": 0}), json!({})), [""; 0], "it is not spot");
}

#[test]
fn what_no_file_says_is_not_judged_and_said() {
    let left = |objects: Vec<Value>, answers: &[Value]| -> Vec<String> {
        let mut account = Account::default();
        answers.iter().for_each(|answer| account.read(answer).expect("an answer"));
        let network = Network::default();
        let left = super::super::super::unanswered(&view(objects), None, &options(), &account, &network);
        left.into_iter().map(|one| one.command).collect()
    };
    let queued = || vec![own("n"), queue_mode(&[])];
    assert_eq!(left(queued(), &account()), [""; 0]);
    assert_eq!(
        left(queued(), &account()[1..2]),
        [
            "aws autoscaling describe-auto-scaling-groups --output json",
            "aws events list-rules --output json",
            "aws events list-rule-names-by-target --target-arn QUEUE_ARN --output json",
            "aws sqs get-queue-attributes --queue-url QUEUE_URL --attribute-names All --output json",
        ]
    );
    assert_eq!(left(vec![node("n", "a"), queue_mode(&[])], &account()[1..2]), [""; 0], "EKS drains them");
    let mut more = account();
    more[0]["AutoScalingGroups"].as_array_mut().expect("a list").push(json!({"AutoScalingGroupName": "data",
        "Tags": [{"Key": TAG, "Value": "", "PropagateAtLaunch": true}]}));
    let hooks = "aws autoscaling describe-lifecycle-hooks --auto-scaling-group-name GROUP --output json";
    assert_eq!(left(queued(), &more), [hooks]);
    assert_eq!(found(queued(), &more), [""; 0], "its hooks were not asked for");
    more.push(json!({"LifecycleHooks": []}));
    assert_eq!(left(queued(), &more), [""; 0]);
    assert!(found(queued(), &more)[0].contains("has no lifecycle hook"));
    more[0]["AutoScalingGroups"][1]["Instances"] = json!([{"InstanceId": "i-elsewhere"}]);
    more.pop();
    assert_eq!(left(queued(), &more), [""; 0], "it is not of this cluster");
}
