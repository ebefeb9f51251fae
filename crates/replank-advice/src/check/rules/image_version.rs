//! An image and a Kubernetes version that do not match: the kubelet is part of the image.

use replank_model::object::meta::Key;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::target::{OtherKubelet, other_kubelet};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let Some(plan) = survey.plan else { return Vec::new() };
    let groups = survey.groups_renewed();
    let found = groups.into_iter().filter_map(|group| Some((group, other_kubelet(&plan.target, group)?)));
    found
        .map(|(group, OtherKubelet { image, kubelet, wanted })| Finding {
            rule: Rule::ImageVersion,
            severity: Severity::Blocking,
            object: ObjectName::new("NodeGroup", Key::cluster(group.name.as_str())),
            reason: format!(
                "image {image} contains kubelet {kubelet}, but the plan requires {wanted}: new nodes would not match the plan"
            ),
            remedy: format!(
                "target: {{kubernetesVersion: \"{wanted}\"}}   # without image: the one that AWS recommends for {wanted}"
            ).into(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found_under, node};
    use super::*;
    use replank_facts::plan::Plan;

    fn found(image: &str, version: Option<&str>) -> Vec<String> {
        let mut one: Value = node("n", "a");
        one["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("web");
        one["metadata"]["labels"]["eks.amazonaws.com/nodegroup-image"] = json!("ami-old");
        one["status"]["nodeInfo"]["kubeletVersion"] = json!("v1.34.2-eks-113cf36");
        let set = |plan: &mut Plan| {
            plan.target.image = Some(image.into());
            plan.target.kubernetes_version = version.and_then(|version| version.parse().ok());
        };
        found_under(Rule::ImageVersion, set, vec![one])
    }

    #[test]
    fn the_image_that_the_group_has_makes_no_other_kubelet() {
        assert_eq!(
            found("ami-old", Some("1.36")),
            [
                "blocking image-version NodeGroup web: image ami-old contains kubelet v1.34.2-eks-113cf36, but the plan requires 1.36: new nodes would not match the plan"
            ]
        );
    }

    #[test]
    fn another_image_or_its_own_version_is_fine() {
        for (image, version) in [("ami-new", Some("1.36")), ("ami-old", Some("1.34")), ("ami-old", None)] {
            assert_eq!(found(image, version), [""; 0], "{image} {version:?}");
        }
    }
}
