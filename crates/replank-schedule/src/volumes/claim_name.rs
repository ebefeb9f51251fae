//! What claims and their classes are called.

use replank_model::object::pod::{Pod, Volume};
use replank_model::text::Name;

pub(super) const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The name of a volume's claim, if it has one.
pub(super) fn claim_name(pod: &Pod, volume: &Volume) -> Option<Name> {
    match (&volume.source.persistent_volume_claim, &volume.source.ephemeral) {
        (Some(claim), _) => Some(claim.claim_name.clone()),
        (None, Some(_)) => Some(Name::from(format!("{}-{}", pod.meta.name, volume.name))),
        (None, None) => None,
    }
}
