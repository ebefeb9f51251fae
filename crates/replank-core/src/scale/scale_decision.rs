//! A decision about the number of nodes.

use std::collections::BTreeMap;

use replank_model::text::RunId;
use replank_model::time::Time;
use replank_protocol::command::CommandKey;
use replank_protocol::waiting::{Subject, WaitingOn};

use super::backoff::State;
use super::down::Down;
use super::raises::Raise;
use super::up::Up;
use crate::builder::DecisionBuilder;

/// What is to be done now.
#[derive(Debug)]
pub(crate) struct ScaleDecision {
    /// What is sent, what waits, and when to look again.
    pub(crate) out: DecisionBuilder,
    /// What is remembered from here on.
    pub(crate) state: State,
    /// Raises of groups in a run's hands that are sent.
    pub(crate) raised: BTreeMap<CommandKey, Raise>,
    /// What was decided about growing.
    pub(crate) up: Up,
    /// What was decided about shrinking.
    pub(crate) down: Down,
}

impl ScaleDecision {
    pub(super) fn new(now: Time, run: RunId, state: State) -> Self {
        let (raised, up, down) = (BTreeMap::new(), Up::default(), Down::default());
        Self { out: DecisionBuilder::new(now, run), state, raised, up, down }
    }

    pub(super) fn wait(&mut self, what: Subject, on: WaitingOn) {
        self.out.wait(what, on);
    }

    pub(super) fn wake(&mut self, at: Time) {
        self.out.wake_at(at);
    }
}
