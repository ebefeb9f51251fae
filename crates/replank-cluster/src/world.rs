//! A world as the owner of a served cluster sees it.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use replank_api::{Cluster, Owner, Pace};
use replank_apiserver::ResourceType;
use replank_apiserver::json::{Request, Response};
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_rehearse::completed;
use replank_sim::{CloudTimings, KubeletModel, Observer, Settings, World};
use std::thread::JoinHandle;

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
}

/// Begins a cluster in a thread of its own.
///
/// # Panics
/// Where a thread cannot be begun.
#[must_use]
pub fn begin(begin: Begin) -> (Owner, JoinHandle<()>) {
    let Begin { view, seed, kubelet, cloud, pace } = begin;
    let settings = Settings { start: pace.now(), seed, kubelet, cloud };
    let make = move || Ok::<Box<dyn Cluster>, Infallible>(Box::new(Served::new(view, settings)));
    match Owner::spawn(make, pace) {
        Ok(begun) => begun,
        Err(never) => match never {},
    }
}

/// A world, and what has changed in it since somebody asked.
struct Served {
    world: World,
    changes: Rc<RefCell<Vec<Change>>>,
}

impl Served {
    fn new(view: View, settings: Settings) -> Self {
        let mut world = World::new(settings, completed(view));
        world.assume_operators();
        let changes = Rc::<RefCell<Vec<Change>>>::default();
        world.observe(Box::new(Taker(changes.clone())));
        Self { world, changes }
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
        self.world.request(|api| api.handle(request))
    }

    fn run_until(&mut self, moment: Time) {
        self.world.run_until(moment);
    }

    fn next_due(&self) -> Option<Time> {
        self.world.next_due()
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
        self.changes.take()
    }
}
