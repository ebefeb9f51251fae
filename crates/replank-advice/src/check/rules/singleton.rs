//! One replica and no budget: it moves with a gap.

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::change::twice;
use super::{local_storage, scale};
use replank_facts::budget::uncounted;
use replank_facts::drain;
use replank_facts::remedy::Remedy;
use replank_facts::singleton::surge_under;
use replank_facts::workload::Workload;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, _) in survey.services() {
        if survey.replicas(workload, subject) != 1 {
            continue;
        }
        let budget = match survey.view.budgets_of(subject.ix) {
            [] => "no disruption budget".to_owned(),
            [only] => {
                let budget = &survey.view.pod_disruption_budgets[*only];
                let lets_go = budget.status.desired_healthy < budget.status.expected_pods;
                if !lets_go || uncounted(budget).is_some() {
                    // Other rules' matter: it is not moved at all.
                    continue;
                }
                format!("disruption budget {} allows its eviction", budget.meta.name)
            }
            _ => continue,
        };
        let surge = match surge_under(survey.plan, survey.view, &subject.pod) {
            // It moves without a gap.
            Some(Ok(())) => continue,
            Some(Err(why)) => format!("; singletons: surge does not help, {why}"),
            None => String::new(),
        };
        let data = if drain::has_local_storage(&subject.pod) { "; its emptyDir is lost" } else { "" };
        let unsafe_to_evict = subject.pod.meta.annotations.value(drain::SAFE_TO_EVICT) == Some("false");
        let unsafe_to_evict = if unsafe_to_evict { "; it is annotated safe-to-evict=false" } else { "" };
        findings.push(Finding {
            rule: Rule::Singleton,
            severity: Severity::Warning,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "1 replica and {budget}: it is unavailable from its eviction (grace period up to {}s) until its replacement is Ready{data}{unsafe_to_evict}{surge}",
                subject.pod.grace_seconds()
            ),
            remedy: remedy(survey, workload, subject),
        });
    }
    findings
}

fn remedy(survey: &Survey<'_>, workload: &Workload, subject: &Subject) -> Remedy {
    if let Some(why) = scale::runs_alone(survey, workload, &subject.pod) {
        return format!("choose a window for the gap (windows in the plan): it cannot run twice, {why}")
            .into();
    }
    if let Some(volume) = local_storage::holds_data(&subject.pod) {
        return format!(
            "choose a window for the gap (windows in the plan): a second pod would have an empty volume of its own ({volume}), not a copy of the data; keep lasting data \
             in a PersistentVolumeClaim, or run two replicas if the data may be lost"
        )
        .into();
    }
    let look = "choose a window for the gap (windows in the plan)";
    match twice(survey, workload) {
        Ok(remedy) => remedy.note("if it can run twice"),
        Err(words) => Remedy::look(format!("{words}, if it can run twice; else {look}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, found_under, node, pod, remedies, service};
    use super::*;
    use replank_facts::plan::Singletons;

    #[test]
    fn a_single_replica_is_found_unless_a_budget_speaks_for_it() {
        let extra = json!({"spec": {"terminationGracePeriodSeconds": 45, "volumes": [{"name": "d", "emptyDir": {}}]}});
        let one = service("one", &["n"], &extra);
        assert_eq!(
            found(Rule::Singleton, [vec![node("n", "a")], one.clone()].concat()),
            [
                "warning singleton Deployment shop/one: 1 replica and no disruption budget: it is unavailable from its eviction (grace period up to 45s) until its replacement is Ready; its emptyDir is lost"
            ]
        );
        let covered =
            [vec![node("n", "a"), budget("one", &json!({"minAvailable": 1}), (1, 1, 1))], one].concat();
        assert_eq!(found(Rule::Singleton, covered), [""; 0]);
        let release = [
            vec![node("n", "a"), budget("one", &json!({"maxUnavailable": 1}), (1, 0, 1))],
            service("one", &["n"], &json!({})),
        ]
        .concat();
        assert!(
            found(Rule::Singleton, release)[0]
                .contains("1 replica and disruption budget one allows its eviction: it is unavailable")
        );
        assert_eq!(
            remedies(Rule::Singleton, [vec![node("n", "a")], service("one", &["n"], &json!({}))].concat()),
            [
                "kubectl -n shop scale deployment/one --replicas=2   # if it can run twice\nkubectl -n shop create pdb one --selector='app=one' --max-unavailable=25%"
            ]
        );
        let two = [vec![node("n", "a")], service("two", &["n", "n"], &json!({}))].concat();
        assert_eq!(found(Rule::Singleton, two), [""; 0]);
    }

    #[test]
    fn what_surges_is_not_found_and_what_cannot_is_told_why() {
        let with = |strategy: &str| {
            let mut one = service("one", &["n"], &json!({}));
            one[0]["spec"]["strategy"] = json!({"type": strategy});
            let objects = [vec![node("n", "a")], one].concat();
            found_under(Rule::Singleton, |plan| plan.care.singletons = Singletons::Surge, objects)
        };
        assert_eq!(with("RollingUpdate"), [""; 0]);
        let told = &with("Recreate")[0];
        assert!(
            told.ends_with(
                "singletons: surge does not help, its strategy is Recreate, which deletes the old pod first"
            ),
            "{told}"
        );
    }

    #[test]
    fn what_sets_the_replicas_is_what_has_to_be_changed() {
        let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "auto", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "one"}, "minReplicas": 1, "maxReplicas": 1}});
        let scaled = [vec![node("n", "a"), hpa], service("one", &["n"], &json!({}))].concat();
        assert!(remedies(Rule::Singleton, scaled)[0].starts_with(
            "kubectl -n shop patch hpa auto --type merge -p '{\"spec\":{\"maxReplicas\":2,\"minReplicas\":2}}'"
        ));
        let mut made = service("one", &["n"], &json!({}));
        made[0]["metadata"]["ownerReferences"] = json!([{"apiVersion": "example.com/v1", "kind": "Shop", "name": "main", "uid": "s", "controller": true}]);
        let made = [vec![node("n", "a")], made].concat();
        assert!(
            remedies(Rule::Singleton, made)[0]
                .starts_with("set 2 replicas in Shop shop/main, which owns Deployment shop/one")
        );
    }

    #[test]
    fn a_custom_resource_with_one_pod_is_one_and_one_with_two_is_not() {
        let own = |name: &str| pod(name, "n", Some(("example.com/v1", "Cache", "c")), json!({}));
        let with =
            |pods: Vec<serde_json::Value>| found(Rule::Singleton, [vec![node("n", "a")], pods].concat());
        assert!(
            with(vec![own("c-0")])[0]
                .starts_with("warning singleton Cache shop/c: 1 replica and no disruption budget")
        );
        assert_eq!(with(vec![own("c-0"), own("c-1")]), [""; 0]);
    }

    #[test]
    fn a_second_pod_is_no_copy_of_an_emptydir() {
        let of = |name: &str, medium: &str| {
            let volume = json!({"spec": {"volumes": [{"name": name, "emptyDir": {"medium": medium}}]}});
            let objects = [vec![node("n", "a")], service("one", &["n"], &volume)].concat();
            remedies(Rule::Singleton, objects).remove(0)
        };
        let data = of("redis-data", "");
        assert!(
            !data.contains("kubectl")
                && data.contains("a second pod would have an empty volume of its own (redis-data)"),
            "{data}"
        );
        for (name, medium) in [("redis-data", "Memory"), ("tmp-dir", ""), ("nginx-cache", "")] {
            let scratch = of(name, medium);
            assert!(
                scratch.starts_with("kubectl -n shop scale deployment/one --replicas=2"),
                "{name}: {scratch}"
            );
        }
        assert!(!of("template", "").contains("kubectl"), "a part of a word is no word");
    }

    #[test]
    fn what_cannot_run_twice_is_not_to_be_scaled() {
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"accessModes": ["ReadWriteOnce"]}});
        let volume =
            json!({"spec": {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}});
        let objects = [vec![node("n", "a"), claim], service("one", &["n"], &volume)].concat();
        let told = &remedies(Rule::Singleton, objects)[0];
        assert!(
            told.ends_with("it cannot run twice, its volume shop/data can be used by one node at a time"),
            "{told}"
        );
        let mut one = service("one", &["n"], &json!({}));
        one[0]["spec"]["strategy"] = json!({"type": "Recreate"});
        let told = &remedies(Rule::Singleton, [vec![node("n", "a")], one].concat())[0];
        assert!(told.ends_with("it cannot run twice, its strategy is Recreate"), "{told}");
    }
}
