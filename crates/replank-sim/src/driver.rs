//! The simulated driver: shows core the world late, carries out its commands, tells it what came of them.
//!
//! Core meets here what it will meet live. Each kind is one watch stream whose changes arrive in order after 0 to 2 s;
//! streams do not wait for each other. Commands travel, take effect, and their outcomes travel back. Times are told in whole
//! seconds.

mod execute;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use replank_model::delta::Delta;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{Command, Outcome, Refusal};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;

use crate::agenda::Agenda;
use crate::event::{DriverDue, Event, Stream};
use crate::timing::Range;
use replank_apiserver::draw::{Draws, Purpose};

pub(crate) use execute::execute;

/// Longest time until a change is observed.
const LAG_MAX: Span = Span::from_millis(2000);
/// Time of a command on its way to the API server.
const THERE: Range = Range { low: Span::from_millis(10), high: Span::from_millis(150) };
/// Time of an answer on its way back, until core is told of it.
const BACK: Range = Range { low: Span::from_millis(10), high: Span::from_millis(1500) };

/// A command and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The command.
    pub command: Command,
    /// When core gave it.
    pub at: Time,
    /// When it took effect or was refused, and with what.
    pub result: Option<(Time, Result<(), Refusal>)>,
}

/// The connection between core and the world.
pub(crate) struct Driver {
    engine: Box<dyn Engine>,
    queues: Vec<(Stream, VecDeque<Delta>)>,
    deliveries: u64,
    /// When core looks next.
    decide_at: Option<Time>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) last: Decision,
    pub(crate) end: Option<End>,
    /// When the run ended.
    pub(crate) ended: Option<Time>,
    /// Until when whoever is in charge looks on after the run's end, if at all.
    pub(crate) stays_until: Option<Time>,
    /// Commands before this one were another process's: their answers are lost.
    own_from: u32,
}

impl Driver {
    /// Connects a engine: it is shown everything there is, and decides at once.
    pub(crate) fn connect(mut engine: Box<dyn Engine>, view: &View, agenda: &mut Agenda<Event>) -> Self {
        show_all(engine.as_mut(), view);
        let mut driver = Self {
            engine,
            queues: Vec::new(),
            deliveries: 0,
            decide_at: None,
            sent: Vec::new(),
            last: Decision::default(),
            end: None,
            ended: None,
            stays_until: None,
            own_from: 0,
        };
        driver.decide_by(agenda, agenda.now());
        driver
    }

    pub(crate) fn watch(&mut self, agenda: &mut Agenda<Event>, draws: &Draws, change: &Change) {
        let Some((stream, delta)) = observed(change) else { return };
        if let Stream::Objects(kind) = stream
            && !self.engine.watches(kind)
        {
            return;
        }
        let at = match self.queues.iter().position(|(known, _)| *known == stream) {
            Some(at) => at,
            None => {
                self.queues.push((stream, VecDeque::new()));
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
            let lag = draws.draw(name, Purpose::Lag, self.deliveries).between(Span::default(), LAG_MAX);
            agenda.after(lag, Event::Driver(DriverDue::Deliver(stream)));
        }
        queue.push_back(delta);
    }

    pub(crate) fn deliver(&mut self, agenda: &mut Agenda<Event>, stream: Stream) {
        let queue = self
            .queues
            .iter_mut()
            .find(|(known, _)| *known == stream)
            .map(|(_, queue)| std::mem::take(queue));
        for delta in queue.into_iter().flatten() {
            self.engine.observe(delta);
        }
        self.decide_by(agenda, next_second(agenda.now()));
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
            agenda.after(span, Event::Driver(DriverDue::Execute(number)));
            self.sent.push(Sent { command, at: agenda.now(), result: None });
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

    /// Notes what became of a command and sends the answer on its way.
    pub(crate) fn executed(
        &mut self,
        agenda: &mut Agenda<Event>,
        draws: &Draws,
        number: u32,
        result: Result<(), Refusal>,
    ) -> &Sent {
        let sent = &mut self.sent[number as usize];
        sent.result = Some((agenda.now(), result));
        let span = BACK.draw(draws.draw(&sent.command.key.0, Purpose::Command, 1));
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

    /// Lets another process take over.
    pub(crate) fn start_anew(&mut self, view: &View, agenda: &mut Agenda<Event>) {
        self.engine.start_anew();
        // What is on its way is in the list already.
        self.queues.iter_mut().for_each(|(_, queue)| queue.clear());
        show_all(self.engine.as_mut(), view);
        self.own_from = u32::try_from(self.sent.len()).expect("fewer than 2^32 commands in one run");
        self.decide_by(agenda, next_second(agenda.now()));
    }

    pub(crate) fn answer(&mut self, agenda: &mut Agenda<Event>, number: u32) {
        if number < self.own_from {
            return;
        }
        let sent = &self.sent[number as usize];
        let (_, result) = sent.result.clone().expect("an answer follows an effect");
        let outcome = Outcome {
            key: sent.command.key.clone(),
            at: agenda.now().floor_seconds(),
            answer: result.into(),
        };
        self.engine.outcome(outcome);
        self.decide_by(agenda, next_second(agenda.now()));
    }

    /// Makes core look at a moment, or earlier if that is planned already.
    fn decide_by(&mut self, agenda: &mut Agenda<Event>, at: Time) {
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
