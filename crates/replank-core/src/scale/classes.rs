//! Pods that wait, in classes of equal ones.
//!
//! Pods of one spec, one set of labels and one controller ask the same. Where nothing that they ask depends on other pods or on
//! volumes (a *plain* class), one division says how many a node takes, and they need not be placed one by one.

use std::sync::Arc;

use replank_model::labels::{Labels, TextMap};
use replank_model::object::affinity::{NodeSelector, PodAffinityTerm, Toleration, UnsatisfiableAction};
use replank_model::object::node::LABEL_HOSTNAME;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::volume::VolumeSource;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Namespace, Text, Uid};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::amounts::{Amounts, Names};

/// Whether a class can be packed by division.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Nothing it asks depends on other pods or volumes, and none of the pods that wait keeps it away.
    Plain,
    /// It is placed one by one; others may open a node to it.
    Bound,
    /// It is placed one by one; no pod that comes opens a node to it that was closed.
    Apart,
}

/// So many pods with one label on a node at most: anti-affinity, or spread, over host names.
pub(super) type Share = (u32, i64);

/// Equal pods.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// In the order of the queue.
    pub(super) pods: Vec<Arc<Pod>>,
    /// How many of them have a place.
    pub(super) placed: usize,
    pub(super) request: Amounts,
    pub(super) kind: Kind,
    pub(super) shares: SmallVec<[Share; 1]>,
    /// Classes with the same number ask the same of a node, room aside.
    pub(super) asks: u32,
}

impl Class {
    /// How many still wait.
    pub(super) fn left(&self) -> usize {
        self.pods.len() - self.placed
    }

    /// The first that waits; any if none does.
    pub(super) fn first(&self) -> &Arc<Pod> {
        &self.pods[self.placed.min(self.pods.len() - 1)]
    }
}

#[derive(PartialEq, Eq, Hash)]
struct ClassKey {
    spec: usize,
    namespace: Namespace,
    labels: Labels,
    controller: Uid,
}

/// Classes of pods, in the order in which their first pod stands in the queue.
#[derive(Debug, Default)]
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    /// The class of each pod, in the order of the queue.
    pub(super) queue: Vec<u32>,
    pub(super) names: Names,
    /// One pod for each number of [`Class::asks`], and its class' kind.
    pub(super) asking: Vec<(Arc<Pod>, Kind)>,
    /// For each number of a [`Share`], the most that any class with it allows itself on a node.
    pub(super) shares: Vec<i64>,
}

impl Classes {
    /// Sorts pods into classes. `labels_matter` says whether pods that run keep others away by their labels.
    pub(super) fn of(queue: &[Arc<Pod>], labels_matter: bool) -> Self {
        let mut classes = Self::default();
        let mut specs = Specs::default();
        let mut known: FxHashMap<ClassKey, usize> = FxHashMap::default();
        for pod in queue {
            let key = ClassKey {
                spec: specs.number(&pod.spec),
                namespace: pod.meta.namespace.clone(),
                labels: pod.meta.labels.clone(),
                controller: pod.meta.controller().map(|owner| owner.uid.clone()).unwrap_or_default(),
            };
            let at = *known.entry(key).or_insert_with(|| {
                classes.all.push(Class {
                    request: classes.names.of_pod(pod),
                    kind: Kind::Plain,
                    pods: Vec::new(),
                    placed: 0,
                    shares: SmallVec::new(),
                    asks: 0,
                });
                classes.all.len() - 1
            });
            classes.all[at].pods.push(pod.clone());
            classes.queue.push(u32::try_from(at).expect("fewer than 2^32 pods fit in memory"));
        }
        classes.sort_out(labels_matter);
        classes
    }

    fn sort_out(&mut self, labels_matter: bool) {
        let repelling: Vec<Repelling> = self.all.iter().flat_map(|class| repelling(&class.pods[0])).collect();
        let mut shares: FxHashMap<ShareKey, u32> = FxHashMap::default();
        let mut asks: FxHashMap<AsksKey, u32> = FxHashMap::default();
        for class in &mut self.all {
            let pod = class.pods[0].clone();
            class.kind = kind(&pod, &repelling);
            for (key, most) in share_keys(&pod) {
                let next = u32::try_from(shares.len()).expect("fewer than 2^32 shares fit in memory");
                let number = *shares.entry(key).or_insert(next);
                if number == next {
                    self.shares.push(most);
                }
                let greatest = &mut self.shares[number as usize];
                *greatest = (*greatest).max(most);
                match class.shares.iter_mut().find(|(known, _)| *known == number) {
                    Some((_, known)) => *known = (*known).min(most),
                    None => class.shares.push((number, most)),
                }
            }
            let next = u32::try_from(asks.len()).expect("fewer than 2^32 classes fit in memory");
            let key = asks_key(&pod, class.kind, labels_matter);
            class.asks = *asks.entry(key).or_insert_with(|| {
                self.asking.push((pod.clone(), class.kind));
                next
            });
        }
    }

    /// Whether no class must be placed one by one.
    pub(super) fn are_plain(&self) -> bool {
        self.all.iter().all(|class| class.kind == Kind::Plain)
    }

    /// Pods that must be placed one by one and wait.
    pub(super) fn one_by_one(&self) -> usize {
        self.all.iter().filter(|class| class.kind != Kind::Plain).map(Class::left).sum()
    }
}

/// Numbers specs: by address where they are shared, by content where they are not.
#[derive(Default)]
struct Specs {
    by_address: FxHashMap<usize, usize>,
    by_content: FxHashMap<Arc<PodSpec>, usize>,
}

impl Specs {
    fn number(&mut self, spec: &Arc<PodSpec>) -> usize {
        // An address is for look-up only: specs outlive the table.
        let address = Arc::as_ptr(spec) as usize;
        if let Some(known) = self.by_address.get(&address) {
            return *known;
        }
        let next = self.by_content.len();
        let number = *self.by_content.entry(spec.clone()).or_insert(next);
        self.by_address.insert(address, number);
        number
    }
}

/// A required anti-affinity term of a pod that waits.
struct Repelling {
    selector: Selector,
}

fn anti_terms(pod: &Pod) -> &[PodAffinityTerm] {
    let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    affinity.map_or(&[], |away| &away.required)
}

/// Whether a pod keeps others away by their labels.
pub(super) fn repels(pod: &Pod) -> bool {
    !anti_terms(pod).is_empty()
}

fn repelling(pod: &Arc<Pod>) -> Vec<Repelling> {
    let compiled = |term: &PodAffinityTerm| Repelling {
        selector: LabelSelector::compile_option(term.label_selector.as_ref()).unwrap_or(Selector::Nothing),
    };
    anti_terms(pod).iter().map(compiled).collect()
}

/// Whatever may depend on other pods or volumes is placed one by one; a doubt costs time and nothing else.
fn kind(pod: &Pod, repelling: &[Repelling]) -> Kind {
    let spec = &pod.spec;
    let affinity = spec.affinity.as_deref();
    let is_near = affinity
        .and_then(|affinity| affinity.pod_affinity.as_ref())
        .is_some_and(|near| !near.required.is_empty());
    let is_spread = spec
        .topology_spread_constraints
        .iter()
        .any(|one| one.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule);
    let has_volumes = !spec.volumes.iter().all(|volume| is_harmless(&volume.source));
    if is_near || is_spread || has_volumes {
        return Kind::Bound;
    }
    let has_ports = spec
        .containers
        .iter()
        .chain(&spec.init_containers)
        .any(|one| one.ports.iter().any(|port| port.host_port > 0));
    let names_nodes = affinity
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|node| node.required.as_ref())
        .is_some_and(|required| {
            required.node_selector_terms.iter().any(|term| !term.match_fields.is_empty())
        });
    let is_kept_away = repelling.iter().any(|term| term.selector.matches(|key| pod.meta.labels.value(key)));
    let is_odd =
        pod.pin.is_some() || pod.status.nominated_node_name.is_some() || !spec.resource_claims.is_empty();
    if repels(pod) || has_ports || names_nodes || is_kept_away || is_odd {
        return Kind::Apart;
    }
    Kind::Plain
}

/// A volume that any node has: scratch space, a directory, files of the API's objects.
fn is_harmless(source: &VolumeSource) -> bool {
    let rest = VolumeSource { empty_dir: None, host_path: None, image: None, ..source.clone() };
    rest == VolumeSource::default()
}

#[derive(PartialEq, Eq, Hash)]
struct ShareKey {
    namespace: Namespace,
    selector: Option<LabelSelector>,
    own: SmallVec<[Text; 1]>,
}

/// What shares a node with how many: only terms that the pod itself matches say something of its own kind.
fn share_keys(pod: &Pod) -> Vec<(ShareKey, i64)> {
    let own = |selector: &Option<LabelSelector>| {
        let compiled = LabelSelector::compile_option(selector.as_ref()).unwrap_or(Selector::Nothing);
        compiled.matches(|key| pod.meta.labels.value(key))
    };
    let key = |selector: &Option<LabelSelector>, keys: &[Text]| ShareKey {
        namespace: pod.meta.namespace.clone(),
        selector: selector.clone(),
        own: keys.iter().filter_map(|key| pod.meta.labels.get(key).cloned()).collect(),
    };
    let apart = anti_terms(pod)
        .iter()
        .filter(|term| &*term.topology_key == LABEL_HOSTNAME && own(&term.label_selector))
        .map(|term| (key(&term.label_selector, &term.match_label_keys), 1));
    let spread = pod
        .spec
        .topology_spread_constraints
        .iter()
        .filter(|one| one.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule)
        .filter(|one| &*one.topology_key == LABEL_HOSTNAME && own(&one.label_selector))
        .map(|one| (key(&one.label_selector, &one.match_label_keys), i64::from(one.max_skew)));
    apart.chain(spread).collect()
}

#[derive(PartialEq, Eq, Hash)]
struct AsksKey {
    selector: TextMap,
    required: Option<NodeSelector>,
    tolerations: Vec<Toleration>,
    kind: Kind,
    labels: Option<(Namespace, Labels)>,
    /// Ports, volumes, features: only pods of one spec are taken to ask the same.
    spec: Option<Arc<PodSpec>>,
}

fn asks_key(pod: &Pod, kind: Kind, labels_matter: bool) -> AsksKey {
    let spec = &pod.spec;
    let node = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let is_simple = spec.volumes.iter().all(|volume| is_harmless(&volume.source))
        && !spec.host_network
        && spec.resource_claims.is_empty()
        && spec.containers.iter().chain(&spec.init_containers).all(|one| {
            one.ports.iter().all(|port| port.host_port == 0) && one.restart_policy_rules.is_empty()
        });
    AsksKey {
        kind,
        selector: spec.node_selector.clone(),
        required: node.and_then(|node| node.required.clone()),
        tolerations: spec.tolerations.clone(),
        labels: labels_matter.then(|| (pod.meta.namespace.clone(), pod.meta.labels.clone())),
        spec: (!is_simple).then(|| spec.clone()),
    }
}
