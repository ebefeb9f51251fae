//! Replicas that must not share a zone or a node, where there is no zone or node to spare.

use std::collections::BTreeSet;

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::object::affinity::PodAffinityTerm;
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_ZONE};
use replank_model::object::pod::Pod;
use replank_model::object::workload::{Deployment, DeploymentStrategyType};
use replank_model::text::Text;
use serde_json::json;

use super::super::absent::LeftOut;
use super::super::engine::{Answer, Engine, landed};
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Sample, Subject, Survey};
use replank_facts::finding::counted;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_schedule::Reason;

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in survey.services().filter(|subject| subject.replicas >= 2) {
        for (key, is_per_revision) in apart(&subject.samples[0].pod) {
            findings.extend(finding(survey, subject, &key, is_per_revision));
        }
    }
    findings
}

/// The labels over which its pods must be apart from each other, and whether those of another revision do not count.
fn apart(pod: &Pod) -> BTreeSet<(Text, bool)> {
    let affinity = pod.spec.affinity.as_deref();
    let anti = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let own = |term: &&PodAffinityTerm| {
        let selector = term.label_selector.as_ref().and_then(|selector| selector.compile().ok());
        let is_here = term.namespaces.is_empty()
            || term.namespaces.iter().any(|name| **name == *pod.meta.namespace.as_str());
        is_here && selector.is_some_and(|selector| selector.matches(|key| pod.meta.labels.value(key)))
    };
    let terms = anti.into_iter().flat_map(|anti| &anti.required).filter(own);
    terms
        .map(|term| {
            let per_revision = term.match_label_keys.iter().any(|key| &**key == "pod-template-hash");
            (term.topology_key.clone(), per_revision)
        })
        .collect()
}

fn finding(survey: &Survey<'_>, subject: &Subject, key: &Text, is_per_revision: bool) -> Option<Finding> {
    let lands = subject.lands();
    let nodes =
        lands.iter().flat_map(|id| &survey.ground.kind(*id).nodes).filter_map(|name| survey.view.node(name));
    let domains: BTreeSet<&Text> = nodes.filter_map(|node| node.meta.labels.get(key)).collect();
    let (place, domains) = (place(key), domains.len());
    if domains == 0 {
        return None;
    }
    let most = most_replicas(survey, subject);
    let is_stuck = !is_per_revision && domains <= subject.replicas && is_update_stuck(survey, subject);
    if domains > subject.replicas && most.is_none_or(|most| domains >= most) {
        return None;
    }
    let mut reason = format!(
        "{} must be on different {place}s, and only {} are eligible",
        counted(subject.replicas, "replica"),
        counted(domains, place)
    );
    if domains == subject.replicas {
        reason.push_str(&format!(": while one {place} is unavailable, one replica is Pending"));
    } else if domains < subject.replicas {
        reason.push_str(&format!(": {} Pending", counted(subject.replicas - domains, "replica")));
    }
    if let Some(most) = most.filter(|most| *most > domains) {
        reason.push_str(&format!("; its autoscaler may request {most}"));
    }
    if is_stuck {
        reason.push_str(
            "; a rolling update cannot start: maxUnavailable resolves to 0, and the extra pod that maxSurge allows is unschedulable",
        );
    }
    let is_warning = is_stuck || domains < subject.replicas;
    let remedy = if is_stuck {
        Remedy::edit(Edit::Patch {
            of: Target::new(TargetKind::Deployment, subject.name.key.clone()),
            patch: json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}}),
        })
    } else if let Some(remedy) = of_volumes(survey, subject, key, &mut reason) {
        Remedy::look(remedy)
    } else if &**key == LABEL_HOSTNAME {
        "keep one more eligible node than replicas, and roll these nodes with surge".into()
    } else {
        Remedy::look(format!(
            "keep the rule if a {place} must never run two; otherwise make it preferred (preferredDuringSchedulingIgnoredDuringExecution), or use a topology spread with maxSkew: 1"
        ))
    };
    Some(Finding {
        rule: Rule::NoSpareDomain,
        severity: if is_warning { Severity::Warning } else { Severity::Info },
        object: subject.name.clone(),
        reason,
        remedy,
    })
}

/// What the volumes of its replicas have to do with it: the reason is completed, the remedy is another. The scheduler was asked of
/// each replica without the others, so that where it cannot go its affinity is not why: loosening it would not help.
fn of_volumes(survey: &Survey<'_>, subject: &Subject, key: &Text, reason: &mut String) -> Option<String> {
    let place = place(key);
    let is_unknown = |sample: &Sample| {
        let left = survey.absent.left_out(survey.view, &sample.pod);
        left.contains(&LeftOut::Claim) || left.contains(&LeftOut::Volume)
    };
    if subject.samples.iter().any(is_unknown) {
        reason.push_str("; the snapshot does not show where its volumes can be attached");
        return Some(format!(
            "if its volumes are bound to zones, as EBS volumes are, keep an eligible node in each of these zones: a replica waits for its zone. Otherwise, if a {place} may run two, make the anti-affinity preferred (preferredDuringSchedulingIgnoredDuringExecution)"
        ));
    }
    let by_volume = |answer: &Answer| match answer {
        Answer::Fails(failures) => failures
            .iter()
            .flat_map(|failure| &failure.reasons)
            .any(|reason| matches!(reason, Reason::VolumeNodeAffinity | Reason::NoVolumeZone)),
        Answer::Lands => false,
    };
    let is_held = |sample: &&Sample| {
        let zones: BTreeSet<_> = landed(&sample.answers).map(|id| survey.ground.kind(id).zone()).collect();
        zones.len() == 1 && sample.answers.iter().any(by_volume)
    };
    let held = subject.samples.iter().filter(is_held).count();
    if held == 0 {
        return None;
    }
    let who =
        if held == subject.samples.len() { "each replica".to_owned() } else { format!("{held} of them") };
    reason.push_str(&format!(
        "; the volumes of {who} can be attached in one zone only, regardless of its affinity"
    ));
    Some(
        "keep an eligible node with room for a replica in each of these zones: a replica waits for its zone, because its volume cannot be attached in another. A weaker anti-affinity or a topology spread does not change that"
            .to_owned(),
    )
}

fn place(key: &str) -> &str {
    match key {
        LABEL_ZONE => "zone",
        LABEL_HOSTNAME => "node",
        other => other,
    }
}

/// How many replicas its autoscaler may ask for.
fn most_replicas(survey: &Survey<'_>, subject: &Subject) -> Option<usize> {
    let scalers = survey.view.horizontal_pod_autoscalers.unordered().map(|(_, scaler)| scaler);
    let mut own = scalers.filter(|scaler| {
        let target = &scaler.spec.scale_target_ref;
        scaler.meta.namespace == *subject.namespace()
            && target.kind == subject.name.kind
            && target.name == subject.name.key.name
    });
    own.next().and_then(|scaler| usize::try_from(scaler.spec.max_replicas).ok())
}

/// Whether a rolling update may take no pod away before a further one is there. The percentages are taken of the replicas,
/// surge rounded up and unavailable down, and if both come to 0 one may be unavailable (pkg/controller/deployment/util
/// `ResolveFenceposts`).
fn is_update_stuck(survey: &Survey<'_>, subject: &Subject) -> bool {
    if &*subject.name.kind != "Deployment" {
        return false;
    }
    let Some(deployment) = survey.view.deployments.by_key(&subject.name.key) else { return false };
    let strategy = &deployment.spec.strategy;
    if strategy.r#type == Some(DeploymentStrategyType::Recreate) {
        return false;
    }
    let (surge, unavailable) = bounds(deployment, subject.replicas);
    surge > 0 && unavailable == 0
}

fn bounds(deployment: &Deployment, replicas: usize) -> (i64, i64) {
    let quarter = || IntOrString::from("25%");
    let rolling = deployment.spec.strategy.rolling_update.clone().unwrap_or_default();
    let replicas = i64::try_from(replicas).unwrap_or(i64::MAX);
    let scaled = |value: Option<IntOrString>, rounding| {
        value.unwrap_or_else(quarter).scaled(replicas, rounding).unwrap_or(0)
    };
    (scaled(rolling.max_surge, Rounding::Up), scaled(rolling.max_unavailable, Rounding::Down))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, merge, node, remedies, service};
    use super::*;

    fn with(zones: &[&str], replicas: &[&str], strategy: &Value) -> Vec<Value> {
        let nodes: Vec<Value> =
            ["n", "m", "o", "p"].iter().zip(zones).map(|(name, zone)| node(name, "web", zone)).collect();
        let term = json!({"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "web"}}});
        let spec = json!({"spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}});
        let mut service = service("web", replicas, &spec);
        merge(&mut service[0], json!({"spec": {"strategy": strategy}}));
        [nodes, service].concat()
    }

    #[test]
    fn as_many_replicas_as_zones_leave_none_to_spare() {
        let careful = json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
        assert_eq!(
            found(Rule::NoSpareDomain, with(&["a", "b"], &["n", "m"], &careful)),
            [
                "info no-spare-domain Deployment shop/web: 2 replicas must be on different zones, and only 2 zones are eligible: while one zone is unavailable, one replica is Pending"
            ]
        );
        assert_eq!(found(Rule::NoSpareDomain, with(&["a", "b", "c"], &["n", "m"], &careful)), [""; 0]);
    }

    #[test]
    fn replicas_whose_volumes_are_bound_to_zones_are_not_told_to_prefer() {
        let volume = |name: &str, zone: &str| {
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": name},
                "spec": {"claimRef": {"namespace": "shop", "name": name, "uid": name}, "accessModes": ["ReadWriteOnce"],
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]}}},
                "status": {"phase": "Bound"}})
        };
        let claim = |name: &str| {
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop", "uid": name,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                "spec": {"volumeName": name, "accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Bound"}})
        };
        let careful = json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
        let mut objects = with(&["a", "b"], &["n", "m"], &careful);
        for (pod, name) in [("web-a", "one"), ("web-b", "two")] {
            let pod = objects.iter_mut().find(|one| one["metadata"]["name"] == pod).expect("it is there");
            pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]);
        }
        let unknown = remedies(Rule::NoSpareDomain, objects.clone()).remove(0);
        assert!(unknown.starts_with("if its volumes are bound to zones"), "{unknown}");
        objects.extend([volume("one", "a"), volume("two", "b"), claim("one"), claim("two")]);
        let told = found(Rule::NoSpareDomain, objects.clone());
        assert!(
            told[0].ends_with(
                "the volumes of each replica can be attached in one zone only, regardless of its affinity"
            ),
            "{told:?}"
        );
        let remedy = remedies(Rule::NoSpareDomain, objects).remove(0);
        assert!(remedy.starts_with("keep an eligible node with room"), "{remedy}");
    }

    #[test]
    fn an_update_that_cannot_begin_is_told_with_the_way_out() {
        let objects = || with(&["a", "b", "c"], &["n", "m", "o"], &json!({}));
        let told = found(Rule::NoSpareDomain, objects());
        assert!(
            told.len() == 1
                && told[0].starts_with("warning")
                && told[0].contains("a rolling update cannot start"),
            "{told:?}"
        );
        assert!(remedies(Rule::NoSpareDomain, objects())[0].contains(r#"{"maxSurge":0,"maxUnavailable":1}"#));
        let four = with(&["a", "b", "c", "d"], &["n", "m", "o", "p"], &json!({}));
        let told = found(Rule::NoSpareDomain, four);
        assert!(told[0].starts_with("info"), "25% of four is one: {told:?}");
    }
}
