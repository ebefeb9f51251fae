//! Pods under several budgets: the eviction API answers 500, always.

use std::collections::BTreeSet;

use replank_model::object::policy::PodDisruptionBudget;
use replank_model::view::Ix;

use super::super::finding::{Finding, Rule, Severity, workload_or_pod};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_facts::workload::{Workload, workload_of};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for subject in &survey.subjects {
        let budgets = survey.view.budgets_of(subject.ix);
        if budgets.len() < 2 {
            continue;
        }
        let mut names: Vec<String> =
            budgets.iter().map(|ix| survey.view.pod_disruption_budgets[*ix].meta.name.to_string()).collect();
        names.sort();
        let object = workload_or_pod(subject.workload.as_ref(), &subject.pod);
        if !seen.insert((object.clone(), names.clone())) {
            continue;
        }
        findings.push(Finding {
            rule: Rule::PdbSeveral,
            severity: Severity::Blocking,
            reason: format!(
                "its pods are under {} disruption budgets ({}); the eviction API always refuses such pods",
                names.len(),
                names.join(", ")
            ),
            remedy: remedy(survey, budgets),
            object,
        });
    }
    findings
}

/// The budgets that can go while every pod of theirs stays under another one; what overlaps otherwise has to be told apart.
fn remedy(survey: &Survey<'_>, budgets: &[Ix<PodDisruptionBudget>]) -> Remedy {
    let name = |ix: Ix<PodDisruptionBudget>| survey.view.pod_disruption_budgets[ix].meta.name.to_string();
    let mut sorted = budgets.to_vec();
    sorted.sort_by_key(|ix| name(*ix));
    let is_kept = |kept: Ix<PodDisruptionBudget>| {
        let others = || sorted.iter().filter(|ix| **ix != kept);
        let mut pods = others().flat_map(|ix| survey.view.pods_of_budget(*ix));
        pods.all(|pod| survey.view.budgets_of(pod).iter().any(|ix| *ix == kept || !sorted.contains(ix)))
    };
    // What speaks for other workloads besides may let all pods of one go: it is no match for a budget of its own.
    let speaks_for = |ix: Ix<PodDisruptionBudget>| -> BTreeSet<Option<Workload>> {
        survey.view.pods_of_budget(ix).map(|pod| workload_of(survey.view, &survey.view.pods[pod])).collect()
    };
    let is_as_narrow = |kept: Ix<PodDisruptionBudget>| {
        sorted.iter().all(|ix| speaks_for(*ix).is_superset(&speaks_for(kept)))
    };
    let has_slack = |ix: Ix<PodDisruptionBudget>| {
        let status = &survey.view.pod_disruption_budgets[ix].status;
        status.desired_healthy < status.expected_pods
    };
    let mut candidates: Vec<_> =
        sorted.iter().copied().filter(|ix| is_kept(*ix) && is_as_narrow(*ix)).collect();
    // The one that lets a pod go stays, rather than one that lets none go.
    candidates.sort_by_key(|ix| !has_slack(*ix));
    if let Some(kept) = candidates.first().copied() {
        let gone = sorted.iter().filter(|ix| **ix != kept);
        let key = |ix: &Ix<PodDisruptionBudget>| survey.view.pod_disruption_budgets[*ix].meta.key();
        let edits = gone.map(|ix| Edit::Delete { of: Target::new(TargetKind::PodDisruptionBudget, key(ix)) });
        return edits
            .fold(Remedy::default(), Remedy::then)
            .note(format!("{} covers all of their pods", name(kept)));
    }
    let names: Vec<String> = sorted.iter().map(|ix| name(*ix)).collect();
    format!(
        "narrow the selectors of {} until each pod is under one of them: each is the only one, or the narrower one, of some of them, so none can be deleted",
        names.join(", ")
    )
    .into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, node, remedies, service};
    use super::*;

    #[test]
    fn overlapping_budgets_are_found_once_for_each_workload() {
        let mut other = budget("web", &json!({"minAvailable": 1}), (2, 1, 2));
        other["metadata"]["name"] = json!("also");
        let pods = service("web", &["n", "n"], &json!({}));
        let mine = budget("web", &json!({"minAvailable": 1}), (2, 1, 2));
        assert_eq!(
            found(Rule::PdbSeveral, [vec![node("n", "a"), mine.clone(), other], pods.clone()].concat()),
            [
                "blocking pdb-several Deployment shop/web: its pods are under 2 disruption budgets (also, web); the eviction API always refuses such pods"
            ]
        );
        let elsewhere = budget("elsewhere", &json!({"minAvailable": 1}), (2, 1, 2));
        assert_eq!(found(Rule::PdbSeveral, [vec![node("n", "a"), mine, elsewhere], pods].concat()), [""; 0]);
    }

    #[test]
    fn the_only_budget_of_another_workload_is_not_deleted() {
        let pods = [service("web", &["n", "n"], &json!({})), service("api", &["n"], &json!({}))].concat();
        let mine = budget("web", &json!({"minAvailable": 1}), (2, 1, 2));
        let mut all = budget("all", &json!({"minAvailable": 1}), (3, 1, 3));
        all["spec"]["selector"] = json!({});
        let objects =
            |budgets: Vec<serde_json::Value>| [vec![node("n", "a")], budgets, pods.clone()].concat();
        assert_eq!(
            remedies(Rule::PdbSeveral, objects(vec![mine.clone(), all])),
            [
                "narrow the selectors of all, web until each pod is under one of them: each is the only one, or the narrower one, of some of them, so none can be deleted"
            ]
        );
        let crossing = |name: &str, app: &str| {
            let mut budget = budget(name, &json!({"minAvailable": 1}), (3, 1, 3));
            budget["spec"]["selector"] =
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", app]}]});
            budget
        };
        let db = service("db", &["n"], &json!({}));
        let crossed = [objects(vec![crossing("one", "api"), crossing("two", "db")]), db].concat();
        let told = remedies(Rule::PdbSeveral, crossed);
        assert!(told[0].starts_with("narrow the selectors of one, two"), "{told:?}");
    }
}
