//! The pods of a node that is to go, sorted by what becomes of them.

use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};

use crate::drain::{self, Fate, Otherwise, Refused};
use crate::plan::Plan;

/// A pod and where the View has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) ix: Ix<Pod>,
    pub(crate) pod: Arc<Pod>,
}

/// A batch pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BatchPod {
    pub(crate) bound: Bound,
    pub(crate) otherwise: Otherwise,
}

/// A pod on its way out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LeavingPod {
    pub(crate) pod: Arc<Pod>,
    pub(crate) due: Time,
    pub(crate) grace: Span,
}

/// What is on a node and does not simply stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Load {
    /// To be evicted; least important first, so that what keeps the node working goes last.
    pub(crate) movers: Vec<Bound>,
    pub(crate) batch: Vec<BatchPod>,
    pub(crate) refused: Vec<(Key, Refused)>,
    pub(crate) unrecorded: Vec<Key>,
    pub(crate) leaving: Vec<LeavingPod>,
    /// How many of the movers are under a disruption budget.
    pub(crate) budgeted: u32,
}

impl Load {
    pub(crate) fn of(view: &View, plan: &Plan, node: &NodeName) -> Self {
        let mut load = Self::default();
        for ix in view.pods_on(node) {
            load.add(view, plan, Bound { ix: *ix, pod: view.pods[*ix].clone() });
        }
        load.movers.sort_by(|a, b| order(&a.pod).cmp(&order(&b.pod)));
        load.batch.sort_by(|a, b| order(&a.bound.pod).cmp(&order(&b.bound.pod)));
        load.leaving.sort_by(|a, b| order(&a.pod).cmp(&order(&b.pod)));
        load.refused.sort();
        load.unrecorded.sort();
        load
    }

    fn add(&mut self, view: &View, plan: &Plan, bound: Bound) {
        match drain::fate(view, plan, &bound.pod) {
            Fate::Stays | Fate::Finished => {}
            Fate::Unrecorded => self.unrecorded.push(bound.pod.meta.key()),
            Fate::Leaving { due, grace } => self.leaving.push(LeavingPod { pod: bound.pod, due, grace }),
            Fate::Batch { otherwise, kind: _ } => self.batch.push(BatchPod { bound, otherwise }),
            Fate::Plain(Otherwise::Refused(reason)) => self.refused.push((bound.pod.meta.key(), reason)),
            Fate::Plain(Otherwise::Moves) => {
                self.budgeted += u32::from(!view.budgets_of(bound.ix).is_empty());
                self.movers.push(bound);
            }
        }
    }

    /// Whether nothing is left that would be lost with the node.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_left_to_leaving() && self.leaving.is_empty()
    }

    /// Whether nothing is left but pods on their way out.
    pub(crate) fn is_left_to_leaving(&self) -> bool {
        let Self { movers, batch, refused, unrecorded, leaving: _, budgeted: _ } = self;
        movers.is_empty() && batch.is_empty() && refused.is_empty() && unrecorded.is_empty()
    }

    /// Whether the node can be begun as soon as its turn comes: nothing on it has to be waited for beforehand.
    pub(crate) fn is_free(&self) -> bool {
        self.batch.is_empty() && self.refused.is_empty() && self.unrecorded.is_empty()
    }
}

/// Priority, then namespace and name.
fn order(pod: &Pod) -> (i32, &str, &str) {
    (pod.spec.priority.unwrap_or(0), pod.meta.namespace.as_str(), pod.meta.name.as_str())
}
