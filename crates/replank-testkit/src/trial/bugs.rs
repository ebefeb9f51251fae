//! Planted bugs that the eviction API cannot stop, as a pilot around core that alters what core says or sees.
//!
//! Each does what a careless tool does. The checkers must catch each; nothing of this is in the product.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use replank_core::Core;
use replank_core::command::{
    Command, CommandKey, Effect, Mark, NodeRole, NodeTarget, Outcome, PodTarget, Refusal, Replacement,
};
use replank_core::decision::Decision;
use replank_core::intent::Intent;
use replank_core::plan::{Plan, StuckAction};
use replank_core::waiting::{Subject, WaitingOn};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::Instance;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, RunId};
use replank_model::time::{Span, Time};
use replank_sim::Pilot;

use crate::check::Promise;

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bug {
    /// A pod whose eviction was refused is deleted.
    PlainDelete,
    /// An instance is ended when its drain begins.
    EarlyEnd,
    /// A batch pod that is waited for is evicted.
    EarlyBatch,
    /// A node is drained while the instance that is to replace it still boots.
    EarlyDrain,
    /// Old nodes are not cordoned, so that pods move to nodes that will go, too.
    OpenNodes,
    /// A pod on its way out is deleted by force while its machine runs.
    EarlyForce,
    /// An instance is ended with pods that take long to stop, as if they were stuck.
    EarlyStuck,
    /// An instance is ended while load balancers may still send to it.
    EarlyTarget,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::PlainDelete,
        Self::EarlyEnd,
        Self::EarlyBatch,
        Self::EarlyDrain,
        Self::OpenNodes,
        Self::EarlyForce,
        Self::EarlyStuck,
        Self::EarlyTarget,
    ];

    /// What has to be in a plan for the bug to have its chance.
    pub fn make_room(self, plan: &mut Plan) {
        match self {
            Self::EarlyTarget => plan.care.load_balancer.exclude = true,
            Self::EarlyStuck | Self::EarlyForce => plan.care.stuck.action = StuckAction::ForceDelete,
            Self::PlainDelete | Self::EarlyEnd | Self::EarlyBatch | Self::EarlyDrain | Self::OpenNodes => {}
        }
    }

    /// The promise that it breaks.
    #[must_use]
    pub fn breaks(self) -> Promise {
        match self {
            Self::PlainDelete => Promise::S1,
            Self::EarlyBatch => Promise::S2,
            Self::EarlyDrain => Promise::S4,
            Self::EarlyEnd | Self::OpenNodes | Self::EarlyForce | Self::EarlyStuck | Self::EarlyTarget => {
                Promise::S5
            }
        }
    }
}

/// Core with a bug.
pub struct Buggy {
    core: Core,
    bug: Bug,
    /// How often the bug had its chance.
    fired: Rc<Cell<usize>>,
    /// Evictions by the key of their command.
    evictions: BTreeMap<CommandKey, PodTarget>,
    /// What is to be done wrong at the next decision.
    wrongs: Vec<Effect>,
    /// Everything wrong is done once.
    done: BTreeSet<CommandKey>,
    /// Groups that were raised.
    raised: BTreeSet<GroupName>,
}

impl Buggy {
    /// Plants a bug; `fired` counts how often it acts.
    #[must_use]
    pub fn plant(core: Core, bug: Bug, fired: Rc<Cell<usize>>) -> Self {
        Self {
            core,
            bug,
            fired,
            evictions: BTreeMap::new(),
            wrongs: Vec::new(),
            done: BTreeSet::new(),
            raised: BTreeSet::new(),
        }
    }

    fn go_wrong(&mut self, now: Time, decision: &mut Decision) {
        match self.bug {
            Bug::PlainDelete => {
                for command in &decision.commands {
                    if let Effect::Evict { pod, .. } = &command.effect {
                        self.evictions.insert(command.key.clone(), pod.clone());
                    }
                }
            }
            Bug::EarlyEnd => self.end_early(decision),
            Bug::EarlyBatch => self.evict_batch(decision),
            Bug::EarlyDrain => self.drain_early(decision),
            Bug::OpenNodes => self.leave_open(decision),
            Bug::EarlyForce => self.force_early(decision),
            Bug::EarlyStuck => {
                self.end_waiting(decision, |on| matches!(on, WaitingOn::Terminating { .. }));
            }
            Bug::EarlyTarget => {
                self.end_waiting(decision, |on| matches!(on, WaitingOn::Deregistration { .. }));
            }
        }
        for effect in std::mem::take(&mut self.wrongs) {
            let key = CommandKey(format!("bug/{effect:?}").into());
            if self.done.insert(key.clone()) {
                self.fired.set(self.fired.get() + 1);
                let deadline = now + Span::from_secs(60);
                decision.commands.push(Command { key, run: RunId::from("trial"), effect, deadline });
            }
        }
    }

    /// The instance of a node whose drain has just begun, and on which there are pods.
    fn end_early(&mut self, decision: &Decision) {
        for command in &decision.commands {
            let Effect::Cordon { node, mark: Mark { role: NodeRole::Draining { .. }, .. }, .. } =
                &command.effect
            else {
                continue;
            };
            let has_pods = !self.movers(node).is_empty();
            if let Some(instance) = self.instance_of(node).filter(|_| has_pods) {
                self.wrongs.push(Effect::Terminate {
                    instance: instance.id.clone(),
                    group: instance.group.clone(),
                    node: Some(node.clone()),
                    replacement: Replacement::Launch,
                });
            }
        }
    }

    /// Pods on their way out, as if their machines were off.
    fn force_early(&mut self, decision: &Decision) {
        for waiting in &decision.waiting {
            let (Subject::Node(name), WaitingOn::Terminating { .. }) = (&waiting.what, &waiting.on) else {
                continue;
            };
            let pods = self.core.view().sorted_pods_on(name).into_iter();
            for pod in pods.filter(|pod| pod.meta.deletion_timestamp.is_some()) {
                let pod = PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
                self.wrongs.push(Effect::ForceDelete { pod, instance: "i-that-is-off".into() });
            }
        }
    }

    /// Instances of nodes that wait for something.
    fn end_waiting(&mut self, decision: &Decision, what: impl Fn(&WaitingOn) -> bool) {
        for waiting in decision.waiting.iter().filter(|waiting| what(&waiting.on)) {
            let Subject::Node(name) = &waiting.what else { continue };
            let Some(node) = self.core.view().node(name) else { continue };
            let node = NodeTarget { name: name.clone(), uid: node.meta.uid.clone() };
            if let Some(instance) = self.instance_of(&node) {
                self.wrongs.push(Effect::Terminate {
                    instance: instance.id.clone(),
                    group: instance.group.clone(),
                    node: Some(node.clone()),
                    replacement: Replacement::Launch,
                });
            }
        }
    }

    fn evict_batch(&mut self, decision: &Decision) {
        for waiting in &decision.waiting {
            if let (Subject::Pod(key), WaitingOn::Batch { .. }) = (&waiting.what, &waiting.on)
                && let Some(pod) = self.core.view().pods.by_key(key)
            {
                self.wrongs.push(evict(pod));
            }
        }
    }

    /// Once a group was raised, nothing is waited for any more.
    fn drain_early(&mut self, decision: &Decision) {
        for command in &decision.commands {
            let Effect::Resize { group, from, to } = &command.effect else { continue };
            if to.desired > from.desired && self.raised.insert(group.clone()) {
                let instances = self.core.view().instances().values();
                let nodes = instances.filter(|one| one.group == *group).filter_map(|one| {
                    let node = self.core.view().node(one.node.as_ref()?)?;
                    Some(NodeTarget { name: node.name(), uid: node.meta.uid.clone() })
                });
                let busy = nodes.map(|node| self.movers(&node)).find(|pods| !pods.is_empty());
                self.wrongs.extend(busy.into_iter().flatten().map(|pod| evict(&pod)));
            }
        }
    }

    /// Marks old nodes without cordoning them; core is shown what it asked for ([`shown`]).
    fn leave_open(&mut self, decision: &mut Decision) {
        for command in &mut decision.commands {
            if let Effect::Cordon { mark, .. } = &mut command.effect
                && mark.role == NodeRole::Doomed
            {
                mark.role = NodeRole::Skipped;
                self.fired.set(self.fired.get() + 1);
            }
        }
    }

    /// Pods of a node that a drain would move at once.
    fn movers(&self, node: &NodeTarget) -> Vec<Arc<Pod>> {
        let view = self.core.view();
        let moves = |pod: &&Arc<Pod>| {
            let kind = pod.meta.controller().map(|owner| &*owner.kind);
            pod.is_active() && matches!(kind, Some("ReplicaSet" | "StatefulSet"))
        };
        view.sorted_pods_on(&node.name).into_iter().filter(moves).cloned().collect()
    }

    fn instance_of(&self, node: &NodeTarget) -> Option<&Arc<Instance>> {
        self.core.view().instances().values().find(|one| one.node.as_ref() == Some(&node.name))
    }
}

impl Pilot for Buggy {
    fn observe(&mut self, delta: Delta) {
        let delta = match (self.bug, delta) {
            (Bug::OpenNodes, Delta::Put(Object::Node(node))) => Delta::from(shown(&node)),
            (_, delta) => delta,
        };
        self.core.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        let is_refused = matches!(outcome.result, Err(Refusal::Budget { .. } | Refusal::Later { .. }));
        if let Some(pod) = self.evictions.get(&outcome.key).filter(|_| is_refused) {
            self.wrongs.push(Effect::DeletePod { pod: pod.clone(), grace_seconds: None });
        }
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        if decision.end.is_none() {
            self.go_wrong(now, &mut decision);
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.core.intend(intent);
    }

    fn start_anew(&mut self) {
        self.core.start_anew();
    }
}

fn evict(pod: &Pod) -> Effect {
    let pod = PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
    Effect::Evict { pod, grace_seconds: None }
}

/// A node that was marked and left open, as if it had been cordoned.
fn shown(node: &Node) -> Node {
    let mut node = node.clone();
    if node.meta.annotations.value("replank.dev/role") == Some("skipped") {
        node.meta.annotations = node.meta.annotations.with("replank.dev/role", "doomed");
        node.spec.unschedulable = true;
    }
    node
}
