//! Whether a pod has a place on a node that stays.
//!
//! The question is put to the scheduler. Nodes that take no part (old ones, new ones that are not ready) are left out; pods
//! that are tried somewhere count there, and no longer where they are, until the end of the decision.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::condition;
use replank_model::object::meta::Meta;
use replank_model::object::pod::{Pod, PodPhase, PodStatus};
use replank_model::text::{Name, NodeName, Text, Uid};
use replank_model::view::{Change, View};

use replank_schedule::{CertainFit, CertainFits, Mark, Nomination, Scheduler, Trial};

/// The scheduler, and the nodes that are left out.
#[derive(Clone, Debug)]
pub struct Room {
    scheduler: Scheduler,
    closed: BTreeSet<NodeName>,
}

impl Room {
    /// A scheduler over the View that leaves these nodes out.
    pub fn load(view: &View, closed: BTreeSet<NodeName>) -> Self {
        let mut scheduler = Scheduler::load(view);
        for name in &closed {
            scheduler.set_excluded(name, true);
        }
        Self { scheduler, closed }
    }

    /// Takes in a change that `view` has taken in.
    pub fn observe(&mut self, view: &View, change: &Change) {
        self.scheduler.observe(view, change);
        // One that is left out stays so when it changes.
        if let Change::Object { old: None, new: Some(Object::Node(node)), .. } = change
            && self.closed.contains(&node.name())
        {
            self.scheduler.set_excluded(&node.name(), true);
        }
    }

    /// Says whether a node may take pods.
    pub fn set_closed(&mut self, name: &NodeName, closed: bool) {
        let has_changed = if closed { self.closed.insert(name.clone()) } else { self.closed.remove(name) };
        if has_changed {
            self.scheduler.set_excluded(name, closed);
        }
    }

    /// Says for all nodes at once which may take no pods.
    pub fn set_all_closed(&mut self, closed: &BTreeSet<NodeName>) {
        let changed: Vec<NodeName> = self.closed.symmetric_difference(closed).cloned().collect();
        for name in changed {
            self.set_closed(&name, closed.contains(&name));
        }
    }

    /// Where the scheduler would make room for a pod that fits nowhere, and which pods would go for it; `None` where that helps nobody.
    pub fn preempt(&mut self, view: &View, pod: &Arc<Pod>) -> Option<Nomination> {
        let pod = Arc::new(unbound(pod));
        self.scheduler.preempt(view, &pod, 0).nominated
    }

    /// Begins to try pods in places. Everything is taken back when the search is dropped.
    pub fn search<'r>(&'r mut self, view: &'r View) -> Search<'r> {
        Search {
            trial: self.scheduler.trial(),
            view,
            tried: Vec::new(),
            certain_fits: CertainFits::default(),
        }
    }
}

/// Pods tried in places. One that is sure of a place need not be put there to know that there is one: that is done when it may matter to another, or never.
#[derive(Debug)]
pub struct Search<'r> {
    trial: Trial<'r>,
    view: &'r View,
    /// Pods for which there was a place, in order.
    tried: Vec<Tried>,
    /// Those of them that have not been put there.
    certain_fits: CertainFits,
}

/// A pod for which there was a place.
#[derive(Debug)]
struct Tried {
    pod: Arc<Pod>,
    /// Which one more pod like this it is; `None` if it is the pod itself.
    another: Option<usize>,
    /// That it was sure of one, if it was.
    certain_fit: Option<CertainFit>,
    /// How far the trial was before it was put there, if it was.
    placed: Option<Mark>,
}

/// How far things have been tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(usize);

impl Search<'_> {
    /// Whether there is a place for a pod other than its present one; it is taken.
    ///
    /// # Errors
    /// The scheduler's words, if there is none; the pod stays where it was.
    pub fn fits(&mut self, pod: &Arc<Pod>) -> Result<(), Text> {
        if self.note_certain_fit(pod, None) { Ok(()) } else { self.find(pod).map(drop) }
    }

    /// Finds a place for a pod other than its present one, and takes it.
    ///
    /// # Errors
    /// The scheduler's words, if there is none; the pod stays where it was.
    pub fn find(&mut self, pod: &Arc<Pod>) -> Result<NodeName, Text> {
        self.place(pod, None)
    }

    /// Whether there is a place for one more pod like this one; it is taken.
    pub fn find_for_another(&mut self, pod: &Arc<Pod>, number: usize) -> bool {
        self.note_certain_fit(pod, Some(number)) || self.find_beside(pod, number).is_ok()
    }

    /// Finds a place for one more pod like this one, which stays where it is, and takes it.
    ///
    /// # Errors
    /// The scheduler's words, if there is none.
    pub fn find_beside(&mut self, pod: &Arc<Pod>, number: usize) -> Result<NodeName, Text> {
        self.place(pod, Some(number))
    }

    /// How far things have been tried.
    pub fn point(&self) -> Step {
        Step(self.tried.len())
    }

    /// Takes back everything that was tried since a point.
    pub fn rewind(&mut self, Step(to): Step) {
        let mut first: Option<Mark> = None;
        for Tried { certain_fit, placed, .. } in self.tried.drain(to.min(self.tried.len())..) {
            first = placed.into_iter().chain(first).min();
            let unplaced = certain_fit.filter(|_| placed.is_none());
            unplaced.into_iter().for_each(|one| self.certain_fits.take_back(one));
        }
        let Some(first) = first else { return };
        self.trial.revert_to(first);
        // Those that were tried before and put somewhere later have a promise again.
        let later =
            |one: &&mut Tried| one.certain_fit.is_some() && one.placed.is_some_and(|mark| mark >= first);
        for one in self.tried.iter_mut().filter(later) {
            one.placed = None;
            one.certain_fit.into_iter().for_each(|fit| self.certain_fits.add(fit));
        }
    }

    /// Counts a pod in that is sure of a place, without putting it there; whether it is.
    fn note_certain_fit(&mut self, pod: &Arc<Pod>, another: Option<usize>) -> bool {
        let certain_fit = self.trial.certain_fit(self.view, pod, &self.certain_fits);
        if let Some(one) = certain_fit {
            self.certain_fits.add(one);
            self.tried.push(Tried { pod: pod.clone(), another, certain_fit, placed: None });
        }
        certain_fit.is_some()
    }

    fn place(&mut self, pod: &Arc<Pod>, another: Option<usize>) -> Result<NodeName, Text> {
        if self.trial.depends_on(self.view, pod, &self.certain_fits) {
            self.settle();
        }
        let before = self.trial.mark();
        let found = self.put(pod, another);
        if found.is_ok() {
            self.tried.push(Tried { pod: pod.clone(), another, certain_fit: None, placed: Some(before) });
        }
        found
    }

    /// Puts those in their places that were promised one.
    fn settle(&mut self) {
        self.certain_fits = CertainFits::default();
        let mut tried = std::mem::take(&mut self.tried);
        for Tried { pod, another, placed, .. } in tried.iter_mut().filter(|one| one.placed.is_none()) {
            *placed = Some(self.trial.mark());
            let found = self.put(pod, *another);
            debug_assert!(found.is_ok(), "pod {} was promised a place: {found:?}", pod.meta.key());
        }
        self.tried = tried;
    }

    /// Puts a pod somewhere, or one more like it.
    fn put(&mut self, pod: &Arc<Pod>, another: Option<usize>) -> Result<NodeName, Text> {
        let before = self.trial.mark();
        let mut new = unbound(pod);
        if let Some(number) = another {
            new.meta.name = Name::from(format!("{}.{number}", pod.meta.name));
            new.meta.uid = Uid::from(format!("{}.{number}", pod.meta.uid));
        } else {
            // It may take others' pods until its own are moved.
            if let Some(node) = &pod.node {
                self.trial.exclude(node);
            }
            self.trial.take_away(self.view, &pod.meta.key());
        }
        let new = Arc::new(new);
        match self.trial.place(self.view, &new, 0) {
            Ok(placed) => {
                self.trial.assume(self.view, &new, &placed.node, &placed.volumes);
                Ok(placed.node)
            }
            Err(error) => {
                self.trial.revert_to(before);
                Err(Text::from(error.to_string()))
            }
        }
    }
}

/// The pod that will be made in place of this one, as it is before it has a node.
fn unbound(pod: &Pod) -> Pod {
    Pod {
        meta: Meta { deletion_timestamp: None, deletion_grace_period_seconds: None, ..pod.meta.clone() },
        spec: pod.spec.clone(),
        node: None,
        pin: pod.pin.clone(),
        token: pod.token.clone(),
        status: PodStatus { phase: PodPhase::Pending, ..PodStatus::default() },
    }
}

/// Whether a pod waits for a node and the scheduler has not said yet that there is none: it will take room that a look at
/// the nodes does not show as taken.
pub fn is_about_to_be_placed(pod: &Pod) -> bool {
    let is_refused = condition::find(&pod.status.conditions, "PodScheduled")
        .is_some_and(|condition| condition.status == condition::ConditionStatus::False);
    pod.node.is_none() && pod.is_active() && pod.spec.scheduling_gates.is_empty() && !is_refused
}

#[cfg(test)]
mod tests;
