//! What the controllers remember, and what they share.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cloud::{NodeGroup, NodeShape};
use replank_model::object::condition;
use replank_model::object::karpenter::{NodeClaim, TERMINATION_FINALIZER};
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::Pod;
use replank_model::object::volume::{CsiNode, CsiNodeSpec};
use replank_model::text::{GroupName, Name, NodeName, Text, Uid, Zone};
use replank_model::time::{Span, Time};

use crate::context::Ctx;
use crate::event::{ControlDue, Event, KarpenterDue as Due};
use crate::timing::CloudTimings;

/// From the first pod without room, or the first node on its way out, to the look at all of them (`--batch-idle-duration`).
const BATCH: Span = Span::from_secs(1);

/// The controllers.
#[derive(Debug)]
pub(crate) struct Karpenter {
    pub(in crate::controllers) timings: CloudTimings,
    /// Looks at claims that are on the agenda, by slot.
    pub(super) looks: BTreeMap<u32, Time>,
    /// The look at pods without room that is on the agenda.
    pub(super) provision_at: Option<Time>,
    /// What the nodes of each pool are like, as far as there were any.
    pub(super) pools: BTreeMap<GroupName, Pool>,
    /// Machines that were launched, by number.
    pub(super) launched: Vec<Launched>,
    /// Machines that are terminated, by provider id: whether they are off.
    pub(super) stopping: BTreeMap<Text, bool>,
    /// Nodes whose machine went off since this was last asked.
    pub(super) silent: Vec<NodeName>,
    /// How many nodes were launched for a pod that then did not fit there.
    pub(super) tries: BTreeMap<Uid, u32>,
}

/// A node pool.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// Its nodes as a group: zones and launch template.
    pub(super) like: NodeGroup,
    /// One of its claims: new ones are like it.
    pub(super) claim: NodeClaim,
    /// The name of one of its nodes.
    pub(super) sibling: NodeName,
    /// DaemonSets' pods of one of its nodes: new nodes will have such.
    pub(super) daemons: Vec<Arc<Pod>>,
}

impl Karpenter {
    pub(crate) fn new(timings: CloudTimings) -> Self {
        Self {
            timings,
            looks: BTreeMap::new(),
            provision_at: None,
            pools: BTreeMap::new(),
            launched: Vec::new(),
            stopping: BTreeMap::new(),
            silent: Vec::new(),
            tries: BTreeMap::new(),
        }
    }

    pub(super) fn look_at(&mut self, ctx: &mut Ctx<'_>, slot: u32, after: Span) {
        let at = ctx.api.now() + after;
        if self.looks.get(&slot).is_none_or(|known| *known > at) {
            self.looks.insert(slot, at);
            ctx.agenda.at(at, Event::Control(ControlDue::Karpenter(Due::Claim(slot))));
        }
    }

    pub(super) fn provision_soon(&mut self, ctx: &mut Ctx<'_>) {
        let at = ctx.api.now() + BATCH;
        // A look that is due later, after a node became Ready, is none that this waits for.
        if self.provision_at.is_none_or(|known| at < known) {
            self.provision_at = Some(at);
            ctx.agenda.at(at, Event::Control(ControlDue::Karpenter(Due::Provision)));
        }
    }
}

/// A node that is to be launched.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) pool: GroupName,
    pub(super) zone: Zone,
    /// Position of its instance type among the pool's.
    pub(super) shape: usize,
}

/// A machine that was launched.
#[derive(Clone, Debug)]
pub(super) struct Launched {
    pub(super) node: Wanted,
    /// The name that its node gets.
    pub(super) name: NodeName,
    pub(super) claim: Key,
    pub(super) machine: Text,
    /// Whether its node is Ready, or its claim is gone.
    pub(super) is_over: bool,
}

/// Whether the scheduler has said of a pod that it fits nowhere (`IsProvisionable`).
pub(super) fn is_without_room(pod: &Pod) -> bool {
    let scheduled = condition::find(&pod.status.conditions, "PodScheduled");
    pod.node.is_none()
        && pod.is_active()
        && pod.status.nominated_node_name.is_none()
        && scheduled.is_some_and(|scheduled| &*scheduled.reason == "Unschedulable")
}

/// Whether Karpenter has a say in when an object goes.
pub(super) fn is_held(meta: &Meta) -> bool {
    meta.finalizers.iter().any(|finalizer| &**finalizer == TERMINATION_FINALIZER)
}

/// Takes Karpenter's finalizer off: nothing of its machine is left.
pub(super) fn release(meta: &mut Meta) {
    meta.finalizers.retain(|finalizer| &**finalizer != TERMINATION_FINALIZER);
}

/// What the storage drivers of a node say of it.
pub(super) fn csi_node(name: &NodeName, shape: &NodeShape) -> CsiNode {
    let mut csi = CsiNode { spec: CsiNodeSpec { drivers: shape.csi_drivers.clone() }, ..CsiNode::default() };
    csi.meta.name = Name::from(name);
    csi
}
