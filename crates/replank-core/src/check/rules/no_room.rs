//! Pods that fit on no node that stays and on no new one, by the scheduler's judgement.
//!
//! Old nodes are taken as full; of every group that is rolled, or that nodes move into, one empty new node of each zone and
//! shape is added. A pod that
//! finds no place then, with everything else where it is, will find none in the roll either.

use std::collections::BTreeMap;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::{Subject, Survey};
use crate::drain::{Fate, Otherwise};
use crate::plan::Target;
use crate::roll::Places;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let nothing = Target::default();
    let target = survey.plan.map_or(&nothing, |plan| &plan.target);
    let groups = survey.groups_renewed();
    let mut places = Places::with_groups(survey.view, groups.into_iter(), target, survey.nodes.clone());
    let mut known = BTreeMap::new();
    let mut findings: BTreeMap<ObjectName, (Finding, usize)> = BTreeMap::new();
    for subject in survey.subjects.iter().filter(|subject| moves(subject)) {
        let Some(message) = places.obstacle_of_kind(&mut known, &subject.pod) else { continue };
        let object = match &subject.workload {
            Some(workload) => ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            None => ObjectName::new("Pod", subject.pod.meta.key()),
        };
        let known = findings.entry(object.clone()).or_insert_with(|| (finding(object, subject, &message), 0));
        known.1 += 1;
    }
    let counted = findings.into_values().map(|(mut finding, count)| {
        if count > 1 {
            finding.reason = format!("{}: {}", pods(count), finding.reason);
        }
        finding
    });
    counted.collect()
}

fn moves(subject: &Subject) -> bool {
    match subject.fate {
        Fate::Plain(otherwise) | Fate::Batch { otherwise, .. } => {
            otherwise == Otherwise::Moves && !subject.ends()
        }
        Fate::Unrecorded | Fate::Finished | Fate::Leaving { .. } | Fate::Stays => false,
    }
}

fn finding(object: ObjectName, subject: &Subject, message: &str) -> Finding {
    Finding {
        rule: Rule::NoRoom,
        severity: Severity::Blocking,
        object,
        reason: format!(
            "no place on a node that stays or on a new one; with old nodes taken as full: {message}"
        ),
        remedy: format!(
            "kubectl -n {ns} get pod {pod} -o jsonpath='{{.spec.nodeSelector}} {{.spec.affinity}} {{.spec.tolerations}}'   # make \
             them fit the new nodes, or raise requests that no node can meet",
            ns = subject.pod.meta.namespace,
            pod = subject.pod.meta.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn a_pod_that_no_new_node_can_take_is_found_with_the_schedulers_words() {
        let picky = json!({"spec": {"nodeSelector": {"disk": "fast"}}});
        let found_here =
            found(Rule::NoRoom, [vec![node("n", "a")], service("web", &["n", "n"], &picky)].concat());
        assert_eq!(found_here.len(), 1);
        assert!(
            found_here[0].starts_with(
                "blocking no-room Deployment shop/web: 2 pods: no place on a node that stays or on a new one; "
            ) && found_here[0].contains("0/2 nodes are available"),
            "{found_here:?}"
        );
    }

    #[test]
    fn a_pod_that_fills_a_node_fits_on_a_new_one() {
        let big = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}});
        assert_eq!(
            found(Rule::NoRoom, [vec![node("n", "a")], service("web", &["n"], &big)].concat()),
            [""; 0]
        );
        let bigger =
            json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5"}}}]}});
        assert_eq!(
            found(Rule::NoRoom, [vec![node("n", "a")], service("web", &["n"], &bigger)].concat()).len(),
            1
        );
    }
}
