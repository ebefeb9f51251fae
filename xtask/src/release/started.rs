//! How fast the program starts.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// The time that stands in the middle, of so many runs after one that warms up.
pub(super) fn median(binary: &Path, flag: &str, runs: u32) -> Result<Duration> {
    once(binary, flag)?;
    let mut all = (0..runs).map(|_| once(binary, flag)).collect::<Result<Vec<_>>>()?;
    all.sort();
    Ok(all[all.len() / 2])
}

fn once(binary: &Path, flag: &str) -> Result<Duration> {
    let begun = Instant::now();
    let status = Command::new(binary)
        .arg(flag)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("{} cannot be started", binary.display()))?;
    let took = begun.elapsed();
    ensure!(status.success(), "{} {flag} ended with {status}", binary.display());
    Ok(took)
}
