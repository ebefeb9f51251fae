//! A world as the owner of a served cluster sees it.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use replank_api::{Cluster, Owner, Pace};
use replank_apiserver::json::{Request, Response};
use replank_apiserver::{ResourceType, Serving};
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_rehearse::completed;
use replank_sim::{CloudTimings, KubeletModel, Observer, Settings, World};
use std::thread::JoinHandle;

use crate::bootstrap::furnish;
use crate::controllers::Controllers;
use crate::trust::Trust;

/// What a served cluster begins with.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Everything there is.
    pub view: View,
    /// Seed of all randomness.
    pub seed: u64,
    /// How kubelets behave.
    pub kubelet: KubeletModel,
    /// How long the cloud takes.
    pub cloud: CloudTimings,
    /// How time passes.
    pub pace: Pace,
    /// What the cluster's own components know.
    pub trust: Trust,
    /// What the API server does beyond what a rehearsal needs.
    pub serving: Serving,
}

/// Begins a cluster in a thread of its own.
///
/// # Panics
/// Where a thread cannot be begun.
#[must_use]
pub fn begin(begin: Begin) -> (Owner, JoinHandle<()>) {
    let Begin { view, seed, kubelet, cloud, pace, trust, serving } = begin;
    let settings = Settings { start: pace.now(), seed, kubelet, cloud };
    let make =
        move || Ok::<Box<dyn Cluster>, Infallible>(Box::new(Served::new(view, settings, trust, serving)));
    match Owner::spawn(make, pace) {
        Ok(begun) => begun,
        Err(never) => match never {},
    }
}

/// A world, and what has changed in it since somebody asked.
struct Served {
    world: World,
    controllers: Controllers,
    /// Changes that the controllers have not been told of.
    untold: Rc<RefCell<Vec<Change>>>,
    changes: Vec<Change>,
}

impl Served {
    fn new(view: View, settings: Settings, trust: Trust, serving: Serving) -> Self {
        let mut world = World::new(settings, completed(view));
        world.assume_operators();
        furnish(&mut world);
        world.request(|api| api.serve(serving));
        let mut controllers = Controllers::new(trust);
        for change in world.view().as_changes() {
            controllers.note(world.now(), &change);
        }
        let untold = Rc::<RefCell<Vec<Change>>>::default();
        world.observe(Box::new(Taker(untold.clone())));
        Self { world, controllers, untold, changes: Vec::new() }
    }

    /// Tells the controllers what has changed.
    fn tell(&mut self) {
        let now = self.world.now();
        for change in self.untold.take() {
            self.controllers.note(now, &change);
            self.changes.push(change);
        }
    }
}

/// Keeps changes until they are asked for.
struct Taker(Rc<RefCell<Vec<Change>>>);

impl Observer for Taker {
    fn changed(&mut self, _: Time, change: &Change, _: &View) {
        self.0.borrow_mut().push(change.clone());
    }
}

impl Cluster for Served {
    fn handle(&mut self, request: &Request) -> Response {
        let response = self.world.request(|api| api.handle(request));
        self.tell();
        // What a new namespace has is there before anybody can ask for it.
        self.controllers.run(&mut self.world);
        self.tell();
        response
    }

    fn run_until(&mut self, moment: Time) {
        loop {
            let due = self.controllers.next_due().filter(|due| *due <= moment);
            self.world.run_until(due.unwrap_or(moment));
            self.tell();
            self.controllers.run(&mut self.world);
            self.tell();
            if self.controllers.next_due().is_none_or(|due| due > moment) && due.is_none() {
                return;
            }
        }
    }

    fn next_due(&self) -> Option<Time> {
        [self.world.next_due(), self.controllers.next_due()].into_iter().flatten().min()
    }

    fn version(&self) -> u64 {
        self.world.version()
    }

    fn custom_resources(&self) -> Vec<ResourceType> {
        self.world.custom_resources()
    }

    fn objects(&self) -> Vec<Object> {
        self.world.view().objects()
    }

    fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }
}
