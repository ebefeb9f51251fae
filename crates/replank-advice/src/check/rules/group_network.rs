//! What nodes of the group that nodes move into do not reach, or who does not reach them, by their security groups.

use std::collections::BTreeSet;

use replank_facts::coverage::Unanswered;
use replank_facts::drain::is_daemon;
use replank_facts::network::{Network, Traffic, Unknown};
use replank_facts::pod_groups::Policies;
use replank_model::object::meta::Key;
use replank_model::text::GroupName;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;

/// Ways that are written out.
const TOLD: usize = 3;

/// The differences, if nodes move into another group.
pub(in super::super) fn find(survey: &Survey<'_>, network: &Network) -> Vec<Finding> {
    let Some(landing) = survey.plan.and_then(|plan| plan.target.group.as_ref()) else { return Vec::new() };
    let Ok(new) = network.of(landing.as_str()) else { return Vec::new() };
    let mut findings = Vec::new();
    let policies = Policies::of(survey.view);
    for source in survey.groups_touched().iter().filter(|source| *source != landing) {
        let Ok(old) = network.of(source.as_str()) else { continue };
        let mut lacks = network.lacks(&old, &new);
        let mut of_nodes_alone = BTreeSet::new();
        if let Some(own) = own_alone(survey, &policies, source) {
            // What pods with security groups of their own reach does not change. Their nodes must reach them (probes), each other and the control plane, and may
            // need more: nobody knows whether a security group is that of a database or of an endpoint that images come from.
            let matters = |id: &str| own.contains(id) || old.contains(id) || network.of_cluster() == Some(id);
            (lacks.reached, of_nodes_alone) =
                lacks.reached.into_iter().partition(|traffic| matters(traffic.other()));
        }
        let parts = [
            (
                Severity::Warning,
                &lacks.reached,
                "its nodes are not let in where those of group",
                "add its security group as a source",
            ),
            (
                Severity::Info,
                &of_nodes_alone,
                "the pods that move have security groups of their own; if the nodes themselves need it (images, AWS endpoints, file systems), its nodes are not let in where those of group",
                "add its security group as a source",
            ),
            (
                Severity::Info,
                &lacks.ranged,
                "only an address range may let its nodes in where those of group",
                "add its security group as a source, unless the range contains the subnets of its nodes",
            ),
            (
                Severity::Warning,
                &lacks.reaching,
                "its nodes do not let in what those of group",
                "allow it in its security group",
            ),
            (
                Severity::Warning,
                &lacks.sent,
                "its nodes may not send what those of group",
                "allow it in the outbound rules of its security group",
            ),
        ];
        for (severity, lost, head, remedy) in parts.into_iter().filter(|(_, lost, ..)| !lost.is_empty()) {
            let verb = match head.contains("where") {
                true => "are",
                false => "do",
            };
            findings.push(Finding {
                rule: Rule::GroupParity,
                severity,
                object: ObjectName::new("NodeGroup", Key::cluster(landing.as_str())),
                reason: format!(
                    "{head} {source} {verb}: {} (security groups {}, before {})",
                    told(lost),
                    ids(&new),
                    ids(&old)
                ),
                remedy: format!(
                    "{remedy}, or give its launch template the security groups of group {source}"
                )
                .into(),
            });
        }
    }
    findings
}

/// The security groups of the pods on a group's nodes, if all of them have their own: DaemonSets of kube-system and what uses the node's network aside.
fn own_alone(survey: &Survey<'_>, policies: &Policies, group: &GroupName) -> Option<BTreeSet<String>> {
    let nodes = survey.node_objects().filter(|node| survey.group_of(node).as_ref() == Some(group));
    let mut own = BTreeSet::new();
    let mut count = 0_usize;
    for pod in nodes.flat_map(|node| survey.view.sorted_pods_on(&node.name())) {
        let is_aside = pod.is_mirror()
            || pod.is_terminal()
            || (is_daemon(pod) && (pod.spec.host_network || pod.meta.namespace.as_str() == "kube-system"));
        if is_aside {
            continue;
        }
        own.extend(policies.groups_of(survey.view, pod)?);
        count += 1;
    }
    (count > 0).then_some(own)
}

/// What no file says, so that the security groups of the group that nodes move into are not compared, or not all of their rules.
pub(in super::super) fn unanswered(survey: &Survey<'_>, network: &Network) -> Vec<Unanswered> {
    let Some(landing) = survey.plan.and_then(|plan| plan.target.group.as_ref()) else { return Vec::new() };
    if !network.is_asked() {
        return Vec::new();
    }
    let sources: Vec<GroupName> =
        survey.groups_touched().into_iter().filter(|source| source != landing).collect();
    let mut all: Vec<Unanswered> = Vec::new();
    let mut unread = BTreeSet::new();
    let new = network.of(landing.as_str());
    for source in &sources {
        let old = network.of(source.as_str());
        match (&old, &new) {
            // What is the same needs no rules.
            (Ok(old), Ok(new)) if old == new => {}
            (Ok(old), Ok(new)) => unread.extend(network.undescribed(&old.union(new).cloned().collect())),
            (Err(_), _) | (_, Err(_)) => {
                let unknown = [(source, &old), (landing, &new)].into_iter();
                let unknown =
                    unknown.filter_map(|(group, of)| of.as_ref().err().map(|why| unknown_group(group, why)));
                all.extend(unknown.filter(|one| !all.contains(one)).collect::<Vec<_>>());
            }
        }
    }
    if !unread.is_empty() {
        let them = if unread.len() == 1 { "its rules are" } else { "their rules are" };
        all.push(Unanswered {
            unseen: format!("{}: {them} not compared", ids(&unread)),
            command: "aws ec2 describe-security-groups --output json".to_owned(),
        });
    }
    all
}

fn unknown_group(group: &GroupName, why: &Unknown) -> Unanswered {
    let (unseen, command) = match why {
        Unknown::Group => (
            format!("group {group} with its launch template"),
            "aws autoscaling describe-auto-scaling-groups".to_owned(),
        ),
        Unknown::Template { id, version } => (
            format!("version {version} of launch template {id}, which group {group} uses"),
            format!("aws ec2 describe-launch-template-versions --launch-template-id {id}"),
        ),
        Unknown::Cluster => (
            format!("the cluster's security group, which group {group} has"),
            "aws eks describe-cluster --name CLUSTER".to_owned(),
        ),
    };
    Unanswered {
        unseen: format!("{unseen}: security groups are not compared"),
        command: format!("{command} --output json"),
    }
}

fn told(lost: &BTreeSet<Traffic>) -> String {
    let mut words: Vec<String> = lost.iter().take(TOLD).map(ToString::to_string).collect();
    if lost.len() > TOLD {
        words.push(format!("and {} more", lost.len() - TOLD));
    }
    words.join(", ")
}

fn ids(all: &BTreeSet<String>) -> String {
    all.iter().map(String::as_str).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{node, options, service, view};
    use super::*;
    use replank_facts::plan::{Plan, Target};
    use replank_facts::termination::account::Account;

    /// What is found, and what is not judged.
    fn judged(landing: Option<&str>, sources: &[&str], left_out: &str) -> (Vec<String>, Vec<String>) {
        judged_with(Vec::new(), landing, sources, left_out)
    }

    fn judged_with(
        more: Vec<Value>,
        landing: Option<&str>,
        sources: &[&str],
        left_out: &str,
    ) -> (Vec<String>, Vec<String>) {
        let group = |name: &str, template: &str| json!({"AutoScalingGroupName": name, "LaunchTemplate": {"LaunchTemplateId": template, "Version": "1"}});
        let version = |template: &str, own: &str| json!({"LaunchTemplateId": template, "VersionNumber": 1, "LaunchTemplateData": {"SecurityGroupIds": [own]}});
        let own = |id: &str| json!({"GroupId": id, "IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]});
        let pairs: Vec<Value> = sources.iter().map(|id| json!({"GroupId": id})).collect();
        let answers = [
            json!({"AutoScalingGroups": [group("web", "lt-1"), group("web-new", "lt-2")]}),
            json!({"LaunchTemplateVersions": [version("lt-1", "sg-old"), version("lt-2", "sg-new")]}),
            json!({"SecurityGroups": [{"GroupId": "sg-db", "GroupName": "database", "IpPermissions":
                [{"IpProtocol": "tcp", "FromPort": 5432, "ToPort": 5432, "UserIdGroupPairs": pairs}]}, own("sg-old"), own("sg-new")]}),
        ];
        let mut network = Network::default();
        for mut answer in answers.into_iter().filter(|answer| answer.get(left_out).is_none()) {
            if let Some(groups) = answer["SecurityGroups"].as_array_mut() {
                groups.retain(|group| group["GroupId"] != left_out);
            }
            assert!(network.read(&answer));
        }
        let target = Target { group: landing.map(Into::into), ..Target::default() };
        let plan = Plan::of_groups("p", vec!["web".into()], target);
        let view = view([vec![node("n", "a")], more].concat());
        let found = super::super::super::group_network(&view, Some(&plan), &options(), &network);
        let account = Account::default();
        let left = super::super::super::unanswered(&view, Some(&plan), &options(), &account, &network);
        let left = left.iter().map(|one| format!("{}: {}", one.unseen, one.command)).collect();
        (found.iter().map(ToString::to_string).collect(), left)
    }

    fn found(landing: Option<&str>, sources: &[&str]) -> Vec<String> {
        judged(landing, sources, "").0
    }

    #[test]
    fn a_database_that_lets_in_the_old_group_only_is_named() {
        assert_eq!(
            found(Some("web-new"), &["sg-old"]),
            [
                "warning group-parity NodeGroup web-new: its nodes are not let in where those of group web are: tcp 5432 to sg-db (database) (security groups sg-new, before sg-old)"
            ]
        );
        assert_eq!(found(Some("web-new"), &["sg-old", "sg-new"]), [""; 0]);
        assert_eq!(found(None, &["sg-old"]), [""; 0], "the nodes stay in their group");
        assert_eq!(found(Some("unknown"), &["sg-old"]), [""; 0]);
        assert_eq!(judged(Some("web-new"), &["sg-old"], "").1, [""; 0], "everything is known");
        assert_eq!(judged(None, &["sg-old"], "LaunchTemplateVersions").1, [""; 0], "nothing is compared");
    }

    #[test]
    fn pods_with_security_groups_of_their_own_do_not_need_those_of_the_nodes() {
        let policy = |app: &str| {
            json!({"apiVersion": "vpcresources.k8s.aws/v1beta1", "kind": "SecurityGroupPolicy", "metadata": {"name": app, "namespace": "shop", "uid": app},
            "spec": {"podSelector": {"matchLabels": {"app": app}}, "securityGroups": {"groupIds": ["sg-cart"]}}})
        };
        let with = |more: Vec<Value>| {
            let found = judged_with(more, Some("web-new"), &["sg-old"], "").0;
            found.iter().map(|one| one.split_once(' ').expect("words").0.to_owned()).collect::<Vec<_>>()
        };
        let cart = || service("cart", &["n"], &json!({}));
        assert_eq!(with(cart()), ["warning"], "it shares those of its node");
        assert_eq!(with([cart(), vec![policy("cart")]].concat()), ["info"], "its nodes may");
        let search = service("search", &["n"], &json!({}));
        assert_eq!(
            with([cart(), search, vec![policy("cart")]].concat()),
            ["warning"],
            "another one shares them"
        );
    }

    #[test]
    fn where_nothing_of_the_network_was_asked_nothing_is_missing() {
        let left = |answers: &[Value]| {
            let (mut network, mut account) = (Network::default(), Account::default());
            for answer in answers {
                let is_known = network.read(answer) | account.read(answer).is_ok();
                assert!(is_known, "{answer}");
            }
            let target = Target { group: Some("web-new".into()), ..Target::default() };
            let plan = Plan::of_groups("p", vec!["web".into()], target);
            let view = view(vec![node("n", "a")]);
            let left = super::super::super::unanswered(&view, Some(&plan), &options(), &account, &network);
            left.into_iter().map(|one| one.command).collect::<Vec<_>>()
        };
        let groups = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "web", "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}}]});
        let hooks = json!({"LifecycleHooks": [{"LifecycleHookName": "drain", "AutoScalingGroupName": "web",
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "HeartbeatTimeout": 300}]});
        assert_eq!(left(&[groups.clone(), hooks.clone()]), [""; 0], "these are answers on terminations");
        let asked = left(&[groups, hooks, json!({"SecurityGroups": []})]);
        assert!(
            asked.len() == 2
                && asked[0].contains("describe-launch-template-versions --launch-template-id lt-1"),
            "{asked:?}"
        );
    }

    #[test]
    fn what_no_file_says_is_not_judged_and_said() {
        let (found, left) = judged(Some("web-new"), &["sg-old"], "LaunchTemplateVersions");
        assert_eq!(found, [""; 0]);
        assert_eq!(
            left,
            [
                "version 1 of launch template lt-1, which group web uses: security groups are not compared: aws ec2 describe-launch-template-versions --launch-template-id lt-1 --output json",
                "version 1 of launch template lt-2, which group web-new uses: security groups are not compared: aws ec2 describe-launch-template-versions --launch-template-id lt-2 --output json",
            ]
        );
        let (found, left) = judged(Some("web-new"), &["sg-old", "sg-new"], "sg-new");
        assert_eq!(found, [""; 0], "its rules are not known: it lacks none");
        assert_eq!(
            left,
            ["sg-new: its rules are not compared: aws ec2 describe-security-groups --output json"]
        );
        let (_, left) = judged(Some("elsewhere"), &["sg-old"], "");
        assert!(left[0].starts_with("group elsewhere with its launch template: "), "{left:?}");
    }
}
