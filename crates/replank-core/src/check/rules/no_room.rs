//! Pods that fit on no node that stays and on no new one, by the scheduler's judgement.
//!
//! Old nodes are taken as full; of every group that is rolled one empty new node of each zone and shape is added. A pod that
//! finds no place then, with everything else where it is, will find none in the roll either.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cloud::NodeGroup;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::volume::{CsiNode, CsiNodeSpec};
use replank_model::text::{Namespace, NodeName, Text};
use replank_model::view::View;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::{Subject, Survey};
use crate::drain::{Fate, Otherwise};
use crate::plan::Target;
use crate::roll;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut view = survey.view.clone();
    add_new_nodes(survey, &mut view);
    let mut places = roll::Places::new(&view, survey.nodes.clone());
    let mut answers: BTreeMap<(usize, Namespace, Text), Option<Text>> = BTreeMap::new();
    let mut findings: BTreeMap<ObjectName, (Finding, usize)> = BTreeMap::new();
    for subject in survey.subjects.iter().filter(|subject| moves(subject)) {
        let answer =
            answers.entry(alike(&subject.pod)).or_insert_with(|| places.obstacle(&subject.pod)).clone();
        let Some(message) = answer else { continue };
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

/// Pods of one spec and one set of labels get one answer; a volume of their own makes specs differ.
fn alike(pod: &Pod) -> (usize, Namespace, Text) {
    let spec: *const PodSpec = Arc::as_ptr(&pod.spec);
    let labels: Vec<String> = pod.meta.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    (spec as usize, pod.meta.namespace.clone(), Text::from(labels.join(",")))
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

/// One empty new node for every zone and shape of every group that is rolled.
fn add_new_nodes(survey: &Survey<'_>, view: &mut View) {
    let nothing = Target::default();
    let target = survey.plan.map_or(&nothing, |plan| &plan.target);
    let touched: BTreeSet<_> = survey.groups_touched();
    for group in touched.iter().filter_map(|name| survey.groups.get(name)) {
        let template = roll::new_template(target, group.template());
        for zone in &group.zones {
            for (number, shape) in template.shapes.iter().enumerate() {
                let name = NodeName::from(format!("new-{}-{zone}-{number}", group.name));
                let mut node = template.node(&name, zone, shape);
                node.status.conditions = vec![ready()];
                node.meta.creation_timestamp = Some(survey.now());
                view.apply(Delta::from(node));
                add_csi_node(view, group, &name, shape);
            }
        }
    }
}

fn add_csi_node(
    view: &mut View,
    _group: &NodeGroup,
    name: &NodeName,
    shape: &replank_model::object::cloud::NodeShape,
) {
    if shape.csi_drivers.is_empty() {
        return;
    }
    let mut csi = CsiNode { spec: CsiNodeSpec { drivers: shape.csi_drivers.clone() }, ..CsiNode::default() };
    csi.meta.name = name.into();
    view.apply(Delta::from(csi));
}

fn ready() -> Condition {
    Condition { r#type: "Ready".into(), status: ConditionStatus::True, ..Condition::default() }
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
