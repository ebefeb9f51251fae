//! What goes wrong with machines, how plans bear it, and plans that refuse to begin.
//!
//! Drawn from a stream of its own, so that clusters are otherwise what they were without it.

use replank_facts::plan::{BlockingFindings, Health, OnFailure, Plan, StuckTerminating};
use replank_model::time::Span;
use replank_protocol::policy::StuckAction;
use replank_sim::{ImageFault, ImageName, NodeTrouble};
use serde_json::{Value, json};

use super::Cluster;
use super::nodes::{Fleet, OLD_IMAGE};
use replank_oracle::sched_random::Random;

pub use super::troubles::Trouble;

/// Sets the stream apart from the cluster's.
const TROUBLE: u64 = 0x7472_6f75_626c_6500;

/// Of a hundred clusters: in so many the kubelets of one or two nodes end no pod, or those of all old nodes do not, or there is something
/// wrong with what new nodes are made from.
const BAD_NODES: u64 = 14;
const BAD_OLD_IMAGE: u64 = 3;
const BAD_NEW_IMAGE: u64 = 14;
/// Of a hundred plans: so many have a gate, go back when they cannot go on, refuse to begin with what blocks. A plan whose new image is bad
/// has a gate, or goes back, three times out of four.
const GATES: u64 = 12;
const GOES_BACK: u64 = 15;
const REFUSES: u64 = 12;
/// Of a hundred clusters so many have a service that wants a label which one node was given by hand.
const PINNED: u64 = 3;

pub(super) fn draw(cluster: &mut Cluster, fleet: &Fleet) {
    let mut random = Random::new(cluster.seed ^ TROUBLE);
    let random = &mut random;
    cluster.troubles = troubles(random, fleet);
    let is_new_bad = cluster.troubles.iter().any(|(whose, _)| *whose == ImageName::New);
    bear(random, &mut cluster.plan, is_new_bad);
    if random.percent(PINNED) {
        pin(random, cluster, fleet);
    }
}

fn troubles(random: &mut Random, fleet: &Fleet) -> Vec<Trouble> {
    let cannot_stop = ImageFault::CannotStop { after: Span::ZERO };
    let drawn = random.below(100);
    if drawn < BAD_NODES {
        let names = fleet.names();
        let count = 1 + random.below(2);
        return (0..count).map(|_| (ImageName::OfNode(random.one(&names)), cannot_stop)).collect();
    }
    if drawn < BAD_NODES + BAD_OLD_IMAGE {
        return vec![(ImageName::Named(OLD_IMAGE.into()), cannot_stop)];
    }
    if drawn < BAD_NODES + BAD_OLD_IMAGE + BAD_NEW_IMAGE {
        let fault = random.one(&[
            cannot_stop,
            ImageFault::CannotStop { after: Span::from_minutes(10) },
            ImageFault::Crashes,
            ImageFault::Crashes,
            ImageFault::KeepsUnready,
            ImageFault::BreaksDns,
            ImageFault::Troubles { with: NodeTrouble::Memory, after: Span::from_minutes(10) },
            ImageFault::Troubles { with: NodeTrouble::Network, after: Span::from_minutes(2) },
        ]);
        return vec![(ImageName::New, fault)];
    }
    Vec::new()
}

/// How a plan reacts to trouble.
fn bear(random: &mut Random, plan: &mut Plan, is_new_bad: bool) {
    plan.care.stuck = StuckTerminating {
        after: Span::from_minutes(random.one(&[1, 5, 5, 10])),
        action: random.one(&[
            StuckAction::Report,
            StuckAction::ReplaceNode,
            StuckAction::ReplaceNode,
            StuckAction::ForceDelete,
            StuckAction::ForceDelete,
        ]),
    };
    let gates = if is_new_bad { 75 } else { GATES };
    if random.percent(gates) {
        let crash_looping_max = random.one(&[0, 0, 1, 3]);
        plan.care.health = Some(Health {
            crash_looping_max,
            restarting_max: crash_looping_max,
            stuck_terminating_max: random.one(&[0, 0, 1, 3]),
            not_ready_max: random.one(&[0, 1, 3, 12, 12]),
            bad_nodes_max: crash_looping_max.min(1),
        });
    }
    let goes_back = if is_new_bad { 75 } else { GOES_BACK };
    if random.percent(goes_back) {
        plan.on_failure = OnFailure::Rollback;
    }
    if random.percent(REFUSES) {
        plan.care.blocking_findings = BlockingFindings::Refuse;
    }
}

/// A service that runs only where somebody has put a label, which new nodes do not get.
fn pin(random: &mut Random, cluster: &mut Cluster, fleet: &Fleet) {
    let name = random.one(&fleet.names());
    let labels = cluster.base.iter_mut().find(|object| object["metadata"]["name"] == name.as_str());
    let Some(node) = labels.filter(|object| object["kind"] == "Node") else { return };
    node["metadata"]["labels"]["shelf"] = "top".into();
    let app = json!({"app": "pinned"});
    let service: Value = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "pinned", "namespace": "shop"},
        "spec": {"replicas": 1, "selector": {"matchLabels": app}, "template": {"metadata": {"labels": app},
            "spec": {"nodeSelector": {"shelf": "top"}, "tolerations": [{"key": "dedicated", "operator": "Exists"}],
                "containers": [{"name": "main", "image": "registry.example/app:1",
                    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}}}});
    // First, so that it has its place.
    cluster.manifests.insert(0, service);
}
