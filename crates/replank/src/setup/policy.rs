//! Permissions: for each mode the actions that its calls need, on no more than they are about.

use replank_live::aws::{
    AUTO_SCALING, AUTOSCALE, AUTOSCALE_READS, HANDLE, HANDLE_READS, LAUNCHES, MAKE_GROUP, MAKES, MANAGED,
    QUEUE, READS, TO_EKS, UPGRADE, UPGRADE_READS, allowed,
};
use serde_json::{Value, json};

use super::args::SetupMode;
use super::parts::Setup;

/// What a policy is about, in the words of what it is written in.
pub(super) struct Names<'n> {
    /// The queue's ARN.
    pub(super) queue: Value,
    /// An ARN, by service and by what follows the account; IAM's have no region.
    pub(super) arn: &'n dyn Fn(&str, &str) -> Value,
}

/// What a role is for.
#[derive(Clone, Copy)]
struct Uses {
    handles: bool,
    rolls: bool,
    scales: bool,
    upgrades: bool,
}

impl Uses {
    fn of(mode: SetupMode) -> Self {
        let none = Self { handles: false, rolls: false, scales: false, upgrades: false };
        match mode {
            SetupMode::Handle => Self { handles: true, ..none },
            SetupMode::Roll => Self { rolls: true, ..none },
            SetupMode::Autoscale => Self { scales: true, ..none },
            SetupMode::HandleAutoscale => Self { handles: true, scales: true, ..none },
            SetupMode::Upgrade => Self { rolls: true, upgrades: true, ..none },
            SetupMode::All => Self { handles: true, rolls: true, scales: true, ..none },
        }
    }

    /// The actions of those tables that are used, each once.
    fn actions(
        self,
        handle: &[&'static str],
        roll: &[&'static str],
        scale: &[&'static str],
    ) -> Vec<&'static str> {
        let used = [(self.handles, handle), (self.rolls, roll), (self.scales, scale)];
        unique(
            used.into_iter()
                .filter(|(is_used, _)| *is_used)
                .flat_map(|(_, all)| all.iter().copied())
                .collect(),
        )
    }
}

/// The statements of a role.
pub(super) fn statements(setup: &Setup, names: &Names<'_>) -> Vec<Value> {
    let uses = Uses::of(setup.mode);
    // Reads of these services cannot be limited to single groups.
    let mut reads = uses.actions(HANDLE_READS, READS, AUTOSCALE_READS);
    if uses.upgrades {
        reads = unique([&reads[..], UPGRADE_READS].concat());
    }
    let mut all = vec![allowed(&reads, &json!("*"))];
    if uses.handles {
        all.push(allowed(QUEUE, &names.queue));
    }
    let rolls = [AUTO_SCALING, MANAGED].concat();
    let writes = uses.actions(HANDLE, &rolls, AUTOSCALE);
    let of = |service: &str| -> Vec<&str> {
        writes.iter().copied().filter(|action| action.split(':').next() == Some(service)).collect()
    };
    all.push(of_groups(setup, names, &of("autoscaling")));
    let of_cluster = (names.arn)("eks", &format!("nodegroup/{}/*", setup.cluster));
    let others = [("eks", of_cluster), ("ec2", (names.arn)("ec2", "launch-template/*"))];
    let others = others.into_iter().map(|(service, resource)| (of(service), resource));
    all.extend(
        others
            .filter(|(actions, _)| !actions.is_empty())
            .map(|(actions, resource)| allowed(&actions, &resource)),
    );
    if uses.rolls {
        all.extend(LAUNCHES.iter().map(|action| of_launches(action, setup, names)));
    }
    if uses.rolls && !setup.node_roles.is_empty() {
        all.push(allowed(MAKE_GROUP, &(names.arn)("eks", &format!("cluster/{}", setup.cluster))));
        all.extend(MAKES.iter().map(|action| of_making(action, setup, names)));
    }
    if uses.upgrades {
        all.extend(UPGRADE.iter().map(|action| of_upgrades(action, setup, names)));
    }
    all
}

/// What somebody who reads the policy should know of its widest statement, where nobody has named the roles that nodes have.
pub(super) fn note(setup: &Setup) -> Option<&'static str> {
    let is_wide = Uses::of(setup.mode).rolls && setup.node_roles.is_empty();
    is_wide.then_some(
        "iam:PassRole is allowed for every role, to EC2: pass --node-role ROLE to narrow it to the role of the nodes",
    )
}

/// What whoever gives a group a launch template must be allowed to do: no more than is done with launch templates ("Use Amazon EC2 launch templates to control launching Amazon EC2
/// instances" in EC2's user guide), than tagging what is launched so, and than handing a role to EC2: one of the nodes, where these are named.
fn of_launches(action: &str, setup: &Setup, names: &Names<'_>) -> Value {
    let (resource, condition) = match action {
        "ec2:CreateTags" => {
            ((names.arn)("ec2", "*/*"), json!({"StringEquals": {"ec2:CreateAction": "RunInstances"}}))
        }
        "iam:PassRole" => (
            if setup.node_roles.is_empty() { (names.arn)("iam", "role/*") } else { of_nodes(setup, names) },
            json!({"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}}),
        ),
        _ => {
            (json!("*"), json!({"ArnLike": {"ec2:LaunchTemplate": (names.arn)("ec2", "launch-template/*")}}))
        }
    };
    let mut statement = allowed(&[action], &resource);
    statement["Condition"] = condition;
    statement
}

/// What EKS does in the name of whoever makes a group: no more than handing it the roles that are named, and looking at them, at its own role, and at subnets.
fn of_making(action: &str, setup: &Setup, names: &Names<'_>) -> Value {
    match action {
        "iam:PassRole" => {
            let mut statement = allowed(&[action], &of_nodes(setup, names));
            statement["Condition"] = json!({"StringEquals": {"iam:PassedToService": TO_EKS}});
            statement
        }
        "iam:GetRole" => {
            let own = (names.arn)("iam", &format!("role/{EKS_OWN_ROLE}"));
            let all = roles(setup, names).chain([own]).collect::<Value>();
            allowed(&[action], &all)
        }
        "iam:ListAttachedRolePolicies" => allowed(&[action], &of_nodes(setup, names)),
        // Describing subnets cannot be limited.
        _ => allowed(&[action], &json!("*")),
    }
}

/// The ARNs of the nodes' roles.
fn of_nodes(setup: &Setup, names: &Names<'_>) -> Value {
    roles(setup, names).collect()
}

fn roles<'s>(setup: &'s Setup, names: &'s Names<'_>) -> impl Iterator<Item = Value> + 's {
    setup.node_roles.iter().map(|role| (names.arn)("iam", &format!("role/{role}")))
}

/// The service-linked role of managed node groups, with its path ("Using roles for Amazon EKS node groups" in the user guide): there since the first one was made.
const EKS_OWN_ROLE: &str = "aws-service-role/eks-nodegroup.amazonaws.com/AWSServiceRoleForAmazonEKSNodegroup";

/// On the cluster, and on its add-ons.
fn of_upgrades(action: &str, setup: &Setup, names: &Names<'_>) -> Value {
    let cluster = &setup.cluster;
    let resource = match action {
        "eks:UpdateAddon" => format!("addon/{cluster}/*"),
        _ => format!("cluster/{cluster}"),
    };
    allowed(&[action], &(names.arn)("eks", &resource))
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
