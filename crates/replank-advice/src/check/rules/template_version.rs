//! Groups whose launch template version is `$Latest` or `$Default`: a roll writes a number in place of the word.

use replank_model::object::cloud::{GroupKind, NodeGroup, VersionWord};
use replank_model::object::meta::Key;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::target::meets_template;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let Some(plan) = survey.plan else { return Vec::new() };
    let changed = survey.groups_renewed().into_iter().filter(|group| match group.kind {
        GroupKind::SelfManaged => !meets_template(&plan.target, group, group.template()),
        // EKS writes numbers.
        GroupKind::EksManaged => false,
    });
    changed.filter_map(|group| Some(finding(group, group.follows?))).collect()
}

fn finding(group: &NodeGroup, word: VersionWord) -> Finding {
    let (name, id) = (&group.auto_scaling_group, &group.current.id);
    let remedy = match word {
        VersionWord::Latest => {
            format!(
                "after the roll, set the group's launch template version back to {word} if it is to follow the template"
            )
        }
        VersionWord::Default => format!(
            "after the roll, make the version that the roll wrote the default of {id}, and set the group's version back to {word}, if it is to follow the template"
        ),
    };
    Finding {
        rule: Rule::TemplateVersion,
        severity: Severity::Warning,
        object: ObjectName::new("NodeGroup", Key::cluster(group.name.as_str())),
        reason: format!(
            "Auto Scaling group {name} launches version {word} of launch template {id}: the roll writes a number in its place, and the group no longer follows the template"
        ),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use replank_facts::groups::{GroupBy, from_nodes};
    use replank_facts::plan::{Plan, Target};
    use replank_model::delta::Delta;

    use super::super::super::run;
    use super::super::stage::{node, options, view};
    use super::*;

    fn found(follows: Option<VersionWord>, image: Option<&str>) -> Vec<String> {
        let mut view = view(vec![node("n", "a")]);
        for learnt in from_nodes(&view.clone(), &GroupBy::default()) {
            view.apply(Delta::Group(NodeGroup { follows, ..learnt.group }.into()));
            learnt.instances.into_iter().for_each(|one| drop(view.apply(Delta::Instance(one.into()))));
        }
        let target = Target { image: image.map(Into::into), ..Target::default() };
        let plan = Plan::of_groups("p", vec!["web".into()], target);
        let findings = run(&view, Some(&plan), &options());
        let found = findings.iter().filter(|finding| finding.rule == Rule::TemplateVersion);
        found.map(|finding| format!("{finding} | {}", finding.remedy)).collect()
    }

    #[test]
    fn a_word_is_lost_where_the_roll_writes_a_number() {
        let latest = found(Some(VersionWord::Latest), Some("ami-new"));
        assert_eq!(
            latest,
            [
                "warning template-version NodeGroup web: Auto Scaling group web launches version $Latest of launch template lt-05ea0e11948721ef1: the roll writes a number in its place, and the group no longer follows the template | after the roll, set the group's launch template version back to $Latest if it is to follow the template"
            ]
        );
        let default = found(Some(VersionWord::Default), Some("ami-new"));
        assert!(
            default.len() == 1 && default[0].contains("the default of lt-05ea0e11948721ef1"),
            "{default:?}"
        );
    }

    #[test]
    fn a_number_stays_one_and_what_is_not_changed_keeps_its_word() {
        assert_eq!(found(None, Some("ami-new")), [""; 0]);
        assert_eq!(found(Some(VersionWord::Latest), None), [""; 0], "the launch template is not changed");
    }
}
