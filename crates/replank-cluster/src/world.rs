//! A world as the owner of a served cluster sees it.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::thread::JoinHandle;

use replank_api::{Cluster, Manage, Owner, Pace};
use replank_apiserver::ResourceType;
use replank_apiserver::json::{Request, Response};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_rehearse::completed;
use replank_sim::{CloudTimings, KubeletModel, Observer, Settings, World};
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::journal::{Files, Kept};
use crate::keeper::{self, Keeper};

/// What a served cluster begins with.
#[derive(Debug)]
pub struct Begin {
    /// Everything there is.
    pub start: Start,
    /// Seed of all randomness.
    pub seed: u64,
    /// How kubelets behave.
    pub kubelet: KubeletModel,
    /// How long the cloud takes.
    pub cloud: CloudTimings,
    /// How time passes.
    pub pace: Pace,
    /// The files that it is kept in, if it is to survive the process.
    pub files: Option<Files>,
}

/// What a cluster starts from.
#[derive(Debug)]
pub enum Start {
    /// Objects, from which everything else follows.
    Objects(Box<View>),
    /// What was kept of an earlier process.
    Kept(Box<Kept>),
}

/// Begins a cluster in a thread of its own.
///
/// # Errors
/// Where the files cannot be written, or hold what cannot be read.
///
/// # Panics
/// Where a thread cannot be begun.
pub fn begin(begin: Begin) -> io::Result<(Owner, JoinHandle<io::Result<()>>)> {
    let pace = begin.pace.clone();
    let make = move || Ok::<Box<dyn Cluster>, io::Error>(Box::new(Served::new(begin)?));
    Owner::spawn(make, pace)
}

/// A world, and what has changed in it since somebody asked.
struct Served {
    world: World,
    changes: Rc<RefCell<Vec<Change>>>,
    faults: Faults,
    keeper: Option<Keeper>,
}

impl Served {
    fn new(begin: Begin) -> io::Result<Self> {
        let Begin { start, seed, kubelet, cloud, pace, files } = begin;
        let settings = Settings { start: pace.now(), seed, kubelet, cloud };
        let (mut world, faults, kept) = match start {
            Start::Objects(view) => (World::new(settings, completed(*view)), Faults::default(), None),
            Start::Kept(kept) => {
                let known = (kept.version, kept.log_len);
                let (world, faults) = resume(settings, *kept)?;
                (world, faults, Some(known))
            }
        };
        world.assume_operators();
        let changes = Rc::<RefCell<Vec<Change>>>::default();
        world.observe(Box::new(Taker(changes.clone())));
        let keeper = files.map(|files| Keeper::begin(files, &world, &faults, kept)).transpose()?;
        Ok(Self { world, changes, faults, keeper })
    }

    fn status(&self) -> Value {
        let view = self.world.view();
        json!({
            "nodes": view.nodes.len(), "pods": view.pods.len(), "objects": view.objects().len(),
            "resourceVersion": self.world.version().to_string(),
            "next": self.world.next_due().map(|due| due.to_string()),
            "faults": self.faults.going_on(), "isKept": self.keeper.is_some(),
        })
    }
}

/// A world that goes on from what was kept.
fn resume(settings: Settings, kept: Kept) -> io::Result<(World, Faults)> {
    let remembered = keeper::remembered(&kept).map_err(io::Error::other)?;
    // Names and uids are drawn by the seed and counters that begin anew: another seed draws others.
    let seed = settings.seed ^ kept.version.rotate_left(32) ^ settings.start.as_millis().unsigned_abs();
    let start = settings.start.max(Time::from_millis(kept.time));
    let view: View = kept.objects.into_iter().map(Delta::Put).collect();
    let world = World::resume(Settings { start, seed, ..settings }, view, remembered.world, kept.version);
    Ok((world, remembered.faults))
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

    fn keep(&mut self, changes: &[Change]) -> io::Result<()> {
        match &mut self.keeper {
            Some(keeper) => keeper.keep(&self.world, &self.faults, changes),
            None => Ok(()),
        }
    }

    fn manage(&mut self, ask: &Manage) -> Result<Value, String> {
        match ask {
            Manage::Status | Manage::Advance { .. } => Ok(self.status()),
            Manage::Faults => Ok(self.faults.list()),
            Manage::Start { words } => self.faults.start(&mut self.world, words),
            Manage::Clear { number } => self.faults.clear(&mut self.world, *number),
        }
    }
}
