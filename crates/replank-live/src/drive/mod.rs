//! The live driver: shows an engine a real cluster, carries out its commands, and tells it what became of them.
//!
//! ```text
//! let driver = Driver::new(&connection, Options::new(run));
//! let waker = driver.waker();                    // wakes the driver when the operator asks something (Ctrl-C)
//! let end = driver.run(&mut engine, &mut observer).await?;
//! ```
//!
//! **What is seen.** Each resource that the engine watches ([`Engine::watches`]) and the server serves is listed and then watched. The engine observes what changes of one kind in order; kinds do not
//! wait for each other. It decides for the first time when everything has been listed, at whole seconds of the server's clock, at most once in each, and after a write only when the watch shows it,
//! or has not done so for half a minute, which is said ([`Event::Lagging`]). A resource that cannot be watched on is listed anew, and what that shows to be added, changed and gone is
//! observed. Meanwhile, and while a watch is away for more than a few seconds, what destroys something waits ([`Event::Held`]).
//!
//! **What is sent.** One request for each command, as docs/effects.md has it; commands that what is known already refuses are answered without one. Urgent ones go first. Answers that are lost are
//! read back. What belongs to a cloud is carried out by [`crate::cloud::Cloud`], what is about messages by [`crate::queue::Queue`], which they are received from; where none is connected, it is refused with 501.
//!
//! **Who looks on** is an [`Observer`]: it hears of each decision with the view that the driver keeps, of each answer, and of everything else as an [`Event`], which can be printed; and it hands in
//! what the operator asks ([`Observer::intent`]).

pub(crate) mod backoff;
pub(crate) mod bucket;
mod carry;
mod clock;
mod clouded;
mod event;
mod feed;
mod heard;
mod line;
mod mailbox;
#[cfg(test)]
mod memory;
mod observer;
mod options;
mod outlook;
mod patch;
mod prepare;
mod queue;
mod read;
mod repeated;
mod seen;
mod source;
mod told;
mod work;

use std::sync::Arc;

use replank_protocol::decision::End;
use replank_protocol::engine::Engine;
use tokio::sync::Notify;

use crate::connect::Connection;
use crate::error::LiveError;

pub use event::Event;
pub use observer::Observer;
pub use options::{DryRun, Options};

/// See the module's page.
#[derive(Debug)]
pub struct Driver<'c> {
    connection: &'c Connection,
    options: Options,
    waker: Waker,
}

/// Has a driver ask its observer for an intent at once. It can be called from anywhere, as from a task that waits for a signal.
#[derive(Clone, Debug, Default)]
pub struct Waker(Arc<Notify>);

impl Waker {
    /// See the type's page.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

impl<'c> Driver<'c> {
    /// A driver of the cluster that a connection leads to.
    #[must_use]
    pub fn new(connection: &'c Connection, options: Options) -> Self {
        Self { connection, options, waker: Waker::default() }
    }

    /// What wakes it.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Works until the run is over and every command is answered; with an engine that stands by ([`Engine::stands_by`]), for ever. It must be called within a tokio runtime, of one thread or several. Dropping the future ends it at any moment: what was
    /// sent may still arrive.
    ///
    /// # Errors
    /// Where what the engine decides on may not be read, or the credentials were not accepted for ten minutes.
    pub async fn run(self, engine: &mut dyn Engine, observer: &mut dyn Observer) -> Result<End, LiveError> {
        work::Work::begin(self.connection, &self.options, engine, observer).await?.run(&self.waker.0).await
    }
}
