//! Runs that begin before the old nodes can be cordoned: they land on a node that is to go, and hold it until they are done.

use replank_model::time::Span;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy, Target};
use serde_json::json;

/// What it takes until old nodes are cordoned, with room to spare: an instance boots and joins, DaemonSet pods start.
const UNTIL_CORDON: Span = Span::from_minutes(15);
/// A managed node group's own update gives up on a node after as long.
const TOO_LONG: Span = Span::from_minutes(15);

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let now = survey.now();
    let mut findings = Vec::new();
    for series in survey.series_here() {
        let Some(next) = series.next(now).filter(|next| *next - now <= UNTIL_CORDON) else { continue };
        let run = series.typical();
        // If the start after this one comes as soon, another time is no better.
        let after = series.next(next).map(|after| after - next);
        if after.is_some_and(|gap| gap < run.unwrap_or(Span::ZERO) + UNTIL_CORDON + UNTIL_CORDON) {
            continue;
        }
        let expected = series.past.map_or(String::new(), |past| format!("; {past}"));
        let workload = &series.workload;
        let clear = next + run.unwrap_or(TOO_LONG);
        findings.push(Finding {
            rule: Rule::CronSoon,
            severity: if run.is_some_and(|run| run > TOO_LONG) { Severity::Warning } else { Severity::Info },
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "{}: the next run starts at {next}, in {}, before old nodes can be cordoned, and blocks the node it lands on{expected}",
                series.written,
                next - now
            ),
            remedy: {
                let look = format!("start after {clear}, or at a time that `replank rehearse --start-sweep 7d` recommends");
                match Target::workload(workload) {
                    Some(of) => Remedy::edit(Edit::Patch { of, patch: json!({"spec": {"suspend": true}}) })
                        .note("until the nodes are cordoned; a start that is missed meanwhile may be lost")
                        .look_first(look),
                    None => Remedy::look(look),
                }
            },
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, merge, node};
    use super::*;

    /// The snapshot is of 12:00.
    fn with(extra: Value) -> Vec<String> {
        let mut cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "report", "namespace": "shop", "uid": "c"},
            "spec": {"schedule": "10 12 * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}}}});
        merge(&mut cron["spec"], extra);
        let past = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report-1", "namespace": "shop", "uid": "j",
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "report", "uid": "c", "controller": true}]},
            "status": {"startTime": "2025-12-31T12:10:00Z", "completionTime": "2025-12-31T13:00:00Z", "conditions": [{"type": "Complete", "status": "True"}]}});
        found(Rule::CronSoon, vec![node("n", "a"), cron, past])
    }

    #[test]
    fn a_run_within_minutes_is_found_with_its_expected_length() {
        assert_eq!(
            with(json!({})),
            [
                "warning cron-soon CronJob shop/report: 10 12 * * *: the next run starts at 2026-01-01T12:10:00Z, in 10m, before old nodes can be cordoned, and blocks the node it lands on; an earlier run took 50m"
            ]
        );
        assert_eq!(with(json!({"timeZone": "Asia/Tokyo", "schedule": "10 21 * * *"})).len(), 1);
    }

    #[test]
    fn one_that_is_later_held_elsewhere_or_always_soon_is_not() {
        assert_eq!(with(json!({"schedule": "16 12 * * *"})), [""; 0]);
        assert_eq!(with(json!({"suspend": true})), [""; 0]);
        assert_eq!(with(json!({"schedule": "*/30 * * * *"})), [""; 0]);
        let elsewhere =
            json!({"jobTemplate": {"spec": {"template": {"spec": {"nodeSelector": {"tier": "batch"}}}}}});
        assert_eq!(with(elsewhere), [""; 0]);
    }
}
