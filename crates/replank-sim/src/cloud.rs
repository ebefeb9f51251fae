//! The simulated cloud: groups that launch and end instances, instances that become nodes.
//!
//! A group works towards what it wants, as an Auto Scaling group does: too few instances and it launches some in the zones
//! that have fewest, too many and it ends some by its default policy. An instance boots, registers as a node, and becomes
//! Ready, each after a drawn time; one that is ended stops, and its node goes away some time later.

mod api;
mod calls;
mod eks;
mod events;
mod group;
mod health;
mod hooks;
mod market;
mod name;
mod nodegroup;
mod own;
mod policy;
mod queue;
mod registrations;
mod replacer;
mod replacing;
mod retry;
mod state;
mod targets;
mod updates;

use hooks::{Holds, Released};
use market::{Blow, Markets, Threatened};
use queue::Queue;
use replank_model::delta::Delta;
use replank_model::object::cloud::{
    Instance, InstanceState, LaunchTemplate, Lifecycle, LifecycleHook, NodeGroup, NodeShape, ScalingProcess,
    Transition,
};
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::volume::{CsiNode, CsiNodeSpec};
use replank_model::object::{Kind, Object};
use replank_model::text::{GroupName, InstanceId, MessageId, Name, NodeName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::Refusal;
use replank_protocol::lifecycle::Action;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::timing::{CloudTimings, Range};
pub use api::{Cloud, DescribeCloud, GroupUpdate, NodegroupRequest, Place, VersionNamed};
pub(crate) use api::{known_group, known_instance};
pub(crate) use calls::{Calls, not_within};
pub use eks::TERMINATION_HOOK;
pub use events::Told;
pub use health::StatusCheck;
pub(crate) use health::mark;
pub use market::{Capacity, Hazard, Rate, SpotEvent};
pub(crate) use name::{free_name, instance_id};
pub use own::OwnCloud;
pub use queue::Delivery;
pub use targets::TargetChecks;

use crate::asked::Asked;
use crate::context::Ctx;
use crate::event::{CloudDue, Event};
use replank_apiserver::DeleteOptions;
use replank_apiserver::draw::Purpose;

use registrations::Targets;
use replacer::Replacer;
use state::Alive;
pub(crate) use state::SimulatedCloud;
use updates::Nodegroups;

/// From the warning to the end of a spot instance.
const SPOT_NOTICE: Span = Span::from_secs(120);

impl SimulatedCloud {
    pub(crate) fn new(timings: CloudTimings) -> Self {
        Self {
            timings,
            groups: Vec::new(),
            instances: Vec::new(),
            number_of: FxHashMap::default(),
            alive: BTreeMap::new(),
            launched: BTreeMap::new(),
            is_due: Vec::new(),
            holds: Holds::default(),
            queue: Queue::default(),
            has_queue: false,
            markets: Markets::default(),
            chosen: FxHashMap::default(),
            retries: BTreeMap::new(),
            extra: BTreeMap::new(),
            said: Vec::new(),
            asked: Vec::new(),
            doomed: BTreeSet::new(),
            drained_since: BTreeMap::new(),
            nodegroups: Nodegroups::default(),
            impaired: BTreeSet::new(),
            targets: Targets::default(),
            replacer: Replacer::default(),
            heard: None,
        }
    }

    /// Takes in what another has remembered; how long things take stays as it is.
    pub(crate) fn remember(&mut self, memory: Self, view: &View) {
        *self = Self { timings: self.timings, heard: self.heard.take(), ..memory };
        // Who is marked is read off the instances.
        for instance in view.instances().values().filter(|instance| instance.is_counted()) {
            self.alive.entry(instance.group.clone()).or_default().note_health(instance);
        }
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        match change {
            Change::Group { old, new: Some(group) } => {
                // Groups with hooks have a queue for them; EKS has its own.
                self.has_queue |= group.hooks.iter().any(|hook| !LifecycleHook::is_of_eks(&hook.name));
                self.reconcile_soon(ctx, &group.name);
                let is_checked = |group: &NodeGroup| group.ways.is_active(ScalingProcess::HealthCheck);
                if is_checked(group) && old.as_ref().is_some_and(|old| !is_checked(old)) {
                    self.checks_are_resumed(ctx, group);
                }
            }
            Change::Instance { old, new } => {
                let alive = |instance: &Option<Arc<Instance>>| {
                    instance.clone().filter(|instance| instance.is_counted())
                };
                let (was, is) = (alive(old), alive(new));
                if let Some(was) = &was {
                    self.alive.entry(was.group.clone()).or_default().remove(was);
                }
                if let Some(is) = &is {
                    self.alive.entry(is.group.clone()).or_default().add(is);
                }
                if let Some(new) = new {
                    self.serves(ctx, new);
                    let was = old.as_ref().map(|old| old.health).unwrap_or_default();
                    if new.health != was {
                        self.reconcile_soon(ctx, &new.group);
                    }
                }
                if let (Some(was), None) = (was, is) {
                    self.reconcile_soon(ctx, &was.group);
                }
            }
            Change::Object { old, new, .. } => {
                self.watch_node(ctx, node_of(old.as_ref()), node_of(new.as_ref()));
                self.see_drained(ctx, node_of(new.as_ref()));
            }
            Change::Group { new: None, .. } | Change::Message { .. } | Change::Unread(_) | Change::Stale => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: CloudDue) -> Option<NodeName> {
        match due {
            CloudDue::Reconcile(number) => self.reconcile(ctx, number),
            CloudDue::Register(number) => self.register(ctx, number),
            CloudDue::Ready(number) => self.ready(ctx, number),
            CloudDue::Terminated(number) => return self.terminated(ctx, number),
            CloudDue::NodeGone(number) => self.node_gone(ctx, number),
            CloudDue::HookOver(number) => {
                let id = self.instances[number as usize].clone();
                let released = self.holds.expire(&id, ctx.api.now());
                self.release(ctx, &id, released);
            }
            CloudDue::TakenBack(number) => {
                if let Some(instance) = self.known(ctx.view(), number).filter(|one| one.state.is_alive()) {
                    self.shut_down(ctx, &instance);
                }
            }
            CloudDue::Hazard(number) => self.strike(ctx, number),
            CloudDue::Eks(number) => self.eks_drains(ctx, number),
            CloudDue::Nodegroup(number) => self.nodegroup(ctx, number),
            CloudDue::Targets(number) => self.targets_due(ctx, number),
            CloudDue::HealthCheck(number) => self.check_health(ctx, number),
            CloudDue::Receive(number) => self.queue.receive(ctx, number),
            CloudDue::Replaced(number) => self.replace(ctx, number),
            CloudDue::Visible(number) => self.queue.visible(ctx, number),
        }
        None
    }

    /// Ends an instance, as soon as no hook holds it.
    pub(crate) fn terminate(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        match instance.lifecycle {
            Lifecycle::TerminatingWait | Lifecycle::TerminatingProceed => return,
            Lifecycle::Pending
            | Lifecycle::PendingWait
            | Lifecycle::PendingProceed
            | Lifecycle::InService
            | Lifecycle::Terminating
            | Lifecycle::Terminated
            | Lifecycle::Standby
            | Lifecycle::Detached
            | Lifecycle::Warmed => {}
        }
        if !self.drains_first(ctx, instance) {
            self.terminate_drained(ctx, instance);
        }
    }

    /// Ends an instance that no load balancer of its group sends to.
    fn terminate_drained(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        let held = Instance { lifecycle: Lifecycle::TerminatingWait, ..instance.clone() };
        if !self.hold(ctx, held, Transition::Terminating) {
            self.shut_down(ctx, instance);
        }
    }

    /// Has the hooks of an instance's group hold it, as it is then; whether there are any.
    fn hold(&mut self, ctx: &mut Ctx<'_>, held: Instance, at: Transition) -> bool {
        let hooks = ctx.view().groups().get(&held.group).map_or(&[][..], |group| group.hooks.as_slice());
        let hooks: Vec<LifecycleHook> = hooks.iter().filter(|hook| hook.at == at).cloned().collect();
        let now = ctx.api.now();
        let Some(until) = self.holds.hold(&held.id, hooks.clone(), now) else { return false };
        let number = self.instance_number(&held.id);
        ctx.agenda.at(until, Event::Cloud(CloudDue::HookOver(number)));
        for hook in &hooks {
            let token = format!("{}-{}", hook.name, held.id);
            self.send(ctx, events::action(&held, hook, &token, now));
        }
        if hooks.iter().any(eks::is_of_eks) {
            self.eks_hears(ctx, &held.id);
        }
        ctx.api.apply_cloud(Delta::Instance(Arc::new(held)));
        true
    }

    /// A hook of EKS holds an instance: EKS hears of it.
    fn eks_hears(&mut self, ctx: &mut Ctx<'_>, id: &InstanceId) {
        let number = self.instance_number(id);
        self.drained_since.insert(id.clone(), ctx.api.now());
        let span = self.timings.eks.hears.draw(ctx.draws.draw(id.as_str(), Purpose::Order, 0));
        ctx.agenda.after(span, Event::Cloud(CloudDue::Eks(number)));
    }

    /// EKS goes on with a drain: it evicts what is left, and completes the action when nothing is, or its time is over.
    fn eks_drains(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let id = self.instances[number as usize].clone();
        let Some(since) = self.drained_since.get(&id).copied() else { return };
        let Some(instance) = ctx.view().instances().get(&id).cloned() else { return };
        let (left, asked) = instance.node.as_ref().map_or((0, Vec::new()), |node| eks::drain(ctx, node));
        self.asked.extend(asked);
        if left > 0 && ctx.api.now() < since + self.timings.eks.drains_for {
            ctx.agenda.after(self.timings.eks.drain_looks, Event::Cloud(CloudDue::Eks(number)));
            return;
        }
        self.drained_since.remove(&id);
        let action = eks::action(instance.group.clone(), id);
        // The hook's own time may have been over first.
        if let Ok(released) = self.holds.complete(&action) {
            self.release(ctx, &action.instance, released);
        }
    }

    /// What becomes of an instance that no hook holds any more.
    fn release(&mut self, ctx: &mut Ctx<'_>, id: &InstanceId, released: Option<Released>) {
        let Some(instance) = ctx.view().instances().get(id).cloned() else { return };
        match released {
            None => {}
            Some(Released::Terminating) => self.shut_down(ctx, &instance),
            Some(Released::Abandoned) => self.terminate(ctx, &instance),
            Some(Released::Launching) => {
                let lifecycle = match instance.state {
                    InstanceState::Running => Lifecycle::InService,
                    InstanceState::Pending | InstanceState::ShuttingDown | InstanceState::Terminated => {
                        Lifecycle::PendingProceed
                    }
                };
                let mut served = Instance { lifecycle, ..Instance::clone(&instance) };
                if lifecycle == Lifecycle::InService {
                    self.add_to_load_balancers(ctx, &mut served);
                }
                ctx.api.apply_cloud(Delta::Instance(Arc::new(served)));
            }
        }
    }

    /// CompleteLifecycleAction.
    pub(crate) fn complete(&mut self, ctx: &mut Ctx<'_>, action: &Action) -> Result<(), Refusal> {
        let released = self.holds.complete(action)?;
        self.release(ctx, &action.instance, released);
        Ok(())
    }

    /// RecordLifecycleActionHeartbeat.
    pub(crate) fn heartbeat(&mut self, ctx: &mut Ctx<'_>, action: &Action) -> Result<(), Refusal> {
        let until = self.holds.heartbeat(action, ctx.api.now())?;
        let number = self.instance_number(&action.instance);
        ctx.agenda.at(until, Event::Cloud(CloudDue::HookOver(number)));
        Ok(())
    }

    /// ChangeMessageVisibility.
    pub(crate) fn hold_message(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: &MessageId,
        receipt: &str,
        until: Time,
    ) -> Result<(), Refusal> {
        self.queue.hold(ctx, id, receipt, until)
    }

    /// DeleteMessage.
    pub(crate) fn delete_message(&mut self, id: &MessageId, receipt: &str) -> Result<(), Refusal> {
        self.queue.delete(id, receipt)
    }

    /// Says something about instances, and makes it come true.
    pub(crate) fn warn(&mut self, ctx: &mut Ctx<'_>, instances: &[Arc<Instance>], told: Told) {
        let now = ctx.api.now();
        self.has_queue = true;
        let ids: Vec<&InstanceId> = instances.iter().map(|instance| &instance.id).collect();
        for body in events::warnings(told, &ids, now) {
            self.send(ctx, body);
        }
        self.said.extend(instances.iter().map(|instance| (instance.clone(), told)));
        let end = match told {
            Told::Spot => now + SPOT_NOTICE,
            Told::Retirement(at) => at,
            Told::Rebalance => return,
        };
        for id in ids {
            let number = self.instance_number(id);
            self.doomed.insert(id.clone());
            ctx.agenda.at(end, Event::Cloud(CloudDue::TakenBack(number)));
        }
    }

    /// Puts a message into the queue as it is.
    pub(crate) fn post(&mut self, ctx: &mut Ctx<'_>, body: String) {
        self.has_queue = true;
        self.send(ctx, body);
    }

    /// Capacity runs out, or is back.
    pub(crate) fn set_capacity(&mut self, ctx: &mut Ctx<'_>, capacity: Capacity, is_there: bool) {
        self.markets.set(capacity, is_there);
        if is_there {
            // A group that launches finds out when it tries again; one that balances its zones looks at them.
            let groups = ctx.view().groups().values();
            let balancing: Vec<GroupName> = groups
                .filter(|group| group.ways.is_active(ScalingProcess::AzRebalance))
                .map(|group| group.name.clone())
                .collect();
            for group in &balancing {
                self.reconcile_soon(ctx, group);
            }
        }
    }

    /// Instances are taken away at a rate from now on.
    pub(crate) fn begin_hazard(&mut self, ctx: &mut Ctx<'_>, hazard: Hazard) {
        self.has_queue = true;
        self.markets.begin(hazard, ctx.api.now());
        let first = self.markets.last();
        let alive = ctx.view().instances().values().filter(|instance| instance.state.is_alive());
        let alive: Vec<Arc<Instance>> = alive.cloned().collect();
        for instance in alive {
            self.threaten(ctx, &instance, first);
        }
    }

    /// Puts on the agenda what is going to meet an instance.
    fn threaten(&mut self, ctx: &mut Ctx<'_>, instance: &Instance, first: usize) {
        let instance_type = self.type_of(ctx.view(), instance);
        let threatened = threatened(instance, &instance_type);
        let blows = self.markets.plan(ctx.draws, &threatened, ctx.api.now(), first);
        for (at, number) in blows {
            ctx.agenda.at(at, Event::Cloud(CloudDue::Hazard(number)));
        }
    }

    fn strike(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let instance = ctx.view().instances().get(self.markets.target(number)).cloned();
        let Some(instance) = instance.filter(|instance| instance.state.is_alive()) else { return };
        let instance_type = self.type_of(ctx.view(), &instance);
        let Some(blow) = self.markets.due(number, &threatened(&instance, &instance_type)) else { return };
        let told = match blow {
            Blow::Recommended => Told::Rebalance,
            Blow::Taken => Told::Spot,
            Blow::Retired(notice) => Told::Retirement(ctx.api.now().floor_seconds() + notice),
        };
        self.warn(ctx, &[instance], told);
    }

    /// Changes how messages come.
    pub(crate) fn deliver(&mut self, delivery: Delivery, now: Time) {
        self.queue.deliver(delivery, now);
    }

    /// Whether an instance will be taken back.
    pub(crate) fn is_doomed(&self, id: &InstanceId) -> bool {
        self.doomed.contains(id)
    }

    /// What was said about instances since this was last asked.
    pub(crate) fn take_said(&mut self) -> Vec<(Arc<Instance>, Told)> {
        std::mem::take(&mut self.said)
    }

    /// What EKS has asked for since this was last asked.
    pub(crate) fn take_asked(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asked)
    }

    /// What the queue has delivered since this was last asked.
    pub(crate) fn take_deliveries(&mut self) -> Vec<Delta> {
        self.queue.take_deliveries()
    }

    /// Bodies of messages that nobody could handle.
    pub(crate) fn dead_letters(&self) -> Vec<Text> {
        self.queue.dead_letters().cloned().collect()
    }

    /// Messages that are neither deleted nor among the dead letters.
    pub(crate) fn messages_left(&self) -> usize {
        self.queue.left()
    }

    /// Somebody beyond the world hears events from now on.
    pub(crate) fn hear(&mut self) {
        self.heard.get_or_insert_default();
    }

    /// Events that were not taken yet.
    pub(crate) fn take_heard(&mut self) -> Vec<String> {
        self.heard.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Tells of an instance's state where somebody beyond the world hears it: the queue of a rehearsal is for what an engine acts on.
    fn tell_state(&mut self, ctx: &Ctx<'_>, instance: &Instance) {
        if let Some(heard) = &mut self.heard {
            heard.push(events::state(instance, ctx.api.now()));
        }
    }

    fn send(&mut self, ctx: &mut Ctx<'_>, body: String) {
        if let Some(heard) = &mut self.heard {
            heard.push(body);
        } else if self.has_queue {
            self.queue.send(ctx, body);
        }
    }

    /// An instance shuts down, and its node goes away later.
    fn shut_down(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        self.holds.drop(&instance.id);
        self.targets.leaving.remove(&instance.id);
        let number = self.instance_number(&instance.id);
        let stopping = Instance {
            state: InstanceState::ShuttingDown,
            lifecycle: Lifecycle::TerminatingProceed,
            ..instance.clone()
        };
        self.send(ctx, events::state(&stopping, ctx.api.now()));
        ctx.api.apply_cloud(Delta::Instance(Arc::new(stopping)));
        let span = self.timings.shut_down.draw(ctx.draws.draw(instance.id.as_str(), Purpose::ShutDown, 0));
        ctx.agenda.after(span, Event::Cloud(CloudDue::Terminated(number)));
    }

    fn register(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Some((instance, template)) = self.booting(ctx.view(), number) else { return };
        let shape = self.shape_of(ctx, &instance, &template.profile).clone();
        let name = name::node_name(ctx, &instance);
        let node = booted(&template, &name, &instance, &shape, ctx.api.timestamp());
        let csi =
            CsiNode { meta: node.meta.clone(), spec: CsiNodeSpec { drivers: shape.csi_drivers.clone() } };
        let created = ctx.api.create(node);
        debug_assert!(created.is_ok(), "a free name was chosen");
        // A kubelet takes up what a machine of the same name has left.
        let is_left = ctx.view().csi_nodes.by_key(&csi.meta.key()).is_some();
        if !csi.spec.drivers.is_empty() && !is_left {
            let created = ctx.api.create(CsiNode {
                meta: replank_model::object::meta::Meta { name: csi.meta.name, ..Default::default() },
                spec: csi.spec,
            });
            debug_assert!(created.is_ok(), "the node is new");
        }
        let mut running = Instance {
            state: InstanceState::Running,
            lifecycle: if self.holds.holds(&instance.id) { instance.lifecycle } else { Lifecycle::InService },
            node: Some(name),
            ..Instance::clone(&instance)
        };
        if running.lifecycle == Lifecycle::InService {
            self.add_to_load_balancers(ctx, &mut running);
        }
        self.tell_state(ctx, &running);
        ctx.api.apply_cloud(Delta::Instance(Arc::new(running)));
        let span = self.timings.ready.draw(ctx.draws.draw(instance.id.as_str(), Purpose::NodeReady, 0));
        ctx.agenda.after(span, Event::Cloud(CloudDue::Ready(number)));
    }

    fn ready(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Some(instance) = self.known(ctx.view(), number) else { return };
        let Some(name) = instance.node.as_ref().filter(|_| instance.state.is_alive()) else { return };
        if is_of_another(ctx.view(), name, &instance.id) {
            return;
        }
        let now = ctx.api.timestamp();
        let written = ctx.api.modify::<Node>(&Key::cluster(name.text().clone()), |node| {
            node.status.conditions = vec![ready_condition(ConditionStatus::True, "KubeletReady", now)].into();
        });
        debug_assert!(
            written.is_ok() || ctx.view().node(name).is_none(),
            "only a deleted node cannot be written"
        );
    }

    /// The name of the node whose kubelet falls silent.
    fn terminated(&mut self, ctx: &mut Ctx<'_>, number: u32) -> Option<NodeName> {
        let instance = self.known(ctx.view(), number)?;
        let gone = Instance {
            state: InstanceState::Terminated,
            lifecycle: Lifecycle::Terminated,
            targets: Vec::new(),
            ..Instance::clone(&instance)
        };
        self.tell_state(ctx, &gone);
        ctx.api.apply_cloud(Delta::Instance(Arc::new(gone)));
        let span = self.timings.node_gone.draw(ctx.draws.draw(instance.id.as_str(), Purpose::ShutDown, 1));
        ctx.agenda.after(span, Event::Cloud(CloudDue::NodeGone(number)));
        instance.node.clone().filter(|name| !is_of_another(ctx.view(), name, &instance.id))
    }

    /// The cloud controller manager deletes nodes whose instance is gone (cloud-provider `node_lifecycle_controller`).
    fn node_gone(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Some(instance) = self.known(ctx.view(), number) else { return };
        self.impaired.remove(&instance.id);
        ctx.api.apply_cloud(Delta::InstanceGone(instance.id.clone()));
        let Some(name) = &instance.node else { return };
        let is_same = ctx.view().node(name).is_some_and(|node| instance_of_node(node) == instance.id);
        if is_same {
            let key = Key::cluster(name.text().clone());
            let deleted = ctx.api.delete(Kind::Node, &key, &DeleteOptions::default());
            debug_assert!(deleted.is_ok(), "the node was just read");
        }
    }

    fn booting(&self, view: &View, number: u32) -> Option<(Arc<Instance>, LaunchTemplate)> {
        let instance =
            self.known(view, number).filter(|instance| instance.state == InstanceState::Pending)?;
        let group = view.groups().get(&instance.group)?;
        Some((instance.clone(), group.made_from(&instance)?.clone()))
    }

    fn known(&self, view: &View, number: u32) -> Option<Arc<Instance>> {
        view.instances().get(&self.instances[number as usize]).cloned()
    }

    fn instance_number(&mut self, id: &InstanceId) -> u32 {
        let next = u32::try_from(self.instances.len()).expect("fewer than 2^32 instances in one run");
        *self.number_of.entry(id.clone()).or_insert_with(|| {
            self.instances.push(id.clone());
            next
        })
    }
}

/// An instance as hazards see it.
fn threatened<'a>(instance: &'a Instance, instance_type: &'a str) -> Threatened<'a> {
    Threatened {
        id: &instance.id,
        group: &instance.group,
        instance_type,
        zone: &instance.zone,
        market: instance.market,
    }
}

/// The node as its kubelet registers it: not ready yet.
fn booted(
    template: &LaunchTemplate,
    name: &NodeName,
    instance: &Instance,
    shape: &NodeShape,
    now: Time,
) -> Node {
    let mut node = template.profile.node(name, &instance.zone, shape);
    node.meta.name = Name::from(name);
    node.spec.provider_id = Text::from(format!("aws:///{}/{}", instance.zone, instance.id));
    node.spec.taints.push(replank_model::object::affinity::Taint::new(
        "node.kubernetes.io/not-ready",
        replank_model::object::affinity::TaintEffect::NoSchedule,
    ));
    node.status.conditions = vec![ready_condition(ConditionStatus::False, "KubeletNotReady", now)].into();
    if let Some((system, architecture)) = template.ami_type.shown() {
        let info = &mut node.status.node_info;
        (info.os_image, info.architecture) = (Text::from(system), Text::from(architecture));
        info.operating_system = Text::from("linux");
    }
    node
}

fn ready_condition(status: ConditionStatus, reason: &str, now: Time) -> Condition {
    Condition {
        r#type: Text::from("Ready"),
        status,
        reason: Text::from(reason),
        last_transition_time: Some(now),
        last_heartbeat_time: Some(now),
        ..Condition::default()
    }
}

fn node_of(object: Option<&Object>) -> Option<&Node> {
    if let Some(Object::Node(node)) = object { Some(node) } else { None }
}

/// Whether a node's name is by now that of another instance's node.
fn is_of_another(view: &View, name: &NodeName, instance: &InstanceId) -> bool {
    view.node(name).is_some_and(|node| instance_of_node(node) != *instance)
}

fn instance_of_node(node: &Node) -> InstanceId {
    replank_facts::groups::instance_id_of(node)
}
