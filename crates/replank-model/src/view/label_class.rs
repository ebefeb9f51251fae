//! Label classes: pods of one namespace with equal labels.
//!
//! Pods of one template have one set of labels, so a selector is asked once per class and not once per pod. That keeps
//! the answer to "which pods does this budget cover" ready at all times, at the price of a look-up when a pod appears.
//!
//! Nearly every selector asks for one value of some label ([`Selector::anchor`]). Classes are found by each of their labels and
//! budgets by that one, so that neither a class that appears nor a budget has to be held against all of its namespace.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::labels::{LabelMemo, Labels};
use crate::object::pod::Pod;
use crate::object::policy::PodDisruptionBudget;
use crate::selector::Selector;
use crate::text::{Namespace, Text};
use crate::view::table::Ix;

/// Position of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ClassIx(u32);

impl ClassIx {
    fn at(self) -> usize {
        self.0 as usize
    }
}

type Budgets = SmallVec<[Ix<PodDisruptionBudget>; 2]>;

/// Pods of one namespace with equal labels.
#[derive(Clone, Debug)]
pub struct LabelClass {
    /// Namespace of the pods.
    pub namespace: Namespace,
    /// Labels of the pods.
    pub labels: Labels,
    pods: Vec<Ix<Pod>>,
    /// Few, and asked for with every pod: they are here and not elsewhere in memory.
    budgets: Budgets,
    /// Position in the namespace's list.
    place: u32,
    /// How many classes were made before.
    number: u64,
}

impl LabelClass {
    /// How many classes were made in its view before it: no other one has this number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The pods, in no order.
    #[must_use]
    pub fn pods(&self) -> &[Ix<Pod>] {
        &self.pods
    }

    /// The disruption budgets that cover the pods, in order of their slots.
    #[must_use]
    pub fn budgets(&self) -> &[Ix<PodDisruptionBudget>] {
        &self.budgets
    }
}

/// All classes, and which budgets cover which.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelClasses {
    classes: Vec<Option<LabelClass>>,
    free: Vec<u32>,
    by_labels: FxHashMap<(Namespace, Labels), ClassIx>,
    /// The class of labels that were looked up, with its number among all classes ever made: one that is made in the
    /// place of another is another.
    memo: LabelMemo<(ClassIx, u64)>,
    made: u64,
    by_namespace: FxHashMap<Namespace, Vec<ClassIx>>,
    /// Class of each pod and its position there, by slot.
    of_pod: Vec<Option<(ClassIx, u32)>>,
    /// Classes by each of their labels.
    by_label: FxHashMap<(Namespace, Text, Text), BTreeSet<ClassIx>>,
    budgets: FxHashMap<Ix<PodDisruptionBudget>, Budget>,
    /// Budgets by the label that their selector asks for, if it asks for one.
    budgets_by_anchor: FxHashMap<(Namespace, Anchor), BTreeSet<Ix<PodDisruptionBudget>>>,
}

type Anchor = Option<(Text, Text)>;

#[derive(Clone, Debug)]
struct Budget {
    namespace: Namespace,
    /// `None` where the selector cannot be read: such a budget covers nothing.
    selector: Option<Selector>,
    classes: Vec<ClassIx>,
}

impl LabelClasses {
    pub(super) fn get(&self, ix: ClassIx) -> Option<&LabelClass> {
        self.classes.get(ix.at()).and_then(Option::as_ref)
    }

    pub(super) fn of_pod(&self, pod: Ix<Pod>) -> Option<&LabelClass> {
        let (class, _) = (*self.of_pod.get(pod.slot())?)?;
        self.get(class)
    }

    pub(super) fn in_namespace(&self, namespace: &Namespace) -> impl Iterator<Item = &LabelClass> {
        self.by_namespace.get(namespace).into_iter().flatten().filter_map(|class| self.get(*class))
    }

    /// Classes of a namespace among which are all that a selector matches.
    pub(super) fn near<'a>(
        &'a self,
        namespace: &Namespace,
        selector: &Selector,
    ) -> impl Iterator<Item = &'a LabelClass> + use<'a> {
        let anchored = selector.anchor().map(|(key, value)| {
            self.by_label.get(&(namespace.clone(), key.clone(), value.clone())).into_iter().flatten()
        });
        let all = || self.by_namespace.get(namespace).into_iter().flatten();
        let all = anchored.is_none().then(all).into_iter().flatten();
        anchored.into_iter().flatten().chain(all).filter_map(|class| self.get(*class))
    }

    pub(super) fn of_budget(&self, budget: Ix<PodDisruptionBudget>) -> impl Iterator<Item = &LabelClass> {
        self.budgets.get(&budget).into_iter().flat_map(|b| &b.classes).filter_map(|class| self.get(*class))
    }

    pub(super) fn add_pod(&mut self, pod: Ix<Pod>, namespace: &Namespace, labels: &Labels) {
        let class = self.class(namespace, labels);
        if self.of_pod.len() <= pod.slot() {
            self.of_pod.resize(pod.slot() + 1, None);
        }
        let pods = &mut self.classes[class.at()].as_mut().expect("just found or made").pods;
        self.of_pod[pod.slot()] = Some((class, narrow(pods.len())));
        pods.push(pod);
    }

    pub(super) fn remove_pod(&mut self, pod: Ix<Pod>) {
        let Some((ix, place)) = self.of_pod.get_mut(pod.slot()).and_then(Option::take) else { return };
        let class = self.classes[ix.at()].as_mut().expect("a pod's class lives as long as the pod");
        class.pods.swap_remove(place as usize);
        if let Some(moved) = class.pods.get(place as usize) {
            self.of_pod[moved.slot()] = Some((ix, place));
        }
        if class.pods.is_empty() {
            self.drop_class(ix);
        }
    }

    pub(super) fn put_budget(
        &mut self,
        budget: Ix<PodDisruptionBudget>,
        namespace: &Namespace,
        selector: Option<Selector>,
    ) {
        self.remove_budget(budget);
        let mut covered: Vec<ClassIx> = Vec::new();
        if let Some(selector) = &selector {
            let near: Vec<ClassIx> = match selector.anchor() {
                Some((key, value)) => {
                    let label = (namespace.clone(), key.clone(), value.clone());
                    self.by_label.get(&label).into_iter().flatten().copied().collect()
                }
                None => self.by_namespace.get(namespace).cloned().unwrap_or_default(),
            };
            for ix in near {
                let class = self.classes[ix.at()].as_mut().expect("listed classes are there");
                if selector.matches(|key| class.labels.value(key)) {
                    insert_sorted(&mut class.budgets, budget);
                    covered.push(ix);
                }
            }
        }
        let anchor = anchor_of(selector.as_ref());
        self.budgets.insert(budget, Budget { namespace: namespace.clone(), selector, classes: covered });
        self.budgets_by_anchor.entry((namespace.clone(), anchor)).or_default().insert(budget);
    }

    pub(super) fn remove_budget(&mut self, budget: Ix<PodDisruptionBudget>) {
        let Some(old) = self.budgets.remove(&budget) else { return };
        for class in old.classes {
            if let Some(class) = self.classes[class.at()].as_mut() {
                class.budgets.retain(|b| *b != budget);
            }
        }
        let anchor = (old.namespace, anchor_of(old.selector.as_ref()));
        if let Some(list) = self.budgets_by_anchor.get_mut(&anchor) {
            list.remove(&budget);
            if list.is_empty() {
                self.budgets_by_anchor.remove(&anchor);
            }
        }
    }

    fn class(&mut self, namespace: &Namespace, labels: &Labels) -> ClassIx {
        if let Some((ix, number)) = self.memo.get(labels)
            && self.get(*ix).is_some_and(|class| class.number == *number && class.namespace == *namespace)
        {
            return *ix;
        }
        let ix = self.class_by_content(namespace, labels);
        let number = self.classes[ix.at()].as_ref().expect("just found or made").number;
        self.memo.keep(labels, (ix, number));
        ix
    }

    fn class_by_content(&mut self, namespace: &Namespace, labels: &Labels) -> ClassIx {
        if let Some(class) = self.by_labels.get(&(namespace.clone(), labels.clone())) {
            return *class;
        }
        let ix = ClassIx(self.free.pop().unwrap_or_else(|| {
            self.classes.push(None);
            narrow(self.classes.len() - 1)
        }));
        let mut budgets = Budgets::new();
        let anchors = labels.pairs().iter().cloned().map(Some).chain([None]);
        let near = anchors.filter_map(|anchor| self.budgets_by_anchor.get(&(namespace.clone(), anchor)));
        for budget in near.flatten() {
            let entry = self.budgets.get_mut(budget).expect("listed budgets are there");
            if entry.selector.as_ref().is_some_and(|selector| selector.matches(|key| labels.value(key))) {
                insert_sorted(&mut budgets, *budget);
                entry.classes.push(ix);
            }
        }
        let siblings = self.by_namespace.entry(namespace.clone()).or_default();
        let place = narrow(siblings.len());
        siblings.push(ix);
        self.classes[ix.at()] = Some(LabelClass {
            namespace: namespace.clone(),
            labels: labels.clone(),
            pods: Vec::new(),
            budgets,
            place,
            number: self.made,
        });
        self.made += 1;
        self.by_labels.insert((namespace.clone(), labels.clone()), ix);
        for (key, value) in labels.pairs() {
            let label = (namespace.clone(), key.clone(), value.clone());
            self.by_label.entry(label).or_default().insert(ix);
        }
        ix
    }

    fn drop_class(&mut self, ix: ClassIx) {
        let class = self.classes[ix.at()].take().expect("dropped once");
        self.free.push(ix.0);
        for budget in &class.budgets {
            if let Some(budget) = self.budgets.get_mut(budget) {
                budget.classes.retain(|class| *class != ix);
            }
        }
        let siblings = self.by_namespace.get_mut(&class.namespace).expect("a class is listed");
        siblings.swap_remove(class.place as usize);
        if let Some(&moved) = siblings.get(class.place as usize) {
            self.classes[moved.at()].as_mut().expect("listed classes are there").place = class.place;
        }
        for (key, value) in class.labels.pairs() {
            let label = (class.namespace.clone(), key.clone(), value.clone());
            if let Some(classes) = self.by_label.get_mut(&label) {
                classes.remove(&ix);
                if classes.is_empty() {
                    self.by_label.remove(&label);
                }
            }
        }
        self.by_labels.remove(&(class.namespace, class.labels));
    }
}

fn anchor_of(selector: Option<&Selector>) -> Anchor {
    let (key, value) = selector?.anchor()?;
    Some((key.clone(), value.clone()))
}

fn insert_sorted(list: &mut Budgets, budget: Ix<PodDisruptionBudget>) {
    if let Err(at) = list.binary_search(&budget) {
        list.insert(at, budget);
    }
}

fn narrow(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 pods fit in memory")
}
