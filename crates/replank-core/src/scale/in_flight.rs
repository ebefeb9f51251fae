//! What others have in flight, as of a decision: nodes that are removed, and bound pods that will be pending.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_model::view::View;

use super::blocks::{PodFate, fate};
use super::options::Options;
use crate::account::Account;
use replank_facts::drain::is_daemon;
use replank_facts::pod_factory::anew;
use replank_protocol::command::NodeRole;
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{PodWait, Subject, WaitingOn};

/// See the module's page.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    /// Nodes that somebody takes away.
    pub leaving: BTreeSet<NodeName>,
    /// Pods that will ask for a place though they have one: their evictions are on their way, or wait for room. As they will be made anew.
    pub coming: Vec<Arc<Pod>>,
}

impl InFlight {
    /// What interruptions, the run and the autoscaler itself have in flight. `waiting` holds the others' waits in this decision.
    pub(crate) fn of(
        view: &View,
        options: &Options,
        now: Time,
        account: &Account,
        waiting: &WaitList,
    ) -> Self {
        let mut leaving = account.interrupted.clone();
        let mut coming: BTreeMap<Key, Arc<Pod>> = BTreeMap::new();
        let mut come = |pod: &Arc<Pod>| {
            if pod.node.is_some() && pod.is_active() && !pod.is_terminating() {
                coming.insert(pod.meta.key(), anew(pod));
            }
        };
        for target in account.sent.evictions(now, None) {
            if let Some(pod) = view.pods.by_key(&target.key).filter(|pod| pod.meta.uid == target.uid) {
                come(pod);
            }
        }
        // What is taken away for certain needs a place, whatever its pods wait for now.
        for node in &account.interrupted {
            all_of(view, node).for_each(&mut come);
        }
        for waiting in waiting {
            let WaitingOn::Pod(PodWait::Room { pod, .. }) = &waiting.on else { continue };
            if let Subject::Node(node) = &waiting.what {
                // A node is begun when there is room for all of its pods; one that there is none for is named.
                all_of(view, node).for_each(&mut come);
            } else {
                view.pods.by_key(pod).into_iter().for_each(&mut come);
            }
        }
        for (_, node) in view.nodes.sorted() {
            if is_emptied(node) {
                leaving.insert(node.name());
                let pods = view.sorted_pods_on(&node.name()).into_iter();
                let moves = |pod: &&Arc<Pod>| {
                    fate(view, &options.down, options.expendable_below, pod, now) == PodFate::Moves
                };
                pods.filter(moves).for_each(&mut come);
            }
        }
        Self { leaving, coming: coming.into_values().collect() }
    }
}

/// The pods of a node that need another place.
fn all_of<'v>(view: &'v View, node: &NodeName) -> impl Iterator<Item = &'v Arc<Pod>> {
    let pods = view.sorted_pods_on(node).into_iter();
    pods.filter(|pod| !is_daemon(pod) && !pod.is_mirror())
}

/// Whether the autoscaler empties a node already.
pub(super) fn is_emptied(node: &Node) -> bool {
    mark::of(node).is_some_and(|found| {
        found.mark.owner == Owner::Autoscaler && matches!(found.mark.role, NodeRole::Draining { .. })
    })
}
