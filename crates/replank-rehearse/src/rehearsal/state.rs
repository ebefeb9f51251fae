//! A cluster, who is in charge of it, and how far things are.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use replank_facts::plan::Plan;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_protocol::decision::{Decision, End};
use replank_sim::load::Load;
use replank_sim::script::Launched;
use replank_sim::{Assumption, Observer, Settings, World};

use super::back::Before;
use super::bounds::{Bounds, Counter, Runaway};
use super::connections::{Connections, Demand};
use super::elasticity::Elasticity;
use super::happened::Happened;
use super::interruptions::Interruptions;
use super::recorder::Recorder;

/// A cluster, who is in charge of it, and what is noted of it.
pub struct Rehearsal {
    pub(super) world: World,
    pub(super) notes: Rc<RefCell<Recorder>>,
    /// Node groups before the run.
    pub(super) before: Before,
    pub(super) settings: Settings,
    pub(super) assumptions: Vec<Assumption>,
    /// Names that a script may use.
    pub(super) names: Launched,
    pub(super) happened: Vec<Happened>,
    pub(super) connections: Connections,
    pub(super) elasticity: Elasticity,
    pub(super) interruptions: Interruptions,
    /// What is made and changed.
    pub(super) counter: Counter,
    /// Objects at the beginning.
    pub(super) objects: usize,
    /// Bounds that somebody gave.
    pub(super) bounds: Option<Bounds>,
    /// What ran away.
    pub(super) runaway: Option<Runaway>,
}

/// How far a rehearsal is.
pub struct Progress<'a> {
    /// The present moment.
    pub now: Time,
    /// How long it has been going.
    pub elapsed: Span,
    /// What was decided last.
    pub decision: Option<&'a Decision>,
    notes: &'a RefCell<Recorder>,
}

impl Progress<'_> {
    /// Old nodes that are gone or going, and old nodes in all: counted when this is asked, node by node.
    #[must_use]
    pub fn replaced(&self) -> (usize, usize) {
        self.notes.borrow().replaced()
    }
}

/// Why a rehearsal stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The engine ended the run.
    Ended,
    /// The time that it was given has passed.
    TimeUp,
    /// Nothing is left that could happen.
    Silence,
    /// More was made, or happened, than a rehearsal of such a cluster may have: something runs away.
    RanAway,
    /// The observer stopped it.
    Interrupted,
}

impl Rehearsal {
    /// Lets the targets of autoscalers meet a load from here on, and goes on until a moment though the run may be over before: what
    /// autoscalers and interruptions make of the cluster is to be seen to its end.
    pub fn meet(&mut self, loads: Vec<Load>, until: Time) {
        self.elasticity = Elasticity::of(self.world.view(), loads.clone(), self.world.now());
        self.world.observe(Box::new(self.elasticity.clone()));
        if !loads.is_empty() {
            self.world.load(loads);
        }
        self.world.stay_until(until);
    }

    /// Says which nodes are to be replaced, where they are not all nodes of the groups.
    pub fn narrow_to(&mut self, chosen: BTreeSet<NodeName>) {
        self.notes.borrow_mut().chosen = Some(chosen);
    }

    /// Has somebody replace drained nodes, where the plan says that somebody else does; that is an assumption.
    pub fn let_others_replace(&mut self, plan: &Plan) {
        if plan.external().is_some() {
            let assumed = self.world.assume_replacer(plan.target.clone());
            self.assumptions.push(assumed);
            self.before.let_others_replace();
        }
    }

    /// Counts what such clients would lose from here on.
    pub fn count_connections(&mut self, demands: &[Demand]) {
        self.connections = Connections::of(self.world.view(), demands, self.world.now());
        self.world.observe(Box::new(self.connections.clone()));
    }

    /// Shows every change to somebody else, too.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.world.observe(observer);
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, for requests from outside: a person's hand, or a script's.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress<'_> {
        let now = self.world.now();
        let elapsed = now - self.settings.start;
        Progress { now, elapsed, decision: self.world.decision(), notes: &self.notes }
    }

    /// How the engine says it ended.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.world.end()
    }
}
