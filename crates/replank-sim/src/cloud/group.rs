//! How a group works towards what it wants: what it launches where, what it ends, and what it does when a launch fails.
//!
//! A launch goes to the zone that has fewest, and where that one has no capacity to the next ("Availability Zone distribution" in the EC2
//! Auto Scaling guide). A group that balances its zones (AZRebalance) launches before it ends, beyond its maximum if need be, by a
//! tenth of it or one.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cloud::{
    HealthStatus, Instance, InstanceState, LaunchFailure, Lifecycle, Market, NodeGroup, NodeProfile,
    NodeShape, ScalingProcess, Transition,
};
use replank_model::text::{GroupName, Text, Zone};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::{Alive, CloudDue, SimulatedCloud, name, policy};
use crate::context::Ctx;
use crate::event::Event;
use replank_apiserver::draw::{Draw, Purpose};

pub(super) use super::retry::Retry;

/// From a launch that failed in every zone to the next attempt; then twice as long, up to the longest. Auto Scaling goes on trying and
/// says nothing of how often.
const RETRY: Span = Span::from_secs(60);
const RETRY_MAX: Span = Span::from_secs(600);
/// By what part of its maximum a group goes beyond it while it balances its zones; at least by one.
const MARGIN_PART: u32 = 10;

/// Instances of a group by zone, those of the present turn among them.
type ByZone = BTreeMap<Zone, usize>;

impl SimulatedCloud {
    pub(super) fn reconcile_soon(&mut self, ctx: &mut Ctx<'_>, group: &GroupName) {
        let number = self.group_number(group);
        if !std::mem::replace(&mut self.is_due[number], true) {
            let count = self.launched.get(group).copied().unwrap_or(0);
            let span = self.timings.react.draw(ctx.draws.draw(group.as_str(), Purpose::Phase, count));
            let number = u32::try_from(number).expect("few groups");
            ctx.agenda.after(span, Event::Cloud(CloudDue::Reconcile(number)));
        }
    }

    pub(super) fn group_number(&mut self, group: &GroupName) -> usize {
        match self.groups.iter().position(|known| known == group) {
            Some(number) => number,
            None => {
                self.groups.push(group.clone());
                self.is_due.push(false);
                self.groups.len() - 1
            }
        }
    }

    pub(super) fn reconcile(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let number = number as usize;
        self.is_due[number] = false;
        let Some(group) = ctx.view().groups().get(&self.groups[number]).cloned() else { return };
        if self.replace_unhealthy(ctx, &group) {
            // What takes their place is launched when they are out of the group.
            return;
        }
        let extra = self.extra.get(&group.name).map_or(0, std::collections::BTreeSet::len);
        let wanted = group.size.desired as usize + extra;
        let nothing = Alive::default();
        let alive = self.alive.get(&group.name).unwrap_or(&nothing);
        let (count, mut by_zone) = (alive.ids.len(), alive.by_zone.clone());
        if count > wanted {
            self.scale_in(ctx, &group, count - wanted);
            return;
        }
        let failures = self.launch_missing(ctx, &group, wanted - count, &mut by_zone);
        if count == wanted && extra == 0 {
            self.balance(ctx, &group, &mut by_zone);
        }
        note(ctx, &group.name, failures);
    }

    /// Launches what is missing, as far as there is capacity; what failed.
    fn launch_missing(
        &mut self,
        ctx: &mut Ctx<'_>,
        group: &Arc<NodeGroup>,
        missing: usize,
        by_zone: &mut ByZone,
    ) -> Vec<LaunchFailure> {
        let now = ctx.api.now();
        let retry = self.retries.get(&group.name).copied();
        let is_resting = retry.is_some_and(|retry| now < retry.at);
        let mut failures = Vec::new();
        if !group.ways.is_active(ScalingProcess::Launch) || is_resting {
            return failures;
        }
        for _ in 0..missing {
            let Some(instance) = self.launch(ctx, group, by_zone, &mut failures) else {
                let span = retry.map_or(RETRY, |retry| (retry.span * 2).min(RETRY_MAX));
                self.retries.insert(group.name.clone(), Retry { at: now + span, span });
                let number = u32::try_from(self.group_number(&group.name)).expect("few groups");
                ctx.agenda.after(span, Event::Cloud(CloudDue::Reconcile(number)));
                return failures;
            };
            *by_zone.entry(instance.zone.clone()).or_default() += 1;
        }
        self.retries.remove(&group.name);
        failures
    }

    fn scale_in(&mut self, ctx: &mut Ctx<'_>, group: &Arc<NodeGroup>, too_many: usize) {
        if !group.ways.is_active(ScalingProcess::Terminate) {
            return;
        }
        let ids = self.alive.get(&group.name).into_iter().flat_map(|alive| &alive.ids);
        let mut left: Vec<Arc<Instance>> =
            ids.filter_map(|id| ctx.view().instances().get(id).cloned()).collect();
        for _ in 0..too_many {
            let count = u64::try_from(left.len()).unwrap_or(0);
            let draw = ctx.draws.draw(group.name.as_str(), Purpose::Zone, count);
            let Some(at) = policy::scale_in_choice(group, &left, ctx.api.now(), draw) else { return };
            let ended = left.swap_remove(at);
            self.terminate(ctx, &ended);
        }
    }

    /// Launches where the group has few, if it has more than one less there than elsewhere; once they serve as many are ended where it has
    /// most. While Terminate is suspended they are not, and the group stays beyond what it wants ("How suspended processes affect other
    /// processes").
    fn balance(&mut self, ctx: &mut Ctx<'_>, group: &Arc<NodeGroup>, by_zone: &mut ByZone) {
        let ways = &group.ways;
        if !ways.is_active(ScalingProcess::AzRebalance) || !ways.is_active(ScalingProcess::Launch) {
            return;
        }
        let most = (group.size.max / MARGIN_PART).max(1);
        for _ in 0..most {
            let count = |zone: &Zone| by_zone.get(zone).copied().unwrap_or(0);
            let fullest = group.zones.iter().max_by_key(|zone| count(zone)).cloned();
            let open = |zone: &&Zone| self.has_capacity(group, zone);
            let emptiest = group.zones.iter().filter(open).min_by_key(|zone| count(zone)).cloned();
            let (Some(fullest), Some(emptiest)) = (fullest, emptiest) else { return };
            if count(&fullest) < count(&emptiest) + 2 {
                return;
            }
            let mut failures = Vec::new();
            let Some(instance) = self.launch(ctx, group, by_zone, &mut failures) else { return };
            *by_zone.entry(instance.zone.clone()).or_default() += 1;
            // It will be gone when the new one serves.
            *by_zone.entry(fullest).or_default() -= 1;
            self.extra.entry(group.name.clone()).or_default().insert(instance.id.clone());
        }
    }

    /// Whether an instance was launched to balance zones, and serves or is gone: another may go.
    pub(super) fn serves(&mut self, ctx: &mut Ctx<'_>, instance: &Instance) {
        let serves = instance.state == InstanceState::Running && instance.lifecycle == Lifecycle::InService;
        if !serves && instance.is_counted() {
            return;
        }
        let was_extra = self.extra.get_mut(&instance.group).is_some_and(|extra| extra.remove(&instance.id));
        if was_extra {
            self.reconcile_soon(ctx, &instance.group);
        }
    }

    fn launch(
        &mut self,
        ctx: &mut Ctx<'_>,
        group: &Arc<NodeGroup>,
        by_zone: &ByZone,
        failures: &mut Vec<LaunchFailure>,
    ) -> Option<Arc<Instance>> {
        let count = self.launched.get(&group.name).copied().unwrap_or(0) + 1;
        let drawn = |purpose| ctx.draws.draw(group.name.as_str(), purpose, count);
        let zone = self.open_zone(group, by_zone, drawn(Purpose::Zone), ctx.api.timestamp(), failures)?;
        self.launched.insert(group.name.clone(), count);
        let id = name::instance_id(drawn(Purpose::Uid));
        let instance = Instance {
            id: id.clone(),
            group: group.name.clone(),
            zone,
            state: InstanceState::Pending,
            template: group.current.clone(),
            launched: Some(ctx.api.timestamp()),
            node: None,
            lifecycle: Lifecycle::Pending,
            market: Market::of(&group.profile().labels),
            is_protected: group.ways.protects_new,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        };
        let draw = ctx.draws.draw(id.as_str(), Purpose::Shape, 0);
        let is_open =
            |shape: &NodeShape| !self.markets.is_short(instance.market, &shape.instance_type, &instance.zone);
        let shape = choose_shape(group.profile(), draw, &is_open);
        self.chosen.insert(id.clone(), shape);
        let number = self.instance_number(&id);
        let held = Instance { lifecycle: Lifecycle::PendingWait, ..instance.clone() };
        let is_held = self.hold(ctx, held, Transition::Launching);
        self.tell_state(ctx, &instance);
        let instance = Arc::new(instance);
        if !is_held {
            ctx.api.apply_cloud(Delta::Instance(instance.clone()));
        }
        let span = self.timings.boot.draw(ctx.draws.draw(id.as_str(), Purpose::Boot, 0));
        ctx.agenda.after(span, Event::Cloud(CloudDue::Register(number)));
        self.threaten(ctx, &instance, 0);
        Some(instance)
    }

    /// The zone in which the next instance is launched: the one that has fewest, else the next that has capacity. What was tried
    /// in vain is noted, once for each type and zone.
    fn open_zone(
        &self,
        group: &NodeGroup,
        by_zone: &ByZone,
        draw: Draw,
        now: Time,
        failures: &mut Vec<LaunchFailure>,
    ) -> Option<Zone> {
        let market = Market::of(&group.profile().labels);
        let mut zones = group.zones.clone();
        loop {
            let zone = emptiest_zone(&zones, by_zone, draw)?;
            if self.has_capacity(group, &zone) {
                return Some(zone);
            }
            zones.retain(|other| *other != zone);
            for shape in &group.profile().shapes {
                let failure = LaunchFailure {
                    at: now,
                    code: Text::from(LaunchFailure::NO_CAPACITY),
                    instance_type: shape.instance_type.clone(),
                    zone: zone.clone(),
                    market,
                };
                if !failures.contains(&failure) {
                    failures.push(failure);
                }
            }
        }
    }

    fn has_capacity(&self, group: &NodeGroup, zone: &Zone) -> bool {
        let profile = group.profile();
        let market = Market::of(&profile.labels);
        profile.shapes.iter().any(|shape| !self.markets.is_short(market, &shape.instance_type, zone))
    }

    /// The shape of an instance that boots.
    pub(super) fn shape_of<'t>(
        &self,
        ctx: &Ctx<'_>,
        instance: &Instance,
        profile: &'t NodeProfile,
    ) -> &'t NodeShape {
        let known = self.chosen.get(&instance.id).copied();
        let draw = ctx.draws.draw(instance.id.as_str(), Purpose::Shape, 0);
        &profile.shapes[known.unwrap_or_else(|| choose_shape(profile, draw, &|_| true))]
    }

    /// The type of an instance: what it was launched as, or what its node shows.
    pub(crate) fn type_of(&self, view: &View, instance: &Instance) -> Text {
        let template = view.groups().get(&instance.group).and_then(|group| group.made_from(instance));
        let shape = |at: usize| template.and_then(|template| template.profile.shapes.get(at));
        let chosen = self.chosen.get(&instance.id).and_then(|at| shape(*at));
        let node = instance.node.as_ref().and_then(|name| view.node(name));
        let label = node.and_then(|node| node.meta.labels.get("node.kubernetes.io/instance-type"));
        let known = chosen.map(|shape| &shape.instance_type).or(label);
        known.or(shape(0).map(|shape| &shape.instance_type)).cloned().unwrap_or_default()
    }
}

/// Shows what failed, as describe-scaling-activities would: of each type, zone and market the last.
fn note(ctx: &mut Ctx<'_>, group: &GroupName, failures: Vec<LaunchFailure>) {
    if failures.is_empty() {
        return;
    }
    let Some(known) = ctx.view().groups().get(group) else { return };
    let mut group = NodeGroup::clone(known);
    let is_of = |one: &LaunchFailure, other: &LaunchFailure| {
        (&one.instance_type, &one.zone, one.market) == (&other.instance_type, &other.zone, other.market)
    };
    group.failures.retain(|old| !failures.iter().any(|new| is_of(old, new)));
    group.failures.extend(failures);
    group
        .failures
        .sort_by(|a, b| (&a.instance_type, &a.zone, a.market).cmp(&(&b.instance_type, &b.zone, b.market)));
    ctx.api.apply_cloud(Delta::Group(Arc::new(group)));
}

/// The zone with fewest instances; among equals the draw decides.
fn emptiest_zone(zones: &[Zone], by_zone: &ByZone, draw: Draw) -> Option<Zone> {
    let count = |zone: &Zone| by_zone.get(zone).copied().unwrap_or(0);
    let fewest = zones.iter().map(count).min()?;
    let emptiest: Vec<&Zone> = zones.iter().filter(|zone| count(zone) == fewest).collect();
    let at = usize::try_from(draw.below(emptiest.len() as u64)).expect("a position");
    emptiest.get(at).copied().cloned()
}

/// The position of a shape, as often as its weight says among those that are open.
fn choose_shape(profile: &NodeProfile, draw: Draw, is_open: &dyn Fn(&NodeShape) -> bool) -> usize {
    let weight = |shape: &NodeShape| if is_open(shape) { u64::from(shape.weight) } else { 0 };
    let total: u64 = profile.shapes.iter().map(weight).sum();
    let mut left = draw.below(total);
    for (at, shape) in profile.shapes.iter().enumerate() {
        match left.checked_sub(weight(shape)) {
            Some(rest) => left = rest,
            None => return at,
        }
    }
    0
}
