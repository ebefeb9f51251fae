//! What is asked outside of the cluster again and again, one question at a time: after a failure with pauses that grow, which is told once.

use std::future::Future;
use std::time::{Duration, Instant};

use replank_model::time::Span;
use tokio::task::JoinSet;

use super::backoff::Backoff;
use super::event::Event;

/// See the module's page.
#[derive(Debug)]
pub(super) struct Repeated<T> {
    /// What it is about, in words.
    what: &'static str,
    asked: JoinSet<T>,
    backoff: Backoff,
    next: Instant,
    is_lost: bool,
}

impl<T: Send + 'static> Repeated<T> {
    /// Due at once; `who` draws the pauses.
    pub(super) fn new(what: &'static str, who: String) -> Self {
        Self { what, asked: JoinSet::new(), backoff: Backoff::new(who), next: Instant::now(), is_lost: false }
    }

    /// Whether a question is due: none is under way, and the pause is over.
    pub(super) fn is_due(&self) -> bool {
        self.asked.is_empty() && Instant::now() >= self.next
    }

    pub(super) fn ask(&mut self, question: impl Future<Output = T> + Send + 'static) {
        self.asked.spawn(question);
    }

    /// How long nothing is due; `longest` while a question is under way.
    pub(super) fn pause(&self, longest: Duration) -> Duration {
        match self.asked.is_empty() {
            true => self.next.saturating_duration_since(Instant::now()).min(longest),
            false => longest,
        }
    }

    /// The answer to the question that is under way; never, while none is.
    pub(super) async fn answer(&mut self) -> T {
        match self.asked.join_next().await {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            None => std::future::pending().await,
        }
    }

    /// The next question is due after so long, or before where it was.
    pub(super) fn hasten(&mut self, pause: Duration) {
        self.next = self.next.min(Instant::now() + pause);
    }

    /// The question was answered; the next one is due after a pause. What is told where it had failed before.
    pub(super) fn succeeded(&mut self, pause: Duration) -> Option<Event> {
        self.backoff.reset();
        self.next = Instant::now() + pause;
        std::mem::take(&mut self.is_lost).then(|| Event::Back { resource: self.what.to_owned() })
    }

    /// There was no answer. What is told where there was one before.
    pub(super) fn failed(&mut self, why: String) -> Option<Event> {
        let pause = self.backoff.next();
        self.next = Instant::now() + pause;
        let again_in = Span::from_millis(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
        let is_told = std::mem::replace(&mut self.is_lost, true);
        (!is_told).then(|| Event::Lost { resource: self.what.to_owned(), why, again_in })
    }
}
