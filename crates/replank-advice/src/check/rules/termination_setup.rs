//! Whether what tells the cluster of instances that go is sufficient: lifecycle hooks, rules, the queue, and aws-node-termination-handler.
//!
//! What it does in which mode, and its defaults: README.md and pkg/config/config.go of aws/aws-node-termination-handler. Instances of managed node groups are drained
//! by EKS, and those of Karpenter by Karpenter: neither needs it.

mod spot_work;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::coverage::Unanswered;
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
use crate::audit::is_spot;

/// Messages about an instance come within minutes; what is kept for less may be gone before the handler is up again (its README keeps them for 300 s).
const KEPT: Span = Span::from_minutes(5);
/// How long a lifecycle hook holds an instance at most (AWS, "Lifecycle hooks": the global timeout).
const HELD_MAX: Span = Span::from_minutes(48 * 60);
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
    let groups = Groups::of(survey, account);
    for handler in &handlers {
        findings.extend(of_handler(survey, handler, &own));
        match handler.mode {
            Mode::Queue => {
                findings.extend(hooks(&groups, handler));
                findings.extend(rules(survey, &groups, handler));
                findings.extend(queue(account, handler));
            }
            Mode::Metadata => findings.extend(metadata(survey, &groups, handler, &own)),
        }
    }
    findings.extend(heartbeats(&groups, &handlers, &own, survey));
    findings.extend(spot_work::find(survey, &own));
    findings
}

/// What no file says of it, and is not judged.
pub(in super::super) fn unanswered(survey: &Survey<'_>, account: &Account) -> Vec<Unanswered> {
    let own = own_nodes(survey);
    let is_asked = account.hooks.is_some() || account.rules.is_some() || account.queue.is_some();
    if own.is_empty() || !is_asked {
        return Vec::new();
    }
    let has_queue = handlers(survey.view).iter().any(|handler| handler.mode == Mode::Queue);
    let without_hooks = account.hooks.is_none() || Groups::of(survey, account).are_unread();
    let parts = [
        (
            account.groups.is_none(),
            "Auto Scaling groups: hooks and tags",
            "autoscaling describe-auto-scaling-groups",
        ),
        (
            without_hooks,
            "the lifecycle hooks of every group: those of the others",
            "autoscaling describe-lifecycle-hooks --auto-scaling-group-name GROUP",
        ),
        (has_queue && account.rules.is_none(), "EventBridge rules: they", "events list-rules"),
        (
            has_queue && account.sending.is_none(),
            "rules that send to the queue: they",
            "events list-rule-names-by-target --target-arn QUEUE_ARN",
        ),
        (
            has_queue && account.queue.is_none(),
            "attributes of the queue: they",
            "sqs get-queue-attributes --queue-url QUEUE_URL --attribute-names All",
        ),
    ];
    let missing = parts.into_iter().filter(|(is_missing, ..)| *is_missing);
    missing
        .map(|(_, what, call)| Unanswered {
            unseen: format!("{what} are not judged"),
            command: format!("aws {call} --output json"),
        })
        .collect()
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
    if handler.mode == Mode::Queue {
        findings.extend(hiding(handler));
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

/// How long it hides messages, beside how long it drains.
fn hiding(handler: &Handler) -> Option<Finding> {
    let hidden = match handler.hidden() {
        Err(text) => {
            return Some(finding(
                object_of(handler),
                Severity::Blocking,
                format!(
                    "SQS_MSG_VISIBILITY_TIMEOUT_SEC is {text}, and it starts only with 1 to 119: nothing is drained"
                ),
                "sqsMsgVisibilityTimeoutSec: 20 in its Helm values, the default",
            ));
        }
        Ok(hidden) => hidden?,
    };
    let grace = handler.node_grace().filter(|grace| *grace > hidden && handler.replicas > 1)?;
    Some(finding(
        object_of(handler),
        Severity::Info,
        format!(
            "{} replicas, and a message is hidden for {hidden} (SQS_MSG_VISIBILITY_TIMEOUT_SEC) while a drain takes up to {grace}: another replica receives it meanwhile and drains the same node, \
             and webhooks are sent twice",
            handler.replicas
        ),
        "replicas: 1 in its Helm values, if that matters",
    ))
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

/// The groups of this cluster that are not EKS's to look after, and what the account says of them.
struct Groups<'a> {
    account: &'a Account,
    all: Vec<&'a Group>,
}

impl<'a> Groups<'a> {
    fn of(survey: &Survey<'_>, account: &'a Account) -> Self {
        Self { account, all: account.own_groups(survey.view) }
    }

    /// Hooks that hold an instance of a group when it is terminated.
    fn ends(&self, group: &Group) -> impl Iterator<Item = &'a Hook> {
        self.hooks_of(group).filter(|hook| hook.at_termination)
    }

    fn hooks_of(&self, group: &Group) -> impl Iterator<Item = &'a Hook> {
        self.account.hooks.iter().flatten().filter(move |hook| hook.group == group.name)
    }

    /// Whether there are fewer answers on hooks than groups: which group an empty one is of cannot be seen.
    fn are_unread(&self) -> bool {
        let unnamed = self.all.iter().filter(|group| self.hooks_of(group).next().is_none());
        unnamed.count() > self.account.without_hooks
    }
}

/// Groups without a hook, or without the tag that the handler asks for.
fn hooks(groups: &Groups<'_>, handler: &Handler) -> Vec<Finding> {
    let mut findings = Vec::new();
    let are_read = groups.account.hooks.is_some() && !groups.are_unread();
    for group in &groups.all {
        let is_held = groups.ends(group).next().is_some();
        // Who has a hook for launches only was asked about.
        let is_named = groups.hooks_of(group).next().is_some();
        if !is_held && (are_read || is_named) {
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
fn rules(survey: &Survey<'_>, groups: &Groups<'_>, handler: &Handler) -> Vec<Finding> {
    let account = groups.account;
    let Some(rules) = &account.rules else { return Vec::new() };
    let is_spot = survey.node_objects().any(|node| is_spot(node));
    let mut findings = Vec::new();
    for (source, kind, missed, severity) in EVENTS {
        let is_about_spot = kind.contains("Spot") || kind.contains("Rebalance");
        let sends_itself = kind.contains("Lifecycle")
            && groups.all.iter().all(|group| groups.ends(group).any(|hook| hook.target.is_some()));
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
    let drain = handler.node_grace().unwrap_or(Span::ZERO);
    if let Some(kept) = queue.kept.filter(|kept| *kept < KEPT) {
        findings.push(finding(
            object(),
            Severity::Info,
            format!("keeps messages for {kept}: what comes while the handler restarts may be lost"),
            "set MessageRetentionPeriod to 300 or more",
        ));
    } else if let Some(kept) = queue.kept.filter(|kept| *kept < drain) {
        findings.push(finding(
            object(),
            Severity::Info,
            format!(
                "keeps messages for {kept}, and a drain may take {drain}: if the handler restarts after that, nobody goes on with it"
            ),
            format!("set MessageRetentionPeriod to more than {}", drain.as_secs()),
        ));
    }
    findings.extend(
        receipts(queue.receipts_max, handler, drain)
            .map(|(reason, remedy)| finding(object(), Severity::Warning, reason, remedy)),
    );
    findings
}

/// Why messages go to a dead-letter queue while their drain goes on: the handler does not hide one for longer than at its receipt.
fn receipts(limit: Option<i64>, handler: &Handler, drain: Span) -> Option<(String, String)> {
    let (limit, hidden) = limit.zip(handler.hidden().ok().flatten())?;
    let needed = 1 + drain.as_secs() / hidden.as_secs().max(1);
    (limit < needed).then(|| {
        (
            format!(
                "moves a message to its dead-letter queue after {}; {} {} hides one for {hidden} and drains for up to {drain}, in which it comes {needed} times: \
                 if the handler restarts, nobody goes on with the drain",
                counted(usize::try_from(limit).unwrap_or(0), "receipt"), handler.kind, handler.key
            ),
            format!("maxReceiveCount: {} or more in its RedrivePolicy", needed * 2),
        )
    })
}

/// What the handler does not see from the instances' metadata.
fn metadata(survey: &Survey<'_>, groups: &Groups<'_>, handler: &Handler, own: &[&Node]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if handler.sees_groups() == Some(false) && !groups.all.is_empty() {
        let held = groups.all.iter().any(|group| groups.ends(group).next().is_some());
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
fn heartbeats(groups: &Groups<'_>, handlers: &[Handler], own: &[&Node], survey: &Survey<'_>) -> Vec<Finding> {
    let by_instance: BTreeMap<String, &Node> =
        own.iter().map(|node| (instance_id_of(node).to_string(), *node)).collect();
    let queued = || handlers.iter().filter(|handler| handler.mode == Mode::Queue);
    let renews = queued().find_map(Handler::heartbeat);
    let until = renews.and_then(|_| queued().find_map(Handler::heartbeat_until));
    let mut findings = Vec::new();
    for group in &groups.all {
        let nodes: Vec<&Node> =
            group.seen.instances.iter().filter_map(|id| by_instance.get(id).copied()).collect();
        let longest = longest(survey, &nodes);
        for hook in groups.ends(group) {
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
            // A hook ends after 48 hours or a hundred timeouts, whatever it is told.
            let held = match until {
                Some(until) => (until + hook.heartbeat)
                    .min(HELD_MAX)
                    .min(Span::from_secs(hook.heartbeat.as_secs() * 100)),
                None => hook.heartbeat,
            };
            let Some((grace, pod)) = longest.as_ref().filter(|(grace, _)| *grace > held) else {
                continue;
            };
            let remedy = match until {
                Some(_) => "raise heartbeatUntil in the Helm values of the handler, and the hook's HeartbeatTimeout: a hook ends after 48 hours or a hundred timeouts".to_owned(),
                None => format!("raise its HeartbeatTimeout to more than {} s, or have the handler send heartbeats (heartbeatInterval)", grace.as_secs()),
            };
            findings.push(finding(
                group_name(&group.name),
                Severity::Warning,
                format!(
                    "hook {} holds an instance for {held}, and pod {pod} may take {grace} to stop: the instance is terminated before",
                    hook.name
                ),
                remedy,
            ));
        }
    }
    findings
}
