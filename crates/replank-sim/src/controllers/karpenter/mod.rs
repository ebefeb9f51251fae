//! Karpenter, as far as a cluster with NodeClaims shows it: it terminates nodes whose NodeClaim or Node somebody deletes, and launches nodes for pods that find no
//! room. It disrupts nothing of itself: no consolidation, no drift, no expiry.
//!
//! | module | what it does | upstream (kubernetes-sigs/karpenter) |
//! |---|---|---|
//! | [`termination`] | drains a node, terminates the machine, lets node and claim go | `pkg/controllers/node/termination`, `pkg/controllers/nodeclaim/lifecycle` |
//! | [`eviction`] | which pods of a node are evicted next | `node/termination/terminator`, `pkg/utils/pod/scheduling.go` |
//! | [`provisioning`] | how many nodes pods need | `pkg/controllers/provisioning` |
//! | [`launch`] | a claim, its machine, its node | `pkg/controllers/nodeclaim/lifecycle` |
//!
//! Assumed, because a snapshot does not tell it: a pool launches nodes of the instance types, labels and taints that its nodes have, without limits; nodes take as long
//! to boot, to become Ready and to shut down as those of Auto Scaling groups.

mod eviction;
mod launch;
mod provisioning;
mod state;
mod termination;

#[cfg(test)]
mod tests;

use replank_model::object::Object;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::view::{Change, Ix, View};

use super::{Ctx, PodChange};
use crate::context::REACTION;
use crate::event::KarpenterDue as Due;
pub(crate) use state::Karpenter;
use state::is_without_room;

impl Karpenter {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::NodeClaim(claim))) => {
                let was = old.as_ref().is_some_and(|old| old.meta().is_terminating());
                if claim.meta.is_terminating() {
                    self.look_at(ctx, *slot, REACTION);
                    if !was {
                        self.provision_soon(ctx);
                    }
                }
            }
            (_, Some(Object::Node(node))) if node.meta.is_terminating() => self.look_at_node(ctx, node),
            (Some(Object::Node(node)), None) => self.look_at_node(ctx, node),
            (Some(Object::VolumeAttachment(attachment)), None) => {
                let node = ctx.view().node(&attachment.spec.node_name).cloned();
                if let Some(node) = node.filter(|node| node.meta.is_terminating()) {
                    self.look_at_node(ctx, &node);
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &PodChange<'_>) {
        match (change.old, change.new) {
            (Some(old), None) => {
                self.tries.remove(&old.meta.uid);
                self.look_at_node_of(ctx, old);
            }
            // Without claims none of the nodes, and no room, is Karpenter's.
            (Some(_) | None, Some(_)) if !has_claims(ctx.view()) => {}
            (old, Some(new)) => {
                if old.is_some_and(|old| {
                    old.is_terminating() != new.is_terminating() || old.is_terminal() != new.is_terminal()
                }) {
                    self.look_at_node_of(ctx, new);
                }
                if is_without_room(new) && !old.is_some_and(|old| is_without_room(old)) {
                    self.provision_soon(ctx);
                }
            }
            (None, None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Claim(slot) => {
                if self.looks.get(&slot).is_some_and(|at| *at <= ctx.api.now()) {
                    self.looks.remove(&slot);
                    self.look(ctx, slot);
                }
            }
            Due::Provision => {
                self.provision_at = self.provision_at.filter(|at| *at > ctx.api.now());
                self.provision(ctx);
            }
            Due::Register(number) => self.register(ctx, number),
            Due::Ready(number) => self.ready(ctx, number),
            Due::Off(slot) => self.off(ctx, slot),
        }
    }

    /// Nodes whose machine went off since this was last asked: their kubelets are not heard of again.
    pub(crate) fn take_silent(&mut self) -> Vec<NodeName> {
        std::mem::take(&mut self.silent)
    }

    fn look_at_node(&mut self, ctx: &mut Ctx<'_>, node: &Node) {
        let claim = ctx.view().claim_of(node).map(|claim| claim.meta.key());
        if let Some(slot) = claim.and_then(|key| ctx.view().node_claims.find(&key)).map(Ix::raw) {
            self.look_at(ctx, slot, REACTION);
        }
    }

    fn look_at_node_of(&mut self, ctx: &mut Ctx<'_>, pod: &Pod) {
        let node = pod.node.as_ref().filter(|_| has_claims(ctx.view()));
        let node = node.and_then(|name| ctx.view().node(name)).cloned();
        if let Some(node) = node.filter(|node| node.meta.is_terminating()) {
            self.look_at_node(ctx, &node);
        }
    }
}

fn has_claims(view: &View) -> bool {
    !view.node_claims.is_empty()
}
