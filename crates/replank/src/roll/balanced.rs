//! Load balancers in front of a plan's groups: what AWS says of them before the rehearsal.

use std::collections::BTreeSet;

use replank_facts::groups::LearntGroup;
use replank_live::aws::{Aws, AwsError};
use replank_live::cloud::Observed;
use replank_model::object::cloud::{Target, TargetHealth};
use serde_json::Value;

use crate::printer::Printer;
use crate::rehearse::Scene;

/// Gives the scene's groups what Elastic Load Balancing says of their target groups, and says what it is not asked.
///
/// A rehearsal takes each target for what it is now; one that is about to become healthy or to go is taken to have become so.
pub(super) async fn balanced(
    scene: &mut Scene,
    aws: &Aws,
    answers: &Value,
    printer: &mut Printer,
) -> Result<(), AwsError> {
    for (group, names) in classic(answers) {
        printer.warning(&format!(
            "Auto Scaling group {group} is attached to Classic Load Balancers ({}): whether they send to its instances is not known",
            names.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    let known = |learnt: &LearntGroup| {
        scene.facts.iter().any(|facts| {
            facts.auto_scaling.as_ref().unwrap_or(facts.name.text()) == &learnt.group.auto_scaling_group
        })
    };
    let mut observed = Observed::default();
    for learnt in scene.groups.iter().filter(|learnt| known(learnt)) {
        observed.groups.push(learnt.group.clone());
        observed.instances.extend(learnt.instances.iter().map(|one| (one.id.clone(), one.clone())));
    }
    aws.learn_targets(&mut observed).await?;
    for group in observed.groups {
        let Some(learnt) = scene.groups.iter_mut().find(|learnt| learnt.group.name == group.name) else {
            continue;
        };
        for instance in &mut learnt.instances {
            let seen = observed.instances.remove(&instance.id).map(|seen| seen.targets).unwrap_or_default();
            instance.targets = seen.into_iter().filter_map(settled).collect();
        }
        learnt.group = group;
    }
    Ok(())
}

/// A target as a rehearsal begins with it.
fn settled(target: Target) -> Option<Target> {
    match target.health {
        TargetHealth::Healthy
        | TargetHealth::Unhealthy
        | TargetHealth::Unused
        | TargetHealth::Unavailable => Some(target),
        TargetHealth::Initial => Some(Target { health: TargetHealth::Healthy, ..target }),
        TargetHealth::Draining => None,
    }
}

/// Auto Scaling groups with the Classic Load Balancers that are attached to them: `LoadBalancerNames`, and `TrafficSources` of the type `elb`, which replaces it.
fn classic(answers: &Value) -> Vec<(&str, BTreeSet<&str>)> {
    let list = |value| Value::as_array(value).into_iter().flatten();
    let groups = list(answers).flat_map(|answer| list(&answer["AutoScalingGroups"]));
    let named = groups.map(|group| {
        let sources = list(&group["TrafficSources"]).filter(|source| source["Type"] == "elb");
        let sources = sources.filter_map(|source| source["Identifier"].as_str());
        let names = list(&group["LoadBalancerNames"]).filter_map(Value::as_str).chain(sources);
        (group["AutoScalingGroupName"].as_str().unwrap_or_default(), names.collect::<BTreeSet<&str>>())
    });
    named.filter(|(_, names)| !names.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn classic_load_balancers_are_named_and_no_others() {
        let arn = "arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/web/1";
        let answers = json!([{"nodegroup": {}}, {"AutoScalingGroups": [
            {"AutoScalingGroupName": "old", "LoadBalancerNames": ["b", "a"], "TrafficSources": [{"Identifier": "a", "Type": "elb"}]},
            {"AutoScalingGroupName": "new", "LoadBalancerNames": [], "TargetGroupARNs": [arn], "TrafficSources": [{"Identifier": arn, "Type": "elbv2"}]},
            {"AutoScalingGroupName": "none"}]}]);
        assert_eq!(classic(&answers), [("old", BTreeSet::from(["a", "b"]))]);
    }

    #[test]
    fn a_rehearsal_begins_with_targets_that_stay_as_they_are() {
        let of = |health| settled(Target { group: "web".into(), health }).map(|target| target.health);
        assert_eq!(of(TargetHealth::Initial), Some(TargetHealth::Healthy));
        assert_eq!(of(TargetHealth::Unhealthy), Some(TargetHealth::Unhealthy));
        assert_eq!(of(TargetHealth::Draining), None);
    }
}
