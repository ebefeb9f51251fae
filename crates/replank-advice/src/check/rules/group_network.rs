//! What nodes of the group that nodes move into do not reach, or who does not reach them, by their security groups.

use std::collections::BTreeSet;

use replank_facts::network::{Network, Traffic};
use replank_model::object::meta::Key;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;

/// Ways that are written out.
const TOLD: usize = 3;

/// The differences, if nodes move into another group.
pub(in super::super) fn find(survey: &Survey<'_>, network: &Network) -> Vec<Finding> {
    let Some(landing) = survey.plan.and_then(|plan| plan.target.group.as_ref()) else { return Vec::new() };
    let Some(new) = network.of(landing.as_str()) else { return Vec::new() };
    let mut findings = Vec::new();
    for source in survey.groups_touched().iter().filter(|source| *source != landing) {
        let Some(old) = network.of(source.as_str()) else { continue };
        let lacks = network.lacks(&old, &new);
        let parts = [
            (
                &lacks.reached,
                "its nodes are not let in where those of group",
                "add its security group as a source",
            ),
            (
                &lacks.reaching,
                "its nodes do not let in what those of group",
                "allow it in its security group",
            ),
            (
                &lacks.sent,
                "its nodes may not send what those of group",
                "allow it in the outbound rules of its security group",
            ),
        ];
        for (lost, head, remedy) in parts.into_iter().filter(|(lost, ..)| !lost.is_empty()) {
            let verb = match head.contains("where") {
                true => "are",
                false => "do",
            };
            findings.push(Finding {
                rule: Rule::GroupParity,
                severity: Severity::Warning,
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

    use super::super::stage::{node, options, view};
    use super::*;
    use replank_facts::plan::{Plan, Target};

    fn found(landing: Option<&str>, sources: &[&str]) -> Vec<String> {
        let group = |name: &str, template: &str| json!({"AutoScalingGroupName": name, "LaunchTemplate": {"LaunchTemplateId": template, "Version": "1"}});
        let version = |template: &str, own: &str| json!({"LaunchTemplateId": template, "VersionNumber": 1, "LaunchTemplateData": {"SecurityGroupIds": [own]}});
        let pairs: Vec<Value> = sources.iter().map(|id| json!({"GroupId": id})).collect();
        let answers = [
            json!({"AutoScalingGroups": [group("web", "lt-1"), group("web-new", "lt-2")]}),
            json!({"LaunchTemplateVersions": [version("lt-1", "sg-old"), version("lt-2", "sg-new")]}),
            json!({"SecurityGroups": [{"GroupId": "sg-db", "GroupName": "database", "IpPermissions":
                [{"IpProtocol": "tcp", "FromPort": 5432, "ToPort": 5432, "UserIdGroupPairs": pairs}]}]}),
        ];
        let mut network = Network::default();
        assert!(answers.iter().all(|answer| network.read(answer)));
        let target = Target { group: landing.map(Into::into), ..Target::default() };
        let plan = Plan::of_groups("p", vec!["web".into()], target);
        let found = super::super::super::group_network(
            &view(vec![node("n", "a")]),
            Some(&plan),
            &options(),
            &network,
        );
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_database_that_lets_in_the_old_group_only_is_named() {
        assert_eq!(
            found(Some("web-new"), &["sg-old"]),
            [
                "warning group-parity NodeGroup web-new: its nodes are not let in where those of group web are: tcp 5432 of sg-db (database) (security groups sg-new, before sg-old)"
            ]
        );
        assert_eq!(found(Some("web-new"), &["sg-old", "sg-new"]), [""; 0]);
        assert_eq!(found(None, &["sg-old"]), [""; 0], "the nodes stay in their group");
        assert_eq!(found(Some("unknown"), &["sg-old"]), [""; 0]);
    }
}
