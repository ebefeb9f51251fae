//! What a node is expected to look like that is made from a launch template: nobody wrote it down, it is learnt from nodes that there are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::labels::Labels;
use crate::object::affinity::Taint;
use crate::object::node::Node;
use crate::object::resources::Resources;
use crate::object::volume::CsiNodeDriver;
use crate::text::{Name, NodeName, Text, Zone};

/// The prediction of what a node looks like that is made from a launch template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeProfile {
    /// Kubelet version, such as `v1.34.2`: the image's.
    pub kubelet_version: Text,
    /// Labels that every node of the group has.
    pub labels: Labels,
    /// Labels that depend on the zone, the zone's own label among them.
    pub zone_labels: BTreeMap<Zone, Labels>,
    /// Labels whose value is the node's name.
    pub name_labels: Vec<Text>,
    /// Taints that nodes register with and keep.
    pub taints: Vec<Taint>,
    /// Instance types, most frequent first; never empty in a group that launches.
    pub shapes: Vec<NodeShape>,
}

/// One instance type of a group and what a node of it offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeShape {
    /// Instance type.
    pub instance_type: Text,
    /// How often the type is launched, relative to the others.
    pub weight: u32,
    /// Labels that depend on the instance type.
    pub labels: Labels,
    /// What a node reports as capacity.
    pub capacity: Resources,
    /// What a node reports as allocatable.
    pub allocatable: Resources,
    /// CSI drivers and how many volumes they attach.
    pub csi_drivers: Vec<CsiNodeDriver>,
}

impl NodeProfile {
    /// A node, as it is expected to be once it is Ready.
    #[must_use]
    pub fn node(&self, name: &NodeName, zone: &Zone, shape: &NodeShape) -> Node {
        let nothing = Labels::default();
        let of_zone = self.zone_labels.get(zone).unwrap_or(&nothing);
        let of_name = self.name_labels.iter().map(|key| (key.clone(), name.text().clone()));
        let pairs = self.labels.pairs().iter().chain(of_zone.pairs()).chain(shape.labels.pairs()).cloned();
        let mut node = Node::default();
        node.meta.name = Name::from(name);
        node.meta.labels = pairs.chain(of_name).collect();
        node.spec.taints = self.taints.clone();
        node.status.capacity = shape.capacity.clone();
        node.status.allocatable = shape.allocatable.clone();
        node.status.node_info.kubelet_version = self.kubelet_version.clone();
        node
    }
}
