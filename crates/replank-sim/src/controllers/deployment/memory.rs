//! What is remembered between two looks at Deployments, so that it is not worked out anew each time: what their selectors say, and which templates are
//! equal. All of it follows from the objects.

use std::sync::Arc;

use replank_model::object::meta::ResourceVersion;
use replank_model::object::pod::PodSpec;
use replank_model::object::workload::{Deployment, ReplicaSet};
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Uid;
use rustc_hash::FxHashMap;

use super::settled::Settled;
use super::words::Words;

/// What is remembered.
#[derive(Debug, Default)]
pub(in crate::controllers) struct Memory {
    /// Selectors of Deployments, by slot.
    selectors: FxHashMap<u32, Compiled>,
    /// Whether the spec of a ReplicaSet's pods is its Deployment's, by the ReplicaSet's uid.
    compared: FxHashMap<Uid, Compared>,
    /// Deployments whose rollout is over, by slot.
    settled: FxHashMap<u32, Settled>,
    /// The versions of Deployments whose status is in sync with their ReplicaSets, by slot.
    synced: FxHashMap<u32, ResourceVersion>,
    /// What Deployments say.
    words: Words,
}

/// A selector, compiled.
#[derive(Debug)]
struct Compiled {
    uid: Uid,
    /// As long as it is the same, so is the selector; 0 where there is none.
    generation: i64,
    selector: LabelSelector,
    compiled: Selector,
}

/// Two specs and whether they are equal. They are kept, so that their addresses stay their own.
#[derive(Debug)]
struct Compared {
    of_set: Arc<PodSpec>,
    of_deployment: Arc<PodSpec>,
    are_equal: bool,
}

impl Memory {
    /// The selector of the Deployment in a slot; `None` if it has none that can be read.
    pub(super) fn selector(&mut self, slot: u32, deployment: &Deployment) -> Option<Selector> {
        let (meta, selector) = (&deployment.meta, deployment.spec.selector.as_ref()?);
        let is_same = |known: &&mut Compiled| {
            (meta.generation > 0 && known.generation == meta.generation && known.uid == meta.uid)
                || known.selector == *selector
        };
        if let Some(known) = self.selectors.get_mut(&slot).filter(is_same) {
            (known.uid, known.generation) = (meta.uid.clone(), meta.generation);
            return Some(known.compiled.clone());
        }
        let (uid, generation, compiled) = (meta.uid.clone(), meta.generation, selector.compile().ok()?);
        let known = Compiled { uid, generation, selector: selector.clone(), compiled: compiled.clone() };
        self.selectors.insert(slot, known);
        Some(compiled)
    }

    /// Whether a ReplicaSet and its Deployment ask for pods of one spec.
    pub(super) fn has_same_spec(&mut self, set: &ReplicaSet, deployment: &Deployment) -> bool {
        let (of_set, of_deployment) = (&set.spec.template.spec, &deployment.spec.template.spec);
        if Arc::ptr_eq(of_set, of_deployment) {
            return true;
        }
        if let Some(known) = self.compared.get(&set.meta.uid)
            && Arc::ptr_eq(&known.of_set, of_set)
            && Arc::ptr_eq(&known.of_deployment, of_deployment)
        {
            return known.are_equal;
        }
        let are_equal = of_set == of_deployment;
        let compared = Compared { of_set: of_set.clone(), of_deployment: of_deployment.clone(), are_equal };
        self.compared.insert(set.meta.uid.clone(), compared);
        are_equal
    }

    /// What was noted of the Deployment in a slot when its rollout was over, and the words in which it speaks.
    pub(super) fn settled(&mut self, slot: u32) -> (Option<&mut Settled>, &Words) {
        (self.settled.get_mut(&slot), &self.words)
    }

    /// What Deployments say.
    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    /// Notes that a rollout is over, or that it is not.
    pub(super) fn settle(&mut self, slot: u32, found: Option<Settled>) {
        match found {
            Some(found) => drop(self.settled.insert(slot, found)),
            None => drop(self.settled.remove(&slot)),
        }
    }

    /// Notes that a Deployment's status is in sync with its ReplicaSets.
    pub(super) fn set_synced(&mut self, slot: u32, version: ResourceVersion) {
        self.synced.insert(slot, version);
    }

    /// Whether a look at a Deployment would find nothing to do, if nothing happens to its ReplicaSets.
    pub(in crate::controllers) fn is_synced(&self, slot: u32, version: ResourceVersion) -> bool {
        self.synced.get(&slot) == Some(&version)
    }

    /// A ReplicaSet is gone.
    pub(in crate::controllers) fn forget(&mut self, set: &Uid) {
        self.compared.remove(set);
    }
}
