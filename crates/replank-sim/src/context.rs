//! What a part of the world may touch while it handles an event.

mod queue;
mod reaction;

use replank_apiserver::Api;
use replank_apiserver::draw::Draws;
use replank_model::time::Span;
use replank_model::view::View;

use crate::agenda::Agenda;
use crate::event::{Controller, Event};

pub(crate) use queue::WorkQueue;

pub(crate) use reaction::REACTION;

/// What a controller, or any other part, may touch.
pub(crate) struct Ctx<'a> {
    /// The API server: the only way to change anything.
    pub(crate) api: &'a mut Api,
    /// What is due when.
    pub(crate) agenda: &'a mut Agenda<Event>,
    /// What waits to be synced.
    pub(crate) queue: &'a mut WorkQueue,
    /// Randomness.
    pub(crate) draws: &'a Draws,
}

impl Ctx<'_> {
    /// Everything there is.
    pub(crate) fn view(&self) -> &View {
        self.api.view()
    }

    /// Looks at an object soon.
    pub(crate) fn enqueue(&mut self, controller: Controller, slot: u32) {
        self.queue.add(self.agenda, controller, slot);
    }

    /// Looks at an object after a while.
    pub(crate) fn enqueue_after(&mut self, controller: Controller, slot: u32, span: Span) {
        self.queue.add_after(self.agenda, controller, slot, span);
    }

    /// Looks at an object again after a pause that grows with every failure.
    pub(crate) fn retry(&mut self, controller: Controller, slot: u32) {
        self.queue.retry(self.agenda, controller, slot);
    }
}
