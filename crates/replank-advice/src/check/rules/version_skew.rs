//! Versions that do not go together: the kubelets that come, the control plane, and the nodes that stay.
//!
//! A kubelet is never newer than the API server, and at most three minor versions older (Kubernetes, "Version Skew Policy"). What the
//! control plane is at, a snapshot of EKS does not say; its kubelets tell the least that it can be.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::GroupName;
use replank_model::version::Version;
use replank_model::view::View;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::cluster_name::cluster_name;
use replank_facts::finding::counted;
use replank_facts::remedy::{Edit, Remedy};

/// How many minor versions a kubelet may be behind: two before 1.25, three since.
fn behind_max(kubelet: u64) -> u64 {
    if kubelet < 25 { 2 } else { 3 }
}

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let wanted = survey.plan.and_then(|plan| plan.target.version());
    let wanted = wanted.and_then(|version| minor(&version.to_string()));
    let Some(newest) = survey.view.nodes.unordered().filter_map(|(_, node)| of(node)).max() else {
        return Vec::new();
    };
    let control_plane = match control_plane(survey.view) {
        Some(minor) => ControlPlane::Is(minor),
        None => ControlPlane::AtLeast(newest),
    };
    let mut findings = Vec::new();
    for group in survey.groups_renewed() {
        let Some(wanted) = wanted else { break };
        let object = ObjectName::new("NodeGroup", Key::cluster(group.name.as_str()));
        let old = minor(&group.profile().kubelet_version);
        findings.extend(of_new_nodes(survey, object, wanted, old, control_plane));
    }
    findings.extend(staying(survey, wanted, control_plane));
    findings
}

/// What is known of the control plane.
#[derive(Clone, Copy)]
enum ControlPlane {
    Is(u64),
    AtLeast(u64),
}

fn of_new_nodes(
    survey: &Survey<'_>,
    object: ObjectName,
    wanted: u64,
    old: Option<u64>,
    control_plane: ControlPlane,
) -> Option<Finding> {
    let (ControlPlane::Is(known) | ControlPlane::AtLeast(known)) = control_plane;
    let exact = match control_plane {
        ControlPlane::Is(minor) => format!("the control plane is at 1.{minor}"),
        ControlPlane::AtLeast(minor) => format!("the newest kubelet of the snapshot is at 1.{minor}"),
    };
    let steps = counted(usize::try_from(wanted.saturating_sub(known)).unwrap_or(usize::MAX), "minor version");
    let first = format!(
        "upgrade the control plane to 1.{} first, one minor version at a time, before the nodes (replank upgrade plan)",
        known + 1
    );
    let (severity, reason, remedy) = match control_plane {
        ControlPlane::Is(minor) if wanted > minor => (
            Severity::Blocking,
            format!("new nodes of 1.{wanted} would be newer than the API server: {exact}"),
            Remedy::look(first),
        ),
        // Nodes may be left behind on purpose, and skip as many. With more than that, whatever the control plane is at, the new nodes are newer than it, or those that there are too old.
        ControlPlane::AtLeast(minor) if wanted > minor + behind_max(minor) => (
            Severity::Blocking,
            format!("{exact}, {steps} less than 1.{wanted}: no control plane supports both"),
            Remedy::look(match cluster_name(survey.view) {
                Some(name) => {
                    format!("aws eks describe-cluster --name {name} --query cluster.version\n{first}")
                }
                None => first,
            }),
        ),
        ControlPlane::Is(_) | ControlPlane::AtLeast(_) if known > wanted + behind_max(wanted) => (
            Severity::Blocking,
            format!(
                "new nodes of 1.{wanted} would be more than {} minor versions behind: {exact}",
                behind_max(wanted)
            ),
            Remedy::edit(Edit::plan(
                "target.kubernetesVersion",
                format!("1.{}", known.saturating_sub(behind_max(known))),
            )),
        ),
        ControlPlane::Is(_) | ControlPlane::AtLeast(_) if old.is_some_and(|old| wanted < old) => (
            Severity::Warning,
            format!("rolls back from 1.{} to 1.{wanted}", old.unwrap_or_default()),
            "check that this is intended: pods that need the newer version do not run".into(),
        ),
        ControlPlane::Is(_) | ControlPlane::AtLeast(_) => return None,
    };
    Some(Finding { rule: Rule::VersionSkew, severity, object, reason, remedy })
}

/// Groups that keep a version that is too old for the control plane, now or once it is at the new version.
fn staying(survey: &Survey<'_>, wanted: Option<u64>, control_plane: ControlPlane) -> Vec<Finding> {
    let (ControlPlane::Is(known) | ControlPlane::AtLeast(known)) = control_plane;
    let server = wanted.map_or(known, |wanted| wanted.max(known));
    let mut groups: BTreeMap<(Option<GroupName>, u64), usize> = BTreeMap::new();
    for (_, node) in survey.view.nodes.unordered() {
        // Without a version in the plan, new nodes are as old as those that they replace.
        if wanted.is_some() && survey.nodes.contains(&node.name()) {
            continue;
        }
        if let Some(minor) = of(node).filter(|minor| minor + behind_max(*minor) < server) {
            *groups.entry((survey.group_of(node), minor)).or_default() += 1;
        }
    }
    let why = match (control_plane, wanted) {
        (ControlPlane::Is(_) | ControlPlane::AtLeast(_), Some(wanted)) if wanted >= known => {
            format!("the control plane of 1.{server} that the new nodes need")
        }
        (ControlPlane::Is(_), Some(_) | None) => format!("the control plane of 1.{server}"),
        (ControlPlane::AtLeast(_), Some(_) | None) => {
            format!("the control plane, which is at 1.{server} at least, as the newest kubelet is")
        }
    };
    let findings = groups.into_iter().map(|((group, minor), count)| {
        let verb = if count == 1 { "stays" } else { "stay" };
        let allowed = behind_max(minor);
        Finding {
            rule: Rule::VersionSkew,
            severity: Severity::Warning,
            object: ObjectName::new(
                "NodeGroup",
                Key::cluster(group.as_ref().map_or("none", |group| group.as_str())),
            ),
            reason: format!(
                "{} of 1.{minor} {verb}: more than {allowed} minor versions behind {why}",
                counted(count, "node")
            ),
            remedy: format!("roll them first, to 1.{} or later", server - behind_max(server)).into(),
        }
    });
    findings.collect()
}

fn of(node: &Node) -> Option<u64> {
    minor(&node.status.node_info.kubelet_version)
}

fn minor(text: &str) -> Option<u64> {
    Version::parse_generic(text).ok().filter(|version| version.major() == 1).map(|version| version.minor())
}

/// The oldest API server, where they run as pods (kubeadm's label `component`).
fn control_plane(view: &View) -> Option<u64> {
    let pods = view.pods.unordered().map(|(_, pod)| pod);
    let servers = pods.filter(|pod| pod.meta.labels.value("component") == Some("kube-apiserver"));
    let images = servers.flat_map(|pod| {
        pod.spec.containers.iter().map(|container| container.image.clone()).collect::<Vec<_>>()
    });
    images.filter_map(|image| minor(image.rsplit_once(':')?.1)).min()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found_under, node, pod};
    use super::*;
    use replank_facts::plan::Plan;

    fn at(name: &str, group: &str, version: &str) -> Value {
        let mut node = node(name, "a");
        node["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!(group);
        node["status"]["nodeInfo"]["kubeletVersion"] = json!(version);
        node
    }

    fn to(version: &str, nodes: Vec<Value>) -> Vec<String> {
        let set = |plan: &mut Plan| plan.target.kubernetes_version = version.parse().ok();
        found_under(Rule::VersionSkew, set, nodes)
    }

    #[test]
    fn a_version_too_far_from_every_node_asks_for_the_control_plane_first() {
        assert_eq!(
            to("1.38", vec![at("n", "web", "v1.34.2-eks-113cf36")]),
            [
                "blocking version-skew NodeGroup web: the newest kubelet of the snapshot is at 1.34, 4 minor versions less than 1.38: no control plane supports both"
            ]
        );
        assert_eq!(
            to("1.37", vec![at("n", "web", "v1.34.2")]),
            [""; 0],
            "nodes may skip as many versions as they may be behind"
        );
        assert_eq!(to("1.34", vec![at("n", "web", "v1.34.2")]), [""; 0]);
    }

    #[test]
    fn where_the_control_plane_is_known_a_newer_kubelet_blocks() {
        let server = json!({"metadata": {"labels": {"component": "kube-apiserver"}}, "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/kube-apiserver:v1.35.1"}]}});
        let with = |version: &str| {
            to(version, vec![at("n", "web", "v1.34.2"), pod("api", "n", None, server.clone())])
        };
        assert_eq!(
            with("1.36"),
            [
                "blocking version-skew NodeGroup web: new nodes of 1.36 would be newer than the API server: the control plane is at 1.35"
            ]
        );
        assert_eq!(with("1.35"), [""; 0]);
    }

    #[test]
    fn too_far_behind_blocks_and_going_back_is_told() {
        let all = |newest: &str| vec![at("n", "web", "v1.34.2"), at("m", "other", newest)];
        assert!(
            to("1.32", all("v1.36.0"))[0]
                .starts_with("blocking version-skew NodeGroup web: new nodes of 1.32 would be more than 3")
        );
        assert_eq!(
            to("1.33", all("v1.36.0")),
            ["warning version-skew NodeGroup web: rolls back from 1.34 to 1.33"]
        );
    }

    #[test]
    fn nodes_that_stay_too_far_behind_are_told() {
        let found = to(
            "1.36",
            vec![at("n", "web", "v1.35.0"), at("c", "core", "v1.36.0"), at("m", "old", "v1.32.9")],
        );
        assert_eq!(
            found,
            [
                "warning version-skew NodeGroup old: 1 node of 1.32 stays: more than 3 minor versions behind the control plane of 1.36 that \
                 the new nodes need"
            ]
        );
        assert_eq!(
            to(
                "1.36",
                vec![at("n", "web", "v1.35.0"), at("c", "core", "v1.36.0"), at("m", "old", "v1.33.0")]
            ),
            [""; 0]
        );
    }

    #[test]
    fn what_is_too_old_already_is_told_without_a_new_version() {
        let of = |old: &str, newest: &str| {
            found_under(Rule::VersionSkew, |_| {}, vec![at("n", "web", newest), at("m", "old", old)])
        };
        assert_eq!(
            of("v1.32.4", "v1.36.1"),
            [
                "warning version-skew NodeGroup old: 1 node of 1.32 stays: more than 3 minor versions behind the control plane, which is at 1.36 at least, as the newest kubelet is"
            ]
        );
        assert_eq!(of("v1.33.4", "v1.36.1"), [""; 0]);
        assert_eq!(of("v1.24.4", "v1.27.1").len(), 1, "before 1.25 two versions are borne, not three");
        assert_eq!(of("v1.25.4", "v1.28.1"), [""; 0]);
    }
}
