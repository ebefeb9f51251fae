//! The network between the driver and what it calls: calls that are lost, late or throttled, and the gap between a check and the act.
//!
//! Every draw is a function of the command's key and of how often it was sent, so one command's fate does not depend on the others.
//! The network is perfect unless a test asks for faults.

use std::collections::BTreeMap;

use replank_apiserver::draw::{Draws, Purpose};
use replank_model::text::InstanceId;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Command, CommandKey};

use crate::timing::Range;

/// From a check to the act: another call on a connection that is open. Kept above zero so that others can always write between the two.
const GAP: Range = Range { low: Span::from_millis(20), high: Span::from_millis(300) };
/// How long the driver waits for an answer until it gives up. Clients give up after 10 to 30 s.
const GIVES_UP: Range = Range::secs(10, 30);
/// How late an answer is that is late. Longer than a client waits would be a lost one.
const ANSWER_LATE: Range = Range::secs(2, 10);
/// How late changes are seen when a watch starts over or a poll fails: a client begins again after at most so long.
const DELIVERY_LATE: Range = Range { low: Span::from_secs(2), high: LATE_DELIVERY_MAX };
/// See [`DELIVERY_LATE`].
pub const LATE_DELIVERY_MAX: Span = Span::from_secs(15);
/// First wait of a driver that is throttled; it doubles with every attempt (the SDK's standard mode).
const BACKOFF: Span = Span::from_secs(1);
/// How long a process takes to start and to list what is there. What the one before has sent has arrived by then.
const STARTS_WITHIN: Span = Span::from_secs(2);
/// Attempts of a throttled call that fail, at most. The last ones are beyond any command's deadline.
const THROTTLED_MAX: u64 = 7;

/// How often something goes wrong. Rates are per thousand commands or deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Commands that are sent and never carried out.
    pub lost_requests: u64,
    /// Commands that are carried out without an answer.
    pub lost_answers: u64,
    /// Commands whose answer is late.
    pub late_answers: u64,
    /// Commands that are throttled.
    pub throttled: u64,
    /// Deliveries of changes that take longer than usual.
    pub late_deliveries: u64,
    /// Answers of the cloud that lack some of its instances: a page failed. They come with the next.
    pub partial_polls: u64,
    /// Whether others can write between a check and the act.
    pub has_gaps: bool,
}

impl Network {
    /// A bad day: about 3 % of requests are lost, and 3 % of answers.
    pub const ROUGH: Self = Self {
        lost_requests: 30,
        lost_answers: 30,
        late_answers: 50,
        throttled: 30,
        late_deliveries: 15,
        partial_polls: 15,
        has_gaps: true,
    };
}

/// What happens to a command on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, and so does the answer.
    Arrives,
    /// It arrives, and the answer is late.
    AnswerLate,
    /// It is never carried out, and no answer comes.
    RequestLost,
    /// It is carried out or refused, and no answer comes.
    AnswerLost,
}

/// What went wrong so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mishaps {
    /// Commands that were never carried out, with no answer.
    pub lost_requests: usize,
    /// Commands that were carried out, with no answer.
    pub lost_answers: usize,
    /// Late answers.
    pub late_answers: usize,
    /// Throttled commands.
    pub throttled: usize,
    /// Throttled commands that were given up at their deadline.
    pub given_up: usize,
    /// Deliveries later than usual.
    pub late_deliveries: usize,
    /// Answers of the cloud that lacked something.
    pub partial_polls: usize,
}

/// How one command travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) fate: Fate,
    /// How much longer it takes to arrive: it was throttled.
    pub(super) held: Span,
    /// From the check to the act.
    pub(super) gap: Option<Span>,
    /// How late the answer is, or how long one is waited for.
    pub(super) silence: Span,
}

/// One half of all instances, drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half(u64);

impl Half {
    /// Whether an instance is in it.
    pub(super) fn has(self, id: &InstanceId) -> bool {
        Draws::new(self.0).draw(id.as_str(), Purpose::Network, 0).0 & 1 == 0
    }
}

/// A network at work.
#[derive(Debug, Default)]
pub(super) struct Line {
    network: Network,
    /// How often a command was sent under a key.
    sends: BTreeMap<CommandKey, u64>,
    pub(super) mishaps: Mishaps,
}

impl Line {
    pub(super) fn new(network: Network) -> Self {
        Self { network, ..Self::default() }
    }

    /// How long another process takes to start at least.
    pub(super) fn start(&self) -> Span {
        if self.network == Network::default() { Span::ZERO } else { STARTS_WITHIN }
    }

    /// How a command travels that is sent now.
    pub(super) fn send(&mut self, draws: &Draws, command: &Command) -> Passage {
        let network = self.network;
        if network == Network::default() {
            return Passage { fate: Fate::Arrives, held: Span::ZERO, gap: None, silence: Span::ZERO };
        }
        let count = self.sends.entry(command.key.clone()).or_default();
        let first = *count * 8;
        *count += 1;
        let draw = |at: u64| draws.draw(&command.key.0, Purpose::Network, first + at);
        let drawn = draw(0).below(1_000);
        let (requests, answers) = (network.lost_requests, network.lost_requests + network.lost_answers);
        let (fate, silence) = if drawn < requests {
            (Fate::RequestLost, GIVES_UP.draw(draw(1)))
        } else if drawn < answers {
            (Fate::AnswerLost, GIVES_UP.draw(draw(1)))
        } else if drawn < answers + network.late_answers {
            (Fate::AnswerLate, ANSWER_LATE.draw(draw(1)))
        } else {
            (Fate::Arrives, Span::ZERO)
        };
        let held = if draw(2).below(1_000) < network.throttled {
            self.throttle(draw(3).below(THROTTLED_MAX))
        } else {
            Span::ZERO
        };
        let gap = (network.has_gaps && command.effect.is_checked_first()).then(|| GAP.draw(draw(4)));
        let mishaps = &mut self.mishaps;
        match fate {
            Fate::Arrives => {}
            Fate::AnswerLate => mishaps.late_answers += 1,
            Fate::RequestLost => mishaps.lost_requests += 1,
            Fate::AnswerLost => mishaps.lost_answers += 1,
        }
        Passage { fate, held, gap, silence }
    }

    /// Whether what came of a command without an answer can be read: half of the time the network is as bad for the read.
    pub(super) fn reads(&self, draws: &Draws, command: &Command) -> bool {
        let first = self.sends.get(&command.key).map_or(0, |count| (count - 1) * 8);
        draws.draw(&command.key.0, Purpose::Network, first + 5).0 & 1 == 0
    }

    /// How long so many failed attempts and one more take.
    fn throttle(&mut self, more: u64) -> Span {
        self.mishaps.throttled += 1;
        let waits = (0..=more).map(|attempt| BACKOFF.as_millis() << attempt);
        Span::from_millis(waits.sum())
    }

    /// When a throttled command is sent at last: at its deadline it is given up.
    pub(super) fn arrives(&mut self, at: Time, held: Span, deadline: Time) -> Time {
        let last = deadline + Span::from_millis(1);
        if held > Span::ZERO && at + held >= last {
            self.mishaps.given_up += 1;
            return at.max(last);
        }
        at + held
    }

    /// Which half of all instances an answer of the cloud lacks, if it lacks any.
    pub(super) fn lacks(&mut self, draws: &Draws, poll: u64) -> Option<Half> {
        let draw = |at: u64| draws.draw("poll", Purpose::Network, poll * 2 + at);
        if self.network.partial_polls == 0 || draw(0).below(1_000) >= self.network.partial_polls {
            return None;
        }
        self.mishaps.partial_polls += 1;
        Some(Half(draw(1).0))
    }

    /// How much later than usual a delivery is.
    pub(super) fn lag(&mut self, draws: &Draws, stream: &str, delivery: u64) -> Span {
        let draw = |at: u64| draws.draw(stream, Purpose::Network, delivery * 2 + at);
        if self.network.late_deliveries == 0 || draw(0).below(1_000) >= self.network.late_deliveries {
            return Span::ZERO;
        }
        self.mishaps.late_deliveries += 1;
        DELIVERY_LATE.draw(draw(1))
    }
}
