//! The cores that are in charge of a scenario, one process after the other.

use std::sync::Arc;

use anyhow::ensure;
use replank_advice::preflight;
use replank_core::scale::{Autoscaler, Priorities, priorities_text};
use replank_core::{Core, interrupt};
use replank_facts::plan::{Plan, RunOptions};
use replank_model::text::RunId;
use replank_model::view::View;

use crate::successor::Origin;

/// The run's name.
const RUN: &str = "run";

/// What each process is given.
pub(super) struct Cores {
    /// The plan; `None` where nothing is rolled.
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) options: RunOptions,
    pub(super) autoscaler: Option<Autoscaler>,
}

impl Cores {
    /// One that knows the plan.
    pub(super) fn fresh(&self) -> Core {
        let core = match &self.plan {
            Some(plan) => {
                Core::new(plan.clone(), RunId::from(RUN), self.options.clone(), preflight::blocking)
            }
            None => Core::without_run(),
        };
        self.with_the_rest(core)
    }

    /// One that knows what the record of the run says, and what every process is given.
    fn resumed(&self, view: &View) -> Option<Core> {
        let found = Core::resume(view, None, preflight::blocking);
        Some(self.with_the_rest(found.unwrap_or_else(|error| panic!("{error}"))?))
    }

    fn with_the_rest(&self, core: Core) -> Core {
        let options = interrupt::Options::beside(core.plan().map(Arc::as_ref));
        let core = core.with_interruptions(options);
        match &self.autoscaler {
            Some(settings) => core.with_autoscaler(settings.clone()),
            None => core,
        }
    }
}

impl Origin for Cores {
    fn fresh(&self) -> Core {
        self.fresh().with_record()
    }

    fn resumed(&self, view: &View) -> Option<Core> {
        self.resumed(view)
    }
}

/// The autoscaler that a scenario has in charge.
pub(super) fn autoscaler(flags: &[String], view: &View) -> anyhow::Result<Autoscaler> {
    let mut settings = Autoscaler::default();
    let unknown = settings.options.read(flags.iter().map(String::as_str))?;
    ensure!(unknown.is_empty(), "unknown flags: {}", unknown.join(", "));
    let (priorities, bad) = Priorities::read(&priorities_text(view).unwrap_or_default());
    ensure!(bad.is_empty(), "priorities that cannot be read");
    settings.priorities = priorities;
    Ok(settings)
}
