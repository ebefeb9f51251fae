//! All that decides on one cluster.

use std::sync::Arc;

use replank_facts::plan::{Plan, RunOptions};
use replank_model::delta::Delta;
use replank_model::text::RunId;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::Outcome;
use replank_protocol::decision::Decision;
use replank_protocol::intent::Intent;

use super::account::Account;
use super::interrupt;
use super::interrupt::Interrupt;
use super::noticed::ExternalChanges;
use super::run::{Preflight, Run};
use super::scale::{Autoscaler, Scale};

/// Who decides: see the crate's page. What it does is put together from up to three modules: interruptions are handled, a plan is run, the number of
/// nodes is kept to what is needed. They decide in this order, and share one account.
#[derive(Debug)]
pub struct Core {
    pub(super) view: View,
    pub(super) interrupt: Option<Interrupt>,
    pub(super) led: Option<Led>,
    pub(super) scale: Option<Scale>,
    pub(super) account: Account,
}

/// A run, and what it notices of others.
#[derive(Debug)]
pub(super) struct Led {
    pub(super) run: Run,
    pub(super) external_changes: ExternalChanges,
}

impl Core {
    /// A run of a plan that knows nothing yet.
    #[must_use]
    pub fn new(plan: impl Into<Arc<Plan>>, run: RunId, options: RunOptions, preflight: Preflight) -> Self {
        let plan: Arc<Plan> = plan.into();
        let external_changes = ExternalChanges::new(&run).of_others(plan.external().is_some());
        Self {
            led: Some(Led { run: Run::new(plan, run, options, preflight), external_changes }),
            ..Self::without_run()
        }
    }

    /// Writes down what another process needs to go on with the run, before anything else ([`replank_protocol::record`]). A rehearsal that nobody goes on with
    /// can do without.
    #[must_use]
    pub fn with_record(mut self) -> Self {
        self.led = self.led.map(|led| Led { run: led.run.with_record(), ..led });
        self
    }

    /// Without a plan to run: what it does is what is put to it.
    #[must_use]
    pub fn without_run() -> Self {
        Self { view: View::default(), interrupt: None, led: None, scale: None, account: Account::default() }
    }

    /// Handles interruptions besides, before anything else.
    #[must_use]
    pub fn with_interruptions(mut self, options: interrupt::Options) -> Self {
        self.interrupt = Some(Interrupt::new(options));
        self
    }

    /// Keeps the number of nodes to what is needed besides, after everything else.
    #[must_use]
    pub fn with_autoscaler(mut self, settings: Autoscaler) -> Self {
        self.scale = Some(Scale::new(settings));
        self
    }

    /// Whether there is something to be decided when no run is, or when it is over: instances are interrupted then, too.
    #[must_use]
    pub fn stands_by(&self) -> bool {
        self.interrupt.is_some() || self.scale.is_some()
    }

    /// Takes in an observation. Those of one kind come in order; kinds may lag behind each other.
    pub fn observe(&mut self, delta: Delta) {
        let change = self.view.apply(delta);
        if let Some(interrupt) = &mut self.interrupt {
            interrupt.observe(&self.view, &change);
        }
        if let Some(led) = &mut self.led {
            led.run.observe(&self.view, &change);
            led.external_changes.observe(&self.view, &change);
        }
        if let Some(scale) = &mut self.scale {
            scale.observe(&self.view, &change);
        }
    }

    /// Takes in what became of a command.
    pub fn outcome(&mut self, outcome: &Outcome) {
        self.account.sent.outcome(outcome);
        if let Some(interrupt) = &mut self.interrupt {
            interrupt.outcome(outcome);
        }
        if let Some(scale) = &mut self.scale {
            scale.outcome(outcome);
        }
    }

    /// Takes an intent of the operator; it holds until another one is given. A new core runs: give the
    /// intent again. Without a run, an intent has no effect.
    pub fn intend(&mut self, intent: Intent) {
        if let Some(led) = &mut self.led {
            led.run.intend(intent);
        }
    }

    /// What was last wanted.
    #[must_use]
    pub fn intent(&self) -> Intent {
        self.led.as_ref().map_or(Intent::Run, |led| led.run.intent())
    }

    /// What is to be done now, what waits and on what, and when to look again. The first decision is asked for when
    /// everything that is there has been observed once.
    pub fn decide(&mut self, now: Time) -> Decision {
        let account = &mut self.account;
        account.sent.note_owners(&self.view);
        account.is_scaled = self.scale.is_some();
        account.raising = self.scale.as_mut().map(|scale| scale.raising(now)).unwrap_or_default();
        account.owed = self.scale.as_ref().map(|scale| scale.owed(&self.view)).unwrap_or_default();
        account.extra.clear();
        let mut decision = match &mut self.interrupt {
            Some(interrupt) => interrupt.decide(&self.view, now, account),
            None => Decision::default(),
        };
        if let Some(led) = &mut self.led {
            let is_pressing = self.interrupt.as_ref().is_some_and(Interrupt::is_pressing);
            let next = led.run.decide(&self.view, now, account);
            let has_ended = next.end.is_some();
            decision = decision.before(next, is_pressing);
            if has_ended {
                led.run.came_to_end(decision.end.is_some());
            }
        }
        if let Some(interrupt) = &mut self.interrupt {
            decision = decision.then(interrupt.lift(&self.view, now, account));
        }
        if let Some(scale) = &mut self.scale {
            let last = scale.decide(&self.view, now, account, &decision.waiting);
            decision = decision.then(last);
        }
        self.account.sent.sweep();
        self.account.sent.forget_late(now);
        if let Some(led) = &mut self.led {
            decision.noticed = led.external_changes.decided(&decision.commands);
        }
        decision
    }

    /// Forgets everything that is not read off the View, the plan and marks. What was sent and is not seen yet is
    /// sent once more, under the same keys; nothing else changes, but that the autoscaler counts anew how long a node has not been needed.
    pub fn drop_caches(&mut self) {
        if let Some(interrupt) = &mut self.interrupt {
            interrupt.drop_caches();
        }
        if let Some(led) = &mut self.led {
            led.run.drop_caches();
        }
        if let Some(scale) = &mut self.scale {
            scale.drop_caches();
        }
        self.account = Account::default();
    }

    /// Starts anew, as another process that takes over: nothing has been observed yet, and the intent is given again.
    pub fn start_anew(&mut self) {
        let intent = self.intent();
        self.view = View::default();
        self.interrupt = self.interrupt.as_ref().map(Interrupt::anew);
        self.led = self
            .led
            .as_ref()
            .map(|led| Led { run: led.run.anew(), external_changes: led.external_changes.anew() });
        self.scale = self.scale.as_ref().map(Scale::anew);
        self.account = Account::default();
        self.intend(intent);
    }

    /// The plan that is run, if one is.
    #[must_use]
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.led.as_ref().map(|led| led.run.plan())
    }

    /// Everything that has been observed.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }
}
