//! What goes wrong at present, and which calls and messages it hits.

use replank_model::time::Span;
use serde::{Deserialize, Serialize};

use super::codes;
use super::what::{How, OfCalls, Share, Trouble};
use crate::call::Call;
use crate::fault::Fault;

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    /// It is answered.
    Answered,
    /// It is refused, and nothing is done.
    Refused(Fault),
    /// It is carried out, and nobody hears of it.
    AnswerLost,
    /// It never arrives.
    RequestLost,
}

/// What goes wrong with an account's calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Troubles {
    of_calls: Vec<OfCalls>,
    is_expired: bool,
    pub(crate) unseen: Span,
    pub(crate) deliveries: Deliveries,
    /// Calls so far.
    calls: u64,
    #[serde(skip)]
    seed: u64,
}

/// How messages come that are sent from now on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Deliveries {
    twice_in: u32,
    late_in: u32,
    late_by: Span,
    count: u64,
    #[serde(skip)]
    seed: u64,
}

/// From one delivery of a message to another that should not be.
const AGAIN_MAX_MILLIS: u64 = 20_000;

impl Troubles {
    /// Draws by another seed.
    pub(crate) fn seeded(&mut self, seed: u64) {
        (self.seed, self.deliveries.seed) = (seed, seed);
    }

    /// Makes something go wrong, or right again.
    pub(crate) fn begin(&mut self, trouble: &Trouble) {
        match trouble {
            Trouble::Calls(of) => {
                // What is said again is said instead.
                let is_same = |known: &OfCalls| {
                    known.how == of.how
                        && known.of == of.of
                        && matches!(known.share, Share::OneIn(_)) == matches!(of.share, Share::OneIn(_))
                };
                self.of_calls.retain(|known| !is_same(known));
                match of.share {
                    Share::OneIn(0) | Share::Next(0) => {}
                    Share::OneIn(_) | Share::Next(_) => self.of_calls.push(of.clone()),
                }
            }
            Trouble::Expired(is_expired) => self.is_expired = *is_expired,
            Trouble::Unseen(span) => self.unseen = *span,
            Trouble::Twice(one_in) => self.deliveries.twice_in = *one_in,
            Trouble::Late(one_in, by) => (self.deliveries.late_in, self.deliveries.late_by) = (*one_in, *by),
        }
    }

    /// What becomes of a call that comes now.
    pub(crate) fn fate(&mut self, call: &Call) -> Fate {
        self.calls += 1;
        if self.is_expired {
            return Fate::Refused(codes::expired(call.service));
        }
        let (seed, number) = (self.seed, self.calls);
        let mut hit = None;
        for (at, one) in self.of_calls.iter_mut().enumerate() {
            if hit.is_some() || !one.of.means(call) {
                continue;
            }
            let is_hit = match &mut one.share {
                Share::OneIn(count) => {
                    drawn(seed, (at as u64) << 48 | number).is_multiple_of(u64::from(*count))
                }
                Share::Next(left) => {
                    *left -= 1;
                    true
                }
            };
            hit = is_hit.then_some(one.how);
        }
        self.of_calls.retain(|one| one.share != Share::Next(0));
        match hit {
            None => Fate::Answered,
            Some(How::Throttled) => Fate::Refused(codes::throttled(call)),
            Some(How::Failed) => Fate::Refused(codes::failed(call, drawn(seed, !number).is_multiple_of(2))),
            Some(How::AnswerLost) => Fate::AnswerLost,
            Some(How::RequestLost) => Fate::RequestLost,
        }
    }
}

impl Deliveries {
    /// How much later a message comes, and how much later than that once more, where it does.
    pub(crate) fn of_next(&mut self) -> (Span, Option<Span>) {
        self.count += 1;
        let draw = |purpose: u64| drawn(self.seed, purpose << 48 | self.count);
        let is_one_in = |one_in: u32, drawn: u64| one_in > 0 && drawn.is_multiple_of(u64::from(one_in));
        let late = if is_one_in(self.late_in, draw(1)) { self.late_by } else { Span::ZERO };
        let again = i64::try_from(500 + draw(3) % AGAIN_MAX_MILLIS).unwrap_or_default();
        (late, is_one_in(self.twice_in, draw(2)).then(|| Span::from_millis(again)))
    }
}

/// SplitMix64, of a seed and a number.
fn drawn(seed: u64, number: u64) -> u64 {
    let mut drawn = seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    drawn ^ (drawn >> 31)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
