//! Pods that tolerate every taint, or a cordon: evicted from a node that is drained, they are put back onto it.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::{Taint, Toleration};
use replank_model::text::NodeName;
use serde_json::json;

use super::super::engine::Engine;
use super::super::ground::KindId;
use super::super::remedy::{Change, own_tolerations, patch, toleration_of};
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Subject, Survey, is_for_everything};
use replank_facts::finding::pods;
use replank_facts::remedy::Remedy;
use replank_schedule::predicate;

pub(super) fn find(survey: &Survey<'_>, engine: &mut Engine) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in survey.scheduled() {
        let tolerations = &subject.spec().tolerations;
        if !predicate::tolerates_cordon(tolerations, false) {
            continue;
        }
        let what = if tolerations.iter().any(is_for_everything) {
            "every taint (operator: Exists without a key)"
        } else {
            "the cordon taint, node.kubernetes.io/unschedulable:NoSchedule"
        };
        let cordoned: BTreeSet<&NodeName> = subject
            .nodes()
            .filter(|node| survey.view.node(node).is_some_and(|node| node.spec.unschedulable))
            .collect();
        let now = match cordoned.len() {
            0 => String::new(),
            1 => format!("; it is on the cordoned node {} now", cordoned.first().expect("there is one")),
            many => format!("; it is on {many} cordoned nodes now"),
        };
        let who = match subject.pods.len() {
            0 => "the pods of its next run".to_owned(),
            count => pods(count),
        };
        let tolerate = if subject.pods.len() == 1 { "tolerates" } else { "tolerate" };
        findings.push(Finding {
            rule: Rule::ToleratesEverything,
            severity: Severity::Warning,
            object: subject.name.clone(),
            reason: format!(
                "{who} {tolerate} {what}: a drain evicts them, and the scheduler may place them on the same node again{now}"
            ),
            remedy: remedy(survey, engine, subject),
        });
    }
    findings
}

/// Fewer tolerations, tried on the scheduler: those of the nodes that it is on, else of all on which it can land. In words where
/// neither leaves it a place.
fn remedy(survey: &Survey<'_>, engine: &mut Engine, subject: &Subject) -> Remedy {
    let lands = subject.lands();
    let sits: BTreeSet<KindId> = subject.sits(&survey.ground).into_keys().collect();
    let needed: BTreeSet<KindId> = sits.intersection(&lands).copied().collect();
    for kinds in [&sits, &lands].into_iter().filter(|kinds| !kinds.is_empty()) {
        let tolerations = narrowed(survey, subject, kinds);
        let change = Change { selector: Vec::new(), tolerations: Some(tolerations.clone()) };
        let still = change.lands(survey, engine, subject);
        if !still.is_empty() && needed.is_subset(&still) {
            return patch(survey, subject, &json!({"tolerations": tolerations}));
        }
    }
    "in its pod template, tolerate only the taints of the nodes it is meant for".into()
}

/// Its other tolerations, and one for each taint of these kinds of nodes.
fn narrowed(survey: &Survey<'_>, subject: &Subject, kinds: &BTreeSet<KindId>) -> Vec<Toleration> {
    let own = own_tolerations(&subject.samples[0].pod);
    let covers_cordon = |one: &Toleration| predicate::tolerates_cordon(std::slice::from_ref(one), false);
    let mut kept: Vec<Toleration> = own.into_iter().filter(|one| !covers_cordon(one)).collect();
    let mut taints: BTreeMap<_, &Taint> = BTreeMap::new();
    for taint in kinds.iter().flat_map(|id| survey.ground.kind(*id).taints()) {
        taints.insert((&taint.key, &taint.value, taint.effect), taint);
    }
    for taint in taints.into_values() {
        if !kept.iter().any(|one| one.tolerates(taint, false)) {
            kept.push(toleration_of(taint));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{daemon_set, found, labelled, node, remedies, service, tainted};
    use super::*;

    fn with(tolerations: &Value) -> Vec<Value> {
        let mut cordoned = tainted(node("n", "web", "a"), &["role=web:NoSchedule"]);
        cordoned["spec"]["unschedulable"] = json!(true);
        [
            vec![cordoned, node("m", "web", "a")],
            service("agent", &["n", "m"], &json!({"spec": {"tolerations": tolerations}})),
        ]
        .concat()
    }

    #[test]
    fn a_deployment_that_tolerates_everything_is_found_and_narrowed() {
        let everything = with(&json!([{"operator": "Exists"}]));
        assert_eq!(
            found(Rule::ToleratesEverything, everything.clone()),
            [
                "warning tolerates-everything Deployment shop/agent: 2 pods tolerate every taint (operator: Exists without a key): a drain evicts them, and the scheduler may place them on the same node again; it is on the cordoned node n now"
            ]
        );
        assert!(remedies(Rule::ToleratesEverything, everything)[0].contains(
            r#"{"tolerations":[{"effect":"NoSchedule","key":"role","operator":"Equal","value":"web"}]}"#
        ));
        let cordon = json!([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]);
        assert!(found(Rule::ToleratesEverything, with(&cordon))[0].contains("tolerate the cordon taint"));
    }

    #[test]
    fn between_its_runs_the_taints_of_the_nodes_that_take_it_are_tolerated() {
        let nightly = |selector: &str| {
            let spec = json!({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"role": selector}, "containers": [{"name": "c"}]});
            let job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "namespace": "shop"},
                "spec": {"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": {"spec": spec}}}}});
            let node = labelled(tainted(node("n", "web", "a"), &["role=web:NoSchedule"]), "role", "web");
            remedies(Rule::ToleratesEverything, vec![node, job]).remove(0)
        };
        assert!(
            nightly("web").contains(r#""tolerations":[{"effect":"NoSchedule","key":"role","#),
            "{}",
            nightly("web")
        );
        assert!(nightly("db").starts_with("in its pod template"), "{}", nightly("db"));
    }

    #[test]
    fn what_tolerates_all_evictions_only_and_daemon_sets_are_not_found() {
        let evictions = json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]);
        assert_eq!(found(Rule::ToleratesEverything, with(&evictions)), [""; 0]);
        let agent = daemon_set("agent", &["n"], &json!({"spec": {"tolerations": [{"operator": "Exists"}]}}));
        assert_eq!(found(Rule::ToleratesEverything, [vec![node("n", "web", "a")], agent].concat()), [""; 0]);
    }
}
