//! What-if questions, and the same on a View in which the answer is true.

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::view::View;
use replank_oracle::plain_scheduler::Settings;
use replank_oracle::sched_random::Cluster;
use replank_schedule::{Trial, VolumeDecisions};

/// What a trial should look like from outside.
#[derive(Clone)]
pub(crate) struct Imagined {
    pub(crate) view: View,
    pub(crate) settings: Settings,
}

impl Imagined {
    /// Does something in both; what it is called.
    pub(crate) fn change(
        &mut self,
        trial: &mut Trial<'_>,
        real: &View,
        cluster: &mut Cluster,
    ) -> &'static str {
        let nodes: Vec<Arc<Node>> =
            self.view.nodes.sorted().into_iter().map(|(_, node)| node.clone()).collect();
        let pods: Vec<Arc<Pod>> = self
            .view
            .pods
            .sorted()
            .into_iter()
            .map(|(_, pod)| pod.clone())
            .filter(|pod| !pod.is_terminal())
            .collect();
        let (bound, waiting): (Vec<_>, Vec<_>) = pods.into_iter().partition(|pod| pod.node.is_some());
        match cluster.random.below(6) {
            0 if !nodes.is_empty() => {
                let node = cluster.random.one(&nodes);
                trial.exclude(&node.name());
                self.settings.excluded.insert(node.meta.name.to_string());
                "node left out"
            }
            1 if !bound.is_empty() => {
                let pod = cluster.random.one(&bound);
                assert!(trial.take_away(real, &pod.meta.key()), "{} is bound", pod.meta.key());
                match real.pods.by_key(&pod.meta.key()).filter(|pod| pod.node.is_none()) {
                    Some(waiting) => self.view.apply(Delta::from((**waiting).clone())),
                    None => self.view.apply(Delta::Gone(Object::from(pod).reference())),
                };
                "pod taken away"
            }
            2 if !waiting.is_empty() && !nodes.is_empty() => {
                let pod = cluster.random.one(&waiting);
                self.assume(trial, real, &pod, &cluster.random.one(&nodes).name());
                "pod assumed"
            }
            3 if !nodes.is_empty() => {
                let pod = cluster.pod();
                self.assume(trial, real, &pod, &cluster.random.one(&nodes).name());
                "pod made up"
            }
            4 if !nodes.is_empty() => {
                let node = cluster.random.one(&nodes);
                assert!(trial.remove_node(&node.name()), "the node is there");
                // Left out or not, it is not there.
                self.view.apply(Delta::Gone(Object::from(node).reference()));
                "node gone"
            }
            _ => {
                let name = if cluster.random.percent(50) || nodes.is_empty() {
                    format!("imagined-{}", cluster.random.below(3))
                } else {
                    cluster.random.one(&nodes).meta.name.to_string()
                };
                let Object::Node(node) = Object::from_json(cluster.node(&name)).expect("a node") else {
                    panic!("a node is a node")
                };
                trial.put_node(node.clone());
                self.view.apply(Delta::from((*node).clone()));
                "node put"
            }
        }
    }

    fn assume(&mut self, trial: &mut Trial<'_>, real: &View, pod: &Arc<Pod>, node: &NodeName) {
        assert!(trial.assume(real, pod, node, &VolumeDecisions::default()), "the pod was nowhere");
        let mut bound = (**pod).clone();
        bound.node = Some(node.clone());
        bound.status.nominated_node_name = None;
        self.view.apply(Delta::from(bound));
    }
}
