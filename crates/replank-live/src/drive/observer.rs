//! Who looks on while a driver works: a terminal, a log, a journal.

use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::Command;
use replank_protocol::decision::Decision;
use replank_protocol::intent::Intent;
use replank_protocol::outcome::Answer;

use super::event::Event;

/// Is told what happens, in the order in which it happens, and says what the operator asks. It is called between requests and must not block.
pub trait Observer {
    /// Something was decided. The view is what the engine has been shown until then; its objects are shared.
    fn decided(&mut self, now: Time, view: &View, decision: &Decision);

    /// A command was answered. A command that is not heard of is under way, or waits for its turn.
    fn answered(&mut self, command: &Command, answer: &Answer, at: Time);

    /// Something else happened, on the way to the cluster.
    fn story(&mut self, at: Time, event: &Event);

    /// What the operator asks of the run, once for each intent: asked before each decision, and when [`super::Waker::wake`] was called.
    fn intent(&mut self) -> Option<Intent> {
        None
    }
}
