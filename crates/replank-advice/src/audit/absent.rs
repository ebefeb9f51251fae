//! What a snapshot does not hold, though its pods show that it is there: claims above all.
//!
//! A pod that has a node had its claims when it was placed (kube-scheduler places none without, and the finalizers
//! `kubernetes.io/pvc-protection` and `pv-protection` keep them while it runs). Where the snapshot lacks them, or has none of
//! the kind at all, it was taken without them; the scheduler would say "not found" of every node, which is true of the file
//! and of nothing else. So they are left out of the question, and a rule says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodSpec, Volume};
use replank_model::object::volume::{ClaimPhase, PersistentVolumeClaim};
use replank_model::text::Name;
use replank_model::view::View;

/// Why a part of a pod's spec is left out of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOut {
    /// The claim is not in the snapshot.
    Claim,
    /// A claim is made with the pod (generic ephemeral volume): it need not be there before.
    NotYetMade,
    /// The claim's volume is not in the snapshot.
    Volume,
    /// The class of a claim without a volume is not in the snapshot.
    Class,
    /// ResourceClaims are not read.
    ResourceClaim,
    /// A selector of namespaces, and no namespace is in the snapshot.
    Namespace,
}

/// What is known to be there without being in the snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Absent {
    /// Claims that pods with a node use.
    evident: BTreeSet<Key>,
}

impl Absent {
    pub(super) fn of(view: &View) -> Self {
        let placed = view.pods.unordered().map(|(_, pod)| pod);
        let placed = placed.filter(|pod| pod.is_active() && pod.node.is_some());
        let claims =
            placed.flat_map(|pod| pod.spec.volumes.iter().filter_map(|volume| claim_of(pod, volume)));
        Self { evident: claims.collect() }
    }

    /// What is left out of the question about a pod.
    pub(super) fn left_out(&self, view: &View, pod: &Pod) -> BTreeSet<LeftOut> {
        let mut all: BTreeSet<LeftOut> =
            pod.spec.volumes.iter().filter_map(|volume| self.of_volume(view, pod, volume)).collect();
        if !pod.spec.resource_claims.is_empty() {
            all.insert(LeftOut::ResourceClaim);
        }
        if has_namespace_terms(view, &pod.spec) {
            all.insert(LeftOut::Namespace);
        }
        all
    }

    /// The pod without what is left out.
    pub(super) fn less(&self, view: &View, mut pod: Pod) -> Pod {
        if self.left_out(view, &pod).is_empty() {
            return pod;
        }
        let kept: Vec<Volume> = pod
            .spec
            .volumes
            .iter()
            .filter(|one| self.of_volume(view, &pod, one).is_none())
            .cloned()
            .collect();
        let drops_terms = has_namespace_terms(view, &pod.spec);
        let spec = Arc::make_mut(&mut pod.spec);
        spec.volumes = kept;
        spec.resource_claims.clear();
        if drops_terms
            && let Some(affinity) = &mut spec.affinity
            && let Some(near) = &mut Arc::make_mut(affinity).pod_affinity
        {
            near.required.retain(|term| term.namespace_selector.is_none());
        }
        pod
    }

    fn of_volume(&self, view: &View, pod: &Pod, volume: &Volume) -> Option<LeftOut> {
        let key = claim_of(pod, volume)?;
        let is_evident = self.evident.contains(&key);
        let Some(claim) = view.persistent_volume_claims.by_key(&key) else {
            return if is_evident || view.persistent_volume_claims.is_empty() && !is_ephemeral(volume) {
                Some(LeftOut::Claim)
            } else {
                is_ephemeral(volume).then_some(LeftOut::NotYetMade)
            };
        };
        if claim.status.phase == Some(ClaimPhase::Lost) {
            return None;
        }
        if claim.spec.volume_name.is_empty() {
            let is_lacking = lacks_class(view, claim) && (is_evident || view.storage_classes.is_empty());
            return is_lacking.then_some(LeftOut::Class);
        }
        let is_there =
            view.persistent_volumes.by_key(&Key::cluster(claim.spec.volume_name.clone())).is_some();
        (!is_there && (is_evident || view.persistent_volumes.is_empty())).then_some(LeftOut::Volume)
    }
}

fn is_ephemeral(volume: &Volume) -> bool {
    volume.source.persistent_volume_claim.is_none()
}

/// The claim that a volume of a pod is (core/v1 EphemeralVolumeSource: named after pod and volume).
fn claim_of(pod: &Pod, volume: &Volume) -> Option<Key> {
    let name = match (&volume.source.persistent_volume_claim, &volume.source.ephemeral) {
        (Some(claim), _) => claim.claim_name.clone(),
        (None, Some(_)) => Name::from(format!("{}-{}", pod.meta.name, volume.name)),
        (None, None) => return None,
    };
    Some(Key::new(pod.meta.namespace.clone(), name))
}

fn lacks_class(view: &View, claim: &PersistentVolumeClaim) -> bool {
    let class = claim.spec.storage_class_name.as_ref();
    class.is_some_and(|class| {
        !class.is_empty() && view.storage_classes.by_key(&Key::cluster(class.clone())).is_none()
    })
}

/// Whether pods must be near others in namespaces that are told by labels nobody knows.
fn has_namespace_terms(view: &View, spec: &PodSpec) -> bool {
    let near = spec.affinity.as_deref().and_then(|affinity| affinity.pod_affinity.as_ref());
    view.namespaces.is_empty()
        && near.is_some_and(|near| near.required.iter().any(|term| term.namespace_selector.is_some()))
}
