//! How long a thread has had a core: others may have had it in between, which a clock does not tell.

use std::time::Duration;

/// How long this thread has been running (`/proc/thread-self/schedstat`; Linux, Documentation/scheduler/sched-stats.rst); `None` where
/// the kernel does not tell. Giving way first makes the kernel bring it up to date.
#[must_use]
pub fn ran() -> Option<Duration> {
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_only_grows() {
        let Some(before) = ran() else { return println!("skipped: this kernel does not tell") };
        let sum = (0..1_000_000u64).fold(0u64, |sum, more| std::hint::black_box(sum ^ more));
        assert!(ran().is_some_and(|after| after > before), "{sum}");
    }
}
