//! How many nodes are launched, of which pool, zone and instance type.
//!
//! As upstream, pods that found no room are looked at together with those of nodes on their way out, which will soon need some: so the node that takes the place of a
//! deleted one is launched while that is drained. A pod that fits on a node that is there, or that was launched already, needs none.
//!
//! Upstream picks the cheapest of all instance types that a pool allows. Here a pool launches what it has: its first instance type that fits, in the zone with fewest
//! of its nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_facts::drain::is_daemon;
use replank_facts::groups::{GroupBy, from_nodes, zone_of};
use replank_model::object::cloud::NodeGroup;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::karpenter::{DISRUPTED_TAINT, LABEL_NODE_POOL, NodeClaim};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, Name, NodeName, Text, Zone};
use replank_model::view::View;
use replank_schedule::{Scheduler, Trial, VolumeDecisions};

use super::eviction;
use super::state::{Karpenter, Pool, Wanted, csi_node, is_without_room};
use crate::context::Ctx;

/// Nodes that are launched for one pod at most: it may fit on none once DaemonSets' pods are there.
const TRIES_MAX: u32 = 3;

impl Karpenter {
    /// Looks at all pods that need room, and launches what they need.
    pub(super) fn provision(&mut self, ctx: &mut Ctx<'_>) {
        self.learn(ctx.view());
        let pods = waiting(ctx.view());
        let known = |pod: &&Arc<Pod>| self.tries.get(&pod.meta.uid).is_none_or(|tries| *tries < TRIES_MAX);
        let pods: Vec<Arc<Pod>> = pods.iter().filter(known).cloned().collect();
        if pods.is_empty() || self.pools.is_empty() {
            return;
        }
        let (wanted, placed) = self.plan(ctx.view(), &pods);
        for pod in placed {
            *self.tries.entry(pod.meta.uid.clone()).or_default() += 1;
        }
        for node in wanted {
            self.launch(ctx, &node);
        }
    }

    /// What the pools are like, as far as there are nodes and claims of them. What is known of others stays.
    fn learn(&mut self, view: &View) {
        for learnt in from_nodes(view, &GroupBy::Label(LABEL_NODE_POOL.into())) {
            let name = learnt.group.name.clone();
            let nodes = learnt.instances.iter().filter_map(|one| view.node(one.node.as_ref()?));
            let with_claim = nodes.filter_map(|node| Some((node, view.claim_of(node)?)));
            // A node on its way out shows what Karpenter has put on it besides.
            let Some((node, claim)) =
                with_claim.min_by_key(|(node, _)| (node.meta.is_terminating(), &node.meta.name))
            else {
                continue;
            };
            let on_node = view.sorted_pods_on(&node.name());
            let daemons = on_node.into_iter().filter(|pod| is_daemon(pod)).cloned().collect();
            let (claim, sibling) = (NodeClaim::clone(claim), node.name());
            self.pools.insert(name, Pool { like: undisturbed(learnt.group), claim, sibling, daemons });
        }
    }

    /// The nodes that pods need besides those that are there and those that were launched, and the pods that need them.
    fn plan(&self, view: &View, pods: &[Arc<Pod>]) -> (Vec<Wanted>, Vec<Arc<Pod>>) {
        let mut scheduler = Scheduler::load(view);
        let mut trial = scheduler.trial();
        for launched in self.launched.iter().filter(|launched| !launched.is_over) {
            if let Some(pool) = self.pools.get(&launched.node.pool) {
                suppose(view, &mut trial, pool, &launched.name, &launched.node);
            }
        }
        for node in view.nodes.unordered().map(|(_, node)| node).filter(|node| node.meta.is_terminating()) {
            trial.exclude(&node.name());
        }
        let mut counts = counts(view);
        let (mut wanted, mut placed) = (Vec::new(), Vec::new());
        for pod in pods {
            // One that is still on a node is asked for as if it had left it.
            if pod.node.is_some() {
                trial.take_away(view, &pod.meta.key());
            }
            let asked = &unbound(pod);
            if let Ok(found) = trial.place(view, asked, 0) {
                trial.assume(view, asked, &found.node, &found.volumes);
                continue;
            }
            let Some(node) = self.fitting(view, &mut trial, asked, &counts, wanted.len()) else { continue };
            *counts.entry((node.pool.clone(), node.zone.clone())).or_default() += 1;
            wanted.push(node);
            placed.push(pod.clone());
        }
        (wanted, placed)
    }

    /// The first node on which a pod fits; it is taken to be there, with the pod.
    fn fitting(
        &self,
        view: &View,
        trial: &mut Trial<'_>,
        pod: &Arc<Pod>,
        counts: &BTreeMap<(GroupName, Zone), u32>,
        number: usize,
    ) -> Option<Wanted> {
        for (name, pool) in &self.pools {
            let mut zones = pool.like.zones.clone();
            zones.sort_by_key(|zone| (counts.get(&(name.clone(), zone.clone())).copied(), zone.clone()));
            for zone in &zones {
                for shape in 0..pool.like.profile().shapes.len() {
                    let node = Wanted { pool: name.clone(), zone: zone.clone(), shape };
                    let mark = trial.mark();
                    let new = NodeName::from(format!("karpenter-{number}"));
                    suppose(view, trial, pool, &new, &node);
                    if let Ok(found) = trial.place(view, pod, 0)
                        && found.node == new
                    {
                        trial.assume(view, pod, &new, &found.volumes);
                        return Some(node);
                    }
                    trial.revert_to(mark);
                }
            }
        }
        None
    }
}

/// Pods that found no room, and those that will have to leave a node that is on its way out; large ones first.
fn waiting(view: &View) -> Vec<Arc<Pod>> {
    let loose =
        view.pods.unordered().map(|(_, pod)| pod).filter(|pod| is_without_room(pod) && !is_daemon(pod));
    let claims =
        view.node_claims.unordered().map(|(_, claim)| claim).filter(|claim| claim.meta.is_terminating());
    let nodes = claims.filter_map(|claim| claim.status.node_name.as_ref());
    let leaving = nodes.flat_map(|node| view.sorted_pods_on(node));
    let leaving = leaving.filter(|pod| pod.is_active() && !is_daemon(pod) && !eviction::stays(pod));
    let has_owner = |pod: &&Arc<Pod>| pod.meta.controller().is_some();
    let mut pods: Vec<Arc<Pod>> = loose.chain(leaving.filter(has_owner)).cloned().collect();
    let size = |pod: &Pod| {
        let requests = replank_model::object::requests::of_pod(pod);
        (requests.get("cpu").cloned(), requests.get("memory").cloned())
    };
    pods.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| a.meta.key().cmp(&b.meta.key())));
    pods
}

/// A pod as its owner would make it again.
fn unbound(pod: &Arc<Pod>) -> Arc<Pod> {
    if pod.node.is_none() {
        return pod.clone();
    }
    let mut again = Pod { node: None, ..Pod::clone(pod) };
    again.meta.name = Name::from(format!("{}-again", pod.meta.name));
    again.meta.uid = format!("{}-again", pod.meta.uid).as_str().into();
    again.into()
}

/// A pool as its nodes are when nothing is done to them.
fn undisturbed(mut group: NodeGroup) -> NodeGroup {
    for template in group.templates.values_mut() {
        let taints = &mut template.profile.taints;
        taints
            .retain(|taint| &*taint.key != DISRUPTED_TAINT && !taint.key.starts_with("node.kubernetes.io/"));
        let labels = &mut template.profile.labels;
        *labels = labels.without(replank_protocol::mark::EXCLUDE);
    }
    group
}

fn counts(view: &View) -> BTreeMap<(GroupName, Zone), u32> {
    let mut counts = BTreeMap::new();
    for (_, node) in view.nodes.unordered().filter(|(_, node)| !node.meta.is_terminating()) {
        if let Some(pool) = node.meta.labels.get(LABEL_NODE_POOL) {
            *counts.entry((GroupName::new(pool.clone()), zone_of(node))).or_default() += 1;
        }
    }
    counts
}

/// Takes a node to be there and Ready, with the pods that DaemonSets will put there.
fn suppose(view: &View, trial: &mut Trial<'_>, pool: &Pool, name: &NodeName, of: &Wanted) {
    let profile = pool.like.profile();
    let Some(shape) = profile.shapes.get(of.shape) else { return };
    let mut node: Node = profile.node(name, &of.zone, shape);
    let ready =
        Condition { r#type: Text::from("Ready"), status: ConditionStatus::True, ..Condition::default() };
    node.status.conditions = vec![ready].into();
    trial.put_node(node.into());
    trial.put_csi_node(name.clone(), csi_node(name, shape));
    for (number, daemon) in pool.daemons.iter().enumerate() {
        let mut pod = Pod { node: None, pin: None, ..Pod::clone(daemon) };
        pod.meta.name = Name::from(format!("daemon-{number}-{name}"));
        trial.assume(view, &pod.into(), name, &VolumeDecisions::default());
    }
}
