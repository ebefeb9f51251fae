//! A process that is put in the place of another, and knows nothing but what is in the cluster and on its groups.
//!
//! The one that is gone leaves no plan file, no memory and no journal. The next one looks for the record of the run
//! ([`replank_protocol::record`]) and goes on with what it says ([`Core::resume`]). Where there is no record, the run has not begun or is over, and the process is
//! given the plan again, as a Job that is started anew is.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use replank_core::scale::Autoscaler;
use replank_core::{Core, interrupt};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::Outcome;
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::record::RunRecord;

/// What every process is given besides the run: it is in no record.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Whether interruptions are handled, too.
    pub interruptions: bool,
    /// Whether the number of nodes is kept to what is needed, too.
    pub autoscaler: Option<Autoscaler>,
}

impl Beside {
    /// The core with it.
    #[must_use]
    pub fn given_to(&self, core: Core) -> Core {
        let options = interrupt::Options::beside(core.plan().map(Arc::as_ref));
        let core = if self.interruptions { core.with_interruptions(options) } else { core };
        match &self.autoscaler {
            Some(settings) => core.with_autoscaler(settings.clone()),
            None => core,
        }
    }
}

/// From what the processes of a run were started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Starts {
    /// From what is in the cluster alone.
    pub from_objects: usize,
    /// From the plan once more: there was no record.
    pub from_plan: usize,
}

/// How a process comes by its core.
pub trait Origin {
    /// From a plan.
    fn fresh(&self) -> Core;

    /// From what is observed, if there is a record of a run.
    fn resumed(&self, view: &View) -> Option<Core>;
}

/// See the module's page.
pub struct Successor {
    origin: Box<dyn Origin>,
    process: Process,
    /// What the operator has asked for and the record does not say yet: whoever asked was not told that it is taken, and asks again.
    asked: Option<Intent>,
    starts: Rc<RefCell<Starts>>,
}

enum Process {
    /// Observes what is there, before it decides for the first time.
    Starting { view: Box<View>, seen: Vec<Delta> },
    /// Is at work.
    Running(Box<Core>),
}

impl Successor {
    /// The first process has the plan.
    #[must_use]
    pub fn new(origin: Box<dyn Origin>, starts: Rc<RefCell<Starts>>) -> Self {
        let process = Process::Running(Box::new(origin.fresh()));
        Self { origin, process, asked: None, starts }
    }

    fn start(&self, view: &View) -> Core {
        let mut starts = self.starts.borrow_mut();
        match self.origin.resumed(view) {
            Some(core) => {
                starts.from_objects += 1;
                core
            }
            None => {
                starts.from_plan += 1;
                self.origin.fresh()
            }
        }
    }
}

impl Engine for Successor {
    fn observe(&mut self, delta: Delta) {
        if let Delta::Put(object) = &delta
            && self.asked.is_some_and(|asked| says(object, asked))
        {
            self.asked = None;
        }
        match &mut self.process {
            Process::Starting { view, seen } => {
                view.apply(delta.clone());
                seen.push(delta);
            }
            Process::Running(core) => core.observe(delta),
        }
    }

    fn outcome(&mut self, outcome: Outcome) {
        if let Process::Running(core) = &mut self.process {
            core.outcome(&outcome);
        }
    }

    fn decide(&mut self, now: Time) -> Decision {
        if let Process::Starting { view, seen } = &mut self.process {
            let (view, seen) = (std::mem::take(view), std::mem::take(seen));
            let mut core = self.start(&view);
            seen.into_iter().for_each(|delta| core.observe(delta));
            if let Some(asked) = self.asked {
                core.intend(asked);
            }
            self.process = Process::Running(Box::new(core));
        }
        match &mut self.process {
            Process::Running(core) => core.decide(now),
            Process::Starting { .. } => unreachable!("it was started right above"),
        }
    }

    fn intend(&mut self, wanted: Intent) {
        self.asked = Some(wanted);
        if let Process::Running(core) = &mut self.process {
            core.intend(wanted);
        }
    }

    fn start_anew(&mut self) {
        self.process = Process::Starting { view: Box::default(), seen: Vec::new() };
    }

    fn stands_by(&self) -> bool {
        match &self.process {
            Process::Running(core) => core.stands_by(),
            Process::Starting { .. } => true,
        }
    }
}

/// Whether an object is a record that says what is wanted.
fn says(object: &Object, wanted: Intent) -> bool {
    let Object::Other(other) = object else { return false };
    RunRecord::read(other).is_ok_and(|record| record.intent == wanted)
}
