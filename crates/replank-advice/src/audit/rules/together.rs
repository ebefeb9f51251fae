//! Replicas that share one node or one zone: what ends it ends the workload.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::UnsatisfiableAction;
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_ZONE};
use replank_model::text::{NodeName, Text};
use serde_json::{Value, json};

use super::super::engine::{Answer, Engine};
use super::super::remedy::patch;
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Subject, Survey};
use replank_facts::finding::counted;
use replank_facts::remedy::Remedy;
use replank_schedule::{Plugin, Scheduler};

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let zones: BTreeSet<&Text> = survey.ground.kinds().filter_map(|(_, kind)| kind.zone()).collect();
    let mut anew = Anew::default();
    let mut findings = Vec::new();
    for subject in survey.services().filter(|subject| subject.replicas >= 2) {
        let nodes: Vec<&NodeName> = subject.nodes().collect();
        if nodes.len() < 2 {
            continue;
        }
        let apart: BTreeSet<&&NodeName> = nodes.iter().collect();
        let here: BTreeSet<Option<&Text>> =
            nodes.iter().filter_map(|node| survey.view.node(node)).map(|node| node.zone()).collect();
        let found = match (apart.len(), here.iter().next()) {
            (1, _) => on_one_node(survey, &mut anew, subject, nodes[0]),
            (_, Some(Some(zone))) if here.len() == 1 && zones.len() > 1 => {
                in_one_zone(survey, &mut anew, subject, zone, zones.len())
            }
            (_, Some(_) | None) => None,
        };
        findings.extend(found);
    }
    findings
}

fn on_one_node(survey: &Survey<'_>, anew: &mut Anew, subject: &Subject, node: &NodeName) -> Option<Finding> {
    let lands = subject.lands();
    // That only one node takes them is another finding.
    if survey.ground.nodes_of(&lands) < 2 {
        return None;
    }
    let zones = reachable(survey, subject);
    let mut keys = vec![(LABEL_HOSTNAME, UnsatisfiableAction::ScheduleAnyway)];
    if zones.len() > 1 {
        keys.insert(0, (LABEL_ZONE, UnsatisfiableAction::DoNotSchedule));
    } else {
        keys[0].1 = UnsatisfiableAction::DoNotSchedule;
    }
    Some(Finding {
        rule: Rule::OneNode,
        severity: Severity::Warning,
        object: subject.name.clone(),
        reason: format!(
            "all {} are on node {node}; {}; {}",
            counted(subject.nodes().count(), "replica"),
            kept_apart(subject, LABEL_HOSTNAME),
            anew.told(survey, subject)
        ),
        remedy: patch(survey, subject, &spread(survey, subject, &keys)),
    })
}

fn in_one_zone(
    survey: &Survey<'_>,
    anew: &mut Anew,
    subject: &Subject,
    zone: &Text,
    zones: usize,
) -> Option<Finding> {
    let reach = reachable(survey, subject);
    let count = counted(subject.nodes().count(), "replica");
    let (severity, why, remedy) = if reach.len() > 1 {
        let keys = [(LABEL_ZONE, UnsatisfiableAction::DoNotSchedule)];
        let why = format!("{}; {}", kept_apart(subject, LABEL_ZONE), anew.told(survey, subject));
        (Severity::Warning, why, patch(survey, subject, &spread(survey, subject, &keys)))
    } else if is_held_by_volumes(subject) {
        (
            Severity::Info,
            "its volumes are there and cannot be attached in another zone".to_owned(),
            Remedy::look(format!(
                "kubectl -n {} get pvc   # only new volumes in other zones, filled from replicas or backups, change it",
                subject.namespace()
            )),
        )
    } else {
        let places = survey.ground.places(&subject.lands());
        (
            Severity::Info,
            format!("the nodes it fits on, {places}, are all in that zone"),
            "add subnets in other zones to that group, or allow its pods in a group that has them".into(),
        )
    };
    Some(Finding {
        rule: Rule::OneZone,
        severity,
        object: subject.name.clone(),
        reason: format!("all {count} are in zone {zone}, one of {zones}; {why}"),
        remedy,
    })
}

/// The zones in which pods of it can land.
fn reachable(survey: &Survey<'_>, subject: &Subject) -> BTreeSet<Text> {
    subject.lands().iter().filter_map(|id| survey.ground.kind(*id).zone().cloned()).collect()
}

/// Whether volumes alone keep its pods out of somewhere.
fn is_held_by_volumes(subject: &Subject) -> bool {
    let by_volume = |answer: &Answer| match answer {
        Answer::Fails(failures) => failures
            .iter()
            .all(|failure| matches!(failure.plugin, Plugin::VolumeBinding | Plugin::VolumeZone)),
        Answer::Lands => false,
    };
    subject.samples.iter().flat_map(|sample| &sample.answers).any(by_volume)
}

/// What its own spec says about keeping replicas apart, and whether that can be relied on.
///
/// The scheduler's own defaults (zone, skew 5; host, skew 3; both ScheduleAnyway: kube-scheduler `PodTopologySpread`,
/// `defaultingType: System`) apply where a spec has no constraint, and only score.
fn kept_apart(subject: &Subject, key: &str) -> &'static str {
    let constraints = &subject.spec().topology_spread_constraints;
    let own: Vec<_> = constraints.iter().filter(|one| *one.topology_key == *key).collect();
    let is_hard = own.iter().any(|one| one.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule);
    let affinity = subject.spec().affinity.as_deref();
    let anti = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let prefers =
        anti.is_some_and(|anti| anti.preferred.iter().any(|one| *one.pod_affinity_term.topology_key == *key));
    if is_hard {
        "its own constraint prevents that for pods scheduled from now on"
    } else if !own.is_empty() {
        "its own constraint is ScheduleAnyway, a preference that other scores outweigh"
    } else if prefers {
        "its own anti-affinity is preferred only, and other scores outweigh it"
    } else if !constraints.is_empty() {
        "its own constraints do not cover it, and they disable the scheduler's default"
    } else {
        "only the scheduler's default spread applies, a preference that other scores outweigh"
    }
}

/// The constraints that it has, with these in place of those over the same label.
fn spread(survey: &Survey<'_>, subject: &Subject, keys: &[(&str, UnsatisfiableAction)]) -> Value {
    let kept = subject.spec().topology_spread_constraints.iter();
    let kept = kept.filter(|one| keys.iter().all(|(key, _)| *one.topology_key != **key));
    let mut all: Vec<Value> = kept.map(|one| json!(one)).collect();
    let selector = json!(survey.selector(subject));
    for (key, action) in keys {
        let mut one =
            json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector});
        if &*subject.name.kind == "Deployment" {
            // Or the pods of the former revision count during an update.
            one["matchLabelKeys"] = json!(["pod-template-hash"]);
        }
        all.push(one);
    }
    json!({"topologySpreadConstraints": all})
}

/// The scheduler of the cluster as it is, made when it is needed first.
#[derive(Default)]
struct Anew {
    scheduler: Option<Scheduler>,
}

impl Anew {
    /// Where the scheduler would put a workload's pods if all were placed again now, with everything else where it is.
    fn told(&mut self, survey: &Survey<'_>, subject: &Subject) -> String {
        let scheduler = self.scheduler.get_or_insert_with(|| Scheduler::load(survey.view));
        let mut trial = scheduler.trial();
        for pod in &subject.pods {
            trial.take_away(survey.view, &pod.meta.key());
        }
        let mut zones: BTreeMap<Option<Text>, usize> = BTreeMap::new();
        let mut nodes: BTreeSet<NodeName> = BTreeSet::new();
        let mut without = 0;
        for pod in &subject.pods {
            let mut unbound = (**pod).clone();
            unbound.node = None;
            unbound.status = replank_model::object::pod::PodStatus::default();
            let unbound = std::sync::Arc::new(survey.absent.less(survey.view, unbound));
            match trial.place(survey.view, &unbound, 0) {
                Ok(placed) => {
                    trial.assume(survey.view, &unbound, &placed.node, &placed.volumes);
                    let zone = survey.view.node(&placed.node).and_then(|node| node.zone().cloned());
                    *zones.entry(zone).or_default() += 1;
                    nodes.insert(placed.node);
                }
                Err(_) => without += 1,
            }
        }
        let nodes = counted(nodes.len(), "node");
        let missing = if without > 0 { format!(", {without} of them nowhere") } else { String::new() };
        format!("rescheduled now, they would be on {nodes} in {}{missing}", counted(zones.len(), "zone"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, remedies, service};
    use super::*;

    fn nodes() -> Vec<Value> {
        vec![node("n", "web", "a"), node("m", "web", "a"), node("o", "web", "b")]
    }

    #[test]
    fn replicas_on_one_node_are_found_and_spread() {
        let objects = || [nodes(), service("web", &["n", "n"], &json!({}))].concat();
        assert_eq!(
            found(Rule::OneNode, objects()),
            [
                "warning one-node Deployment shop/web: all 2 replicas are on node n; only the scheduler's default spread applies, a preference that other scores outweigh; rescheduled now, they would be on 2 nodes in 2 zones"
            ]
        );
        assert_eq!(found(Rule::OneZone, objects()), [""; 0], "one node says it all");
        let remedy = remedies(Rule::OneNode, objects()).remove(0);
        assert!(
            remedy.contains(
                r#"{"labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["pod-template-hash"],"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule"}"#
            ) && remedy.contains(r#""topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway""#),
            "{remedy}"
        );
        assert_eq!(
            found(Rule::OneNode, [nodes(), service("web", &["n", "m"], &json!({}))].concat()),
            [""; 0]
        );
        assert_eq!(found(Rule::OneNode, [nodes(), service("web", &["n"], &json!({}))].concat()), [""; 0]);
    }

    #[test]
    fn replicas_in_one_zone_are_found_with_what_their_spec_says() {
        let with = |spec| {
            found(Rule::OneZone, [nodes(), service("web", &["n", "m"], &json!({"spec": spec}))].concat())
        };
        let spread = |action: &str| {
            json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": action,
                "labelSelector": {"matchLabels": {"app": "web"}}}]})
        };
        let found = with(spread("ScheduleAnyway"));
        assert_eq!(
            found,
            [
                "warning one-zone Deployment shop/web: all 2 replicas are in zone a, one of 2; its own constraint is ScheduleAnyway, a preference that other scores outweigh; rescheduled now, they would be on 2 nodes in 2 zones"
            ]
        );
        assert!(
            with(spread("DoNotSchedule"))[0]
                .contains("its own constraint prevents that for pods scheduled from now on")
        );
        let apart = [nodes(), service("web", &["n", "o"], &json!({}))].concat();
        assert_eq!(super::super::stage::found(Rule::OneZone, apart), [""; 0]);
    }

    #[test]
    fn a_zone_that_selectors_or_volumes_force_is_told_as_such() {
        let pinned = json!({"spec": {"nodeSelector": {"topology.kubernetes.io/zone": "a"}}});
        let told = found(Rule::OneZone, [nodes(), service("web", &["n", "m"], &pinned)].concat());
        assert!(
            told.len() == 1 && told[0].starts_with("info") && told[0].contains("are all in that zone"),
            "{told:?}"
        );
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "v"},
            "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "c"}, "accessModes": ["ReadWriteMany"],
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}]}}},
            "status": {"phase": "Bound"}});
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "c",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": "v", "accessModes": ["ReadWriteMany"]}, "status": {"phase": "Bound"}});
        let held =
            json!({"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}});
        let told =
            found(Rule::OneZone, [nodes(), vec![volume, claim], service("web", &["n", "m"], &held)].concat());
        assert!(
            told.len() == 1 && told[0].starts_with("info") && told[0].contains("its volumes are there"),
            "{told:?}"
        );
    }
}
