//! An engine in charge of a live cluster, with a journal where one is kept.

use std::time::Duration;

use replank_journal::Recorded;
use replank_live::LiveError;
use replank_live::drive::{Driver, Observer};
use replank_protocol::decision::End;
use replank_protocol::engine::Engine;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::journal::JournalFile;

/// How often it is looked whether somebody presses Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Carries out what an engine decides, until its end. `told` says what a journal is of: the verb, where, and of what.
///
/// # Errors
/// Where the cluster is lost for long.
pub(crate) async fn carry_out(
    driver: Driver<'_>,
    engine: &mut dyn Engine,
    look: &mut dyn Observer,
    (journal, told): (Option<&JournalFile>, [&str; 3]),
) -> Result<End, LiveError> {
    match journal {
        None => driver.run(engine, look).await,
        Some(journal) => driver.run(&mut Recorded::new(Box::new(engine), told, journal.sink()), look).await,
    }
}

/// Why a run that was begun ended early. Credentials that are not accepted any more are no mistake in what was asked for: something may have been changed by now.
pub(crate) fn lost_on_the_way(error: LiveError) -> Failure {
    let is_late = matches!(error, LiveError::Unauthorized { .. } | LiveError::Credentials { .. });
    let failure = Failure::from(error);
    if is_late { Failure { exit: Exit::Internal, ..failure } } else { failure }
}

/// Waits until somebody presses Ctrl-C.
pub(crate) async fn pressed(interrupt: &Interrupt) {
    while !interrupt.is_pressed() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
