//! The course of the world: what is due is done, and everybody is told of what changes.

use std::sync::Arc;

use replank_facts::pod_groups;
use replank_hpa::{Rival, Scale, ScaleError};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;

use super::observer::Observer;
use crate::agenda::Agenda;
use crate::asked::{Asked, Asker, ask};
use crate::cloud::SimulatedCloud;
use crate::context::{Ctx, WorkQueue};
use crate::controllers::autoscaling;
use crate::controllers::control::Control;
use crate::controllers::{PodChange, Workloads};
use crate::driver::{self, Driver, DriverBug, Found, Mishaps, Network, Sent};
use crate::durations::Assumption;
use crate::event::{DriverDue, Event};
use crate::kubelet::{KubeletModel, Kubelets};
use crate::load::Load;
use crate::memory::{self, Memory, Remembered};
use crate::scheduling::Scheduling;
use crate::ties::{SharedTies, TieBreaker};
use crate::timing::CloudTimings;
use crate::trace::{Trace, TraceHash};
use replank_apiserver::draw::Draws;
use replank_apiserver::{Api, Clock, ResourceType};
use replank_protocol::engine::Engine;

/// How the world is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When it begins.
    pub start: Time,
    /// Seed of all randomness.
    pub seed: u64,
    /// How kubelets behave.
    pub kubelet: KubeletModel,
    /// How long the cloud takes.
    pub cloud: CloudTimings,
}

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It is to be checked.
    Check,
    /// It was checked, and is to be carried out.
    Act,
}

/// The simulated cluster.
pub struct World {
    pub(super) api: Api,
    pub(super) agenda: Agenda<Event>,
    pub(super) queue: WorkQueue,
    workloads: Workloads,
    pub(super) draws: Draws,
    scheduling: Scheduling,
    pub(super) kubelets: Kubelets,
    pub(super) control: Control,
    pub(super) cloud: SimulatedCloud,
    driver: Option<Driver>,
    /// How long somebody leaves an empty node before they take its machine away, where a script says it.
    pub(super) replaces_after: Option<Span>,
    /// How soon whoever is put in charge sees changes, where a script says it.
    sight: Option<Span>,
    trace: Trace,
    observers: Vec<Box<dyn Observer>>,
    /// Counts what may have changed the memory.
    pub(super) touched: u64,
    /// Whether what changes at present is a client's doing.
    pub(super) is_asked_by_client: bool,
}

impl World {
    /// A world that begins with everything in a view as it is. Controllers look at each object once.
    #[must_use]
    pub fn new(settings: Settings, view: View) -> Self {
        Self::begin(settings, view, None)
    }

    /// A world that goes on: with everything in a view, with what another remembered, and with that one's counter of versions. Controllers look at each
    /// object once; what was due in the cloud meanwhile is due at once.
    #[must_use]
    pub fn resume(settings: Settings, mut view: View, memory: Memory, version: u64) -> Self {
        let groups = memory.groups.iter().map(|group| Delta::Group(group.clone().into()));
        let instances = memory.instances.iter().map(|instance| Delta::Instance(instance.clone().into()));
        let messages = memory.messages.iter().map(|message| Delta::Message(message.clone().into()));
        for delta in groups.chain(instances).chain(messages) {
            view.apply(delta);
        }
        let silent = memory.silent.clone();
        let mut world = Self::begin(settings, view, Some((memory, version)));
        for node in &silent {
            world.silence(node);
        }
        world
    }

    fn begin(settings: Settings, view: View, known: Option<(Memory, u64)>) -> Self {
        let clock = Clock::new(settings.start);
        let draws = Draws::new(settings.seed);
        let changes = view.as_changes();
        let mut world = Self {
            agenda: Agenda::new(clock.clone()),
            queue: WorkQueue::default(),
            workloads: Workloads::default(),
            draws,
            scheduling: Scheduling::load(&view),
            kubelets: Kubelets::new(settings.kubelet),
            control: Control::new(settings.cloud),
            cloud: SimulatedCloud::new(settings.cloud),
            driver: None,
            replaces_after: None,
            sight: None,
            trace: Trace::default(),
            observers: Vec::new(),
            touched: 0,
            is_asked_by_client: false,
            api: Api::new(clock, view, draws),
        };
        world.api.ask_about_pods(pod_groups::with_interface);
        match known {
            None => changes.iter().for_each(|change| world.tell(change)),
            Some((memory, version)) => {
                world.api.go_on_from(version);
                changes.iter().for_each(|change| world.tell_others(change));
                world.cloud.remember(memory.cloud, world.api.view());
                world.kubelets.remember(memory.faults);
                memory::put_down(&mut world.agenda, memory.due);
            }
        }
        let mut ctx = Ctx {
            api: &mut world.api,
            agenda: &mut world.agenda,
            queue: &mut world.queue,
            draws: &world.draws,
        };
        world.control.start(&mut ctx);
        world.kubelets.look_at_nodes(&mut ctx);
        world.settle();
        for node in world.unheard() {
            world.silence(&node);
        }
        world
    }

    /// Nodes that are known to be silent at the beginning.
    fn unheard(&self) -> Vec<NodeName> {
        let nodes = self.api.view().nodes.sorted();
        let is_unheard = |node: &Node| {
            condition::find(&node.status.conditions, "Ready")
                .is_some_and(|ready| ready.status == ConditionStatus::Unknown)
        };
        nodes.into_iter().filter(|(_, node)| is_unheard(node)).map(|(_, node)| node.name()).collect()
    }

    /// Shows every later change to an observer.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
    }

    /// Lets somebody else draw the lots that the real components draw among equals.
    pub fn leave_ties_to(&mut self, ties: Box<dyn TieBreaker>) {
        let ties = SharedTies::new(ties);
        self.scheduling.leave_ties_to(ties.clone());
        self.workloads.leave_ties_to(ties);
    }

    /// Lets custom resources be looked after, as their operators would: see [`crate::controllers::operators`].
    pub fn assume_operators(&mut self) {
        self.control.assume_operators();
    }

    /// Says what the targets of autoscalers are asked to do over time: see [`crate::load`].
    pub fn load(&mut self, loads: Vec<Load>) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.control.load(&mut ctx, loads);
        self.settle();
    }

    /// What had to be assumed of custom resources so far.
    pub fn assumptions(&self) -> impl Iterator<Item = Assumption> + '_ {
        self.control.assumptions()
    }

    /// The scale of what an autoscaler scales, as its controller reads it.
    ///
    /// # Errors
    /// Where there is none.
    pub fn scale_of(&self, autoscaler: &HorizontalPodAutoscaler) -> Result<Scale, ScaleError> {
        autoscaling::scale(&self.api, &autoscaling::address(&self.api, autoscaler))
    }

    /// The other autoscalers of its namespace, as far as they have a target.
    #[must_use]
    pub fn rivals_of(&self, autoscaler: &HorizontalPodAutoscaler) -> Vec<Rival> {
        autoscaling::rivals(&self.api, autoscaler)
    }

    /// Puts somebody in charge: they are shown everything there is, late from then on, and what they command is done.
    pub fn put_in_charge(&mut self, engine: Box<dyn Engine>) {
        let mut driver = Driver::connect(engine, self.api.view(), &mut self.agenda);
        self.sight.iter().for_each(|span| driver.see_within(*span));
        self.driver = Some(driver);
    }

    /// Whoever is in charge sees changes and answers within this time.
    pub(super) fn see_within(&mut self, span: Span) {
        self.sight = Some(span);
        if let Some(driver) = &mut self.driver {
            driver.see_within(span);
        }
    }

    /// Puts a network between the engine and everything else, from now on. Does nothing without an engine.
    pub fn disturb(&mut self, network: Network) {
        if let Some(driver) = &mut self.driver {
            driver.disturb(network);
        }
    }

    /// What has gone wrong on the network so far.
    #[must_use]
    pub fn mishaps(&self) -> Mishaps {
        self.driver.as_ref().map(Driver::mishaps).unwrap_or_default()
    }

    /// Plants a bug in the driver: a test's only. Nothing if nobody is in charge.
    pub fn plant(&mut self, bug: DriverBug) {
        if let Some(driver) = &mut self.driver {
            driver.bug = Some(bug);
        }
    }

    /// How often a planted bug had its chance, where that can be told.
    #[must_use]
    pub fn wrongs(&self) -> usize {
        self.driver.as_ref().map_or(0, |driver| driver.wrongs)
    }

    /// What was last decided; `None` if nobody is in charge.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        self.driver.as_ref().map(|driver| &driver.last)
    }

    /// How the run ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.driver.as_ref().and_then(|driver| driver.end.as_ref())
    }

    /// When the run ended, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<Time> {
        self.driver.as_ref().and_then(|driver| driver.ended)
    }

    /// Lets the engine keep deciding after the run's end, until a moment: what happens then, an interruption above all, is handled
    /// as before. Nothing if nobody is in charge.
    pub fn stay_until(&mut self, until: Time) {
        if let Some(driver) = &mut self.driver {
            driver.stays_until = Some(until);
        }
    }

    /// Until when there is anything to be seen if nothing happens by then; `end` as long as the run goes on.
    #[must_use]
    pub fn looked_at_until(&self, end: Time) -> Time {
        let Some(driver) = self.driver.as_ref().filter(|driver| driver.end.is_some()) else { return end };
        driver.stays_until.map_or(self.now(), |until| until.clamp(self.now(), end.max(self.now())))
    }

    /// All commands so far and what became of them.
    #[must_use]
    pub fn commands(&self) -> &[Sent] {
        self.driver.as_ref().map_or(&[], |driver| &driver.sent)
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Time {
        self.agenda.now()
    }

    /// Everything there is.
    #[must_use]
    pub fn view(&self) -> &View {
        self.api.view()
    }

    /// When the next thing happens; `None` if nothing is left that could.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.agenda.next_due()
    }

    /// What it remembers that its objects do not tell, as JSON that reads as [`Memory`].
    #[must_use]
    pub fn memory(&self) -> String {
        let view = self.api.view();
        let (silent, faults) = self.kubelets.misbehaving();
        let remembered = Remembered {
            groups: view.groups().values().map(|group| &**group).collect(),
            instances: view.instances().values().map(|instance| &**instance).collect(),
            messages: view.messages().values().map(|message| &**message).collect(),
            cloud: &self.cloud,
            due: memory::due(&self.agenda),
            silent,
            faults,
        };
        serde_json::to_string(&remembered).expect("it is plain data")
    }

    /// A number that rises when [`World::memory`] may have changed.
    #[must_use]
    pub fn touched(&self) -> u64 {
        self.touched
    }

    /// Notes that something was changed from outside that its objects do not tell.
    pub(crate) fn touch(&mut self) {
        self.touched += 1;
    }

    /// The hash of everything that has happened so far.
    #[must_use]
    pub fn trace_hash(&self) -> TraceHash {
        self.trace.hash()
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.agenda.taken
    }

    /// The version of the last write.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.api.version()
    }

    /// Resources that definitions declare, each served version of each.
    #[must_use]
    pub fn custom_resources(&self) -> Vec<ResourceType> {
        self.api.custom_resources()
    }

    /// A request from outside, at the present moment.
    pub fn request<T>(&mut self, request: impl FnOnce(&mut Api) -> T) -> T {
        let answer = request(&mut self.api);
        self.settle();
        answer
    }

    /// As [`World::request`], of a client that runs the kubelets of the nodes that it makes: [`World::leave_kubelet_to_client`] follows.
    pub fn request_of_client<T>(&mut self, request: impl FnOnce(&mut Api) -> T) -> T {
        self.is_asked_by_client = true;
        let answer = self.request(request);
        self.is_asked_by_client = false;
        answer
    }

    /// Passes an intent to the engine. Whether there is one.
    pub fn intend(&mut self, intent: Intent) -> bool {
        let Some(driver) = &mut self.driver else { return false };
        driver.intend(&mut self.agenda, intent);
        true
    }

    /// Restarts the engine, as another process that takes over: it is shown all objects, and answers to what it had
    /// sent before are lost. Whether anybody is in charge.
    pub fn start_anew(&mut self) -> bool {
        let Some(driver) = &mut self.driver else { return false };
        driver.start_anew(self.api.view(), &mut self.agenda);
        true
    }

    /// Lets the next thing happen that is due until `end`; whether there was one.
    pub fn step_until(&mut self, end: Time) -> bool {
        let Some(event) = self.agenda.pop_until(end) else { return false };
        self.handle(event);
        self.settle();
        true
    }

    /// Lets everything happen that is due until `end`, and moves time there.
    pub fn run_until(&mut self, end: Time) {
        while self.step_until(end) {}
        self.agenda.advance_to(end);
    }

    fn handle(&mut self, event: Event) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        match event {
            Event::Control(due) => {
                for node in self.control.handle(&mut ctx, due) {
                    self.kubelets.fall_silent(&node);
                    self.control.node_fell_silent(&mut ctx, &node);
                }
                for asked in self.control.take_asked() {
                    self.tell_what_was_asked(&asked);
                }
            }
            Event::Sync(controller, slot) => self.workloads.sync(&mut ctx, controller, slot),
            Event::Resume(controller, slot) => self.workloads.resume(&mut ctx, controller, slot),
            Event::SyncLater(controller, slot) => {
                self.workloads.pause_is_over(&mut ctx, controller, slot);
            }
            Event::Kubelet(due) => self.kubelets.handle(&mut ctx, due),
            Event::NodePressure(slot) => self.kubelets.node_pressure(&mut ctx, slot),
            Event::Schedule(due) => self.scheduling.handle(&mut ctx, due),
            Event::Cloud(due) => {
                self.touched += 1;
                if let Some(node) = self.cloud.handle(&mut ctx, due) {
                    self.kubelets.fall_silent(&node);
                    self.control.node_fell_silent(&mut ctx, &node);
                }
                for asked in self.cloud.take_asked() {
                    self.tell_what_was_asked(&asked);
                }
            }
            Event::Driver(due) => self.drive(due),
        }
        self.hand_over();
    }

    /// Shows observers what somebody has asked for.
    fn tell_what_was_asked(&mut self, asked: &Asked) {
        for observer in &mut self.observers {
            observer.asked(self.agenda.now(), asked, self.api.view());
        }
    }

    /// Somebody asks for a pod's eviction, once; the server's words where it refuses.
    pub(crate) fn evict_by_hand(&mut self, pod: Arc<Pod>) -> Result<(), String> {
        let asked = ask(&mut self.api, pod, Asker::Person);
        self.tell_what_was_asked(&asked);
        self.settle();
        asked.refused.map_or(Ok(()), Err)
    }

    /// Shows observers what the cloud has said about instances.
    pub(super) fn tell_what_was_said(&mut self) {
        for (instance, told) in self.cloud.take_said() {
            for observer in &mut self.observers {
                observer.told(self.agenda.now(), &instance, told, self.api.view());
            }
        }
    }

    /// Shows the engine what the queue has delivered.
    fn hand_over(&mut self) {
        self.tell_what_was_said();
        for delta in self.cloud.take_deliveries() {
            if let Some(driver) = &mut self.driver {
                driver.told(&mut self.agenda, delta);
            }
        }
    }

    fn drive(&mut self, due: DriverDue) {
        let Some(driver) = &mut self.driver else { return };
        match due {
            DriverDue::Deliver(stream) => {
                let observers = &mut self.observers;
                let mut tell = |at: Time, delta: &Delta, view: &View| {
                    observers.iter_mut().for_each(|observer| observer.shown(at, delta, view));
                };
                driver.deliver(&mut self.agenda, &self.draws, self.api.view(), stream, &mut tell);
            }
            DriverDue::Decide => {
                if driver.decide(&mut self.agenda, &self.draws) {
                    for observer in &mut self.observers {
                        observer.decided(self.agenda.now(), &driver.last);
                    }
                }
            }
            DriverDue::Answer(number) => {
                if driver.repeats(number) {
                    self.repeat(number);
                }
                let is_there = self.is_read_back(number);
                if let Some(driver) = &mut self.driver {
                    driver.answer(&mut self.agenda, number, is_there);
                }
            }
            DriverDue::Execute(number) => self.carry_out(number, Step::Check),
            DriverDue::Act(number) => self.carry_out(number, Step::Act),
        }
    }

    /// Whether a command of which no answer came is read back, and found done. A read may get no answer either.
    fn is_read_back(&mut self, number: u32) -> bool {
        let Some(driver) = &mut self.driver else { return false };
        let is_read = driver.reads_back(&self.draws, number);
        let ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        let command = &driver.sent[number as usize].command;
        is_read && driver::check(&ctx, command, driver.bug) == Ok(Found::DoneAlready)
    }

    /// Checks a command and carries it out, at once or a moment later.
    fn carry_out(&mut self, number: u32, from: Step) {
        let Some(driver) = &mut self.driver else { return };
        if driver.is_given_up(number) {
            return;
        }
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        let command = &driver.sent[number as usize].command;
        let checked = match from {
            Step::Check => driver::check(&ctx, command, driver.bug),
            Step::Act => Ok(Found::AsExpected),
        };
        if (from, &checked) == (Step::Check, &Ok(Found::AsExpected)) && driver.checked(ctx.agenda, number) {
            return;
        }
        let command = &driver.sent[number as usize].command;
        let result = checked.and_then(|found| match found {
            Found::AsExpected => driver::act(&mut ctx, &mut self.cloud, command, driver.bug),
            Found::DoneAlready => Ok(()),
        });
        let sent = driver.executed(&mut self.agenda, &self.draws, number, result);
        for observer in &mut self.observers {
            observer.executed(self.agenda.now(), sent, self.api.view());
        }
    }

    /// A call is sent once more: it is another effect.
    fn repeat(&mut self, number: u32) {
        let Some(driver) = &mut self.driver else { return };
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        let mut sent = driver.sent[number as usize].clone();
        let result = driver::act(&mut ctx, &mut self.cloud, &sent.command, driver.bug);
        sent.result = Some((self.agenda.now(), result));
        for observer in &mut self.observers {
            observer.executed(self.agenda.now(), &sent, self.api.view());
        }
    }

    /// Shows all changes to all who watch. Watchers only note what they have to do.
    pub(super) fn settle(&mut self) {
        while let Some(change) = self.api.next_change() {
            self.trace.take(self.agenda.now(), &change);
            self.tell(&change);
            for observer in &mut self.observers {
                observer.changed(self.agenda.now(), &change, self.api.view());
            }
        }
    }

    fn tell(&mut self, change: &Change) {
        let is_cloud = match change {
            Change::Group { .. } | Change::Instance { .. } | Change::Message { .. } => true,
            Change::Object { old, new, .. } => {
                let is_node = |one: &Option<Object>| matches!(one, Some(Object::Node(_)));
                old.is_none() != new.is_none() && (is_node(old) || is_node(new))
            }
            Change::Unread(_) | Change::Stale => false,
        };
        self.touched += u64::from(is_cloud);
        if let Change::Object { old: None, new: Some(Object::Node(node)), .. } = change {
            self.name_is_given_anew(&node.name());
        }
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.scheduling.watch(&mut ctx, change);
        self.kubelets.watch(&mut ctx, change);
        self.cloud.watch(&mut ctx, change);
        tell_controllers(&mut self.workloads, &mut self.control, &mut ctx, change);
        if let Some(driver) = &mut self.driver {
            driver.watch(&mut self.agenda, &self.draws, change);
        }
    }

    /// As [`World::tell`], to all but the cloud, which knows already.
    fn tell_others(&mut self, change: &Change) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.scheduling.watch(&mut ctx, change);
        self.kubelets.watch(&mut ctx, change);
        tell_controllers(&mut self.workloads, &mut self.control, &mut ctx, change);
        if let Some(driver) = &mut self.driver {
            driver.watch(&mut self.agenda, &self.draws, change);
        }
    }
}

/// Tells the controllers of a change. Most changes are of pods: what all ask about those is found out once.
fn tell_controllers(workloads: &mut Workloads, control: &mut Control, ctx: &mut Ctx<'_>, change: &Change) {
    match PodChange::of(change) {
        Some(pod) => {
            workloads.pod_changed(ctx, change, &pod);
            control.pod_changed(ctx, change, &pod);
        }
        None => {
            workloads.watch(ctx, change);
            control.watch(ctx, change);
        }
    }
}
