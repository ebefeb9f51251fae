//! A budget whose pods the disruption controller cannot count: it needs the scale of an owner that has none.

use std::collections::BTreeSet;

use replank_model::object::policy::PodDisruptionBudget;
use replank_model::view::{Ix, View};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods as count};
use super::super::survey::{Subject, Survey};
use super::change::waited_for;
use replank_facts::batch::{past, retry};
use replank_facts::budget::{asks_for_scale, failed_sync};
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use serde_json::json;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ix, pods) in &survey.budgets {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let subjects: Vec<&Subject> = survey.subjects_of(pods).collect();
        let Some(why) = why(survey.view, budget, &subjects) else { continue };
        let ends = subjects.iter().all(|subject| subject.ends());
        let consequence = if ends { "blocks their nodes until they have finished" } else { "blocks" };
        let stake = subjects.iter().find_map(|subject| retry::stake_of(survey.view, &subject.pod));
        let retry = stake.map_or(String::new(), |stake| format!("; {}", stake.consequence()));
        let workload = subjects.iter().find_map(|subject| subject.workload.as_ref());
        let since = workload.filter(|_| ends).and_then(|workload| past::started(survey.view, workload));
        let running = since.map_or(String::new(), |since| format!("; running for {}", survey.now() - since));
        findings.push(Finding {
            rule: Rule::PdbNotCounted,
            severity: if ends { Severity::Warning } else { Severity::Blocking },
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: format!(
                "{} cannot be counted ({why}), so it allows no eviction and {consequence}; {} to move{running}{retry}",
                written(budget),
                count(pods.len())
            ),
            remedy: if ends { wait(survey) } else { number(survey, *ix, budget) },
        });
    }
    findings
}

/// What runs to an end is what such a budget is there to keep.
fn wait(survey: &Survey<'_>) -> Remedy {
    waited_for(survey, "6h", false)
}

fn target(budget: &PodDisruptionBudget) -> Target {
    Target::new(TargetKind::PodDisruptionBudget, budget.meta.key())
}

/// A plain number of pods that stay needs no scale.
fn number(survey: &Survey<'_>, ix: Ix<PodDisruptionBudget>, budget: &PodDisruptionBudget) -> Remedy {
    let (namespace, name) = (&budget.meta.namespace, &budget.meta.name);
    if !asks_for_scale(budget) {
        return format!(
            "kubectl -n {namespace} describe pdb {name}   # shows why its controller cannot count them"
        )
        .into();
    }
    let pods = survey.view.pods_of_budget(ix).filter(|ix| survey.view.pods[*ix].is_active()).count();
    let patch = json!({"spec": {"maxUnavailable": null, "minAvailable": pods.saturating_sub(1)}});
    Remedy::edit(Edit::Patch { of: target(budget), patch }).note("a plain number needs no scale")
}

fn written(budget: &PodDisruptionBudget) -> String {
    match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(value), _) => format!("maxUnavailable {value}"),
        (None, Some(value)) => format!("minAvailable {value}"),
        (None, None) => "its number".to_owned(),
    }
}

/// The controller's words, or what they will be.
fn why(view: &View, budget: &PodDisruptionBudget, subjects: &[&Subject]) -> Option<String> {
    if let Some(message) = failed_sync(budget) {
        return Some(message.to_string());
    }
    if !asks_for_scale(budget) {
        return None;
    }
    let without: BTreeSet<String> =
        subjects.iter().filter_map(|subject| owner_without_scale(view, subject)).collect();
    let kind = without.into_iter().next()?;
    Some(format!("{kind} does not implement the scale subresource"))
}

/// The kind of a pod's owner if it has no scale (pkg/controller/disruption `getScaleController` and its finders).
fn owner_without_scale(view: &View, subject: &Subject) -> Option<String> {
    let owner = subject.pod.meta.controller()?;
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    let is_known = matches!(
        (group, &*owner.kind),
        ("apps", "ReplicaSet" | "StatefulSet" | "Deployment") | ("", "ReplicationController")
    );
    if is_known {
        return None;
    }
    let definition = view.custom_resource_definitions.unordered().map(|(_, definition)| definition);
    let mut of_kind = definition
        .filter(|definition| *definition.spec.group == *group && definition.spec.names.kind == owner.kind);
    let has_scale = of_kind.next().map(|definition| {
        let scaled = |subresources: &replank_model::object::cluster::CustomResourceSubresources| {
            subresources.scale.is_some()
        };
        definition.spec.versions.iter().any(|version| version.subresources.as_ref().is_some_and(scaled))
    });
    let is_without = match (group, &*owner.kind, has_scale) {
        ("batch", "Job", _) | ("argoproj.io", "Workflow", _) | (_, _, Some(false)) => true,
        // Of other kinds nothing is known.
        (_, _, Some(true) | None) => false,
    };
    is_without.then(|| format!("{}.{group}", owner.kind))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, node, pod, remedies};
    use super::*;

    fn with(owner: (&str, &str, &str), spec: &Value, more: Vec<Value>) -> Vec<String> {
        let labels = json!({"metadata": {"labels": {"app": "b"}}});
        let objects = vec![node("n", "a"), budget("b", spec, (0, 0, 0)), pod("p", "n", Some(owner), labels)];
        found(Rule::PdbNotCounted, [objects, more].concat())
    }

    #[test]
    fn shares_of_owners_without_scale_are_found() {
        let job = ("batch/v1", "Job", "j");
        assert_eq!(
            with(job, &json!({"maxUnavailable": 0}), vec![]),
            [
                "warning pdb-not-counted PodDisruptionBudget shop/b: maxUnavailable 0 cannot be counted (Job.batch does not \
              implement the scale subresource), so it allows no eviction and blocks their nodes until they have finished; 1 pod to move"
            ]
        );
        let thing = ("example.com/v1", "Thing", "t");
        let definition = |subresources: Value| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
                "spec": {"group": "example.com", "names": {"plural": "things", "kind": "Thing"},
                    "versions": [{"name": "v1", "served": true, "subresources": subresources}]}})
        };
        let found = with(thing, &json!({"minAvailable": "50%"}), vec![definition(json!({}))]);
        assert!(found[0].starts_with("blocking") && found[0].contains("Thing.example.com"), "{found:?}");
        let scaled = json!({"scale": {"specReplicasPath": ".spec.replicas"}});
        assert_eq!(with(thing, &json!({"minAvailable": "50%"}), vec![definition(scaled)]), [""; 0]);
    }

    #[test]
    fn the_controllers_own_words_are_believed_whatever_the_owner_is() {
        let mut failed = budget("b", &json!({"maxUnavailable": 1}), (0, 0, 0));
        failed["status"]["conditions"] = json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed",
            "message": "brokers.example.com does not implement the scale subresource"}]);
        let pods = |policy: &str| {
            let extra = json!({"metadata": {"labels": {"app": "b"}}, "spec": {"restartPolicy": policy}});
            ["p", "q"].map(|name| pod(name, "n", Some(("example.com/v1", "Brokers", "b")), extra.clone()))
        };
        let all = |policy| [vec![node("n", "a"), failed.clone()], pods(policy).to_vec()].concat();
        assert_eq!(
            found(Rule::PdbNotCounted, all("Always")),
            [
                "blocking pdb-not-counted PodDisruptionBudget shop/b: maxUnavailable 1 cannot be counted (brokers.example.com does not \
              implement the scale subresource), so it allows no eviction and blocks; 2 pods to move"
            ]
        );
        assert_eq!(
            remedies(Rule::PdbNotCounted, all("Always")),
            [
                "kubectl -n shop patch pdb b --type merge -p '{\"spec\":{\"maxUnavailable\":null,\"minAvailable\":1}}'   # a plain number \
              needs no scale"
            ]
        );
        assert!(found(Rule::PdbNotCounted, all("Never"))[0].starts_with("warning"));
        assert_eq!(
            remedies(Rule::PdbNotCounted, all("Never")),
            ["a plan waits 6h for it by default, and then pauses; set batch.wait if it takes longer"],
            "what is so already is not advised"
        );
    }

    #[test]
    fn a_plain_number_needs_no_scale() {
        assert_eq!(with(("batch/v1", "Job", "j"), &json!({"minAvailable": 1}), vec![]), [""; 0]);
        assert_eq!(with(("apps/v1", "ReplicaSet", "r"), &json!({"maxUnavailable": 1}), vec![]), [""; 0]);
    }
}
