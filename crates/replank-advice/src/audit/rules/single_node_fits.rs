//! Pods that one node only can take: when it goes, they have no place.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_HOSTNAME, Node};
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, Text};

use super::super::engine::{Answer, Engine};
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Subject, Survey};
use replank_facts::finding::counted;
use replank_schedule::{Plugin, predicate};

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    if survey.ground.nodes() < 2 {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for subject in survey.scheduled() {
        let lands = subject.lands();
        if survey.ground.nodes_of(&lands) != 1 {
            continue;
        }
        let kind = survey.ground.kind(*lands.first().expect("one node is of some kind"));
        let Some(node) = survey.view.nodes.by_key(&Key::cluster(&kind.nodes[0])) else { continue };
        let cause = cause(survey, subject, node);
        // A group that grows by itself makes another node like this one.
        let is_info = matches!(cause, Cause::Volumes { .. }) || kind.scaler.is_some();
        findings.push(Finding {
            rule: Rule::SingleNodeFits,
            severity: if is_info { Severity::Info } else { Severity::Warning },
            object: subject.name.clone(),
            reason: format!("it fits on node {} only: {cause}", node.meta.name),
            remedy: remedy(subject, kind.group.as_ref(), &cause).into(),
        });
    }
    findings
}

/// What makes a node the only one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    /// Node selector and required affinity.
    Selector,
    /// Volumes: where they can be attached, and what the other nodes there object to.
    Volumes { within: Within, there: Option<String> },
    /// What the other nodes that are selected object to.
    Objections(String),
}

/// Where volumes can be attached.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Within {
    /// To the one node that they are on.
    Node,
    /// To every node of a zone.
    Zone(Text),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector => f.write_str("its node selector and required affinity match no other node"),
            Self::Volumes { within: Within::Node, .. } => f.write_str("its volumes are on that node"),
            Self::Volumes { within: Within::Zone(zone), there: None } => {
                write!(
                    f,
                    "its volumes can be attached in zone {zone} only, where it is the only node that is selected"
                )
            }
            Self::Volumes { within: Within::Zone(zone), there: Some(told) } => {
                write!(
                    f,
                    "its volumes can be attached in zone {zone} only, and of the other nodes there {told}"
                )
            }
            Self::Objections(told) => f.write_str(told),
        }
    }
}

/// Labels that kubelets, clouds and autoscalers write: nobody gives them to a second node.
const WRITTEN_BY_OTHERS: [&str; 4] = ["kubernetes.io/", "amazonaws.com/", "karpenter", "k8s.io/"];

/// A second node that has what the pods ask for.
fn remedy(subject: &Subject, group: Option<&GroupName>, cause: &Cause) -> String {
    let selector = &subject.spec().node_selector;
    let is_free = |key: &str| !WRITTEN_BY_OTHERS.iter().any(|part| key.contains(part));
    match (cause, group) {
        (Cause::Volumes { within: Within::Node, .. }, _) => format!(
            "kubectl -n {} get pvc   # if you drain that node, the pod is Pending until it is back",
            subject.namespace()
        ),
        (Cause::Volumes { within: Within::Zone(zone), .. }, group) => format!(
            "have a second node for it in zone {zone}{}: without one it is Pending when you drain that node",
            group.map_or_else(String::new, |group| format!(", such as one of group {group}"))
        ),
        (Cause::Selector, _) if !selector.is_empty() && selector.iter().all(|(key, _)| is_free(key)) => {
            let asked: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!(
                "give a second node that it fits on the label {}, here and in its group",
                asked.join(" and ")
            )
        }
        (Cause::Selector, _) if selector.iter().any(|(key, _)| key == LABEL_HOSTNAME) => {
            format!("remove the selector {LABEL_HOSTNAME} from the pod template of {}", subject.name)
        }
        (Cause::Selector | Cause::Objections(_), Some(group)) => {
            format!("add a second node to group {group}, or allow the pods on nodes of other groups")
        }
        (Cause::Selector | Cause::Objections(_), None) => {
            "add what the pods request to other nodes".to_owned()
        }
    }
}

fn cause(survey: &Survey<'_>, subject: &Subject, node: &Node) -> Cause {
    let pod = &subject.samples[0].pod;
    let selected =
        survey.view.nodes.unordered().filter(|(_, node)| predicate::node_affinity_matches(pod, node));
    let selected = selected.count();
    if selected == 1 {
        return Cause::Selector;
    }
    let others = || survey.ground.kinds().filter(|(_, kind)| kind.nodes[0] != node.name());
    let by_volume = others().any(|(id, _)| match &subject.samples[0].answers[id.0] {
        Answer::Fails(failures) => failures
            .iter()
            .all(|failure| matches!(failure.plugin, Plugin::VolumeBinding | Plugin::VolumeZone)),
        Answer::Lands => false,
    });
    if by_volume {
        let zone = node.zone().filter(|_| !is_on_node(survey, pod));
        let Some(zone) = zone else { return Cause::Volumes { within: Within::Node, there: None } };
        let near: Vec<_> = others()
            .filter(|(_, kind)| kind.zone() == Some(zone))
            .filter(|(_, kind)| predicate::node_affinity_matches(pod, &kind.sample))
            .map(|(id, _)| id)
            .collect();
        let there = (!near.is_empty()).then(|| super::exposed::refusals(&survey.ground, subject, &near));
        return Cause::Volumes { within: Within::Zone(zone.clone()), there };
    }
    let others: Vec<_> = others()
        .filter(|(_, kind)| predicate::node_affinity_matches(pod, &kind.sample))
        .map(|(id, _)| id)
        .collect();
    let told = super::exposed::refusals(&survey.ground, subject, &others);
    let all = counted(selected, "node");
    Cause::Objections(format!("its selector matches {all}, and of the others {told}"))
}

/// Whether a volume of the pod is a disk of its node.
fn is_on_node(survey: &Survey<'_>, pod: &Pod) -> bool {
    let claims = pod.spec.volumes.iter().filter_map(|volume| volume.source.persistent_volume_claim.as_ref());
    let volumes = claims.filter_map(|source| {
        let key = Key { namespace: pod.meta.namespace.clone(), name: source.claim_name.clone() };
        let claim = survey.view.persistent_volume_claims.by_key(&key)?;
        survey.view.persistent_volumes.by_key(&Key::cluster(claim.spec.volume_name.clone()))
    });
    let mut terms = volumes
        .filter_map(|volume| volume.spec.node_affinity.as_ref()?.required.as_ref())
        .flat_map(|required| &required.node_selector_terms);
    terms.any(|term| term.match_expressions.iter().any(|one| &*one.key == LABEL_HOSTNAME))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, labelled, node, service, tainted};
    use super::*;

    #[test]
    fn a_selector_that_one_node_meets_is_found_and_one_that_two_meet_is_not() {
        let fast = json!({"spec": {"nodeSelector": {"disk": "fast"}}});
        let nodes = |second: &str| {
            vec![
                labelled(node("n", "web", "a"), "disk", "fast"),
                labelled(node("m", "web", "a"), "disk", second),
            ]
        };
        assert_eq!(
            found(Rule::SingleNodeFits, [nodes("slow"), service("db", &["n"], &fast)].concat()),
            [
                "warning single-node-fits Deployment shop/db: it fits on node n only: its node selector and required affinity match no other node"
            ]
        );
        assert_eq!(
            found(Rule::SingleNodeFits, [nodes("fast"), service("db", &["n"], &fast)].concat()),
            [""; 0]
        );
        assert_eq!(
            found(
                Rule::SingleNodeFits,
                [vec![node("n", "web", "a")], service("db", &["n"], &json!({}))].concat()
            ),
            [""; 0],
            "a cluster of one node"
        );
    }

    #[test]
    fn taints_can_leave_one_node_too() {
        let nodes = vec![node("n", "web", "a"), tainted(node("m", "web", "a"), &["dedicated=db:NoSchedule"])];
        let found = found(Rule::SingleNodeFits, [nodes, service("db", &["n"], &json!({}))].concat());
        assert!(
            found.len() == 1
                && found[0].ends_with(
                    "its selector matches 2 nodes, and of the others web (taint dedicated=db:NoSchedule)"
                ),
            "{found:?}"
        );
    }

    #[test]
    fn a_volume_of_a_zone_can_be_attached_to_every_node_there() {
        let volume = |key: &str, value: &str| {
            vec![
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "c",
                        "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                    "spec": {"volumeName": "pv", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound"}}),
                json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv", "uid": "v"},
                    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": {"namespace": "shop", "name": "data", "uid": "c"},
                        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}}},
                    "status": {"phase": "Bound"}}),
            ]
        };
        let claims =
            json!({"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}});
        let with = |nodes: Vec<serde_json::Value>, volume: Vec<serde_json::Value>| {
            found(Rule::SingleNodeFits, [nodes, volume, service("db", &["n"], &claims)].concat()).join("\n")
        };
        let zonal = || volume("topology.kubernetes.io/zone", "a");
        let alone = with(vec![node("n", "web", "a"), node("m", "web", "b")], zonal());
        assert!(
            alone.ends_with(
                "its volumes can be attached in zone a only, where it is the only node that is selected"
            ),
            "{alone}"
        );
        let kept = tainted(node("o", "db", "a"), &["dedicated=db:NoSchedule"]);
        let near = with(vec![node("n", "web", "a"), node("m", "web", "b"), kept], zonal());
        assert!(
            near.ends_with("in zone a only, and of the other nodes there db (taint dedicated=db:NoSchedule)"),
            "{near}"
        );
        let local =
            with(vec![node("n", "web", "a"), node("m", "web", "a")], volume("kubernetes.io/hostname", "n"));
        assert!(local.ends_with("its volumes are on that node"), "{local}");
    }
}
