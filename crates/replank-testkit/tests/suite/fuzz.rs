//! Broken snapshots: whatever is in one, there is no panic, and a rehearsal ends within its bounds.
//!
//! `REPLANK_SEED=7` tries one and tells what was changed; `REPLANK_FUZZ=60` tries for so many seconds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use replank_oracle::sched_random::setting;
use replank_oracle::tell::tell;
use replank_testkit::fuzz::{Corpus, Outcome};

/// Snapshots that are tried in any case.
const SNAPSHOTS: u64 = 40;
/// Threads: snapshots share nothing.
const THREADS: usize = 2;

#[test]
fn broken_snapshots_come_to_an_end() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    let corpus = Corpus::of_examples(root).expect("the examples can be read");
    if let Some(seed) = setting("REPLANK_SEED") {
        if let Some(path) = std::env::var_os("REPLANK_WRITE") {
            std::fs::write(path, corpus.broken(seed).to_string()).expect("it can be written");
        }
        let fuzzed = corpus.run(seed);
        fuzzed.changes.iter().for_each(tell);
        tell(format!("seed {seed}: {:?} {}", fuzzed.came, fuzzed.runaway.unwrap_or_default()));
        assert!(fuzzed.came.is_ok());
        return;
    }
    let until = setting("REPLANK_FUZZ").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let next = AtomicU64::new(1);
    let wrong: Mutex<Vec<String>> = Mutex::default();
    let outcomes: Mutex<BTreeMap<Outcome, usize>> = Mutex::default();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > SNAPSHOTS && until.is_none_or(|until| Instant::now() >= until) {
                return;
            }
            let fuzzed = corpus.run(seed);
            match fuzzed.came {
                Ok(outcome) => {
                    *outcomes.lock().expect("no thread panics").entry(outcome).or_default() += 1;
                    if let Some(runaway) = fuzzed.runaway {
                        tell(format!("seed {seed}: {runaway}"));
                    }
                }
                Err(why) => {
                    let replay =
                        format!("REPLANK_SEED={seed} cargo test -p replank-testkit --test suite fuzz::");
                    let changes = fuzzed.changes.join("\n  ");
                    wrong.lock().expect("no thread panics").push(format!("{replay}\n  {why}\n  {changes}"));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let outcomes = outcomes.into_inner().expect("no thread panics");
    tell(format!("{outcomes:?}"));
    let wrong = wrong.into_inner().expect("no thread panics");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A test that never comes to a rehearsal finds nothing.
    let tried: usize = outcomes.values().sum();
    assert!(outcomes.get(&Outcome::Ended).is_some_and(|ended| ended * 2 > tried), "{outcomes:?}");
}
