//! Interim engine: asks every node from scratch.

use std::sync::Arc;

use replank_model::object::affinity::TaintEffect;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::resources::{CPU, MEMORY};
use replank_model::view::{Ix, View};

use super::{Placed, Unschedulable};

pub(super) fn best(view: &View, pod: &Arc<Pod>) -> Vec<Ix<Node>> {
    let mut best: Vec<Ix<Node>> = Vec::new();
    let mut top = i64::MIN;
    for (ix, node) in view.nodes.sorted() {
        if !fits(view, pod, node) {
            continue;
        }
        let score = score(view, pod, node);
        if score > top {
            top = score;
            best.clear();
        }
        if score == top {
            best.push(ix);
        }
    }
    best
}

pub(super) fn place(view: &View, pod: &Arc<Pod>, draw: u64) -> Result<Placed, Unschedulable> {
    let best = best(view, pod);
    if best.is_empty() {
        let message = format!("0/{} nodes are available", view.nodes.len());
        return Err(Unschedulable { message: message.into() });
    }
    let at = usize::try_from(draw % best.len() as u64).expect("less than the number of nodes");
    Ok(Placed { node: best[at], name: view.nodes[best[at]].name(), feasible: best.len() })
}

fn requests(pod: &Pod) -> (i64, i64) {
    pod.spec.containers.iter().fold((0, 0), |(cpu, memory), container| {
        let of = |name| container.resources.requests.get(name);
        (
            cpu + of(CPU).map_or(0, replank_model::quantity::Quantity::milli_value),
            memory + of(MEMORY).map_or(0, replank_model::quantity::Quantity::value),
        )
    })
}

fn used(view: &View, node: &Node) -> (i64, i64, i64) {
    view.pods_on(&node.name()).iter().map(|ix| &view.pods[*ix]).filter(|pod| !pod.is_terminal()).fold(
        (0, 0, 0),
        |(cpu, memory, pods), pod| {
            let (c, m) = requests(pod);
            (cpu + c, memory + m, pods + 1)
        },
    )
}

fn fits(view: &View, pod: &Pod, node: &Node) -> bool {
    let tolerated = |taint: &replank_model::object::affinity::Taint| {
        taint.effect == TaintEffect::PreferNoSchedule
            || pod.spec.tolerations.iter().any(|t| t.tolerates(taint, false))
    };
    let labels = &node.meta.labels;
    let (cpu, memory) = requests(pod);
    let (used_cpu, used_memory, pods) = used(view, node);
    let of = |name| node.status.allocatable.get(name);
    let unschedulable = node.spec.unschedulable
        && !pod
            .spec
            .tolerations
            .iter()
            .any(|t| t.key.is_empty() || &*t.key == "node.kubernetes.io/unschedulable");
    !unschedulable
        && node.spec.taints.iter().all(tolerated)
        && pod.pin.as_ref().is_none_or(|pin| *pin == node.name())
        && pod.spec.node_selector.iter().all(|(k, v)| labels.value(k) == Some(v))
        && used_cpu + cpu <= of(CPU).map_or(0, replank_model::quantity::Quantity::milli_value)
        && used_memory + memory <= of(MEMORY).map_or(0, replank_model::quantity::Quantity::value)
        && pods < of("pods").map_or(110, replank_model::quantity::Quantity::value)
}

fn score(view: &View, _pod: &Pod, node: &Node) -> i64 {
    -used(view, node).2
}
