//! An engine around core that keeps handling interruptions after a run has ended, and notes what the queue delivers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use replank_model::delta::Delta;
use replank_model::time::{Span, Time};
use replank_protocol::command::Outcome;
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::{InterruptionEnd, Subject, WaitingOn};

use super::account::Account;

/// See the module's page.
pub(super) struct InterruptionEngine {
    engine: Box<dyn Engine>,
    account: Rc<RefCell<Account>>,
    slowest_ms: Rc<RefCell<u128>>,
}

impl InterruptionEngine {
    pub(super) fn new(
        engine: Box<dyn Engine>,
        account: Rc<RefCell<Account>>,
        slowest_ms: Rc<RefCell<u128>>,
    ) -> Self {
        Self { engine, account, slowest_ms }
    }
}

impl Engine for InterruptionEngine {
    fn observe(&mut self, delta: Delta) {
        if let Delta::Message(message) = &delta {
            self.account.borrow_mut().delivered(message);
        }
        self.engine.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        self.engine.outcome(outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let begun = Instant::now();
        let mut decision = self.engine.decide(now);
        let took = begun.elapsed().as_millis();
        let mut slowest = self.slowest_ms.borrow_mut();
        *slowest = took.max(*slowest);
        for waiting in &decision.waiting {
            if let (Subject::Message(id), WaitingOn::InterruptionEnd(InterruptionEnd::Poison { .. })) =
                (&waiting.what, &waiting.on)
            {
                self.account.borrow_mut().named_poison(id);
            }
        }
        if decision.end.take().is_some() {
            // A run with nothing to do asks for no further look, and interruptions are still to come.
            let next = now + Span::from_minutes(1);
            decision.wake_at = Some(decision.wake_at.map_or(next, |at| at.min(next)));
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.engine.intend(intent);
    }

    fn start_anew(&mut self) {
        self.engine.start_anew();
    }
}
