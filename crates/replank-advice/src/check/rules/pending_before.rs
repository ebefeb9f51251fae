//! Pods that the scheduler finds no node for as things are: not the roll's doing.

use std::collections::BTreeMap;

use replank_model::object::condition::{self, ConditionStatus};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods, workload_or_pod};
use super::super::survey::Survey;
use replank_facts::places::Places;
use replank_facts::plan::Target;
use replank_facts::workload::workload_of;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<(ObjectName, String, bool), usize> = BTreeMap::new();
    let mut known = BTreeMap::new();
    let mut places = None;
    for (_, pod) in survey.view.pods.sorted() {
        let scheduled = condition::find(&pod.status.conditions, "PodScheduled");
        let refused =
            scheduled.filter(|c| c.status == ConditionStatus::False && &*c.reason == "Unschedulable");
        let Some(refused) = refused.filter(|_| pod.node.is_none() && pod.is_active()) else { continue };
        let object = workload_or_pod(workload_of(survey.view, pod).as_ref(), pod);
        let places = places.get_or_insert_with(|| new_nodes(survey));
        let fits = places.obstacle_of_kind(&mut known, pod).is_none();
        *found.entry((object, refused.message.to_string(), fits)).or_default() += 1;
    }
    let findings = found.into_iter().map(|((object, message, fits), count)| Finding {
        rule: Rule::PendingBefore,
        severity: if fits { Severity::Warning } else { Severity::Info },
        reason: match fits {
            true => format!(
                "{} pending before the roll, and a new node would take them: they use its room before the moved pods; {message}",
                pods(count)
            ),
            false => format!("{} pending before the roll: {message}", pods(count)),
        },
        remedy: match fits {
            true => "add surge for as many nodes as these pods fill; or make room for them or delete them first".to_owned().into(),
            false => {
                format!("kubectl -n {} get pods --field-selector=status.phase=Pending", object.key.namespace).into()
            }
        },
        object,
    });
    findings.collect()
}

/// Empty new nodes of the groups that are rolled, and nothing else.
fn new_nodes(survey: &Survey<'_>) -> Places {
    let nothing = Target::default();
    let target = survey.plan.map_or(&nothing, |plan| &plan.target);
    // Without a plan nothing is rolled: no node will be new.
    let groups = survey.plan.map(|_| survey.groups_renewed()).unwrap_or_default();
    let closed = survey.view.nodes.unordered().map(|(_, node)| node.name()).collect();
    Places::with_groups(survey.view, groups.into_iter(), target, closed)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, node, service};
    use super::*;

    #[test]
    fn pods_without_a_node_are_found_and_gated_ones_are_not() {
        let with = |reason: &str| {
            let mut pods = service("web", &["n", "n"], &json!({}));
            for pod in &mut pods[2..] {
                pod["spec"]["nodeName"] = Value::Null;
                pod["status"] = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                    "reason": reason, "message": "0/1 nodes are available: 1 Insufficient cpu."}]});
            }
            found(Rule::PendingBefore, [vec![node("n", "a")], pods].concat())
        };
        assert_eq!(
            with("Unschedulable"),
            [
                "info pending-before Deployment shop/web: 2 pods pending before the roll: 0/1 nodes are available: 1 \
              Insufficient cpu."
            ]
        );
        assert_eq!(with("SchedulingGated"), [""; 0]);
    }

    #[test]
    fn those_that_fit_on_a_new_node_will_be_in_the_way() {
        let with = |cpu: &str| {
            let spec =
                json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}});
            let mut pods = service("web", &["n"], &spec);
            pods[2]["spec"]["nodeName"] = Value::Null;
            pods[2]["status"] = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu."}]});
            found_under(Rule::PendingBefore, |_| {}, [vec![node("n", "a")], pods].concat()).remove(0)
        };
        assert_eq!(
            with("4"),
            "warning pending-before Deployment shop/web: 1 pod pending before the roll, and a new node would take them: they use its room before the moved pods; 0/1 nodes are available: 1 Insufficient cpu."
        );
        assert!(with("5").starts_with("info"));
    }
}
