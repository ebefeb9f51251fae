//! What will not go, and why, before anything is begun.

use replank_facts::batch::wait::wait_of;
use replank_facts::budget::{Healths, Ledger};
use replank_facts::drain::batch_kind;
use replank_facts::kubectl::{Skipped, Sorted, Warning};
use replank_facts::node_pods::Bound;
use replank_model::object::meta::Key;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::NodeTarget;
use replank_protocol::waiting::{DrainEnd, PodWait, RefusedPods, Subject, Waiting, WaitingOn};

use super::request::{Request, Verb};

/// What is to be expected of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The node.
    pub node: NodeTarget,
    /// Whether it is cordoned.
    pub is_cordoned: bool,
    /// Pods that would go, and what is lost with them.
    pub going: Vec<(Key, Option<Warning>)>,
    /// Pods that stay.
    pub skipped: Vec<(Key, Skipped)>,
    /// Classes of pods that keep it from being drained.
    pub refused: Vec<RefusedPods>,
    /// Pods that would go and that something holds, as things are: a budget that never allows an eviction, a batch pod.
    pub blockers: Vec<Waiting>,
    /// Whether there is no such node.
    pub is_gone: bool,
}

impl Forecast {
    /// Why it would not be drained, where that is known for certain.
    #[must_use]
    pub fn ends(&self) -> Option<DrainEnd> {
        if self.is_gone {
            return Some(DrainEnd::NodeGone);
        }
        (!self.refused.is_empty()).then(|| DrainEnd::RefusedPods { refused: self.refused.clone() })
    }
}

/// What is to be expected of every node.
#[must_use]
pub fn forecast(view: &View, request: &Request, now: Time) -> Vec<Forecast> {
    let mut healths = Healths::default();
    let mut ledger = Ledger::new(view, &mut healths);
    let of = |target: &NodeTarget| {
        let node = view.node(&target.name).filter(|node| node.meta.uid == target.uid);
        let sorted = match request.verb {
            Verb::Drain => Sorted::of(view, &request.options.filters, &target.name, None, now),
            Verb::Cordon | Verb::Uncordon => Sorted::default(),
        };
        let going: Vec<&Bound> = sorted.going.iter().map(|(bound, _)| bound).collect();
        let held = going.into_iter().filter_map(|bound| {
            let on = held_by(request, &mut ledger, bound, now)?;
            Some(Waiting { what: Subject::Pod(bound.key.clone()), on })
        });
        let blockers = held.collect();
        Forecast {
            node: target.clone(),
            is_cordoned: node.is_some_and(|node| node.spec.unschedulable),
            going: sorted.going.iter().map(|(bound, warning)| (bound.key.clone(), *warning)).collect(),
            skipped: sorted.skipped,
            refused: sorted.refused,
            blockers,
            is_gone: node.is_none(),
        }
    };
    request.nodes.iter().map(of).collect()
}

fn held_by(request: &Request, ledger: &mut Ledger<'_>, bound: &Bound, now: Time) -> Option<WaitingOn> {
    let options = &request.options;
    let pod = &bound.pod;
    if pod.is_terminating() || pod.is_terminal() {
        return None;
    }
    if let (Some(wait), Some(_)) = (options.wait_batch, batch_kind(pod, None)) {
        let (since, deadline) = (pod.status.start_time, now + wait_of(pod, wait));
        return Some(WaitingOn::Pod(PodWait::Batch { since, deadline }));
    }
    let is_asked = !options.disable_eviction;
    is_asked.then(|| ledger.hopeless(bound.ix, pod)).flatten()
}
