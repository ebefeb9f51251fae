//! Trials: a random cluster is rolled, watched by the checkers.

pub mod bug;
pub mod bugs;
mod cores;
pub mod forget;
mod neighbour;
mod racer;
mod rest;
mod strike;
mod table;

use std::cell::RefCell;
use std::rc::Rc;

use replank_advice::preflight;
use replank_core::Core;
use replank_core::scale::Autoscaler;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{OnFailure, Plan};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::text::RunId;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::engine::Engine;
use replank_sim::{CloudTimings, KubeletModel, LATE_DELIVERY_MAX, Settings, World};

pub use table::{Floor, Table};

use crate::check::{Checkers, Promised, Watching};
use crate::clusters::{BEGIN, Cluster, SETTLED};
use neighbour::Acts;
use racer::{Intruder, Racer};

use crate::successor::{Beside, Origin, Starts, Successor};
use cores::everything;
pub use cores::{Cores, Trial};

/// The run's name.
const RUN: &str = "trial";
/// Longer than any trial.
const AGES: Span = Span::from_minutes(60 * 24 * 365);
/// More events than this in one run, and so many in each hour of it, are no run but a loop.
const EVENTS_MAX: u64 = 600_000;
const EVENTS_PER_HOUR_MAX: u64 = 20_000;

/// So many broken promises are enough: what goes on meanwhile may be a storm.
const ENOUGH: usize = 200;

/// Rolls a cluster with core in charge, which is started anew as often as the cluster says, each time from what is there alone.
#[must_use]
pub fn run(cluster: &Cluster) -> Trial {
    let starts = Rc::<RefCell<Starts>>::default();
    let counted = starts.clone();
    let trial = run_with(cluster, |cores, _| Box::new(Successor::new(Box::new(cores), counted)));
    Trial { starts: *starts.borrow(), ..trial }
}

/// Rolls a cluster with an engine around core in charge. `engine` makes it from core; `Cores` makes more cores for the same run.
pub fn run_with(cluster: &Cluster, engine: impl FnOnce(Cores, Core) -> Box<dyn Engine>) -> Trial {
    roll(cluster, settled(cluster), engine)
}

/// Rolls a cluster whose objects come from a snapshot of it, in the order that `shuffle` leaves them in.
pub fn run_from_snapshot(cluster: &Cluster, shuffle: impl FnOnce(&mut Vec<Delta>)) -> Trial {
    let world = settled(cluster);
    let (start, mut deltas) = (world.now(), everything(world.view()));
    shuffle(&mut deltas);
    let world = World::new(settings(cluster, start), deltas.into_iter().collect());
    roll(cluster, world, |_, core| Box::new(core))
}

impl Cores {
    /// One more.
    #[must_use]
    pub fn fresh(&self) -> Core {
        self.with(|_| {})
    }

    /// One that has another plan.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Plan)) -> Core {
        let mut plan = self.plan.clone();
        change(&mut plan);
        let core = Core::new(plan, RunId::from(RUN), self.options.clone(), preflight::blocking);
        self.beside.given_to(core.with_record())
    }
}

impl Origin for Cores {
    fn fresh(&self) -> Core {
        self.fresh()
    }

    /// Whoever cannot read the record panics: nobody but the run writes it.
    fn resumed(&self, view: &View) -> Option<Core> {
        let found = Core::resume(view, Some(&RunId::from(RUN)), preflight::blocking);
        Some(self.beside.given_to(found.unwrap_or_else(|error| panic!("{error}"))?))
    }
}

fn autoscaler(flags: &[String]) -> Autoscaler {
    let mut settings = Autoscaler::default();
    let unknown = settings.options.read(flags.iter().map(String::as_str)).expect("flags that can be read");
    assert!(unknown.is_empty(), "unknown flags: {unknown:?}");
    settings
}

fn settings(cluster: &Cluster, start: Time) -> Settings {
    Settings { start, seed: cluster.seed, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() }
}

/// The cluster with everything applied, after a while.
pub(crate) fn settled(cluster: &Cluster) -> World {
    let objects = cluster.base.iter().cloned().map(|value| Object::from_json(value).expect("a valid object"));
    let mut view: View = objects.map(Delta::Put).collect();
    for group in &cluster.groups {
        view.apply(Delta::Group(group.clone().into()));
    }
    for instance in &cluster.instances {
        view.apply(Delta::Instance(instance.clone().into()));
    }
    let mut world = World::new(settings(cluster, BEGIN), view);
    for manifest in &cluster.manifests {
        let made = world.request(|api| api.apply_json(manifest.clone()));
        made.unwrap_or_else(|error| panic!("{manifest}: {error}"));
    }
    world.run_until(BEGIN + SETTLED);
    world
}

fn roll(cluster: &Cluster, mut world: World, engine: impl FnOnce(Cores, Core) -> Box<dyn Engine>) -> Trial {
    let start = world.now();
    let promised = Promised::of(&cluster.plan, world.view());
    let checkers = Rc::new(RefCell::new(Checkers::begin(promised, world.view())));
    world.observe(Box::new(Watching(checkers.clone())));
    for (whose, fault) in &cluster.troubles {
        world.image_fault(whose, Some(*fault));
    }
    let options = RunOptions { started: start.floor_seconds(), group_by: Cluster::group_by() };
    let autoscaler =
        cluster.elastic.as_ref().and_then(|elastic| elastic.autoscaler.as_deref()).map(autoscaler);
    if autoscaler.is_some() {
        checkers.borrow_mut().scaled();
    }
    let interruptions = cluster.elastic.is_some();
    let beside = Beside { interruptions, autoscaler };
    let cores = Cores { plan: cluster.plan.clone(), options, beside };
    let core = cores.fresh();
    world.put_in_charge(engine(cores, core));
    if let Some(bug) = cluster.driver_bug {
        world.plant(bug);
    }
    if let Some(network) = cluster.network {
        world.disturb(network);
        let is_late = network.late_deliveries > 0;
        checkers.borrow_mut().disturbed(if is_late { LATE_DELIVERY_MAX } else { Span::ZERO });
    }
    if cluster.plan.external().is_some() {
        world.assume_replacer(cluster.plan.target.clone());
    }
    let nodes = world.view().nodes.len();
    let mut acts = Acts::of(cluster, start);
    let mut intruder = cluster.has_intruder.then(Intruder::default);
    let mut restarts = cluster.restarts.iter();
    let mut restart = restarts.next();
    let mut racer = cluster.network.filter(|network| network.has_gaps).map(|_| Racer::of(cluster, start));
    if let Some(elastic) = &cluster.elastic {
        world.load(elastic.loads(start));
        world.stay_until(start + AGES);
        acts.add(elastic, start, checkers.clone());
    }
    // The way back has as long a time as the way there.
    let ways = if cluster.plan.on_failure == OnFailure::Rollback { 2 } else { 1 };
    let limit = start + (cluster.plan.deadline + Span::from_minutes(60)) * ways;
    // What others take away is let go first, batch pods and all.
    let limit = if cluster.elastic.is_some() { limit + rest::SETTLES_WITHIN } else { limit };
    let before = world.events();
    let is_enough = || checkers.borrow().found().len() >= ENOUGH;
    let is_loop = |world: &World| {
        let hours = (world.now() - start).as_secs() / 3_600 + 1;
        let events = world.events() - before;
        events > EVENTS_MAX && events > EVENTS_PER_HOUR_MAX.saturating_mul(hours.unsigned_abs())
    };
    while world.end().is_none() && world.now() < limit && !is_loop(&world) && !is_enough() {
        acts.step(&mut world, limit);
        if let Some(racer) = &mut racer {
            racer.look(&mut world, &checkers);
        }
        if let Some(intruder) = &mut intruder {
            intruder.look(&mut world);
        }
        if restart.is_some_and(|after| world.commands().len() >= *after) {
            restart = restarts.next();
            assert!(world.start_anew(), "somebody is in charge");
        }
    }
    let last = world.decision().cloned().unwrap_or_default();
    checkers.borrow_mut().finish(world.now(), world.end(), &last);
    let took = world.now() - start;
    if let Some(elastic) = cluster.elastic.as_ref().filter(|_| world.end().is_some()) {
        rest::come_to_rest(&mut world, &mut acts, &checkers, elastic, start);
    }
    let checkers = checkers.borrow();
    Trial {
        seed: cluster.seed,
        neighbour: cluster.neighbour,
        nodes,
        end: world.end().cloned(),
        violations: checkers.found().to_vec(),
        sights: checkers.sights().clone(),
        refused_of_others: acts.refused,
        mishaps: world.mishaps(),
        wrongs: world.wrongs(),
        starts: Starts::default(),
        trace: world.trace_hash(),
        commands: world
            .commands()
            .iter()
            .map(|sent| (sent.at, sent.command.key.clone(), sent.command.effect.clone()))
            .collect(),
        waiting: last.waiting.to_vec(),
        events: world.events() - before,
        took,
    }
}

/// How to see one run again.
#[must_use]
pub fn reproduction(seed: u64) -> String {
    format!("REPLANK_SEED={seed} cargo test -p replank-testkit --test suite clusters")
}
