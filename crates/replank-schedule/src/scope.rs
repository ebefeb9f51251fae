//! Whom a pod affinity term speaks of: namespaces, and pods by label.

use replank_model::labels::Labels;
use replank_model::object::affinity::PodAffinityTerm;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Namespace, Text};
use rustc_hash::FxHashMap;

/// Labels of the namespaces that exist.
pub(super) type NamespaceLabels = FxHashMap<Namespace, Labels>;

/// The namespaces of an affinity term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    names: Vec<Namespace>,
    selector: Option<Selector>,
}

impl Scope {
    pub(super) fn one(namespace: &Namespace) -> Self {
        Self { names: vec![namespace.clone()], selector: None }
    }

    /// The names, if nothing but names decides.
    pub(super) fn only_names(&self) -> Option<&[Namespace]> {
        self.selector.is_none().then_some(&*self.names)
    }

    /// Whether labels of namespaces decide.
    pub(super) fn looks_at_labels(&self) -> bool {
        self.selector.as_ref().is_some_and(|selector| !selector.is_empty())
    }

    /// Whether pods of a namespace are meant by a term of the pod that is to be placed.
    ///
    /// Namespaces that exist are meant by their labels (`mergeAffinityTermNamespacesIfNotEmpty` lists them). The
    /// selector itself is not taken out of the term afterwards, for 1.36 hands the term over by value, and is then
    /// asked about no labels at all: one that matches those (`env DoesNotExist`) means every namespace.
    pub(super) fn covers(&self, namespace: &Namespace, labels: &NamespaceLabels) -> bool {
        self.names.contains(namespace)
            || self.selector.as_ref().is_some_and(|selector| {
                selector.matches(|_| None)
                    || labels.get(namespace).is_some_and(|labels| selector.matches(|key| labels.value(key)))
            })
    }

    /// Whether a pod to be placed in a namespace is meant by a term of a pod that is there. A namespace that does not
    /// exist has no labels (`GetNamespaceLabelsSnapshot`).
    pub(super) fn covers_incoming(&self, namespace: &Namespace, labels: &NamespaceLabels) -> bool {
        self.names.contains(namespace)
            || self.selector.as_ref().is_some_and(|selector| {
                selector.matches(|key| labels.get(namespace).and_then(|labels| labels.value(key)))
            })
    }
}

/// An affinity term, compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PodTerm {
    pub(super) scope: Scope,
    pub(super) selector: Selector,
    pub(super) topology_key: Text,
}

impl PodTerm {
    /// Of a pod in `namespace`.
    ///
    /// # Errors
    /// What is wrong with a selector, as the scheduler words it.
    pub(super) fn compile(term: &PodAffinityTerm, namespace: &Namespace) -> Result<Self, Text> {
        let compile = |selector: &Option<LabelSelector>| {
            LabelSelector::compile_option(selector.as_ref()).map_err(|error| Text::from(error.to_string()))
        };
        let selector = compile(&term.label_selector)?;
        let namespaces = match &term.namespace_selector {
            None => None,
            Some(_) => Some(compile(&term.namespace_selector)?),
        };
        let mut names: Vec<Namespace> = term.namespaces.iter().cloned().map(Namespace::new).collect();
        if names.is_empty() && namespaces.is_none() {
            names.push(namespace.clone());
        }
        names.sort();
        names.dedup();
        let scope = Scope { names, selector: namespaces };
        Ok(Self { scope, selector, topology_key: term.topology_key.clone() })
    }

    /// All of a list, or what is wrong with the first that cannot be read.
    pub(super) fn compile_all<'a>(
        terms: impl Iterator<Item = &'a PodAffinityTerm>,
        namespace: &Namespace,
    ) -> Result<Vec<Self>, Text> {
        terms.map(|term| Self::compile(term, namespace)).collect()
    }
}
