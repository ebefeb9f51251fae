//! Releases of EKS's images in a roll: which of them would come though somebody does not want it, and which image the nodes have that go.

use std::collections::BTreeSet;

use replank_facts::group_facts::Facts;
use replank_facts::groups::LearntGroup;
use replank_facts::plan::{ChosenBy, OnFailure, Plan};
use replank_facts::release::ReleaseVersion;
use replank_facts::target::former;
use replank_model::object::cloud::{GroupKind, NodeGroup};
use replank_model::text::GroupName;

use crate::failure::Failure;

/// Whether no release comes that is on the plan's list of bad ones, as far as the releases of groups are known. The one that the plan names is held to it when the plan is read.
///
/// # Errors
/// Names the first group in which one would.
pub(crate) fn are_wanted(plan: &Plan, groups: &[NodeGroup]) -> Result<(), Failure> {
    for group in groups {
        is_named(plan, group)?;
        let Some(release) = ReleaseVersion::of(group.template()) else { continue };
        is_later(plan, group, &release)?;
        if !plan.target.is_bad(&release) {
            continue;
        }
        if stays_as_it_is(plan, group) {
            return Err(Failure::usage_message(format!(
                "new nodes of group {} would have release {release}, which is on target.badReleases",
                group.name
            ))
            .next("name another release: target.releaseVersion"));
        }
        if goes_back(plan, group) {
            return Err(Failure::usage_message(format!(
                "onFailure: rollback would lead group {} back to release {release}, which is on target.badReleases",
                group.name
            ))
            .next("set onFailure: pause, and go back to another release by a plan of its own"));
        }
    }
    Ok(())
}

/// Groups of a rehearsal of which nobody says that EKS manages them, though the plan names a release: `roll` reads what they are, and refuses a release for self-managed ones.
pub(crate) fn unknown(plan: &Plan, groups: &[NodeGroup], facts: &[Facts]) -> Vec<String> {
    let Some(release) = &plan.target.release_version else { return Vec::new() };
    let lands = |group: &&NodeGroup| plan.target.group.is_none() || plan.target.lands_in(&group.name);
    let is_known = |group: &NodeGroup| facts.iter().any(|one| one.name == group.name);
    let groups = groups.iter().filter(lands).filter(|group| group.kind == GroupKind::SelfManaged);
    groups
        .filter(|group| !is_known(group))
        .map(|group| {
            format!(
                "group {} counts as self-managed here, and replank roll refuses target.releaseVersion: {release} for a self-managed group; if EKS manages it, say so in the \
                 plan (nodeGroups: [{{name: {}, managedBy: eks}}]), or pass --groups",
                group.name, group.name
            )
        })
        .collect()
}

/// Without a release that the plan names, EKS updates a node group to its newest one, and which that is only EKS knows when it is asked.
fn is_named(plan: &Plan, group: &NodeGroup) -> Result<(), Failure> {
    let target = &plan.target;
    let is_updated = group.kind == GroupKind::EksManaged && target.group.is_none();
    let is_open = target.release_version.is_none() && target.image.is_none();
    if target.bad_releases.is_empty() || !is_updated || !is_open {
        return Ok(());
    }
    Err(Failure::usage_message(format!(
        "EKS would update node group {} to its newest release, which may be one of target.badReleases",
        group.name
    ))
    .next("name the release: target.releaseVersion"))
}

/// "You cannot roll back a node group to an earlier Kubernetes version or AMI version" (EKS API reference, `UpdateNodegroupVersion`).
fn is_later(plan: &Plan, group: &NodeGroup, present: &ReleaseVersion) -> Result<(), Failure> {
    let is_updated = group.kind == GroupKind::EksManaged && plan.target.group.is_none();
    let Some(wanted) = plan.target.release_version.as_ref().filter(|_| is_updated) else { return Ok(()) };
    if !wanted.is_before(present) {
        return Ok(());
    }
    Err(Failure::usage_message(format!(
        "node group {} has release {present}, and EKS takes no node group back to an earlier one: {wanted}",
        group.name
    ))
    .next(format!(
        "move into another group that has it: target: {{group: NAME, releaseVersion: \"{wanted}\"}}, with --make-group"
    )))
}

/// Whether new nodes of a group come from the image that it has.
fn stays_as_it_is(plan: &Plan, group: &NodeGroup) -> bool {
    let target = &plan.target;
    let lands = match &target.group {
        Some(_) => target.lands_in(&group.name),
        // What EKS updates a node group to, the plan names.
        None => group.kind == GroupKind::SelfManaged,
    };
    lands && target.version().is_none() && target.image.is_none()
}

/// Whether a rollback makes nodes of a group from the image that it has. EKS takes no node group back.
fn goes_back(plan: &Plan, group: &NodeGroup) -> bool {
    let is_left = match &plan.target.group {
        Some(_) => !plan.target.lands_in(&group.name),
        None => group.kind == GroupKind::SelfManaged,
    };
    is_left && plan.on_failure == OnFailure::Rollback
}

/// The groups that a plan is about: those whose nodes go, and the one that they move into. `chosen` have nodes that a selector chooses.
pub(crate) fn of_plan(plan: &Plan, groups: &[LearntGroup], chosen: &BTreeSet<GroupName>) -> Vec<NodeGroup> {
    let is_of =
        |learnt: &&LearntGroup| goes(plan, learnt, chosen) || plan.target.lands_in(&learnt.group.name);
    groups.iter().filter(is_of).map(|learnt| learnt.group.clone()).collect()
}

fn goes(plan: &Plan, learnt: &LearntGroup, chosen: &BTreeSet<GroupName>) -> bool {
    match &plan.nodes.by {
        ChosenBy::Groups(names) => names.contains(&learnt.group.name),
        ChosenBy::Selector(_) => chosen.contains(&learnt.group.name),
    }
}

/// Which image to go back to, group by group, and how: of groups that get another one.
pub(crate) fn ways_back(plan: &Plan, groups: &[LearntGroup], chosen: &BTreeSet<GroupName>) -> Vec<String> {
    let target = &plan.target;
    if target.version().is_none() && target.image.is_none() && target.group.is_none() {
        return Vec::new();
    }
    let going = groups.iter().filter(|learnt| goes(plan, learnt, chosen));
    let wanted = target.release_version.as_ref().map(ToString::to_string);
    let known = going.filter_map(|learnt| {
        let made_of = former(target, &learnt.group, learnt.instances.iter())?;
        // Nodes of it stay.
        let is_it =
            target.group.is_none() && wanted.is_some() && made_of.release.as_deref() == wanted.as_deref();
        (!is_it).then_some((&learnt.group, made_of))
    });
    known
        .map(|(group, made_of)| {
            let name = &group.name;
            let has = made_of.release.as_deref().and_then(|release| release.parse::<ReleaseVersion>().ok());
            if has.is_some_and(|has| target.bad_releases.iter().any(|which| which.is_release(&has))) {
                return format!(
                    "nodes of group {name} have {made_of}, which is on target.badReleases: do not go back to it"
                );
            }
            match (&target.group, group.kind, &made_of.release) {
                (Some(_), _, _) => format!("nodes of group {name} have {made_of}: undo leads back to it"),
                (None, GroupKind::SelfManaged, _) => {
                    format!("nodes of group {name} have {made_of}: undo, or onFailure: rollback, leads back to it")
                }
                (None, GroupKind::EksManaged, Some(release)) => format!(
                    "nodes of node group {name} have {made_of}. EKS takes no node group back to an earlier release: to go back, move into a group that has it: \
                     target: {{group: NAME, releaseVersion: \"{release}\"}}, with --make-group"
                ),
                (None, GroupKind::EksManaged, None) => format!(
                    "nodes of node group {name} have {made_of}. EKS takes no node group back to an earlier release: to go back, move into a group that has it: target: {{group: NAME}}"
                ),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use replank_model::object::cloud::{GroupSize, LaunchTemplate};
    use serde_json::{Value, json};

    use super::*;

    fn plan(target: &Value, on_failure: &str) -> Plan {
        let spec = json!({"groups": ["web"], "target": target, "onFailure": on_failure});
        let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"}, "spec": spec});
        Plan::read(&plan).expect("it is a plan")
    }

    fn group(name: &str, kind: GroupKind) -> NodeGroup {
        let mut template = LaunchTemplate {
            image: "ami-1".into(),
            released: "20260501".into(),
            ..LaunchTemplate::default()
        };
        template.profile.kubelet_version = "v1.35.4-eks-1".into();
        let size = GroupSize { min: 0, max: 3, desired: 3 };
        NodeGroup { kind, ..NodeGroup::new(name.into(), size, Vec::new(), template) }
    }

    #[test]
    fn a_rehearsal_says_what_roll_would_refuse() {
        let release = plan(&json!({"releaseVersion": "1.36.1-20260610"}), "pause");
        let of = |plan: &Plan, kind: GroupKind| unknown(plan, &[group("web", kind)], &[]);
        let told = of(&release, GroupKind::SelfManaged);
        assert!(told[0].contains("replank roll refuses target.releaseVersion: 1.36.1-20260610"), "{told:?}");
        assert!(told[0].contains("nodeGroups: [{name: web, managedBy: eks}]"), "{told:?}");
        assert_eq!(of(&release, GroupKind::EksManaged), [""; 0]);
        assert_eq!(of(&plan(&json!({"image": "ami-2"}), "pause"), GroupKind::SelfManaged), [""; 0]);
        let moved = plan(&json!({"releaseVersion": "1.36.1-20260610", "group": "green"}), "pause");
        assert_eq!(of(&moved, GroupKind::SelfManaged), [""; 0], "its nodes leave it");
    }

    #[test]
    fn a_listed_release_that_would_come_or_be_gone_back_to_is_refused() {
        let why = |target: Value, on_failure: &str, group: &NodeGroup| {
            are_wanted(&plan(&target, on_failure), std::slice::from_ref(group))
                .err()
                .map(|failure| failure.error.to_string())
        };
        let (own, managed) = (group("web", GroupKind::SelfManaged), group("web", GroupKind::EksManaged));
        let landing = group("green", GroupKind::EksManaged);
        let (listed, other) = (json!(["1.35.4-20260501"]), json!(["1.35.4-20260502", "v20260430"]));
        for (target, on_failure, group, said) in [
            (
                json!({"badReleases": listed}),
                "pause",
                &own,
                "new nodes of group web would have release 1.35.4-20260501",
            ),
            (
                json!({"group": "green", "badReleases": listed}),
                "pause",
                &landing,
                "new nodes of group green would have",
            ),
            (
                json!({"image": "ami-2", "badReleases": listed}),
                "rollback",
                &own,
                "onFailure: rollback would lead group web back to release 1.35.4-20260501",
            ),
            (
                json!({"group": "green", "releaseVersion": "1.36.1-20260610", "badReleases": listed}),
                "rollback",
                &own,
                "onFailure: rollback would lead group web back",
            ),
        ] {
            let found = why(target, on_failure, group).unwrap_or_default();
            assert!(found.starts_with(said) && found.ends_with("which is on target.badReleases"), "{found}");
        }
        for (target, on_failure, group) in [
            (json!({"badReleases": other}), "rollback", &own),
            (json!({"image": "ami-2", "badReleases": listed}), "pause", &own),
            // EKS takes nothing back.
            (json!({"releaseVersion": "1.36.1-20260610", "badReleases": listed}), "rollback", &managed),
            (
                json!({"group": "green", "releaseVersion": "1.36.1-20260610", "badReleases": listed}),
                "pause",
                &landing,
            ),
        ] {
            assert_eq!(why(target.clone(), on_failure, group), None, "{target}");
        }
    }

    #[test]
    fn a_list_of_a_managed_group_needs_the_release_that_it_gets() {
        let why = |target: Value, kind| {
            let plan = plan(&target, "pause");
            are_wanted(&plan, &[group("web", kind)]).err().map(|failure| failure.error.to_string())
        };
        let said =
            "EKS would update node group web to its newest release, which may be one of target.badReleases";
        for open in [
            json!({"badReleases": ["v20260714"]}),
            json!({"labels": {"a": "b"}, "badReleases": ["v20260714"]}),
        ] {
            assert_eq!(why(open.clone(), GroupKind::EksManaged).as_deref(), Some(said), "{open}");
            assert_eq!(why(open.clone(), GroupKind::SelfManaged), None, "{open}: it keeps its image");
        }
        let named = json!({"releaseVersion": "1.36.1-20260610", "badReleases": ["v20260714"]});
        assert_eq!(why(named, GroupKind::EksManaged), None);
        assert_eq!(why(json!({"group": "green", "badReleases": ["v20260714"]}), GroupKind::EksManaged), None);
    }

    #[test]
    fn no_managed_group_goes_back_to_an_earlier_release_in_its_place() {
        let why = |target: Value, kind| {
            are_wanted(&plan(&target, "pause"), &[group("web", kind)])
                .err()
                .map(|failure| failure.error.to_string())
        };
        let earlier = json!({"releaseVersion": "1.35.4-20260430"});
        let said = "node group web has release 1.35.4-20260501, and EKS takes no node group back to an earlier one: 1.35.4-20260430";
        assert_eq!(why(earlier.clone(), GroupKind::EksManaged).as_deref(), Some(said));
        assert!(
            why(json!({"releaseVersion": "1.34.8-20260610"}), GroupKind::EksManaged).is_some(),
            "another minor version"
        );
        assert_eq!(why(earlier, GroupKind::SelfManaged), None);
        assert_eq!(
            why(json!({"releaseVersion": "1.35.4-20260430", "group": "green"}), GroupKind::EksManaged),
            None
        );
        for later in ["1.35.4-20260501", "1.35.5-20260610", "1.36.1-20260430"] {
            assert_eq!(why(json!({"releaseVersion": later}), GroupKind::EksManaged), None, "{later}");
        }
    }

    #[test]
    fn a_plan_with_a_selector_is_about_the_groups_of_the_nodes_that_it_chooses() {
        let spec =
            json!({"selector": {"matchLabels": {"tier": "web"}}, "target": {"badReleases": ["v20260501"]}});
        let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"}, "spec": spec});
        let plan = Plan::read(&plan).expect("it is a plan");
        let learnt = |name| LearntGroup { group: group(name, GroupKind::SelfManaged), instances: Vec::new() };
        let groups = [learnt("web"), learnt("batch")];
        let of = |names: &[&str]| {
            let chosen = names.iter().map(|name| GroupName::from(*name)).collect();
            of_plan(&plan, &groups, &chosen)
        };
        assert!(are_wanted(&plan, &of(&[])).is_ok());
        let found = of(&["web"]);
        assert_eq!(found.len(), 1);
        let why = are_wanted(&plan, &found).expect_err("its release is listed").error.to_string();
        assert!(why.starts_with("new nodes of group web would have release 1.35.4-20260501"), "{why}");
    }

    #[test]
    fn the_image_to_go_back_to_is_named_with_the_way_that_there_is() {
        let told = |target: Value, kind| {
            let groups = [LearntGroup { group: group("web", kind), instances: Vec::new() }];
            ways_back(&plan(&target, "pause"), &groups, &BTreeSet::new())
        };
        let release = json!({"releaseVersion": "1.36.1-20260610"});
        let managed = told(release.clone(), GroupKind::EksManaged);
        assert_eq!(managed.len(), 1);
        assert!(
            managed[0]
                .starts_with("nodes of node group web have release 1.35.4-20260501 (ami-1). EKS takes no"),
            "{managed:?}"
        );
        assert!(
            managed[0].contains("target: {group: NAME, releaseVersion: \"1.35.4-20260501\"}"),
            "{managed:?}"
        );
        let forbidden = |bad: &str| json!({"releaseVersion": "1.36.1-20260610", "badReleases": [bad]});
        assert_eq!(
            told(forbidden("1.35.4-20260501"), GroupKind::EksManaged),
            [
                "nodes of group web have release 1.35.4-20260501 (ami-1), which is on target.badReleases: do not go back to it"
            ]
        );
        assert_eq!(
            told(forbidden("1.35.4-20260430"), GroupKind::EksManaged),
            managed,
            "another one is forbidden"
        );
        let own = told(json!({"image": "ami-2"}), GroupKind::SelfManaged);
        assert_eq!(
            own,
            [
                "nodes of group web have release 1.35.4-20260501 (ami-1): undo, or onFailure: rollback, leads back to it"
            ]
        );
        let moved = told(json!({"group": "green"}), GroupKind::EksManaged);
        assert_eq!(moved, ["nodes of group web have release 1.35.4-20260501 (ami-1): undo leads back to it"]);
        assert!(told(json!({}), GroupKind::SelfManaged).is_empty(), "nothing becomes another");
        let same = json!({"releaseVersion": "1.35.4-20260501"});
        assert!(told(same, GroupKind::EksManaged).is_empty(), "it is there");
    }
}
