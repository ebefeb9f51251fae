//! Which changes could help a pod that was tried in vain (queueing hints).
//!
//! Source: Kubernetes 1.36, `EventsToRegister` and the `isSchedulableAfter…` functions of the plugins in
//! `pkg/scheduler/framework/plugins`. Where looking closely costs more than another try would, a change counts as a help.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::affinity::{PodAffinityTerm, Toleration, UnsatisfiableAction};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::resources::Resources;
use replank_model::object::volume::PersistentVolumeClaim;
use replank_model::object::{Object, requests};
use replank_model::quantity::Quantity;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Namespace, NodeName, Text};
use replank_model::view::View;
use replank_schedule::Plugin;
use replank_schedule::predicate::{RequiredNodeAffinity, tolerates_cordon, untolerated_taint};

use crate::controllers::volumes::claims_of;

/// Plugins that rejected the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Blame {
    /// There were no nodes.
    #[default]
    NoNodes,
    /// The plugins that objected.
    Plugins(BTreeSet<Plugin>),
    /// An error. They come from the pod itself, from nodes or from storage.
    Error,
}

impl Blame {
    /// Whether a pod that is meant for one node cares about that node only.
    pub(super) fn is_about_one_node(&self) -> bool {
        match self {
            Self::NoNodes | Self::Error => false,
            Self::Plugins(plugins) => plugins.iter().all(|plugin| is_about_the_node(*plugin)),
        }
    }
}

/// Whether a plugin's answer for a node depends on that node and its pods alone.
fn is_about_the_node(plugin: Plugin) -> bool {
    match plugin {
        Plugin::NodeUnschedulable
        | Plugin::NodeName
        | Plugin::TaintToleration
        | Plugin::NodeAffinity
        | Plugin::NodePorts
        | Plugin::NodeResourcesFit
        | Plugin::NodeResourcesBalancedAllocation
        | Plugin::ImageLocality
        | Plugin::NodeDeclaredFeatures => true,
        Plugin::VolumeRestrictions
        | Plugin::NodeVolumeLimits
        | Plugin::VolumeBinding
        | Plugin::VolumeZone
        | Plugin::PodTopologySpread
        | Plugin::InterPodAffinity
        | Plugin::DynamicResources => false,
    }
}

/// Something that has happened, as far as the scheduler cares.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScriptEvent<'a> {
    /// A node is there.
    NodeAdded(&'a Node),
    /// A node has other labels, taints or amounts.
    NodeChanged {
        /// As it was.
        old: &'a Node,
        /// As it is.
        new: &'a Node,
    },
    /// A node is gone.
    NodeGone(&'a Node),
    /// A pod takes room on its node.
    PodPlaced(&'a Pod),
    /// A pod on a node has other labels or asks for something else.
    PodChanged {
        /// As it was.
        old: &'a Pod,
        /// As it is.
        new: &'a Pod,
    },
    /// A pod does not take room on its node any more.
    PodGone(&'a Pod),
    /// A claim is there, or has changed.
    Claim(&'a PersistentVolumeClaim),
    /// Something else about storage has changed.
    Storage,
}

impl<'a> ScriptEvent<'a> {
    /// What a change to anything but a pod means; `None` if the scheduler does not care.
    pub(super) fn of(old: Option<&'a Object>, new: Option<&'a Object>) -> Option<Self> {
        match (old, new) {
            (None, Some(Object::Node(node))) => Some(Self::NodeAdded(node)),
            (Some(Object::Node(old)), Some(Object::Node(new))) => {
                has_changed(old, new).then_some(Self::NodeChanged { old, new })
            }
            (Some(Object::Node(node)), None) => Some(Self::NodeGone(node)),
            (_, Some(Object::PersistentVolumeClaim(claim))) => Some(Self::Claim(claim)),
            (
                _,
                Some(
                    Object::PersistentVolume(_)
                    | Object::StorageClass(_)
                    | Object::CsiNode(_)
                    | Object::CsiDriver(_)
                    | Object::CsiStorageCapacity(_),
                ),
            )
            | (Some(Object::VolumeAttachment(_)), None) => Some(Self::Storage),
            (Some(_) | None, Some(_) | None) => None,
        }
    }

    /// The node that it happened on.
    pub(super) fn node(&self) -> Option<NodeName> {
        match self {
            Self::NodeAdded(node) | Self::NodeChanged { new: node, .. } | Self::NodeGone(node) => {
                Some(node.name())
            }
            Self::PodPlaced(pod) | Self::PodChanged { new: pod, .. } | Self::PodGone(pod) => pod.node.clone(),
            Self::Claim(_) | Self::Storage => None,
        }
    }
}

fn has_changed(old: &Node, new: &Node) -> bool {
    old.meta.labels != new.meta.labels
        || old.spec.taints != new.spec.taints
        || old.spec.unschedulable != new.spec.unschedulable
        || old.status.allocatable != new.status.allocatable
        || old.status.declared_features != new.status.declared_features
}

/// What a pod needs, made ready to be compared with what happens.
#[derive(Debug)]
pub(super) struct Needs {
    /// Keeps the spec at its address.
    sample: Arc<Pod>,
    /// Compiled and added up when something happens for which that matters: most pods wait for less.
    affinity: OnceCell<Option<RequiredNodeAffinity>>,
    requests: OnceCell<Resources>,
    claims: Vec<Key>,
    /// Pods that it wants near, or far.
    others: Vec<Others>,
    /// Whom it is spread with, and over what.
    spread: Vec<(Selector, Text)>,
}

/// Pods that a term means.
#[derive(Debug)]
struct Others {
    namespaces: Vec<Text>,
    in_namespaces: Option<Selector>,
    selector: Selector,
}

impl Needs {
    pub(super) fn of(pod: &Arc<Pod>) -> Self {
        let hard = pod.spec.topology_spread_constraints.iter();
        let hard =
            hard.filter(|constraint| constraint.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule);
        Self {
            affinity: OnceCell::new(),
            requests: OnceCell::new(),
            claims: claims_of(pod),
            others: terms_of(pod).map(|term| Others::of(pod, term)).collect(),
            spread: hard
                .map(|constraint| {
                    (compiled(constraint.label_selector.as_ref()), constraint.topology_key.clone())
                })
                .collect(),
            sample: pod.clone(),
        }
    }

    /// Whether something that happened could help a pod that failed by these.
    pub(super) fn are_helped(&self, view: &View, blame: &Blame, event: &ScriptEvent<'_>) -> bool {
        match blame {
            Blame::NoNodes => matches!(event, ScriptEvent::NodeAdded(_)),
            Blame::Plugins(plugins) => plugins.iter().any(|plugin| self.is_helped_with(view, *plugin, event)),
            Blame::Error => match event {
                ScriptEvent::NodeAdded(_)
                | ScriptEvent::NodeChanged { .. }
                | ScriptEvent::NodeGone(_)
                | ScriptEvent::Claim(_)
                | ScriptEvent::Storage => true,
                ScriptEvent::PodPlaced(_) | ScriptEvent::PodChanged { .. } | ScriptEvent::PodGone(_) => false,
            },
        }
    }

    fn is_helped_with(&self, view: &View, plugin: Plugin, event: &ScriptEvent<'_>) -> bool {
        match plugin {
            Plugin::NodeUnschedulable => self.has_come_true(event, |needs, node| {
                !node.spec.unschedulable || tolerates_cordon(needs.tolerations(), false)
            }),
            Plugin::TaintToleration => self.has_come_true(event, |needs, node| {
                untolerated_taint(needs.tolerations(), &node.spec.taints, false).is_none()
            }),
            Plugin::NodeAffinity => self.has_come_true(event, Self::likes),
            Plugin::NodeResourcesFit => match event {
                ScriptEvent::PodGone(pod) => self.is_open_to(view, pod),
                ScriptEvent::PodChanged { old, new } => {
                    requests::of_pod(old) != requests::of_pod(new) && self.is_open_to(view, new)
                }
                ScriptEvent::NodeAdded(node) => self.fits_alone(node),
                ScriptEvent::NodeChanged { old, new } => {
                    old.status.allocatable != new.status.allocatable && self.fits_alone(new)
                }
                ScriptEvent::NodeGone(_)
                | ScriptEvent::PodPlaced(_)
                | ScriptEvent::Claim(_)
                | ScriptEvent::Storage => false,
            },
            Plugin::NodePorts => match event {
                ScriptEvent::PodGone(pod) => self.is_open_to(view, pod),
                ScriptEvent::NodeAdded(_) => true,
                ScriptEvent::NodeChanged { .. }
                | ScriptEvent::NodeGone(_)
                | ScriptEvent::PodPlaced(_)
                | ScriptEvent::PodChanged { .. }
                | ScriptEvent::Claim(_)
                | ScriptEvent::Storage => false,
            },
            Plugin::NodeName => matches!(event, ScriptEvent::NodeAdded(_)),
            Plugin::NodeDeclaredFeatures => self.has_come_true(event, |_, _| true),
            Plugin::InterPodAffinity => self.is_helped_by_neighbours(view, event),
            Plugin::PodTopologySpread => self.is_helped_by_siblings(event),
            Plugin::VolumeBinding
            | Plugin::VolumeZone
            | Plugin::VolumeRestrictions
            | Plugin::NodeVolumeLimits => self.is_helped_with_storage(plugin, event),
            Plugin::DynamicResources | Plugin::NodeResourcesBalancedAllocation | Plugin::ImageLocality => {
                false
            }
        }
    }

    fn tolerations(&self) -> &[Toleration] {
        &self.sample.spec.tolerations
    }

    fn affinity(&self) -> Option<&RequiredNodeAffinity> {
        let compile = || RequiredNodeAffinity::of(&self.sample.spec, self.sample.pin.is_some());
        self.affinity.get_or_init(compile).as_ref()
    }

    fn requests(&self) -> &Resources {
        self.requests.get_or_init(|| requests::of_pod(&self.sample))
    }

    /// Whether something holds for a node that is new, or has changed.
    fn has_come_true(&self, event: &ScriptEvent<'_>, holds: impl Fn(&Self, &Node) -> bool) -> bool {
        match event {
            ScriptEvent::NodeAdded(node) => holds(self, node),
            ScriptEvent::NodeChanged { new, .. } => holds(self, new),
            ScriptEvent::NodeGone(_)
            | ScriptEvent::PodPlaced(_)
            | ScriptEvent::PodChanged { .. }
            | ScriptEvent::PodGone(_)
            | ScriptEvent::Claim(_)
            | ScriptEvent::Storage => false,
        }
    }

    /// Whether node selector and affinity let the pod onto a node.
    fn likes(&self, node: &Node) -> bool {
        self.sample.pin.as_ref().is_none_or(|pin| *pin == node.name())
            && self
                .affinity()
                .is_none_or(|affinity| affinity.matches(node.meta.name.as_str(), &node.meta.labels))
    }

    /// Whether the node of a pod is one for this one. A pod that had only been promised a node may help anywhere.
    fn is_open_to(&self, view: &View, other: &Pod) -> bool {
        let Some(node) = &other.node else { return true };
        view.node(node).is_some_and(|node| {
            self.likes(node)
                && untolerated_taint(self.tolerations(), &node.spec.taints, false).is_none()
                && (!node.spec.unschedulable || tolerates_cordon(self.tolerations(), false))
        })
    }

    /// Whether a node that were empty would be large enough.
    fn fits_alone(&self, node: &Node) -> bool {
        self.requests().iter().all(|(name, wanted)| {
            let zero = Quantity::default();
            *wanted == zero || node.status.allocatable.get(name).unwrap_or(&zero) >= wanted
        })
    }

    fn is_helped_by_neighbours(&self, view: &View, event: &ScriptEvent<'_>) -> bool {
        match event {
            ScriptEvent::PodPlaced(pod) | ScriptEvent::PodChanged { new: pod, .. } => {
                self.others.iter().any(|others| others.are_meant(view, pod))
            }
            ScriptEvent::PodGone(pod) => {
                self.others.iter().any(|others| others.are_meant(view, pod))
                    || terms_of(pod).any(|term| Others::of(pod, term).are_meant(view, &self.sample))
            }
            ScriptEvent::NodeAdded(_) | ScriptEvent::NodeChanged { .. } => true,
            ScriptEvent::NodeGone(_) | ScriptEvent::Claim(_) | ScriptEvent::Storage => false,
        }
    }

    fn is_helped_by_siblings(&self, event: &ScriptEvent<'_>) -> bool {
        let is_sibling = |pod: &Pod| {
            pod.meta.namespace == self.sample.meta.namespace
                && self.spread.iter().any(|(selector, _)| selector.matches(|key| pod.meta.labels.value(key)))
        };
        let is_a_domain =
            |node: &Node| self.spread.iter().all(|(_, key)| node.meta.labels.value(key).is_some());
        match event {
            ScriptEvent::PodPlaced(pod) | ScriptEvent::PodGone(pod) => is_sibling(pod),
            ScriptEvent::PodChanged { old, new } => is_sibling(old) != is_sibling(new),
            ScriptEvent::NodeAdded(node) | ScriptEvent::NodeGone(node) => is_a_domain(node),
            ScriptEvent::NodeChanged { old, new } => is_a_domain(old) || is_a_domain(new),
            ScriptEvent::Claim(_) | ScriptEvent::Storage => false,
        }
    }

    fn is_helped_with_storage(&self, plugin: Plugin, event: &ScriptEvent<'_>) -> bool {
        match event {
            ScriptEvent::NodeAdded(_) | ScriptEvent::NodeChanged { .. } | ScriptEvent::Storage => true,
            ScriptEvent::Claim(claim) => self.claims.contains(&claim.meta.key()),
            ScriptEvent::PodGone(pod) => {
                let minds_pods = matches!(plugin, Plugin::VolumeRestrictions | Plugin::NodeVolumeLimits);
                minds_pods && !pod.spec.volumes.is_empty()
            }
            ScriptEvent::NodeGone(_) | ScriptEvent::PodPlaced(_) | ScriptEvent::PodChanged { .. } => false,
        }
    }
}

/// The required terms of a pod's affinity to and from pods.
fn terms_of(pod: &Pod) -> impl Iterator<Item = &PodAffinityTerm> {
    let affinity = pod.spec.affinity.iter();
    affinity.flat_map(|affinity| {
        let near = affinity.pod_affinity.iter().flat_map(|near| &near.required);
        near.chain(affinity.pod_anti_affinity.iter().flat_map(|far| &far.required))
    })
}

/// A selector that cannot be read means nobody: the pod cannot be helped by pods.
fn compiled(selector: Option<&LabelSelector>) -> Selector {
    LabelSelector::compile_option(selector).unwrap_or(Selector::Nothing)
}

impl Others {
    /// Values taken from the pod (`matchLabelKeys`) would mean fewer: they are left out.
    fn of(pod: &Pod, term: &PodAffinityTerm) -> Self {
        let own = || pod.meta.namespace.text().clone();
        let is_own = term.namespaces.is_empty() && term.namespace_selector.is_none();
        Self {
            namespaces: if is_own { vec![own()] } else { term.namespaces.clone() },
            in_namespaces: term.namespace_selector.as_ref().map(|selector| compiled(Some(selector))),
            selector: compiled(term.label_selector.as_ref()),
        }
    }

    fn are_meant(&self, view: &View, pod: &Pod) -> bool {
        let namespace: &Namespace = &pod.meta.namespace;
        let labels = || view.namespaces.by_key(&Key::cluster(namespace.text().clone()));
        let is_here = self.namespaces.contains(namespace.text())
            || self.in_namespaces.as_ref().is_some_and(|selector| {
                let namespace = labels();
                selector.matches(|key| namespace.and_then(|namespace| namespace.meta.labels.value(key)))
            });
        is_here && self.selector.matches(|key| pod.meta.labels.value(key))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing;

    fn node(name: &str, cpu: &str, taint: Option<&str>) -> Node {
        let mut value = testing::node(name, "x");
        value["status"]["allocatable"]["cpu"] = cpu.into();
        if let Some(key) = taint {
            value["spec"] = json!({"taints": [{"key": key, "effect": "NoSchedule"}]});
        }
        read(value, |object| if let Object::Node(node) = object { Some(Node::clone(&node)) } else { None })
    }

    fn pod(spec: Value, node: Option<&str>) -> Arc<Pod> {
        let mut value = testing::running("p", "");
        value["spec"] = spec;
        value["spec"]["containers"] =
            json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]);
        value["metadata"]["labels"] = json!({"app": "web"});
        let mut pod =
            read(value, |object| if let Object::Pod(pod) = object { Some(Pod::clone(&pod)) } else { None });
        pod.node = node.map(NodeName::from);
        Arc::new(pod)
    }

    fn read<T>(value: Value, get: impl Fn(Object) -> Option<T>) -> T {
        get(Object::from_json(value).expect("an object")).expect("of that kind")
    }

    #[test]
    fn only_what_matters_to_those_who_objected_helps() {
        let small = node("a", "1", None);
        let large = node("a", "4", None);
        let tainted = node("a", "4", Some("gpu"));
        let view: View = [Object::from(large.clone()).into()].into_iter().collect();
        let plain = pod(json!({}), Some("a"));
        let apart = json!({"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"});
        let apart = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}});
        let picky = json!({"nodeSelector": {"disk": "fast"}});
        let gone = ScriptEvent::PodGone(&plain);
        let grown = ScriptEvent::NodeChanged { old: &small, new: &large };
        let cleared = ScriptEvent::NodeChanged { old: &tainted, new: &large };
        let cases = [
            (json!({}), Plugin::NodeResourcesFit, gone, true),
            (json!({}), Plugin::NodeResourcesFit, grown, true),
            (json!({}), Plugin::NodeResourcesFit, ScriptEvent::NodeAdded(&small), false),
            (json!({}), Plugin::NodeResourcesFit, cleared, false),
            (json!({}), Plugin::NodeResourcesFit, ScriptEvent::PodPlaced(&plain), false),
            (picky.clone(), Plugin::NodeResourcesFit, gone, false),
            (picky, Plugin::NodeAffinity, ScriptEvent::NodeAdded(&large), false),
            (json!({}), Plugin::NodeAffinity, ScriptEvent::NodeAdded(&large), true),
            (json!({}), Plugin::TaintToleration, cleared, true),
            (json!({}), Plugin::TaintToleration, ScriptEvent::NodeAdded(&tainted), false),
            (json!({}), Plugin::TaintToleration, gone, false),
            (apart, Plugin::InterPodAffinity, gone, true),
            (json!({}), Plugin::InterPodAffinity, gone, false),
            (json!({}), Plugin::VolumeBinding, ScriptEvent::Storage, true),
            (json!({}), Plugin::VolumeBinding, gone, false),
        ];
        for (spec, plugin, event, expected) in cases {
            let needs = Needs::of(&pod(spec.clone(), None));
            let blame = Blame::Plugins(BTreeSet::from([plugin]));
            let helped = needs.are_helped(&view, &blame, &event);
            assert_eq!(helped, expected, "{plugin} of {spec} and {event:?}");
        }
    }
}
