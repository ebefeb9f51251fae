//! Label classes: pods of one namespace with equal labels. A selector is asked once per class.
//!
//! Nearly every selector asks for one value of some label ([`Selector::anchor`]): classes are found by each of their labels,
//! selectors and terms by that one, so that neither is held against all of the other.

use replank_model::labels::{LabelMemo, Labels};
use replank_model::selector::Selector;
use replank_model::text::{Namespace, Text};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::counters::Counters;
use super::eligible::Eligibles;
use super::ids::{CounterId, LabelId, NodeId, PodId, SumId, TermId, TopologyId};
use super::intern::Interned;
use super::pods::Pods;
use super::scope::{NamespaceLabels, PodTerm, Scope};
use super::topology::Topologies;

/// Pods that a counter counts: all selectors must match, each in its scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MatchKey {
    pub(super) all: Vec<(Scope, Selector)>,
    /// Whether pods that are on their way out are left out (topology spread), or count (affinity).
    pub(super) only_staying: bool,
}

impl MatchKey {
    pub(super) fn matches(
        &self,
        namespace: &Namespace,
        labels: &Labels,
        namespaces: &NamespaceLabels,
    ) -> bool {
        !self.all.is_empty()
            && self.all.iter().all(|(scope, selector)| {
                selector.matches(|key| labels.value(key)) && scope.covers(namespace, namespaces)
            })
    }

    /// A label that all pods have that are counted, if there is such a one.
    fn anchor(&self) -> Anchor {
        self.all.iter().find_map(|(_, selector)| anchor_of(selector))
    }

    fn looks_at_namespaces(&self) -> bool {
        self.all.iter().any(|(scope, _)| scope.looks_at_labels())
    }
}

/// What an affinity term of pods on nodes does to a pod that it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TermKind {
    /// Keeps it out of the domain.
    Repels,
    /// Adds to the score of the domain's nodes.
    Attracts,
    /// Takes from the score of the domain's nodes.
    Deters,
}

/// An affinity term of pods on nodes.
#[derive(Clone, Debug)]
pub(super) struct CarriedTerm {
    pub(super) kind: TermKind,
    term: PodTerm,
    pub(super) counter: CounterId,
    pub(super) sum: SumId,
    pub(super) topology: TopologyId,
}

/// Pods of one namespace with equal labels.
#[derive(Clone, Debug)]
pub(super) struct LabelClass {
    pub(super) namespace: Namespace,
    pub(super) labels: Labels,
    /// Counters whose selectors match.
    counters: SmallVec<[(CounterId, bool); 2]>,
    /// Pods of the class that are on known nodes.
    pods: Vec<PodId>,
    /// Terms that mean pods of the class.
    pub(super) meant_by: Vec<TermId>,
    /// How many of all terms were looked at for that.
    terms_seen: usize,
}

/// All label classes, and what selectors and terms make of them.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelClasses {
    classes: Interned<(Namespace, Labels), LabelClass>,
    memo: LabelMemo<LabelId>,
    by_namespace: FxHashMap<Namespace, Vec<LabelId>>,
    by_label: FxHashMap<(Namespace, Text, Text), Vec<LabelId>>,
    matchers: Interned<MatchKey, CounterId>,
    keys: Vec<MatchKey>,
    /// Positions in `keys`, by namespace and anchor; those that are not bound to namespaces by name are in `wide`.
    narrow: FxHashMap<(Namespace, Anchor), Vec<usize>>,
    wide: Vec<usize>,
    terms: Interned<(TermKind, PodTerm), CarriedTerm>,
    /// Terms by anchor, in the order in which they appeared.
    terms_by_anchor: FxHashMap<Anchor, Vec<TermId>>,
    pub(super) namespaces: NamespaceLabels,
    /// Whether some selector looks at labels of namespaces.
    pub(super) looks_at_namespaces: bool,
}

/// A label with its value.
type Anchor = Option<(Text, Text)>;

fn anchor_of(selector: &Selector) -> Anchor {
    let (key, value) = selector.anchor()?;
    Some((key.clone(), value.clone()))
}

/// The anchors of everything that can match such labels.
fn anchors_of(labels: &Labels) -> impl Iterator<Item = Anchor> {
    labels.pairs().iter().cloned().map(Some).chain([None])
}

/// What counting needs besides the classes.
pub(super) struct Counting<'a> {
    pub(super) counters: &'a mut Counters,
    pub(super) topologies: &'a Topologies,
    pub(super) eligibles: &'a Eligibles,
}

impl std::ops::Index<LabelId> for LabelClasses {
    type Output = LabelClass;

    fn index(&self, id: LabelId) -> &LabelClass {
        self.classes.get(id.0)
    }
}

impl std::ops::Index<TermId> for LabelClasses {
    type Output = CarriedTerm;

    fn index(&self, id: TermId) -> &CarriedTerm {
        self.terms.get(id.0)
    }
}

impl LabelClasses {
    pub(super) fn len(&self) -> usize {
        self.classes.len()
    }

    /// The class of a namespace and labels, made if need be.
    pub(super) fn id(&mut self, namespace: &Namespace, labels: &Labels) -> LabelId {
        if let Some(id) = self.memo.get(labels)
            && self[*id].namespace == *namespace
        {
            return *id;
        }
        let id = self.id_by_content(namespace, labels);
        self.memo.keep(labels, id);
        id
    }

    fn id_by_content(&mut self, namespace: &Namespace, labels: &Labels) -> LabelId {
        let key = (namespace.clone(), labels.clone());
        if let Some(id) = self.classes.find(&key) {
            return LabelId(id);
        }
        let near = anchors_of(labels).filter_map(|anchor| self.narrow.get(&(namespace.clone(), anchor)));
        let counters = near
            .flatten()
            .chain(&self.wide)
            .map(|at| &self.keys[*at])
            .filter(|key| key.matches(namespace, labels, &self.namespaces))
            .map(|key| {
                let counter = self.matchers.find(key).expect("every key has its counter");
                (*self.matchers.get(counter), key.only_staying)
            })
            .collect();
        let class = LabelClass {
            namespace: namespace.clone(),
            labels: labels.clone(),
            counters,
            pods: Vec::new(),
            meant_by: Vec::new(),
            terms_seen: 0,
        };
        let id = LabelId(self.classes.insert(key, class));
        self.by_namespace.entry(namespace.clone()).or_default().push(id);
        for (key, value) in labels.pairs() {
            let label = (namespace.clone(), key.clone(), value.clone());
            self.by_label.entry(label).or_default().push(id);
        }
        id
    }

    /// A pod of the class is on a known node.
    pub(super) fn enter(&mut self, id: LabelId, pod: PodId, pods: &mut Pods) {
        let list = &mut self.classes.get_mut(id.0).pods;
        *pods.label_place(pod) = u32::try_from(list.len()).expect("fewer than 2^32 pods fit in memory");
        list.push(pod);
    }

    /// A pod of the class is no longer on a known node.
    pub(super) fn leave(&mut self, id: LabelId, pod: PodId, pods: &mut Pods) {
        let place = *pods.label_place(pod);
        let list = &mut self.classes.get_mut(id.0).pods;
        list.swap_remove(place as usize);
        if let Some(moved) = list.get(place as usize) {
            *pods.label_place(*moved) = place;
        }
    }

    /// Counts a pod of the class on a node, or with a negative sign no longer.
    pub(super) fn count(
        &self,
        id: LabelId,
        is_staying: bool,
        node: NodeId,
        sign: i64,
        with: &mut Counting<'_>,
    ) {
        for (counter, only_staying) in &self[id].counters {
            if is_staying || !only_staying {
                with.counters.add(*counter, node, sign, with.topologies, with.eligibles);
            }
        }
    }

    /// As [`LabelClasses::count`], where a pod counts that stays, and not one that is on its way out.
    pub(super) fn count_staying(&self, id: LabelId, node: NodeId, sign: i64, with: &mut Counting<'_>) {
        for (counter, _) in self[id].counters.iter().filter(|(_, only_staying)| *only_staying) {
            with.counters.add(*counter, node, sign, with.topologies, with.eligibles);
        }
    }

    /// Whether pods of the class are counted by a counter.
    pub(super) fn is_counted(&self, id: LabelId, counter: CounterId) -> bool {
        self[id].counters.iter().any(|(known, _)| *known == counter)
    }

    /// The counter of a selector, made if need be.
    pub(super) fn counter(&mut self, key: MatchKey, pods: &Pods, with: &mut Counting<'_>) -> CounterId {
        if let Some(id) = self.matchers.find(&key) {
            return *self.matchers.get(id);
        }
        let counter = with.counters.counter();
        let names = key.all.iter().find_map(|(scope, _)| scope.only_names());
        let at = self.keys.len();
        match names {
            Some(names) => {
                for name in names {
                    self.narrow.entry((name.clone(), key.anchor())).or_default().push(at);
                }
            }
            None => self.wide.push(at),
        }
        let classes: Vec<LabelId> = match names {
            Some(names) => {
                names.iter().filter_map(|name| self.near(name, key.anchor())).flatten().copied().collect()
            }
            None => (0..).take(self.classes.len()).map(LabelId).collect(),
        };
        for id in classes {
            let class = self.classes.get_mut(id.0);
            if !key.matches(&class.namespace, &class.labels, &self.namespaces) {
                continue;
            }
            class.counters.push((counter, key.only_staying));
            for pod in &class.pods {
                let entry = &pods[*pod];
                if let Some(node) = entry.node
                    && !(key.only_staying && entry.pod.is_terminating())
                {
                    with.counters.add(counter, node, 1, with.topologies, with.eligibles);
                }
            }
        }
        self.looks_at_namespaces |= key.looks_at_namespaces();
        self.keys.push(key.clone());
        self.matchers.insert(key, counter);
        counter
    }

    /// Classes of a namespace among which are all with a label.
    fn near(&self, namespace: &Namespace, anchor: Anchor) -> Option<&Vec<LabelId>> {
        match anchor {
            Some((key, value)) => self.by_label.get(&(namespace.clone(), key, value)),
            None => self.by_namespace.get(namespace),
        }
    }

    /// The counter of an affinity term that pods on nodes carry, made if need be.
    pub(super) fn term(
        &mut self,
        kind: TermKind,
        term: PodTerm,
        topology: TopologyId,
        with: &mut Counting<'_>,
    ) -> TermId {
        let key = (kind, term);
        if let Some(id) = self.terms.find(&key) {
            return TermId(id);
        }
        let counter = with.counters.counter();
        let sum = with.counters.sum(counter, topology, Eligibles::ALL, with.topologies, with.eligibles);
        self.looks_at_namespaces |= key.1.scope.looks_at_labels();
        let term = key.1.clone();
        let anchor = anchor_of(&term.selector);
        let id = TermId(self.terms.insert(key, CarriedTerm { kind, term, counter, sum, topology }));
        self.terms_by_anchor.entry(anchor).or_default().push(id);
        id
    }

    /// Looks at terms that appeared since the class was asked last. Afterwards [`LabelClass::meant_by`] is complete.
    pub(super) fn catch_up(&mut self, id: LabelId) {
        let class = self.classes.get_mut(id.0);
        if class.terms_seen == self.terms.len() {
            return;
        }
        let near = anchors_of(&class.labels).filter_map(|anchor| self.terms_by_anchor.get(&anchor));
        let fresh = near.flat_map(|ids| {
            let from = ids.partition_point(|id| (id.0 as usize) < class.terms_seen);
            ids[from..].iter().copied()
        });
        let mut fresh: Vec<TermId> = fresh.collect();
        fresh.sort();
        for id in fresh {
            let term = &self.terms.get(id.0).term;
            if term.scope.covers_incoming(&class.namespace, &self.namespaces)
                && term.selector.matches(|key| class.labels.value(key))
            {
                class.meant_by.push(id);
            }
        }
        class.terms_seen = self.terms.len();
    }
}
