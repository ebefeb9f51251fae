//! What was promised: the plan's numbers, and how things were before the run.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::plan::{
    AtEnd, BarePods, BlockingFindings, Budget, ChosenBy, DeadAction, Health, LocalStorage, OnDeadline, Plan,
    Retained, Singletons, Surge,
};
use replank_model::int_or_string::IntOrString;
use replank_model::object::cloud::{GroupKind, GroupSize, Instance, LaunchTemplateRef, NodeGroup};
use replank_model::selector::Selector;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::policy::StuckAction;

/// Within this time an autoscaler has recorded what it added to a rolling group: it looks every ten seconds, at what it sees
/// some seconds late.
const ADOPTED_WITHIN: Span = Span::from_secs(60);
/// The same where what it writes may be lost a few times: each time it is not repeated for two minutes and a half.
const ADOPTED_AT_LAST: Span = Span::from_minutes(10);

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Promised {
    /// Nodes that are to go.
    pub(super) old: BTreeSet<NodeName>,
    /// Groups that have such nodes and are rolled each by itself.
    pub(super) groups: BTreeMap<GroupName, Limits>,
    /// Groups whose nodes move into another one.
    pub(super) family: Option<Family>,
    pub(super) batch_selector: Option<Selector>,
    pub(super) batch_wait: Span,
    /// Whether a batch pod may be ended at all.
    pub(super) ends_batch: bool,
    /// Whether a node may be left out for the sake of a pod on it.
    pub(super) skips: bool,
    /// Whether there may be times in which the run does nothing, and nodes take pods that it has not begun.
    pub(super) rests: bool,
    /// How long past its grace a pod must be to count as stuck.
    pub(super) stuck_after: Span,
    /// Whether an instance may be ended with stuck pods.
    pub(super) ends_stuck: bool,
    /// How long a node must not have been Ready so that its instance may be ended with stuck pods, whatever the plan says of these.
    pub(super) dead_after: Option<Span>,
    /// How long the drain of a node must have been under way before the node may be given up.
    pub(super) stalls_after: Span,
    /// Whether what is left of stuck pods may be deleted by force.
    pub(super) forces: bool,
    /// How much worse things may get, in the whole cluster and on new nodes while a stage is watched.
    pub(super) health: Option<Health>,
    pub(super) stage_health: Option<Health>,
    /// Whether the run begins with nothing that blocks; what counts as such: pods that nobody would make again, data on disks.
    pub(super) refuses: bool,
    pub(super) refuses_bare: bool,
    /// Whether nodes that were never begun stay cordoned at the end.
    pub(super) keeps_cordons: bool,
    pub(super) refuses_disks: bool,
    /// Whether single pods are moved by a restart.
    pub(super) restarts: bool,
    /// Whether the run is on its way back.
    pub(super) is_way_back: bool,
    /// Whether somebody else replaces nodes.
    pub(super) is_external: bool,
    /// Instances that were there before the run.
    pub(super) instances: BTreeSet<InstanceId>,
    /// Nodes of a group at any moment, as the plan says.
    budget: Budget,
    /// Sizes that groups had to have shortly before, since an autoscaler added to them or took from them.
    lately: Vec<(Time, GroupName, GroupSize)>,
    /// How long a command may be held on its way: a mark says when it was decided on, which is earlier than when it was laid.
    pub(super) held_within: Span,
    /// Within which time an autoscaler has written down what it has added.
    adopted_within: Span,
    /// What others have made of groups.
    raised: BTreeMap<GroupName, Raised>,
    /// What nodes were made from before the run.
    former: BTreeMap<GroupName, LaunchTemplateRef>,
    /// Whether somebody keeps the number of nodes to what is needed.
    pub(super) is_scaled: bool,
    /// How long an instance is kept after its node was taken out of load balancers, where that is asked for.
    pub(super) kept: Option<Span>,
}

/// Groups whose nodes move, and the one that they move into: what holds for all of them together.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) landing: GroupName,
    /// Sizes of all before the run, that of the landing group among them.
    pub(super) before: BTreeMap<GroupName, GroupSize>,
    /// Instances that were in the landing group already: they count for nothing.
    pub(super) settled: BTreeSet<InstanceId>,
    pub(super) limits: Limits,
}

impl Family {
    fn of(plan: &Plan, view: &View) -> Option<Self> {
        let landing = plan.target.group.clone()?;
        let ChosenBy::Groups(sources) = &plan.nodes.by else { return None };
        let names = sources.iter().chain([&landing]);
        let before: BTreeMap<_, _> =
            names.filter_map(|name| Some((name.clone(), view.groups().get(name)?.size))).collect();
        let wanted = sources.iter().filter_map(|name| before.get(name)).map(|size| size.desired).sum();
        let zones = view.groups().get(&landing).map_or(0, |group| group.zones.len());
        let mut limits = Limits::of(plan, GroupSize { min: 0, max: wanted, desired: wanted }, zones);
        // What leaves a managed node group is kept until all of it is empty.
        let is_managed = |name: &&GroupName| {
            view.groups().get(*name).is_some_and(|group| group.kind == GroupKind::EksManaged)
        };
        let of_eks = sources.iter().filter(is_managed).filter_map(|name| before.get(name));
        limits.kept = limits.kept.max(of_eks.map(|size| size.desired).sum());
        let settled = view.instances().values().filter(|one| one.group == landing);
        Some(Self { settled: settled.map(|one| one.id.clone()).collect(), limits, before, landing })
    }
}

/// How long a command lives.
const HELD_MAX: Span = Span::from_secs(60);

/// What somebody else writes on a group between a check and the act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raced {
    /// A tag, or a version of the launch template: nothing that a run promises anything about.
    Aside,
    /// The maximum is raised by one.
    Max,
    /// One instance more is wanted, and the maximum raised where that takes it.
    Desired,
}

/// What others have made of a group's size at most: it is left to them where it is not lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Raised {
    pub(super) max: u32,
    pub(super) desired: u32,
}

impl Raised {
    /// The bounds within which others may have left a size that was `before`.
    pub(super) fn bounds(self, before: GroupSize) -> GroupSize {
        GroupSize { max: before.max.max(self.max), desired: before.desired.max(self.desired), ..before }
    }

    /// Whether a size is one, or one that others may have made of it.
    pub(super) fn may_make(self, before: GroupSize, size: GroupSize) -> bool {
        let most = self.bounds(before);
        size.min == before.min
            && (before.max..=most.max).contains(&size.max)
            && (before.desired..=most.desired).contains(&size.desired)
    }
}

impl Promised {
    /// What is written may be lost.
    pub(super) fn disturbed(&mut self) {
        self.adopted_within = ADOPTED_AT_LAST;
        self.held_within = HELD_MAX;
    }

    /// Somebody else writes a size on a group.
    pub(super) fn raced(&mut self, group: &NodeGroup, by: Raced) {
        let (name, size) = (group.name.clone(), group.size);
        let raised = self.raised.entry(name).or_default();
        match by {
            Raced::Aside => {}
            Raced::Max => raised.max = raised.max.max(size.max),
            Raced::Desired => {
                raised.max = raised.max.max(size.max);
                raised.desired = raised.desired.max(size.desired);
            }
        }
    }

    /// What others have made of a group at most.
    pub(super) fn raised(&self, group: &GroupName) -> Raised {
        self.raised.get(group).copied().unwrap_or_default()
    }

    /// Whether a node came up because others wanted one more, before the run changed what nodes are made from: it is to go, too.
    pub(super) fn is_of_others(&self, instance: &Instance) -> bool {
        self.raised(&instance.group).desired > 0
            && self.former.get(&instance.group) == Some(&instance.template)
    }

    /// What holds where an instance of a group is lost.
    pub(super) fn limits_of(&self, group: &GroupName) -> Option<Limits> {
        let family = self.family.as_ref().filter(|family| family.before.contains_key(group));
        self.groups.get(group).copied().or_else(|| family.map(|family| family.limits))
    }

    /// Whether nodes of one group are counted with those of another.
    pub(super) fn is_kin(&self, one: &GroupName, other: &GroupName) -> bool {
        let family = self.family.as_ref();
        one == other
            || family
                .is_some_and(|family| family.before.contains_key(one) && family.before.contains_key(other))
    }

    /// A rollback: nodes launched from the failed template are replaced; it has no canary, waits for no window, and terminates stuck nodes.
    pub(super) fn turn_back(&mut self, failed: BTreeSet<NodeName>) {
        self.old = failed;
        self.rests = false;
        self.ends_stuck = true;
        self.health = None;
        self.stage_health = None;
        self.is_way_back = true;
    }

    /// An autoscaler adds nodes to a group or takes some away: the run is to leave it as large as that. What has to stay Ready is less where there
    /// are fewer nodes, and no more where there are more: those have to come up first.
    pub(super) fn resized(&mut self, at: Time, group: &GroupName, by: i64) {
        let Some(limits) = self.groups.get_mut(group) else { return };
        let before = limits.before;
        // What others have made of it moves along.
        if let Some(raised) = self.raised.get_mut(group).filter(|raised| raised.desired > 0) {
            raised.desired = u32::try_from((i64::from(raised.desired) + by).max(0)).expect("few");
            raised.max = raised.max.max(raised.desired);
        }
        self.lately.push((at, group.clone(), before));
        let desired = u32::try_from((i64::from(before.desired) + by).max(0)).expect("few");
        let next = Limits::within(&self.budget, GroupSize { desired, ..before }, limits.zones, limits.kept);
        *limits = Limits {
            before: next.before,
            needed: next.needed.min(limits.needed),
            surge: next.surge.max(limits.surge),
            ..*limits
        };
    }

    /// A run ends with nodes in its groups that it has launched and that are in use, and leaves them to the autoscaler, which takes them away when
    /// they are not: from then on they are the group's, and no surge. So is a maximum that has to hold them.
    pub(super) fn left_to_autoscaler(&mut self, at: Time, group: &NodeGroup) {
        let wanted = self.groups.get(&group.name).map(|limits| limits.before.desired);
        if let Some(wanted) = wanted.filter(|wanted| self.is_scaled && group.size.desired > *wanted) {
            self.resized(at, &group.name, i64::from(group.size.desired) - i64::from(wanted));
        }
        if let Some(limits) = self.groups.get_mut(&group.name).filter(|_| self.is_scaled) {
            limits.before.max = limits.before.max.max(limits.before.desired);
        }
    }

    /// What a group's tag may say of its size: what it had to have until just now, too, for the autoscaler writes down what it has added when that
    /// is seen.
    pub(super) fn may_be_written(&self, at: Time, group: &GroupName, before: GroupSize) -> Vec<String> {
        let lately =
            self.lately.iter().filter(|(then, of, _)| of == group && *then + self.adopted_within >= at);
        let raised = self.raised(group);
        let ours: Vec<GroupSize> = lately.map(|(_, _, size)| *size).chain([before]).collect();
        let sizes = ours.into_iter().flat_map(|size| {
            let most = raised.bounds(size);
            let maxima = (size.max..=most.max).map(move |max| GroupSize { max, ..size });
            let all = maxima.flat_map(move |size| {
                (size.desired..=most.desired).map(move |desired| GroupSize { desired, ..size })
            });
            all.collect::<Vec<_>>()
        });
        sizes.map(|size| format!("{}/{}/{}", size.min, size.max, size.desired)).collect()
    }

    /// Whether an instance came up during the run, in a group that the run is about.
    pub(super) fn is_launched(&self, instance: &Instance) -> bool {
        self.limits_of(&instance.group).is_some() && !self.instances.contains(&instance.id)
    }

    /// Whether an instance may serve in the place of one of a group.
    pub(super) fn may_replace(&self, one: &Instance, group: &GroupName) -> bool {
        match self.family.as_ref().filter(|family| family.before.contains_key(group)) {
            Some(family) => family.before.contains_key(&one.group) && !family.settled.contains(&one.id),
            None => one.group == *group,
        }
    }
}

/// What holds for one group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) before: GroupSize,
    /// Zones in which the group launches.
    zones: u32,
    pub(super) surge: u32,
    /// Old nodes that may be kept beside those in their places.
    pub(super) kept: u32,
    /// Nodes that must stay Ready.
    pub(super) needed: u32,
    /// The same in each zone.
    pub(super) needed_in_zone: u32,
}

impl Promised {
    /// What a plan promises of a cluster in which every node of the chosen groups is old.
    #[must_use]
    pub fn of(plan: &Plan, view: &View) -> Self {
        let mut old = BTreeSet::new();
        let mut groups = BTreeMap::new();
        for instance in view.instances().values() {
            let Some(node) = instance.node.as_ref().and_then(|name| view.node(name)) else { continue };
            let is_chosen = match &plan.nodes.by {
                ChosenBy::Groups(names) => names.contains(&instance.group),
                ChosenBy::Selector(selector) => selector.matches(|key| node.meta.labels.value(key)),
            };
            if is_chosen {
                old.insert(node.name());
            }
            let group = &view.groups()[&instance.group];
            // Capacity and sizes of a managed node group are EKS's to keep.
            let is_ours = group.kind == GroupKind::SelfManaged;
            if is_chosen && is_ours && plan.target.group.is_none() {
                groups.insert(instance.group.clone(), Limits::of(plan, group.size, group.zones.len()));
            }
        }
        Self {
            old,
            groups,
            family: Family::of(plan, view),
            batch_selector: plan.batch.selector.clone(),
            batch_wait: plan.batch.wait,
            ends_batch: plan.batch.on_deadline == OnDeadline::Evict,
            skips: plan.batch.on_deadline == OnDeadline::Skip || plan.care.singletons == Singletons::Skip,
            rests: !plan.care.windows.0.is_empty() || plan.care.waves.is_some(),
            stuck_after: plan.care.stuck.after,
            ends_stuck: plan.care.stuck.action != StuckAction::Report,
            dead_after: match plan.care.dead_nodes.action {
                DeadAction::Replace => Some(plan.care.dead_nodes.after),
                DeadAction::Leave => None,
            },
            stalls_after: Span::from_minutes(10)
                .min(Span::from_millis(plan.progress_deadline.as_millis() / 2)),
            forces: plan.care.stuck.action == StuckAction::ForceDelete,
            health: plan.care.health,
            stage_health: stage_health(plan),
            refuses: plan.care.blocking_findings == BlockingFindings::Refuse,
            keeps_cordons: plan.care.at_end == AtEnd::Keep,
            refuses_bare: plan.bare_pods == BarePods::Refuse,
            refuses_disks: plan.local_storage == LocalStorage::Refuse,
            restarts: plan.care.singletons == Singletons::Surge,
            is_way_back: false,
            is_external: plan.external().is_some(),
            instances: view.instances().keys().cloned().collect(),
            budget: plan.budget.clone(),
            lately: Vec::new(),
            held_within: Span::ZERO,
            adopted_within: ADOPTED_WITHIN,
            raised: BTreeMap::new(),
            former: view.groups().iter().map(|(name, group)| (name.clone(), group.current.clone())).collect(),
            is_scaled: false,
            kept: plan.care.load_balancer.exclude.then_some(plan.care.load_balancer.deregistration_delay),
        }
    }
}

/// What new nodes are held to while a stage is watched: the gate, or that nothing is wrong at all.
fn stage_health(plan: &Plan) -> Option<Health> {
    let has_stages = plan.canary.is_some() || plan.care.waves.is_some();
    has_stages.then(|| plan.care.health.unwrap_or_default())
}

impl Limits {
    fn of(plan: &Plan, before: GroupSize, zones: usize) -> Self {
        let kept = if plan.care.retain.capacity == Retained::Cordoned { before.desired } else { 0 };
        let zones = u32::try_from(zones).expect("few");
        Self::within(&plan.budget, before, zones, kept)
    }

    fn within(budget: &Budget, before: GroupSize, zones: u32, kept: u32) -> Self {
        let surge = match &budget.surge {
            Surge::PerZone => zones.max(1),
            Surge::Nodes(value) => of_nodes(value, before.desired, true),
        };
        let missing = match of_nodes(&budget.max_unavailable, before.desired, false) {
            0 if surge == 0 => 1,
            missing => missing,
        };
        Self {
            before,
            zones,
            surge,
            kept,
            needed: before.desired.saturating_sub(missing),
            needed_in_zone: budget.min_ready_per_zone,
        }
    }
}

/// A number of nodes, or a percentage of them, rounded up or down.
fn of_nodes(value: &IntOrString, nodes: u32, up: bool) -> u32 {
    match value {
        IntOrString::Int(count) => u32::try_from(*count).unwrap_or(0),
        IntOrString::String(text) => {
            let percent: u32 = text.trim_end_matches('%').parse().expect("a percentage");
            let hundredths = nodes * percent;
            if up { hundredths.div_ceil(100) } else { hundredths / 100 }
        }
    }
}
