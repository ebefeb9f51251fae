//! Changes to claims: what a pod's volumes would have to be for it to fit.

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::Pod;
use replank_model::object::volume::{
    AccessMode, ClaimPhase, ClaimSpec, PersistentVolumeClaim, StorageClass, VolumeBindingMode,
};
use replank_model::text::Name;
use replank_model::view::View;

use super::change::Change;
use replank_facts::pod_factory::default_class;
use replank_schedule::{Failure, Reason, Rejection};

/// Annotations by which a claim is bound to a volume or a node.
const BOUND: [&str; 3] = [
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
];

/// The claims that a pod names.
fn claims_of<'a>(
    view: &'a View,
    pod: &'a Pod,
) -> impl Iterator<Item = (Key, Option<&'a Arc<PersistentVolumeClaim>>)> {
    let sources = pod.spec.volumes.iter().filter_map(|volume| volume.source.persistent_volume_claim.as_ref());
    sources.map(|source| {
        let key = Key::new(pod.meta.namespace.clone(), source.claim_name.clone());
        let claim = view.persistent_volume_claims.by_key(&key);
        (key, claim)
    })
}

fn waits_for_pods(class: &StorageClass) -> bool {
    class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer)
}

/// A class whose volumes are made where the pod goes: the default if it is one, otherwise the first by name.
fn usable_class(view: &View) -> Option<Name> {
    let is_usable = |name: &Name| {
        view.storage_classes.by_key(&Key::cluster(name.clone())).is_some_and(|class| waits_for_pods(class))
    };
    let sorted = view.storage_classes.sorted();
    let names = sorted.iter().map(|(_, class)| class.meta.name.clone());
    default_class(view).into_iter().chain(names).find(is_usable)
}

/// What lifts a rejection of the pod as a whole.
pub(super) fn for_rejection(view: &View, pod: &Pod, rejected: &Rejection) -> Vec<Vec<Change>> {
    let mut set = Vec::new();
    for reason in &rejected.reasons {
        match reason {
            Reason::AffinityTermsConflict => set.push(Change::UnrequireAll),
            Reason::ClaimNotFound(_) => set.extend(missing(view, pod)),
            Reason::UnboundImmediateClaims
            | Reason::StorageClassNotFound(_)
            | Reason::ClaimWithoutClass
            | Reason::ClaimWithoutVolume
            | Reason::NoBindingMode(_) => set.extend(reclassed(view, pod)),
            Reason::ClaimLost { .. } | Reason::ClaimDeleted(_) | Reason::VolumeNotFound(_) => {
                set.extend(renewed(view, pod, |_| true));
            }
            Reason::NodeUnschedulable
            | Reason::OtherNodeName
            | Reason::UntoleratedTaint
            | Reason::NodeAffinity
            | Reason::OutsideNarrowing
            | Reason::PortTaken
            | Reason::TooManyPods
            | Reason::Insufficient(_)
            | Reason::DiskConflict
            | Reason::ReadWriteOncePodConflict
            | Reason::EphemeralClaimMissing(_)
            | Reason::ClaimOfAnother { .. }
            | Reason::MaxVolumeCount
            | Reason::ClaimLookUp { .. }
            | Reason::NoVolumeToBind
            | Reason::VolumeNodeAffinity
            | Reason::NotEnoughStorage
            | Reason::VolumeGone
            | Reason::NoVolumeZone
            | Reason::Spread
            | Reason::SpreadLabelMissing
            | Reason::UnreadableTerms(_)
            | Reason::PodAffinity
            | Reason::PodAntiAffinity
            | Reason::ExistingPodAntiAffinity
            | Reason::ResourceClaimNotFound { .. }
            | Reason::ResourceClaimNotMade { .. }
            | Reason::DeclaredFeatures
            | Reason::NoVictims
            | Reason::PreemptionNotHelpful => {}
        }
    }
    if set.is_empty() { Vec::new() } else { vec![set] }
}

/// What lifts a node's objection to the pod's volumes.
pub(super) fn for_node(view: &View, pod: &Pod, failure: &Failure) -> Vec<Vec<Change>> {
    // With the pod rejected as a whole, the change that lifts the rejection lifts this too, if anything does.
    let is_bound = |claim: &PersistentVolumeClaim| !claim.spec.volume_name.is_empty();
    let is_about_volumes = failure.reasons.iter().any(|reason| {
        matches!(reason, Reason::VolumeNodeAffinity | Reason::NoVolumeZone | Reason::VolumeGone)
    });
    if is_about_volumes {
        let renewed = renewed(view, pod, is_bound);
        return if renewed.is_empty() { Vec::new() } else { vec![renewed] };
    }
    let is_unmet = failure.reasons.iter().any(|reason| matches!(reason, Reason::NoVolumeToBind));
    let reclassed = if is_unmet { reclassed(view, pod) } else { Vec::new() };
    if reclassed.is_empty() { Vec::new() } else { vec![reclassed] }
}

fn missing(view: &View, pod: &Pod) -> Vec<Change> {
    let Some(class) = usable_class(view) else { return Vec::new() };
    let absent = claims_of(view, pod).filter(|(_, claim)| claim.is_none());
    absent.map(|(key, _)| Change::MakeClaim { claim: key, class: class.clone() }).collect()
}

/// Claims that are not bound and whose class makes no volumes where the pod goes.
fn reclassed(view: &View, pod: &Pod) -> Vec<Change> {
    let Some(to) = usable_class(view) else { return Vec::new() };
    let unbound = claims_of(view, pod).filter_map(|(key, claim)| Some((key, claim?)));
    unbound
        .filter(|(_, claim)| claim.spec.volume_name.is_empty())
        .map(|(key, claim)| (key, claim.spec.storage_class_name.clone().unwrap_or_default()))
        .filter(|(_, from)| *from != to)
        .map(|(claim, from)| Change::Reclass { claim, from, to: to.clone() })
        .collect()
}

fn renewed(view: &View, pod: &Pod, which: impl Fn(&PersistentVolumeClaim) -> bool) -> Vec<Change> {
    let claims = claims_of(view, pod).filter_map(|(key, claim)| Some((key, claim?)));
    claims
        .filter(|(_, claim)| which(claim))
        .map(|(claim, known)| Change::RenewClaim { claim, volume: known.spec.volume_name.clone() })
        .collect()
}

/// The claim of a change, as it is after it.
pub(super) fn changed(view: &View, change: &Change) -> Option<Object> {
    let fresh = |claim: &PersistentVolumeClaim| {
        let mut claim = claim.clone();
        claim.spec.volume_name = Name::default();
        claim.status.phase = Some(ClaimPhase::Pending);
        claim.meta.deletion_timestamp = None;
        for key in BOUND {
            claim.meta.annotations = claim.meta.annotations.without(key);
        }
        claim
    };
    let known = |key: &Key| view.persistent_volume_claims.by_key(key);
    match change {
        Change::MakeClaim { claim, class } => {
            let meta =
                Meta { name: claim.name.clone(), namespace: claim.namespace.clone(), ..Meta::default() };
            let spec = ClaimSpec {
                access_modes: vec![AccessMode::ReadWriteOnce],
                storage_class_name: Some(class.clone()),
                ..ClaimSpec::default()
            };
            let made = PersistentVolumeClaim { meta, spec, ..PersistentVolumeClaim::default() };
            Some(fresh(&made).into())
        }
        Change::Reclass { claim, to, .. } => {
            let mut claim = fresh(known(claim)?);
            claim.spec.storage_class_name = Some(to.clone());
            Some(claim.into())
        }
        Change::RenewClaim { claim, .. } => Some(fresh(known(claim)?).into()),
        Change::Tolerate(_)
        | Change::Select { .. }
        | Change::Unselect { .. }
        | Change::Admit { .. }
        | Change::Unrequire { .. }
        | Change::UnrequireAll
        | Change::Request { .. }
        | Change::ReleasePort { .. }
        | Change::Skew { .. }
        | Change::SpreadAnyway { .. }
        | Change::PreferApart { .. }
        | Change::PreferNear
        | Change::Prioritize { .. }
        | Change::Label { .. }
        | Change::Unlabel { .. }
        | Change::Uncordon { .. }
        | Change::Untaint { .. }
        | Change::Free { .. }
        | Change::AddNode { .. }
        | Change::Enlarge { .. } => None,
    }
}
