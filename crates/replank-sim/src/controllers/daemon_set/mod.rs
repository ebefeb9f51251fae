//! DaemonSets: one pod on every node that fits (pkg/controller/daemon).
//!
//! A DaemonSet has as many pods as there are nodes, and each of their changes asks for a look. So what is known of a
//! node is kept ([`roster`]), and only nodes that changed are looked at again.

mod burst;
mod fit;
mod report;
mod revisions;
mod rolling;
mod roster;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::object::workload::{DaemonSet, DaemonSetStatus, UpdateStrategyType};
use replank_model::object::{Kind, Object};
use replank_model::selector::Selector;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_model::view::{Change, Ix, View};

use super::history::History;
use super::index::{Index, resolve};
use super::{Controller, Ctx, Done, PodChange, pods};
use replank_apiserver::ApiError;
use report::Basis;
use revisions::{Revisions, Settled};
use roster::Roster;
use template::{PodFactory, Present, target};

use burst::{Burst, strategy};

/// Pods made, and pods deleted, in one look at most (`BurstReplicas`).
const BURST: usize = 250;
/// Time of one batch of creations.
const BATCH: Span = Span::from_millis(10);

/// What is remembered of all DaemonSets, by slot.
#[derive(Debug, Default)]
pub(super) struct Daemons {
    rosters: BTreeMap<u32, Roster>,
}

impl Daemons {
    /// Takes in a change of a node; a DaemonSet that is to be looked at because of it is put down.
    pub(super) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (Some(Object::Node(old)), Some(Object::Node(new))) => {
                if old.meta.labels != new.meta.labels || old.spec.taints != new.spec.taints {
                    self.node_changed(ctx, &new.name());
                }
            }
            (None, Some(Object::Node(node))) | (Some(Object::Node(node)), None) => {
                self.node_changed(ctx, &node.name());
            }
            (Some(Object::DaemonSet(_)), None) => {
                self.rosters.remove(slot);
            }
            (Some(_) | None, Some(_)) | (Some(_), None) | (None, None) => {}
        }
    }

    fn node_changed(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        let object = ctx.view().node(node).cloned();
        let mut concerned = Vec::new();
        for (slot, roster) in &mut self.rosters {
            if roster.node_changed(ctx.view(), node, object.as_deref()) {
                concerned.push(*slot);
            }
        }
        // By name: slots depend on the order in which a snapshot was read.
        concerned.sort_by_key(|slot| ctx.view().daemon_sets.get(Ix::new(*slot)).map(|set| set.meta.key()));
        for slot in concerned {
            ctx.enqueue(Controller::DaemonSet, slot);
        }
    }

    /// Takes in a change of a pod.
    pub(super) fn pod_changed(&mut self, ctx: &Ctx<'_>, index: &Index, pod: &PodChange<'_>) {
        let (ix, old, new) = (Ix::new(pod.slot), pod.old, pod.new);
        let owner =
            |pod: &Arc<Pod>| resolve(ctx.view(), Kind::DaemonSet, &pod.meta.namespace, pod.meta.controller());
        let (before, after) = (old.and_then(owner), new.and_then(owner));
        if let Some(roster) = before.and_then(|slot| self.rosters.get_mut(&slot))
            && let Some(node) = old.and_then(|old| target(old))
        {
            roster.displace(node, ix);
        }
        if let Some((slot, roster)) = after.and_then(|slot| Some((slot, self.rosters.get_mut(&slot)?))) {
            if let Some(node) = new.and_then(|new| target(new)) {
                roster.place(node, ix);
            }
            // One that the selector no longer means is to be let go.
            let has_moved = |new: &&Arc<Pod>| old.is_none_or(|old| old.meta.labels != new.meta.labels);
            let moved = new.filter(has_moved);
            roster.claims |= moved.is_some_and(|pod| !selects(ctx.view(), slot, pod));
        }
        let Some(orphan) = new.filter(|_| pod.is_unmanaged()) else { return };
        for slot in index.namespaced(Kind::DaemonSet, &orphan.meta.namespace) {
            if let Some(roster) = self.rosters.get_mut(&slot) {
                roster.claims = true;
            }
        }
    }
}

/// Looks at a DaemonSet.
pub(super) fn sync(
    ctx: &mut Ctx<'_>,
    index: &Index,
    memory: &mut History,
    daemons: &mut Daemons,
    slot: u32,
) -> Result<Done, ApiError> {
    let Some(set) = ctx.view().daemon_sets.get(Ix::new(slot)).cloned() else { return Ok(Done::Yes) };
    if set.meta.is_terminating() {
        return Ok(Done::Yes);
    }
    let known = daemons.rosters.get(&slot).filter(|roster| roster.uid == set.meta.uid);
    let settled = known.and_then(|roster| roster.settled.as_ref());
    let settled = settled.filter(|settled| settled.is_of(ctx.view(), index, &set));
    let known = settled.map(|settled| (settled.selector.clone(), settled.revisions.clone()));
    let selector = match &known {
        Some((selector, _)) => selector.clone(),
        None => match selector(&set) {
            Some(selector) if !selector.is_empty() => Arc::new(selector),
            Some(_) | None => return Ok(Done::Yes),
        },
    };
    let roster = daemons.rosters.entry(slot).or_insert_with(|| Roster::new(set.meta.uid.clone()));
    if roster.uid != set.meta.uid {
        *roster = Roster::new(set.meta.uid.clone());
    }
    let mut look = Look { ctx, slot, set, roster };
    if let Some(burst) = look.roster.burst.take() {
        return look.go_on(burst);
    }
    let revisions = match known {
        Some((_, revisions)) => revisions,
        None => {
            let before = look.ctx.api.version();
            let found = revisions::construct(look.ctx, index, memory, &look.set, &selector)?;
            let found = Arc::new(found);
            let settled = Settled::of(look.ctx.view(), index, &look.set, &selector, &found);
            look.roster.settled = settled.filter(|_| look.ctx.api.version() == before);
            found
        }
    };
    look.learn(&revisions);
    match look.update(index, &selector, &revisions) {
        Ok(Some(burst)) => look.go_on(burst),
        done => {
            look.write_status()?;
            done.map(|_| Done::Yes)
        }
    }
}

/// One look at a DaemonSet.
struct Look<'a, 'c> {
    ctx: &'a mut Ctx<'c>,
    slot: u32,
    set: Arc<DaemonSet>,
    roster: &'a mut Roster,
}

impl Look<'_, '_> {
    /// Brings what is known of the nodes up to date.
    fn learn(&mut self, revisions: &Revisions) {
        let present = Present::new(&self.set, revisions.hash.clone());
        let known = &self.roster.basis;
        if known.generation != self.set.meta.generation || known.present != present {
            self.roster.factory = PodFactory::new(&self.set, &revisions.hash);
            self.roster.basis = Basis {
                generation: self.set.meta.generation,
                present,
                demands: fit::Demands::of(&template::tolerant(&self.set.spec.template.spec)),
                min_ready_seconds: self.set.spec.min_ready_seconds,
                surges: rolling::surge(&self.set, 1) > 0,
            };
            self.roster.all_changed(self.ctx.view());
        }
    }

    /// Makes and deletes pods so that every node has what it should (`updateDaemonSet`). Returns what is to be done batch
    /// by batch.
    fn update(
        &mut self,
        index: &Index,
        selector: &Selector,
        revisions: &Revisions,
    ) -> Result<Option<Burst>, ApiError> {
        if self.roster.claims {
            let found = pods::own_and_orphaned(self.ctx, index, &*self.set);
            let claimed = pods::claim(self.ctx, &*self.set, selector, found, None, |_| true)?;
            self.roster.place_all(self.ctx.view(), &claimed);
            self.roster.claims = false;
        }
        let now = self.ctx.api.now();
        self.roster.refresh(self.ctx.view(), now);
        let needing = self.roster.needing();
        let (doomed, again) = self.roster.doomed(self.set.status.observed_generation, now);
        if let Some(span) = again {
            self.ctx.enqueue_after(Controller::DaemonSet, self.slot, span);
        }
        let mut burst = Burst::new(needing, doomed);
        if burst.is_empty() && strategy(&self.set) == UpdateStrategyType::RollingUpdate {
            burst = rolling::plan(&self.set, self.roster)?;
        }
        revisions::clean_up(self.ctx, &self.set, revisions)?;
        Ok((!burst.is_empty()).then_some(burst))
    }

    /// Makes the next batch of pods; after the last one deletes those that go, and writes the status (`syncNodes`).
    fn go_on(mut self, mut burst: Burst) -> Result<Done, ApiError> {
        let batch = burst.nodes.iter().skip(burst.made).take(burst.batch);
        for node in batch {
            match self.ctx.api.create(self.roster.factory.pod(node)) {
                Ok(pod) => {
                    let what = ("SuccessfulCreate", "daemonset-controller");
                    pods::tell(self.ctx, &*self.set.clone(), what, pod.meta.name.as_str());
                }
                Err(error) if pods::is_namespace_terminating(&error) => {}
                Err(error) => {
                    pods::tell_failure(self.ctx, &*self.set.clone(), "daemonset-controller", &error);
                    burst.failure = Some(error);
                }
            }
        }
        burst.made += burst.batch;
        if burst.failure.is_none() && burst.made < burst.nodes.len() {
            burst.batch *= 2;
            self.roster.burst = Some(burst);
            return Ok(Done::GoesOn(BATCH));
        }
        for ix in std::mem::take(&mut burst.doomed) {
            let pod = self.ctx.view().pods.get(ix).filter(|pod| is_of(pod, &self.set)).cloned();
            if let Some(Err(error)) = pod.map(|pod| pods::delete(self.ctx, &pod)) {
                burst.failure = Some(error);
            }
        }
        self.write_status()?;
        match burst.failure {
            None => Ok(Done::Yes),
            Some(error) => Err(error),
        }
    }

    /// Writes the status where it changed, and has the set looked at when a pod becomes available by the mere passing of
    /// time (`updateDaemonSetStatus`). Pods made just now are not yet seen.
    fn write_status(&mut self) -> Result<(), ApiError> {
        let now = self.ctx.api.now();
        self.roster.refresh(self.ctx.view(), now);
        let tally = self.roster.tally();
        let status = DaemonSetStatus {
            current_number_scheduled: tally.current,
            number_misscheduled: tally.misscheduled,
            desired_number_scheduled: tally.desired,
            number_ready: tally.ready,
            observed_generation: self.roster.basis.generation,
            updated_number_scheduled: tally.updated,
            number_available: tally.available,
            number_unavailable: tally.desired - tally.available,
            collision_count: self.set.status.collision_count,
        };
        if status != self.set.status {
            self.ctx.api.modify_status_at::<DaemonSet>(Ix::new(self.slot), |set| set.status = status);
        }
        let min_ready = self.set.spec.min_ready_seconds;
        if min_ready > 0 && tally.ready != tally.available {
            let span = Span::from_secs(i64::from(min_ready));
            self.ctx.enqueue_after(Controller::DaemonSet, self.slot, span);
        }
        Ok(())
    }
}

impl Burst {
    fn new(mut nodes: Vec<NodeName>, mut doomed: Vec<Ix<Pod>>) -> Self {
        nodes.truncate(BURST);
        doomed.truncate(BURST);
        Self { nodes, made: 0, batch: 1, doomed, failure: None }
    }
}

/// Whether a pod, found again by its slot after a while, is one of the set's.
fn is_of(pod: &Pod, set: &DaemonSet) -> bool {
    pod.meta.controller().is_some_and(|owner| owner.uid == set.meta.uid)
}

fn selector(set: &DaemonSet) -> Option<Selector> {
    set.spec.selector.as_ref()?.compile().ok()
}

/// Whether the set in a slot would adopt a pod.
pub(super) fn selects(view: &View, slot: u32, pod: &Pod) -> bool {
    let set = view.daemon_sets.get(Ix::<DaemonSet>::new(slot));
    let selector = set.and_then(|set| selector(set));
    let labels = &pod.meta.labels;
    selector.is_some_and(|selector| !selector.is_empty() && selector.matches(|key| labels.value(key)))
}

/// How long after a pod became ready the set in a slot is looked at: a second more than it takes to be available.
pub(super) fn min_ready(view: &View, slot: u32) -> Span {
    let set = view.daemon_sets.get(Ix::<DaemonSet>::new(slot));
    match set.map_or(0, |set| set.spec.min_ready_seconds) {
        0 => Span::ZERO,
        seconds => Span::from_secs(i64::from(seconds) + 1),
    }
}
