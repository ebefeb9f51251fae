//! The most memory that a process ever held.

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

/// Waits for the end and gives the most memory that the process ever held.
pub(crate) fn watch(child: &mut Child) -> Result<u64> {
    const LOOK: Duration = Duration::from_millis(5);
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        if let Ok(text) = std::fs::read_to_string(&status) {
            peak = peak.max(peak_of(&text));
        }
        sleep(LOOK);
    }
    Ok(peak)
}

/// `VmHWM:     1234 kB`
pub(super) fn peak_of(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
