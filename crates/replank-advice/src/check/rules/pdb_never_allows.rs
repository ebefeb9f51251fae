//! A budget that lets no pod go even when all of its pods are healthy.

use replank_model::int_or_string::IntOrString;
use replank_model::object::policy::PodDisruptionBudget;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::{local_storage, scale};
use replank_facts::budget::{asks_for_scale, uncounted};
use replank_facts::drain;
use replank_facts::plan::Singletons;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_facts::singleton::surge_under;
use serde_json::{Value, json};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ix, pods) in &survey.budgets {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let status = &budget.status;
        let has_slack = match status.expected_pods {
            0 => !counts_none(survey, budget, pods),
            _ => status.desired_healthy < scale::settled(survey, *ix),
        };
        // Pods that end by themselves are waited for: see `pdb-waits-for-batch`.
        let is_batch = survey.subjects_of(pods).all(Subject::ends);
        if has_slack || is_batch || uncounted(budget).is_some() {
            continue;
        }
        let surge = survey.subjects_of(pods).map(|of| surge_under(survey.plan, survey.view, &of.pod));
        let obstacle = surge.flatten().find_map(Result::err);
        let is_surged = survey.plan.is_some_and(|plan| plan.care.singletons == Singletons::Surge);
        if is_surged && obstacle.is_none() && status.expected_pods > 0 {
            // A rolling restart moves them, and asks no budget.
            continue;
        }
        let more =
            obstacle.map_or_else(String::new, |why| format!("; singletons: surge does not help, {why}"));
        findings.push(Finding {
            rule: Rule::PdbNeverAllows,
            severity: Severity::Blocking,
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: format!("{}{more}", reason(budget, scale::settled(survey, *ix), pods.len())),
            remedy: remedy(survey, budget, pods),
        });
    }
    findings
}

/// Whether a budget that goes by what controllers want has pods without any: it expects none, and then it allows none
/// (pkg/controller/disruption `getExpectedScale`, `updatePdbStatus`).
fn counts_none(survey: &Survey<'_>, budget: &PodDisruptionBudget, pods: &[usize]) -> bool {
    asks_for_scale(budget) && survey.subjects_of(pods).all(|subject| drain::is_bare(&subject.pod))
}

fn reason(budget: &PodDisruptionBudget, expected: i32, here: usize) -> String {
    let desired = budget.status.desired_healthy;
    if budget.status.expected_pods == 0 {
        return format!(
            "its pods have no controller with a replica count, so no eviction is ever allowed; {} must move",
            super::super::finding::pods(here)
        );
    }
    let of = super::super::finding::pods(usize::try_from(expected).unwrap_or(0));
    let rule = match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(IntOrString::Int(0)), _) => format!("maxUnavailable 0 of {of}"),
        (Some(share), _) => format!("maxUnavailable {share} of {of} is 0"),
        (None, Some(IntOrString::Int(least))) => format!("minAvailable {least} of {of}"),
        (None, Some(share)) => format!("minAvailable {share} of {of} is {desired}"),
        (None, None) => format!("{desired} of {of} must stay healthy"),
    };
    let must_move = match expected {
        1 => "it must move".to_owned(),
        _ => format!("{here} of them must move"),
    };
    format!("{rule}: no eviction is ever allowed; {must_move}")
}

/// What gives the budget slack. A number of pods that may be missing is never without it, but takes a controller to count by;
/// elsewhere it has to be a number of pods that stay.
fn remedy(survey: &Survey<'_>, budget: &PodDisruptionBudget, pods: &[usize]) -> Remedy {
    let (most, least) = match scale::is_counted(survey.subjects_of(pods)) {
        true => (json!(1), Value::Null),
        false => {
            let counted = usize::try_from(budget.status.expected_pods).unwrap_or(0).max(pods.len());
            (Value::Null, json!(counted.saturating_sub(1)))
        }
    };
    let patch = json!({"spec": {"minAvailable": least, "maxUnavailable": most}});
    let of = Target::new(TargetKind::PodDisruptionBudget, budget.meta.key());
    let patch = Edit::Patch { of, patch };
    let two = survey.subjects_of(pods).find_map(|subject| {
        let workload = subject.workload.as_ref()?;
        let runs_alone = scale::runs_alone(survey, workload, &subject.pod);
        let is_copied = local_storage::holds_data(&subject.pod).is_none();
        scale::up(survey, workload, 2).ok().filter(|_| runs_alone.is_none() && is_copied)
    });
    // One more replica helps only where a plain number must stay.
    let is_plain = matches!(budget.spec.min_available, Some(IntOrString::Int(1)));
    match two.filter(|_| budget.status.expected_pods == 1 && is_plain) {
        Some(two) => Remedy::edit(two).note("if it can run twice").or(patch).note("with a gap"),
        None if budget.status.expected_pods == 1 => {
            Remedy::edit(patch).note("with a gap: it is the only replica")
        }
        None => Remedy::edit(patch),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, found_under, node, pod, remedies, service};
    use super::*;

    fn with(spec: &Value, counts: (i32, i32, i32)) -> Vec<String> {
        let pods = service("web", &["n", "n", "n"], &json!({}));
        found(Rule::PdbNeverAllows, [vec![node("n", "a"), budget("web", spec, counts)], pods].concat())
    }

    #[test]
    fn budgets_without_slack_are_found_whatever_they_are_written_as() {
        let head = "blocking pdb-never-allows PodDisruptionBudget shop/web:";
        let tail = "no eviction is ever allowed; 3 of them must move";
        assert_eq!(
            with(&json!({"minAvailable": 3}), (3, 3, 3)),
            [format!("{head} minAvailable 3 of 3 pods: {tail}")]
        );
        assert_eq!(
            with(&json!({"minAvailable": "70%"}), (3, 3, 3)),
            [format!("{head} minAvailable 70% of 3 pods is 3: {tail}")]
        );
        assert_eq!(
            with(&json!({"maxUnavailable": 0}), (3, 3, 3)),
            [format!("{head} maxUnavailable 0 of 3 pods: {tail}")]
        );
        assert_eq!(
            with(&json!({"maxUnavailable": "0%"}), (2, 3, 3)),
            [format!("{head} maxUnavailable 0% of 3 pods is 0: {tail}")]
        );
    }

    #[test]
    fn an_only_pod_is_not_counted() {
        let pods = service("web", &["n"], &json!({}));
        let budget = budget("web", &json!({"minAvailable": 1}), (1, 1, 1));
        assert_eq!(
            found(Rule::PdbNeverAllows, [vec![node("n", "a"), budget], pods].concat()),
            [
                "blocking pdb-never-allows PodDisruptionBudget shop/web: minAvailable 1 of 1 pod: no eviction is ever allowed; it must move"
            ]
        );
    }

    #[test]
    fn the_remedy_leaves_slack_whatever_the_budget_was() {
        let of = |spec: &Value, counts, pods: Vec<Value>| {
            remedies(Rule::PdbNeverAllows, [vec![node("n", "a"), budget("web", spec, counts)], pods].concat())
        };
        let web = |count: usize| service("web", &["n", "n", "n"][..count], &json!({}));
        let patch = "kubectl -n shop patch pdb web --type merge -p '{\"spec\":{\"maxUnavailable\":1,\"minAvailable\":null}}'";
        assert_eq!(of(&json!({"minAvailable": "100%"}), (3, 3, 3), web(3)), [patch]);
        assert_eq!(
            of(&json!({"minAvailable": 1}), (1, 1, 1), web(1)),
            [format!(
                "kubectl -n shop scale deployment/web --replicas=2   # if it can run twice\nor:\n{patch}   # with a gap"
            )]
        );
        let only = of(&json!({"maxUnavailable": 0}), (1, 1, 1), web(1));
        assert_eq!(
            only,
            [format!("{patch}   # with a gap: it is the only replica")],
            "two replicas would not help"
        );
        let own = |name: &str| {
            let labels = json!({"metadata": {"labels": {"app": "web"}}});
            pod(name, "n", Some(("example.com/v1", "Brokers", "b")), labels)
        };
        assert_eq!(
            of(&json!({"minAvailable": 2}), (2, 2, 2), vec![own("b-0"), own("b-1")]),
            [
                "kubectl -n shop patch pdb web --type merge -p '{\"spec\":{\"maxUnavailable\":null,\"minAvailable\":1}}'"
            ]
        );
    }

    #[test]
    fn pods_without_a_controller_are_never_evicted_under_a_percentage_but_under_a_number() {
        let with = |spec: &Value, counts| {
            let bare = pod("alone", "n", None, json!({"metadata": {"labels": {"app": "web"}}}));
            found(Rule::PdbNeverAllows, vec![node("n", "a"), budget("web", spec, counts), bare])
        };
        assert_eq!(
            with(&json!({"maxUnavailable": 1}), (1, 0, 0)),
            [
                "blocking pdb-never-allows PodDisruptionBudget shop/web: its pods have no controller with a replica count, so no eviction is ever allowed; 1 pod must move"
            ]
        );
        assert_eq!(with(&json!({"minAvailable": 0}), (1, 0, 1)), [""; 0]);
    }

    #[test]
    fn pods_that_a_rolling_restart_moves_need_no_budget() {
        let with = |spec: &Value| {
            let mut web = service("web", &["n", "n", "n"], &json!({}));
            web[0]["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": spec}});
            let budget = budget("web", &json!({"minAvailable": 3}), (3, 3, 3));
            let objects = [vec![node("n", "a"), budget], web].concat();
            found_under(Rule::PdbNeverAllows, |plan| plan.care.singletons = Singletons::Surge, objects)
        };
        assert_eq!(with(&json!(0)), [""; 0]);
        let told = &with(&json!(1))[0];
        assert!(told.ends_with("old pods may be deleted before new ones are Ready"), "{told}");
    }

    #[test]
    fn a_budget_that_allows_nothing_only_now_is_another_matter() {
        assert_eq!(with(&json!({"minAvailable": 2}), (2, 2, 3)), [""; 0]);
        assert_eq!(with(&json!({"maxUnavailable": 1}), (3, 2, 3)), [""; 0]);
    }

    #[test]
    fn a_plain_number_is_held_against_what_the_controllers_want() {
        let with = |replicas: i32, counts: (i32, i32, i32)| {
            let mut pods = service("web", &["n", "n", "n", "n"], &json!({}));
            for object in &mut pods {
                if object["kind"] == "Deployment" {
                    object["spec"]["replicas"] = json!(replicas);
                }
            }
            let fixed = vec![node("n", "a"), budget("web", &json!({"minAvailable": 3}), counts)];
            found(Rule::PdbNeverAllows, [fixed, pods].concat())
        };
        let surging = with(3, (4, 3, 4));
        assert!(surging[0].contains("minAvailable 3 of 3 pods"), "one more while it is updated: {surging:?}");
        assert_eq!(with(4, (4, 3, 4)), [""; 0]);
        assert_eq!(with(6, (3, 3, 3)), [""; 0], "three more are to come");
    }
}
