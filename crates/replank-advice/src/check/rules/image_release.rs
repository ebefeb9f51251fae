//! Nodes that run an image which is on somebody's list, or a release that was abandoned; and which image to go back to.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::images::{BadImage, Release, Releases, Which};
use replank_facts::plan::Target;
use replank_facts::release::ReleaseVersion;
use replank_model::object::cloud::{GroupKind, NodeGroup};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_EKS_NODEGROUP, Node};
use replank_model::text::GroupName;

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted};
use super::super::survey::Survey;

const CHOOSE_RELEASE: &str = "choose another release in the plan: target: {releaseVersion: RELEASE}";

/// Nodes of one group, or one node of none, that have the same image.
#[derive(Default)]
struct Found<'a> {
    nodes: Vec<&'a Node>,
    why: String,
    /// Whether the list is sure to mean it.
    certain: bool,
}

/// What is known of images, and which must not be used.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// Releases there are.
    pub releases: &'a Releases,
    /// Somebody's list; with one, releases that were abandoned are found as well.
    pub bad: Option<&'a [BadImage]>,
}

/// Nodes with what is on the list or on the plan's own, and what is wrong with the image that the plan names. What is on both lists is found once, with the reason of the first.
pub(in super::super) fn find(survey: &Survey<'_>, images: &Images<'_>) -> Vec<Finding> {
    let reason = "target.badReleases of the plan".to_owned();
    let of_plan = survey.plan.map_or(&[][..], |plan| &plan.target.bad_releases);
    let of_plan = of_plan.iter().map(|which| BadImage { which: which.clone(), reason: reason.clone() });
    let bad: Vec<BadImage> = images.bad.unwrap_or_default().iter().cloned().chain(of_plan).collect();
    let judge = |node: &Node, fitting: &[&Release]| {
        listed(node, fitting, &bad).or_else(|| images.bad.and_then(|_| abandoned(fitting)))
    };
    // A plan that replaces all of them by a release that nothing speaks against is what would be advised.
    let is_asked = (images.bad.is_some() || !bad.is_empty()) && !leads_away(survey, images.releases, &bad);
    let mut all = if is_asked { of_nodes(survey, images.releases, &bad, &judge) } else { Vec::new() };
    all.extend(targets(survey, images.bad.unwrap_or_default()));
    if let Some(release) = survey.plan.and_then(|plan| plan.target.release_version.as_ref()) {
        all.extend(doubted(survey, images.releases, release));
    }
    all
}

/// What a plan says itself: nodes of its own list, and the release that it names.
pub(super) fn planned(survey: &Survey<'_>) -> Vec<Finding> {
    match survey.plan {
        Some(_) => find(survey, &Images { releases: &Releases::embedded(), bad: None }),
        None => Vec::new(),
    }
}

/// Whether the plan names the image or the release of its new nodes, and that is known to be neither listed nor abandoned. Nodes that have it already are not replaced.
fn leads_away(survey: &Survey<'_>, releases: &Releases, bad: &[BadImage]) -> bool {
    let Some(target) = survey.plan.map(|plan| &plan.target) else { return false };
    let is_clear = |one: &BadImage| !is_wanted(one, target);
    match (&target.release_version, &target.image) {
        (Some(release), _) => {
            let version = release.to_string();
            let is_abandoned = releases.rows().iter().any(|one| one.abandoned && one.version == version);
            !is_abandoned && bad.iter().all(is_clear)
        }
        // Of which release an image is, its id does not say.
        (None, Some(_)) => bad.iter().all(|one| matches!(one.which, Which::Image(_)) && is_clear(one)),
        (None, None) => false,
    }
}

/// Whether an entry of a list means what the plan names.
fn is_wanted(one: &BadImage, target: &Target) -> bool {
    match (&one.which, &target.image, &target.release_version) {
        (Which::Image(id), Some(image), _) => **id == **image,
        (which, _, Some(release)) => which.is_release(release),
        (Which::Image(_) | Which::Release(_) | Which::Day(_), _, _) => false,
    }
}

/// What is said of a node with the releases that it fits, and whether that is sure.
type Judge<'j> = &'j dyn Fn(&Node, &[&Release]) -> Option<(String, bool)>;

fn of_nodes(survey: &Survey<'_>, releases: &Releases, bad: &[BadImage], judge: Judge<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<(ObjectName, String), Found<'_>> = BTreeMap::new();
    for node in survey.node_objects() {
        let fitting: Vec<&Release> = releases.rows().iter().filter(|release| release.fits(node)).collect();
        let Some((why, certain)) = judge(node, &fitting) else { continue };
        let object = match survey.group_of(node) {
            Some(group) => ObjectName::new("NodeGroup", Key::cluster(group.as_str())),
            None => ObjectName::new("Node", node.meta.key()),
        };
        let one = found.entry((object, why.clone())).or_default();
        one.nodes.push(node);
        (one.why, one.certain) = (why, certain);
    }
    let found = found.into_iter().map(|((object, _), one)| {
        let reason = format!(
            "{} {} {}",
            counted(one.nodes.len(), "node"),
            if one.certain { "with" } else { "perhaps with" },
            one.why
        );
        let severity = if one.certain { Severity::Warning } else { Severity::Info };
        finding(object, severity, reason, way_back(survey, one.nodes[0], releases, bad))
    });
    found.collect()
}

fn finding(object: ObjectName, severity: Severity, reason: String, remedy: String) -> Finding {
    Finding { rule: Rule::ImageRelease, severity, object, reason, remedy: remedy.into() }
}

/// Whether a node's image is on the list, and whether that is sure.
fn listed(node: &Node, fitting: &[&Release], bad: &[BadImage]) -> Option<(String, bool)> {
    if let Some(one) = bad.iter().find(|one| one.which.is_of(node)) {
        return Some((format!("image {}, which is on the list: {}", one.which, one.reason), true));
    }
    let is_listed = |release: &&&Release| bad.iter().any(|one| one.which.is(release));
    let versions: Vec<&str> = fitting.iter().map(|release| &*release.version).collect();
    let first = fitting.iter().find(is_listed)?;
    let one = bad.iter().find(|one| one.which.is(first))?;
    let certain = fitting.iter().all(|release| is_listed(&release));
    let of = versions.join(" or ");
    Some((
        format!("release {of} (by kubelet, system and kernel); {} is on the list: {}", one.which, one.reason),
        certain,
    ))
}

/// Whether a node's release was abandoned.
fn abandoned(fitting: &[&Release]) -> Option<(String, bool)> {
    let versions: Vec<&str> = fitting.iter().map(|release| &*release.version).collect();
    let is_abandoned = !fitting.is_empty() && fitting.iter().all(|release| release.abandoned);
    is_abandoned
        .then(|| (format!("release {}, which was abandoned for the next one", versions.join(" or ")), true))
}

/// What the plan would launch.
fn targets(survey: &Survey<'_>, bad: &[BadImage]) -> Vec<Finding> {
    let Some(target) = survey.plan.map(|plan| &plan.target) else { return Vec::new() };
    let Some(one) = bad.iter().find(|one| is_wanted(one, target)) else { return Vec::new() };
    let (given, other) = match (&target.release_version, &target.image) {
        (Some(release), _) => (format!("release {release}"), CHOOSE_RELEASE),
        (None, image) => (
            format!("image {}", image.clone().unwrap_or_default()),
            "choose another image in the plan: target: {image: AMI}",
        ),
    };
    let given = format!("the plan gives it {given}, which is on the list: {}", one.reason);
    renewed(survey, Severity::Blocking, &given, other)
}

/// The same of every group that gets another image.
fn renewed(survey: &Survey<'_>, severity: Severity, reason: &str, remedy: &str) -> Vec<Finding> {
    let groups = survey.groups_renewed().into_iter();
    let object = |group: &NodeGroup| ObjectName::new("NodeGroup", Key::cluster(group.name.as_str()));
    groups.map(|group| finding(object(group), severity, reason.to_owned(), remedy.to_owned())).collect()
}

/// A release that EKS has abandoned, or that is not among those that are known of its time. What came after the table is not known.
fn doubted(survey: &Survey<'_>, releases: &Releases, wanted: &ReleaseVersion) -> Vec<Finding> {
    let all = releases.rows();
    let date = releases.date();
    let of_minor: Vec<&Release> = all.iter().filter(|one| one.minor() == wanted.minor()).collect();
    let known = of_minor.iter().find(|one| one.version == wanted.to_string());
    let latest = date.replace('-', "");
    let earliest = all.last().map_or("", Release::day);
    let reason = match known {
        Some(one) if one.abandoned => {
            format!("the plan gives it release {wanted}, which was abandoned for the next one")
        }
        Some(_) => return Vec::new(),
        None if of_minor.is_empty() || wanted.day() > &*latest || wanted.day() < earliest => {
            return Vec::new();
        }
        None => format!(
            "the plan gives it release {wanted}, which is not among the releases of {} known on {date}: EKS may refuse it",
            wanted.minor()
        ),
    };
    let is_good = |one: &&&Release| !one.abandoned;
    let same = of_minor.iter().find(|one| one.day() == wanted.day() && is_good(one));
    let next = of_minor.iter().rfind(|one| one.day() > wanted.day() && is_good(one));
    let before = of_minor.iter().find(|one| one.day() < wanted.day() && is_good(one));
    let choices: Vec<String> = [same, before, next]
        .into_iter()
        .flatten()
        .map(|one| format!("target: {{releaseVersion: \"{}\"}}", one.version))
        .collect();
    let remedy = match choices.as_slice() {
        [] => CHOOSE_RELEASE.to_owned(),
        [one] => format!("in the plan:\n{one}"),
        several => format!("in the plan, either:\n{}", several.join("\nor:\n")),
    };
    renewed(survey, Severity::Warning, &reason, &remedy)
}

/// The image before, the newest one, and how to get there. Where the plan leads to a later release, a later one is what it can take.
fn way_back(survey: &Survey<'_>, node: &Node, releases: &Releases, bad: &[BadImage]) -> String {
    let (all, date) = (releases.rows(), releases.date());
    let is_good = |release: &Release| !release.abandoned && !bad.iter().any(|one| one.which.is(release));
    let kubelet = node.status.node_info.kubelet_version.trim_start_matches('v');
    let minor: String = kubelet.split('.').take(2).collect::<Vec<_>>().join(".");
    let of_minor: Vec<&Release> = all.iter().filter(|one| one.minor() == minor).collect();
    let own = all.iter().filter(|release| release.fits(node)).map(Release::day).min();
    let before = own.and_then(|own| of_minor.iter().find(|one| one.day() < own && is_good(one)));
    let newest = of_minor.iter().find(|one| own.is_none_or(|own| one.day() > own) && is_good(one));
    let arch = if &*node.status.node_info.architecture == "arm64" { "arm64" } else { "x86_64" };
    let mut lines = Vec::new();
    if let Some(running) = running(survey, &of_minor, &is_good) {
        lines.push(running);
    }
    let goes_on = own.is_some_and(|own| goes_on(survey, &minor, own));
    if goes_on && newest.is_none() {
        lines.push(format!(
            "forward: no good later release of {minor} is known as of {date}; add newer ones with replank check --image-releases FILE"
        ));
    }
    if let Some(before) = before.filter(|_| !goes_on || newest.is_none()) {
        lines.push(format!("back: {}, the release before", told(before)));
    }
    if let Some(newest) = newest {
        lines.push(format!("forward: {}, the newest of {minor} known on {date}", told(newest)));
    }
    let choice = if goes_on { newest.or(before) } else { before.or(newest) };
    let Some(choice) = choice else {
        return format!(
            "no release of {minor} is known that would do; look for one: aws ec2 describe-images --owners amazon --filters \
             'Name=name,Values=amazon-eks-node-al2023-{arch}-standard-{minor}-v*' --query 'Images[].[Name,ImageId]' --output text"
        );
    };
    let group: Option<GroupName> = survey.group_of(node);
    let is_managed = node.meta.labels.contains_key(LABEL_EKS_NODEGROUP)
        || group
            .and_then(|group| survey.groups.get(&group))
            .is_some_and(|group| group.kind != GroupKind::SelfManaged);
    let is_later = own.is_some_and(|own| choice.day() > own);
    if is_managed && is_later {
        lines.push(format!("in the plan:\ntarget: {{releaseVersion: \"{}\"}}", choice.version));
        return lines.join("\n");
    }
    if is_managed {
        lines.push(format!(
            "EKS takes no node group back to an earlier image: move into another one that has it: target: {{group: NAME, releaseVersion: \"{}\"}}; replank roll --make-group makes it",
            choice.version
        ));
    }
    lines.push(format!(
        "aws ec2 describe-images --owners amazon --filters 'Name=name,Values=amazon-eks-node-al2023-{arch}-standard-{}-v{}' --query 'Images[].ImageId' --output text",
        choice.minor(),
        choice.day()
    ));
    lines.join("\n")
}

/// Whether the plan gives the groups of nodes with a release of this minor version and day a later one of the same version, in their place.
fn goes_on(survey: &Survey<'_>, minor: &str, own: &str) -> bool {
    let target = survey.plan.map(|plan| &plan.target).filter(|target| target.group.is_none());
    let wanted = target.and_then(|target| target.release_version.as_ref());
    wanted.is_some_and(|wanted| wanted.minor() == minor && wanted.day() > own)
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
        .map(|release| (nodes.iter().filter(|node| release.fits(node)).count(), &*release.version))
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
    use replank_facts::plan::Plan;
    use replank_facts::remedy::{Sort, blocks};

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
        let (releases, bad) = (Releases::embedded(), read(list).expect("a list"));
        let images = Images { releases: &releases, bad: Some(&bad) };
        super::super::super::image_releases(&view(nodes), plan, &options(), &images)
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
        assert!(remedy.contains("target: {group: NAME, releaseVersion: \"1.35.6-20260625\"}; replank roll --make-group makes it"), "{remedy}");
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
    fn a_plan_that_goes_on_is_told_of_a_later_release() {
        let remedy = |list: &str, plan: &Plan, node: Value| {
            let found = found(list, Some(plan), vec![node]);
            found.iter().find(|one| one.severity == Severity::Warning).expect("the node's").remedy.text()
        };
        let middle = of("n", "v1.35.6-eks-1", "2023.12.20260611", "6.12.90-120.164");
        let (day, plan) = ("v20260618 a\nv20260714 b", releasing("1.35.6-20260714", &[]));
        let on = remedy(day, &plan, middle.clone());
        assert!(on.ends_with("in the plan:\ntarget: {releaseVersion: \"1.35.6-20260625\"}"), "{on}");
        assert!(!on.contains("back: ") && !on.contains("EKS takes no"), "{on}");
        // There is none: what is left is a way back, by another group.
        let back = remedy("v20260625 a\nv20260714 b", &plan, june("n"));
        assert!(back.contains("forward: no good later release of 1.35 is known as of"), "{back}");
        assert!(back.contains("back: 1.35.6-20260618") && back.contains("EKS takes no"), "{back}");
        // A plan that leads elsewhere leaves both ways open.
        let both = remedy(day, &forbidding(&[]), middle);
        assert!(both.contains("back: ") && both.contains("forward: 1.35.6-20260625"), "{both}");
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

    fn releasing(version: &str, bad: &[&str]) -> Plan {
        let target = Target {
            release_version: version.parse().ok(),
            bad_releases: bad.iter().filter_map(|word| word.parse().ok()).collect(),
            ..Target::default()
        };
        Plan::of_groups("p", vec!["web".into()], target)
    }

    fn planned_of(plan: &Plan, nodes: Vec<Value>) -> Vec<Finding> {
        let all = super::super::super::run(&view(nodes), Some(plan), &options());
        all.into_iter().filter(|one| one.rule == Rule::ImageRelease).collect()
    }

    #[test]
    fn a_release_of_the_list_stops_a_plan_that_wants_it() {
        let plan = releasing("1.35.6-20260714", &[]);
        let wanted = found("v20260714 pods hang", Some(&plan), vec![june("n")]);
        assert_eq!(
            wanted[0].to_string(),
            "blocking image-release NodeGroup web: the plan gives it release 1.35.6-20260714, which is on the list: pods hang"
        );
        assert!(found("1.34.9-20260714 pods hang", Some(&plan), vec![june("n")]).is_empty());
    }

    #[test]
    fn a_release_that_is_not_known_of_its_time_or_was_abandoned_is_doubted() {
        let told = |version: &str| -> Vec<String> {
            planned_of(&releasing(version, &[]), vec![june("n")]).iter().map(ToString::to_string).collect()
        };
        let unknown = planned_of(&releasing("1.36.1-20260612", &[]), vec![june("n")]);
        assert_eq!(
            unknown[0].to_string(),
            "warning image-release NodeGroup web: the plan gives it release 1.36.1-20260612, which is not among the releases of 1.36 known on 2026-07-21: EKS may refuse it"
        );
        assert_eq!(
            unknown[0].remedy.text(),
            "in the plan, either:\ntarget: {releaseVersion: \"1.36.1-20260610\"}\nor:\ntarget: {releaseVersion: \"1.36.2-20260618\"}"
        );
        let sorts: Vec<Sort> = blocks(&unknown[0].remedy.text()).iter().map(|block| block.sort).collect();
        assert_eq!(sorts, [Sort::Lead, Sort::Yaml, Sort::Lead, Sort::Yaml], "each can be copied");
        assert_eq!(
            told("1.35.2-20260311"),
            [
                "warning image-release NodeGroup web: the plan gives it release 1.35.2-20260311, which was abandoned for the next one"
            ]
        );
        for version in ["1.36.2-20260714", "1.36.4-20261120", "1.37.0-20260714", "1.35.0-20241231"] {
            assert!(told(version).is_empty(), "{version}: known, or beyond the table");
        }
    }

    /// A plan whose new nodes are like the old ones, or as EKS has them by then.
    fn forbidding(bad: &[&str]) -> Plan {
        releasing("none", bad)
    }

    #[test]
    fn what_is_on_both_lists_is_found_once() {
        let plan = forbidding(&["1.35.6-20260714"]);
        let both = found("1.35.6-20260714 pods hang", Some(&plan), vec![july("n")]);
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].reason.ends_with("is on the list: pods hang"), "{both:?}");
        // What stands on one of them only is found as well.
        let each = found("1.35.6-20260625 slow", Some(&plan), vec![july("n"), june("m")]);
        assert_eq!(each.len(), 2, "{each:?}");
    }

    #[test]
    fn a_plan_that_leaves_what_is_listed_for_something_else_is_the_remedy() {
        let of_list = |list: &str, plan: &Plan| found(list, Some(plan), vec![june("n")]).len();
        assert_eq!(of_list("1.35.6-20260625 slow", &releasing("1.35.6-20260714", &[])), 0);
        assert_eq!(planned_of(&releasing("1.35.6-20260714", &["1.35.6-20260625"]), vec![june("n")]), []);
        // It stays bad where the new nodes may have it again, or something else that is bad.
        assert_eq!(of_list("1.35.6-20260625 slow", &forbidding(&[])), 1, "identical nodes");
        assert_eq!(of_list("1.35.6-20260625 slow\nv20260714 slow", &releasing("1.35.6-20260714", &[])), 2);
        assert_eq!(of_list("1.35.6-20260625 slow", &releasing("1.35.2-20260311", &[])), 2, "abandoned");
        let by_id = |image: &str| {
            Plan::of_groups(
                "p",
                vec!["web".into()],
                Target { image: Some(image.into()), ..Target::default() },
            )
        };
        assert_eq!(
            of_list("1.35.6-20260625 slow", &by_id("ami-3")),
            1,
            "of which release it is, nobody says"
        );
        assert_eq!(of_list("ami-1 slow", &by_id("ami-3")), 0);
    }

    #[test]
    fn a_newer_table_knows_newer_releases() {
        let mut releases = Releases::embedded();
        releases
            .overlay(r#"[{"releaseVersion": "1.35.9-20261101", "amazonLinux": "2023.14.20261020", "kernel": "6.18.1", "containerd": "2.2.9"}]"#)
            .expect("it is of the form");
        let autumn = of("n", "v1.35.9-eks-1", "2023.14.20261020", "6.18.1");
        let bad = read("v20261101 pods hang").expect("a list");
        let with = |releases: &Releases| {
            let images = Images { releases, bad: Some(&bad) };
            super::super::super::image_releases(&view(vec![autumn.clone()]), None, &options(), &images)
        };
        assert!(with(&Releases::embedded()).is_empty(), "the built-in table does not know it");
        let found = with(&releases);
        assert!(found[0].reason.contains("with release 1.35.9-20261101"), "{found:?}");
        assert!(found[0].remedy.text().contains("back: 1.35.6-20260714"), "{found:?}");
    }

    #[test]
    fn nodes_of_the_list_of_a_plan_are_found_with_the_release_to_go_back_to() {
        let found = planned_of(&forbidding(&["1.35.6-20260714"]), vec![july("n"), june("m")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].to_string().ends_with("1.35.6-20260714 is on the list: target.badReleases of the plan"),
            "{found:?}"
        );
        assert!(found[0].remedy.text().contains("back: 1.35.6-20260625"), "{found:?}");
        assert!(planned_of(&forbidding(&["1.35.6-20260618"]), vec![july("n"), june("m")]).is_empty());
        // Without a list nobody is told of what was abandoned.
        let march = of("n", "v1.35.2-eks-1", "2023.10.20260302", "6.12.73-95.123");
        assert!(planned_of(&forbidding(&[]), vec![march]).is_empty());
    }
}
