//! What one node is to the run.
//!
//! Everything here is read off the View: the node, its marks, its instance, its pods. So it is the same after a restart.
//!
//! ```text
//!            cordon, mark                mark                     last pod gone, instance ended
//!   Found ──────────────► Queued ─────────────────► Draining ────────────────────────► Leaving ──► (gone)
//!                          │  ▲                        │
//!      run is halted:      │  │ uncordoned by          │ a batch pod outlives its deadline, the plan says skip
//!      marks lifted ◄──────┤  │ somebody else:         ▼
//!                          │  └─ Reopened           Skipped
//!                          └─ batch pod outlives its deadline, the plan says skip ──► Skipped
//!
//!   Draining ──► Postponed: nothing moves, and another node could have its share of the surge; ──► Draining: all of its pods can be moved
//! ```

use std::sync::Arc;

use replank_model::object::cloud::Instance;
use replank_model::object::condition;
use replank_model::object::meta::ResourceVersion;
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, NodeName, RunId, Uid, Zone};
use replank_model::time::Time;
use replank_model::view::View;

use super::protectable::can_change;
use super::targets::{self, NotHealthy};
use replank_facts::groups;
use replank_facts::node_pods::NodePods;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{Base, ChosenBy, Order, Plan};
use replank_facts::{daemon, target};
use replank_protocol::command::{NodeRole, NodeTarget};
use replank_protocol::mark;
use replank_protocol::provisioner::Provisioner;
use replank_protocol::taker::Taker;

/// What decides about nodes, the same for the whole run.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) plan: Arc<Plan>,
    pub(super) run: RunId,
    pub(super) options: RunOptions,
}

impl Scope {
    /// Whether a group is one of the run's, where the plan names them: its nodes go, or new ones come up in it.
    pub(super) fn has(&self, names: &[GroupName], group: &GroupName) -> bool {
        names.contains(group) || self.plan.target.lands_in(group)
    }

    /// Whether somebody else replaces the nodes.
    pub(super) fn is_external(&self) -> bool {
        self.plan.external().is_some()
    }

    /// Whether the run leads back to what was there before another one, rather than to something that nobody has tried.
    pub(super) fn is_way_back(&self) -> bool {
        match self.plan.target.base {
            Base::Original => true,
            Base::Current => false,
        }
    }

    /// The group in which the nodes of a group are replaced: the nodes is named after it.
    pub(super) fn lane_of<'s>(&'s self, group: &'s GroupName) -> &'s GroupName {
        self.plan.target.group.as_ref().unwrap_or(group)
    }
}

/// A node of one of the run's groups.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: NodeName,
    pub(super) uid: Uid,
    pub(super) version: ResourceVersion,
    pub(super) group: GroupName,
    pub(super) zone: Zone,
    pub(super) instance: InstanceId,
    pub(super) created: Option<Time>,
    pub(super) worth: Worth,
    /// Since when it has not been Ready, if it is not.
    pub(super) unready: Option<Time>,
    /// How often its drain was postponed.
    pub(super) postponed: u32,
    /// Whether it takes pods though it is to go: until its turn comes, and if there is no room elsewhere.
    pub(super) is_open: bool,
    /// Whether it is cordoned, by whomever.
    pub(super) is_cordoned: bool,
    /// When it last came nearer to being of use, were it new.
    pub(super) last_step: Option<Time>,
    /// When its mark may be cleared by anybody, if it has one of ours.
    pub(super) expires: Option<Time>,
    /// Whether its instance is not protected from scale-in, and can be.
    pub(super) is_protectable: bool,
    pub(super) state: NodeState,
}

/// What a node is worth to its group, before the run begins to drain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// Ready; if it was in the group that others move into, it also takes pods and has its DaemonSet pods.
    Serves,
    /// Ready, and pods were moved off it while it was interrupted: it costs the group nothing more.
    Depleted,
    /// It does not serve, whatever is done.
    Nothing,
}

/// What a node is to the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeState {
    /// Neither old nor new: a node that the plan does not choose.
    Bystander,
    /// New, and it counts: Ready, with its DaemonSet pods Ready, and healthy in its target groups.
    Usable,
    /// New, and it does not count yet; or upgraded in place, and not Ready.
    Arriving {
        /// DaemonSet pods that are missing or not Ready.
        daemon_pods_missing: u32,
        /// Why load balancers do not send to it, where nothing else is missing.
        target: Option<NotHealthy>,
    },
    /// New, and cordoned by somebody else, or marked by a newer Replank.
    Closed,
    /// New, and to go again because the run ends.
    Surplus { since: Time, is_empty: bool },
    /// Old, untouched.
    Found { node_pods: NodePods },
    /// Old, cordoned by us, not begun.
    Queued { since: Time, node_pods: NodePods },
    /// Old, being drained.
    Draining { since: Time, from: Time, node_pods: NodePods },
    /// Old, uncordoned after its drain had come to a standstill.
    Postponed { since: Time, node_pods: NodePods },
    /// Old, left out.
    Skipped { since: Time },
    /// Old, replaced and empty, and kept for a while.
    Retained { since: Time },
    /// Old and empty: somebody else is to replace it.
    Drained { since: Time },
    /// Old, marked by us, by now as the plan says, and Ready: it is its own successor.
    Upgraded,
    /// Brought by somebody else since the run began, and not as the plan says.
    OtherNode,
    /// Old, marked by us, and uncordoned by somebody else.
    Reopened,
    /// Old, marked by another run.
    OtherRun { run: RunId, until: Time },
    /// Old, marked by a newer Replank.
    Newer { version: u64 },
    /// Old, and its instance is not known.
    NoInstance,
    /// Chosen, but replaced by its provisioner: left alone.
    Kept { by: Provisioner },
    /// Its instance is being ended, or is gone; or somebody else takes it away.
    Leaving,
}

impl Member {
    pub(super) fn serves(&self) -> bool {
        self.worth == Worth::Serves
    }

    /// The node as commands name it.
    pub(super) fn target(&self) -> NodeTarget {
        NodeTarget { name: self.name.clone(), uid: self.uid.clone() }
    }

    /// Place in the order of the plan: smallest first, the zone aside.
    pub(super) fn rank(&self, order: Order) -> Rank {
        let (budgeted, movers) = match (&self.state, order) {
            (NodeState::Queued { node_pods, .. }, Order::LeastDisruption) => {
                (node_pods.budgeted, node_pods.movers.len())
            }
            (_, Order::LeastDisruption | Order::Oldest | Order::ZoneByZone) => (0, 0),
        };
        Rank { is_whole: self.worth != Worth::Depleted, budgeted, movers, created: self.created }
    }

    /// Whether what it is says something of its pods.
    pub(super) fn has_pods(&self) -> bool {
        match self.state {
            NodeState::Found { .. }
            | NodeState::Queued { .. }
            | NodeState::Draining { .. }
            | NodeState::Postponed { .. }
            | NodeState::Surplus { .. } => true,
            NodeState::Bystander
            | NodeState::Usable
            | NodeState::Arriving { .. }
            | NodeState::Closed
            | NodeState::Skipped { .. }
            | NodeState::Retained { .. }
            | NodeState::Drained { .. }
            | NodeState::Upgraded
            | NodeState::OtherNode
            | NodeState::Reopened
            | NodeState::OtherRun { .. }
            | NodeState::Newer { .. }
            | NodeState::NoInstance
            | NodeState::Kept { .. }
            | NodeState::Leaving => false,
        }
    }

    /// The pods on it that are to be moved or waited for, where it is cordoned or was to be emptied.
    pub(super) fn node_pods(&self) -> Option<&NodePods> {
        match &self.state {
            NodeState::Queued { node_pods, .. }
            | NodeState::Draining { node_pods, .. }
            | NodeState::Postponed { node_pods, .. } => Some(node_pods),
            NodeState::Found { .. }
            | NodeState::Surplus { .. }
            | NodeState::Bystander
            | NodeState::Usable
            | NodeState::Arriving { .. }
            | NodeState::Closed
            | NodeState::Skipped { .. }
            | NodeState::Retained { .. }
            | NodeState::Drained { .. }
            | NodeState::Upgraded
            | NodeState::OtherNode
            | NodeState::Reopened
            | NodeState::OtherRun { .. }
            | NodeState::Newer { .. }
            | NodeState::NoInstance
            | NodeState::Kept { .. }
            | NodeState::Leaving => None,
        }
    }

    /// The pods on it that are to be moved or waited for, wherever that is kept.
    pub(super) fn pods_mut(&mut self) -> Option<&mut NodePods> {
        if let NodeState::Found { node_pods }
        | NodeState::Queued { node_pods, .. }
        | NodeState::Draining { node_pods, .. }
        | NodeState::Postponed { node_pods, .. } = &mut self.state
        {
            Some(node_pods)
        } else {
            None
        }
    }

    /// Has it with other pods; those that it had.
    pub(super) fn replace_pods(&mut self, with: NodePods) -> NodePods {
        self.pods_mut().map(|pods| std::mem::replace(pods, with)).unwrap_or_default()
    }

    /// Whether something on it is waited for that its instance is to be protected for, and is not.
    pub(super) fn is_unprotected(&self) -> bool {
        self.is_protectable && self.node_pods().is_some_and(NodePods::is_waited_for)
    }

    /// Whether it is found, queued or being drained: to be replaced, and nothing in the way.
    pub(super) fn is_to_go(&self) -> bool {
        matches!(self.state, NodeState::Found { .. } | NodeState::Queued { .. } | NodeState::Draining { .. })
    }

    /// Whether the plan replaces it.
    pub(super) fn is_old(&self) -> bool {
        match self.state {
            NodeState::Found { .. }
            | NodeState::Queued { .. }
            | NodeState::Draining { .. }
            | NodeState::Postponed { .. }
            | NodeState::Skipped { .. }
            | NodeState::Retained { .. }
            | NodeState::Drained { .. }
            | NodeState::OtherNode
            | NodeState::Reopened
            | NodeState::OtherRun { .. }
            | NodeState::Newer { .. }
            | NodeState::NoInstance => true,
            NodeState::Bystander
            | NodeState::Upgraded
            | NodeState::Kept { .. }
            | NodeState::Usable
            | NodeState::Arriving { .. }
            | NodeState::Closed
            | NodeState::Surplus { .. }
            | NodeState::Leaving => false,
        }
    }

    /// Whether no pod may be moved here: it is itself to go, or is not ready to take any.
    pub(super) fn is_closed(&self) -> bool {
        match self.state {
            NodeState::Queued { .. } => !self.is_open,
            NodeState::Bystander | NodeState::Kept { .. } | NodeState::Usable | NodeState::Skipped { .. } => {
                false
            }
            NodeState::Arriving { .. }
            | NodeState::Closed
            | NodeState::Surplus { .. }
            | NodeState::Found { .. }
            | NodeState::Draining { .. }
            | NodeState::Postponed { .. }
            | NodeState::Retained { .. }
            | NodeState::Drained { .. }
            | NodeState::Upgraded
            | NodeState::OtherNode
            | NodeState::Reopened
            | NodeState::OtherRun { .. }
            | NodeState::Newer { .. }
            | NodeState::NoInstance
            | NodeState::Leaving => true,
        }
    }
}

/// See [`Member::rank`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// What costs its group nothing comes first, in any order of the plan.
    is_whole: bool,
    budgeted: u32,
    movers: usize,
    created: Option<Time>,
}

/// What a node is to the run; `None` if it is in none of the run's groups. The mark of a released node does not count: its owner is about to take
/// it off. `known` are its pods as they were, if they were looked at.
pub(super) fn member(
    view: &View,
    scope: &Scope,
    node: &Node,
    is_released: bool,
    known: NodePods,
) -> Option<Member> {
    let id = groups::instance_id_of(node);
    // What a cloud says of nodes that somebody else replaces is not asked for: it may be nothing.
    let instance = view.instances().get(&id).filter(|_| !scope.is_external());
    let launched = launched_of(node, instance);
    let chosen = &scope.plan.nodes;
    let is_chosen = chosen.has(node, group_of(scope, node, instance).as_ref()) && chosen.may_be_of(launched);
    let group = group_of(scope, node, instance);
    // A successor may have a kubelet that the plan does not choose.
    let is_alike = is_chosen || scope.is_external() && chosen.has_alike(node, group.as_ref());
    let group = group.or_else(|| is_alike.then(GroupName::default))?;
    if let ChosenBy::Groups(names) = &scope.plan.nodes.by
        && !scope.has(names, &group)
    {
        return None;
    }
    let found = mark::of(node).filter(|_| !is_released);
    let is_open = found.as_ref().is_some_and(|found| found.mark.role == NodeRole::Listed);
    let expires = found.as_ref().filter(|found| found.is_of_run(&scope.run)).map(|found| found.mark.expires);
    let state = match scope.is_external() {
        true => state_of_others(view, scope, node, is_chosen, (found, known)),
        false => node_state(view, scope, (node, instance), &group, is_chosen, (found, known)),
    };
    // What was in the target group before is held to the same as a new node.
    // Somebody else's cordon outlives ours: with pods moved off it, it is no capacity again.
    let is_shut = matches!(state, NodeState::Postponed { .. }) && node.spec.unschedulable;
    let is_settled = state == NodeState::Bystander && scope.plan.target.lands_in(&group);
    let serves = !is_settled || !node.spec.unschedulable && daemon::missing(view, node) == 0;
    // Whatever the node's object still says: one that the cloud does not list is gone, or was not listed yet.
    let is_listed = instance.is_some() || state != NodeState::Usable || scope.is_external();
    let worth = match node.is_ready() && serves && is_listed && !is_shut {
        false => Worth::Nothing,
        true if mark::is_depleted(node) => Worth::Depleted,
        true => Worth::Serves,
    };
    Some(Member {
        name: node.name(),
        uid: node.meta.uid.clone(),
        version: node.meta.resource_version,
        zone: groups::zone_of(node),
        instance: id,
        created: node.meta.creation_timestamp,
        worth,
        unready: unready_since(node),
        last_step: last_step(node),
        postponed: mark::postponed(node).unwrap_or(0),
        is_open,
        is_cordoned: node.spec.unschedulable,
        expires,
        is_protectable: instance.is_some_and(|instance| !instance.is_protected && can_change(instance)),
        state,
        group,
    })
}

/// Since when a node has not been Ready: since its condition says so, or else since it was registered.
fn unready_since(node: &Node) -> Option<Time> {
    let said = condition::find(&node.status.conditions, "Ready").and_then(|ready| ready.last_transition_time);
    if node.is_ready() { None } else { said.or(node.meta.creation_timestamp) }
}

/// When a node's instance was launched, as far as that is known.
fn launched_of(node: &Node, instance: Option<&Arc<Instance>>) -> Option<Time> {
    instance.and_then(|instance| instance.launched).or(node.meta.creation_timestamp)
}

fn group_of(scope: &Scope, node: &Node, instance: Option<&Arc<Instance>>) -> Option<GroupName> {
    instance
        .map(|instance| instance.group.clone())
        .or_else(|| groups::group_of(node, &scope.options.group_by))
}

fn node_state(
    view: &View,
    scope: &Scope,
    (node, instance): (&Node, Option<&Arc<Instance>>),
    group: &GroupName,
    is_chosen: bool,
    (found, known): (Option<mark::Found>, NodePods),
) -> NodeState {
    let is_taken = Taker::of(node).is_some();
    if node.meta.is_terminating() || is_taken || instance.is_some_and(|instance| !instance.is_counted()) {
        return NodeState::Leaving;
    }
    if instance.is_none() && is_ended(scope, found.as_ref()) {
        return NodeState::Leaving;
    }
    let of = instance.and_then(|instance| view.groups().get(&instance.group)).map(|group| &**group);
    let template = instance.zip(of).and_then(|(instance, of)| of.made_from(instance));
    let launched = launched_of(node, instance);
    if target::is_landing_node(&scope.plan.target, scope.options.started, group, launched)
        && target::meets_node(&scope.plan.target, scope.options.started, node, of, template)
    {
        return new_state(view, scope, (node, instance), found);
    }
    if !is_chosen {
        return NodeState::Bystander;
    }
    let by = Provisioner::of(node);
    if by.keeps_its_nodes() {
        return NodeState::Kept { by };
    }
    match instance {
        Some(_) => old_state(view, scope, node, (found, known)),
        None => NodeState::NoInstance,
    }
}

/// What a node is to a run that somebody else replaces nodes for.
fn state_of_others(
    view: &View,
    scope: &Scope,
    node: &Node,
    is_chosen: bool,
    (found, known): (Option<mark::Found>, NodePods),
) -> NodeState {
    if node.meta.is_terminating() || Taker::of(node).is_some() {
        return NodeState::Leaving;
    }
    let started = scope.options.started;
    let is_new = node.meta.creation_timestamp.is_some_and(|created| created > started);
    let is_as_planned = target::meets_node(&scope.plan.target, started, node, None, None);
    if is_new {
        return match is_as_planned {
            true => new_state(view, scope, (node, None), found),
            false => NodeState::OtherNode,
        };
    }
    let is_ours = found.as_ref().is_some_and(|found| found.is_of_run(&scope.run));
    if is_as_planned {
        return match (is_ours, node.is_ready()) {
            (true, true) => NodeState::Upgraded,
            // A kubelet that is being upgraded is away for a while.
            (true, false) => NodeState::Arriving { daemon_pods_missing: 0, target: None },
            (false, true | false) => NodeState::Bystander,
        };
    }
    if !is_chosen {
        return NodeState::Bystander;
    }
    match Provisioner::of(node) {
        // Machines that a person looks after are what this is for.
        Provisioner::Hybrid | Provisioner::ManagedGroup | Provisioner::SelfManaged => {
            old_state(view, scope, node, (found, known))
        }
        by @ (Provisioner::Karpenter(_) | Provisioner::AutoMode | Provisioner::Fargate) => {
            NodeState::Kept { by }
        }
    }
}

/// Whether a node whose instance is no longer listed carries a mark of the run or of an interruption: it was terminated, by us or by another actor; news of
/// the node come later than news of the instance.
fn is_ended(scope: &Scope, found: Option<&mark::Found>) -> bool {
    found.is_some_and(|found| {
        found.is_of_run(&scope.run) || matches!(found.mark.role, NodeRole::Interrupted { .. })
    })
}

fn new_state(
    view: &View,
    scope: &Scope,
    (node, instance): (&Node, Option<&Arc<Instance>>),
    found: Option<mark::Found>,
) -> NodeState {
    if let Some(found) = found
        && found.is_of_run(&scope.run)
        && found.mark.role == NodeRole::Surplus
    {
        let is_empty = NodePods::of(view, &scope.plan, &node.name()).is_empty();
        return NodeState::Surplus { since: found.mark.since, is_empty };
    }
    // What a newer Replank has in mind for it is not known: nothing is placed there, and nothing is done to it.
    if node.spec.unschedulable || mark::newer_on_node(node).is_some() {
        return NodeState::Closed;
    }
    if !node.is_ready() {
        return NodeState::Arriving { daemon_pods_missing: 0, target: None };
    }
    match daemon::missing(view, node) {
        0 => {}
        daemon_pods_missing => return NodeState::Arriving { daemon_pods_missing, target: None },
    }
    match instance.and_then(|instance| targets::not_healthy(view, scope.options.started, instance)) {
        None => NodeState::Usable,
        target => NodeState::Arriving { daemon_pods_missing: 0, target },
    }
}

fn old_state(
    view: &View,
    scope: &Scope,
    node: &Node,
    (found, mut known): (Option<mark::Found>, NodePods),
) -> NodeState {
    if let Some(version) = mark::newer_on_node(node) {
        return NodeState::Newer { version };
    }
    let mut node_pods = || {
        known.refresh(view, &scope.plan, &node.name());
        std::mem::take(&mut known)
    };
    let Some(found) = found else {
        return NodeState::Found { node_pods: node_pods() };
    };
    let is_ours = found.is_of_run(&scope.run);
    let mark::Found { run, mark } = found;
    if !is_ours {
        return NodeState::OtherRun { run, until: mark.expires };
    }
    if mark.role.is_cordoned() && !node.spec.unschedulable {
        return NodeState::Reopened;
    }
    match mark.role {
        NodeRole::Queued | NodeRole::Listed | NodeRole::Surplus => {
            NodeState::Queued { since: mark.since, node_pods: node_pods() }
        }
        NodeRole::Draining { from } => {
            NodeState::Draining { since: mark.since, from, node_pods: node_pods() }
        }
        NodeRole::Postponed { .. } => NodeState::Postponed { since: mark.since, node_pods: node_pods() },
        NodeRole::Skipped => NodeState::Skipped { since: mark.since },
        NodeRole::Retained => NodeState::Retained { since: mark.since },
        NodeRole::Drained => NodeState::Drained { since: mark.since },
        // A run marks no node so; a mark that says it all the same is of no more use to it than another run's.
        NodeRole::Interrupted { .. } => NodeState::OtherRun { run, until: mark.expires },
    }
}

/// When a new node last came nearer to being of use: its creation, or the moment it became Ready.
pub(super) fn last_step(node: &Node) -> Option<Time> {
    let ready =
        condition::find(&node.status.conditions, "Ready").and_then(|ready| ready.last_transition_time);
    node.meta.creation_timestamp.max(ready)
}
