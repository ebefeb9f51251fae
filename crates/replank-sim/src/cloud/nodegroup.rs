//! Managed node groups: how EKS replaces their nodes.
//!
//! The phases of an update are those of "Understand each phase of node updates" in the EKS user guide:
//!
//! 1. Setup: the Auto Scaling group gets the new launch template version.
//! 2. Scale up: its maximum and desired number are raised by twice the number of its zones, or by `maxUnavailable` if that is more. Once each zone
//!    has a Ready node of the new version, all old nodes are cordoned and excluded from load balancers.
//! 3. Upgrade: up to `maxUnavailable` nodes at a time, drawn at random, are drained by eviction. A node with pods after 15 minutes fails the update
//!    (`PodEvictionFailure`), unless it is forced: then they are deleted. An empty node is ended after 60 s, and the group launches another.
//! 4. Scale down: maximum and desired number are lowered by one at a time, until they are what they were; the next when the last node is drained.
//!
//! With `updateStrategy: MINIMAL` none is added first: the group launches a new node for each that went (the same page, "Upgrade phase"). It does not say when old
//! nodes are cordoned then, nor what the next turn waits for. Assumed: each at its turn, and until at most `maxUnavailable` are missing.
//!
//! An update that fails gives the group its former launch template version back, and no more: sizes, cordons and new nodes stay as they are.
//!
//! Whatever ends an instance of such a group (scale-in, a lower desired number, an update), EKS's hook holds it: see [`super::eks`].

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_facts::drain::is_daemon;
use replank_model::delta::Delta;
use replank_model::int_or_string::Rounding;
use replank_model::object::Kind;
use replank_model::object::cloud::{
    GroupKind, GroupSize, Instance, LaunchTemplate, LaunchTemplateRef, NodeGroup, NodegroupChange,
    NodegroupUpdate, UpdateError, UpdateStatus, UpdateStrategy,
};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, InstanceId, NodeName, Text};
use replank_model::time::Time;
use replank_protocol::command::Refusal;
use replank_protocol::mark;

use super::api::NodegroupRequest;
use super::state::SimulatedCloud;
use super::updates::{Drain, Lack, Phase, Update};
use crate::asked::{Asked, Asker, ask};
use crate::context::Ctx;
use crate::event::{CloudDue, Event};
use replank_apiserver::DeleteOptions;
use replank_apiserver::draw::Purpose;

/// Nodes that are replaced at once where the group does not say (`updateConfig.maxUnavailable`).
const MAX_UNAVAILABLE: u32 = 1;
/// The most that EKS takes (`updateConfig.maxUnavailable` in the EKS API).
const AT_ONCE_MAX: u32 = 100;

impl SimulatedCloud {
    /// UpdateNodegroupVersion.
    pub(crate) fn update_nodegroup_version(
        &mut self,
        ctx: &mut Ctx<'_>,
        asked: &NodegroupRequest<'_>,
        (to, force): (&LaunchTemplate, bool),
    ) -> Result<(), Refusal> {
        let Some(mut group) = managed(ctx, asked)? else { return Ok(()) };
        let former = group.current.clone();
        group.current = group.version_of(to);
        group.templates.entry(group.current.clone()).or_insert_with(|| to.clone());
        let before = group.size;
        let phase = match group.update_strategy {
            UpdateStrategy::Default => {
                group.size = surged(&group, self.at_once(&group, before));
                Phase::ScaleUp { since: ctx.api.now() }
            }
            UpdateStrategy::Minimal => Phase::Upgrade { drains: BTreeMap::new(), lacks: None },
        };
        let change = NodegroupChange::Version { to: group.current.clone() };
        self.begin(ctx, asked, group, (change, Update { former, before, force, phase }));
        Ok(())
    }

    /// UpdateNodegroupConfig.
    pub(crate) fn update_nodegroup_config(
        &mut self,
        ctx: &mut Ctx<'_>,
        asked: &NodegroupRequest<'_>,
        to: GroupSize,
    ) -> Result<(), Refusal> {
        let Some(group) = managed(ctx, asked)? else { return Ok(()) };
        if to.min > to.desired || to.desired > to.max {
            let message =
                format!("desired capacity {} must lie between min {} and max {}", to.desired, to.min, to.max);
            return Err(failed(400, "InvalidParameterException", &message));
        }
        let (former, before) = (group.current.clone(), group.size);
        let update = Update { former, before, force: false, phase: Phase::Resize { to } };
        self.begin(ctx, asked, group, (NodegroupChange::Config { to }, update));
        Ok(())
    }

    fn begin(
        &mut self,
        ctx: &mut Ctx<'_>,
        asked: &NodegroupRequest<'_>,
        mut group: NodeGroup,
        (change, update): (NodegroupChange, Update),
    ) {
        self.nodegroups.count += 1;
        let drawn = |count| ctx.draws.draw(asked.token, Purpose::Uid, count).0;
        let (a, b) = (drawn(self.nodegroups.count), drawn(self.nodegroups.count + (1 << 32)));
        let id = format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xffff,
            b >> 48,
            b & 0xffff_ffff_ffff
        );
        group.update = Some(NodegroupUpdate {
            id: Text::from(id),
            token: asked.token.clone(),
            change,
            status: UpdateStatus::InProgress,
            created: ctx.api.timestamp(),
            errors: Vec::new(),
            was_followed: false,
        });
        self.nodegroups.updates.insert(group.name.clone(), update);
        self.look_again(ctx, &group.name);
        ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
    }

    /// How many nodes of a group are replaced at once, by its size before the update.
    fn at_once(&self, group: &NodeGroup, before: GroupSize) -> u32 {
        let told = || {
            let nodes =
                group.update_at_once.as_ref()?.scaled(i64::from(before.desired), Rounding::Down).ok()?;
            u32::try_from(nodes.max(1)).ok()
        };
        let set = self.nodegroups.max_unavailable.get(&group.name).copied();
        set.or_else(told).unwrap_or(MAX_UNAVAILABLE).min(AT_ONCE_MAX)
    }

    fn look_again(&mut self, ctx: &mut Ctx<'_>, group: &GroupName) {
        let number = u32::try_from(self.group_number(group)).expect("few groups");
        ctx.agenda.after(self.timings.eks.update_looks, Event::Cloud(CloudDue::Nodegroup(number)));
    }

    /// The next look at an update.
    pub(super) fn nodegroup(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let name = self.groups[number as usize].clone();
        let Some(group) = ctx.view().groups().get(&name).cloned() else { return };
        let Some(mut update) = self.nodegroups.updates.remove(&name) else { return };
        let replaces = Replaces::of(&group, &update);
        let is_over = match &mut update.phase {
            Phase::Resize { to } => {
                change(ctx, &name, |group| group.size = *to);
                Some(Vec::new())
            }
            Phase::ScaleUp { since } => {
                let since = *since;
                if is_scaled_up(ctx, &group, replaces) {
                    close(ctx, &group, replaces);
                    update.phase = Phase::Upgrade { drains: BTreeMap::new(), lacks: None };
                    None
                } else if ctx.api.now() >= since + self.timings.eks.creates_for {
                    Some(vec![no_nodes(ctx, &group, replaces)])
                } else {
                    None
                }
            }
            Phase::Upgrade { drains, lacks } => {
                let missing = match group.update_strategy {
                    UpdateStrategy::Default => 0,
                    UpdateStrategy::Minimal => missing(ctx, &group, update.before, replaces),
                };
                *lacks = Lack::after(*lacks, missing, ctx.api.now());
                let at_once = self.at_once(&group, update.before).saturating_sub(missing);
                let mut errors = self.upgrade(ctx, (&group, replaces, at_once), drains, update.force);
                if lacks.is_some_and(|lack| ctx.api.now() >= lack.since + self.timings.eks.creates_for) {
                    errors.push(no_nodes(ctx, &group, replaces));
                }
                if errors.is_empty()
                    && missing == 0
                    && drains.is_empty()
                    && old(ctx, &group, replaces).is_empty()
                {
                    update.phase = Phase::ScaleDown;
                }
                (!errors.is_empty()).then_some(errors)
            }
            Phase::ScaleDown => {
                let is_draining = self
                    .drained_since
                    .keys()
                    .any(|id| ctx.view().instances().get(id).is_some_and(|instance| instance.group == name));
                (!is_draining && scale_down(ctx, &group, update.before)).then(Vec::new)
            }
        };
        match is_over {
            None => {
                self.nodegroups.updates.insert(name.clone(), update);
                self.look_again(ctx, &name);
            }
            Some(errors) => change(ctx, &name, |group| end(group, &update.former, errors)),
        }
    }

    /// Drains nodes, ends empty ones, takes up the next; what fails the update.
    fn upgrade(
        &mut self,
        ctx: &mut Ctx<'_>,
        (group, replaces, at_once): (&NodeGroup, Replaces, u32),
        drains: &mut BTreeMap<InstanceId, Drain>,
        force: bool,
    ) -> Vec<UpdateError> {
        let now = ctx.api.now();
        drains.retain(|id, _| ctx.view().instances().get(id).is_some_and(|one| one.is_counted()));
        let mut left: Vec<Arc<Instance>> = old(ctx, group, replaces);
        left.retain(|instance| !drains.contains_key(&instance.id));
        while drains.len() < at_once as usize && !left.is_empty() {
            let count = u64::try_from(left.len()).unwrap_or(u64::MAX);
            let draw = ctx.draws.draw(group.name.as_str(), Purpose::Order, count);
            let chosen = left.swap_remove(usize::try_from(draw.below(count)).expect("a position"));
            if let Some(node) = &chosen.node {
                // Where old nodes go first, they were not all cordoned before.
                cordon(ctx, node);
            }
            drains.insert(chosen.id.clone(), Drain { since: now, empty: None, is_ended: false });
        }
        let mut stuck = Vec::new();
        for (id, drain) in drains {
            let Some(instance) = ctx.view().instances().get(id).cloned() else { continue };
            let is_over = now >= drain.since + self.timings.eks.drains_for;
            let (pods, asked) = evict(ctx, &instance, is_over && force);
            self.asked.extend(asked);
            match (drain.empty, pods) {
                (_, 1..) if is_over && !force => stuck.extend(instance.node.clone()),
                (_, 1..) => drain.empty = None,
                (None, 0) => drain.empty = Some(now),
                (Some(since), 0) if now >= since + self.timings.eks.cordoned_for && !drain.is_ended => {
                    drain.is_ended = true;
                    self.terminate(ctx, &instance);
                }
                (Some(_), 0) => {}
            }
        }
        if stuck.is_empty() {
            return Vec::new();
        }
        let message = "Reached max retries while trying to evict pods from nodes in node group";
        vec![UpdateError {
            code: Text::from(UpdateError::POD_EVICTION_FAILURE),
            message: Text::from(format!("{message} {}", group.name)),
            resources: stuck.into_iter().map(|name| name.text().clone()).collect(),
        }]
    }
}

/// The group, where it is one of EKS and nothing is in progress; `None` where this very request was carried out before.
fn managed(ctx: &Ctx<'_>, asked: &NodegroupRequest<'_>) -> Result<Option<NodeGroup>, Refusal> {
    let group = ctx.view().groups().get(asked.group).filter(|group| group.kind == GroupKind::EksManaged);
    let Some(group) = group else {
        let message = format!("ResourceNotFoundException: No node group found for name: {}.", asked.group);
        return Err(Refusal::Gone { message: Text::from(message) });
    };
    if group.update.as_ref().is_some_and(|update| update.token == *asked.token) {
        return Ok(None);
    }
    if let Some(update) = group.update_in_progress() {
        let message = format!("Nodegroup {} has update {} in progress", group.name, update.id);
        return Err(failed(409, "ResourceInUseException", &message));
    }
    Ok(Some(NodeGroup::clone(group)))
}

fn failed(code: u16, exception: &str, message: &str) -> Refusal {
    Refusal::Failed { code, message: Text::from(format!("{exception}: {message}")) }
}

fn surged(group: &NodeGroup, at_once: u32) -> GroupSize {
    let zones = u32::try_from(group.zones.len()).unwrap_or(u32::MAX);
    let surge = zones.saturating_mul(2).max(at_once);
    GroupSize { max: group.size.max + surge, desired: group.size.desired + surge, ..group.size }
}

fn change(ctx: &mut Ctx<'_>, name: &GroupName, change: impl FnOnce(&mut NodeGroup)) {
    let Some(known) = ctx.view().groups().get(name) else { return };
    let mut group = NodeGroup::clone(known);
    change(&mut group);
    ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
}

fn end(group: &mut NodeGroup, former: &LaunchTemplateRef, errors: Vec<UpdateError>) {
    if !errors.is_empty() {
        group.current = former.clone();
    }
    if let Some(update) = &mut group.update {
        update.status = if errors.is_empty() { UpdateStatus::Successful } else { UpdateStatus::Failed };
        update.errors = errors;
        update.was_followed = true;
    }
}

fn members<'v>(ctx: &'v Ctx<'_>, group: &'v NodeGroup) -> impl Iterator<Item = &'v Arc<Instance>> {
    ctx.view().instances().values().filter(|one| one.group == group.name && one.is_counted())
}

/// What an update replaces.
#[derive(Clone, Copy)]
struct Replaces {
    /// Where the version of the launch template stays, EKS goes to a newer release of the image: all that was there before is old.
    before: Option<Time>,
}

impl Replaces {
    fn of(group: &NodeGroup, update: &Update) -> Self {
        let is_same = update.former == group.current;
        let created = group.update_in_progress().map(|update| update.created);
        Self { before: created.filter(|_| is_same) }
    }

    fn is_old(self, group: &NodeGroup, instance: &Instance) -> bool {
        instance.template != group.current
            || self.before.is_some_and(|before| instance.launched.is_none_or(|at| at < before))
    }
}

/// Instances that an update replaces.
fn old(ctx: &Ctx<'_>, group: &NodeGroup, replaces: Replaces) -> Vec<Arc<Instance>> {
    members(ctx, group).filter(|instance| replaces.is_old(group, instance)).cloned().collect()
}

fn is_ready(ctx: &Ctx<'_>, instance: &Instance) -> bool {
    let node = instance.node.as_ref().and_then(|name| ctx.view().node(name));
    node.is_some_and(|node| node.is_ready())
}

/// How many nodes of a group are gone and not replaced yet.
fn missing(ctx: &Ctx<'_>, group: &NodeGroup, before: GroupSize, replaces: Replaces) -> u32 {
    let there = members(ctx, group).filter(|one| replaces.is_old(group, one) || is_ready(ctx, one)).count();
    before.desired.saturating_sub(u32::try_from(there).unwrap_or(u32::MAX))
}

/// What fails an update whose new nodes do not come.
fn no_nodes(ctx: &Ctx<'_>, group: &NodeGroup, replaces: Replaces) -> UpdateError {
    UpdateError {
        code: Text::from(UpdateError::NODE_CREATION_FAILURE),
        message: Text::from("Instances failed to join the kubernetes cluster"),
        resources: not_ready(ctx, group, replaces),
    }
}

/// Whether each zone of a group has a Ready node of its version.
fn is_scaled_up(ctx: &Ctx<'_>, group: &NodeGroup, replaces: Replaces) -> bool {
    let is_new = |one: &&Arc<Instance>| !replaces.is_old(group, one) && is_ready(ctx, one);
    group.zones.iter().all(|zone| members(ctx, group).filter(is_new).any(|one| one.zone == *zone))
}

fn not_ready(ctx: &Ctx<'_>, group: &NodeGroup, replaces: Replaces) -> Vec<Text> {
    let new = members(ctx, group).filter(|one| !replaces.is_old(group, one) && !is_ready(ctx, one));
    new.map(|instance| instance.id.text().clone()).collect()
}

/// Cordons all old nodes and excludes them from load balancers.
fn close(ctx: &mut Ctx<'_>, group: &NodeGroup, replaces: Replaces) {
    let nodes: Vec<NodeName> =
        old(ctx, group, replaces).iter().filter_map(|instance| instance.node.clone()).collect();
    for name in &nodes {
        cordon(ctx, name);
        let key = Key::cluster(name.text().clone());
        let written = ctx.api.modify::<Node>(&key, |node| {
            node.meta.labels = node.meta.labels.with(mark::EXCLUDE, "true");
        });
        debug_assert!(
            written.is_ok() || ctx.view().node(name).is_none(),
            "a node that is there can be written"
        );
    }
}

fn cordon(ctx: &mut Ctx<'_>, name: &NodeName) {
    if ctx.view().node(name).is_none_or(|node| node.spec.unschedulable) {
        return;
    }
    let key = Key::cluster(name.text().clone());
    let written = ctx.api.modify::<Node>(&key, |node| node.spec.unschedulable = true);
    debug_assert!(written.is_ok(), "a node that is there can be written");
}

/// Asks for the eviction of every pod that is to leave a node, or deletes it; how many are left, and what was asked for.
fn evict(ctx: &mut Ctx<'_>, instance: &Instance, deletes: bool) -> (usize, Vec<Asked>) {
    let Some(node) = instance.node.as_ref() else { return (0, Vec::new()) };
    let view = ctx.view();
    let pods = view.pods_on(node).iter().map(|ix| &view.pods[*ix]);
    let leaving = pods.filter(|pod| !is_daemon(pod) && !pod.is_mirror() && !pod.is_terminal());
    let leaving: Vec<Arc<Pod>> = leaving.cloned().collect();
    let mut all = Vec::new();
    for pod in leaving.iter().filter(|pod| !pod.is_terminating()) {
        if deletes {
            let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
            // What is refused is tried again at the next look.
            let _answer = ctx.api.delete(Kind::Pod, &pod.meta.key(), &options);
        } else {
            all.push(ask(ctx.api, pod.clone(), Asker::Eks));
        }
    }
    (leaving.len(), all)
}

/// Lowers a group by one; whether it is what it was.
fn scale_down(ctx: &mut Ctx<'_>, group: &NodeGroup, before: GroupSize) -> bool {
    let size = group.size;
    if size.desired <= before.desired {
        change(ctx, &group.name, |group| group.size.max = before.max.max(size.desired));
        return true;
    }
    let size =
        GroupSize { desired: size.desired - 1, max: size.max.saturating_sub(1).max(before.max), ..size };
    change(ctx, &group.name, |group| group.size = size);
    false
}
