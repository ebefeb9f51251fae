//! Somebody who writes on a group between a check of ours and the act.
//!
//! Auto Scaling has no compare-and-set, so the last writer wins: what is written here may be lost, and may not be lost where our call does not name it.

use std::cell::RefCell;

use replank_model::delta::Delta;
use replank_model::object::cloud::NodeGroup;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::{Span, Time};
use replank_oracle::sched_random::Random;
use replank_protocol::command::{Effect, GroupEffect};
use replank_sim::{Fate, World};
use serde_json::json;

use crate::check::{Checkers, Raced};
use crate::clusters::Cluster;

/// How long somebody does so.
const FAULTS: Span = Span::from_minutes(60);
/// Of a hundred gaps so many are used.
const USED: u64 = 60;
/// How often somebody writes, and how often the size of a group.
const RACES_MAX: usize = 12;
const SIZES_MAX: usize = 2;
/// The tag that somebody else keeps.
const TAG: &str = "example.com/touched";

/// See the module's page.
pub(super) struct Racer {
    random: Random,
    until: Time,
    /// Commands that were looked at.
    seen: usize,
    /// Those that may yet be checked.
    open: Vec<usize>,
    races: usize,
    sizes: usize,
    /// Whether sizes are left alone: where nodes move, groups change theirs together.
    is_moving: bool,
}

impl Racer {
    pub(super) fn of(cluster: &Cluster, start: Time) -> Self {
        Self {
            random: Random::new(cluster.seed ^ 0x7261_6365_7200),
            until: start + FAULTS,
            seen: 0,
            open: Vec::new(),
            races: 0,
            sizes: 0,
            is_moving: cluster.plan.target.group.is_some(),
        }
    }

    /// Writes in every gap that is open, or leaves it.
    pub(super) fn look(&mut self, world: &mut World, checkers: &RefCell<Checkers>) {
        let commands = world.commands();
        let new = commands.iter().enumerate().skip(self.seen);
        let new =
            new.filter(|(_, sent)| sent.command.effect.is_checked_first() && sent.fate != Fate::RequestLost);
        self.open.extend(new.map(|(at, _)| at));
        self.seen = commands.len();
        self.open.retain(|at| commands[*at].result.is_none());
        let in_gap = self.open.extract_if(.., |at| commands[*at].is_in_gap());
        let effects: Vec<Effect> = in_gap.map(|at| commands[at].command.effect.clone()).collect();
        for effect in effects {
            if self.races < RACES_MAX && world.now() < self.until && self.random.percent(USED) {
                self.write(world, checkers, &effect);
            }
        }
    }

    fn write(&mut self, world: &mut World, checkers: &RefCell<Checkers>, effect: &Effect) {
        let Some(name) = group_of(world, effect) else { return };
        let Some(group) = world.view().groups().get(&name) else { return };
        let mut group = NodeGroup::clone(group);
        let by = self.raced();
        match by {
            Raced::Aside if self.random.percent(40) => {
                let mut template = group.template().clone();
                template.image = format!("ami-of-somebody-{}", self.races).into();
                group.templates.insert(group.version_of(&template), template);
            }
            Raced::Aside => group.tags = group.tags.with(TAG, self.races.to_string()),
            Raced::Max => group.size.max += 1,
            Raced::Desired => {
                group.size.desired += 1;
                group.size.max = group.size.max.max(group.size.desired);
            }
        }
        self.races += 1;
        checkers.borrow_mut().raced(&group, by);
        world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    }

    fn raced(&mut self) -> Raced {
        let drawn = self.random.below(100);
        if self.is_moving || self.sizes >= SIZES_MAX || drawn < 70 {
            return Raced::Aside;
        }
        self.sizes += 1;
        if drawn < 85 { Raced::Max } else { Raced::Desired }
    }
}

/// How many pods an intruder makes.
const INTRUDERS_MAX: usize = 2;

/// Somebody who puts a pod on a node, past the scheduler and its cordon, while the command that ends its instance is on its way.
#[derive(Default)]
pub(super) struct Intruder {
    seen: usize,
    made: usize,
}

impl Intruder {
    pub(super) fn look(&mut self, world: &mut World) {
        let commands = world.commands();
        let open = commands[self.seen..].iter().filter(|sent| sent.result.is_none());
        let nodes: Vec<NodeName> = open
            .filter_map(|sent| match &sent.command.effect {
                Effect::Group(GroupEffect::Terminate { expected, .. }) => expected.node(),
                Effect::Group(_) | Effect::Kubernetes(_) | Effect::Queue(_) => None,
            })
            .map(|node| node.name.clone())
            .collect();
        self.seen = commands.len();
        for node in nodes {
            if self.made < INTRUDERS_MAX && world.view().node(&node).is_some() {
                self.made += 1;
                let pod = json!({"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": format!("intruder-{}", self.made), "namespace": "shop"},
                    "spec": {"nodeName": node.as_str(), "containers": [{"name": "main", "image": "registry.example/intruder:1"}]}});
                let made = world.request(|api| api.apply_json(pod));
                debug_assert!(made.is_ok(), "{made:?}");
            }
        }
    }
}

/// The group that a command is about.
fn group_of(world: &World, effect: &Effect) -> Option<GroupName> {
    let instance = match effect {
        Effect::Group(
            GroupEffect::Tag { group, .. }
            | GroupEffect::Untag { group, .. }
            | GroupEffect::SetTemplate { group, .. }
            | GroupEffect::Resize { group, .. }
            | GroupEffect::SetProcess { group, .. }
            | GroupEffect::ProtectInstance { group, .. }
            | GroupEffect::UpdateNodegroupVersion { group, .. }
            | GroupEffect::UpdateNodegroupConfig { group, .. }
            | GroupEffect::ScaleNodegroupToZero { group, .. },
        ) => return Some(group.node_group.clone()),
        Effect::Group(GroupEffect::Relieve { group, .. } | GroupEffect::Terminate { group, .. }) => {
            return Some(group.clone());
        }
        Effect::Group(GroupEffect::CompleteAction { action, .. } | GroupEffect::Heartbeat { action }) => {
            &action.instance
        }
        Effect::Kubernetes(_) | Effect::Queue(_) => return None,
    };
    world.view().instances().get(instance).map(|one| one.group.clone())
}
