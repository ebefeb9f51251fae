//! The Lease of an upgrade, renewed on a thread of its own: a step may take hours, and a roll within it has the other one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use replank_live::{Asked, Attempt, Connection, Holder, Lease, Term};
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::live::runtime;

/// What came of an attempt to take the Lease.
pub(super) enum Taken {
    Ours(Keeper),
    HeldBy(Holder),
}

/// Holds a Lease until it is released.
pub(super) struct Keeper {
    term: Term,
    is_lost: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Takes the Lease, if nobody holds it.
    pub(super) fn take(asked: Asked, place: (String, String), identity: String) -> Result<Taken, Failure> {
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let is_lost = Arc::new(AtomicBool::new(false));
        let lost = is_lost.clone();
        let thread = std::thread::spawn(move || {
            let runtime = match runtime() {
                Ok(runtime) => runtime,
                Err(failure) => return drop(tell.send(Err(failure))),
            };
            runtime.block_on(async {
                let attempt = async {
                    let connection = Connection::open(&asked).await?;
                    Lease::take(&connection, (&place.0, &place.1), &identity).await
                };
                let mut lease = match attempt.await {
                    Ok(Attempt::Taken(lease)) => lease,
                    Ok(Attempt::HeldBy(holder)) => return drop(tell.send(Ok(Err(holder)))),
                    Err(error) => return drop(tell.send(Err(error.into()))),
                };
                drop(tell.send(Ok(Ok(lease.term()))));
                tokio::select! {
                    _ = lease.keep() => lost.store(true, Ordering::Relaxed),
                    _ = stopped => {}
                }
                lease.release().await;
            });
        });
        let gone = || Failure::internal(anyhow::anyhow!("the thread that holds the Lease has ended"));
        match told.recv().map_err(|_| gone())?? {
            Ok(term) => Ok(Taken::Ours(Self { term, is_lost, stop: Some(stop), thread: Some(thread) })),
            Err(holder) => Ok(Taken::HeldBy(holder)),
        }
    }

    /// Whether this process may change something.
    pub(super) fn holds(&self) -> bool {
        self.term.holds()
    }

    /// Whether the Lease is somebody else's by now, or could not be renewed for long; also where the thread that renews it has ended for whatever reason.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed) || self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
