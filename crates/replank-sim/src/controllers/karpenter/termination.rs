//! A node on its way out: taint, drain, volumes, machine, node, claim.
//!
//! Who deletes a NodeClaim has its node deleted; who deletes a node of Karpenter has its claim deleted: both lead here. Finalizers hold both objects until the
//! machine is terminated.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_apiserver::DeleteOptions;
use replank_apiserver::condition as conditions;
use replank_apiserver::draw::Purpose;
use replank_model::object::Kind;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::karpenter::{NodeClaim, TERMINATION_TIMESTAMP};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::{Name, Text};
use replank_model::time::Time;
use replank_model::view::{Ix, View};
use replank_protocol::mark::EXCLUDE;

use super::eviction::{self, Drained};
use super::state::{Karpenter, is_held, release};
use crate::context::{Ctx, REACTION};
use crate::event::{ControlDue, Event, KarpenterDue as Due};

impl Karpenter {
    /// Does the next thing for a claim.
    pub(super) fn look(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let Some(claim) = ctx.view().node_claims.get(Ix::<NodeClaim>::new(slot)).cloned() else { return };
        let node = node_of(ctx.view(), &claim);
        if !claim.meta.is_terminating() {
            // Somebody has deleted the node. The claim's own deletion leads back here.
            if node.is_some_and(|node| node.meta.is_terminating() && is_held(&node.meta)) {
                delete(ctx, Kind::NodeClaim, &claim.meta.key());
            }
            return;
        }
        if !is_held(&claim.meta) || is_dated(ctx, &claim) {
            return;
        }
        match node {
            Some(node) if !node.meta.is_terminating() => delete(ctx, Kind::Node, &node.meta.key()),
            Some(node) if is_held(&node.meta) => self.finalize(ctx, slot, &claim, &node),
            // Others hold it.
            Some(_) => {}
            None => {
                if claim.status.provider_id.is_empty() || self.is_off(ctx, slot, &claim) {
                    let released =
                        ctx.api.modify::<NodeClaim>(&claim.meta.key(), |claim| release(&mut claim.meta));
                    debug_assert!(released.is_ok(), "the claim was just read");
                }
            }
        }
    }

    /// The node's part.
    fn finalize(&mut self, ctx: &mut Ctx<'_>, slot: u32, claim: &NodeClaim, node: &Arc<Node>) {
        close(ctx, node);
        let deadline = claim.drained_by();
        if let Drained::No { again } = eviction::drain(ctx, &node.name(), deadline) {
            note(ctx, claim, "Drained", ConditionStatus::Unknown);
            if let Some(at) = again {
                let after = at - ctx.api.now();
                self.look_at(ctx, slot, after);
            }
            return;
        }
        note(ctx, claim, "Drained", ConditionStatus::True);
        let now = ctx.api.now();
        if is_attached(ctx.view(), node) && deadline.is_none_or(|deadline| now < deadline) {
            if let Some(deadline) = deadline {
                self.look_at(ctx, slot, deadline - now);
            }
            return;
        }
        if self.is_off(ctx, slot, claim) {
            let released = ctx.api.modify::<Node>(&node.meta.key(), |node| release(&mut node.meta));
            debug_assert!(released.is_ok(), "the node was just read");
        }
    }

    /// Whether a claim's machine is off; it is terminated if it is not yet on its way.
    fn is_off(&mut self, ctx: &mut Ctx<'_>, slot: u32, claim: &NodeClaim) -> bool {
        let machine = &claim.status.provider_id;
        match self.stopping.get(machine) {
            Some(is_off) => *is_off,
            None => {
                self.stopping.insert(machine.clone(), false);
                note(ctx, claim, "InstanceTerminating", ConditionStatus::True);
                let span = self.timings.shut_down.draw(ctx.draws.draw(machine, Purpose::ShutDown, 0));
                ctx.agenda.after(span, Event::Control(ControlDue::Karpenter(Due::Off(slot))));
                false
            }
        }
    }

    /// A machine is off.
    pub(super) fn off(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let Some(claim) = ctx.view().node_claims.get(Ix::<NodeClaim>::new(slot)).cloned() else { return };
        let Some(is_off) = self.stopping.get_mut(&claim.status.provider_id) else { return };
        *is_off = true;
        self.silent.extend(node_of(ctx.view(), &claim).map(|node| node.name()));
        self.look_at(ctx, slot, REACTION);
    }
}

/// The node of a claim: the one of its machine.
fn node_of(view: &View, claim: &NodeClaim) -> Option<Arc<Node>> {
    let machine = &claim.status.provider_id;
    let named = claim.status.node_name.as_ref().and_then(|name| view.node(name));
    let named = named.filter(|node| node.spec.provider_id == *machine);
    let any = || view.nodes.unordered().map(|(_, node)| node).find(|node| node.spec.provider_id == *machine);
    named.or_else(|| (!machine.is_empty()).then(any).flatten()).cloned()
}

fn delete(ctx: &mut Ctx<'_>, kind: Kind, key: &Key) {
    let deleted = ctx.api.delete(kind, key, &DeleteOptions::default());
    debug_assert!(deleted.is_ok(), "the object was just read");
}

/// Writes down by when a drain is over, where the claim limits it; whether that was still to be done.
fn is_dated(ctx: &mut Ctx<'_>, claim: &NodeClaim) -> bool {
    let is_written = claim.meta.annotations.contains_key(TERMINATION_TIMESTAMP);
    let Some(at) = claim.drained_by().filter(|_| !is_written) else { return false };
    let written = ctx.api.modify::<NodeClaim>(&claim.meta.key(), |claim| {
        let annotations = &mut claim.meta.annotations;
        *annotations = annotations.with(TERMINATION_TIMESTAMP, Text::from(at.to_string()));
    });
    debug_assert!(written.is_ok(), "the claim was just read");
    true
}

/// No pod is to come, and no load balancer is to send there.
fn close(ctx: &mut Ctx<'_>, node: &Arc<Node>) {
    let taint = eviction::taint();
    if node.spec.taints.contains(&taint) && node.meta.labels.contains_key(EXCLUDE) {
        return;
    }
    let written = ctx.api.modify::<Node>(&node.meta.key(), |node| {
        node.spec.taints.retain(|known| known.key != taint.key);
        node.spec.taints.push(taint);
        node.meta.labels = node.meta.labels.with(EXCLUDE, "karpenter");
    });
    debug_assert!(written.is_ok(), "the node was just read");
}

/// Writes a condition of a claim, unless it says so.
fn note(ctx: &mut Ctx<'_>, claim: &NodeClaim, kind: &str, status: ConditionStatus) {
    if condition::find(&claim.status.conditions, kind).is_some_and(|known| known.status == status) {
        return;
    }
    let now: Time = ctx.api.timestamp();
    let noted = ctx.api.modify::<NodeClaim>(&claim.meta.key(), |claim| {
        let condition = conditions::condition(kind, status, kind, "");
        conditions::set(&mut claim.status.conditions, condition, now);
    });
    debug_assert!(noted.is_ok(), "the claim was just read");
}

/// Whether a volume of a pod that was to go is still attached; those of pods that stay are not waited for.
fn is_attached(view: &View, node: &Node) -> bool {
    let now_there = view.sorted_pods_on(&node.name());
    let kept: BTreeSet<Name> = now_there
        .iter()
        .flat_map(|pod| {
            let claims =
                pod.spec.volumes.iter().filter_map(|volume| volume.source.persistent_volume_claim.as_ref());
            claims.filter_map(|claim| {
                let key = Key { namespace: pod.meta.namespace.clone(), name: claim.claim_name.clone() };
                view.persistent_volume_claims.by_key(&key).map(|claim| claim.spec.volume_name.clone())
            })
        })
        .collect();
    let of_node = view.volume_attachments.unordered().map(|(_, attachment)| attachment);
    let mut of_node = of_node.filter(|attachment| attachment.spec.node_name == node.name());
    of_node.any(|attachment| {
        attachment.spec.source.persistent_volume_name.as_ref().is_some_and(|volume| !kept.contains(volume))
    })
}
