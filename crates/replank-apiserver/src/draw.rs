//! Randomness: every draw is a function of the seed, the entity, the purpose and a counter.
//!
//! There is no stream whose position depends on what was drawn before. So an entity that is added does not move the draws
//! of the others, and what one entity meets can be reproduced alone. The hash is XXH3 (stable by its specification,
//! about 10 ns a draw); a ChaCha stream per entity would cost twenty times as much to set up and give nothing more
//! here, where nobody tries to guess the numbers.

use replank_model::text::{Uid, uuid};
use replank_model::time::Span;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What a draw is for. A purpose's number is part of every draw: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Uids of objects.
    Uid = 1,
    /// Suffixes of generated names.
    Name = 2,
    /// The node among equally good ones.
    Tie = 3,
    /// Image pull.
    ImagePull = 4,
    /// Container start to readiness.
    Ready = 5,
    /// Time that a container needs to stop.
    Stop = 6,
    /// Run time of a container that ends by itself.
    Run = 7,
    /// Instance launch to kubelet registration.
    Boot = 8,
    /// Registration to Ready.
    NodeReady = 9,
    /// Lag of what core observes.
    Lag = 10,
    /// Time that a command takes on its way there and back.
    Command = 11,
    /// Zone among equally empty ones.
    Zone = 12,
    /// Phase of a periodic loop.
    Phase = 13,
    /// Volume attach and detach.
    Volume = 14,
    /// Where preemption begins to look.
    Preemption = 15,
    /// Instance type of a launched instance.
    Shape = 17,
    /// Time that a terminated instance needs to go.
    ShutDown = 16,
    /// Which of several things that happen side by side comes first.
    Order = 18,
    /// Time that an operator takes to act.
    Operator = 19,
    /// When a message comes, and how often.
    Queue = 20,
    /// When an instance is taken back or retired.
    Hazard = 21,
    /// Which instances of a group meet with something.
    Interruption = 22,
    /// What the network does to a command or a delivery.
    Network = 23,
    /// When a group finds out that an instance fails its health checks.
    HealthCheck = 24,
    /// When a target of a load balancer is registered, checked or deregistered.
    Target = 25,
    /// Addresses and ports of Services.
    Address = 26,
    /// Suffixes of the volumes with tokens.
    TokenVolume = 27,
    /// Time that somebody takes to replace a drained node.
    Replacement = 28,
}

/// The source of all draws of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    seed: u64,
}

impl Draws {
    /// Draws of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The `count`-th uid of an entity, in the form of a random UUID.
    #[must_use]
    pub fn uid(&self, entity: &str, count: u64) -> Uid {
        self.source(entity, Purpose::Uid).uid(count)
    }

    /// The `count`-th draw of an entity for a purpose.
    #[must_use]
    pub fn draw(&self, entity: &str, purpose: Purpose, count: u64) -> Draw {
        self.source(entity, purpose).nth(count)
    }

    /// What all draws of an entity for a purpose come from.
    pub(crate) fn source(&self, entity: &str, purpose: Purpose) -> Source {
        let seed = self.seed ^ (purpose as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Source(xxh3_64_with_seed(entity.as_bytes(), seed))
    }
}

/// What the draws of an entity for a purpose come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source(u64);

impl Source {
    fn nth(self, count: u64) -> Draw {
        Draw(mix(self.0 ^ count.wrapping_mul(0xD6E8_FEB8_6659_FD93)))
    }

    /// The `count`-th uid, in the form of a random UUID.
    pub(crate) fn uid(self, count: u64) -> Uid {
        Uid::from(uuid(self.nth(count * 2).0, self.nth(count * 2 + 1).0))
    }
}

/// SplitMix64's finaliser: spreads a counter over all bits.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// 64 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw(pub u64);

impl Draw {
    /// A number below `bound`; 0 for a bound of 0.
    #[must_use]
    pub fn below(self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.0) * u128::from(bound)) >> 64).expect("a product's high half fits")
    }

    /// A time between two, both possible.
    #[must_use]
    pub fn between(self, low: Span, high: Span) -> Span {
        let width = u64::try_from((high - low).as_millis()).unwrap_or(0);
        let offset = i64::try_from(self.below(width + 1)).unwrap_or(0);
        low + Span::from_millis(offset)
    }

    /// A number from 0 (possible) to 1 (not possible), in steps of 2^-53.
    #[must_use]
    pub fn unit(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a f64 holds exactly")]
        let bits = (self.0 >> 11) as f64;
        bits / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_pinned() {
        // A change here changes every trace hash that anybody has written down.
        let draws = Draws::new(7);
        assert_eq!(draws.draw("node-1", Purpose::Boot, 0), draws.draw("node-1", Purpose::Boot, 0));
        assert_ne!(draws.draw("node-1", Purpose::Boot, 0), draws.draw("node-1", Purpose::Boot, 1));
        assert_ne!(draws.draw("node-1", Purpose::Boot, 0), draws.draw("node-1", Purpose::Ready, 0));
        assert_ne!(draws.draw("node-1", Purpose::Boot, 0), draws.draw("node-2", Purpose::Boot, 0));
        assert_ne!(draws.draw("node-1", Purpose::Boot, 0), Draws::new(8).draw("node-1", Purpose::Boot, 0));
    }

    #[test]
    fn bounds_hold() {
        let draws = Draws::new(1);
        let (low, high) = (Span::from_millis(10), Span::from_millis(12));
        let mut seen = [false; 3];
        for count in 0..200 {
            let drawn = draws.draw("x", Purpose::Lag, count).between(low, high);
            assert!(low <= drawn && drawn <= high);
            seen[usize::try_from((drawn - low).as_millis()).unwrap()] = true;
            assert!(draws.draw("x", Purpose::Lag, count).unit() < 1.0);
        }
        assert_eq!(seen, [true; 3]);
    }
}
