//! Ctrl-C.
//!
//! While there is nothing to show yet, it ends the process at once. Once a rehearsal runs, the first Ctrl-C asks it to
//! stop, and what it has is printed; the second ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;
use crate::failure::Failure;

/// Whether Ctrl-C was pressed.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    pressed: Arc<AtomicBool>,
    /// Whether the next Ctrl-C ends the process at once.
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen.
    ///
    /// # Errors
    /// Where the system does not let us.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let interrupt = Self { pressed: Arc::default(), at_once: Arc::new(AtomicBool::new(true)) };
        // Actions run in the order of their registration: the flag is looked at before it is set.
        let listening = flag::register_conditional_shutdown(
            SIGINT,
            Exit::Interrupted.code().into(),
            interrupt.at_once.clone(),
        )
        .and_then(|_| flag::register(SIGINT, interrupt.at_once.clone()))
        .and_then(|_| flag::register(SIGINT, interrupt.pressed.clone()));
        match listening {
            Ok(_) => Ok(interrupt),
            Err(error) => {
                Err(Failure::internal(anyhow::Error::new(error).context("cannot listen for Ctrl-C")))
            }
        }
    }

    /// From here on there is something to show: the next Ctrl-C only asks.
    pub(crate) fn hold(&self) {
        self.at_once.store(false, Ordering::SeqCst);
    }

    /// From here on SIGTERM asks to stop, too: what runs in a pod is ended so.
    ///
    /// # Errors
    /// Where the system does not let us.
    pub(crate) fn heed_termination(&self) -> Result<(), Failure> {
        flag::register(SIGTERM, self.pressed.clone()).map(drop).map_err(|error| {
            Failure::internal(anyhow::Error::new(error).context("cannot listen for SIGTERM"))
        })
    }

    /// Whether somebody asked to stop.
    pub(crate) fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }
}
