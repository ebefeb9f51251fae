//! Which volumes are attached where.

use std::collections::{BTreeMap, BTreeSet};

use replank_apiserver::draw::Purpose;
use replank_model::object::volume::PersistentVolumeClaim;
use replank_model::text::{Name, NodeName};
use replank_model::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};

use super::bind::volume_named;
use super::{Due, later};
use crate::controllers::{Ctx, REACTION};
use crate::timing::Range;

/// All attachments.
#[derive(Debug, Default)]
pub(super) struct Attachments {
    pub(super) by_volume: BTreeMap<Name, BTreeMap<NodeName, Attachment>>,
    /// Volumes that are, or once were, attached to a node.
    pub(super) by_node: FxHashMap<NodeName, BTreeSet<Name>>,
    /// Volumes to be looked at, by slot.
    pub(super) due: FxHashSet<u32>,
    /// What the numbered events are about.
    pub(super) work: FxHashMap<u32, (Name, NodeName)>,
    pub(super) next: u32,
    /// Nodes whose kubelets are not heard of.
    pub(super) silent: BTreeSet<NodeName>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attachment {
    pub(super) state: State,
    /// The object that says so; none where a dump lacks it.
    pub(super) object: Option<Name>,
    /// Since when no pod on the node uses the volume.
    pub(super) unused_since: Option<Time>,
    /// Whether the node's kubelet was silent when the last pod went, and so has not let go.
    pub(super) is_held: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Attaching,
    Attached,
    Detaching,
}

impl Attachments {
    /// A claim is bound, or has got or lost a user.
    pub(super) fn claim_changed(&mut self, ctx: &mut Ctx<'_>, claim: &PersistentVolumeClaim) {
        if let Some(volume) = volume_named(ctx.view(), &claim.spec.volume_name) {
            self.look_at(ctx, volume.raw());
        }
    }

    pub(super) fn node_gone(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.look_at_volumes_of(ctx, node);
    }

    pub(super) fn fell_silent(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.silent.insert(node.clone());
        self.look_at_volumes_of(ctx, node);
    }

    pub(super) fn speaks_again(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.silent.remove(node);
        for attached in self.by_volume.values_mut() {
            if let Some(attachment) = attached.get_mut(node) {
                attachment.is_held = false;
            }
        }
        self.look_at_volumes_of(ctx, node);
    }

    pub(super) fn order(&mut self, ctx: &mut Ctx<'_>, volume: &Name, node: &NodeName, takes: Range) {
        self.next += 1;
        self.work.insert(self.next, (volume.clone(), node.clone()));
        let entity = format!("{volume}@{node}");
        let span = takes.draw(ctx.draws.draw(&entity, Purpose::Volume, u64::from(self.next)));
        later(ctx, span, Due::Attachment(self.next));
    }

    pub(super) fn look_at(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if self.due.insert(slot) {
            later(ctx, REACTION, Due::Attach(slot));
        }
    }

    pub(super) fn look_at_volumes_of(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        let is_on = |name: &&Name| self.by_volume.get(*name).is_some_and(|on| on.contains_key(node));
        let names: Vec<Name> = self.by_node.get(node).into_iter().flatten().filter(is_on).cloned().collect();
        for name in names {
            if let Some(volume) = volume_named(ctx.view(), &name) {
                self.look_at(ctx, volume.raw());
            }
        }
    }
}

impl Attachment {
    pub(super) fn new(state: State, object: Option<Name>) -> Self {
        Self { state, object, unused_since: None, is_held: false }
    }
}
