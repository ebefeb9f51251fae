//! A node as a group would add it: the group's launch template, empty but for DaemonSet pods.

use std::sync::Arc;

use replank_model::object::cloud::{NodeGroup, NodeShape};
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::volume::{CsiNode, CsiNodeSpec};
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_model::view::View;

use crate::pod_factory::{self as subject, PodFactory};
use replank_schedule::predicate::{spec_matches, untolerated_taint};

/// A node that a group would add.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// Its group.
    pub group: GroupName,
    /// Its zone.
    pub zone: Zone,
    /// Its instance type.
    pub instance_type: Text,
    /// The node, as it is once it is Ready.
    pub node: Arc<Node>,
    /// What it attaches.
    pub csi: Option<CsiNode>,
    /// DaemonSet pods that start on it.
    pub daemons: Vec<Arc<Pod>>,
}

/// The node that a group would add in a zone: of its most frequent instance type.
pub fn node_of(factories: &[PodFactory], group: &NodeGroup, zone: &Zone) -> Option<Fresh> {
    let profile = group.profile();
    let shape = profile.shapes.first()?;
    let name = NodeName::from(format!("new-{}-{zone}", group.name));
    let mut node = profile.node(&name, zone, shape);
    let ready = Condition { r#type: "Ready".into(), status: ConditionStatus::True, ..Condition::default() };
    node.status.conditions = vec![ready].into();
    let daemons = daemons(factories, &node);
    Some(Fresh {
        group: group.name.clone(),
        zone: zone.clone(),
        instance_type: shape.instance_type.clone(),
        csi: csi_node(&name, shape),
        node: Arc::new(node),
        daemons,
    })
}

fn csi_node(name: &NodeName, shape: &NodeShape) -> Option<CsiNode> {
    if shape.csi_drivers.is_empty() {
        return None;
    }
    let mut csi = CsiNode { spec: CsiNodeSpec { drivers: shape.csi_drivers.clone() }, ..CsiNode::default() };
    csi.meta.name = name.into();
    Some(csi)
}

/// What the pods of all DaemonSets are made from.
pub fn daemon_factories(view: &View) -> Vec<PodFactory> {
    let sets = view.daemon_sets.sorted().into_iter();
    sets.filter_map(|(_, set)| Some(subject::of_object(view, &set.clone().into()).ok()?.0)).collect()
}

/// Pod factories of all DaemonSets, for code that adds nodes.
#[derive(Clone, Debug, Default)]
pub struct DaemonFactories(Vec<PodFactory>);

impl DaemonFactories {
    /// Those of a cluster.
    #[must_use]
    pub fn of(view: &View) -> Self {
        Self(daemon_factories(view))
    }

    /// The pods that DaemonSets put on a node.
    #[must_use]
    pub fn on(&self, node: &Node) -> Vec<Arc<Pod>> {
        daemons(&self.0, node)
    }
}

fn daemons(factories: &[PodFactory], node: &Node) -> Vec<Arc<Pod>> {
    let is_wanted = |pod: &Arc<Pod>| {
        spec_matches(&pod.spec, pod.pin.as_ref(), node)
            && untolerated_taint(&pod.spec.tolerations, &node.spec.taints, false).is_none()
    };
    factories.iter().map(|factory| factory.for_node(&node.name())).filter(is_wanted).collect()
}
