//! Whether the groups of a plan can become what it says, before anything starts; and what EKS says is wrong with them.

use replank_facts::group_facts::Facts;
use replank_facts::plan::Plan;
use replank_facts::release::ReleaseVersion;
use replank_model::object::cloud::{GroupKind, NodeGroup, UpdateError};

use crate::failure::Failure;

/// Where AWS tells how to leave launch configurations.
const MIGRATE: &str =
    "https://docs.aws.amazon.com/autoscaling/ec2/userguide/migrate-to-launch-templates.html";

/// Whether a new launch template version is what new nodes of the groups are made from. Where a plan names neither a version nor an image, nodes are replaced by like ones, and none
/// is made.
///
/// # Errors
/// Names the first group of which that cannot be.
pub(crate) fn fits(plan: &Plan, facts: &[Facts], meant: &[NodeGroup]) -> Result<(), Failure> {
    let target = &plan.target;
    let named = match (&target.release_version, &target.kubernetes_version, &target.image) {
        (Some(release), _, _) => format!("target.releaseVersion: {release}"),
        (None, Some(version), _) => format!("target.kubernetesVersion: {version}"),
        (None, None, Some(image)) => format!("target.image: {image}"),
        (None, None, None) => return Ok(()),
    };
    // In groups that nodes leave for another one, none comes up.
    let lands = |group: &&NodeGroup| target.group.is_none() || target.lands_in(&group.name);
    for group in meant.iter().filter(lands) {
        let Some(told) = facts_of(facts, group) else { continue };
        let name = &group.auto_scaling_group;
        if let Some(release) = &target.release_version {
            has_releases(told, group, release)?;
        }
        if let Some(configuration) = &told.launch_configuration {
            return Err(Failure::usage_message(format!(
                "group {} is made from launch configuration {configuration}, which cannot be changed, and the plan has {named}: new nodes would be like the old ones",
                group.name
            ))
            .next(format!(
                "move the group to a launch template ({MIGRATE}): aws autoscaling update-auto-scaling-group --auto-scaling-group-name {name} --launch-template 'LaunchTemplateId=ID,Version=$Default'; or, if the launch configuration has the new image already, leave target.kubernetesVersion and target.image out of the plan: nodes are then replaced from it"
            )));
        }
        if !told.own_templates.is_empty() {
            let types: Vec<&str> = told.own_templates.iter().map(|one| &**one).collect();
            return Err(Failure::usage_message(format!(
                "overrides of group {}'s mixed instances policy have launch templates of their own, and the plan has {named}: only the policy's own template is changed, and new nodes of these types would be like the old ones: {}",
                group.name,
                types.join(", ")
            ))
            .next(format!(
                "remove LaunchTemplateSpecification from these overrides of Auto Scaling group {name}, or give these types a group of their own, whose policy has their template"
            )));
        }
    }
    Ok(())
}

/// Whether EKS gives a group's nodes a release of its image: one of a managed node group whose image is EKS's, for Amazon Linux.
fn has_releases(told: &Facts, group: &NodeGroup, release: &ReleaseVersion) -> Result<(), Failure> {
    let name = &group.name;
    let (why, next) = match told.kind {
        GroupKind::SelfManaged => (
            format!(
                "group {name} is self-managed, and its launch template names an image: it has no release"
            ),
            "name the image of the release: target.image instead of target.releaseVersion",
        ),
        GroupKind::EksManaged if told.ami_type.is_empty() || told.ami_type.as_str() == "CUSTOM" => (
            format!(
                "the launch template of node group {name} names an image (amiType CUSTOM): EKS takes no release for it"
            ),
            "name the image of the release: target.image instead of target.releaseVersion",
        ),
        GroupKind::EksManaged if !told.ami_type.as_str().starts_with("AL2") => (
            format!(
                "node group {name} has images of type {}, whose releases are not called like {release}",
                told.ami_type
            ),
            "leave target.releaseVersion out for this group: EKS then takes the newest release",
        ),
        GroupKind::EksManaged => return Ok(()),
    };
    Err(Failure::usage_message(format!("{why}, and the plan has target.releaseVersion: {release}"))
        .next(next))
}

fn facts_of<'f>(facts: &'f [Facts], group: &NodeGroup) -> Option<&'f Facts> {
    facts.iter().find(|one| one.auto_scaling.as_ref().unwrap_or(one.name.text()) == &group.auto_scaling_group)
}

/// What EKS says is wrong with the managed node groups among some.
pub(super) fn unhealthy_of(facts: &[Facts], meant: &[NodeGroup]) -> Vec<String> {
    let managed = meant.iter().filter(|group| group.kind == GroupKind::EksManaged);
    managed.filter_map(|group| facts_of(facts, group)).flat_map(unhealthy).collect()
}

/// What EKS says is wrong with a managed node group: each issue with what it is about and what can be done. An update would meet the same.
pub(crate) fn unhealthy(group: &Facts) -> Vec<String> {
    let name = &group.name;
    let state = group.status.as_ref().filter(|word| !matches!(&***word, "ACTIVE" | "CREATING" | "UPDATING"));
    let said = match state {
        Some(word) => format!("node group {name} is {word}"),
        None => format!("node group {name} has an issue"),
    };
    if group.issues.is_empty() {
        let next =
            format!("aws eks describe-nodegroup --nodegroup-name {name} --cluster-name CLUSTER shows more");
        return state.map(|_| format!("{said}; {next}")).into_iter().collect();
    }
    let explained = |issue: &UpdateError| match issue.explained() {
        Some(words) => format!("{said}: {issue}; {words}"),
        None => format!("{said}: {issue}"),
    };
    group.issues.iter().map(explained).collect()
}

#[cfg(test)]
mod tests {
    use replank_model::object::cloud::{AmiType, GroupSize, LaunchTemplate};
    use replank_model::text::GroupName;
    use serde_json::{Value, json};

    use super::*;

    fn group(name: &str) -> NodeGroup {
        let size = GroupSize { min: 0, max: 3, desired: 3 };
        NodeGroup::new(GroupName::from(name), size, Vec::new(), LaunchTemplate::default())
    }

    fn refused(target: &Value, facts: &Facts) -> Option<(String, String)> {
        let spec = json!({"groups": ["web"], "target": target});
        let plan = Plan::read(&json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll",
            "metadata": {"name": "test"}, "spec": spec}));
        let plan = plan.expect("it is a plan");
        let failure = fits(&plan, std::slice::from_ref(facts), &[group("web"), group("other")]).err()?;
        Some((failure.error.to_string(), failure.next.unwrap_or_default()))
    }

    #[test]
    fn a_launch_configuration_is_refused_where_the_plan_names_what_it_would_have_to_become() {
        let facts =
            Facts { name: "web".into(), launch_configuration: Some("web-lc".into()), ..Facts::default() };
        for target in [json!({"kubernetesVersion": "1.36"}), json!({"image": "ami-1"})] {
            let (why, next) = refused(&target, &facts).expect("it is refused");
            assert!(why.contains("group web is made from launch configuration web-lc"), "{why}");
            assert!(next.contains("move the group to a launch template"), "{next}");
            assert!(next.contains("--auto-scaling-group-name web"), "{next}");
        }
        assert_eq!(refused(&json!({}), &facts), None, "like is replaced with like");
        // Nodes that move into another group leave this one as it is.
        assert_eq!(refused(&json!({"kubernetesVersion": "1.36", "group": "other"}), &facts), None);
        let landing = Facts { name: "other".into(), ..facts.clone() };
        assert!(refused(&json!({"kubernetesVersion": "1.36", "group": "other"}), &landing).is_some());
    }

    #[test]
    fn a_release_is_for_managed_groups_with_an_image_of_eks_for_amazon_linux() {
        let target = json!({"releaseVersion": "1.36.1-20260610"});
        let of = |kind, ami_type: &str| Facts {
            name: "web".into(),
            kind,
            ami_type: AmiType::new(ami_type),
            ..Facts::default()
        };
        assert_eq!(refused(&target, &of(GroupKind::EksManaged, "AL2023_x86_64_STANDARD")), None);
        assert_eq!(refused(&json!({"kubernetesVersion": "1.36"}), &of(GroupKind::SelfManaged, "")), None);
        for (facts, said, next) in [
            (
                of(GroupKind::SelfManaged, ""),
                "group web is self-managed, and its launch template names an image",
                "target.image",
            ),
            (of(GroupKind::EksManaged, ""), "names an image (amiType CUSTOM)", "target.image"),
            (
                of(GroupKind::EksManaged, "BOTTLEROCKET_x86_64"),
                "images of type BOTTLEROCKET_x86_64",
                "leave target.releaseVersion out",
            ),
        ] {
            let (why, step) = refused(&target, &facts).expect("it is refused");
            assert!(why.contains(said) && why.ends_with("target.releaseVersion: 1.36.1-20260610"), "{why}");
            assert!(step.contains(next), "{step}");
        }
    }

    #[test]
    fn overrides_with_launch_templates_of_their_own_are_named() {
        let own_templates = vec!["m6g.large".into(), "c6g.large".into()];
        let facts = Facts { name: "web".into(), own_templates, ..Facts::default() };
        let (why, next) = refused(&json!({"kubernetesVersion": "1.36"}), &facts).expect("it is refused");
        assert!(
            why.contains("have launch templates of their own") && why.ends_with("m6g.large, c6g.large"),
            "{why}"
        );
        assert!(next.contains("remove LaunchTemplateSpecification from these overrides"), "{next}");
        assert_eq!(refused(&json!({}), &facts), None);
    }

    #[test]
    fn what_eks_says_is_wrong_is_told_with_what_it_means() {
        let issue =
            |code: &str| UpdateError { code: code.into(), message: "m".into(), resources: vec!["r".into()] };
        let of = |status: &str, issues: Vec<UpdateError>| {
            unhealthy(&Facts { name: "web".into(), status: Some(status.into()), issues, ..Facts::default() })
        };
        assert!(of("ACTIVE", Vec::new()).is_empty());
        let degraded = of("DEGRADED", vec![issue("AmiIdNotFound"), issue("Newer")]);
        assert!(
            degraded[0].starts_with("node group web is DEGRADED: AmiIdNotFound: m (r); the image of"),
            "{degraded:?}"
        );
        assert_eq!(degraded[1], "node group web is DEGRADED: Newer: m (r)");
        let bare = of("DEGRADED", Vec::new());
        assert!(bare[0].contains("is DEGRADED; aws eks describe-nodegroup --nodegroup-name web"), "{bare:?}");
        let active = of("ACTIVE", vec![issue("AsgInstanceLaunchFailures")]);
        assert!(
            active[0].starts_with("node group web has an issue: AsgInstanceLaunchFailures: m (r); the Auto"),
            "{active:?}"
        );
    }
}
