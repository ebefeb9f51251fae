//! A network between the run and everything else, as it is on a bad day.
//!
//! Drawn from a stream of its own, so that clusters are otherwise what they are without it.

use replank_sim::Network;

use replank_oracle::sched_random::Random;

/// Sets the stream apart from the cluster's.
const NETWORK: u64 = 0x6e65_7477_6f72_6b00;
/// So many of a hundred clusters have a bad network.
const BAD: u64 = 70;

/// The network of a seed's cluster: in most cases one that loses, delays and throttles.
pub(super) fn draw(seed: u64) -> Option<Network> {
    let mut random = Random::new(seed ^ NETWORK);
    if !random.percent(BAD) {
        return None;
    }
    let mut rate = |rates: &[u64]| random.one(rates);
    Some(Network {
        lost_requests: rate(&[20, 40, 60]),
        lost_answers: rate(&[20, 40, 60]),
        late_answers: rate(&[0, 50, 100]),
        throttled: rate(&[0, 30, 60]),
        late_deliveries: rate(&[5, 15, 30]),
        partial_polls: rate(&[0, 15, 30]),
        has_gaps: true,
    })
}
