//! The autoscaler alone in charge of a small cluster, and an account of what it does that shares no code with core.
//!
//! [`stage`] makes a cluster whose load comes and goes, with a batch pod on a node that is next to empty and a pod that no instance could hold;
//! [`account`] watches the truth; [`bugs`] are engines around core that alter what it sees or says.

pub mod account;
pub mod bugs;
pub mod stage;

use std::cell::RefCell;
use std::rc::Rc;

use replank_core::Core;
use replank_protocol::engine::Engine;

use account::{Account, Watching};

/// Plays the stage of a seed with somebody around core in charge.
pub fn play(seed: u64, engine: impl FnOnce(Core) -> Box<dyn Engine>) -> Account {
    let mut world = stage::world(seed);
    let start = world.now();
    let account = Rc::new(RefCell::new(Account::begin(world.view())));
    world.observe(Box::new(Watching(account.clone())));
    world.put_in_charge(engine(stage::core()));
    for (after, line) in stage::told(seed) {
        world.run_until(start + after);
        stage::say(&mut world, &line);
    }
    world.run_until(start + stage::WATCHED);
    account.borrow().clone()
}
