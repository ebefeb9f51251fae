//! How late the machine is: a run during which requests took long says more of the machine than of the control plane.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::client::Client;

const PERIOD: Duration = Duration::from_millis(100);

/// Times of small requests, one after the other.
#[derive(Clone, Default)]
pub(super) struct Pulse {
    /// When each began, and how long it and the pause before it took longer than the pause.
    beats: Arc<Mutex<Vec<(i64, i64)>>>,
    stopped: Arc<AtomicBool>,
}

impl Pulse {
    pub(super) fn begin(client: &Client) -> Self {
        let pulse = Self::default();
        let (beating, client) = (pulse.clone(), client.clone());
        // Not joined: it ends with the next beat after it is stopped.
        drop(std::thread::spawn(move || {
            while !beating.stopped.load(Ordering::Relaxed) {
                let (begun, at_ms) = (Instant::now(), Timestamp::now().as_millisecond());
                std::thread::sleep(PERIOD);
                // An answer of whatever kind is a beat.
                drop(client.get("/api/v1/namespaces/default"));
                let late = i64::try_from((begun.elapsed() - PERIOD).as_millis()).unwrap_or(i64::MAX);
                beating.beats.lock().expect("no beat panicked").push((at_ms, late));
            }
        }));
        pulse
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The worst beat within a time.
    pub(super) fn worst(&self, from_ms: i64, to_ms: i64) -> i64 {
        let beats = self.beats.lock().expect("no beat panicked");
        beats
            .iter()
            .filter(|(at, _)| (from_ms..=to_ms).contains(at))
            .map(|(_, late)| *late)
            .max()
            .unwrap_or(0)
    }
}
