//! Permissions: for each mode the actions that its calls need, on no more than they are about.

use replank_live::aws::{AUTO_SCALING, HANDLE, HANDLE_READS, MANAGED, QUEUE, READS, allowed};
use serde_json::{Value, json};

use super::args::SetupMode;
use super::parts::Setup;

/// What a policy is about, in the words of what it is written in.
pub(super) struct Names<'n> {
    /// The queue's ARN.
    pub(super) queue: Value,
    /// An ARN, by service and by what follows the account.
    pub(super) arn: &'n dyn Fn(&str, &str) -> Value,
}

/// The statements of a role.
pub(super) fn statements(setup: &Setup, names: &Names<'_>) -> Vec<Value> {
    let (handles, rolls) = match setup.mode {
        SetupMode::Handle => (true, false),
        SetupMode::Roll => (false, true),
        SetupMode::All => (true, true),
    };
    let mut reads = Vec::new();
    reads.extend(HANDLE_READS.iter().filter(|_| handles));
    reads.extend(READS.iter().filter(|_| rolls));
    // Reads of these services cannot be limited to single groups.
    let mut all = vec![allowed(&unique(reads), &json!("*"))];
    if handles {
        all.push(allowed(QUEUE, &names.queue));
    }
    let mut writes: Vec<&str> = Vec::new();
    writes.extend(HANDLE.iter().filter(|_| handles));
    writes.extend(AUTO_SCALING.iter().filter(|_| rolls));
    let (groups, others): (Vec<&str>, Vec<&str>) =
        unique(writes).into_iter().partition(|action| action.starts_with("autoscaling:"));
    all.push(of_groups(setup, names, &groups));
    if !rolls {
        return all;
    }
    let (nodegroups, more): (Vec<&str>, Vec<&str>) =
        MANAGED.iter().copied().partition(|action| action.starts_with("eks:"));
    let of_cluster = (names.arn)("eks", &format!("nodegroup/{}/*", setup.cluster));
    all.push(allowed(&nodegroups, &of_cluster));
    let others = unique(others.into_iter().chain(more).collect());
    all.push(allowed(&others, &(names.arn)("ec2", "launch-template/*")));
    all
}

/// On the groups that are named, or on those of the cluster by their tag.
fn of_groups(setup: &Setup, names: &Names<'_>, actions: &[&str]) -> Value {
    if setup.groups.is_empty() {
        let mut statement = allowed(actions, &json!("*"));
        let tag = format!("aws:ResourceTag/kubernetes.io/cluster/{}", setup.cluster);
        statement["Condition"] = json!({"StringEquals": {tag: "owned"}});
        return statement;
    }
    let arns: Vec<Value> = setup
        .groups
        .iter()
        .map(|group| (names.arn)("autoscaling", &format!("autoScalingGroup:*:autoScalingGroupName/{group}")))
        .collect();
    allowed(actions, &Value::from(arns))
}

fn unique(mut actions: Vec<&str>) -> Vec<&str> {
    actions.sort_unstable();
    actions.dedup();
    actions
}

/// Who may take the role: pods by EKS Pod Identity.
pub(super) fn trust() -> Value {
    json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"]}]})
}

/// Who may send to the queue: the rules, over TLS.
pub(super) fn queue_policy(queue: &Value, rules: &[Value]) -> Value {
    json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": queue,
            "Condition": {"ArnEquals": {"aws:SourceArn": rules}}},
        {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": queue,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]})
}

/// A policy of statements.
pub(super) fn document(statements: &[Value]) -> Value {
    json!({"Version": "2012-10-17", "Statement": statements})
}
