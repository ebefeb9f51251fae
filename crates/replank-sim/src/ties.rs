//! Where the real components draw lots.
//!
//! A run draws them from its seed. A run that is to follow a recording, whose lots are known, has somebody draw them who
//! knows the recording; he is asked only among equals.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Time;

/// Draws lots in the place of the seed.
pub trait TieBreaker {
    /// The node for a pod, one of `best`, which have equal scores; `None` leaves it to the seed.
    fn choose(&mut self, pod: &Pod, best: &[NodeName]) -> Option<NodeName>;

    /// Puts pods that a ReplicaSet has too many of, and that nothing but chance tells apart, into the order in which they
    /// are to go.
    fn order_victims(&mut self, now: Time, equals: &mut [Arc<Pod>]);
}

/// A tie breaker that several parts of the world ask.
#[derive(Clone)]
pub(crate) struct SharedTies(Rc<RefCell<Box<dyn TieBreaker>>>);

impl SharedTies {
    pub(crate) fn new(ties: Box<dyn TieBreaker>) -> Self {
        Self(Rc::new(RefCell::new(ties)))
    }

    pub(crate) fn choose(&self, pod: &Pod, best: &[NodeName]) -> Option<NodeName> {
        self.0.borrow_mut().choose(pod, best).filter(|node| best.contains(node))
    }

    pub(crate) fn order_victims(&self, now: Time, equals: &mut [Arc<Pod>]) {
        self.0.borrow_mut().order_victims(now, equals);
    }
}

impl fmt::Debug for SharedTies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedTies")
    }
}
