//! What is made to go wrong between an account and those who call it: requests and answers that are lost, refusals for the rate, failures of a service, credentials that
//! are over, instances that EC2 does not show yet, and messages that come twice or late.
//!
//! Each happens by words (`read`), goes on until other words end it, and hits a call by its number alone: the same calls in the same order meet the same.

mod codes;
mod words;

use replank_model::time::Span;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::fault::Fault;
pub use words::{FORMS, ending, read};

/// Something that is made to go wrong, or is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Some calls go wrong.
    Calls(OfCalls),
    /// Whether the credentials are over.
    Expired(bool),
    /// EC2 does not show an instance for so long after its launch.
    Unseen(Span),
    /// One message in so many comes twice; none for 0.
    Twice(u32),
    /// One in so many comes so much later; none for 0.
    Late(u32, Span),
}

/// Which calls go wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfCalls {
    pub(crate) how: How,
    pub(crate) of: Which,
    pub(crate) share: Share,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    /// It is refused for its rate.
    Throttled,
    /// The service says that it failed, and did nothing.
    Failed,
    /// It is carried out, and the connection ends without an answer.
    AnswerLost,
    /// The connection ends before it is carried out.
    RequestLost,
}

/// Which calls are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Which {
    Any,
    Reads,
    Writes,
    /// All of a service, by the name that it is signed for.
    Of(String),
    /// One operation, as IAM names it.
    Action(String),
}

/// How many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Share {
    /// One in so many, by chance; none for 0.
    OneIn(u32),
    /// So many that come next.
    Next(u32),
}

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
            return Fate::Refused(codes::expired(call));
        }
        let (seed, number) = (self.seed, self.calls);
        let mut hit = None;
        for (at, one) in self.of_calls.iter_mut().enumerate() {
            if hit.is_some() || !one.of.means(call) {
                continue;
            }
            let is_hit = match &mut one.share {
                Share::OneIn(count) => drawn(seed, (at as u64) << 48 | number) % u64::from(*count) == 0,
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
            Some(How::Failed) => Fate::Refused(codes::failed(call, drawn(seed, !number) % 2 == 0)),
            Some(How::AnswerLost) => Fate::AnswerLost,
            Some(How::RequestLost) => Fate::RequestLost,
        }
    }
}

impl Which {
    fn means(&self, call: &Call) -> bool {
        match self {
            Self::Any => true,
            Self::Reads => call.is_read(),
            Self::Writes => !call.is_read(),
            Self::Of(service) => *service == call.service.signing_name(),
            Self::Action(action) => *action == format!("{}:{}", call.service.signing_name(), call.action),
        }
    }
}

impl Deliveries {
    /// How much later a message comes, and how much later than that once more, where it does.
    pub(crate) fn of_next(&mut self) -> (Span, Option<Span>) {
        self.count += 1;
        let draw = |purpose: u64| drawn(self.seed, purpose << 48 | self.count);
        let is_one_in = |one_in: u32, drawn: u64| one_in > 0 && drawn % u64::from(one_in) == 0;
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
mod tests;
