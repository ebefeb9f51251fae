//! A node's objections in words, with their numbers.

use std::fmt;

use replank_model::object::affinity::{NodeSelectorRequirement, Taint, TaintEffect, UnsatisfiableAction};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};

use crate::amount::rounded;
use replank_schedule::predicate::{RequiredNodeAffinity, term_matches};
use replank_schedule::{Detail, Failure, Plugin, Reason};

/// One objection. Where the numbers say no more than the scheduler's own text, it is that text.
pub fn why(pod: &Pod, node: &Node, is_closed: bool, failure: &Failure, detail: &Detail) -> String {
    let own = match failure.plugin {
        Plugin::NodeUnschedulable if node.spec.unschedulable => Some("cordoned".to_owned()),
        Plugin::NodeUnschedulable if is_closed => Some("excluded by the query".to_owned()),
        Plugin::TaintToleration => Some(taints(pod, node)),
        Plugin::NodeAffinity => Some(affinity(pod, node)),
        Plugin::NodePorts => {
            let ports = detail.ports.iter().map(|port| format!("{}/{}", port.number, port.protocol));
            Some(format!("host port taken: {}", ports.collect::<Vec<_>>().join(", ")))
        }
        Plugin::NodeResourcesFit => Some(resources(detail)),
        Plugin::PodTopologySpread => Some(spread(pod, detail)),
        Plugin::InterPodAffinity => apart(pod, failure, detail),
        Plugin::NodeUnschedulable
        | Plugin::NodeName
        | Plugin::VolumeRestrictions
        | Plugin::NodeVolumeLimits
        | Plugin::VolumeBinding
        | Plugin::VolumeZone
        | Plugin::DynamicResources
        | Plugin::NodeResourcesBalancedAllocation
        | Plugin::ImageLocality
        | Plugin::NodeDeclaredFeatures => None,
    };
    own.filter(|text| !text.is_empty()).unwrap_or_else(|| plain(failure))
}

/// Every objection of a node to a pod, in the order of the profile.
pub fn words(pod: &Pod, node: &Node, detail: &Detail) -> Vec<String> {
    let rejected =
        detail.rejected.iter().flat_map(|rejected| rejected.reasons.iter().map(ToString::to_string));
    rejected.chain(detail.all.iter().map(|failure| why(pod, node, false, failure, detail))).collect()
}

/// The scheduler's own text, without the words that it begins with where it counts nodes.
#[must_use]
pub fn plain(failure: &Failure) -> String {
    let short = |reason: &Reason| {
        let text = reason.to_string();
        text.strip_prefix("node(s) ").map_or(text.clone(), str::to_owned)
    };
    failure.reasons.iter().map(short).collect::<Vec<_>>().join(", ")
}

fn taints(pod: &Pod, node: &Node) -> String {
    let is_borne = |taint: &&Taint| pod.spec.tolerations.iter().any(|one| one.tolerates(taint, false));
    let hard = node.spec.taints.iter().filter(|taint| taint.effect != TaintEffect::PreferNoSchedule);
    let names: Vec<String> =
        hard.filter(|taint| !is_borne(taint)).map(|taint| Shown(taint).to_string()).collect();
    format!("untolerated taint {}", names.join(", "))
}

fn affinity(pod: &Pod, node: &Node) -> String {
    let labels = &node.meta.labels;
    let name = node.meta.name.as_str();
    if pod.pin.as_ref().is_some_and(|pin| pin.as_str() != name) {
        return "pinned to another node".to_owned();
    }
    let unmet = pod.spec.node_selector.iter().filter(|(key, value)| labels.value(key) != Some(*value));
    let mut texts: Vec<String> =
        unmet.map(|(key, value)| format!("node selector {key}={value}, {}", has(node, key))).collect();
    let bare = PodSpec { node_selector: Default::default(), ..PodSpec::clone(&pod.spec) };
    let required = RequiredNodeAffinity::of(&bare, pod.pin.is_some());
    if required.is_some_and(|required| !required.matches(name, labels)) {
        texts.push(unmet_term(pod, node));
    }
    texts.join("; ")
}

fn has(node: &Node, key: &str) -> String {
    match node.meta.labels.value(key) {
        Some(value) => format!("the node has {value}"),
        None => "the node does not have the label".to_owned(),
    }
}

/// The first requirement of each term that does not hold.
fn unmet_term(pod: &Pod, node: &Node) -> String {
    let affinity = pod.spec.affinity.as_deref().and_then(|affinity| affinity.node_affinity.as_ref());
    let terms = affinity.and_then(|affinity| affinity.required.as_ref());
    let terms = terms.map_or(&[][..], |required| required.node_selector_terms.as_slice());
    let mut unmet = Vec::new();
    for term in terms {
        let first = term.match_expressions.iter().find(|requirement| {
            let alone = replank_model::object::affinity::NodeSelectorTerm {
                match_expressions: vec![(*requirement).clone()],
                ..Default::default()
            };
            !term_matches(&alone, node.meta.name.as_str(), &node.meta.labels)
        });
        match first {
            Some(requirement) => unmet.push(Required(requirement).to_string()),
            None if !term.match_fields.is_empty() => unmet.push("another node by name".to_owned()),
            None => {}
        }
    }
    format!("required affinity: {}", unmet.join(" or "))
}

fn resources(detail: &Detail) -> String {
    let places = detail.pods_max.map(|max| format!("the maximum of {max} pods is reached"));
    let shortages = detail.shortages.iter().map(|shortage| {
        let resource = &shortage.resource;
        let asks = rounded(resource, shortage.wanted);
        if shortage.wanted > shortage.capacity {
            return format!(
                "requests {asks} {resource}, the node has {}",
                rounded(resource, shortage.capacity)
            );
        }
        let (free, all) = (rounded(resource, shortage.free), rounded(resource, shortage.capacity));
        format!("requests {asks} {resource}, {free} of {all} free")
    });
    places.into_iter().chain(shortages).collect::<Vec<_>>().join("; ")
}

fn spread(pod: &Pod, detail: &Detail) -> String {
    let constraints = pod.spec.topology_spread_constraints.iter();
    let hard: Vec<_> =
        constraints.filter(|one| one.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule).collect();
    let texts = detail.skews.iter().filter_map(|skew| {
        let key = &hard.get(skew.constraint)?.topology_key;
        Some(match skew.skew {
            Some(found) => {
                format!("topology spread over {key}: skew would be {found}, maxSkew is {}", skew.max_skew)
            }
            None => format!("spread over {key}: the node does not have the label"),
        })
    });
    texts.collect::<Vec<_>>().join("; ")
}

fn apart(pod: &Pod, failure: &Failure, detail: &Detail) -> Option<String> {
    if !failure.reasons.contains(&Reason::PodAntiAffinity) {
        return None;
    }
    let affinity = pod.spec.affinity.as_deref()?;
    let terms = &affinity.pod_anti_affinity.as_ref()?.required;
    let keys = detail.apart.iter().filter_map(|at| Some(terms.get(*at)?.topology_key.to_string()));
    Some(format!("anti-affinity: another pod in the same {} conflicts", keys.collect::<Vec<_>>().join(", ")))
}

/// A taint as `kubectl` writes it.
pub struct Shown<'a>(pub &'a Taint);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taint { key, value, effect, .. } = self.0;
        if value.is_empty() { write!(f, "{key}:{effect}") } else { write!(f, "{key}={value}:{effect}") }
    }
}

/// A requirement on a node's label in a few words.
pub struct Required<'a>(pub &'a NodeSelectorRequirement);

impl fmt::Display for Required<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeSelectorRequirement { key, operator, values } = self.0;
        write!(f, "{key} {operator}")?;
        if values.is_empty() { Ok(()) } else { write!(f, " [{}]", values.join(", ")) }
    }
}
