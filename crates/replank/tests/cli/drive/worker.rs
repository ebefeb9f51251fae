//! Somebody who does the same again and again beside a test, until it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// It stops when this is dropped.
pub(crate) struct Worker {
    is_over: Arc<AtomicBool>,
    works: Option<JoinHandle<()>>,
}

impl Worker {
    /// Does it, and again after each pause.
    pub(crate) fn begins(pause: Duration, mut work: impl FnMut() + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let works = {
            let is_over = is_over.clone();
            thread::spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    work();
                    thread::sleep(pause);
                }
            })
        };
        Self { is_over, works: Some(works) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(works) = self.works.take() {
            drop(works.join());
        }
    }
}
