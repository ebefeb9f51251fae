//! The simulated driver: shows core the world late, carries out its commands and reports their outcomes.
//!
//! Core meets here what it will meet live. Each kind is one watch stream whose changes arrive in order after 0 to 2 s;
//! streams do not wait for each other. Commands travel, take effect, and their outcomes travel back. Times are told in whole
//! seconds.

mod backlog;
mod bug;
mod execute;
mod groups;
mod network;
mod refusal;
#[cfg(test)]
mod tests;

use replank_model::delta::Delta;
use replank_model::text::{InstanceId, Text};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{Answer, Command, Outcome, Refusal};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;

use crate::agenda::Agenda;
use crate::event::{DriverDue, Event, Stream};
use crate::timing::Range;
use replank_apiserver::draw::{Draws, Purpose};

use backlog::Backlog;
pub use bug::DriverBug;
pub(crate) use execute::{Found, act, check};
pub use network::{Fate, LATE_DELIVERY_MAX, Mishaps, Network};
use network::{Half, Line, Passage};

/// Longest time until a change is observed.
const LAG_MAX: Span = Span::from_millis(2000);
/// Time of a command on its way to the API server.
const THERE: Range = Range { low: Span::from_millis(10), high: Span::from_millis(150) };
/// Time of an answer on its way back, until core is told of it.
const BACK: Range = Range { low: Span::from_millis(10), high: Span::from_millis(1500) };

/// From one poll of the cloud to the next.
const POLL: Span = Span::from_secs(5);
/// What the driver says of a command that was not answered.
const NO_ANSWER: &str = "no answer came, and reading back did not tell";

/// A command and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The command.
    pub command: Command,
    /// When core gave it.
    pub at: Time,
    /// What becomes of it on its way.
    pub fate: Fate,
    /// When what it says was found to be so, where that takes a read and others can write before the act.
    pub checked: Option<Time>,
    /// When it took effect or was refused, and with what.
    pub result: Option<(Time, Result<(), Refusal>)>,
    held: Span,
    gap: Option<Span>,
    silence: Span,
}

impl Sent {
    /// Whether it was checked and is about to be carried out, whatever others write meanwhile.
    #[must_use]
    pub fn is_in_gap(&self) -> bool {
        self.checked.is_some() && self.result.is_none()
    }
}

/// The connection between core and the world.
pub(crate) struct Driver {
    engine: Box<dyn Engine>,
    queues: Vec<(Stream, Backlog)>,
    deliveries: u64,
    /// Longest time until a change is observed.
    sight: Span,
    /// When core looks next.
    decide_at: Option<Time>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) last: Decision,
    pub(crate) end: Option<End>,
    /// When the run ended.
    pub(crate) ended: Option<Time>,
    /// Until when the engine keeps deciding after the run's end, if at all.
    pub(crate) stays_until: Option<Time>,
    /// Commands before this one were another process's: their answers are lost.
    own_from: u32,
    /// From when on the process that took over is there.
    starts_at: Time,
    line: Line,
    /// Answers of the cloud so far.
    polls: u64,
    /// What is done wrong, in tests.
    pub(crate) bug: Option<DriverBug>,
    /// How often that was done.
    pub(crate) wrongs: usize,
}

impl Driver {
    /// Connects a engine: it is shown everything there is, and decides at once.
    pub(crate) fn connect(mut engine: Box<dyn Engine>, view: &View, agenda: &mut Agenda<Event>) -> Self {
        show_all(engine.as_mut(), view);
        let mut driver = Self {
            engine,
            queues: Vec::new(),
            deliveries: 0,
            sight: LAG_MAX,
            decide_at: None,
            sent: Vec::new(),
            last: Decision::default(),
            end: None,
            ended: None,
            stays_until: None,
            own_from: 0,
            starts_at: agenda.now(),
            line: Line::default(),
            polls: 0,
            bug: None,
            wrongs: 0,
        };
        driver.decide_by(agenda, agenda.now());
        driver
    }

    /// Changes, and answers, are seen this long after they happen at most.
    pub(crate) fn see_within(&mut self, span: Span) {
        self.sight = span;
    }

    /// Time of an answer on its way back.
    fn back(&self) -> Range {
        Range { low: BACK.low.min(self.sight), high: BACK.high.min(self.sight) }
    }

    /// Lets a network come between the driver and everything else, from now on.
    pub(crate) fn disturb(&mut self, network: Network) {
        self.line = Line::new(network);
    }

    /// What went wrong on the way so far.
    pub(crate) fn mishaps(&self) -> Mishaps {
        self.line.mishaps
    }

    pub(crate) fn watch(&mut self, agenda: &mut Agenda<Event>, draws: &Draws, change: &Change) {
        if let Change::Object { old, new, .. } = change
            && let Some(object) = new.as_ref().or(old.as_ref())
            && !self.engine.watches(object.kind())
        {
            return;
        }
        let Some((stream, delta)) = observed(change) else { return };
        let at = match self.queues.iter().position(|(known, _)| *known == stream) {
            Some(at) => at,
            None => {
                self.queues.push((stream, Backlog::default()));
                self.queues.len() - 1
            }
        };
        let queue = &mut self.queues[at].1;
        if queue.is_empty() {
            self.deliveries += 1;
            let name = match stream {
                Stream::Objects(kind) => kind.as_str(),
                Stream::Cloud => "cloud",
            };
            let lag = draws.draw(name, Purpose::Lag, self.deliveries).between(Span::default(), self.sight);
            let lag = lag + self.line.lag(draws, name, self.deliveries);
            agenda.after(lag, Event::Driver(DriverDue::Deliver(stream)));
        }
        queue.push(change, delta);
    }

    pub(crate) fn deliver(
        &mut self,
        agenda: &mut Agenda<Event>,
        draws: &Draws,
        view: &View,
        stream: Stream,
        tell: &mut dyn FnMut(Time, &Delta, &View),
    ) {
        let lacking = if stream == Stream::Cloud { self.poll(draws) } else { None };
        let Some((_, queue)) = self.queues.iter_mut().find(|(known, _)| *known == stream) else { return };
        let mut shown = queue.take();
        if let Some(half) = lacking {
            let is_lacking = |delta: &mut Delta| instance_of(delta).is_some_and(|id| half.has(id));
            shown.extract_if(.., is_lacking).for_each(|delta| queue.put_back(delta));
            if self.bug == Some(DriverBug::PartialPollIsDeletion) {
                self.wrongs += 1;
                for instance in view.instances().values().filter(|one| half.has(&one.id)) {
                    shown.push(Delta::InstanceGone(instance.id.clone()));
                    queue.put_back(Delta::Instance(instance.clone()));
                }
            }
            agenda.after(POLL, Event::Driver(DriverDue::Deliver(stream)));
        }
        for delta in shown.drain(..) {
            tell(agenda.now(), &delta, view);
            self.engine.observe(delta);
        }
        queue.make_room(shown);
        self.decide_by(agenda, next_second(agenda.now()));
    }

    fn poll(&mut self, draws: &Draws) -> Option<Half> {
        self.polls += 1;
        self.line.lacks(draws, self.polls)
    }

    /// Lets core decide, if this is the moment that was planned last; whether it was.
    pub(crate) fn decide(&mut self, agenda: &mut Agenda<Event>, draws: &Draws) -> bool {
        if self.decide_at != Some(agenda.now()) || self.rests(agenda.now()) {
            return false;
        }
        self.decide_at = None;
        let now = agenda.now().floor_seconds();
        let mut decision = self.engine.decide(now);
        for command in std::mem::take(&mut decision.commands) {
            let number = u32::try_from(self.sent.len()).expect("fewer than 2^32 commands in one run");
            let span = THERE.draw(draws.draw(&command.key.0, Purpose::Command, 0));
            let passage = self.line.send(draws, &command);
            if passage.fate == Fate::RequestLost {
                agenda.after(passage.silence, Event::Driver(DriverDue::Answer(number)));
            } else {
                let at = self.line.arrives(agenda.now() + span, passage.held, command.deadline);
                agenda.at(at, Event::Driver(DriverDue::Execute(number)));
            }
            let Passage { fate, held, gap, silence } = passage;
            let (at, checked) = (agenda.now(), None);
            self.sent.push(Sent { command, at, fate, checked, result: None, held, gap, silence });
        }
        if let Some(wake_at) = decision.wake_at {
            self.decide_by(agenda, wake_at.max(now + Span::from_secs(1)));
        }
        if self.end.is_none() && decision.end.is_some() {
            self.end = decision.end.clone();
            self.ended = Some(agenda.now());
        }
        self.last = decision;
        true
    }

    /// Notes that a command was found to be as it says, and carries it out a moment later; whether it waits for that.
    pub(crate) fn checked(&mut self, agenda: &mut Agenda<Event>, number: u32) -> bool {
        let sent = &mut self.sent[number as usize];
        let Some(gap) = sent.gap else { return false };
        sent.checked = Some(agenda.now());
        agenda.after(gap, Event::Driver(DriverDue::Act(number)));
        true
    }

    /// Notes what became of a command and sends the answer on its way.
    pub(crate) fn executed(
        &mut self,
        agenda: &mut Agenda<Event>,
        draws: &Draws,
        number: u32,
        result: Result<(), Refusal>,
    ) -> &Sent {
        let back = self.back();
        let sent = &mut self.sent[number as usize];
        sent.result = Some((agenda.now(), result));
        let usual = back.draw(draws.draw(&sent.command.key.0, Purpose::Command, 1));
        let span = match sent.fate {
            Fate::Arrives | Fate::RequestLost => usual,
            Fate::AnswerLate => usual + sent.silence,
            Fate::AnswerLost => sent.silence,
        };
        agenda.after(span, Event::Driver(DriverDue::Answer(number)));
        sent
    }

    /// Gives an intent; core looks at once. A run that is over is taken up again: what is still to be done is core's to say.
    pub(crate) fn intend(&mut self, agenda: &mut Agenda<Event>, intent: Intent) {
        self.engine.intend(intent);
        (self.end, self.ended) = (None, None);
        self.decide_by(agenda, next_second(agenda.now()));
    }

    /// Whether nothing is decided any more.
    fn rests(&self, now: Time) -> bool {
        self.end.is_some() && !self.engine.stands_by() && self.stays_until.is_none_or(|until| now > until)
    }

    /// Shows core a message.
    pub(crate) fn told(&mut self, agenda: &mut Agenda<Event>, delta: Delta) {
        self.engine.observe(delta);
        self.decide_by(agenda, next_second(agenda.now()));
    }

    /// Lets another process take over. What the one before has sent arrives; what it was to send once more after it was throttled is never sent.
    pub(crate) fn start_anew(&mut self, view: &View, agenda: &mut Agenda<Event>) {
        self.engine.start_anew();
        // What is on its way is in the list already.
        self.queues.iter_mut().for_each(|(_, queue)| drop(queue.take()));
        show_all(self.engine.as_mut(), view);
        self.own_from = u32::try_from(self.sent.len()).expect("fewer than 2^32 commands in one run");
        self.decide_at = None;
        self.starts_at = next_second(agenda.now() + self.line.start());
        self.decide_by(agenda, self.starts_at);
    }

    /// Whether a command was still held by a process that is gone.
    pub(crate) fn is_given_up(&self, number: u32) -> bool {
        let sent = &self.sent[number as usize];
        number < self.own_from && sent.held > Span::ZERO && sent.checked.is_none()
    }

    /// Whether a command is sent once more, now that no answer came to it: a careless driver does so.
    pub(crate) fn repeats(&mut self, number: u32) -> bool {
        let sent = &self.sent[number as usize];
        let effect = &sent.command.effect;
        let repeats = sent.fate == Fate::AnswerLost && self.bug.is_some_and(|bug| bug.repeats(effect));
        self.wrongs += usize::from(repeats);
        repeats
    }

    /// Whether the driver gives up waiting for an answer now, and can read what came of the command.
    pub(crate) fn reads_back(&mut self, draws: &Draws, number: u32) -> bool {
        let sent = &self.sent[number as usize];
        match sent.fate {
            Fate::Arrives | Fate::AnswerLate => false,
            Fate::RequestLost | Fate::AnswerLost => self.line.reads(draws, &sent.command),
        }
    }

    /// The answer to a command arrives, or what the driver makes of its absence.
    pub(crate) fn answer(&mut self, agenda: &mut Agenda<Event>, number: u32, is_there: bool) {
        if number < self.own_from {
            return;
        }
        let sent = &self.sent[number as usize];
        let answer = match sent.fate {
            Fate::Arrives | Fate::AnswerLate => {
                let (_, result) = sent.result.clone().expect("an answer follows an effect");
                result.into()
            }
            Fate::RequestLost | Fate::AnswerLost if is_there => Answer::Done,
            Fate::RequestLost | Fate::AnswerLost => Answer::Unknown { message: Text::from(NO_ANSWER) },
        };
        let outcome = Outcome { key: sent.command.key.clone(), at: agenda.now().floor_seconds(), answer };
        self.engine.outcome(outcome);
        self.decide_by(agenda, next_second(agenda.now()));
    }

    /// Makes core look at a moment, or earlier if that is planned already.
    fn decide_by(&mut self, agenda: &mut Agenda<Event>, at: Time) {
        let at = at.max(self.starts_at);
        if self.rests(at) || self.decide_at.is_some_and(|planned| planned <= at) {
            return;
        }
        self.decide_at = Some(at.max(agenda.now()));
        agenda.at(at, Event::Driver(DriverDue::Decide));
    }
}

fn show_all(engine: &mut dyn Engine, view: &View) {
    for object in view.objects() {
        engine.observe(Delta::Put(object));
    }
    for group in view.groups().values() {
        engine.observe(Delta::Group(group.clone()));
    }
    for instance in view.instances().values() {
        engine.observe(Delta::Instance(instance.clone()));
    }
}

fn instance_of(delta: &Delta) -> Option<&InstanceId> {
    match delta {
        Delta::Instance(instance) => Some(&instance.id),
        Delta::InstanceGone(id) => Some(id),
        Delta::Put(_)
        | Delta::Gone(_)
        | Delta::Unread(_)
        | Delta::Group(_)
        | Delta::GroupGone(_)
        | Delta::Message(_)
        | Delta::MessageGone(_) => None,
    }
}

fn next_second(now: Time) -> Time {
    let floor = now.floor_seconds();
    if floor == now { now } else { floor + Span::from_secs(1) }
}

/// What core is told of a change, and through which stream.
fn observed(change: &Change) -> Option<(Stream, Delta)> {
    match change {
        Change::Object { new: Some(object), .. } => {
            Some((Stream::Objects(object.kind()), Delta::Put(object.clone())))
        }
        Change::Object { old: Some(object), new: None, .. } => {
            Some((Stream::Objects(object.kind()), Delta::Gone(object.reference())))
        }
        Change::Group { new: Some(group), .. } => Some((Stream::Cloud, Delta::Group(group.clone()))),
        Change::Group { old: Some(group), new: None } => {
            Some((Stream::Cloud, Delta::GroupGone(group.name.clone())))
        }
        Change::Instance { new: Some(instance), .. } => {
            Some((Stream::Cloud, Delta::Instance(instance.clone())))
        }
        Change::Instance { old: Some(instance), new: None } => {
            Some((Stream::Cloud, Delta::InstanceGone(instance.id.clone())))
        }
        Change::Object { old: None, new: None, .. }
        | Change::Group { old: None, new: None }
        | Change::Instance { old: None, new: None }
        | Change::Message { .. }
        | Change::Unread(_)
        | Change::Stale => None,
    }
}
