//! Whether what tells the cluster of instances that go is sufficient: lifecycle hooks, rules, the queue, and aws-node-termination-handler.
//!
//! What it does in which mode, and its defaults: README.md and pkg/config/config.go of aws/aws-node-termination-handler. Instances of managed node groups are drained
//! by EKS, and those of Karpenter by Karpenter: neither needs it.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::daemon::is_eligible;
use replank_facts::drain::is_daemon;
use replank_facts::groups::instance_id_of;
use replank_facts::termination::account::{Account, Group, Hook};
use replank_facts::termination::handler::{Handler, Mode, handlers, runs_replank};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_EKS_NODEGROUP, Node};
use replank_model::object::pod::Pod;
use replank_model::object::workload::DaemonSet;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_protocol::provisioner::Provisioner;

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted};
use super::super::survey::Survey;
use super::daemon_missing::named;

/// Messages about an instance come within minutes; what is kept for less may be gone before the handler is up again (its README keeps them for 300 s).
const KEPT: Span = Span::from_minutes(5);
/// Events that are sent to a queue: source, type, what is missed without them, and whether the rest replaces it.
const EVENTS: [(&str, &str, &str, Severity); 5] = [
    (
        "aws.autoscaling",
        "EC2 Instance-terminate Lifecycle Action",
        "instances that their group terminates are held by the hook and drained by nobody",
        Severity::Warning,
    ),
    (
        "aws.ec2",
        "EC2 Spot Instance Interruption Warning",
        "spot instances go without a drain",
        Severity::Warning,
    ),
    (
        "aws.ec2",
        "EC2 Instance Rebalance Recommendation",
        "spot instances are drained in their last two minutes only",
        Severity::Info,
    ),
    (
        "aws.ec2",
        "EC2 Instance State-change Notification",
        "nobody is told of instances that a person or EC2 stops",
        Severity::Info,
    ),
    ("aws.health", "AWS Health Event", "nobody is told of scheduled maintenance", Severity::Info),
];

/// What is missing or does not fit.
pub(in super::super) fn find(survey: &Survey<'_>, account: &Account) -> Vec<Finding> {
    let handlers = handlers(survey.view);
    let own = own_nodes(survey);
    let mut findings = Vec::new();
    // What no answer says is not judged.
    let is_asked = account.hooks.is_some() || account.rules.is_some() || account.queue.is_some();
    if own.is_empty() || !is_asked {
        return findings;
    }
    if handlers.is_empty() && !runs_replank(survey.view) {
        findings.push(nobody(&own));
    }
    for handler in &handlers {
        findings.extend(of_handler(survey, handler, &own));
        match handler.mode {
            Mode::Queue => {
                findings.extend(hooks(account, handler));
                findings.extend(rules(survey, account, handler));
                findings.extend(queue(account, handler));
            }
            Mode::Metadata => findings.extend(metadata(survey, account, handler, &own)),
        }
    }
    findings.extend(heartbeats(account, &handlers, &own, survey));
    findings
}

/// Nodes whose end nobody else looks after: of no managed group, and not made by Karpenter or Fargate.
fn own_nodes<'a>(survey: &'a Survey<'_>) -> Vec<&'a Node> {
    let is_own = |node: &&Node| {
        !node.meta.labels.contains_key(LABEL_EKS_NODEGROUP) && !Provisioner::of(node).keeps_its_nodes()
    };
    survey.node_objects().map(|node| &**node).filter(is_own).collect()
}

fn finding(object: ObjectName, severity: Severity, reason: String, remedy: impl Into<String>) -> Finding {
    Finding { rule: Rule::TerminationSetup, severity, object, reason, remedy: remedy.into().into() }
}

fn object_of(handler: &Handler) -> ObjectName {
    ObjectName { kind: handler.kind.into(), key: handler.key.clone() }
}

fn group_name(group: &str) -> ObjectName {
    ObjectName::new("AutoScalingGroup", Key::cluster(group))
}

fn nobody(own: &[&Node]) -> Finding {
    let names: Vec<NodeName> = own.iter().map(|node| node.name()).collect();
    finding(
        ObjectName::new("Cluster", Key::cluster("cluster")),
        Severity::Warning,
        format!(
            "nothing drains a node whose instance AWS takes away: {} of no managed group, and no aws-node-termination-handler is in the input: {}",
            counted(own.len(), "node"),
            named(names.iter())
        ),
        "run `replank handle` (replank setup aws prints what it needs), or aws-node-termination-handler in queue mode",
    )
}

/// What holds in both modes.
fn of_handler(survey: &Survey<'_>, handler: &Handler, own: &[&Node]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if handler.only_looks() {
        findings.push(finding(
            object_of(handler),
            Severity::Warning,
            "DRY_RUN is on: it drains nothing".to_owned(),
            "set dryRun: false in its Helm values",
        ));
    }
    let Some(grace) = handler.node_grace() else { return findings };
    if let Some((longest, pod)) = longest(survey, own).filter(|(longest, _)| *longest > grace) {
        findings.push(finding(
            object_of(handler),
            Severity::Warning,
            format!(
                "waits {grace} for the pods of a node (NODE_TERMINATION_GRACE_PERIOD), and pod {pod} may take {longest} to stop: its instance is released before"
            ),
            format!("nodeTerminationGracePeriod: {} or more in its Helm values; a spot instance has two minutes, whatever it says", longest.as_secs()),
        ));
    }
    findings
}

/// The pod that may take longest to stop.
fn longest(survey: &Survey<'_>, nodes: &[&Node]) -> Option<(Span, Key)> {
    let pods = nodes.iter().flat_map(|node| survey.view.sorted_pods_on(&node.name()));
    let leaves = |pod: &&Pod| !is_daemon(pod) && !pod.is_mirror() && !pod.is_terminal();
    pods.map(|pod| &**pod)
        .filter(leaves)
        .map(|pod| (Span::from_secs(pod.grace_seconds()), pod.meta.key()))
        .max_by(|(a, one), (b, other)| a.cmp(b).then_with(|| other.cmp(one)))
}

/// The groups that are not EKS's to look after.
fn own_groups(account: &Account) -> impl Iterator<Item = &Group> {
    account.groups.iter().flatten().filter(|group| !group.is_managed)
}

fn ends<'a>(account: &'a Account, group: &'a str) -> impl Iterator<Item = &'a Hook> {
    account.hooks.iter().flatten().filter(move |hook| hook.at_termination && hook.group == group)
}

/// Groups without a hook, or without the tag that the handler asks for.
fn hooks(account: &Account, handler: &Handler) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in own_groups(account) {
        if account.hooks.is_some() && ends(account, &group.name).next().is_none() {
            findings.push(finding(
                group_name(&group.name),
                Severity::Warning,
                "has no lifecycle hook for terminations: an instance that the group terminates (scale-in, rebalance of zones, a failed health check) is gone before it is drained".to_owned(),
                format!(
                    "aws autoscaling describe-lifecycle-hooks --auto-scaling-group-name {}   # then add one: EC2_INSTANCE_TERMINATING, --default-result CONTINUE",
                    group.name
                ),
            ));
        }
        if let Some(tag) = handler.tag().filter(|tag| !group.propagated.contains(tag)) {
            findings.push(finding(
                group_name(&group.name),
                Severity::Warning,
                format!(
                    "does not give its instances the tag {tag}: {} {} leaves them alone",
                    handler.kind, handler.key
                ),
                "add the tag to the group with PropagateAtLaunch, and to its instances; or set checkTagBeforeDraining: false in the handler's Helm values",
            ));
        }
    }
    findings
}

/// Events for which no rule is on, or whose rule does not send to the queue.
fn rules(survey: &Survey<'_>, account: &Account, handler: &Handler) -> Vec<Finding> {
    let Some(rules) = &account.rules else { return Vec::new() };
    let is_spot = survey.node_objects().any(|node| is_spot(node));
    let mut findings = Vec::new();
    for (source, kind, missed, severity) in EVENTS {
        let is_about_spot = kind.contains("Spot") || kind.contains("Rebalance");
        let sends_itself = kind.contains("Lifecycle")
            && own_groups(account).all(|group| ends(account, &group.name).any(|hook| hook.target.is_some()));
        if (is_about_spot && !is_spot) || sends_itself {
            continue;
        }
        let all: Vec<&str> = rules
            .iter()
            .filter(|rule| rule.is_enabled && rule.is_about(source, kind))
            .map(|rule| &*rule.name)
            .collect();
        let why = match (all.as_slice(), &account.sending) {
            ([], _) => "no rule of EventBridge that is on matches".to_owned(),
            (some, Some(sending)) if !some.iter().any(|name| sending.iter().any(|one| one == name)) => {
                format!("the queue is no target of rule {}, which matches", some.join(", "))
            }
            (_, _) => continue,
        };
        findings.push(finding(
            object_of(handler),
            severity,
            format!("{why} \"{kind}\": {missed}"),
            "replank setup aws prints the rules and the queue for CloudFormation and Terraform",
        ));
    }
    findings
}

fn is_spot(node: &Node) -> bool {
    let labels = &node.meta.labels;
    labels.value("eks.amazonaws.com/capacityType") == Some("SPOT")
        || labels.value("karpenter.sh/capacity-type") == Some("spot")
        || labels.value("node.kubernetes.io/lifecycle") == Some("spot")
}

fn queue(account: &Account, handler: &Handler) -> Vec<Finding> {
    let Some(queue) = &account.queue else { return Vec::new() };
    let object =
        || ObjectName::new("Queue", Key::cluster(queue.arn.rsplit(':').next().unwrap_or(&queue.arn)));
    let mut findings = Vec::new();
    if !queue.may_send("events.amazonaws.com") {
        findings.push(finding(
            object(),
            Severity::Blocking,
            format!(
                "its policy does not let events.amazonaws.com send: {} {} never learns of anything",
                handler.kind, handler.key
            ),
            "allow sqs:SendMessage to the service events.amazonaws.com, for the rules' ARNs (replank setup aws prints the policy)",
        ));
    }
    if let Some(kept) = queue.kept.filter(|kept| *kept < KEPT) {
        findings.push(finding(
            object(),
            Severity::Info,
            format!("keeps messages for {kept}: what comes while the handler restarts may be lost"),
            "set MessageRetentionPeriod to 300 or more",
        ));
    }
    findings
}

/// What the handler does not see from the instances' metadata.
fn metadata(survey: &Survey<'_>, account: &Account, handler: &Handler, own: &[&Node]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if handler.sees_groups() == Some(false) && own_groups(account).next().is_some() {
        let held = own_groups(account).any(|group| ends(account, &group.name).next().is_some());
        let then = if held { "; their lifecycle hook holds them, and nobody completes it" } else { "" };
        findings.push(finding(
            object_of(handler),
            Severity::Warning,
            format!(
                "reads the metadata of instances (IMDS mode), without ENABLE_ASG_LIFECYCLE_DRAINING: instances that their group terminates are not drained{then}"
            ),
            "set enableASGLifecycleDraining: true in its Helm values, or run it in queue mode: IMDS knows no lifecycle hooks",
        ));
    }
    let set = survey.view.find::<DaemonSet>(&handler.key).filter(|_| handler.kind == "DaemonSet");
    if let Some(set) = set {
        let left: BTreeSet<NodeName> = own
            .iter()
            .filter(|node| !is_eligible(&set.spec.template.spec, node))
            .map(|node| node.name())
            .collect();
        if !left.is_empty() {
            findings.push(finding(
                object_of(handler),
                Severity::Warning,
                format!(
                    "does not run on {} (selector, affinity or a taint), which nobody drains: {}",
                    counted(left.len(), "node"),
                    named(left.iter())
                ),
                "add tolerations and widen its selector in its Helm values (linuxTolerations, linuxNodeSelector), or run it in queue mode",
            ));
        }
    }
    findings
}

/// Hooks that hold an instance for less time than its pods may take.
fn heartbeats(account: &Account, handlers: &[Handler], own: &[&Node], survey: &Survey<'_>) -> Vec<Finding> {
    let by_instance: BTreeMap<String, &Node> =
        own.iter().map(|node| (instance_id_of(node).to_string(), *node)).collect();
    let renews = handlers.iter().filter(|handler| handler.mode == Mode::Queue).find_map(Handler::heartbeat);
    let mut findings = Vec::new();
    for group in own_groups(account) {
        let nodes: Vec<&Node> =
            group.instances.iter().filter_map(|id| by_instance.get(id).copied()).collect();
        let longest = longest(survey, &nodes);
        for hook in ends(account, &group.name) {
            if let Some(every) = renews.filter(|every| *every >= hook.heartbeat) {
                findings.push(finding(
                    group_name(&group.name),
                    Severity::Warning,
                    format!(
                        "hook {} gives up after {} without a heartbeat, and the handler sends one every {every} (HEARTBEAT_INTERVAL)",
                        hook.name, hook.heartbeat
                    ),
                    "set the interval well below the hook's heartbeat timeout",
                ));
            }
            let Some((grace, pod)) =
                longest.as_ref().filter(|(grace, _)| *grace > hook.heartbeat && renews.is_none())
            else {
                continue;
            };
            findings.push(finding(
                group_name(&group.name),
                Severity::Warning,
                format!(
                    "hook {} holds an instance for {}, and pod {pod} may take {grace} to stop: the instance is terminated before",
                    hook.name, hook.heartbeat
                ),
                format!("raise its HeartbeatTimeout to more than {} s, or have the handler send heartbeats (heartbeatInterval)", grace.as_secs()),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{merge, node, options, service, view};
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
            json!({"Attributes": {"QueueArn": "arn:aws:sqs:eu-west-1:1:nth", "MessageRetentionPeriod": "300", "Policy": policy.to_string()}}),
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
                .any(|one| one
                    .contains("hook drain holds an instance for 5m, and pod shop/web-a may take 10m")),
            "{long:?}"
        );
        assert!(long.iter().any(|one| one.contains("waits 2m for the pods of a node")), "{long:?}");
        let told = [("NODE_TERMINATION_GRACE_PERIOD", "900"), ("HEARTBEAT_INTERVAL", "60")];
        assert_eq!(with(600, &told), [""; 0]);
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
}
