//! What a process does after SIGTERM, in a few words.

use replank_model::time::Span;

/// How long a process serves what is open after SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// For so long, then it ends, whatever is open.
    For(Span),
    /// Until nothing is open any more (Istio: `EXIT_ON_ZERO_ACTIVE_CONNECTIONS`).
    UntilIdle {
        /// For so long in any case (Istio: `MINIMUM_DRAIN_DURATION`).
        at_least: Span,
        /// Then it ends, whatever is open (nginx: `worker-shutdown-timeout`); `None`: only the grace ends it.
        at_most: Option<Span>,
    },
}

/// Until when a process accepts connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// SIGTERM closes it: what most servers do that end in peace.
    ClosesAtSignal,
    /// For so long after SIGTERM (Istio: `drainDuration`).
    For(Span),
}

/// What a process does after SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drain {
    pub(super) serving: Serving,
    pub(super) listener: Listener,
}

impl Drain {
    /// Of a process whose settings are not known: it serves for so long, and accepts nothing more.
    pub(super) fn assumed(serving: Span) -> Self {
        Self { serving: Serving::For(serving), listener: Listener::ClosesAtSignal }
    }
}
