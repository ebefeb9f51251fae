//! Autoscalers at their maximum: no replica can be added while pods move.

use std::sync::Arc;

use replank_hpa::{Config, Given, Memory, Metrics, Scale, judge};
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::condition;
use replank_model::object::pod::Pod;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use super::scale;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_facts::workload::Workload;
use serde_json::json;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let scalers = survey.view.horizontal_pod_autoscalers.sorted();
    if scalers.is_empty() {
        return Vec::new();
    }
    let mut measured = Metrics::default();
    measured.fill_from_snapshot(survey.view);
    scalers.into_iter().filter_map(|(_, hpa)| judged(survey, hpa, &measured)).collect()
}

fn judged(survey: &Survey<'_>, hpa: &HorizontalPodAutoscaler, measured: &Metrics) -> Option<Finding> {
    let target = &hpa.spec.scale_target_ref;
    let workload = survey.workloads.keys().find(|workload| {
        workload.kind == target.kind
            && workload.key.name == target.name
            && workload.key.namespace == hpa.meta.namespace
    })?;
    let (maximum, desired) = (hpa.spec.max_replicas, hpa.status.desired_replicas);
    if maximum < 1 {
        return None;
    }
    // What the status wants is as old as the last sync, and no more than the maximum was then.
    let asked = asked(survey, hpa, workload, measured);
    let limited = condition::find(&hpa.status.conditions, "ScalingLimited");
    let is_limited =
        desired >= maximum && limited.is_some_and(|limited| &*limited.reason == "TooManyReplicas");
    // After a peak the status may want more than the metrics do by now.
    if asked.unwrap_or(desired) < maximum {
        return None;
    }
    let more = asked.filter(|asked| *asked > maximum);
    let is_at = if desired >= maximum { "is at" } else { "reaches" };
    let wants = match (more, is_limited) {
        (Some(more), _) => format!(", and its metrics ask for {more}"),
        (None, true) => ", and needs more".to_owned(),
        (None, false) => String::new(),
    };
    let least = more.unwrap_or(maximum);
    let note = match asked {
        Some(asked) => format!("its metrics ask for {asked} now; the rest is headroom"),
        None => "a quarter more: what its metrics ask for is not in the snapshot".to_owned(),
    };
    Some(Finding {
        rule: Rule::HpaAtMaximum,
        severity: if more.is_some() || is_limited { Severity::Warning } else { Severity::Info },
        object: ObjectName::new("HorizontalPodAutoscaler", hpa.meta.key()),
        reason: format!(
            "{} {} {is_at} its maximum of {maximum} replicas{wants}: no headroom",
            target.kind, target.name
        ),
        remedy: Remedy::edit(Edit::Patch {
            of: Target::new(TargetKind::HorizontalPodAutoscaler, hpa.meta.key()),
            patch: json!({"spec": {"maxReplicas": least.saturating_add(least.saturating_add(3) / 4)}}),
        })
        .note(note)
        .or_look(format!("kubectl -n {} describe hpa {}", hpa.meta.namespace, hpa.meta.name)),
    })
}

/// Replicas that the metrics ask for, whatever the maximum is: one sync, as `replank hpa explain` tells it. None where what was measured is not in the snapshot, or not
/// all of it.
fn asked(
    survey: &Survey<'_>,
    hpa: &HorizontalPodAutoscaler,
    workload: &Workload,
    measured: &Metrics,
) -> Option<i32> {
    let view = survey.view;
    let selector = scale::selector_of(survey, workload)?.compile().ok()?;
    let selected = view.select_pods(&hpa.meta.namespace, &selector);
    let mut pods: Vec<Arc<Pod>> = selected.filter_map(|ix| view.pods.get(ix).cloned()).collect();
    pods.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    let scale = Scale {
        spec_replicas: workload.replicas(view)?,
        status_replicas: i32::try_from(pods.iter().filter(|pod| pod.is_active()).count()).ok()?,
        selector: selector.to_string(),
    };
    let of_namespace = measured.pods.iter().filter(|one| one.meta.namespace == hpa.meta.namespace);
    let mut metrics = Metrics { pods: of_namespace.cloned().collect(), ..Metrics::default() };
    let is_told = metrics.fill_from_status(hpa, &pods, scale.status_replicas, survey.now());
    if !is_told && metrics.pods.is_empty() {
        return None;
    }
    let given = Given {
        hpa,
        scale: Ok(scale),
        pods: &pods,
        metrics: &metrics,
        rivals: &[],
        now: survey.now(),
        config: Config::default(),
    };
    let outcome = judge(&given, Memory::default()).close(|_| Ok(()));
    outcome.steps.chosen.filter(|_| outcome.error.is_none()).map(|chosen| chosen.replicas)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, remedies, service};
    use super::*;

    #[test]
    fn an_autoscaler_at_its_maximum_is_found_if_its_pods_move() {
        let hpa = |name: &str, wanted: i32| {
            json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name, "namespace": "shop"},
                "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "maxReplicas": 10},
                "status": {"desiredReplicas": wanted, "conditions": [{"type": "ScalingLimited", "status": "True", "reason": "TooManyReplicas"}]}})
        };
        let with = |hpa| {
            found(
                Rule::HpaAtMaximum,
                [vec![node("n", "a"), hpa], service("web", &["n"], &json!({}))].concat(),
            )
        };
        assert_eq!(
            with(hpa("web", 10)),
            [
                "warning hpa-at-maximum HorizontalPodAutoscaler shop/web: Deployment web is at its maximum of 10 replicas, and needs more: no headroom"
            ]
        );
        assert_eq!(with(hpa("web", 9)), [""; 0]);
        assert_eq!(with(hpa("elsewhere", 10)), [""; 0], "its pods are not touched");
    }

    /// Five pods that use so much of the 100m that they request, and an autoscaler that wants 70% of it.
    fn measured(maximum: i32, used: &str, limited: &str) -> Vec<Value> {
        let cpu =
            |target: Value| json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
        let current =
            json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": used}}}]);
        let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": maximum,
                "metrics": cpu(json!({"type": "Utilization", "averageUtilization": 70}))},
            "status": {"currentReplicas": 5, "desiredReplicas": 5, "currentMetrics": current,
                "conditions": [{"type": "ScalingLimited", "status": "True", "reason": limited}]}});
        let requests =
            json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}});
        let mut web = service("web", &["n"; 5], &requests);
        web[0]["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
        [vec![node("n", "a"), hpa], web].concat()
    }

    #[test]
    fn what_the_metrics_ask_for_decides_and_is_the_least_that_is_advised() {
        let patch = |maximum: i32, note: &str| {
            vec![format!(
                "kubectl -n shop patch hpa web --type merge -p '{{\"spec\":{{\"maxReplicas\":{maximum}}}}}'   # {note}"
            )]
        };
        // 5 × 95 / 70 is 6.8.
        let more = || measured(5, "95m", "TooManyReplicas");
        assert_eq!(
            found(Rule::HpaAtMaximum, more()),
            [
                "warning hpa-at-maximum HorizontalPodAutoscaler shop/web: Deployment web is at its maximum of 5 replicas, and its metrics ask for 7: no headroom"
            ]
        );
        assert_eq!(
            remedies(Rule::HpaAtMaximum, more()),
            patch(9, "its metrics ask for 7 now; the rest is headroom")
        );
        // With a maximum that is raised the status is that of the last sync still.
        let raised = |maximum| found(Rule::HpaAtMaximum, measured(maximum, "95m", "TooManyReplicas"));
        assert!(raised(6)[0].contains("web reaches its maximum of 6 replicas, and its metrics ask for 7"));
        assert!(
            raised(7)[0].starts_with("info")
                && raised(7)[0].contains("reaches its maximum of 7 replicas: no")
        );
        assert_eq!(raised(9), [""; 0]);
        // It is on its way down.
        for limited in ["DesiredWithinRange", "TooManyReplicas"] {
            assert_eq!(found(Rule::HpaAtMaximum, measured(5, "40m", limited)), [""; 0]);
        }
        // Within the tolerance of a tenth it stays.
        assert!(found(Rule::HpaAtMaximum, measured(5, "72m", "DesiredWithinRange"))[0].starts_with("info"));
        let mut unknown = more();
        unknown[1]["status"]["currentMetrics"] = json!([]);
        assert!(
            found(Rule::HpaAtMaximum, unknown.clone())[0]
                .ends_with("of 5 replicas, and needs more: no headroom")
        );
        assert_eq!(
            remedies(Rule::HpaAtMaximum, unknown),
            patch(7, "a quarter more: what its metrics ask for is not in the snapshot")
        );
    }
}
