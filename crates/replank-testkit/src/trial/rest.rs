//! After the run, and when nothing befalls the cluster any more: everything comes to rest.

use std::cell::RefCell;

use replank_model::object::batch::CronJob;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::time::{Span, Time};
use replank_sim::{Sent, World};

use super::neighbour::Acts;
use crate::check::{Checkers, ROLE};
use crate::clusters::Elastic;

/// So long nothing is done by us in a cluster that is at rest.
const REST: Span = Span::from_minutes(3 * 60);
/// So long it may take to come there: the longest that a batch pod is waited for, and hooks that hold.
pub(super) const SETTLES_WITHIN: Span = Span::from_minutes(10 * 60);

/// Looks on until there were no effects for [`REST`] and no interruption is open, or for as long as it may take; the checkers look at what is left.
pub(super) fn come_to_rest(
    world: &mut World,
    acts: &mut Acts,
    checkers: &RefCell<Checkers>,
    elastic: &Elastic,
    start: Time,
) {
    let calm = world.now().max(start + elastic.ends());
    if elastic.autoscaler.is_some() {
        while world.now() < calm {
            acts.step(world, calm);
        }
        suspend(world);
    }
    let limit = calm + SETTLES_WITHIN + REST;
    loop {
        let until = (last_effect(world).map_or(calm, |sent| sent.at.max(calm)) + REST).min(limit);
        // A batch pod may be waited for longer than that.
        let until = if world.now() >= until && is_open(world) { limit } else { until };
        if world.now() >= until {
            break;
        }
        acts.step(world, until);
    }
    let last = last_effect(world).filter(|sent| sent.at + REST > world.now());
    checkers.borrow_mut().rested(world, last);
}

/// Whether a message is neither deleted nor given up on, or a node carries the mark of an interruption.
fn is_open(world: &World) -> bool {
    let is_marked = |node: &Node| node.meta.annotations.value(ROLE) == Some("interrupted");
    world.messages_left() > 0 || world.view().nodes.unordered().any(|(_, node)| is_marked(node))
}

/// Scheduled work is load that never ends, and an autoscaler follows it: each start adds a node, which is removed later.
fn suspend(world: &mut World) {
    let all: Vec<Key> = world.view().cron_jobs.sorted().iter().map(|(_, one)| one.meta.key()).collect();
    for key in all {
        let written = world.request(|api| api.modify::<CronJob>(&key, |one| one.spec.suspend = Some(true)));
        written.expect("the CronJob was just listed");
    }
}

fn last_effect(world: &World) -> Option<&Sent> {
    world.commands().iter().rev().find(|sent| !Checkers::leaves_all(sent))
}
