//! Rehearsals: a plan run on the simulated copy of a cluster, and the outcome.

mod back;
mod bounds;
mod by_others;
mod by_slot;
mod causes;
mod connections;
mod course;
mod crashes;
mod elasticity;
mod ended;
mod evictions;
mod figures;
mod happened;
mod holders;
mod ids;
mod interruptions;
mod numbered;
mod outages;
mod preempted;
mod recorder;
mod result;
mod script_event;
mod served;
mod serving;
mod shape;
mod stages;
mod standing;
mod starts;
mod state;
mod timeline;
mod unready;
mod waits;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use replank_facts::groups::LearntGroup;
use replank_model::delta::Delta;
use replank_model::text::GroupName;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::decision::Decision;

pub use back::{GroupImage, OtherNode, Rollback};
pub use bounds::Bounds;
pub(crate) use by_others::what_keeps;
pub use by_others::{Actor, Remains, SizeLeft};
pub use connections::{ConnectionFigures, Demand, DemandError};
pub use course::CountAt;
pub use elasticity::{AutoscalerFigures, failing};
pub use ended::{EndedBatch, EndedBy, Outcome};
pub use evictions::{By, EvictionEntry, Request, Successor};
pub use happened::ScriptEventEntry;
pub use interruptions::{InterruptionFigures, InterruptionKind};
pub use result::{
    AssumptionEntry, BatchFigures, Blocker, BudgetAt, BudgetFigures, Cause, Ending, NodeFigures,
    NoticedEntry, PodFigures, RESULT_VERSION, RehearsalResult, Verdict, WorkloadFigures,
};
pub use shape::NodeShape;
pub use stages::StageEntry;
pub use starts::StartEntry;
pub use timeline::{NodePhase, NodeTimeline, PhaseStart, Timeline};
pub use waits::Wait;

use crate::complete::complete;
use crate::finding_entry::FindingEntry;
use bounds::Counter;
use connections::Connections;
use elasticity::Elasticity;
use interruptions::Interruptions;
use recorder::Recorder;
use replank_protocol::engine::Engine;
use replank_sim::Asked;
use replank_sim::Assumption;
use replank_sim::Sent;
use replank_sim::script::Launched;
use replank_sim::{Observer, Settings, World};

pub use state::{Progress, Rehearsal, Stop};

/// What a rehearsal is run on.
pub struct Setup {
    /// Everything there is, less groups and instances.
    pub view: View,
    /// Node groups and their instances.
    pub groups: Vec<LearntGroup>,
    /// The groups whose nodes are replaced.
    pub rolled: BTreeSet<GroupName>,
    /// When it begins, the seed, and how long things take.
    pub settings: Settings,
    /// What had to be assumed.
    pub assumptions: Vec<Assumption>,
}

/// Events between two calls of the observer: often enough for a live display, seldom enough to cost nothing.
const EVENTS_PER_LOOK: u32 = 2_000;

/// Events between two looks at the bounds: one of them makes some hundred objects at the most.
const EVENTS_PER_CHECK: u32 = 50;

impl Rehearsal {
    /// Sets the stage: the world, its recorder, and the engine.
    #[must_use]
    pub fn new(setup: Setup, engine: Box<dyn Engine>) -> Self {
        let mut view = setup.view;
        let mut assumptions = setup.assumptions;
        assumptions.extend(complete(&mut view));
        for learnt in setup.groups {
            view.apply(Delta::Group(learnt.group.into()));
            for instance in learnt.instances {
                view.apply(Delta::Instance(instance.into()));
            }
        }
        let notes = Recorder::begin(setup.settings.start, &view, setup.rolled);
        let notes = Rc::new(RefCell::new(notes));
        let before = back::Before::of(&view);
        let mut world = World::new(setup.settings.clone(), view);
        world.assume_operators();
        world.observe(Box::new(Shared(notes.clone())));
        let counter = Counter::default();
        world.observe(Box::new(counter.clone()));
        let objects = world.view().number_of_objects();
        let names = Launched::default();
        world.observe(Box::new(names.clone()));
        let interruptions = Interruptions::default();
        world.observe(Box::new(interruptions.clone()));
        world.put_in_charge(engine);
        Self {
            world,
            notes,
            before,
            settings: setup.settings,
            assumptions,
            names,
            happened: Vec::new(),
            connections: Connections::default(),
            elasticity: Elasticity::default(),
            interruptions,
            counter,
            objects,
            bounds: None,
            runaway: None,
        }
    }

    /// Other bounds than those that the size of the cluster gives.
    pub fn bound(&mut self, bounds: Bounds) {
        self.bounds = Some(bounds);
    }

    /// Runs until the end, for at most `limit` of virtual time, showing `watch` how far it is from time to time.
    pub fn run(&mut self, limit: Span, watch: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>) -> Stop {
        let until = self.settings.start + limit;
        if let ControlFlow::Break(stop) = self.run_to(until, watch) {
            return stop;
        }
        match (self.world.end(), self.world.next_due()) {
            (Some(_), _) => Stop::Ended,
            (None, None) => Stop::Silence,
            (None, Some(_)) => Stop::TimeUp,
        }
    }

    /// Runs until a moment, or until nothing more is to be seen.
    fn run_to(
        &mut self,
        until: Time,
        watch: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<Stop> {
        let bounds = self.bounds.unwrap_or_else(|| Bounds::of(self.objects, until - self.settings.start));
        let mut events = 0;
        loop {
            let to = self.world.looked_at_until(until);
            let next = self.world.next_due().unwrap_or(to).min(to);
            self.elasticity.look(&self.world, next);
            // Nothing happens at the end of a run but its end.
            if to == self.world.now() && self.world.end().is_some() || !self.world.step_until(to) {
                if self.world.end().is_some() && to > self.world.now() {
                    self.world.run_until(to);
                }
                return ControlFlow::Continue(());
            }
            events += 1;
            if events % EVENTS_PER_LOOK == 0 && watch(&self.progress()).is_break() {
                return ControlFlow::Break(Stop::Interrupted);
            }
            if events % EVENTS_PER_CHECK == 0 {
                self.runaway = self.counter.beyond(bounds, self.world.events(), self.world.view());
                if self.runaway.is_some() {
                    return ControlFlow::Break(Stop::RanAway);
                }
            }
        }
    }

    /// The outcome.
    #[must_use]
    pub fn result(&self, findings: Vec<FindingEntry>, stop: Stop, wall_ms: u64) -> RehearsalResult {
        self.notes.borrow_mut().waits.settle(self.world.now());
        figures::result(self, &self.notes.borrow(), findings, stop, wall_ms)
    }
}

/// The recorder, as the world sees it.
struct Shared(Rc<RefCell<Recorder>>);

impl Observer for Shared {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        self.0.borrow_mut().changed(at, change, view);
    }

    fn asked(&mut self, at: Time, asked: &Asked, view: &View) {
        self.0.borrow_mut().asked(at, asked, view);
    }

    fn decided(&mut self, at: Time, decision: &Decision) {
        self.0.borrow_mut().decided(at, decision);
    }

    fn executed(&mut self, at: Time, sent: &Sent, view: &View) {
        self.0.borrow_mut().executed(at, sent, view);
    }
}
