//! `replank roll`, `roll --queue-url` and `handle` on a served AWS account in which things go wrong by chance, or killed: in the end the same is there, nothing was done twice,
//! bounds and processes are as before, no message is lost, and neither the record nor the Lease is left.
//!
//! A few runs are tried by default. `REPLANK_AWS_CUTS` and `REPLANK_AWS_KILLS` say how many are, `REPLANK_AWS_JOBS` how many at a time, and `REPLANK_AWS_SEED` that one of them is tried again.

mod case;
mod checks;
mod stage;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use case::{Case, Verb};

/// A number of the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: not a number")))
}

/// Tries the cases of so many seeds, or of one.
fn try_all(variable: &str, default: u64, is_kill: bool) {
    let count = number(variable).unwrap_or(default);
    let only = number("REPLANK_AWS_SEED");
    let seeds: Vec<u64> = only.map_or_else(|| (1..=count).collect(), |seed| vec![seed]);
    let jobs = number("REPLANK_AWS_JOBS").unwrap_or(4).min(seeds.len() as u64);
    let (next, wrong, begun) = (AtomicU64::new(0), Mutex::new(Vec::new()), Instant::now());
    let told = Mutex::new(std::collections::BTreeMap::<String, u32>::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let Some(seed) = usize::try_from(at).ok().and_then(|at| seeds.get(at)) else { return };
                    let case = Case::drawn(*seed, is_kill);
                    let began = Instant::now();
                    let found = stage::tried(&case);
                    eprintln!("{case}: {:?}, {} wrong", began.elapsed(), found.wrong.len());
                    let word = if found.was_killed { " killed" } else { "" };
                    let kind = format!("{:?}{word}", case.verb);
                    *told.lock().expect("nobody panics").entry(kind).or_default() += 1;
                    if !found.wrong.is_empty() {
                        let text = format!("{case}\n  {}\n{}", found.wrong.join("\n  "), found.told);
                        eprintln!("{text}");
                        wrong.lock().expect("nobody panics").push(text);
                    }
                }
            });
        }
    });
    let (wrong, told) =
        (wrong.into_inner().expect("nobody panics"), told.into_inner().expect("nobody panics"));
    eprintln!("{} runs in {:?}, {told:?}: {} went wrong", seeds.len(), begun.elapsed(), wrong.len());
    assert!(
        wrong.is_empty(),
        "{} of {} went wrong; try one again with REPLANK_AWS_SEED",
        wrong.len(),
        seeds.len()
    );
}

#[test]
fn whatever_goes_wrong_with_the_account_comes_to_the_same() {
    try_all("REPLANK_AWS_CUTS", 4, false);
}

#[test]
fn a_process_that_is_killed_over_the_account_is_gone_on_with() {
    try_all("REPLANK_AWS_KILLS", 2, true);
}

#[test]
fn cases_are_drawn_by_their_seeds_and_every_kind_is_among_them() {
    let all: Vec<Case> = (1..=200).map(|seed| Case::drawn(seed, false)).collect();
    assert_eq!(all[7].to_string(), Case::drawn(8, false).to_string());
    for verb in Verb::ALL {
        assert!(all.iter().filter(|case| case.verb == verb).count() >= 30, "{verb:?}");
    }
    for words in case::KINDS {
        assert!(
            all.iter().any(|case| case.faults.iter().any(|fault| fault.words.contains(words))),
            "{words}"
        );
    }
}
