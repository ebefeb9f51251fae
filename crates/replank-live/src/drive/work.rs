//! The driver at work: one loop that observes, decides, sends and hears.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use replank_model::object::Object;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Command, Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_protocol::engine::Engine;
use replank_protocol::outcome::{Answer, Outcome, Refusal};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::carry::{Carried, carry};
use super::clouded;
use super::event::Event;
use super::feed::Feed;
use super::line::Line;
use super::mailbox::Mailbox;
use super::observer::Observer;
use super::options::{DryRun, Options};
use super::outlook::Outlook;
use super::prepare::{Known, Prepared, prepare};
use super::queue::{Lane, Queue, Room};
use super::seen::{Cluster, State, Written};
use super::source::{Source, followed};
use super::told::Told;
use crate::cloud::{Observed, Order};
use crate::connect::Connection;
use crate::error::LiveError;
use crate::queue::Received;
use crate::resource::{Resource, served_in_all_versions};

/// How much of what was seen waits to be taken in: lists and watches read on only then.
const TOLD_MAX: usize = 64;
/// How long what was written may not be seen.
const LAG_MAX: Duration = Duration::from_secs(30);
/// How long after a decision there is another at the same time at the earliest.
const STILL_MAX: Duration = Duration::from_millis(1_500);
/// Urgent commands that may be under way beside all others.
const URGENT: usize = 4;
/// Commands that may be under way in the cloud: as many as its rates allow in a second, so that the looks between them have their turn, too.
const IN_CLOUD: usize = 4;
/// The same for messages, which a queue takes by the dozen.
const OF_MESSAGES: usize = 8;
/// The longest time between two looks at what waits.
const TICK: Duration = Duration::from_secs(1);

/// See the module's page.
pub(super) struct Work<'w> {
    engine: &'w mut dyn Engine,
    observer: &'w mut dyn Observer,
    options: &'w Options,
    line: Arc<Line>,
    told: mpsc::Receiver<Told>,
    /// Lists and watches; they end with the driver.
    feeds: JoinSet<()>,
    served: Vec<Resource>,
    cluster: Cluster,
    queue: Queue,
    under_way: JoinSet<(Command, Option<Prepared>, Carried)>,
    /// How many of these are where.
    busy: BTreeMap<Lane, usize>,
    /// What is seen of the cloud, where one is connected.
    outlook: Option<Outlook>,
    /// Messages that were received, where there is a queue.
    mailbox: Option<Mailbox>,
    /// Since when what was written keeps a decision waiting that is due.
    blocked: Option<Instant>,
    /// What was written and has not been seen, since when.
    unseen: Vec<(Written, Instant)>,
    /// Whether something is to be decided on that was not known at the last decision.
    is_due: bool,
    /// When it was decided last: by the server's clock, and by ours.
    decided: Option<(Time, Instant)>,
    wake_at: Option<Time>,
    has_begun: bool,
    is_held: bool,
    /// How long there is no leave to send anything.
    turn_in: Option<Duration>,
    end: Option<End>,
}

impl<'w> Work<'w> {
    /// Begins to list what the engine watches.
    pub(super) async fn begin(
        connection: &Connection,
        options: &'w Options,
        engine: &'w mut dyn Engine,
        observer: &'w mut dyn Observer,
    ) -> Result<Self, LiveError> {
        let (tell, told) = mpsc::channel(TOLD_MAX);
        let line = Arc::new(Line::new(connection.clone(), options, tell));
        let served = served_in_all_versions(connection).await?;
        let sources = followed(&served, &|kind| engine.watches(kind), options.records.as_deref());
        let mut feeds = JoinSet::new();
        for (place, source) in sources.iter().enumerate() {
            feeds.spawn(Feed::new(line.clone(), Source::clone(source), place, &options.run).follow());
        }
        let event =
            Event::Connected { server: connection.server().to_owned(), version: connection.version() };
        observer.story(line.clock.now(), &event);
        Ok(Self {
            engine,
            observer,
            options,
            line,
            told,
            feeds,
            served,
            cluster: Cluster::new(sources),
            queue: Queue::default(),
            under_way: JoinSet::new(),
            busy: BTreeMap::new(),
            outlook: options.cloud.clone().map(|cloud| Outlook::new(cloud, options.run.as_str())),
            mailbox: options.queue.clone().map(|queue| Mailbox::new(queue, options.run.as_str())),
            blocked: None,
            unseen: Vec::new(),
            is_due: true,
            decided: None,
            wake_at: None,
            has_begun: false,
            is_held: false,
            turn_in: None,
            end: None,
        })
    }

    /// Works until the run is over and every command is answered.
    pub(super) async fn run(mut self, waker: &Notify) -> Result<End, LiveError> {
        loop {
            while let Ok(told) = self.told.try_recv() {
                self.hear(told)?;
            }
            self.look();
            if let Some(end) = self.is_over() {
                self.feeds.abort_all();
                return Ok(end);
            }
            let pause = self.pause();
            tokio::select! {
                told = self.told.recv() => {
                    if let Some(told) = told {
                        self.hear(told)?;
                    }
                }
                carried = next(&mut self.under_way) => {
                    let (command, prepared, carried) = carried;
                    let busy = self.busy.entry(Lane::of(&command.effect)).or_default();
                    *busy = busy.saturating_sub(1);
                    self.carried(&command, prepared.as_ref(), carried);
                }
                looked = ends(&mut self.outlook) => self.looked(looked),
                received = receives(&mut self.mailbox) => self.received(received),
                () = waker.notified() => self.intend(),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Takes in what was told.
    fn hear(&mut self, told: Told) -> Result<(), LiveError> {
        match told {
            Told::Seen(place, seen) => {
                let learned = self.cluster.see(place, seen);
                self.is_due |= !learned.deltas.is_empty();
                for delta in learned.deltas {
                    self.engine.observe(delta);
                }
                for event in learned.events {
                    self.story(&event);
                }
                Ok(())
            }
            Told::Event(event) => {
                self.story(&event);
                Ok(())
            }
            Told::End(error) => Err(error),
        }
    }

    /// Does what can be done at the moment.
    fn look(&mut self) {
        if let Some(outlook) = self.outlook.as_mut().filter(|_| self.cluster.is_complete()) {
            outlook.look(&self.cluster.view);
        }
        let is_seen = self.outlook.as_ref().is_none_or(Outlook::is_complete);
        if !self.has_begun && self.cluster.is_complete() && is_seen {
            self.has_begun = true;
            let objects = self.cluster.view.number_of_objects();
            self.story(&Event::Complete { objects });
        }
        self.attend();
        self.catch_up();
        // Before a decision: what it then asks for once more waits here no longer.
        self.refuse_late();
        if self.may_decide() {
            self.intend();
            self.decide();
        }
        self.hold();
        self.send();
    }

    /// What was written and has been seen is waited for no more, nor what has not been seen for too long.
    fn catch_up(&mut self) {
        let cluster = &self.cluster;
        let before = self.unseen.len();
        self.unseen.retain(|(written, _)| !cluster.has_seen(written));
        let lagging: Vec<Written> = self
            .unseen
            .extract_if(.., |(_, since)| since.elapsed() > LAG_MAX)
            .map(|(written, _)| written)
            .collect();
        self.is_due |= self.unseen.len() < before;
        if let Some(outlook) = &mut self.outlook {
            self.is_due |= outlook.give_up(LAG_MAX);
        }
        for written in lagging {
            let waited = Span::from_secs(i64::try_from(LAG_MAX.as_secs()).unwrap_or(i64::MAX));
            let kind = written.untyped.map_or_else(|| written.object.kind.to_string(), |(_, kind)| kind);
            self.story(&Event::Lagging { object: format!("{kind} {}", written.object.key), waited });
        }
    }

    /// Takes in what was seen of the cloud.
    fn looked(&mut self, looked: (Instant, Result<Observed, String>)) {
        let Some(outlook) = &mut self.outlook else { return };
        let lagged = outlook.lags();
        let learned = outlook.see(looked, &mut self.cluster.view);
        self.is_due |= !learned.deltas.is_empty() || lagged && !outlook.lags();
        for delta in learned.deltas {
            self.engine.observe(delta);
        }
        for event in learned.events {
            self.story(&event);
        }
    }

    /// Receives messages, once there is something to decide on, and for as long as anything may be done about them; and gives back what others may receive by now.
    fn attend(&mut self) {
        let Some(mailbox) = &mut self.mailbox else { return };
        let now = self.line.clock.now();
        let gone = mailbox.give_back(now, &mut self.cluster.view);
        if self.has_begun && self.line.may_write() && self.end.is_none() {
            mailbox.poll();
        }
        self.is_due |= !gone.is_empty();
        gone.into_iter().for_each(|delta| self.engine.observe(delta));
    }

    /// Takes in what was received.
    fn received(&mut self, received: Result<Vec<Received>, String>) {
        let Some(mailbox) = &mut self.mailbox else { return };
        let learned = mailbox.receive(received, self.line.clock.now(), &mut self.cluster.view);
        self.is_due |= !learned.deltas.is_empty();
        for delta in learned.deltas {
            self.engine.observe(delta);
        }
        for event in learned.events {
            self.story(&event);
        }
    }

    /// What is not seen at the moment.
    fn hidden(&self) -> Vec<String> {
        let of_cloud = self.outlook.as_ref().and_then(Outlook::unseen);
        self.cluster.unseen().into_iter().chain(of_cloud).collect()
    }

    fn may_decide(&mut self) -> bool {
        if !self.has_begun || self.is_at_rest() {
            return false;
        }
        let lags = self.outlook.as_ref().is_some_and(Outlook::lags);
        if !self.unseen.is_empty() || lags {
            let since = *self.blocked.get_or_insert_with(Instant::now);
            if since.elapsed() < self.options.sight_max {
                return false;
            }
        } else {
            self.blocked = None;
        }
        let now = self.line.clock.now();
        let is_due = self.is_due || self.wake_at.is_some_and(|at| at <= now);
        // Where the server's clock was set back, time stands still for a while, and decisions are taken all the same.
        let is_next = |(decided, at): (Time, Instant)| decided < now || at.elapsed() > STILL_MAX;
        is_due && self.decided.is_none_or(is_next)
    }

    /// Whether nothing is decided any more.
    fn is_at_rest(&self) -> bool {
        self.end.is_some() && !self.engine.stands_by()
    }

    fn decide(&mut self) {
        let now = self.line.clock.now();
        let decision = self.engine.decide(now);
        self.observer.decided(now, &self.cluster.view, &decision);
        self.decided = Some((now, Instant::now()));
        self.blocked = None;
        self.is_due = false;
        self.wake_at = decision.wake_at;
        for command in decision.commands {
            self.queue.push(command);
        }
        if decision.end.is_some() {
            self.end = decision.end;
        }
    }

    /// Takes in what the operator asks.
    fn intend(&mut self) {
        while let Some(intent) = self.observer.intent() {
            self.engine.intend(intent);
            // A run that is over is taken up again: what is still to be done is the engine's to say.
            self.end = None;
            self.is_due = true;
        }
    }

    /// Says when what destroys something begins to wait, and when it goes on.
    fn hold(&mut self) {
        let resources = self.hidden();
        let commands = self.queue.destructive();
        match (self.is_held, resources.is_empty()) {
            (false, false) if commands > 0 => {
                self.is_held = true;
                self.story(&Event::Held { commands, resources });
            }
            (true, true) => {
                self.is_held = false;
                self.story(&Event::Released { commands });
            }
            (true | false, true | false) => {}
        }
    }

    /// What may be sent no more is answered so.
    fn refuse_late(&mut self) {
        let now = self.line.clock.now();
        while let Some(command) = self.queue.pop_late(|command| now > command.deadline) {
            self.answer(&command, Answer::Refused(Refusal::Late));
        }
    }

    /// Sends as much as may be sent: a request each, so that what is urgent does not wait behind what waits for its turn.
    fn send(&mut self) {
        if !self.line.may_write() {
            return;
        }
        let is_held = !self.hidden().is_empty();
        let mut rooms: BTreeMap<Lane, Room> = Lane::ALL.map(|lane| (lane, self.room(lane))).into();
        self.turn_in = None;
        while let Some((place, command)) = self.queue.pop(is_held, |lane| rooms[&lane]) {
            let lane = Lane::of(&command.effect);
            let now = self.line.clock.now();
            let (view, served) = (&self.cluster.view, &*self.served);
            let cloud = self.outlook.as_ref().map(|outlook| outlook.cloud().clone());
            let has_cloud = cloud.is_some();
            let known = Known { view, served, dry_run: self.options.dry_run, now, has_cloud };
            if let (Some(cloud), Effect::Group(_)) = (&cloud, &command.effect) {
                let (line, cloud) = (self.line.clone(), cloud.clone());
                self.spawn(lane, async move {
                    let answer = clouded::carry(&line, &*cloud, &command).await;
                    (command, None, Carried { answer, version: None })
                });
                rooms.insert(lane, self.room(lane));
                continue;
            }
            if let (Some(mailbox), Effect::Queue(effect)) = (&self.mailbox, &command.effect) {
                let (line, queue, effect) = (self.line.clone(), mailbox.queue().clone(), effect.clone());
                self.spawn(lane, async move {
                    let may_send = || line.may_write() && line.clock.now() <= command.deadline;
                    let order = Order { key: &command.key, may_send: &may_send, deadline: command.deadline };
                    let answer = queue.act(&effect, now, order).await;
                    (command, None, Carried { answer, version: None })
                });
                rooms.insert(lane, self.room(lane));
                continue;
            }
            let prepared = match prepare(&command, &known) {
                Err(refusal) => {
                    self.answer(&command, Answer::Refused(refusal));
                    continue;
                }
                Ok(prepared) => prepared,
            };
            if let Err(wait) = self.line.bucket.take() {
                self.queue.put_back(place, command);
                self.turn_in = Some(wait);
                rooms.insert(lane, Room::None);
                continue;
            }
            let line = self.line.clone();
            self.spawn(lane, async move {
                let (key, deadline) = (command.key.clone(), command.deadline);
                if let Some(cloud) = &cloud
                    && let Err(refusal) = clouded::is_terminated(&**cloud, &command).await
                {
                    return (command, None, Carried { answer: Answer::Refused(refusal), version: None });
                }
                let carried = carry(line, key, prepared.clone(), deadline).await;
                (command, Some(prepared), carried)
            });
            rooms.insert(lane, self.room(lane));
        }
    }

    /// For what there is room where commands are carried out.
    fn room(&self, lane: Lane) -> Room {
        let most = self.options.in_flight.max(1);
        let usual = match lane {
            Lane::Cluster => most,
            Lane::Cloud => most.min(IN_CLOUD),
            Lane::Messages => most.min(OF_MESSAGES),
        };
        let busy = self.busy.get(&lane).copied().unwrap_or(0);
        match (busy < usual, busy < usual + URGENT) {
            (true, _) => Room::Any,
            (false, true) => Room::Urgent,
            (false, false) => Room::None,
        }
    }

    fn spawn(
        &mut self,
        lane: Lane,
        carrying: impl Future<Output = (Command, Option<Prepared>, Carried)> + Send + 'static,
    ) {
        *self.busy.entry(lane).or_default() += 1;
        self.under_way.spawn(carrying);
    }

    /// A command has been carried out, or not.
    fn carried(&mut self, command: &Command, prepared: Option<&Prepared>, carried: Carried) {
        if carried.answer == Answer::Done {
            self.queue.drop_done(command);
        }
        if let Effect::Queue(effect) = &command.effect {
            let mailbox = self.mailbox.as_mut();
            let delta = mailbox.and_then(|own| own.settle(effect, &carried.answer, &mut self.cluster.view));
            delta.into_iter().for_each(|delta| self.engine.observe(delta));
            self.answer(command, carried.answer);
            return;
        }
        let Some(prepared) = prepared else {
            // Whatever the answer is: what it was taken on has to be looked at again.
            if let Some(outlook) = &mut self.outlook {
                outlook.has_changed();
            }
            self.answer(command, carried.answer);
            return;
        };
        if carried.answer == Answer::Done && self.options.dry_run == DryRun::None {
            self.await_sight(command, prepared, &carried);
        }
        self.answer(command, carried.answer);
    }

    /// What was written is to be seen before anything else is decided, where it can be.
    fn await_sight(&mut self, command: &Command, prepared: &Prepared, carried: &Carried) {
        let Effect::Kubernetes(effect) = &command.effect else { return };
        let state = match effect {
            KubernetesEffect::Evict { .. }
            | KubernetesEffect::DeletePod { .. }
            | KubernetesEffect::ForceDelete { .. }
            | KubernetesEffect::Delete { .. }
            | KubernetesEffect::DeleteNodeClaim { .. } => Some(State::Going),
            KubernetesEffect::Cordon { .. }
            | KubernetesEffect::Uncordon { .. }
            | KubernetesEffect::CordonByHand { .. }
            | KubernetesEffect::UncordonByHand { .. }
            | KubernetesEffect::Exclude { .. }
            | KubernetesEffect::RestartWorkload { .. }
            | KubernetesEffect::Replace { .. } => {
                carried.version.map(|version| State::Version { version, is_new: false })
            }
            KubernetesEffect::Create { .. } => {
                carried.version.map(|version| State::Version { version, is_new: true })
            }
        };
        let Some(state) = state else { return };
        let untyped = match effect {
            KubernetesEffect::Create { object: Object::Other(other) }
            | KubernetesEffect::Replace { object: Object::Other(other) } => {
                Some((other.group().to_owned(), other.kind.to_string()))
            }
            KubernetesEffect::Create { .. }
            | KubernetesEffect::Replace { .. }
            | KubernetesEffect::Evict { .. }
            | KubernetesEffect::DeletePod { .. }
            | KubernetesEffect::ForceDelete { .. }
            | KubernetesEffect::Delete { .. }
            | KubernetesEffect::DeleteNodeClaim { .. }
            | KubernetesEffect::Cordon { .. }
            | KubernetesEffect::Uncordon { .. }
            | KubernetesEffect::CordonByHand { .. }
            | KubernetesEffect::UncordonByHand { .. }
            | KubernetesEffect::Exclude { .. }
            | KubernetesEffect::RestartWorkload { .. } => None,
        };
        let object = prepared.object.clone();
        let is_followed = match &untyped {
            Some((group, kind)) => self.cluster.follows(&format!("{group}/v1"), kind),
            None => self.cluster.follows(object.kind.api_version(), object.kind.as_str()),
        };
        if is_followed {
            self.unseen.push((Written { object, untyped, state }, Instant::now()));
        }
    }

    /// Tells everybody what became of a command.
    fn answer(&mut self, command: &Command, answer: Answer) {
        let at = self.line.clock.now();
        self.observer.answered(command, &answer, at);
        self.engine.outcome(Outcome { key: command.key.clone(), at, answer });
        self.is_due = true;
    }

    fn story(&mut self, event: &Event) {
        self.observer.story(self.line.clock.now(), event);
    }

    /// How the run ended, once nothing is under way any more.
    fn is_over(&self) -> Option<End> {
        let is_idle = self.queue.is_empty() && self.under_way.is_empty();
        self.end.clone().filter(|_| is_idle && self.is_at_rest())
    }

    /// How long there is nothing to do if nothing is heard.
    fn pause(&self) -> Duration {
        let next = self.decided.map(|(decided, _)| decided + Span::from_secs(1));
        let due = if self.is_due { next } else { self.wake_at };
        let due = due.map_or(TICK, |at| self.line.clock.until(at));
        // A decision that waits for something else is not waited for any shorter than this.
        let look = self.outlook.as_ref().map_or(TICK, Outlook::pause);
        let mail = self.mailbox.as_ref().map_or(TICK, Mailbox::pause);
        due.min(mail).min(self.turn_in.unwrap_or(TICK)).min(look).clamp(Duration::from_millis(10), TICK)
    }
}

/// The next look at the cloud that ends; never, where there is none.
async fn ends(outlook: &mut Option<Outlook>) -> (Instant, Result<Observed, String>) {
    match outlook {
        Some(outlook) => outlook.ends().await,
        None => pending().await,
    }
}

/// What is received next; never, where there is no queue.
async fn receives(mailbox: &mut Option<Mailbox>) -> Result<Vec<Received>, String> {
    match mailbox {
        Some(mailbox) => mailbox.received().await,
        None => pending().await,
    }
}

/// The next one that is carried out; never, while nothing is under way.
async fn next(
    under_way: &mut JoinSet<(Command, Option<Prepared>, Carried)>,
) -> (Command, Option<Prepared>, Carried) {
    loop {
        match under_way.join_next().await {
            Some(Ok(carried)) => return carried,
            // Nothing is aborted, and what panics is to end the driver, too.
            Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            None => pending().await,
        }
    }
}
