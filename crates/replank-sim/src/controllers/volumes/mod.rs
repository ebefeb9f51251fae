//! Claims and volumes: which belongs to which, and where new ones are made (pkg/controller/volume).

mod attach;
mod attachments;
mod bind;
mod class;
mod protect;
mod provision;
mod reach;
mod soon;
mod users;
mod work;

use replank_model::object::Object;
use replank_model::object::volume::{PersistentVolume, PersistentVolumeClaim};
use replank_model::time::Span;
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashSet;

use super::phase::Phase;
use super::{Ctx, PodChange, REACTION};
use crate::event::{ControlDue, Event, VolumesDue as Due};
use crate::timing::CloudTimings;

pub(crate) use attach::is_attached;
pub(crate) use bind::{are_bound, ask};
pub(crate) use users::claims_of;

use attach::Attachments;
use users::Users;

use soon::later;
pub(crate) use work::Volumes;

/// Time after which everything is looked at again (`--pvclaimbinder-sync-period`): a volume that becomes free is offered to
/// claims that wait only then.
const RESYNC: Span = Span::from_secs(15);

/// Time from one write to the next while claim and volume are bound to each other. Recorded: 10 to 20 ms.
const WRITE: Span = Span::from_millis(15);

impl Volumes {
    pub(crate) fn new(timings: CloudTimings) -> Self {
        Self {
            timings,
            users: Users::default(),
            attachments: Attachments::default(),
            claims: FxHashSet::default(),
            volumes: FxHashSet::default(),
            in_the_making: FxHashSet::default(),
            next_resync: None,
        }
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (_, Some(Object::PersistentVolumeClaim(claim))) => {
                self.look_at_claim(ctx, *slot);
                self.attachments.claim_changed(ctx, claim);
            }
            (Some(Object::PersistentVolumeClaim(claim)), None) => {
                if let Some(volume) = bind::volume_named(ctx.view(), &claim.spec.volume_name) {
                    self.look_at_volume(ctx, volume.raw());
                }
            }
            (_, Some(Object::PersistentVolume(_))) => self.look_at_volume(ctx, *slot),
            (old, Some(Object::Node(node))) => {
                let old = match old {
                    Some(Object::Node(old)) => Some(&**old),
                    Some(_) | None => None,
                };
                self.attachments.node_changed(ctx, old, node);
            }
            (Some(Object::Node(node)), None) => self.attachments.node_gone(ctx, &node.name()),
            (Some(Object::VolumeAttachment(attachment)), None) => {
                self.attachments.deleted(ctx, attachment);
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &PodChange<'_>) {
        match (change.old, change.new) {
            (old, Some(new)) => self.see_pod(ctx, change.slot, old.map(|old| &**old), new),
            (Some(old), None) => {
                if self.users.remove(change.slot) {
                    self.users_changed(ctx, old);
                }
            }
            (None, None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Claim(slot) => {
                self.claims.remove(&slot);
                self.sync_claim(ctx, slot);
            }
            Due::Volume(slot) => {
                self.volumes.remove(&slot);
                self.sync_volume(ctx, slot);
            }
            Due::Resync => self.resync(ctx),
            Due::Provisioned(slot) => {
                self.in_the_making.remove(&slot);
                provision::finish(ctx, slot);
            }
            Due::Reclaimed(slot) => provision::reclaim(ctx, slot),
            Due::Ephemeral(slot) => provision::make_ephemeral(ctx, slot),
            Due::Attach(slot) => self.attachments.reconcile(ctx, slot, &self.users, self.timings),
            Due::Attachment(number) => self.attachments.finish(ctx, number),
        }
    }

    fn sync_claim(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let ix = Ix::<PersistentVolumeClaim>::new(slot);
        let Some(claim) = ctx.view().persistent_volume_claims.get(ix).cloned() else { return };
        if protect::release_claim(ctx, &claim, &self.users) {
            return;
        }
        match bind::sync_claim(ctx, &claim) {
            bind::ClaimNeeds::Nothing => {}
            bind::ClaimNeeds::More => {
                if self.claims.insert(slot) {
                    later(ctx, WRITE, Due::Claim(slot));
                }
            }
            bind::ClaimNeeds::Provisioning => {
                if self.in_the_making.insert(slot) {
                    provision::begin(ctx, slot, &claim, self.timings);
                }
            }
        }
    }

    fn sync_volume(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let ix = Ix::<PersistentVolume>::new(slot);
        let Some(volume) = ctx.view().persistent_volumes.get(ix).cloned() else { return };
        if protect::release_volume(ctx, &volume) {
            return;
        }
        match bind::sync_volume(ctx, &volume) {
            bind::VolumeNeeds::Nothing => {}
            bind::VolumeNeeds::Claim(claim) => self.look_at_claim(ctx, claim.raw()),
            bind::VolumeNeeds::Offering => self.resync_soon(ctx),
            bind::VolumeNeeds::Reclaiming => provision::begin_reclaim(ctx, slot, &volume, self.timings),
        }
    }

    fn resync_soon(&mut self, ctx: &mut Ctx<'_>) {
        if self.next_resync.is_none() {
            let at = Phase::of(ctx.draws, "volume binder", RESYNC).next(ctx.api.now() + REACTION);
            self.next_resync = Some(at);
            ctx.agenda.at(at, Event::Control(ControlDue::Volumes(Due::Resync)));
        }
    }
}

#[cfg(test)]
mod tests;
