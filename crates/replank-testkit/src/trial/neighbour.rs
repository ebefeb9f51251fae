//! Who else acts on the cluster while it is rolled.
//!
//! Neighbours act for the first hour only: what a run does when faults have stopped is part of what is promised.

use std::cell::RefCell;
use std::rc::Rc;

use replank_apiserver::{DeleteOptions, Eviction, EvictionRefusal};
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::workload::Deployment;
use replank_model::text::{NodeName, Text};
use replank_model::time::{Span, Time};
use replank_protocol::command::Effect;
use replank_protocol::command::KubernetesEffect;
use replank_sim::script::{self, AsGiven, Delivery, What};
use replank_sim::{PodAct, World};

use super::strike;
use crate::check::Checkers;
use crate::clusters::{Cluster, Elastic, Neighbour, Strike};
use replank_oracle::sched_random::Random;

/// How long neighbours act.
const FAULTS: Span = Span::from_minutes(60);
/// How often kubectl tries a refused eviction again.
const DRAIN_RETRY: Span = Span::from_secs(5);
/// How often somebody else gets in before us, at most.
const RACES_MAX: usize = 12;
/// How often a workflow's controller looks at its pods.
const RECORDING: Span = Span::from_minutes(1);

/// What is to happen, and when.
enum Act {
    Flap,
    Recover(Key),
    Deploy,
    Fail,
    Repair(NodeName),
    Drain,
    EvictAgain(Key),
    Record,
    Strike(Strike),
    Deliver(Delivery),
}

/// A neighbour at work.
pub(super) struct Acts {
    kind: Neighbour,
    random: Random,
    until: Time,
    agenda: Vec<(Time, Act)>,
    /// Commands that were looked at.
    seen: usize,
    races: usize,
    pub(super) refused: usize,
    /// Who is told what befalls instances.
    checkers: Option<Rc<RefCell<Checkers>>>,
}

impl Acts {
    pub(super) fn of(cluster: &Cluster, start: Time) -> Self {
        let mut random = Random::new(cluster.seed ^ 0x6e65_6967_6862_6f75);
        let soon = start + Span::from_secs(5 + i64::try_from(random.below(240)).expect("small"));
        let mut agenda = Vec::new();
        match cluster.neighbour {
            Neighbour::Nobody | Neighbour::Races => {}
            Neighbour::Flaps => agenda.push((soon, Act::Flap)),
            Neighbour::Deploys => agenda.push((soon, Act::Deploy)),
            Neighbour::Drains => agenda.push((soon, Act::Drain)),
            Neighbour::Fails => agenda.push((soon, Act::Fail)),
        }
        if cluster.base.iter().any(|object| object["kind"] == "Workflow") {
            agenda.push((start + RECORDING, Act::Record));
        }
        Self {
            kind: cluster.neighbour,
            random,
            until: start + FAULTS,
            agenda,
            seen: 0,
            races: 0,
            refused: 0,
            checkers: None,
        }
    }

    /// Lets instances be taken away, too.
    pub(super) fn add(&mut self, elastic: &Elastic, start: Time, checkers: Rc<RefCell<Checkers>>) {
        let strikes = elastic.strikes.iter().map(|strike| (start + strike.at, Act::Strike(strike.clone())));
        self.agenda.extend(strikes);
        let queue = elastic.queue.iter().map(|(at, delivery)| (start + *at, Act::Deliver(*delivery)));
        self.agenda.extend(queue);
        self.checkers = Some(checkers);
    }

    /// Lets the next thing happen, be it the world's or the neighbour's.
    pub(super) fn step(&mut self, world: &mut World, limit: Time) {
        let due = self.agenda.iter().map(|(at, _)| *at).min().filter(|at| *at < limit);
        if world.step_until(due.unwrap_or(limit)) {
            if self.kind == Neighbour::Races {
                self.race(world);
            }
            return;
        }
        world.run_until(due.unwrap_or(limit));
        let now = world.now();
        let (acts, later) = std::mem::take(&mut self.agenda).into_iter().partition(|(at, _)| *at <= now);
        self.agenda = later;
        let acts: Vec<(Time, Act)> = acts;
        for (_, act) in acts {
            self.act(world, act);
        }
    }

    fn act(&mut self, world: &mut World, act: Act) {
        match act {
            Act::Flap => {
                self.flap(world);
                self.again(world, 5, 60, Act::Flap);
            }
            Act::Recover(pod) => world.act(&pod, PodAct::Ready),
            Act::Deploy => {
                self.deploy(world);
                self.again(world, 30, 300, Act::Deploy);
            }
            Act::Fail => {
                self.fail(world);
                self.again(world, 120, 1_800, Act::Fail);
            }
            Act::Repair(node) => repair(world, &node),
            Act::Drain => {
                self.drain(world);
                self.again(world, 300, 1_200, Act::Drain);
            }
            Act::EvictAgain(pod) => self.evict(world, pod),
            Act::Record => {
                record(world);
                self.agenda.push((world.now() + RECORDING, Act::Record));
            }
            Act::Strike(strike) => {
                if let Some(checkers) = &self.checkers {
                    strike::strike(world, checkers, &strike);
                }
            }
            Act::Deliver(delivery) => {
                let done = script::happen(world, &AsGiven, &What::Queue(delivery));
                debug_assert!(done.is_ok(), "a queue can do so at any time");
            }
        }
    }

    /// Puts an act down for later, unless it is too late for faults.
    fn again(&mut self, world: &World, from: u64, to: u64, act: Act) {
        let at = self.later(world, from, to);
        if at < self.until {
            self.agenda.push((at, act));
        }
    }

    fn later(&mut self, world: &World, from: u64, to: u64) -> Time {
        let seconds = from + self.random.below(to - from);
        world.now() + Span::from_secs(i64::try_from(seconds).expect("small"))
    }

    /// Any of the pods that run and are covered by a budget, if there are such.
    fn covered(&mut self, world: &World) -> Option<Key> {
        let view = world.view();
        let pods = view.pods.sorted();
        let covered = pods.iter().filter(|(ix, pod)| serves(pod) && !view.budgets_of(*ix).is_empty());
        let keys: Vec<Key> = covered.map(|(_, pod)| pod.meta.key()).collect();
        (!keys.is_empty()).then(|| self.random.one(&keys))
    }

    /// A readiness probe fails for a while.
    fn flap(&mut self, world: &mut World) {
        let Some(pod) = self.covered(world) else { return };
        world.act(&pod, PodAct::Unready);
        let at = self.later(world, 3, 90);
        self.agenda.push((at, Act::Recover(pod)));
    }

    /// A Deployment gets a new template, or another size.
    fn deploy(&mut self, world: &mut World) {
        let all: Vec<Key> = world.view().deployments.sorted().iter().map(|(_, one)| one.meta.key()).collect();
        if all.is_empty() {
            return;
        }
        let key = self.random.one(&all);
        let is_restart = self.random.percent(40);
        let replicas = i32::try_from(1 + self.random.below(24)).expect("small");
        let value = Text::from(world.now().to_string());
        let written = world.request(|api| {
            api.modify::<Deployment>(&key, |deployment| {
                if is_restart {
                    let annotations = &mut deployment.spec.template.meta.annotations;
                    *annotations = annotations.with("kubectl.kubernetes.io/restartedAt", value);
                } else {
                    deployment.spec.replicas = Some(replicas);
                }
            })
        });
        written.expect("the Deployment was just listed");
    }

    /// A machine fails, and may be repaired later.
    fn fail(&mut self, world: &mut World) {
        let nodes = world.view().nodes.sorted();
        let ready: Vec<NodeName> =
            nodes.iter().filter(|(_, node)| node.is_ready()).map(|(_, node)| node.name()).collect();
        if ready.len() < 3 {
            return;
        }
        let name = self.random.one(&ready);
        world.silence(&name);
        if self.random.percent(60) {
            let at = self.later(world, 20, 900);
            self.agenda.push((at, Act::Repair(name)));
        }
    }

    /// Somebody drains a node, as kubectl does.
    fn drain(&mut self, world: &mut World) {
        let nodes = world.view().nodes.sorted();
        let open: Vec<NodeName> =
            nodes.iter().filter(|(_, node)| !node.spec.unschedulable).map(|(_, node)| node.name()).collect();
        if open.len() < 3 {
            return;
        }
        let name = self.random.one(&open);
        let key = Key::cluster(name.text().clone());
        let written = world.request(|api| api.modify::<Node>(&key, |node| node.spec.unschedulable = true));
        written.expect("the node was just listed");
        let is_daemon = |pod: &Pod| pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
        let pods = world.view().sorted_pods_on(&name);
        let keys: Vec<Key> = pods.iter().filter(|pod| !is_daemon(pod)).map(|pod| pod.meta.key()).collect();
        for pod in keys {
            self.evict(world, pod);
        }
    }

    fn evict(&mut self, world: &mut World, pod: Key) {
        let eviction = Eviction::of(pod.clone(), DeleteOptions::default());
        match world.request(|api| api.evict(&eviction)) {
            Ok(())
            | Err(
                EvictionRefusal::NoPod
                | EvictionRefusal::Precondition(_)
                | EvictionRefusal::Options(_)
                | EvictionRefusal::SeveralBudgets,
            ) => {}
            Err(
                EvictionRefusal::Unobserved { .. }
                | EvictionRefusal::Negative { .. }
                | EvictionRefusal::TooManyDisrupted { .. }
                | EvictionRefusal::Exhausted { .. }
                | EvictionRefusal::Conflicts { .. },
            ) => {
                self.refused += 1;
                if world.now() < self.until {
                    self.agenda.push((world.now() + DRAIN_RETRY, Act::EvictAgain(pod)));
                }
            }
        }
    }

    /// Gets in before an eviction of ours that is on its way: takes what its budget still allows.
    fn race(&mut self, world: &mut World) {
        let on_their_way: Vec<Key> = world.commands()[self.seen..]
            .iter()
            .filter(|sent| sent.result.is_none())
            .filter_map(|sent| match &sent.command.effect {
                Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => Some(pod.key.clone()),
                Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
            })
            .collect();
        self.seen = world.commands().len();
        for pod in on_their_way {
            if self.races >= RACES_MAX || world.now() > self.until || !self.random.percent(80) {
                continue;
            }
            for rival in rivals(world, &pod) {
                let eviction = Eviction::of(rival, DeleteOptions::default());
                if world.request(|api| api.evict(&eviction)).is_err() {
                    break;
                }
                self.races += 1;
            }
        }
    }
}

/// Other pods under the budget of a pod that serve.
fn rivals(world: &World, pod: &Key) -> Vec<Key> {
    let view = world.view();
    let Some(ix) = view.pods.find(pod) else { return Vec::new() };
    let budgets = view.budgets_of(ix).iter();
    let others = budgets.flat_map(|budget| view.pods_of_budget(*budget)).filter(|other| *other != ix);
    let mut keys: Vec<Key> =
        others.map(|ix| &view.pods[ix]).filter(|pod| serves(pod)).map(|pod| pod.meta.key()).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn serves(pod: &Pod) -> bool {
    pod.is_ready() && pod.is_active()
}

/// A machine that had failed is on again.
fn repair(world: &mut World, name: &NodeName) {
    let instance = world.view().instances().values().find(|one| one.node.as_ref() == Some(name));
    if world.view().node(name).is_none() || !instance.is_some_and(|one| one.state.is_alive()) {
        return;
    }
    world.wake(name);
    let key = Key::cluster(name.text().clone());
    let now = world.now().floor_seconds();
    let written = world.request(|api| {
        api.modify::<Node>(&key, |node| {
            node.status.conditions = vec![Condition {
                r#type: "Ready".into(),
                status: ConditionStatus::True,
                reason: "KubeletReady".into(),
                last_transition_time: Some(now),
                last_heartbeat_time: Some(now),
                ..Condition::default()
            }]
            .into();
        })
    });
    written.expect("the node was just looked up");
}

/// The workflow controller writes down the results of its pods that have ended.
fn record(world: &mut World) {
    let is_due = |pod: &Pod| {
        matches!(pod.status.phase, PodPhase::Succeeded | PodPhase::Failed)
            && pod.meta.labels.value("workflows.argoproj.io/completed") == Some("false")
    };
    let pods = world.view().pods.sorted();
    let keys: Vec<Key> = pods.iter().filter(|(_, pod)| is_due(pod)).map(|(_, pod)| pod.meta.key()).collect();
    for key in keys {
        let written = world.request(|api| {
            api.modify::<Pod>(&key, |pod| {
                pod.meta.labels = pod.meta.labels.with("workflows.argoproj.io/completed", "true");
            })
        });
        written.expect("the pod was just listed");
    }
}
