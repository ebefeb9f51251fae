//! The engine, and what is told of it.

use std::cell::RefCell;
use std::rc::Rc;

use replank_core::Core;
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::time::{Span, Time};
use replank_protocol::command::Outcome;
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;

use super::told::{Shown, Told};
use crate::handle::Screen;

/// See the module's page.
pub(super) struct Watch {
    core: Core,
    screen: Rc<RefCell<Screen>>,
    told: Told,
    idle: Option<Span>,
    /// When there was something to do for the last time.
    busy: Option<Time>,
}

impl Watch {
    pub(super) fn new(core: Core, idle: Option<Span>, screen: Rc<RefCell<Screen>>, shown: Shown) -> Self {
        let told = Told::new(screen.clone(), shown);
        Self { core, screen, told, idle, busy: None }
    }

    /// Whether there has been nothing to do for as long as is waited for.
    fn is_idle(&mut self, now: Time, decision: &Decision) -> bool {
        if self.told.is_busy(decision) || self.busy.is_none() {
            self.busy = Some(now);
        }
        let over = self.busy.zip(self.idle).map(|(busy, idle)| busy + idle);
        over.is_some_and(|over| over <= now)
    }
}

impl Engine for Watch {
    fn observe(&mut self, delta: Delta) {
        self.core.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        self.told.answered(&outcome);
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        self.told.decided(self.core.view(), now, &decision);
        let next = self.screen.borrow_mut().waits(now, &decision.waiting);
        if self.is_idle(now, &decision) {
            decision.end = Some(End::Done);
        } else {
            let over = self.busy.zip(self.idle).map(|(busy, idle)| busy + idle);
            decision.wake_at = decision.wake_at.into_iter().chain(next).chain(over).min();
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.core.intend(intent);
    }

    fn start_anew(&mut self) {
        self.core.start_anew();
    }

    fn watches(&self, kind: Kind) -> bool {
        self.core.watches(kind)
    }
}
