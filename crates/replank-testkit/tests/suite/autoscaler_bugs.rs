//! Bugs of autoscalers are caught by the account that is kept of them.

use std::cell::Cell;
use std::rc::Rc;

use replank_oracle::tell::tell;
use replank_testkit::autoscaling::bugs::{Bug, Buggy};
use replank_testkit::autoscaling::play;

const SEEDS: u64 = 4;

/// The bug acts and is caught whenever it does, and without it nothing is found.
fn is_caught(bug: Bug) {
    for seed in 0..SEEDS {
        let sound = play(seed, |core| Box::new(core));
        assert_eq!(sound.findings, [], "seed {seed}, without the bug");
        let is_hard = sound.raised > 0 && sound.ended > 0 && sound.completed == 1;
        assert!(
            is_hard,
            "seed {seed}: {} raised, {} ended, {} completed",
            sound.raised, sound.ended, sound.completed
        );
        let fired = Rc::new(Cell::new(0));
        let counter = fired.clone();
        let found = play(seed, |core| Box::new(Buggy::plant(core, bug, counter))).findings;
        let first = found.iter().find(|finding| finding.fault == bug.is_found_as());
        tell(format!("{bug:?}, seed {seed}: acted {} times; {first:?}", fired.get()));
        assert!(fired.get() > 0, "{bug:?}, seed {seed}: it never acted");
        assert!(first.is_some(), "{bug:?}, seed {seed}: not caught: {found:?}");
    }
}

#[test]
fn a_group_whose_desired_size_is_lowered_is_caught() {
    is_caught(Bug::WantsLess);
}

#[test]
fn a_batch_pod_whose_node_is_taken_away_is_caught() {
    is_caught(Bug::BatchMoves);
}

#[test]
fn a_node_for_a_pod_that_no_node_could_hold_is_caught() {
    is_caught(Bug::NoHost);
}
