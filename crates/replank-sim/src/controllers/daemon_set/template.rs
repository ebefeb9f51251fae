//! What a DaemonSet's pods look like (`util/daemonset_util.go`).

use std::sync::Arc;

use replank_model::object::affinity::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, TaintEffect, Toleration, TolerationOperator,
};
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::workload::DaemonSet;
use replank_model::text::{NodeName, Text};

use crate::controllers::pods;

/// Label with a revision's hash, on revisions and pods.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";
/// Label with the number of the template; what pods had before they had hashes.
const GENERATION_LABEL: &str = "pod-template-generation";
/// Annotation with the number of the template.
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// Taints that every DaemonSet pod tolerates (`AddOrUpdateDaemonPodTolerations`).
const BORNE: [(&str, TaintEffect); 6] = [
    ("node.kubernetes.io/not-ready", TaintEffect::NoExecute),
    ("node.kubernetes.io/unreachable", TaintEffect::NoExecute),
    ("node.kubernetes.io/disk-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/memory-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/pid-pressure", TaintEffect::NoSchedule),
    ("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule),
];
/// Taint that daemon pods on the node's network bear too.
const NETWORK: (&str, TaintEffect) = ("node.kubernetes.io/network-unavailable", TaintEffect::NoSchedule);

/// The pod of a template, less the node: all pods share what they have in common.
#[derive(Debug, Default)]
pub(super) struct PodFactory {
    pod: Pod,
}

impl PodFactory {
    pub(super) fn new(set: &DaemonSet, hash: &Text) -> Self {
        let template = &set.spec.template;
        let mut labels = template.meta.labels.clone();
        if let Some(number) = generation(set) {
            labels = labels.with(GENERATION_LABEL, number.to_string());
        }
        if !hash.is_empty() {
            labels = labels.with(HASH_LABEL, hash.clone());
        }
        let mut spec = tolerant(&template.spec);
        pin(&mut spec);
        let mut pod = pods::from_template(set, template);
        pod.meta.labels = labels;
        pod.spec = Arc::new(spec);
        Self { pod }
    }

    /// A pod for a node, not yet stored.
    pub(super) fn pod(&self, node: &NodeName) -> Pod {
        Pod { pin: Some(node.clone()), ..self.pod.clone() }
    }
}

/// The template's spec with the tolerations of daemon pods.
pub(super) fn tolerant(spec: &PodSpec) -> PodSpec {
    let mut spec = spec.clone();
    let network = spec.host_network.then_some(NETWORK);
    for (key, effect) in BORNE.into_iter().chain(network) {
        let borne = Toleration {
            key: Text::from(key),
            operator: Some(TolerationOperator::Exists),
            effect: Some(effect),
            ..Toleration::default()
        };
        let is_same = |known: &&mut Toleration| {
            (&known.key, known.operator, &known.value, known.effect)
                == (&borne.key, borne.operator, &borne.value, borne.effect)
        };
        match spec.tolerations.iter_mut().find(is_same) {
            Some(known) => *known = borne,
            None => spec.tolerations.push(borne),
        }
    }
    spec
}

/// Puts one term in the place of all: the node's name, which every pod has of its own (`Pod::pin`).
fn pin(spec: &mut PodSpec) {
    let affinity = spec.affinity.as_deref().cloned().unwrap_or_default();
    let node = affinity.node_affinity.clone().unwrap_or_default();
    let required = Some(NodeSelector { node_selector_terms: vec![NodeSelectorTerm::default()] });
    spec.affinity =
        Some(Arc::new(Affinity { node_affinity: Some(NodeAffinity { required, ..node }), ..affinity }));
}

/// The number of the template; `None` where it cannot be read.
fn generation(set: &DaemonSet) -> Option<i64> {
    set.meta.annotations.value(GENERATION_ANNOTATION)?.parse().ok()
}

/// By which a pod is known to be of the present template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Present {
    pub(super) hash: Text,
    number: Option<Text>,
}

impl Present {
    pub(super) fn new(set: &DaemonSet, hash: Text) -> Self {
        Self { hash, number: generation(set).map(|number| number.to_string().into()) }
    }

    /// Whether a pod is of the present template (`IsPodUpdated`).
    pub(super) fn is_updated(&self, pod: &Pod) -> bool {
        let labels = &pod.meta.labels;
        (!self.hash.is_empty() && labels.get(HASH_LABEL) == Some(&self.hash))
            || (self.number.is_some() && labels.get(GENERATION_LABEL) == self.number.as_ref())
    }
}

/// The node of a pod: the one it is bound to, else the one it is meant for (`GetTargetNodeName`).
pub(super) fn target(pod: &Pod) -> Option<&NodeName> {
    pod.node.as_ref().or(pod.pin.as_ref())
}
