//! Nodes that run an image which is on somebody's list, or a release that was abandoned; and which image to go back to.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::images::{BadImage, IMAGES_DATE, Release, Which, releases};
use replank_model::object::cloud::GroupKind;
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_EKS_NODEGROUP, Node};
use replank_model::text::GroupName;

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted};
use super::super::survey::Survey;

/// Nodes of one group, or one node of none, that have the same image.
#[derive(Default)]
struct Found<'a> {
    nodes: Vec<&'a Node>,
    why: String,
    /// Whether the list is sure to mean it.
    certain: bool,
}

/// What is on the list, and what was abandoned.
pub(in super::super) fn find(survey: &Survey<'_>, bad: &[BadImage]) -> Vec<Finding> {
    let all = releases();
    let mut found: BTreeMap<(ObjectName, String), Found<'_>> = BTreeMap::new();
    for node in survey.node_objects() {
        let fitting: Vec<&Release> = all.iter().filter(|release| release.fits(node)).collect();
        let Some((why, certain)) = judge(node, &fitting, bad) else { continue };
        let object = match survey.group_of(node) {
            Some(group) => ObjectName::new("NodeGroup", Key::cluster(group.as_str())),
            None => ObjectName::new("Node", node.meta.key()),
        };
        let one = found.entry((object, why.clone())).or_default();
        one.nodes.push(node);
        (one.why, one.certain) = (why, certain);
    }
    let of_nodes = found.into_iter().map(|((object, _), one)| {
        let reason = format!(
            "{} {} {}",
            counted(one.nodes.len(), "node"),
            if one.certain { "with" } else { "perhaps with" },
            one.why
        );
        let severity = if one.certain { Severity::Warning } else { Severity::Info };
        finding(object, severity, reason, way_back(survey, one.nodes[0], &all, bad))
    });
    of_nodes.chain(targets(survey, bad)).collect()
}

fn finding(object: ObjectName, severity: Severity, reason: String, remedy: String) -> Finding {
    Finding { rule: Rule::ImageRelease, severity, object, reason, remedy: remedy.into() }
}

/// What speaks against a node's image, and whether that is sure.
fn judge(node: &Node, fitting: &[&Release], bad: &[BadImage]) -> Option<(String, bool)> {
    if let Some(one) = bad.iter().find(|one| one.which.is_of(node)) {
        return Some((format!("image {}, which is on the list: {}", one.which, one.reason), true));
    }
    let listed = |release: &&&Release| bad.iter().any(|one| one.which.is(release));
    let versions: Vec<&str> = fitting.iter().map(|release| release.version).collect();
    let first = fitting.iter().find(listed);
    if let Some(one) = first.and_then(|release| bad.iter().find(|one| one.which.is(release))) {
        let certain = fitting.iter().all(|release| listed(&release));
        let of = versions.join(" or ");
        return Some((
            format!(
                "release {of} (by kubelet, system and kernel); {} is on the list: {}",
                one.which, one.reason
            ),
            certain,
        ));
    }
    let is_abandoned = !fitting.is_empty() && fitting.iter().all(|release| release.abandoned);
    is_abandoned
        .then(|| (format!("release {}, which was abandoned for the next one", versions.join(" or ")), true))
}

/// What the plan would launch.
fn targets(survey: &Survey<'_>, bad: &[BadImage]) -> Vec<Finding> {
    let Some(image) = survey.plan.and_then(|plan| plan.target.image.as_ref()) else { return Vec::new() };
    let is_it = |one: &&BadImage| matches!(&one.which, Which::Image(id) if **id == **image);
    let Some(one) = bad.iter().find(is_it) else { return Vec::new() };
    let groups = survey.groups_renewed().into_iter();
    groups
        .map(|group| {
            finding(
                ObjectName::new("NodeGroup", Key::cluster(group.name.as_str())),
                Severity::Blocking,
                format!("the plan gives it image {image}, which is on the list: {}", one.reason),
                "choose another image in the plan: target: {image: AMI}".to_owned(),
            )
        })
        .collect()
}

/// The image before, the newest one, and how to get there.
fn way_back(survey: &Survey<'_>, node: &Node, all: &[Release], bad: &[BadImage]) -> String {
    let is_good = |release: &Release| !release.abandoned && !bad.iter().any(|one| one.which.is(release));
    let kubelet = node.status.node_info.kubelet_version.trim_start_matches('v');
    let minor: String = kubelet.split('.').take(2).collect::<Vec<_>>().join(".");
    let of_minor: Vec<&Release> = all.iter().filter(|one| one.minor() == minor).collect();
    let own = all.iter().filter(|release| release.fits(node)).map(Release::day).min();
    let before = own.and_then(|own| of_minor.iter().find(|one| one.day() < own && is_good(one)));
    let newest = of_minor.iter().find(|one| own.is_none_or(|own| one.day() > own) && is_good(one));
    let mut lines = Vec::new();
    if let Some(running) = running(survey, &of_minor, &is_good) {
        lines.push(running);
    }
    if let Some(before) = before {
        lines.push(format!("back: {}, the release before", told(before)));
    }
    if let Some(newest) = newest {
        lines.push(format!("forward: {}, the newest of {minor} known on {IMAGES_DATE}", told(newest)));
    }
    let Some(choice) = before.or(newest) else {
        return format!(
            "no release of {minor} is known that would do; look for one: aws ec2 describe-images --owners amazon --filters \
             'Name=name,Values=amazon-eks-node-al2023-x86_64-standard-{minor}-v*' --query 'Images[].[Name,ImageId]' --output text"
        );
    };
    let group: Option<GroupName> = survey.group_of(node);
    let is_managed = node.meta.labels.contains_key(LABEL_EKS_NODEGROUP)
        || group
            .and_then(|group| survey.groups.get(&group))
            .is_some_and(|group| group.kind != GroupKind::SelfManaged);
    if is_managed {
        lines.push(format!(
            "EKS takes no node group back to an earlier image: create one with --release-version {}, and move into it: target: {{group: NAME}}",
            choice.version
        ));
    }
    lines.push(format!(
        "aws ec2 describe-images --owners amazon --filters 'Name=name,Values=amazon-eks-node-al2023-x86_64-standard-{}-v{}' --query 'Images[].ImageId' --output text",
        choice.minor(),
        choice.day()
    ));
    lines.join("\n")
}

fn told(release: &Release) -> String {
    format!("{} (Amazon Linux {}, containerd {})", release.version, release.system, release.containerd)
}

/// The release that most Ready nodes of the cluster run and that nothing speaks against.
fn running(survey: &Survey<'_>, of_minor: &[&Release], is_good: &dyn Fn(&Release) -> bool) -> Option<String> {
    let nodes: Vec<&Node> =
        survey.view.nodes.unordered().map(|(_, node)| &**node).filter(|node| node.is_ready()).collect();
    let counts: BTreeSet<(usize, &str)> = of_minor
        .iter()
        .filter(|release| is_good(release))
        .map(|release| (nodes.iter().filter(|node| release.fits(node)).count(), release.version))
        .filter(|(count, _)| *count > 0)
        .collect();
    let (count, version) = counts.last()?;
    Some(format!("{} of this cluster, Ready, with {version}", counted(*count, "node")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{merge, node, options, view};
    use super::*;
    use replank_facts::images::read;
    use replank_facts::plan::{Plan, Target};

    /// Node of a release of 1.35.
    fn of(name: &str, kubelet: &str, system: &str, kernel: &str) -> Value {
        let mut node = node(name, "a");
        merge(
            &mut node,
            json!({"metadata": {"labels": {"eks.amazonaws.com/nodegroup-image": "ami-1"}},
                "status": {"nodeInfo": {"kubeletVersion": kubelet, "osImage": format!("Amazon Linux {system}"), "kernelVersion": format!("{kernel}.amzn2023.x86_64")}}}),
        );
        node
    }

    fn july(name: &str) -> Value {
        of(name, "v1.35.6-eks-1", "2023.12.20260710", "6.12.94-123.180")
    }

    fn june(name: &str) -> Value {
        of(name, "v1.35.6-eks-1", "2023.12.20260622", "6.12.92-122.166")
    }

    fn found(list: &str, plan: Option<&Plan>, nodes: Vec<Value>) -> Vec<Finding> {
        super::super::super::image_releases(&view(nodes), plan, &options(), &read(list).expect("a list"))
    }

    #[test]
    fn nodes_of_a_listed_release_are_found_with_the_release_before() {
        let found = found("1.35.6-20260714 pods hang", None, vec![july("n"), june("m")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].to_string(),
            "warning image-release NodeGroup web: 1 node with release 1.35.6-20260714 (by kubelet, system and kernel); 1.35.6-20260714 is on the list: pods hang"
        );
        let remedy = found[0].remedy.text();
        assert!(remedy.starts_with("1 node of this cluster, Ready, with 1.35.6-20260625\nback: 1.35.6-20260625 (Amazon Linux 2023.12.20260622, containerd 2.2.4)"), "{remedy}");
        assert!(remedy.contains("create one with --release-version 1.35.6-20260625"), "{remedy}");
        assert!(
            remedy.ends_with("standard-1.35-v20260625' --query 'Images[].ImageId' --output text"),
            "{remedy}"
        );
    }

    #[test]
    fn a_release_that_is_not_listed_is_not_found() {
        assert!(found("1.34.9-20260714 pods hang", None, vec![july("n")]).is_empty());
        assert!(found("v20260101 slow", None, vec![july("n")]).is_empty());
        assert!(found("", None, vec![july("n")]).is_empty());
    }

    #[test]
    fn the_way_back_leads_past_releases_that_are_listed_or_abandoned() {
        let back = |list: &str, node: Value| found(list, None, vec![node]).remove(0).remedy.text();
        let two = back("v20260714 a\nv20260625 b", july("n"));
        assert!(two.contains("back: 1.35.6-20260618") || two.contains("back: 1.35.5-20260618"), "{two}");
        let march = of("n", "v1.35.2-eks-1", "2023.10.20260302", "6.12.73-95.123");
        let march = found("v20260318 bad", None, vec![march]);
        assert!(march.iter().all(|one| !one.remedy.text().contains("back: 1.35.2-20260311")), "{march:?}");
    }

    #[test]
    fn an_image_is_found_by_its_id_and_stops_a_plan_that_wants_it() {
        let by_id = found("ami-1 no certificate", None, vec![july("n")]);
        assert!(
            by_id[0].to_string().contains("1 node with image ami-1, which is on the list: no certificate")
        );
        let plan = |image: &str| {
            let target = Target { image: Some(image.into()), ..Target::default() };
            Plan::of_groups("p", vec!["web".into()], target)
        };
        let wanted = found("ami-2 no certificate", Some(&plan("ami-2")), vec![july("n")]);
        assert_eq!(
            wanted[0].to_string(),
            "blocking image-release NodeGroup web: the plan gives it image ami-2, which is on the list: no certificate"
        );
        assert!(found("ami-2 no certificate", Some(&plan("ami-3")), vec![july("n")]).is_empty());
    }
}
