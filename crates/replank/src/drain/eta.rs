//! When each node is expected to be drained: as it was rehearsed, or else by the grace periods of its pods, which say how long containers may take to stop and nothing of when they may go.

use std::collections::BTreeMap;

use replank_core::drain::{NodeStatus, Options, Phase};
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{PodWait, Subject, WaitingOn};

use crate::report::words::span;

/// How long a node still takes by the grace periods of its pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByGrace {
    /// Until its last pod is killed, if all may go.
    left: Span,
    /// A pod waits for something else first.
    is_least: bool,
}

/// Where a node is expected to be drained, and from what that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// From the beginning.
    Rehearsed(BTreeMap<NodeName, Span>),
    /// From now on.
    Grace(BTreeMap<NodeName, ByGrace>),
}

impl Expected {
    /// From what it is known, for the head of a table.
    pub(super) fn source(&self) -> &'static str {
        match self {
            Self::Rehearsed(_) => "ETA as rehearsed",
            Self::Grace(_) => "ETA by grace periods",
        }
    }

    /// What stands in the column of a node.
    pub(super) fn of(&self, node: &NodeStatus, (begun, now): (Time, Time)) -> String {
        match &node.phase {
            Phase::Drained | Phase::Refused(_) | Phase::Ended(_) => return "-".to_owned(),
            Phase::Open | Phase::Cordoned | Phase::Draining => {}
        }
        let name = &node.node.name;
        match self {
            Self::Rehearsed(times) => {
                times.get(name).map_or_else(|| "?".to_owned(), |after| until(begun + *after, now))
            }
            Self::Grace(all) => all.get(name).map_or_else(|| "?".to_owned(), ByGrace::words),
        }
    }
}

/// The time that is left, or by how much it is over.
pub(crate) fn until(at: Time, now: Time) -> String {
    if at >= now { span(at - now) } else { format!("{} late", span(now - at)) }
}

impl ByGrace {
    fn words(&self) -> String {
        format!("{}{}", if self.is_least { ">" } else { "<" }, span(self.left))
    }
}

/// How long each node still takes: those that wait for their turn after those before them.
pub(super) fn by_grace(
    view: &View,
    statuses: &[NodeStatus],
    waiting: &WaitList,
    options: &Options,
    now: Time,
) -> BTreeMap<NodeName, ByGrace> {
    let is_held = |pod: &Key| {
        let own = Subject::Pod(pod.clone());
        let mut on = waiting.iter().filter(|one| one.what == own);
        on.any(|one| !matches!(one.on, WaitingOn::Pod(PodWait::Terminating { .. })))
    };
    let of_node = |status: &NodeStatus| {
        let pods = status.pods.iter().filter_map(|key| Some((key, view.pods.by_key(key)?)));
        pods.fold(ByGrace::default(), |all, (key, pod)| ByGrace {
            left: all.left.max(of_pod(pod, options, now)),
            is_least: all.is_least || is_held(key),
        })
    };
    let rank = |status: &&NodeStatus| match status.phase {
        Phase::Draining => Some(0),
        Phase::Cordoned | Phase::Open => Some(1),
        Phase::Drained | Phase::Refused(_) | Phase::Ended(_) => None,
    };
    let mut turns: Vec<&NodeStatus> = statuses.iter().filter(|status| rank(status).is_some()).collect();
    turns.sort_by_key(rank);
    // As many as are drained at once, each behind the one before it.
    let mut lanes =
        vec![ByGrace::default(); usize::try_from(options.parallel).unwrap_or(1).clamp(1, turns.len().max(1))];
    let mut all = BTreeMap::new();
    for status in turns {
        let own = of_node(status);
        let Some(lane) = lanes.iter_mut().min_by_key(|lane| lane.left) else { break };
        *lane = ByGrace { left: lane.left + own.left, is_least: lane.is_least || own.is_least };
        all.insert(status.node.name.clone(), *lane);
    }
    all
}

/// How long a pod may take to go, once it may.
fn of_pod(pod: &Pod, options: &Options, now: Time) -> Span {
    match pod.meta.deletion_timestamp {
        // The moment at which its grace period is over.
        Some(at) => (at - now).max(Span::ZERO),
        None => {
            let own = pod.grace_seconds();
            Span::from_secs(options.grace_seconds.filter(|seconds| *seconds >= 0).unwrap_or(own).max(0))
        }
    }
}
