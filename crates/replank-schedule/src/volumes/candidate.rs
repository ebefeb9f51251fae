//! Volumes that a claim may be bound to.

use replank_model::text::Name;

use crate::ids::AffinityId;

/// A volume that a claim could be bound to.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) name: Name,
    pub(super) affinity: Option<AffinityId>,
    /// Whether it is kept for this very claim.
    pub(super) is_reserved: bool,
}
