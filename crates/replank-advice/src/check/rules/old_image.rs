//! Nodes of Amazon Linux 2, for which there are no new images, and what is different on Amazon Linux 2023.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::GroupName;
use replank_model::version::Version;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::finding::counted;
use replank_facts::plan::Target;

/// The first minor version for which EKS has published no image of Amazon Linux 2.
const WITHOUT: u64 = 33;
/// What has to be looked at before (EKS user guide "Upgrade from Amazon Linux 2 to Amazon Linux 2023").
const DIFFERENCES: &str = "check these first on Amazon Linux 2023:\n\
     - cgroup v2: Java before 8u372, 11.0.16 and 15 does not see its memory limit; agents that read /sys/fs/cgroup must support it\n\
     - user data: a nodeadm NodeConfig instead of /etc/eks/bootstrap.sh\n\
     - instance metadata: IMDSv2 with a hop limit of 1 in managed groups, so that pods no longer get the node's role\n\
     - Amazon VPC CNI 1.16.2 or later";

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut groups: BTreeMap<Option<GroupName>, usize> = BTreeMap::new();
    let mut nodes = BTreeMap::new();
    for node in survey.node_objects().filter(|node| is_of_2(node)) {
        let group = survey.group_of(node);
        *groups.entry(group.clone()).or_default() += 1;
        nodes.entry(group).or_insert_with(|| node.meta.key());
    }
    groups
        .into_iter()
        .filter_map(|(group, count)| {
            let object = match &group {
                Some(group) => ObjectName::new("NodeGroup", Key::cluster(group.as_str())),
                None => ObjectName::new("Node", nodes.get(&group)?.clone()),
            };
            Some(finding(survey, object, count))
        })
        .collect()
}

/// `Amazon Linux 2`, and not `Amazon Linux 2023.9.20251117`.
fn is_of_2(node: &Node) -> bool {
    let image = &node.status.node_info.os_image;
    &**image == "Amazon Linux 2" || image.starts_with("Amazon Linux 2 ")
}

fn finding(survey: &Survey<'_>, object: ObjectName, count: usize) -> Finding {
    let of = counted(count, "node");
    let target = survey.plan.map(|plan| &plan.target);
    let leaves = target.and_then(|target| target.group.as_ref()).is_some_and(|landing| {
        let mut nodes = survey.view.nodes.unordered().map(|(_, node)| node);
        !nodes.any(|node| survey.group_of(node).as_ref() == Some(landing) && is_of_2(node))
    });
    let version = target.and_then(Target::version);
    let minor = version
        .and_then(|version| Version::parse_generic(&version.to_string()).ok())
        .map(|version| version.minor());
    let has_image = target.is_some_and(|target| target.image.is_some());
    let (severity, reason, remedy) = if leaves {
        (
            Severity::Warning,
            format!(
                "{of} on Amazon Linux 2 move to another image: their workloads get cgroup v2 and other metadata settings"
            ),
            DIFFERENCES.to_owned(),
        )
    } else if minor.is_some_and(|minor| minor >= WITHOUT) && !has_image {
        (
            Severity::Blocking,
            format!(
                "{of} on Amazon Linux 2, and EKS has no image of it for 1.{WITHOUT} and later: new nodes cannot match the plan"
            ),
            format!(
                "create a group with Amazon Linux 2023, and move into it: target: {{group: NAME}}\n{DIFFERENCES}"
            ),
        )
    } else {
        (
            Severity::Warning,
            format!(
                "{of} on Amazon Linux 2: EKS has published no images of it since 2025-11-26, so new nodes have old software"
            ),
            format!(
                "create a group with Amazon Linux 2023, and move into it: target: {{group: NAME}}\n{DIFFERENCES}"
            ),
        )
    };
    Finding { rule: Rule::OldImage, severity, object, reason, remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, node};
    use super::*;
    use replank_facts::plan::Plan;

    fn of(name: &str, group: &str, image: &str) -> Value {
        let mut node = node(name, "a");
        node["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!(group);
        node["status"]["nodeInfo"]["osImage"] = json!(image);
        node
    }

    #[test]
    fn amazon_linux_2_is_found_once_for_each_group() {
        let all = vec![of("n", "web", "Amazon Linux 2"), of("m", "web", "Amazon Linux 2")];
        assert_eq!(
            found(Rule::OldImage, all),
            [
                "warning old-image NodeGroup web: 2 nodes on Amazon Linux 2: EKS has published no images of it since 2025-11-26, so new nodes have old software"
            ]
        );
    }

    #[test]
    fn other_images_are_not() {
        for image in
            ["Amazon Linux 2023.9.20251117", "Amazon Linux 2023", "Bottlerocket OS 1.50.0 (aws-k8s-1.34)", ""]
        {
            assert_eq!(found(Rule::OldImage, vec![of("n", "web", image)]), [""; 0], "{image}");
        }
    }

    #[test]
    fn a_version_without_an_image_blocks_unless_the_plan_brings_its_own() {
        let all = vec![of("n", "web", "Amazon Linux 2")];
        let to = |version: &'static str| {
            move |plan: &mut Plan| plan.target.kubernetes_version = version.parse().ok()
        };
        assert!(found_under(Rule::OldImage, to("1.33"), all.clone())[0].starts_with("blocking"));
        assert!(found_under(Rule::OldImage, to("1.32"), all.clone())[0].starts_with("warning"));
        let own = |plan: &mut Plan| {
            to("1.33")(plan);
            plan.target.image = Some("ami-1".into());
        };
        assert!(found_under(Rule::OldImage, own, all)[0].starts_with("warning"));
    }

    #[test]
    fn moving_to_another_image_is_told_with_what_is_different() {
        let all = vec![of("n", "web", "Amazon Linux 2"), of("x", "new", "Amazon Linux 2023")];
        let into = |plan: &mut Plan| plan.target.group = Some("new".into());
        assert!(
            found_under(Rule::OldImage, into, all)[0]
                .contains("1 node on Amazon Linux 2 move to another image")
        );
    }
}
