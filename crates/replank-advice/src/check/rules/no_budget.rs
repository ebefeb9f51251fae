//! Several replicas and no budget: nothing keeps them from going together.

use std::collections::BTreeSet;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::selector::Selector;
use replank_model::view::Ix;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use super::scale;
use replank_facts::remedy::{BudgetBound, Edit, Remedy};
use replank_facts::shutdown::services_of;
use replank_facts::workload::{Workload, workload_of};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, _) in survey.services() {
        let replicas = survey.replicas(workload, subject);
        if replicas < 2 || !survey.view.budgets_of(subject.ix).is_empty() {
            continue;
        }
        let crowd = survey.crowd(workload);
        let together = match crowd {
            0 | 1 => "each on its own node".to_owned(),
            crowd => format!("up to {crowd} of them on one node, which are evicted together"),
        };
        findings.push(Finding {
            rule: Rule::NoBudget,
            severity: Severity::Warning,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "{replicas} replicas{} and no disruption budget, {together}",
                behind(survey, &subject.pod)
            ),
            remedy: new_budget(survey, workload, replicas).map_or_else(Remedy::look, Remedy::edit),
        });
    }
    findings
}

/// Who sends to the pods: those who ask it notice when they go.
fn behind(survey: &Survey<'_>, pod: &Pod) -> String {
    let services: Vec<&str> =
        services_of(survey.view, pod).map(|service| service.meta.name.as_str()).collect();
    match services.as_slice() {
        [] => String::new(),
        [one] => format!(" behind Service {one}"),
        several => format!(" behind Services {}", several.join(", ")),
    }
}

/// A disruption budget for a workload, or in words why there can be none yet.
pub(super) fn new_budget(survey: &Survey<'_>, workload: &Workload, replicas: i32) -> Result<Edit, String> {
    let Some(selector) = selector(survey, workload).or_else(|| common_labels(survey, workload)) else {
        return Err(
            "add a label of their own to its pods, and a disruption budget that selects it".to_owned()
        );
    };
    let namespace = &workload.key.namespace;
    let selected: Vec<Ix<Pod>> = selector.parse().map_or(Vec::new(), |selector: Selector| {
        let pods = survey.view.select_pods(namespace, &selector);
        pods.filter(|ix| !survey.view.pods[*ix].is_terminal()).collect()
    });
    if let Some(covered) = selected.iter().find_map(|ix| survey.view.budgets_of(*ix).first()) {
        return Err(format!(
            "add a label of their own to its pods, and a disruption budget that selects it: {selector} also selects pods of disruption budget {}",
            survey.view.pod_disruption_budgets[*covered].meta.name
        ));
    }
    // Of other kinds the disruption controller may not know how many pods there should be: a share of them would block.
    let is_counted = |ix: &Ix<Pod>| {
        workload_of(survey.view, &survey.view.pods[*ix]).is_some_and(|of| scale::is_built_in(&of))
    };
    let bound = match scale::is_built_in(workload) && selected.iter().all(is_counted) {
        true => BudgetBound::MaxUnavailable("25%".into()),
        false => {
            let stay = selected.len().max(usize::try_from(replicas).unwrap_or(0)) - 1;
            BudgetBound::MinAvailable(stay.to_string().into())
        }
    };
    let key = Key::new(namespace.clone(), free_name(survey, workload));
    Ok(Edit::CreateBudget { key, selector, bound })
}

/// The workload's name, or one like it that no budget has.
fn free_name(survey: &Survey<'_>, workload: &Workload) -> String {
    let base = workload.key.name.to_string();
    let names = std::iter::once(base.clone())
        .chain(std::iter::once(format!("{base}-pdb")))
        .chain((2..).map(|number| format!("{base}-pdb-{number}")));
    let is_free = |name: &String| {
        let key = Key::new(workload.key.namespace.clone(), name.as_str());
        survey.view.pod_disruption_budgets.by_key(&key).is_none()
    };
    let mut free = names.filter(is_free);
    free.next().unwrap_or(base)
}

/// Labels that all pods of a workload have with equal values, less those that change with every rollout.
pub(super) fn common_labels(survey: &Survey<'_>, workload: &Workload) -> Option<String> {
    let is_generated = |key: &str| GENERATED.contains(&key) || key.starts_with("topology.kubernetes.io/");
    let subjects = survey.subjects_of(survey.workloads.get(workload)?);
    // Of a CronJob several Jobs may run.
    let owners: BTreeSet<_> =
        subjects.filter_map(|subject| Some(&subject.pod.meta.controller()?.uid)).collect();
    let pods = owners.into_iter().flat_map(|owner| survey.view.pods_of(owner));
    let pods: Vec<_> = pods.map(|ix| &survey.view.pods[*ix]).collect();
    let labels = pods.first()?.meta.labels.iter().filter(|(key, value)| {
        !is_generated(key) && pods.iter().all(|pod| pod.meta.labels.value(key) == Some(&**value))
    });
    let labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    (!labels.is_empty()).then(|| labels.join(","))
}

/// Labels that controllers put on pods: they change with every rollout, or from pod to pod.
const GENERATED: [&str; 7] = [
    "pod-template-hash",
    "batch.kubernetes.io/job-completion-index",
    "workflows.argoproj.io/completed",
    "controller-revision-hash",
    "rollouts-pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
];

fn selector(survey: &Survey<'_>, workload: &Workload) -> Option<String> {
    if &*workload.kind == "ReplicationController" {
        let controller = survey.view.replication_controllers.by_key(&workload.key)?;
        let labels = controller.spec.selector.iter().map(|(key, value)| format!("{key}={value}"));
        return Some(labels.collect::<Vec<_>>().join(","));
    }
    let selector = match &*workload.kind {
        "Deployment" => survey.view.deployments.by_key(&workload.key)?.spec.selector.clone(),
        "StatefulSet" => survey.view.stateful_sets.by_key(&workload.key)?.spec.selector.clone(),
        _ => None,
    }?;
    let text = selector.compile().ok()?.to_string();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, node, pod, remedies, service};
    use super::*;

    #[test]
    fn replicas_without_a_budget_are_found_with_how_many_go_together() {
        let nodes = vec![node("n", "a"), node("m", "b")];
        let pods = service("web", &["n", "n", "m"], &json!({}));
        assert_eq!(
            found(Rule::NoBudget, [nodes.clone(), pods.clone()].concat()),
            [
                "warning no-budget Deployment shop/web: 3 replicas and no disruption budget, up to 2 of them on one node, which are evicted together"
            ]
        );
        let covered =
            [nodes.clone(), pods, vec![budget("web", &json!({"minAvailable": 2}), (3, 2, 3))]].concat();
        assert_eq!(found(Rule::NoBudget, covered), [""; 0]);
        let asked = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front", "namespace": "shop"},
            "spec": {"selector": {"app": "web"}}});
        let behind = [nodes.clone(), service("web", &["n", "m"], &json!({})), vec![asked]].concat();
        assert!(
            found(Rule::NoBudget, behind)[0]
                .contains("2 replicas behind Service front and no disruption budget")
        );
        let single = [nodes.clone(), service("one", &["n"], &json!({}))].concat();
        assert_eq!(found(Rule::NoBudget, single), [""; 0], "another rule's matter");
        let job = [nodes, vec![pod("p", "n", Some(("batch/v1", "Job", "j")), json!({}))]].concat();
        assert_eq!(found(Rule::NoBudget, job), [""; 0]);
    }

    #[test]
    fn the_budget_to_make_selects_all_pods_and_can_be_counted() {
        let mut web = service("web", &["n", "n"], &json!({}));
        web[0]["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
        assert_eq!(
            remedies(Rule::NoBudget, [vec![node("n", "a")], web].concat()),
            ["kubectl -n shop create pdb web --selector='app=web' --max-unavailable=25%"]
        );
        let own = |name: &str| {
            let labels = json!({"metadata": {"labels": {"app": "k", "pod-name": name}}});
            pod(name, "n", Some(("example.com/v1", "Brokers", "k")), labels)
        };
        assert_eq!(
            remedies(Rule::NoBudget, vec![node("n", "a"), own("k-0"), own("k-1"), own("k-2")]),
            ["kubectl -n shop create pdb k --selector='app=k' --min-available=2"]
        );
    }

    #[test]
    fn the_budget_to_make_has_a_free_name_and_overlaps_no_other() {
        let mut web = service("web", &["n", "n"], &json!({}));
        web[0]["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
        let of = |more: Vec<serde_json::Value>| {
            remedies(Rule::NoBudget, [vec![node("n", "a")], web.clone(), more].concat())
        };
        let mut stray = budget("web", &json!({"minAvailable": 1}), (0, 1, 0));
        stray["spec"]["selector"] = json!({"matchLabels": {"app": "nobody"}});
        assert_eq!(
            of(vec![stray]),
            ["kubectl -n shop create pdb web-pdb --selector='app=web' --max-unavailable=25%"]
        );
        let bare = pod("alone", "n", None, json!({"metadata": {"labels": {"app": "web"}}}));
        assert_eq!(
            of(vec![bare.clone()]),
            ["kubectl -n shop create pdb web --selector='app=web' --min-available=2"],
            "a share of pods without a controller cannot be counted"
        );
        let mut labelled = bare;
        labelled["metadata"]["labels"] = json!({"app": "web", "tier": "gold"});
        let mut gold = budget("gold", &json!({"minAvailable": 1}), (1, 1, 1));
        gold["spec"]["selector"] = json!({"matchLabels": {"tier": "gold"}});
        let told = of(vec![labelled, gold]);
        assert!(told[0].ends_with("app=web also selects pods of disruption budget gold"), "{told:?}");
    }
}
