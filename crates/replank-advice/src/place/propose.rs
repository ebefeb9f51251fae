//! From a node's objections to changes that could lift them. Whether they do is asked of the engine afterwards.

use std::collections::BTreeSet;

use replank_model::object::affinity::{
    NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, Taint, TaintEffect, UnsatisfiableAction,
};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::resources::PODS;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::view::View;

use super::change::{Change, Weight};
use super::claims;
use super::edit::lowered;
use super::what_if::CORDON;
use replank_facts::amount::{MEBI, is_bytes};
use replank_facts::taints::is_passing;
use replank_schedule::predicate::RequiredNodeAffinity;
use replank_schedule::{Detail, Failure, Plugin, Reason, Skew};

/// Alternatives for one node at most. A node that objects in many ways has very many; the smallest are of interest, and
/// they are made of the smallest for each objection.
const ALTERNATIVES_MAX: usize = 24;

/// Labels that say what a node is: kubelets, clouds and autoscalers write them, nobody chooses them.
const GIVEN: [&str; 13] = [
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
    "beta.kubernetes.io/",
    "failure-domain.beta.kubernetes.io/",
    "topology.",
    "node.kubernetes.io/",
    "eks.amazonaws.com/",
    "alpha.eksctl.io/",
    "k8s.io/",
    "k8s.amazonaws.com/",
    "karpenter.",
    "cloud.google.com/",
];

/// Whether the node can be changed, or is only what a new node would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there.
    There,
    /// It would be made.
    Fresh,
}

/// What is asked for, and where.
pub(super) struct Case<'a> {
    pub(super) view: &'a View,
    pub(super) pod: &'a Pod,
    pub(super) node: &'a Node,
    pub(super) standing: Standing,
    /// Nodes that a what-if question closes: they stay closed.
    pub(super) closed: &'a BTreeSet<NodeName>,
    /// The node's group, of a fresh one.
    pub(super) group: GroupName,
    /// The label that names a node's group, which no node gets.
    pub(super) group_label: Option<&'a str>,
}

/// Sets of changes.
type Sets = Vec<Vec<Change>>;

/// Weight of a set: how many changes, how intrusive, how much.
pub(super) fn weight(changes: &[Change]) -> (usize, Weight) {
    let sum = changes.iter().map(Change::weight).fold((0, 0), |sum, w| (sum.0 + w.0, sum.1 + w.1));
    (changes.len(), Weight(sum.0, sum.1))
}

impl Case<'_> {
    /// The smallest sets of changes that could make the pod fit on the node, an empty one if nothing stands in the way; none if
    /// something does that nobody can change.
    pub(super) fn alternatives(&self, detail: &Detail) -> Sets {
        let mut sets: Sets = vec![Vec::new()];
        let rejected =
            detail.rejected.as_ref().map(|rejected| claims::for_rejection(self.view, self.pod, rejected));
        let lifted = detail.all.iter().map(|failure| self.lift(failure, detail));
        for options in rejected.into_iter().chain(lifted) {
            sets = combined(&sets, &options);
        }
        sets
    }

    fn lift(&self, failure: &Failure, detail: &Detail) -> Sets {
        match failure.plugin {
            Plugin::NodeUnschedulable => self.uncordon(),
            Plugin::TaintToleration => self.bear(),
            Plugin::NodeAffinity => self.attract(),
            Plugin::NodePorts => {
                let release = |port: &replank_schedule::HostPort| Change::ReleasePort {
                    port: port.number,
                    protocol: port.protocol.clone(),
                };
                vec![detail.ports.iter().map(release).collect()]
            }
            Plugin::NodeResourcesFit => self.make_room(detail),
            Plugin::VolumeBinding | Plugin::VolumeZone => claims::for_node(self.view, self.pod, failure),
            Plugin::PodTopologySpread => self.spread(&detail.skews),
            Plugin::InterPodAffinity => self.part(failure, &detail.apart),
            // A disk or a claim that another pod has, volumes that are attached, abilities: a fact of the node.
            Plugin::NodeName
            | Plugin::VolumeRestrictions
            | Plugin::NodeVolumeLimits
            | Plugin::DynamicResources
            | Plugin::NodeDeclaredFeatures => Vec::new(),
            // These do not filter.
            Plugin::NodeResourcesBalancedAllocation | Plugin::ImageLocality => Vec::new(),
        }
    }

    fn name(&self) -> NodeName {
        self.node.name()
    }

    /// With sets that change the node, if it is one that can be changed.
    fn with_node(&self, mut sets: Sets, of_node: Vec<Change>) -> Sets {
        if self.standing == Standing::There && !of_node.is_empty() {
            sets.push(of_node);
        }
        sets
    }

    fn uncordon(&self) -> Sets {
        let is_closed = self.closed.contains(&self.name());
        if is_closed || !self.node.spec.unschedulable {
            return Vec::new();
        }
        self.with_node(Vec::new(), vec![Change::Uncordon { node: self.name() }])
    }

    fn bear(&self) -> Sets {
        let keeps_off = |taint: &&Taint| match taint.effect {
            TaintEffect::NoSchedule | TaintEffect::NoExecute => true,
            TaintEffect::PreferNoSchedule => false,
        };
        let tolerations = &self.pod.spec.tolerations;
        let is_borne =
            |taint: &Taint| tolerations.iter().any(|toleration| toleration.tolerates(taint, false));
        let unborne: Vec<&Taint> = self
            .node
            .spec
            .taints
            .iter()
            .filter(keeps_off)
            .filter(|taint| !is_borne(taint))
            // A cordon's own taint goes with the cordon.
            .filter(|taint| !(&*taint.key == CORDON && self.node.spec.unschedulable))
            .collect();
        if unborne.is_empty() {
            return vec![Vec::new()];
        }
        // Those come and go with a node's state: no remedy is to bear them, or to take them away.
        if unborne.iter().any(|taint| is_passing(taint)) {
            return Vec::new();
        }
        let plain = |taint: &Taint| Taint { time_added: None, ..taint.clone() };
        let tolerate = unborne.iter().map(|taint| Change::Tolerate(plain(taint))).collect();
        let untaint = |taint: &&Taint| Change::Untaint { node: self.name(), taint: plain(taint) };
        self.with_node(vec![tolerate], unborne.iter().map(untaint).collect())
    }

    /// Node selector and required node affinity.
    fn attract(&self) -> Sets {
        if self.pod.pin.is_some() {
            return Vec::new();
        }
        let labels = &self.node.meta.labels;
        let unmet = self.pod.spec.node_selector.pairs().iter();
        let unmet: Vec<&(Text, Text)> = unmet.filter(|(key, value)| labels.get(key) != Some(value)).collect();
        let mut sets: Sets = vec![Vec::new()];
        for (key, value) in &unmet {
            let nodes = self.view.nodes_with(key, value).len();
            let drop = Change::Unselect { key: key.clone(), value: value.clone(), nodes };
            let select = |to: &Text| {
                let (key, from, to) = (key.clone(), value.clone(), to.clone());
                Change::Select { key, from, to, nodes }
            };
            let options = match labels.get(key) {
                Some(to) if super::change::is_slip(value, to) => vec![vec![select(to)]],
                Some(to) => vec![vec![drop], vec![select(to)]],
                None => vec![vec![drop]],
            };
            sets = combined(&sets, &options);
        }
        let of_node: Option<Vec<Change>> =
            unmet.iter().map(|(key, value)| self.label(key, value.clone())).collect();
        if self.standing == Standing::There && !unmet.is_empty() {
            sets.extend(of_node);
        }
        combined(&sets, &self.meet_terms())
    }

    fn meet_terms(&self) -> Sets {
        let spec = &self.pod.spec;
        let without_selector = PodSpec { node_selector: Default::default(), ..PodSpec::clone(spec) };
        let required = RequiredNodeAffinity::of(&without_selector, false);
        let name = self.node.meta.name.as_str();
        if required.is_none_or(|required| required.matches(name, &self.node.meta.labels)) {
            return vec![Vec::new()];
        }
        let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let terms = affinity.and_then(|affinity| affinity.required.as_ref());
        let terms = terms.map_or(&[][..], |required| required.node_selector_terms.as_slice());
        let mut sets: Sets = vec![vec![Change::UnrequireAll]];
        for (at, term) in terms.iter().enumerate().filter(|(_, term)| term.match_fields.is_empty()) {
            sets.extend(self.meet_term(at, term));
        }
        sets
    }

    fn meet_term(&self, at: usize, term: &NodeSelectorTerm) -> Sets {
        let labels = &self.node.meta.labels;
        let is_met = |requirement: &NodeSelectorRequirement| {
            let alone =
                NodeSelectorTerm { match_expressions: vec![requirement.clone()], ..Default::default() };
            replank_schedule::predicate::term_matches(&alone, self.node.meta.name.as_str(), labels)
        };
        let unmet: Vec<&NodeSelectorRequirement> =
            term.match_expressions.iter().filter(|requirement| !is_met(requirement)).collect();
        let mut sets = Sets::new();
        // A term without requirements matches nothing, so that not all of one can go.
        if unmet.len() < term.match_expressions.len() || unmet.iter().all(|one| self.admit(at, one).is_some())
        {
            let of_pod = unmet.iter().map(|requirement| {
                let dropped = || Change::Unrequire { term: at, requirement: (*requirement).clone() };
                self.admit(at, requirement).unwrap_or_else(dropped)
            });
            sets.push(of_pod.collect());
        }
        let of_node: Option<Vec<Change>> =
            unmet.iter().map(|requirement| self.relabel(requirement)).collect();
        if self.standing == Standing::There {
            sets.extend(of_node);
        }
        sets
    }

    /// The requirement with the node's value among its values.
    fn admit(&self, term: usize, requirement: &NodeSelectorRequirement) -> Option<Change> {
        let value = self.node.meta.labels.get(&requirement.key)?;
        match requirement.operator {
            NodeSelectorOperator::In => {
                Some(Change::Admit { term, key: requirement.key.clone(), value: value.clone() })
            }
            NodeSelectorOperator::NotIn
            | NodeSelectorOperator::Exists
            | NodeSelectorOperator::DoesNotExist
            | NodeSelectorOperator::Gt
            | NodeSelectorOperator::Lt => None,
        }
    }

    /// The node with a label by which it meets a requirement.
    fn relabel(&self, requirement: &NodeSelectorRequirement) -> Option<Change> {
        let key = &requirement.key;
        match requirement.operator {
            NodeSelectorOperator::In => self.label(key, requirement.values.first()?.clone()),
            NodeSelectorOperator::Exists => self.label(key, Text::from("")),
            NodeSelectorOperator::NotIn | NodeSelectorOperator::DoesNotExist => {
                self.may_be_chosen(key).then(|| Change::Unlabel { node: self.name(), key: key.clone() })
            }
            NodeSelectorOperator::Gt | NodeSelectorOperator::Lt => None,
        }
    }

    fn label(&self, key: &Text, value: Text) -> Option<Change> {
        let from = self.node.meta.labels.get(key).cloned();
        let label = || Change::Label { node: self.name(), key: key.clone(), from, to: value };
        self.may_be_chosen(key).then(label)
    }

    fn may_be_chosen(&self, key: &str) -> bool {
        self.group_label != Some(key) && !GIVEN.iter().any(|given| key.starts_with(given))
    }

    fn make_room(&self, detail: &Detail) -> Sets {
        let mut lower = Vec::new();
        for shortage in &detail.shortages {
            let resource = shortage.resource.clone();
            let step = if is_bytes(&resource) { MEBI } else { 1 };
            let to = shortage.free.max(0) / step * step;
            let less = shortage.wanted - to;
            if to <= 0
                || (lowered(&self.pod.spec, &resource, less).is_none() && self.pod.spec.resources.is_none())
            {
                lower.clear();
                break;
            }
            lower.push(Change::Request { resource, from: shortage.wanted, to });
        }
        let mut sets = Sets::new();
        if lower.len() == detail.shortages.len() && detail.pods_max.is_none() {
            sets.push(lower);
        }
        if self.standing == Standing::Fresh {
            let enlarge = detail.shortages.iter().map(|shortage| Change::Enlarge {
                group: self.group.clone(),
                resource: shortage.resource.clone(),
                from: shortage.capacity,
                // What its DaemonSet pods take comes on top.
                to: shortage.wanted.saturating_add(shortage.capacity - shortage.free),
            });
            if detail.pods_max.is_none() {
                sets.push(enlarge.collect());
            }
            return sets;
        }
        let is_ever_enough = detail.shortages.iter().all(|shortage| shortage.wanted <= shortage.capacity);
        let free = detail.shortages.iter().map(|shortage| Change::Free {
            node: self.name(),
            resource: shortage.resource.clone(),
            amount: shortage.wanted - shortage.free,
            capacity: shortage.capacity,
        });
        let places = detail.pods_max.map(|max| Change::Free {
            node: self.name(),
            resource: Text::from(PODS),
            amount: 1,
            capacity: max,
        });
        let free: Vec<Change> = free.chain(places).collect();
        if is_ever_enough { self.with_node(sets, free) } else { sets }
    }

    fn spread(&self, skews: &[Skew]) -> Sets {
        let hard = self.pod.spec.topology_spread_constraints.iter().enumerate();
        let hard: Vec<_> =
            hard.filter(|(_, one)| one.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule).collect();
        let mut sets: Sets = vec![Vec::new()];
        for skew in skews {
            let Some((constraint, of)) = hard.get(skew.constraint) else { return Vec::new() };
            let (constraint, topology_key) = (*constraint, of.topology_key.clone());
            let mut options =
                vec![vec![Change::SpreadAnyway { constraint, topology_key: topology_key.clone() }]];
            // Without the label, which domain the node is to be in is for its owner to say.
            if let Some(wanted) = skew.skew {
                let to = i32::try_from(wanted).unwrap_or(i32::MAX);
                options.push(vec![Change::Skew { constraint, topology_key, from: of.max_skew, to }]);
            }
            sets = combined(&sets, &options);
        }
        sets
    }

    fn part(&self, failure: &Failure, apart: &[usize]) -> Sets {
        let affinity = self.pod.spec.affinity.as_deref();
        if failure.reasons.contains(&Reason::PodAffinity) {
            return vec![vec![Change::PreferNear]];
        }
        if failure.reasons.contains(&Reason::PodAntiAffinity) {
            let terms = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
            let terms = terms.map_or(&[][..], |away| away.required.as_slice());
            let prefer = apart.iter().filter_map(|at| {
                let topology_key = terms.get(*at)?.topology_key.clone();
                Some(Change::PreferApart { term: *at, topology_key })
            });
            return vec![prefer.collect()];
        }
        // The terms of pods that are there are theirs.
        Vec::new()
    }
}

/// Each set with each option, the smallest first, no more than are of interest.
fn combined(sets: &[Vec<Change>], options: &[Vec<Change>]) -> Sets {
    let join =
        |set: &Vec<Change>, option: &Vec<Change>| set.iter().chain(option).cloned().collect::<Vec<_>>();
    let mut all: Sets =
        sets.iter().flat_map(|set| options.iter().map(move |option| join(set, option))).collect();
    all.sort_by_key(|set| weight(set));
    all.truncate(ALTERNATIVES_MAX);
    all
}
