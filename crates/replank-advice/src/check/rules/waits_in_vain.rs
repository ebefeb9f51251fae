//! Pods that count as batch pods by annotation or selector, and belong to something that keeps them running.

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods as count};
use super::super::survey::Survey;
use replank_facts::drain;
use replank_facts::plan::OnDeadline;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_protocol::policy::BatchKind;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, _, _) in survey.services() {
        let pods = survey.workloads.get(workload).map_or(&[][..], Vec::as_slice);
        let kinds = survey
            .subjects_of(pods)
            .filter(|subject| !subject.ends())
            .filter_map(super::super::survey::Subject::batch_kind);
        let kinds: Vec<BatchKind> = kinds.collect();
        let Some(kind) = kinds.first() else { continue };
        let wait = survey.terms.batch.wait;
        let (severity, then) = match survey.terms.batch.on_deadline {
            OnDeadline::Pause => (Severity::Blocking, "then the run is blocked"),
            OnDeadline::Evict => (Severity::Warning, "then evicted"),
            OnDeadline::Skip => (Severity::Warning, "then the nodes are skipped"),
        };
        findings.push(Finding {
            rule: Rule::WaitsInVain,
            severity,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "{} treated as batch ({kind}) that never finish by themselves: the run waits {wait}, {then}",
                count(kinds.len())
            ),
            remedy: remedy(survey, pods, *kind),
        });
    }
    findings
}

/// Taken off the pods that run, an annotation is still on those that are made in their place: nothing is rolled out, and the
/// next roll meets it again.
fn remedy(survey: &Survey<'_>, pods: &[usize], kind: BatchKind) -> Remedy {
    let annotation = match kind {
        BatchKind::NotSafeToEvict => drain::SAFE_TO_EVICT,
        BatchKind::DoNotDisrupt => drain::DO_NOT_DISRUPT,
        BatchKind::Selected | BatchKind::Job | BatchKind::Workflow | BatchKind::RunsOnce => {
            return "exclude them from batch.selector in the plan, or set batch: {wait: 0s, onDeadline: evict}".into();
        }
    };
    let of_kind = survey.subjects_of(pods).filter(|subject| subject.batch_kind() == Some(kind));
    let of = of_kind.map(|subject| Target::new(TargetKind::Pod, subject.pod.meta.key())).collect();
    Remedy::edit(Edit::Annotate { of, annotation: annotation.into(), value: None })
        .note("if they may move; otherwise move them by hand")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, found_under, node, pod, remedies, service};
    use super::*;

    #[test]
    fn annotated_services_are_waited_for_in_vain_and_jobs_are_not() {
        let annotated = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}});
        let objects = [vec![node("n", "a")], service("ca", &["n"], &annotated)].concat();
        assert_eq!(
            found_under(Rule::WaitsInVain, |_| {}, objects.clone()),
            [
                "blocking waits-in-vain Deployment shop/ca: 1 pod treated as batch (do-not-disrupt) that never finish by themselves: the run waits 6h, then the run is blocked"
            ]
        );
        let remedy = &remedies(Rule::WaitsInVain, objects)[0];
        assert!(
            remedy.starts_with("kubectl -n shop annotate pod ca-a karpenter.sh/do-not-disrupt-   #"),
            "{remedy}"
        );
        let job = pod("j", "n", Some(("batch/v1", "Job", "j")), annotated);
        assert_eq!(found(Rule::WaitsInVain, vec![node("n", "a"), job]), [""; 0]);
        // It is moved like any other: nothing waits for it.
        let unsafe_to_evict =
            json!({"metadata": {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}});
        let objects = [vec![node("n", "a")], service("ca", &["n"], &unsafe_to_evict)].concat();
        assert_eq!(found(Rule::WaitsInVain, objects), [""; 0]);
    }
}
