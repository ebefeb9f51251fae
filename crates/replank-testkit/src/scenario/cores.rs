//! The cores that are in charge of a scenario, one process after the other.

use std::sync::Arc;

use anyhow::ensure;
use replank_advice::preflight;
use replank_core::Core;
use replank_core::scale::{Autoscaler, Priorities, priorities_text};
use replank_facts::plan::{Plan, RunOptions};
use replank_model::text::RunId;
use replank_model::view::View;

use crate::successor::{Beside, Origin};

/// The run's name.
const RUN: &str = "run";

/// What each process is given.
pub(super) struct Cores {
    /// The plan; `None` where nothing is rolled.
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) options: RunOptions,
    pub(super) beside: Beside,
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
        self.beside.given_to(core)
    }
}

impl Origin for Cores {
    fn fresh(&self) -> Core {
        self.fresh().with_record()
    }

    fn resumed(&self, view: &View) -> Option<Core> {
        let found = Core::resume(view, None, preflight::blocking);
        Some(self.beside.given_to(found.unwrap_or_else(|error| panic!("{error}"))?))
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
