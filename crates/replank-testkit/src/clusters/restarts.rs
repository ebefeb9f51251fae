//! When Replank is started anew.
//!
//! Drawn from a stream of its own, so that clusters are otherwise what they are without it.

use replank_oracle::sched_random::Random;

/// Sets the stream apart from the cluster's.
const RESTARTS: u64 = 0x7265_7374_6172_7400;
/// So many of a hundred clusters have a Replank that is started anew.
const RESTARTED: u64 = 70;
/// How often, at most.
const RESTARTS_MAX: u64 = 3;
/// After so many commands at most, each time.
const COMMANDS_MAX: u64 = 30;

/// After how many commands in all the seed's run is started anew, each time.
pub(super) fn draw(seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed ^ RESTARTS);
    if !random.percent(RESTARTED) {
        return Vec::new();
    }
    let count = 1 + random.below(RESTARTS_MAX);
    let mut after = 0;
    let mut next = || {
        after += 1 + random.below(COMMANDS_MAX);
        usize::try_from(after).expect("a small number")
    };
    (0..count).map(|_| next()).collect()
}
