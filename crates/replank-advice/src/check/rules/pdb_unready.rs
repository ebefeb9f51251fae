//! A budget that could let pods go, and does not now because some are not ready.

use std::sync::Arc;

use replank_model::object::condition;
use replank_model::object::pod::Pod;
use replank_model::object::policy::UnhealthyPodEvictionPolicy;
use replank_model::time::{Span, Time};

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use super::scale;
use replank_facts::budget::uncounted;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use serde_json::{Value, json};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ix, pods) in &survey.budgets {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let status = &budget.status;
        let settled = scale::settled(survey, *ix);
        let has_slack = status.desired_healthy < settled;
        if !has_slack || status.disruptions_allowed > 0 || uncounted(budget).is_some() {
            continue;
        }
        // All is well, and an eviction that was granted is under way.
        if status.current_healthy > status.desired_healthy && !status.disrupted_pods.is_empty() {
            continue;
        }
        let mut pods_unready: Vec<&Arc<Pod>> = survey
            .view
            .pods_of_budget(*ix)
            .map(|ix| &survey.view.pods[ix])
            .filter(|pod| pod.is_active() && !pod.is_ready())
            .collect();
        pods_unready.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
        let unready: Vec<String> = pods_unready.iter().map(|pod| pod.meta.name.to_string()).collect();
        let always =
            budget.spec.unhealthy_pod_eviction_policy == Some(UnhealthyPodEvictionPolicy::AlwaysAllow);
        // An unready pod that may be evicted, and is on one of the nodes, gets another chance on a new one.
        let may_go =
            always || (status.desired_healthy > 0 && status.current_healthy >= status.desired_healthy);
        let is_moved = |pod: &Pod| {
            may_go && survey.subjects_of(pods).any(|subject| subject.pod.meta.uid == pod.meta.uid)
        };
        // Where only pods have to go that may, nothing waits.
        if may_go && !survey.subjects_of(pods).any(|subject| subject.pod.is_ready()) {
            continue;
        }
        let staying = pods_unready.iter().filter(|pod| !is_moved(pod));
        let stuck: Vec<String> = staying.filter_map(|pod| stuck(pod, survey.now())).collect();
        let lasting = i32::try_from(stuck.len()).unwrap_or(i32::MAX);
        // What is missing comes back by itself, all but the stuck ones.
        let is_lasting = settled.saturating_sub(lasting) <= status.desired_healthy;
        let why = stuck.first().filter(|_| is_lasting).map_or(String::new(), |why| format!("; {why}"));
        let shown = unready.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let (namespace, name) = (&budget.meta.namespace, &budget.meta.name);
        let patch = |spec: Value| Edit::Patch {
            of: Target::new(TargetKind::PodDisruptionBudget, budget.meta.key()),
            patch: json!({"spec": spec}),
        };
        let allow = json!({"unhealthyPodEvictionPolicy": "AlwaysAllow"});
        // What waiting does not mend takes a budget that gets by with one healthy pod less; the unready ones are evicted only where that is said.
        let healthy = status.current_healthy;
        let mut fewer = allow.clone();
        (fewer["minAvailable"], fewer["maxUnavailable"]) = match scale::is_counted(survey.subjects_of(pods)) {
            true => (Value::Null, json!(status.expected_pods - healthy + 1)),
            false => (json!(healthy - 1), Value::Null),
        };
        let inspect = match unready.first() {
            Some(pod) => format!("kubectl -n {namespace} describe pod {pod}"),
            None => format!("kubectl -n {namespace} describe pdb {name}"),
        };
        let remedy = match is_lasting && healthy > 0 {
            true => Remedy::edit(patch(fewer))
                .note("until they are mended: requires one pod fewer than are healthy")
                .look_first(format!("{inspect}   # mend the pods")),
            // That the unready ones may go does not help the others: they stay until these are Ready.
            false => Remedy::look(inspect),
        };
        findings.push(Finding {
            rule: Rule::PdbUnready,
            severity: if is_lasting { Severity::Blocking } else { Severity::Warning },
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: format!(
                "{} of {} {} healthy and {} must be, so none of {} may be evicted; not ready: {}{}{why}",
                status.current_healthy,
                of_pods(status.expected_pods),
                if status.expected_pods == 1 { "is" } else { "are" },
                status.desired_healthy,
                if always { "the ready ones".to_owned() } else { pods.len().to_string() },
                if shown.is_empty() { "pods that are not created yet" } else { &shown },
                if unready.len() > 3 { format!(" and {} more", unready.len() - 3) } else { String::new() },
            ),
            remedy,
        });
    }
    findings
}

/// `1 pod`, `3 pods`.
fn of_pods(count: i32) -> String {
    super::super::finding::pods(usize::try_from(count).unwrap_or(0))
}

/// A pod that has not been ready for so long is not merely starting.
const STUCK: Span = Span::from_minutes(15);
/// What containers wait for that do not come up by waiting (pkg/kubelet/container, pkg/kubelet/images).
const HOPELESS: [&str; 6] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
];

/// Why a pod will not become ready by waiting, if that can be told.
fn stuck(pod: &Pod, now: Time) -> Option<String> {
    let name = &pod.meta.name;
    let mut containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let waiting = containers.find_map(|container| {
        let reason = &container.state.waiting.as_ref()?.reason;
        HOPELESS.contains(&&**reason).then_some((reason, container.restart_count))
    });
    if let Some((reason, restarts)) = waiting {
        return Some(format!("{name} is in {reason} after {restarts} restarts: waiting does not help"));
    }
    let ready = condition::find(&pod.status.conditions, "Ready")?;
    let since = ready.last_transition_time.filter(|_| pod.node.is_some())?;
    (now - since >= STUCK).then(|| format!("{name} has not been ready for {}", now - since))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, found_under, merge, node, service};
    use super::*;

    #[test]
    fn unready_pods_that_use_up_a_budget_are_named() {
        let pods = |ready: &str| {
            let mut pods = service("web", &["n", "n", "n"], &json!({}));
            pods[4]["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
            pods
        };
        let objects =
            [vec![node("n", "a"), budget("web", &json!({"minAvailable": 2}), (2, 2, 3))], pods("False")]
                .concat();
        assert_eq!(
            found(Rule::PdbUnready, objects),
            [
                "warning pdb-unready PodDisruptionBudget shop/web: 2 of 3 pods are healthy and 2 must be, so none of 3 may be evicted; not ready: web-c"
            ]
        );
        let objects =
            [vec![node("n", "a"), budget("web", &json!({"minAvailable": 2}), (3, 2, 3))], pods("True")]
                .concat();
        assert_eq!(found(Rule::PdbUnready, objects), [""; 0]);
    }

    #[test]
    fn one_that_will_not_become_ready_blocks_and_one_that_is_starting_does_not() {
        let on_node = |on: &str, status: serde_json::Value| {
            let mut pods = service("web", &["n", "n", "n"], &json!({}));
            merge(&mut pods[4]["status"], status);
            pods[4]["spec"]["nodeName"] = json!(on);
            let mut other = node("m", "a");
            other["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("other");
            let nodes = vec![node("n", "a"), other, budget("web", &json!({"minAvailable": 2}), (2, 2, 3))];
            found_under(Rule::PdbUnready, |_| {}, [nodes, pods].concat()).remove(0)
        };
        let with = |status| on_node("m", status);
        let unready = |since: &str| json!({"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": since}]});
        assert!(with(unready("2026-01-01T11:58:00Z")).starts_with("warning"));
        let long = with(unready("2026-01-01T09:00:00Z"));
        assert!(
            long.starts_with("blocking") && long.ends_with("; web-c has not been ready for 3h"),
            "{long}"
        );
        let moved = on_node("n", unready("2026-01-01T09:00:00Z"));
        assert!(moved.starts_with("warning"), "it moves too, and may come up elsewhere: {moved}");
        let mut crashing = unready("2026-01-01T11:58:00Z");
        crashing["containerStatuses"] =
            json!([{"name": "c", "restartCount": 12, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
        let crashing = with(crashing);
        assert!(
            crashing.starts_with("blocking")
                && crashing
                    .ends_with("; web-c is in CrashLoopBackOff after 12 restarts: waiting does not help"),
            "{crashing}"
        );
    }

    #[test]
    fn where_no_ready_pod_has_to_go_nothing_waits() {
        let broken = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let with = |spec: serde_json::Value| {
            let fixed = vec![node("n", "a"), budget("web", &spec, (0, 2, 3))];
            found(Rule::PdbUnready, [fixed, service("web", &["n", "n", "n"], &broken)].concat())
        };
        let always = json!({"minAvailable": 2, "unhealthyPodEvictionPolicy": "AlwaysAllow"});
        assert_eq!(with(always), [""; 0], "unready pods may always go, and there are no others");
        assert_eq!(with(json!({"minAvailable": 2})).len(), 1, "fewer are healthy than must be");
    }

    #[test]
    fn an_eviction_under_way_is_no_unready_pod() {
        let with = |disrupted: serde_json::Value| {
            let mut busy = budget("web", &json!({"minAvailable": 2}), (3, 2, 3));
            merge(&mut busy["status"], json!({"disruptionsAllowed": 0, "disruptedPods": disrupted}));
            let pods = service("web", &["n", "n", "n"], &json!({}));
            found(Rule::PdbUnready, [vec![node("n", "a"), busy], pods].concat())
        };
        assert_eq!(with(json!({"web-a": "2026-01-01T11:59:59Z"})), [""; 0]);
    }
}
