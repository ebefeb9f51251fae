//! Which pods use which claims.

use std::collections::BTreeSet;

use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase, Volume};
use replank_model::text::{Name, NodeName};
use replank_model::view::{Ix, View};
use rustc_hash::FxHashMap;

/// Pods by claim, for pods that are bound to a node.
#[derive(Debug, Default)]
pub(super) struct Users {
    by_claim: FxHashMap<Key, BTreeSet<u32>>,
    /// What is noted of each pod, by slot.
    pods: FxHashMap<u32, Noted>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Noted {
    claims: Vec<Key>,
    node: NodeName,
    /// Whether the pod's containers may still run.
    is_running: bool,
}

impl Users {
    /// Notes a pod; whether what is noted has changed.
    pub(super) fn put(&mut self, slot: u32, pod: &Pod) -> bool {
        let has_claim = |volume: &Volume| {
            volume.source.persistent_volume_claim.is_some() || volume.source.ephemeral.is_some()
        };
        if !pod.spec.volumes.iter().any(has_claim) {
            return false;
        }
        let Some(node) = pod.node.clone() else { return false };
        let noted = Noted { claims: claims_of(pod), node, is_running: !pod.is_terminal() };
        if self.pods.get(&slot) == Some(&noted) {
            return false;
        }
        self.remove(slot);
        for claim in &noted.claims {
            self.by_claim.entry(claim.clone()).or_default().insert(slot);
        }
        self.pods.insert(slot, noted);
        true
    }

    /// Forgets a pod; whether it was noted.
    pub(super) fn remove(&mut self, slot: u32) -> bool {
        let Some(noted) = self.pods.remove(&slot) else { return false };
        for claim in noted.claims {
            if let Some(pods) = self.by_claim.get_mut(&claim) {
                pods.remove(&slot);
                if pods.is_empty() {
                    self.by_claim.remove(&claim);
                }
            }
        }
        true
    }

    /// Whether any bound pod names a claim, whatever its state.
    pub(super) fn is_used(&self, claim: &Key) -> bool {
        self.by_claim.contains_key(claim)
    }

    /// Nodes on which pods that do run use a claim.
    pub(super) fn running_nodes(&self, view: &View, claim: &Key) -> BTreeSet<NodeName> {
        let slots = self.by_claim.get(claim).into_iter().flatten();
        let pods = slots.filter_map(|slot| view.pods.get(Ix::<Pod>::new(*slot)));
        pods.filter(|pod| pod.status.phase == PodPhase::Running).filter_map(|pod| pod.node.clone()).collect()
    }

    /// Nodes on which pods that may run use a claim.
    pub(super) fn nodes(&self, claim: &Key) -> BTreeSet<NodeName> {
        let pods = self.by_claim.get(claim).into_iter().flatten().filter_map(|slot| self.pods.get(slot));
        pods.filter(|noted| noted.is_running).map(|noted| noted.node.clone()).collect()
    }
}

/// The claims that a pod's volumes name, its ephemeral ones among them.
pub(crate) fn claims_of(pod: &Pod) -> Vec<Key> {
    let names = pod.spec.volumes.iter().filter_map(|volume| claim_name(pod, volume));
    names.map(|name| Key { namespace: pod.meta.namespace.clone(), name }).collect()
}

/// Whether any of a pod's volumes lives and dies with it.
pub(super) fn has_ephemeral(pod: &Pod) -> bool {
    pod.spec.volumes.iter().any(|volume| volume.source.ephemeral.is_some())
}

/// The claim behind a volume (component-helpers `ephemeral.VolumeClaimName`).
pub(super) fn claim_name(pod: &Pod, volume: &Volume) -> Option<Name> {
    match (&volume.source.persistent_volume_claim, &volume.source.ephemeral) {
        (Some(claim), _) => Some(claim.claim_name.clone()),
        (None, Some(_)) => Some(Name::from(format!("{}-{}", pod.meta.name, volume.name))),
        (None, None) => None,
    }
}
