//! The containers of a pod, and what stands around them.

use std::collections::BTreeSet;

use super::field::Field;
use super::volumes::Known;

/// What is asked of a container's surroundings.
pub(super) struct Around<'a> {
    /// Volumes of the pod that are in order.
    pub(super) volumes: &'a Known<'a>,
    /// Names of the pod's claims of devices.
    pub(super) claims: BTreeSet<&'a str>,
    /// How long the pod has to end.
    pub(super) grace_seconds: Option<i64>,
    /// Whether the pod shares the host's users.
    pub(super) host_users: bool,
    pub(super) restart_policy: &'a str,
}

impl<'a> Around<'a> {
    pub(super) fn new(spec: &Field<'a>, volumes: &'a Known<'a>) -> Self {
        let claims = spec.child("resourceClaims").items().map(|claim| claim.child("name").text());
        Self {
            volumes,
            claims: claims.filter(|name| !name.is_empty()).collect(),
            grace_seconds: spec.child("terminationGracePeriodSeconds").number(),
            host_users: spec.child("hostUsers").flag() != Some(false),
            restart_policy: spec.child("restartPolicy").text(),
        }
    }
}

/// All containers of a spec, in the order in which upstream's visitors meet them.
pub(super) fn visit<'a>(spec: &Field<'a>) -> impl Iterator<Item = Field<'a>> {
    let spec = spec.clone();
    ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(move |list| spec.child(list).items())
}
