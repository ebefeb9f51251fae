//! Pods that are sure of a place, wherever those are put that come before them.
//!
//! A node with room for n pods of a size takes one more as long as fewer than n have been put there. So if the nodes that let a pod in have room for more than have been
//! promised a place, one of them has room for it, too, and nothing need be put anywhere to know that. It goes for pods of which a node decides by itself, by what it is and
//! what room it has ([`Plan::decides_by_node`]): hardly a pod has terms or constraints that must hold. Volumes that are bound are one more thing that a node has room for, and
//! only the nodes count that reach them.
//!
//! What another pod is told may depend on where those are. It does not where no node lets both in and neither counts the other ([`Scheduler::depends_on`]).

use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::view::View;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Scheduler;
use super::cycle::{bring_up_to_date, class_of};
use super::ids::CounterId;
use super::labels::TermKind;
use super::plan::{Plan, SoftCount};
use super::predicate::Narrowing;
use super::slack::{Size, Slack};
use super::volumes::{KnownVolumes, VolumePlan};
use super::world::World;

/// A pod that is sure of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertainFit {
    class: u32,
    /// The epoch that the class belongs to.
    epoch: u32,
    size: Size,
    /// How many volumes are attached for it.
    volumes: usize,
}

/// Pods that are sure of a place each, and have not been put there.
#[derive(Clone, Debug, Default)]
pub struct CertainFits {
    pods: u64,
    /// None is larger.
    size: Size,
    /// None has more volumes attached.
    volumes: usize,
    /// How many there are of each class, and the epoch that the class belongs to.
    classes: FxHashMap<(u32, u32), u32>,
}

impl CertainFits {
    /// One more.
    pub fn add(&mut self, one: CertainFit) {
        self.pods += 1;
        self.size = self.size.max(one.size);
        self.volumes = self.volumes.max(one.volumes);
        *self.classes.entry((one.class, one.epoch)).or_default() += 1;
    }

    /// One less. The largest counts for as long as any are left.
    pub fn take_back(&mut self, one: CertainFit) {
        self.pods -= 1;
        let key = (one.class, one.epoch);
        let left = self.classes.get(&key).copied().unwrap_or(0);
        if left > 1 {
            self.classes.insert(key, left - 1);
        } else {
            self.classes.remove(&key);
        }
        if self.pods == 0 {
            self.size = Size::default();
            self.volumes = 0;
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pods == 0
    }
}

impl Plan {
    /// Whether nothing that must hold for its pods goes by where others are, nor by a node's name, as far as it can be read. Every part of a plan is looked at here: one that
    /// is new has to be told apart, too.
    fn asks_nothing_of_others(&self) -> bool {
        let Self {
            hard,
            unreadable,
            preference,
            near,
            apart,
            spec,
            // What a node is and has room for, how it is scored, and of what the plan was made.
            key: _,
            request: _,
            affinity: _,
            tolerations: _,
            images: _,
            features: _,
            soft: _,
            liked: _,
            base: _,
            arrivals_seen: _,
            siblings: _,
            seen: _,
            is_by_node: _,
            volumes: _,
        } = self;
        hard.is_empty()
            && unreadable.is_none()
            && preference.is_ok()
            && near.is_none()
            && apart.is_empty()
            && Narrowing::of(spec, None) == Narrowing::All
    }

    /// Whether a node decides by what it is and what room it has, others aside, unless pods keep such pods away; what volumes ask for is seen by the claims that are there.
    pub(super) fn decides_by_node(&self, world: &World) -> bool {
        let known = &world.specs[self.key.spec];
        self.asks_nothing_of_others()
            && self.request.amounts.others.is_empty()
            && known.usage.amounts.others.is_empty()
            && known.ports.is_empty()
            && self.spec.resource_claims.is_empty()
            && !self.key.is_pinned
    }
}

impl Scheduler {
    /// Whether a pod is sure of a place on a node other than its own, which is left out, wherever those are put that were promised one; `None` where it is not, or that
    /// takes a closer look.
    pub(super) fn certain_fit(
        &mut self,
        view: &View,
        pod: &Arc<Pod>,
        before: &CertainFits,
    ) -> Option<CertainFit> {
        self.tidy();
        let class = self.class_that_moves(view, pod)?;
        let Self { world, classes, bases, epoch, .. } = self;
        // What may have changed of what it was compiled from, siblings and images, scores nodes and lets none in.
        let plan = classes.get_mut(class);
        if !plan.is_by_node || world.meant_by(plan).any(|kind| kind == TermKind::Repels) {
            return None;
        }
        let spec = &world.specs[plan.key.spec];
        let sizes = [&plan.request.amounts, &spec.usage.amounts].map(Size::of);
        let (has_terms, has_volumes) = (spec.has_terms, spec.has_volumes);
        let size = sizes.into_iter().fold(Size::default(), Size::max);
        let room = bases.slack(plan.base, size.max(before.size), world);
        if room.total() <= before.pods {
            return None;
        }
        let mut volumes = 0;
        if has_volumes {
            let (asked, refused) = KnownVolumes::of(&mut plan.volumes, world, view, pod);
            if refused.is_some() || !asked.decides_by_node() {
                return None;
            }
            volumes = asked.attached();
            if !world.has_room_with(view, (room, &asked), volumes.max(before.volumes), before.pods) {
                return None;
            }
        }
        if has_terms {
            // Whom they mean is to be known.
            world.carried(plan.key.spec, plan.key.labels);
        }
        Some(CertainFit { class, epoch: *epoch, size, volumes })
    }

    /// The class of a pod that may go anywhere but to its own node, which is left out; `None` for any other. One that is on a node and has not changed is asked once.
    fn class_that_moves(&mut self, view: &View, pod: &Arc<Pod>) -> Option<u32> {
        let Self { world, classes, bases, .. } = self;
        if world.pods.has_nominees() || pod.pin.is_some() {
            return None;
        }
        let known = view.pods.slot_of(pod).and_then(|slot| world.pods.at_slot(slot.raw()));
        let Some(known) = known.filter(|id| Arc::ptr_eq(&world.pods[*id].pod, pod)) else {
            if world.is_in_use(pod) {
                return None;
            }
            return Some(classes.id(class_of(world, pod), |key| world.compile(key.clone(), bases)));
        };
        let entry = &world.pods[known];
        if entry.node.is_some_and(|node| !world.nodes[node].is_excluded) {
            return None;
        }
        if let Some(class) = entry.class {
            return Some(class);
        }
        let class = classes.id(class_of(world, pod), |key| world.compile(key.clone(), bases));
        world.pods[known].class = Some(class);
        Some(class)
    }

    /// Whether it may matter to a pod, or to what it is told, where those are put that were promised a place, or to them where it is put.
    pub(super) fn depends_on(&mut self, view: &View, pod: &Arc<Pod>, certain_fits: &CertainFits) -> bool {
        if certain_fits.is_empty() {
            return false;
        }
        self.tidy();
        let Some(class) = self.class_that_moves(view, pod) else { return true };
        let Self { world, classes, bases, epoch, .. } = self;
        if certain_fits.classes.keys().any(|(_, of)| of != epoch) {
            return true;
        }
        bring_up_to_date(world, classes.get_mut(class), bases, view);
        let plan = classes.get(class);
        if !plan.is_apart_from_others(world) || world.meant_by(plan).next().is_some() {
            return true;
        }
        let sortings =
            certain_fits.classes.keys().map(|(class, _)| bases.sorting_of(classes.get(*class).base));
        let sortings: FxHashSet<_> = sortings.collect();
        let own = bases.sorting_of(plan.base);
        if sortings.into_iter().any(|other| bases.share_nodes(own, other, world)) {
            return true;
        }
        for (other, _) in certain_fits.classes.keys() {
            bring_up_to_date(world, classes.get_mut(*other), bases, view);
        }
        let plan = classes.get(class);
        let counted = plan.counted_beyond_nodes(world);
        let mut others = certain_fits.classes.keys().map(|(other, _)| classes.get(*other));
        others.any(|other| {
            let is_counted = |(id, of): (_, &Plan)| world.labels.is_counted(of.key.labels, id);
            counted.iter().any(|id| is_counted((*id, other)))
                || other.counted_beyond_nodes(world).into_iter().any(|id| is_counted((id, plan)))
        })
    }
}

impl Plan {
    /// Whether it asks for nothing that others' places decide about, and carries no terms; what nodes let its pods in is told before anything else of them.
    fn is_apart_from_others(&self, world: &World) -> bool {
        self.asks_nothing_of_others()
            && self.liked.is_empty()
            && self.features == 0
            && !world.specs[self.key.spec].has_terms
    }

    /// What counts for its pods elsewhere than on the node itself.
    fn counted_beyond_nodes(&self, world: &World) -> Vec<CounterId> {
        let soft = self.soft.constraints.iter().filter_map(|soft| match soft.counted {
            Some(SoftCount::InDomain(sum)) => Some(world.counters[sum].counter),
            Some(SoftCount::OnNode(_)) | None => None,
        });
        soft.chain(self.liked.iter().map(|(term, _)| term.counter)).collect()
    }
}

impl World {
    /// Whether a pod is on a node that is not left out.
    fn is_in_use(&self, pod: &Pod) -> bool {
        let id = pod.node.as_ref().and_then(|name| self.nodes.find(name));
        id.is_some_and(|id| !self.nodes[id].is_excluded)
    }

    /// Whether nodes that reach a pod's volumes have room for more pods than were promised one before, each with so many volumes.
    fn has_room_with(
        &mut self,
        view: &View,
        (room, volumes): (&Slack, &VolumePlan),
        each: usize,
        promised: u64,
    ) -> bool {
        let mut pods = 0;
        room.open().any(|(node, fitting)| {
            pods += fitting.min(volumes.fits(self, view, node, each));
            pods > promised
        })
    }

    /// What the terms do that mean pods of a plan's class, of pods that are known or were.
    fn meant_by(&mut self, plan: &Plan) -> impl Iterator<Item = TermKind> + '_ {
        self.labels.catch_up(plan.key.labels);
        self.labels[plan.key.labels].meant_by.iter().map(|id| self.labels[*id].kind)
    }
}
