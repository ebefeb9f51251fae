//! Rows of what runs pods, and of what looks after their number.

use serde_json::Value;

use super::metrics;
use crate::table::duration::human;
use crate::table::look::{Look, labels, millis, selector, selector_or_none, word_or};

const TEMPLATE: &str = "/spec/template/spec/containers";

/// The cells of a resource of this file.
pub(super) fn cells(plural: &str, look: Look<'_>) -> Option<Vec<Value>> {
    Some(match plural {
        "deployments" => deployment(look),
        "replicasets" => replicas(look, selector_or_none(look.at("/spec/selector"))),
        "replicationcontrollers" => replicas(look, labels(look.at("/spec/selector"))),
        "statefulsets" => {
            let [names, images] = look.containers(TEMPLATE);
            vec![look.name(), ready(look), look.age(), names, images]
        }
        "daemonsets" => daemon_set(look),
        "controllerrevisions" => {
            vec![look.name(), controller(look).into(), look.number("/revision").into(), look.age()]
        }
        "podtemplates" => {
            let [names, images] = look.containers("/template/spec/containers");
            vec![look.name(), names, images, labels(look.at("/template/metadata/labels")).into()]
        }
        "jobs" => job(look),
        "cronjobs" => cron_job(look),
        "horizontalpodautoscalers" => vec![
            look.name(),
            format!("{}/{}", look.text("/spec/scaleTargetRef/kind"), look.text("/spec/scaleTargetRef/name"))
                .into(),
            metrics::metrics(look).into(),
            word_or(look.at("/spec/minReplicas"), "<unset>").into(),
            look.number("/spec/maxReplicas").into(),
            look.number("/status/currentReplicas").into(),
            look.age(),
        ],
        "poddisruptionbudgets" => vec![
            look.name(),
            word_or(look.at("/spec/minAvailable"), "N/A").into(),
            word_or(look.at("/spec/maxUnavailable"), "N/A").into(),
            look.number("/status/disruptionsAllowed").into(),
            look.age(),
        ],
        _ => return None,
    })
}

fn ready(look: Look<'_>) -> Value {
    format!("{}/{}", look.number("/status/readyReplicas"), look.number("/spec/replicas")).into()
}

fn deployment(look: Look<'_>) -> Vec<Value> {
    let [names, images] = look.containers(TEMPLATE);
    vec![
        look.name(),
        ready(look),
        look.number("/status/updatedReplicas").into(),
        look.number("/status/availableReplicas").into(),
        look.age(),
        names,
        images,
        selector(look.at("/spec/selector")).into(),
    ]
}

fn replicas(look: Look<'_>, selector: String) -> Vec<Value> {
    let [names, images] = look.containers(TEMPLATE);
    vec![
        look.name(),
        look.number("/spec/replicas").into(),
        look.number("/status/replicas").into(),
        look.number("/status/readyReplicas").into(),
        look.age(),
        names,
        images,
        selector.into(),
    ]
}

fn daemon_set(look: Look<'_>) -> Vec<Value> {
    let [names, images] = look.containers(TEMPLATE);
    vec![
        look.name(),
        look.number("/status/desiredNumberScheduled").into(),
        look.number("/status/currentNumberScheduled").into(),
        look.number("/status/numberReady").into(),
        look.number("/status/updatedNumberScheduled").into(),
        look.number("/status/numberAvailable").into(),
        labels(look.at("/spec/template/spec/nodeSelector")).into(),
        look.age(),
        names,
        images,
        selector_or_none(look.at("/spec/selector")).into(),
    ]
}

fn controller(look: Look<'_>) -> String {
    let Some(owner) = look.list("/metadata/ownerReferences").iter().find(|one| one["controller"] == true)
    else {
        return "<none>".to_owned();
    };
    let word = |member: &str| owner[member].as_str().unwrap_or_default();
    let kind = match word("apiVersion").split_once('/') {
        Some((group, _)) => format!("{}.{group}", word("kind")),
        None => word("kind").to_owned(),
    };
    format!("{}/{}", kind.to_lowercase(), word("name"))
}

fn job(look: Look<'_>) -> Vec<Value> {
    let succeeded = look.number("/status/succeeded");
    let completions = match (look.at("/spec/completions").as_i64(), look.number("/spec/parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let took = match (millis(look.at("/status/startTime")), millis(look.at("/status/completionTime"))) {
        (None, _) => String::new(),
        (Some(start), Some(end)) => human((end - start) / 1_000),
        (Some(start), None) => look.after(start),
    };
    let has = |wanted: &str| {
        look.list("/status/conditions").iter().any(|one| one["type"] == wanted && one["status"] == "True")
    };
    let status = match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if look.is_going() => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    let [names, images] = look.containers(TEMPLATE);
    vec![
        look.name(),
        status.into(),
        completions.into(),
        took.into(),
        look.age(),
        names,
        images,
        selector_or_none(look.at("/spec/selector")).into(),
    ]
}

fn cron_job(look: Look<'_>) -> Vec<Value> {
    let suspended = match look.at("/spec/suspend").as_bool() {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    };
    let last = look.at("/status/lastScheduleTime");
    let last = if last.is_null() { "<none>".to_owned() } else { look.ago(last) };
    let [names, images] = look.containers("/spec/jobTemplate/spec/template/spec/containers");
    vec![
        look.name(),
        look.text("/spec/schedule").into(),
        look.text_or("/spec/timeZone", "<none>"),
        suspended.into(),
        look.list("/status/active").len().into(),
        last.into(),
        look.age(),
        names,
        images,
        selector_or_none(look.at("/spec/jobTemplate/spec/selector")).into(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_says_how_far_it_is() {
        let object = json!({"metadata": {"name": "j", "creationTimestamp": "1970-01-01T00:00:00Z"}, "spec": {"parallelism": 3},
            "status": {"succeeded": 1, "startTime": "1970-01-01T00:00:10Z", "conditions": [{"type": "Suspended", "status": "True"}]}});
        let told = cells("jobs", Look { object: &object, now: crate::table::Moment::At(100_000) })
            .expect("it is one");
        assert_eq!(
            told[..5],
            [json!("j"), json!("Suspended"), json!("1/1 of 3"), json!("90s"), json!("100s")]
        );
    }

    #[test]
    fn a_revision_names_its_controller() {
        let object = json!({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": true}]}});
        assert_eq!(
            controller(Look { object: &object, now: crate::table::Moment::At(0) }),
            "daemonset.apps/d"
        );
    }
}
