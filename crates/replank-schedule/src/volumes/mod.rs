//! Volumes: claims and what they are or can be bound to, limits of attachment, zones, disks that only one pod may use.
//!
//! Sources (Kubernetes 1.36): `pkg/scheduler/framework/plugins/{volumerestrictions,nodevolumelimits,volumebinding,
//! volumezone}`, component-helpers `storage/volume`, csi-translation-lib.

mod attach;
mod bind;
mod candidate;
mod check;
mod claim_name;
mod known;
mod plan;
mod restricted;
mod tables;
mod translate;
use replank_model::text::NodeName;

pub use bind::VolumeDecisions;
pub(super) use known::KnownVolumes;
pub(super) use plan::VolumePlan;

pub(super) use tables::{Promised, VolumeTables, is_disk};

impl VolumeTables {
    /// Promises what placing a pod on a node decides; returns what it replaced.
    pub(super) fn promise(&mut self, decided: &VolumeDecisions, node: &NodeName) -> Promised {
        let volumes = decided
            .bindings
            .iter()
            .map(|(claim, volume)| (volume.clone(), self.promised.insert(volume.clone(), claim.clone())));
        let volumes = volumes.collect();
        let claims = decided
            .provisions
            .iter()
            .map(|claim| (claim.clone(), self.selected.insert(claim.clone(), node.clone())));
        Promised { volumes, claims: claims.collect() }
    }
}
