//! S7 and S9: a run that is refused has no effect at all, and one that refuses to begin with what blocks has begun with nothing of the kind.
//!
//! What blocks is read here from the objects, for the simplest cases: budgets that can never let a pod go, or of which a pod is under
//! several; pods that nobody would make again and data on a node's disk, where the plan refuses them; a label that a pod asks for and that no
//! node carries which stays or is added.

use std::sync::Arc;

use replank_model::int_or_string::IntOrString;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::object::policy::PodDisruptionBudget;
use replank_protocol::decision::End;
use replank_protocol::waiting::{RunEnd, Subject, Waiting, WaitingOn};

use super::budget::{covering, covers, desired_healthy, replicas};
use super::sights::{Met, Sights};
use super::truth::{Truth, goes_with_its_node, is_over, manager};
use super::{Found, Promise, Promised};

/// What is known of the beginning.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    /// What blocked before the run, where the plan refuses to begin with it.
    blocking: Vec<String>,
    /// Budgets that let pods go when all are healthy, as they are named among findings.
    with_slack: Vec<String>,
    effects: usize,
}

impl Refusal {
    pub(super) fn begin(promised: &Promised, truth: &Truth, sights: &mut Sights) -> Self {
        if !promised.refuses {
            return Self::default();
        }
        let on_old = truth.pods.values().filter(|pod| {
            pod.node.as_ref().is_some_and(|node| promised.old.contains(node)) && is_to_move(truth, pod)
        });
        let blocking: Vec<String> = on_old.flat_map(|pod| in_the_way(promised, truth, pod)).collect();
        sights.met.extend((!blocking.is_empty()).then_some(Met::Blocking));
        let slack = truth
            .budgets
            .values()
            .filter(|budget| counted(truth, budget).is_some_and(|(wanted, all)| 0 < all && wanted < all));
        Self {
            blocking,
            with_slack: slack.map(|budget| format!("PodDisruptionBudget {}", budget.meta.key())).collect(),
            effects: 0,
        }
    }

    /// A command was carried out, or tried.
    pub(super) fn executed(&mut self, found: &mut Found<'_>) {
        self.effects += 1;
        if let (1, Some(first)) = (self.effects, self.blocking.first()) {
            found.broken(Promise::S9, format!("the run starts with a blocking finding: {first}"));
        }
    }

    /// The run is over.
    pub(super) fn finish(&self, promised: &Promised, end: &End, found: &mut Found<'_>) {
        let End::Refused(why) = end else { return };
        if self.effects > 0 {
            found.broken(Promise::S7, format!("the run is refused after {} effects", self.effects));
        }
        if !promised.refuses {
            found
                .broken(Promise::S9, "a run is refused although its plan starts with any finding".to_owned());
        }
        for Waiting { what, on } in why {
            let (Subject::Object(name), WaitingOn::RunEnd(RunEnd::Finding { rule, .. })) = (what, on) else {
                continue;
            };
            if **rule == *"pdb-never-allows" && self.with_slack.iter().any(|one| **one == **name) {
                found.broken(
                    Promise::S9,
                    format!("the run is refused because of {name}, which allows evictions"),
                );
            }
        }
    }
}

/// Whether a drain would have to move a pod that does not end by itself.
fn is_to_move(truth: &Truth, pod: &Pod) -> bool {
    let ends = manager(pod).is_some_and(|(kind, _, _)| kind == "Job" || kind == "Workflow")
        || matches!(pod.spec.restart_policy, Some(RestartPolicy::Never | RestartPolicy::OnFailure));
    !ends && !is_over(pod) && pod.meta.deletion_timestamp.is_none() && !goes_with_its_node(truth, pod)
}

/// What stands in the way of a pod, whatever else happens.
fn in_the_way(promised: &Promised, truth: &Truth, pod: &Arc<Pod>) -> Vec<String> {
    let key = pod.meta.key();
    let mut all = Vec::new();
    let budgets: Vec<_> = covering(truth, pod).collect();
    if budgets.len() > 1 {
        all.push(format!("pod {key} is under {} budgets", budgets.len()));
    }
    // A restart may move it, and asks no budget.
    let is_restarted = promised.restarts && manager(pod).is_some_and(|(kind, _, _)| kind == "ReplicaSet");
    for budget in budgets.iter().filter(|_| !is_restarted) {
        let name = budget.meta.key();
        match counted(truth, budget) {
            Some((wanted, pods)) if pods > 0 && wanted >= pods => {
                all.push(format!("budget {name} needs {wanted} of {pods} pods healthy, including {key}"));
            }
            Some(_) => {}
            None => all.push(format!("the pods of budget {name} cannot be counted, including {key}")),
        }
    }
    if promised.refuses_bare && manager(pod).is_none() {
        all.push(format!("no controller would recreate pod {key}"));
    }
    if promised.refuses_disks && pod.spec.volumes.iter().any(|volume| volume.source.empty_dir.is_some()) {
        all.push(format!("pod {key} has data in an emptyDir"));
    }
    for (label, value) in pod.spec.node_selector.iter() {
        let carries = |node: &Node| node.meta.labels.value(label) == Some(value);
        let stays = |node: &&Arc<Node>| !promised.old.contains(&node.name());
        let group = |node: &Node| truth.instance_of(node).map(|one| one.group.clone());
        // What all nodes of a group bear, new ones may bear, too.
        let of_group = |one: &Node| {
            truth.nodes.values().filter(|node| group(node) == group(one)).all(|node| carries(node))
        };
        if !truth.nodes.values().any(|node| carries(node) && (stays(&node) || of_group(node))) {
            all.push(format!("pod {key} needs a node with {label}={value}, and none stays or is added"));
        }
    }
    all
}

/// How many pods a budget wants healthy, and of how many; `None` where nobody can say.
fn counted(truth: &Truth, budget: &PodDisruptionBudget) -> Option<(i64, i64)> {
    let pods = truth.pods_in(&budget.meta.namespace).filter(|pod| covers(budget, pod));
    let pods: Vec<Arc<Pod>> = pods.cloned().collect();
    let wanted = desired_healthy(truth, &pods, budget)?;
    let all = match budget.spec.min_available {
        Some(IntOrString::Int(_)) => i64::try_from(pods.len()).expect("few"),
        Some(IntOrString::String(_)) | None => replicas(truth, &pods)?,
    };
    Some((wanted, all))
}
