//! Preemption: which pods would have to go for a pod to fit, and from which node.
//!
//! Sources (Kubernetes 1.36): `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`,
//! `pkg/scheduler/framework/preemption/preemption.go`, `pkg/scheduler/util/utils.go`.

use std::cmp::Reverse;
use std::sync::Arc;

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PreemptionPolicy};
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::selector::LabelSelector;
use replank_model::text::NodeName;
use replank_model::view::{Ix, View};

use super::Scheduler;
use super::cycle::Rejection;
use super::explain::Histogram;
use super::filter::{Cycle, OnNode};
use super::ids::{NodeId, PodId};
use super::plugin::{Code, Failure, Plugin, Reason};
use super::refuse::Objections;
use super::world::World;

/// Candidates that are found at least before the search ends, unless there are fewer (`DefaultPreemptionArgs`: 10% of
/// the nodes, and at least 100).
const CANDIDATES_MIN: usize = 100;
const CANDIDATES_PERCENT: usize = 10;

/// What dynamic resource allocation says of a pod without claims, before preemption is tried.
const NO_CLAIMS: &str = "no new claims to deallocate";

/// What it says of a pod that was refused as a whole before its turn came: it looks for notes that it has not made
/// (`fwk.ErrNotFound`). Preemption by priority is not tried then.
const NO_NOTES: &str = "not found";

/// How preemption comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preemption {
    /// The node on which room is made, and for that price.
    pub nominated: Option<Nomination>,
    /// What is added to the FailedScheduling text; empty if a node is nominated.
    pub message: String,
}

/// A node on which room is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nomination {
    /// The node.
    pub node: NodeName,
    /// The pods that must go, the most important first.
    pub victims: Vec<Key>,
    /// How many of them a disruption budget would have kept.
    pub violations: usize,
}

/// A node on which removing pods helps.
struct Candidate {
    node: NodeId,
    victims: Vec<PodId>,
    violations: usize,
}

impl Scheduler {
    /// Which pods would have to go for a pod to fit. The pod is one that [`Scheduler::place`] found no node for. Where
    /// nodes are equally good, or there are more than are looked at, `draw` decides.
    #[must_use]
    pub fn preempt(&mut self, view: &View, pod: &Arc<Pod>, draw: u64) -> Preemption {
        self.tidy();
        let Self { options, world, classes, bases, marks: _, epoch: _ } = self;
        let (mut cycle, rejected) = Cycle::begin(world, (classes, bases), options, view, pod);
        match rejected {
            None => {
                let objections = cycle.objections(world, bases);
                cycle.preempt(world, &objections, draw)
            }
            Some(rejected) => cycle.preempt_rejected(world, &rejected, draw),
        }
    }
}

impl Cycle<'_> {
    /// Which pods would have to go for a pod that was refused as a whole.
    pub(super) fn preempt_rejected(
        &mut self,
        world: &mut World,
        rejected: &Rejection,
        draw: u64,
    ) -> Preemption {
        if rejected.plugin == Plugin::DynamicResources {
            return self.preempt(world, &Objections::default(), draw);
        }
        // All other plugins that refuse a pod as a whole come before.
        Preemption { nominated: None, message: NO_NOTES.to_owned() }
    }

    /// Which pods would have to go for a pod to which nodes object.
    pub(super) fn preempt(
        &mut self,
        world: &mut World,
        objections: &Objections<'_>,
        draw: u64,
    ) -> Preemption {
        let pod = self.pod;
        if pod.spec.preemption_policy == Some(PreemptionPolicy::Never) {
            return not_tried("not eligible due to preemptionPolicy=Never.");
        }
        if waits_for_victims(world, pod, objections) {
            return not_tried("not eligible due to a terminating pod on the nominated node.");
        }
        let is_resolvable = |(failure, _): &&(&Failure, usize)| failure.code == Code::Unschedulable;
        let potential: usize =
            objections.counted().iter().filter(is_resolvable).map(|(_, count)| *count).sum();
        let mut hopeful: Vec<NodeId> = Vec::new();
        if world.pods.priorities.lowest().is_some_and(|lowest| lowest < priority(pod)) {
            let has_less_urgent =
                |id: &NodeId| world.nodes[*id].priorities.lowest().is_some_and(|l| l < priority(pod));
            hopeful.extend(objections.resolvable().filter(has_less_urgent));
            hopeful.sort_by(|a, b| world.nodes[*a].name.cmp(&world.nodes[*b].name));
            self.measure(world, &hopeful);
        }
        let (candidates, refused) = self.dry_run(world, &hopeful, potential, draw);
        match pick(world, candidates, draw) {
            Some(best) => Preemption {
                nominated: Some(Nomination {
                    node: world.nodes[best.node].name.clone(),
                    victims: best.victims.iter().map(|id| world.pods[*id].pod.meta.key()).collect(),
                    violations: best.violations,
                }),
                message: String::new(),
            },
            None => {
                let total = world.nodes.len();
                let mut reasons = Histogram::default();
                refused.iter().for_each(|failure| reasons.add(&failure.reasons, 1));
                reasons.add(&[Reason::NoVictims], potential - hopeful.len());
                reasons.add(&[Reason::PreemptionNotHelpful], total - potential);
                not_tried(&reasons.message(total))
            }
        }
    }
}

fn not_tried(why: &str) -> Preemption {
    Preemption { nominated: None, message: format!("{NO_CLAIMS}, preemption: {why}") }
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.priority.unwrap_or(0)
}

fn priority_of(world: &World, id: PodId) -> i32 {
    world.priority(&world.pods[id])
}

/// Whether the pod has preempted before, and victims of it are still on their way out on the node it is nominated to
/// (`PodEligibleToPreemptOthers`).
fn waits_for_victims(world: &World, pod: &Pod, objections: &Objections<'_>) -> bool {
    let Some(name) = &pod.status.nominated_node_name else { return false };
    let Some(id) = world.nodes.find(name) else { return false };
    // A node that was not looked at counts as one on which preemption cannot help.
    if objections.of(id).is_none_or(|failure| failure.code == Code::UnschedulableAndUnresolvable) {
        return false;
    }
    world.nodes[id].pods.iter().any(|other| {
        let less_urgent = priority_of(world, *other) < priority(pod);
        let other = &world.pods[*other].pod;
        less_urgent
            && other.is_terminating()
            && condition::find(&other.status.conditions, "DisruptionTarget").is_some_and(|target| {
                target.status == ConditionStatus::True && &*target.reason == "PreemptionByScheduler"
            })
    })
}

/// More urgent and earlier pods first (`MoreImportantPod`). Equal ones stay in the order of their names, in which upstream
/// hears of them when it starts. A pod that has not started counts as starting at the very moment of the comparison, so that of
/// two such pods either comes first; upstream's sorting turns their order round.
fn importance(world: &World, id: PodId) -> (Reverse<i32>, i64, Option<Reverse<Key>>, Key) {
    let pod = &world.pods[id].pod;
    let key = pod.meta.key();
    let turned = pod.status.start_time.is_none().then(|| Reverse(key.clone()));
    (Reverse(priority_of(world, id)), start(pod), turned, key)
}

fn start(pod: &Pod) -> i64 {
    pod.status.start_time.map_or(i64::MAX, replank_model::time::Time::as_millis)
}

/// The evictions that disruption budgets still allow, while pods of one node are counted.
struct Allowed<'a> {
    view: &'a View,
    /// Of the budgets that cover a pod that was counted.
    left: Vec<(Ix<PodDisruptionBudget>, i32)>,
}

impl<'a> Allowed<'a> {
    fn of(view: &'a View) -> Self {
        Self { view, left: Vec::new() }
    }

    /// Takes a pod into account; whether a budget would have kept it. Each budget that covers it counts it, whatever the others say.
    fn is_violated(&mut self, pod: &Pod) -> bool {
        let view = self.view;
        if pod.meta.labels.is_empty() {
            return false;
        }
        let known = view.pods.find(&pod.meta.key());
        match known.filter(|ix| view.pods[*ix].meta.labels == pod.meta.labels) {
            Some(ix) => {
                let budgets = view.budgets_of(ix).iter();
                budgets.filter(|budget| self.charge(**budget, pod)).count() > 0
            }
            // A pod that the view does not have: somebody asks what would be.
            None => {
                let budgets = view.pod_disruption_budgets.unordered().filter(|(_, of)| covers(of, pod));
                budgets.filter(|(budget, _)| self.charge(*budget, pod)).count() > 0
            }
        }
    }

    fn charge(&mut self, budget: Ix<PodDisruptionBudget>, pod: &Pod) -> bool {
        let of = &self.view.pod_disruption_budgets[budget];
        // An empty selector, which means all pods elsewhere, is passed over here.
        let is_empty = of.spec.selector.as_ref().is_some_and(LabelSelector::is_empty);
        if is_empty || of.status.disrupted_pods.contains_key(pod.meta.name.text()) {
            return false;
        }
        let at = self.left.iter().position(|(known, _)| *known == budget).unwrap_or_else(|| {
            self.left.push((budget, of.status.disruptions_allowed));
            self.left.len() - 1
        });
        self.left[at].1 -= 1;
        self.left[at].1 < 0
    }
}

fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    budget.meta.namespace == pod.meta.namespace
        && LabelSelector::compile_option(budget.spec.selector.as_ref())
            .is_ok_and(|selector| selector.matches(|key| pod.meta.labels.value(key)))
}

impl Cycle<'_> {
    /// Looks at nodes until there are enough candidates; the others' reasons are the second part. Of the `potential` nodes
    /// on which removing pods could help, the hopeful are those that have less urgent pods.
    fn dry_run(
        &self,
        world: &World,
        hopeful: &[NodeId],
        potential: usize,
        draw: u64,
    ) -> (Vec<Candidate>, Vec<Failure>) {
        let mut candidates = Vec::new();
        let mut refused = Vec::new();
        if hopeful.is_empty() {
            return (candidates, refused);
        }
        let enough = (potential * CANDIDATES_PERCENT / 100).max(CANDIDATES_MIN).min(potential);
        let offset = usize::try_from(draw % hopeful.len() as u64).expect("less than the number of nodes");
        for at in 0..hopeful.len() {
            let node = hopeful[(offset + at) % hopeful.len()];
            match self.victims(world, node) {
                Ok(candidate) => candidates.push(candidate),
                Err(failure) => refused.push(failure),
            }
            if candidates.len() >= enough && candidates.iter().any(|candidate| candidate.violations == 0) {
                break;
            }
        }
        (candidates, refused)
    }

    /// The fewest pods that must go from a node (`SelectVictimsOnNode`): all less urgent ones are taken away, and then put
    /// back as long as the pod still fits, those that a budget would keep first.
    fn victims(&self, world: &World, node: NodeId) -> Result<Candidate, Failure> {
        let mut potential: Vec<PodId> = world.nodes[node]
            .pods
            .iter()
            .copied()
            .filter(|id| priority_of(world, *id) < priority(self.pod))
            .collect();
        if potential.is_empty() {
            return Err(Failure::unresolvable(Plugin::NodeResourcesFit, Reason::NoVictims));
        }
        let mut on = OnNode::of(world, node);
        for id in &potential {
            on.remove(world, self, node, *id);
        }
        if let Some(failure) = self.failure_of(world, node, &on) {
            return Err(failure);
        }
        potential.sort_by_key(|id| importance(world, *id));
        let mut allowed = Allowed::of(self.view);
        let (violating, others): (Vec<PodId>, Vec<PodId>) =
            potential.into_iter().partition(|id| allowed.is_violated(&world.pods[*id].pod));
        let mut victims = Vec::new();
        let mut violations = 0;
        for (at, id) in violating.iter().chain(&others).enumerate() {
            on.put_back(world, self, node, *id);
            if self.failure_of(world, node, &on).is_some() {
                on.remove(world, self, node, *id);
                victims.push(*id);
                violations += usize::from(at < violating.len());
            }
        }
        victims.sort_by_key(|id| importance(world, *id));
        if victims.is_empty() {
            return Err(Failure::unresolvable(Plugin::NodeResourcesFit, Reason::NoVictims));
        }
        Ok(Candidate { node, victims, violations })
    }
}

/// The candidate with the fewest budgets violated, then the least urgent first victim, the least urgency in all, the
/// fewest victims, the latest start among the most urgent victims (`pickOneNodeForPreemption`); then the lot.
fn pick(world: &World, candidates: Vec<Candidate>, draw: u64) -> Option<Candidate> {
    let rank = |candidate: &Candidate| {
        let priorities = || candidate.victims.iter().map(|id| priority_of(world, *id));
        let highest = priorities().max().unwrap_or(0);
        // Each counts as more than nothing, however low its priority.
        let sum: i64 = priorities().map(|priority| i64::from(priority) + i64::from(i32::MAX) + 1).sum();
        let most_urgent = candidate.victims.iter().filter(|id| priority_of(world, **id) == highest);
        let earliest = most_urgent.map(|id| start(&world.pods[*id].pod)).min();
        let first = priorities().next().unwrap_or(0);
        let name = &world.nodes[candidate.node].name;
        let lot = world.nodes.lot(candidate.node, draw);
        (candidate.violations, first, sum, candidate.victims.len(), Reverse(earliest), lot, name.clone())
    };
    candidates.into_iter().min_by_key(rank)
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_json(value).expect("an object")
    }

    fn node(name: &str) -> Object {
        let room = json!({"cpu": "1", "memory": "1Gi", "pods": "10"});
        object(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}}))
    }

    fn pod(name: &str, on: Option<&str>, priority: i32) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": name}},
            "spec": {"nodeName": on, "priority": priority, "containers": [{"name": "c",
                "resources": {"requests": {"cpu": "800m"}}}]},
            "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}})
    }

    fn budget(selector: &Value, disrupted: &[&str]) -> Object {
        let disrupted: serde_json::Map<_, _> =
            disrupted.iter().map(|pod| ((*pod).to_owned(), json!("2026-01-01T00:00:00Z"))).collect();
        object(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep", "namespace": "shop"}, "spec": {"minAvailable": 1, "selector": selector},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
                "disruptedPods": disrupted}}))
    }

    /// The node on which room is made, and how many budgets that breaks: `a` runs on n1, `b` on n2, and `b` is the less urgent one.
    fn made_on(budget: Option<Object>) -> (NodeName, usize) {
        let pods = [pod("a", Some("n1"), 5), pod("b", Some("n2"), 1)].map(object);
        let objects = [node("n1"), node("n2")].into_iter().chain(pods).chain(budget);
        let view: View = objects.map(Delta::Put).collect();
        let Object::Pod(urgent) = object(pod("urgent", None, 10)) else { panic!("a pod") };
        let nomination = Scheduler::load(&view).preempt(&view, &urgent, 0).nominated.expect("there is one");
        (nomination.node, nomination.violations)
    }

    #[test]
    fn a_budget_turns_to_the_pod_that_it_does_not_cover() {
        assert_eq!(made_on(None), (NodeName::from("n2"), 0));
        let of_b = || json!({"matchLabels": {"app": "b"}});
        assert_eq!(made_on(Some(budget(&of_b(), &[]))), (NodeName::from("n1"), 0));
        // Whose eviction has been granted is not counted twice.
        assert_eq!(made_on(Some(budget(&of_b(), &["b"]))), (NodeName::from("n2"), 0));
        let of_both = json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]});
        assert_eq!(made_on(Some(budget(&of_both, &[]))), (NodeName::from("n2"), 1));
    }

    #[test]
    fn a_budget_that_selects_all_or_none_is_passed_over() {
        assert_eq!(made_on(Some(budget(&json!({}), &[]))), (NodeName::from("n2"), 0));
        assert_eq!(made_on(Some(budget(&json!(null), &[]))), (NodeName::from("n2"), 0));
    }

    #[test]
    fn a_budget_covers_a_pod_that_the_view_has_under_other_labels_or_not_at_all() {
        let view: View =
            [Delta::Put(budget(&json!({"matchLabels": {"app": "b"}}), &[]))].into_iter().collect();
        let Object::Pod(imagined) = object(pod("b", None, 1)) else { panic!("a pod") };
        assert!(Allowed::of(&view).is_violated(&imagined));
        let mut other = pod("b", None, 1);
        other["metadata"]["labels"] = json!({"app": "c"});
        let view: View = view.objects().into_iter().chain([object(other)]).map(Delta::Put).collect();
        assert!(Allowed::of(&view).is_violated(&imagined));
    }
}
