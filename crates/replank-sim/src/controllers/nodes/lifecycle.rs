//! The times of the node controller, and what it remembers.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::node::Node;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use rustc_hash::FxHashSet;

use super::monitor::Health;
use super::zone::Zones;
use crate::controllers::Ctx;
use crate::controllers::phase::Phase;
use crate::controllers::slots::Slots;
use crate::event::{ControlDue, Event, NodesDue as Due};

/// Time between two looks at the nodes (`--node-monitor-period`).
pub(super) const MONITOR_PERIOD: Span = Span::from_secs(5);

/// Silence after which a node counts as lost (`--node-monitor-grace-period`).
pub(super) const MONITOR_GRACE: Span = Span::from_secs(50);

/// Silence that a node may keep at its beginning (`--node-startup-grace-period`).
pub(super) const STARTUP_GRACE: Span = Span::from_secs(60);

/// Time that the NoSchedule taint has before the NoExecute one. Recorded: 20 to 40 ms.
pub(super) const NO_SCHEDULE_FIRST: Span = Span::from_millis(20);

/// Time between two renewals of a kubelet's lease (`renewInterval`, a quarter of 40 s).
pub(super) const LEASE_RENEWAL: Span = Span::from_secs(10);

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct NodeLifecycle {
    /// Kubelets that renew their leases no more, with the moment of the last renewal.
    pub(super) silent: BTreeMap<NodeName, Time>,
    /// What the monitor knows of each node.
    pub(super) health: BTreeMap<NodeName, Health>,
    pub(super) zones: Zones,
    /// Nodes that the monitor is to look at in its next round.
    pub(super) fresh: BTreeSet<NodeName>,
    /// When the monitor's next round is on the agenda.
    pub(super) next_round: Option<Time>,
    /// When the next pass over the taint queues is on the agenda.
    pub(super) next_pass: Option<Time>,
    /// Nodes whose NoSchedule taints are to be compared with their conditions.
    pub(super) unswept: FxHashSet<u32>,
    /// Nodes that were not ready at the last look.
    pub(super) lost: FxHashSet<NodeName>,
    /// Pods that were bound to such nodes, and are to be looked at.
    pub(super) bound: Slots,
}

impl NodeLifecycle {
    /// A kubelet has renewed its lease for the last time, now.
    pub(crate) fn fall_silent(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.silent.insert(node.clone(), ctx.api.now());
        self.look_at(ctx, node);
    }

    /// A kubelet that may fall silent at any time has renewed its lease, now.
    pub(crate) fn hear(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        let now = ctx.api.now();
        let is_new = self.silent.insert(node.clone(), now).is_none();
        match self.health.get_mut(node) {
            Some(health) if !is_new => (health.probe, health.renewal) = (now, Some(now)),
            Some(_) | None => self.look_at(ctx, node),
        }
    }

    /// A kubelet renews its lease again.
    pub(crate) fn speak_again(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.silent.remove(node);
        self.look_at(ctx, node);
    }

    pub(super) fn forget(&mut self, ctx: &mut Ctx<'_>, node: &Node) {
        let name = node.name();
        self.health.remove(&name);
        self.lost.remove(&name);
        self.silent.remove(&name);
        self.fresh.remove(&name);
        // The zone's state is computed again without it.
        self.round_at(ctx, ctx.api.now());
        self.zones.remove(&name);
    }

    pub(super) fn look_at(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.fresh.insert(node.clone());
        self.round_at(ctx, ctx.api.now());
    }

    /// Puts the first round at or after a moment on the agenda, unless an earlier one is there.
    pub(super) fn round_at(&mut self, ctx: &mut Ctx<'_>, from: Time) {
        let at = Phase::of(ctx.draws, "node monitor", MONITOR_PERIOD).next(from);
        if self.next_round.is_none_or(|known| at < known) {
            self.next_round = Some(at);
            ctx.agenda.at(at, Event::Control(ControlDue::Nodes(Due::Monitor)));
        }
    }
}
