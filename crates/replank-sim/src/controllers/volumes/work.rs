//! The volume controllers, and what is to be looked at.

use std::sync::Arc;

use replank_model::text::NodeName;
use replank_model::time::Time;
use rustc_hash::FxHashSet;

use super::attach::Attachments;
use super::soon::later;
use super::users;
use super::users::{Users, claims_of};
use crate::controllers::{Ctx, REACTION};
use crate::event::VolumesDue as Due;
use crate::timing::CloudTimings;

/// The volume controllers.
#[derive(Debug)]
pub(crate) struct Volumes {
    pub(super) timings: CloudTimings,
    pub(super) users: Users,
    pub(super) attachments: Attachments,
    /// Claims to be looked at, by slot.
    pub(super) claims: FxHashSet<u32>,
    /// Volumes to be looked at, by slot.
    pub(super) volumes: FxHashSet<u32>,
    /// Claims whose volumes are being made, by slot.
    pub(super) in_the_making: FxHashSet<u32>,
    /// When waiting claims are looked at again.
    pub(super) next_resync: Option<Time>,
}

impl Volumes {
    /// Everything that is there at the beginning has been seen.
    pub(crate) fn start(&mut self, ctx: &mut Ctx<'_>) {
        self.attachments.start(ctx, &self.users, self.timings);
    }

    /// The kubelet no longer reports: it does not say that it has unmounted a volume.
    pub(crate) fn node_fell_silent(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.attachments.fell_silent(ctx, node);
    }

    /// A kubelet is heard of again.
    pub(crate) fn node_speaks_again(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.attachments.speaks_again(ctx, node);
    }

    pub(super) fn see_pod(
        &mut self,
        ctx: &mut Ctx<'_>,
        slot: u32,
        old: Option<&replank_model::object::pod::Pod>,
        new: &replank_model::object::pod::Pod,
    ) {
        // What is noted of a pod is its claims, its node, and whether it may still run.
        let is_noted = |old: &replank_model::object::pod::Pod| {
            Arc::ptr_eq(&old.spec, &new.spec)
                && old.node == new.node
                && old.is_terminal() == new.is_terminal()
        };
        if old.is_some_and(is_noted) {
            return;
        }
        if old.is_none() && users::has_ephemeral(new) {
            later(ctx, REACTION, Due::Ephemeral(slot));
        }
        if self.users.put(slot, new) {
            self.users_changed(ctx, new);
        }
    }

    /// The claims of a pod have got or lost a user.
    pub(super) fn users_changed(&mut self, ctx: &mut Ctx<'_>, pod: &replank_model::object::pod::Pod) {
        for claim in claims_of(pod) {
            let Some(ix) = ctx.view().persistent_volume_claims.find(&claim) else { continue };
            self.look_at_claim(ctx, ix.raw());
            let claim = ctx.view().persistent_volume_claims[ix].clone();
            self.attachments.claim_changed(ctx, &claim);
        }
    }

    pub(super) fn look_at_claim(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if self.claims.insert(slot) {
            later(ctx, REACTION, Due::Claim(slot));
        }
    }

    pub(super) fn look_at_volume(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if self.volumes.insert(slot) {
            later(ctx, REACTION, Due::Volume(slot));
        }
    }

    pub(super) fn resync(&mut self, ctx: &mut Ctx<'_>) {
        self.next_resync = None;
        let waiting: Vec<u32> = ctx
            .view()
            .persistent_volume_claims
            .sorted()
            .into_iter()
            .filter(|(_, claim)| claim.spec.volume_name.is_empty())
            .map(|(ix, _)| ix.raw())
            .collect();
        for slot in waiting {
            self.look_at_claim(ctx, slot);
        }
    }
}
