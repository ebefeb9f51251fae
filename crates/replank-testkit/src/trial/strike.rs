//! Instances are taken away.

use std::cell::RefCell;

use replank_model::object::cloud::Instance;
use replank_sim::World;
use replank_sim::script::{self, AsGiven, CloudSays, Hand, What};

use crate::check::Checkers;
use crate::clusters::{How, Strike};

/// Lets something befall an instance that is in service, if there is one, or the queue.
pub(super) fn strike(world: &mut World, checkers: &RefCell<Checkers>, strike: &Strike) {
    let in_service = |instance: &&Instance| instance.is_counted() && instance.node.is_some();
    let says = |says: CloudSays| move |node: String| What::Cloud(vec![node], says);
    let what: Box<dyn FnOnce(String) -> What> = match &strike.how {
        How::Spot => Box::new(says(CloudSays::Spot)),
        How::Rebalance => Box::new(says(CloudSays::Rebalance)),
        How::Retirement(notice) => Box::new(says(CloudSays::Retirement(*notice))),
        How::End => Box::new(|node| What::Hand(Hand::EndInstance(node))),
        How::Message(body) => {
            let posted = script::happen(world, &AsGiven, &What::Post((*body).to_owned()));
            debug_assert!(posted.is_ok(), "a message can come at any time");
            return;
        }
    };
    let view = world.view();
    let alive: Vec<&Instance> =
        view.instances().values().map(|instance| &**instance).filter(in_service).collect();
    let Some(at) = strike.pick.checked_rem(alive.len() as u64) else { return };
    let struck = alive[usize::try_from(at).expect("a position")];
    let Some(node) = struck.node.clone() else { return };
    checkers.borrow_mut().struck(world.now(), &struck.id, &strike.how);
    // Its node may have been deleted: then nothing is said of it.
    if script::happen(world, &AsGiven, &what(node.text().to_string())).is_err() {
        checkers.borrow_mut().spared();
    }
}
