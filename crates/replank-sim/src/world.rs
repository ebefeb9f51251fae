//! The world: everything simulated, moved forward event by event.

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::{Change, View};

use crate::agenda::Agenda;
use crate::api::Api;
use crate::controllers::{self, Controller, Ctx, WorkQueue};
use crate::draw::Draws;
use crate::kubelet::{self, KubeletModel, Kubelets};
use crate::scheduling::Scheduling;
use crate::trace::{Trace, TraceHash};

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A controller looks at an object.
    Sync(Controller, u32),
    /// A kubelet does the next thing for a pod.
    Kubelet(kubelet::Due),
    /// The scheduler takes the next pod from its queue.
    Schedule,
}

/// How the world is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When it begins.
    pub start: Time,
    /// Seed of all randomness.
    pub seed: u64,
    /// How kubelets behave.
    pub kubelet: KubeletModel,
}

/// Somebody who is shown every change, and changes nothing.
pub trait Observer {
    /// `change` has just happened; `view` has it.
    fn changed(&mut self, at: Time, change: &Change, view: &View);
}

/// The simulated cluster.
pub struct World {
    api: Api,
    agenda: Agenda<Event>,
    queue: WorkQueue,
    draws: Draws,
    scheduling: Scheduling,
    kubelets: Kubelets,
    trace: Trace,
    observers: Vec<Box<dyn Observer>>,
}

impl World {
    /// A world that holds the given objects as they are. Controllers look at each of them once.
    #[must_use]
    pub fn new(settings: Settings, objects: Vec<Object>) -> Self {
        let draws = Draws::new(settings.seed);
        let mut view = View::default();
        let mut changes = Vec::with_capacity(objects.len());
        for object in objects {
            changes.push(view.apply(Delta::Put(object)));
        }
        let mut world = Self {
            agenda: Agenda::new(settings.start),
            queue: WorkQueue::default(),
            draws,
            scheduling: Scheduling::load(&view),
            kubelets: Kubelets::new(settings.kubelet),
            trace: Trace::default(),
            observers: Vec::new(),
            api: Api::new(settings.start, view, draws),
        };
        for change in &changes {
            world.tell(change);
        }
        world
    }

    /// Shows every later change to an observer.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
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

    /// A request from outside, at the present moment.
    pub fn request<T>(&mut self, request: impl FnOnce(&mut Api) -> T) -> T {
        self.api.set_now(self.agenda.now());
        let answer = request(&mut self.api);
        self.settle();
        answer
    }

    /// Lets everything happen that is due until `end`, and moves time there.
    pub fn run_until(&mut self, end: Time) {
        while let Some(event) = self.agenda.pop_until(end) {
            self.api.set_now(self.agenda.now());
            self.handle(event);
            self.settle();
        }
        self.agenda.advance_to(end);
        self.api.set_now(end);
    }

    fn handle(&mut self, event: Event) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        match event {
            Event::Sync(controller, slot) => controllers::sync(&mut ctx, controller, slot),
            Event::Kubelet(due) => self.kubelets.handle(&mut ctx, due),
            Event::Schedule => self.scheduling.take_next(&mut ctx),
        }
    }

    /// Shows all changes to all who watch. Watchers only note what they have to do.
    fn settle(&mut self) {
        while let Some(change) = self.api.next_change() {
            self.trace.take(self.agenda.now(), &change);
            self.tell(&change);
            for observer in &mut self.observers {
                observer.changed(self.agenda.now(), &change, self.api.view());
            }
        }
    }

    fn tell(&mut self, change: &Change) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.scheduling.watch(&mut ctx, change);
        self.kubelets.watch(&mut ctx, change);
        controllers::watch(&mut ctx, change);
    }
}
