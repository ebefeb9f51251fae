//! All replicas on one node, or in one zone: what ends it ends the workload.

use std::collections::BTreeSet;

use replank_model::object::node::{LABEL_HOSTNAME, LABEL_ZONE};
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};
use serde_json::{Value, json};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods as counted};
use super::super::survey::{Subject, Survey};
use super::scale::selector_of;
use super::zone_bound::zones_of;
use replank_facts::daemon;
use replank_facts::remedy::{Edit, Remedy, Target};
use replank_facts::workload::Workload;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, _) in survey.services() {
        if survey.replicas(workload, subject) < 2 {
            continue;
        }
        let pods = placed(survey, subject);
        if pods.len() < 2 {
            continue;
        }
        let nodes: BTreeSet<&str> =
            pods.iter().filter_map(|pod| pod.node.as_ref()).map(NodeName::as_str).collect();
        let zones: BTreeSet<Option<Text>> = pods.iter().map(|pod| zone(survey, pod)).collect();
        let found = match (nodes.len(), zones.first()) {
            (1, _) => {
                on_one_node(survey, workload, subject, pods.len(), nodes.first().copied().unwrap_or_default())
            }
            (_, Some(Some(zone))) if zones.len() == 1 => {
                in_one_zone(survey, workload, subject, pods.len(), zone)
            }
            (_, Some(Some(_) | None) | None) => None,
        };
        findings.extend(found);
    }
    findings
}

/// All pods of a subject's owner that are on a node, those on nodes that stay among them.
fn placed<'a>(survey: &'a Survey<'_>, subject: &Subject) -> Vec<&'a Pod> {
    let Some(owner) = subject.pod.meta.controller() else { return Vec::new() };
    let all = survey.view.pods_of(&owner.uid).iter().map(|ix| &*survey.view.pods[*ix]);
    all.filter(|pod| pod.is_active() && pod.node.is_some()).collect()
}

fn zone(survey: &Survey<'_>, pod: &Pod) -> Option<Text> {
    survey.view.node(pod.node.as_ref()?)?.zone().cloned()
}

fn on_one_node(
    survey: &Survey<'_>,
    workload: &Workload,
    subject: &Subject,
    count: usize,
    node: &str,
) -> Option<Finding> {
    let mut others = survey.view.nodes.unordered().filter(|(_, other)| other.meta.name.as_str() != node);
    // If no other node fits, spreading them does not help: `no-room` and `placed-apart` speak of that.
    if !others.any(|(_, other)| daemon::is_eligible(&subject.pod.spec, other)) {
        return None;
    }
    let drain = match survey.view.budgets_of(subject.ix) {
        [] => "the drain of that node takes all of them at once",
        _ => "they all fail with that node",
    };
    Some(Finding {
        rule: Rule::OneNode,
        severity: Severity::Warning,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!("all {} are on node {node}: {drain}", counted(count)),
        remedy: spread(survey, workload, subject, LABEL_HOSTNAME),
    })
}

fn in_one_zone(
    survey: &Survey<'_>,
    workload: &Workload,
    subject: &Subject,
    count: usize,
    zone: &Text,
) -> Option<Finding> {
    let eligible =
        survey.view.nodes.unordered().filter(|(_, node)| daemon::is_eligible(&subject.pod.spec, node));
    let reach: BTreeSet<&Text> = eligible.filter_map(|(_, node)| node.zone()).collect();
    // Volumes that are bound to the zone are what `zone-bound` tells.
    if reach.len() < 2 || !zones_of(survey, workload).is_empty() {
        return None;
    }
    Some(Finding {
        rule: Rule::OneZone,
        severity: Severity::Info,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!(
            "all {} are in zone {zone}, one of {} that they fit in: they all fail with that zone",
            counted(count),
            reach.len()
        ),
        remedy: spread(survey, workload, subject, LABEL_ZONE),
    })
}

/// A constraint over a label, beside those that the pods have over others. A merge patch replaces lists as a whole.
fn spread(survey: &Survey<'_>, workload: &Workload, subject: &Subject, key: &str) -> Remedy {
    let known = &subject.pod.spec.topology_spread_constraints;
    let kept = known.iter().filter(|one| &*one.topology_key != key).map(|one| json!(one));
    let target = Target::workload(workload);
    let Some((selector, of)) = selector_of(survey, workload).zip(target) else {
        return format!("add a topologySpreadConstraint over {key} to the pods of {workload}").into();
    };
    let own = json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector});
    let all: Vec<Value> = kept.chain([own]).collect();
    let patch = json!({"spec": {"template": {"spec": {"topologySpreadConstraints": all}}}});
    Remedy::edit(Edit::Patch { of, patch }).note("a rollout: its pods are recreated")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, node, remedies, service};
    use super::*;

    fn nodes() -> Vec<Value> {
        vec![node("n", "a"), node("m", "a"), node("o", "b")]
    }

    #[test]
    fn replicas_that_share_their_only_node_are_found_and_the_others_are_not() {
        let with = |on: &[&str]| found(Rule::OneNode, [nodes(), service("web", on, &json!({}))].concat());
        assert_eq!(
            with(&["n", "n"]),
            [
                "warning one-node Deployment shop/web: all 2 pods are on node n: the drain of that node takes all of them at once"
            ]
        );
        assert_eq!(with(&["n", "m"]), [""; 0]);
        assert_eq!(with(&["n"]), [""; 0], "one replica is another matter");
        let kept = vec![budget("web", &json!({"maxUnavailable": 1}), (2, 1, 2))];
        let kept = found(Rule::OneNode, [nodes(), kept, service("web", &["n", "n"], &json!({}))].concat());
        assert!(kept[0].ends_with("they all fail with that node"), "{kept:?}");
    }

    #[test]
    fn what_no_other_node_takes_is_not_found() {
        let pinned = json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": "n"}}});
        assert_eq!(found(Rule::OneNode, [nodes(), service("web", &["n", "n"], &pinned)].concat()), [""; 0]);
    }

    #[test]
    fn replicas_in_one_zone_of_several_are_told() {
        let with =
            |on: &[&str], extra: &Value| found(Rule::OneZone, [nodes(), service("web", on, extra)].concat());
        assert_eq!(
            with(&["n", "m"], &json!({})),
            [
                "info one-zone Deployment shop/web: all 2 pods are in zone a, one of 2 that they fit in: they all fail with that zone"
            ]
        );
        assert_eq!(with(&["n", "o"], &json!({})), [""; 0]);
        let pinned = json!({"spec": {"nodeSelector": {"topology.kubernetes.io/zone": "a"}}});
        assert_eq!(with(&["n", "m"], &pinned), [""; 0], "they fit in no other");
    }

    #[test]
    fn the_patch_keeps_the_constraints_that_there_are() {
        let zone = json!({"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}}});
        let mut web = service("web", &["n", "n"], &json!({"spec": {"topologySpreadConstraints": [zone]}}));
        web[0]["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
        let remedy = remedies(Rule::OneNode, [nodes(), web].concat()).remove(0);
        assert!(
            remedy.starts_with("kubectl -n shop patch deployment/web --type merge -p '{\"spec\":")
                && remedy.contains("topology.kubernetes.io/zone")
                && remedy.contains("kubernetes.io/hostname"),
            "{remedy}"
        );
    }
}
