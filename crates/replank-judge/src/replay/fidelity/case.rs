//! What is compared: the clusters of the replays, each with a plan for nodes that somebody else replaces.

use std::time::Duration;

use super::super::scene::{Scene, nodes, pool, scenes, singletons_that_surge};

/// A cluster and a plan.
#[derive(Clone, Debug)]
pub struct Case {
    /// The cluster.
    pub scene: Scene,
    /// Members of the plan's `spec` besides the groups, the provider and the target.
    pub(super) spec: &'static str,
    /// Whether its nodes are a pool of Karpenter's, which replaces them.
    pub(super) is_pool: bool,
    /// Arguments of `rehearse` and `roll` alike.
    pub(super) arguments: &'static [&'static str],
}

/// How long the machine of a drained node is left.
pub(super) const LEFT: Duration = Duration::from_secs(3);
/// How long a machine takes to go.
pub(super) const STOPS: Duration = Duration::from_secs(2);
/// How long another takes to be Ready, from the moment at which the old one was told to go.
pub(super) const STARTS: Duration = Duration::from_secs(10);

impl Case {
    /// The plan as a person writes it.
    pub(super) fn plan(&self) -> String {
        let name = &self.scene.name;
        let provider = if self.is_pool { "" } else { ", provider: external" };
        format!(
            "apiVersion: replank.dev/v1alpha1
kind: NodeRoll
metadata: {{name: {name}}}
spec: {{groups: [web]{provider}, target: {{kubernetesVersion: '1.36'}}, progressDeadline: 2m{}}}
",
            self.spec
        )
    }

    /// What a rehearsal is told of whoever replaces nodes.
    pub(super) fn script() -> String {
        let seconds = |span: Duration| span.as_secs();
        format!(
            "before: somebody replaces drained nodes after {}s\nbefore: instances take {}s to start\nbefore: instances take {}s to stop\nbefore: changes are seen within 0s\n",
            seconds(LEFT),
            seconds(STARTS),
            seconds(STOPS)
        )
    }
}

/// Nodes beside the group, its plan, and arguments.
fn plan_of(name: &str) -> (usize, &'static str, &'static [&'static str]) {
    let plain: &[&str] = &[];
    match name {
        // Where each node holds one of the pods, or all are full, a pod needs another node to go to.
        "apart" | "tight" => (1, "", plain),
        "batch" => (1, ", batch: {wait: 10m}", plain),
        "zones-hard" => (3, ", budget: {maxUnavailable: 2}, pace: {parallel: 2}", plain),
        "stateful" => (3, "", plain),
        "percentages" => (0, ", order: oldest", plain),
        "plain" => (0, ", order: zoneByZone", plain),
        "slow-starts" => (2, ", external: {oldNodes: cordon}", plain),
        "daemons" => (1, ", canary: {nodes: 1, soak: 20s}", plain),
        "parallel" => (0, ", budget: {maxUnavailable: 2}, pace: {parallel: 2}", plain),
        "singletons" => (0, "", &["--allow-incomplete", "PodDisruptionBudget"]),
        "surge" => (1, ", singletons: surge", plain),
        "drained-by-hand" => (0, ", pace: {betweenNodes: 10s}", plain),
        _ => (0, "", plain),
    }
}

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    scenes()
        .into_iter()
        .chain([singletons_that_surge(), pool()])
        .map(|mut scene| {
            let (spare, spec, arguments) = plan_of(&scene.name);
            scene.nodes.extend(nodes("spare", spare, 3, "2"));
            if scene.name == "overlap" {
                // Four pods stay where they are, each on a node of its own at worst: one more can be emptied.
                scene.nodes.extend(nodes("web", 5, 1, "2").split_off(3));
            }
            if scene.name == "drained-by-hand" {
                "mixed".clone_into(&mut scene.name);
            }
            Case { is_pool: scene.name == "karpenter", scene, spec, arguments }
        })
        .collect()
}
