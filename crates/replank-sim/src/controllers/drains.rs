//! Nodes that somebody drains by hand, as `kubectl drain --ignore-daemonsets --delete-emptydir-data` does (kubectl `pkg/drain`): all of them are cordoned, then
//! one after the other is emptied. All pods of a node are asked for at once; what a budget keeps is asked for again every five seconds, for as long as it takes, and
//! whether what was granted is gone is looked at every second. A pod that two budgets cover is given up at once, and its node stays as it is when its other pods are gone.

use std::collections::VecDeque;

use replank_facts::drain::{is_bare, is_daemon};
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::Ctx;
use crate::asked::{Asked, Asker, ask};
use crate::event::{ControlDue, DrainsDue, Event};

/// How long kubectl waits before it asks again (`drain.go`).
const RETRY: Span = Span::from_secs(5);
/// How often it looks whether a pod whose eviction was granted is gone (`waitForDelete` in `drain.go`).
const POLL: Span = Span::from_secs(1);

/// All drains that somebody has begun.
#[derive(Debug, Default)]
pub(super) struct Drains {
    all: Vec<Drain>,
    /// What was asked for and nobody was told of.
    asked: Vec<Asked>,
}

/// A drain that somebody has begun and that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingDrain {
    /// The node that is being emptied.
    pub node: NodeName,
    /// Its pods that are to go and are still there.
    pub pods: Vec<Key>,
    /// Nodes that come after it.
    pub queued: usize,
    /// Whether kubectl has given up on it: none of these pods is asked for again, and the next node is drained.
    pub is_given_up: bool,
}

/// One call of kubectl.
#[derive(Debug)]
struct Drain {
    nodes: VecDeque<NodeName>,
    /// Pods of the first node that are to go: as kubectl listed them when it came to it.
    pods: Option<Vec<(Key, Uid)>>,
    /// When what is kept is asked for again.
    again: Time,
    /// Pods of the first node that are not asked for again.
    failed: Vec<(Key, Uid)>,
    /// Nodes that were left with such pods.
    left: Vec<(NodeName, Vec<(Key, Uid)>)>,
}

impl Drains {
    /// Somebody drains nodes that are cordoned.
    pub(super) fn begin(&mut self, ctx: &mut Ctx<'_>, nodes: Vec<NodeName>) {
        let number = u32::try_from(self.all.len()).expect("few drains");
        self.all.push(Drain {
            nodes: nodes.into(),
            pods: None,
            again: ctx.api.now(),
            failed: Vec::new(),
            left: Vec::new(),
        });
        ctx.agenda.at(ctx.api.now(), due(number));
    }

    /// Drains that have not ended.
    pub(super) fn standing(&self, view: &View) -> Vec<StandingDrain> {
        let there = |pods: &[(Key, Uid)]| -> Vec<Key> {
            let there = pods.iter().filter(|(key, uid)| is_there(view, key, uid));
            there.map(|(key, _)| key.clone()).collect()
        };
        let mut all = Vec::new();
        for drain in &self.all {
            for (node, pods) in &drain.left {
                let (node, pods) = (node.clone(), there(pods));
                all.push(StandingDrain { node, pods, queued: drain.nodes.len(), is_given_up: true });
            }
            let mut pods = there(drain.pods.as_deref().unwrap_or_default());
            pods.extend(there(&drain.failed));
            if let Some(node) = drain.nodes.front().cloned() {
                all.push(StandingDrain { node, pods, queued: drain.nodes.len() - 1, is_given_up: false });
            }
        }
        all.retain(|drain| !drain.pods.is_empty());
        all
    }

    /// Whoever drains a node gives up: it stays cordoned, and what comes after it is emptied.
    pub(super) fn give_up(&mut self, node: &NodeName) {
        for drain in &mut self.all {
            if drain.nodes.front() == Some(node) {
                drain.nodes.pop_front();
                drain.pods = None;
                drain.failed.clear();
            }
        }
    }

    /// What was asked for since this was asked last.
    pub(super) fn take_asked(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asked)
    }

    /// Asks for what is still there.
    pub(super) fn handle(&mut self, ctx: &mut Ctx<'_>, DrainsDue(number): DrainsDue) {
        let Some(drain) = self.all.get_mut(number as usize) else { return };
        let now = ctx.api.now();
        while let Some(node) = drain.nodes.front().cloned() {
            if drain.pods.is_none() {
                drain.again = now;
            }
            let pods = drain.pods.get_or_insert_with(|| leaving(ctx.view(), &node));
            pods.retain(|(key, uid)| is_there(ctx.view(), key, uid));
            if now >= drain.again {
                let asked: Vec<Asked> = pods.iter().filter_map(|(key, uid)| again(ctx, key, uid)).collect();
                let given_up = |uid: &Uid| asked.iter().any(|one| one.is_final && one.pod.meta.uid == *uid);
                drain.failed.extend(pods.iter().filter(|(_, uid)| given_up(uid)).cloned());
                pods.retain(|(key, uid)| is_there(ctx.view(), key, uid) && !given_up(uid));
                self.asked.extend(asked);
                drain.again = now + RETRY;
            }
            if !pods.is_empty() {
                let is_going = pods.iter().any(|(key, _)| is_going(ctx.view(), key));
                let next = if is_going { drain.again.min(now + POLL) } else { drain.again };
                ctx.agenda.at(next, due(number));
                return;
            }
            drain.nodes.pop_front();
            drain.pods = None;
            let failed = std::mem::take(&mut drain.failed);
            if !failed.is_empty() {
                drain.left.push((node, failed));
            }
        }
    }
}

/// Asks for the eviction of a pod that is not on its way yet.
fn again(ctx: &mut Ctx<'_>, key: &Key, uid: &Uid) -> Option<Asked> {
    let pod =
        ctx.view().pods.by_key(key).filter(|pod| pod.meta.uid == *uid && !pod.is_terminating())?.clone();
    Some(ask(ctx.api, pod, Asker::Person))
}

fn due(number: u32) -> Event {
    Event::Control(ControlDue::Drains(DrainsDue(number)))
}

fn is_there(view: &View, key: &Key, uid: &Uid) -> bool {
    view.pods.by_key(key).is_some_and(|pod| pod.meta.uid == *uid)
}

fn is_going(view: &View, key: &Key) -> bool {
    view.pods.by_key(key).is_some_and(|pod| pod.is_terminating())
}

/// Pods of a node that a drain moves: all but those of DaemonSets and mirrors of static pods.
fn leaving(view: &View, node: &NodeName) -> Vec<(Key, Uid)> {
    let pods = view.pods_on(node).iter().map(|ix| &view.pods[*ix]);
    let leaving = pods.filter(|pod| !is_daemon(pod) && !pod.is_mirror());
    leaving.map(|pod| (pod.meta.key(), pod.meta.uid.clone())).collect()
}

/// A pod of the nodes that kubectl refuses to drain without `--force`: nobody would make it again.
pub(crate) fn refused<'a>(view: &'a View, nodes: &[NodeName]) -> Option<&'a Pod> {
    let pods = nodes.iter().flat_map(|node| view.pods_on(node)).map(|ix| &*view.pods[*ix]);
    pods.into_iter().find(|pod| is_bare(pod) && !pod.is_mirror() && !pod.is_terminal())
}
