//! How a driver works.

use std::sync::Arc;
use std::time::Duration;

use replank_model::text::RunId;

use crate::cloud::Cloud;
use crate::lease::Term;
use crate::queue::Queue;

/// How a driver works.
#[derive(Clone, Debug)]
pub struct Options {
    /// On whose behalf it works. What is written carries the run of its command ([`replank_protocol::command::Command::run`]).
    pub run: RunId,
    /// How many requests it sends in a second at most, besides lists and watches: writes, and reads of what became of them. As many may come at once after a pause.
    pub requests_per_second: u32,
    /// How many commands may be under way at a time at the API server. In the cloud and at the queue there are at most 4 and 8, and as many as here if that is less.
    pub in_flight: usize,
    /// Whether the server is told to carry out nothing.
    pub dry_run: DryRun,
    /// Where several processes may want to do the same: nothing is sent any more once one of these is over.
    pub terms: Vec<Term>,
    /// How long credentials that the server does not accept are read anew and tried, until the run ends with [`crate::LiveError::Unauthorized`].
    pub unauthorized_for: Duration,
    /// Where the records of runs are; in all namespaces without it.
    pub records: Option<String>,
    /// The cloud behind the nodes, where node groups are to be seen and changed.
    pub cloud: Option<Arc<dyn Cloud>>,
    /// The queue of messages about instances, where these are to be handled.
    pub queue: Option<Arc<dyn Queue>>,
    /// How long a decision waits until what was written is seen, while more and more is written.
    pub sight_max: Duration,
}

/// Whether writes are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// They are.
    #[default]
    None,
    /// The server checks them, and carries out nothing (`dryRun=All`). Nothing that was answered with Done is then to be seen.
    Server,
}

impl Options {
    /// The usual way, for a run.
    #[must_use]
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            requests_per_second: 20,
            in_flight: 16,
            dry_run: DryRun::None,
            terms: Vec::new(),
            unauthorized_for: Duration::from_mins(10),
            records: None,
            cloud: None,
            queue: None,
            sight_max: Duration::from_mins(5),
        }
    }
}
