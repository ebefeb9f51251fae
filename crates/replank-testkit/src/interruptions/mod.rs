//! Many interruptions at once, and an account of how each ends that shares no code with core.
//!
//! [`stage`] makes a cluster of three groups and says which notices its instances get; [`engine`] puts core in charge and notes what the queue
//! delivers; [`account`] watches the truth: which node was cordoned when, when its last pod had left, what was on it when its
//! instance went down, which messages were deleted while something was still to be done. [`table`] is what people read.

pub mod account;
pub mod bugs;
pub mod engine;
pub mod stage;
pub mod table;

use std::cell::RefCell;
use std::rc::Rc;

use replank_core::Core;
use replank_model::time::{Span, Time};
use replank_protocol::engine::Engine;
use replank_sim::World;

use account::{Account, Watching};
use engine::InterruptionEngine;
use stage::{Stage, Told};

/// A stage that is not over by then never ends.
const LIMIT: Span = Span::from_minutes(90);
/// How long the world runs on after the last message, to see what is done too often.
const REST: Span = Span::from_minutes(10);

/// How a stage ended.
pub struct Played {
    /// What was observed.
    pub account: Account,
    /// The world as it was left.
    pub world: World,
    /// When everything was told.
    pub told: Time,
    /// How long the longest decision took, in milliseconds of real time.
    pub decision_ms_max: u128,
}

/// Plays a stage with core in charge; `restart` is how long after the telling another process takes over, where one does.
#[must_use]
pub fn play(stage: &Stage, restart: Option<Span>) -> Played {
    play_with(stage, restart, |core| Box::new(core))
}

/// Plays a stage with an engine around core in charge. `engine` makes it from core.
pub fn play_with(
    stage: &Stage,
    restart: Option<Span>,
    engine: impl FnOnce(Core) -> Box<dyn Engine>,
) -> Played {
    let mut world = stage.world();
    let start = world.now();
    let account = Rc::new(RefCell::new(Account::begin(world.view())));
    world.observe(Box::new(Watching(account.clone())));
    let slowest = Rc::new(RefCell::new(0));
    let engine = InterruptionEngine::new(engine(stage.core()), account.clone(), slowest.clone());
    world.put_in_charge(Box::new(engine));
    world.run_until(start + stage::QUIET);
    let told = world.now();
    for Told { after, line, kind, instances } in &stage.told {
        world.run_until(told + *after);
        account.borrow_mut().told(told + *after, *kind, instances);
        stage::say(&mut world, line);
    }
    if let Some(after) = restart {
        world.run_until(told + after);
        account.borrow_mut().restarted();
        assert!(world.start_anew(), "somebody is in charge");
    }
    let is_open = |world: &World| world.messages_left() > 0 || account.borrow().is_open();
    while is_open(&world) && world.now() < told + LIMIT {
        let next = world.now() + Span::from_secs(10);
        world.run_until(next);
    }
    let end = world.now() + REST;
    world.run_until(end);
    let account = account.borrow().clone();
    let decision_ms_max = *slowest.borrow();
    Played { account, world, told, decision_ms_max }
}
