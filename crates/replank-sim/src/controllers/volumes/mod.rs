//! Claims and volumes: which belongs to which, and where new ones are made (pkg/controller/volume).

mod attach;
mod bind;
mod protect;
mod provision;
mod reach;
mod users;

use replank_model::object::Object;
use replank_model::object::volume::{PersistentVolume, PersistentVolumeClaim};
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashSet;

use super::phase::Phase;
use super::{Ctx, REACTION};
use crate::event::{ControlDue, Event, VolumesDue as Due};
use crate::timing::CloudTimings;

pub(crate) use attach::is_attached;
pub(crate) use bind::{are_bound, ask};
pub(crate) use users::claims_of;

use attach::Attachments;
use users::Users;

/// Time after which everything is looked at again (`--pvclaimbinder-sync-period`): a volume that becomes free is offered to
/// claims that wait only then.
const RESYNC: Span = Span::from_secs(15);

/// Time from one write to the next while claim and volume are bound to each other. Recorded: 10 to 20 ms.
const WRITE: Span = Span::from_millis(15);

/// The volume controllers.
#[derive(Debug)]
pub(crate) struct Volumes {
    timings: CloudTimings,
    users: Users,
    attachments: Attachments,
    /// Claims to be looked at, by slot.
    claims: FxHashSet<u32>,
    /// Volumes to be looked at, by slot.
    volumes: FxHashSet<u32>,
    /// Claims whose volumes are being made, by slot.
    in_the_making: FxHashSet<u32>,
    /// When waiting claims are looked at again.
    next_resync: Option<Time>,
}

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

    /// Everything that is there at the beginning has been seen.
    pub(crate) fn start(&mut self, ctx: &mut Ctx<'_>) {
        self.attachments.start(ctx, &self.users, self.timings);
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::Pod(pod))) => {
                let old = match old {
                    Some(Object::Pod(old)) => Some(&**old),
                    Some(_) | None => None,
                };
                self.see_pod(ctx, *slot, old, pod);
            }
            (Some(Object::Pod(pod)), None) => {
                if self.users.remove(*slot) {
                    self.users_changed(ctx, pod);
                }
            }
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

    /// A kubelet is not heard of any more: it does not say that it has let go of a volume.
    pub(crate) fn node_fell_silent(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.attachments.fell_silent(ctx, node);
    }

    /// A kubelet is heard of again.
    pub(crate) fn node_speaks_again(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.attachments.speaks_again(ctx, node);
    }

    fn see_pod(
        &mut self,
        ctx: &mut Ctx<'_>,
        slot: u32,
        old: Option<&replank_model::object::pod::Pod>,
        new: &replank_model::object::pod::Pod,
    ) {
        if old.is_none() && users::has_ephemeral(new) {
            later(ctx, REACTION, Due::Ephemeral(slot));
        }
        if self.users.put(slot, new) {
            self.users_changed(ctx, new);
        }
    }

    /// The claims of a pod have got or lost a user.
    fn users_changed(&mut self, ctx: &mut Ctx<'_>, pod: &replank_model::object::pod::Pod) {
        for claim in claims_of(pod) {
            let Some(ix) = ctx.view().persistent_volume_claims.find(&claim) else { continue };
            self.look_at_claim(ctx, ix.raw());
            let claim = ctx.view().persistent_volume_claims[ix].clone();
            self.attachments.claim_changed(ctx, &claim);
        }
    }

    fn look_at_claim(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if self.claims.insert(slot) {
            later(ctx, REACTION, Due::Claim(slot));
        }
    }

    fn look_at_volume(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if self.volumes.insert(slot) {
            later(ctx, REACTION, Due::Volume(slot));
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

    fn resync(&mut self, ctx: &mut Ctx<'_>) {
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

fn later(ctx: &mut Ctx<'_>, span: Span, due: Due) {
    ctx.agenda.after(span, Event::Control(ControlDue::Volumes(due)));
}

#[cfg(test)]
mod tests;
