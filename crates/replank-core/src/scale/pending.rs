//! Which pods ask for a node, and which do not.

use std::cmp::Reverse;
use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{Name, Namespace};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::options::Options;
use replank_facts::drain::is_daemon;

/// Annotation of a pod: no node is added for it before it is so old (Cluster Autoscaler's FAQ, "How does scale-up work?").
const DELAY: &str = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay";

/// Why no node is added for a pod, whatever groups there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAsked {
    /// It is held back by gates.
    Gated(Vec<replank_model::text::Text>),
    /// Its priority is too low for that.
    Expendable {
        /// Its priority.
        priority: i32,
        /// The lowest for which a node is added.
        cutoff: i32,
    },
    /// It is too young.
    TooYoung {
        /// From when on it counts.
        from: Time,
    },
    /// A DaemonSet made it for one node.
    Daemon,
    /// It pushes others out of a node.
    Preempts(replank_model::text::NodeName),
}

/// Pods that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Those that ask for a node, in the order of the scheduler's queue.
    pub(super) asking: Vec<Arc<Pod>>,
    /// Those that do not.
    pub(super) others: Vec<(Key, NotAsked)>,
}

impl Pending {
    /// Pods without a node, and pods that are about to lose theirs.
    pub(super) fn of(view: &View, coming: &[Arc<Pod>], options: &Options, now: Time) -> Self {
        let mut pending = Self::default();
        let waiting =
            view.pods.unordered().map(|(_, pod)| pod).filter(|pod| pod.node.is_none() && pod.is_active());
        for pod in waiting.chain(coming) {
            match not_asked(pod, options, now) {
                Some(why) => pending.others.push((pod.meta.key(), why)),
                None => pending.asking.push(pod.clone()),
            }
        }
        // A stable sort makes use of the runs in which objects were read.
        pending.asking.sort_by(|a, b| rank(a).cmp(&rank(b)));
        pending.others.sort_by(|a, b| a.0.cmp(&b.0));
        pending
    }
}

/// A pod's place in the scheduler's queue (`PrioritySort`): the higher priority first, then the older one.
fn rank(pod: &Pod) -> (Reverse<i32>, Option<Time>, &Namespace, &Name) {
    let (priority, meta) = (pod.spec.priority.unwrap_or(0), &pod.meta);
    (Reverse(priority), meta.creation_timestamp, &meta.namespace, &meta.name)
}

fn not_asked(pod: &Pod, options: &Options, now: Time) -> Option<NotAsked> {
    let priority = pod.spec.priority.unwrap_or(0);
    if !pod.spec.scheduling_gates.is_empty() {
        let gates = pod.spec.scheduling_gates.iter().map(|gate| gate.name.clone());
        return Some(NotAsked::Gated(gates.collect()));
    }
    if is_daemon(pod) {
        return Some(NotAsked::Daemon);
    }
    if priority < options.expendable_below {
        return Some(NotAsked::Expendable { priority, cutoff: options.expendable_below });
    }
    if let Some(node) = &pod.status.nominated_node_name {
        return Some(NotAsked::Preempts(node.clone()));
    }
    let own = pod.meta.annotations.value(DELAY).and_then(|text| text.parse::<Span>().ok());
    // The annotation can only lengthen what the flag says.
    let delay = own.unwrap_or(Span::ZERO).max(options.new_pod_delay);
    let from = pod.meta.creation_timestamp? + delay;
    (delay > Span::ZERO && from > now).then_some(NotAsked::TooYoung { from })
}
