//! The node that a group would add in a zone: what it offers, what it is labelled with, which DaemonSet pods start on it.
//!
//! Of a group with nodes it is what these have in common ([`replank_facts::groups`]), without what belongs to the single node. Of one
//! without nodes it is worked out from tags, EKS's labels and taints and the instance type, *less what EKS's images reserve*: Cluster
//! Autoscaler uses the capacity as allocatable there, expects too much, and adds nodes on which the pods do not fit.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::affinity::Taint;
use replank_model::object::cloud::{LaunchTemplate, NodeProfile, NodeShape};
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::node::{
    LABEL_EKS_NODEGROUP, LABEL_HOSTNAME, LABEL_INSTANCE_TYPE, LABEL_REGION, LABEL_ZONE, Node,
};
use replank_model::object::pod::Pod;
use replank_model::object::resources::{CPU, MEMORY, PODS, Resources};
use replank_model::object::volume::{CsiNode, CsiNodeDriver, CsiNodeSpec};
use replank_model::quantity::{Format, Quantity};
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_model::view::View;

use super::group::{Group, LABEL_CAPACITY, LeftOut};
use super::options::Options;
use super::tags::Tags;
use replank_facts::fresh::DaemonFactories;
use replank_facts::group_facts::Facts;
use replank_facts::groups::zone_of;
use replank_facts::instance_types::{InstanceType, instance_type};

/// Pods of a node of whose type nothing is known (kubelet's default, and Cluster Autoscaler's).
const PODS_DEFAULT: i64 = 110;
/// A machine reports less memory than its type's nominal one: so much less, in parts of a thousand (Karpenter's
/// `vmMemoryOverheadPercent`).
const MEMORY_OVERHEAD_MILLI: i64 = 75;
/// Taints that a node loses before pods come, by their beginning (Cluster Autoscaler's FAQ, "startup taints").
const STARTUP: [&str; 6] = [
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
];
/// Taint of EBS' CSI driver until it is ready on a node (aws-ebs-csi-driver, docs/install.md).
const EBS_STARTUP: &str = "ebs.csi.aws.com/agent-not-ready";

/// What the cluster's nodes tell of nodes in general.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    /// Labels whose value is the zone on every node that has them.
    zone_keys: Vec<Text>,
    region: Option<Text>,
    kubelet: Text,
    drivers: BTreeMap<Text, Vec<CsiNodeDriver>>,
}

impl Ground {
    pub(super) fn of(view: &View) -> Self {
        let mut ground = Self { zone_keys: vec![LABEL_ZONE.into()], ..Self::default() };
        let mut follows: BTreeMap<&Text, bool> = BTreeMap::new();
        let mut newest = None;
        for (_, node) in view.nodes.unordered() {
            let zone = zone_of(node);
            for (key, value) in node.meta.labels.pairs() {
                let is_zone = **value == *zone.as_str() && !zone.is_empty();
                *follows.entry(key).or_insert(true) &= is_zone;
            }
            let age = (node.meta.creation_timestamp, &node.meta.name);
            if newest.is_none_or(|(known, _)| known < age) {
                newest = Some((age, node));
            }
            if let Some(name) = node.meta.labels.get(LABEL_INSTANCE_TYPE)
                && let Some(csi) =
                    view.csi_nodes.by_key(&replank_model::object::meta::Key::cluster(node.meta.name.clone()))
            {
                ground.drivers.entry(name.clone()).or_insert_with(|| csi.spec.drivers.clone());
            }
        }
        let keys = follows.into_iter().filter(|(key, is_zone)| *is_zone && ***key != *LABEL_ZONE);
        ground.zone_keys.extend(keys.map(|(key, _)| key.clone()));
        if let Some((_, node)) = newest {
            ground.region = node.meta.labels.get(LABEL_REGION).cloned();
            ground.kubelet = node.status.node_info.kubelet_version.clone();
        }
        ground
    }
}

/// What a group without nodes would launch.
pub(super) fn computed(
    name: &GroupName,
    facts: Option<&Facts>,
    tags: &Tags,
    ground: &Ground,
) -> Result<LaunchTemplate, LeftOut> {
    let facts = facts.cloned().unwrap_or_default();
    if facts.zones.is_empty() {
        return Err(LeftOut::NoZones);
    }
    let shapes: Vec<NodeShape> = match facts.types.as_slice() {
        [] => shape(&Text::default(), &facts, tags, ground).into_iter().collect(),
        types => types.iter().filter_map(|name| shape(name, &facts, tags, ground)).collect(),
    };
    if shapes.is_empty() {
        return Err(LeftOut::UnknownType(facts.types));
    }
    let arch = facts.types.iter().find_map(|name| known(name, &facts));
    let arch = arch.map(|(known, _)| Text::from(known.arch.as_str()));
    let mut labels: BTreeMap<Text, Text> = BTreeMap::new();
    labels.insert("kubernetes.io/os".into(), "linux".into());
    labels.extend(arch.map(|arch| (Text::from("kubernetes.io/arch"), arch)));
    labels.extend(ground.region.clone().map(|region| (Text::from(LABEL_REGION), region)));
    labels.insert(LABEL_EKS_NODEGROUP.into(), name.text().clone());
    labels.extend(facts.market.map(|market| (Text::from(LABEL_CAPACITY), Text::from(market.as_str()))));
    // EKS never overwrites what a tag says; a tag that says a zone is for the first zone's sake.
    labels.extend(facts.labels.iter().cloned());
    labels.extend(tags.labels.iter().filter(|(key, _)| !ground.zone_keys.contains(key)).cloned());
    let zone_labels = facts.zones.iter().map(|zone| {
        let keys = ground.zone_keys.iter().map(|key| (key.clone(), zone.text().clone()));
        (zone.clone(), keys.collect::<Labels>())
    });
    let mut taints = facts.taints.clone();
    let known = |taints: &[Taint], one: &Taint| {
        taints.iter().any(|own| own.key == one.key && own.effect == one.effect)
    };
    for taint in &tags.taints {
        if !known(&taints, taint) {
            taints.push(taint.clone());
        }
    }
    let profile = NodeProfile {
        kubelet_version: ground.kubelet.clone(),
        zone_labels: zone_labels.collect(),
        labels: labels.into_iter().collect(),
        name_labels: vec![LABEL_HOSTNAME.into()],
        taints,
        shapes,
    };
    Ok(LaunchTemplate { profile, ami_type: facts.ami_type, ..LaunchTemplate::default() })
}

/// What a type offers, and its GPUs: what is known of it, else what EC2 says.
fn known(name: &Text, facts: &Facts) -> Option<(InstanceType, i64)> {
    let of_table = instance_type(name).map(|known| (*known, gpus(known.name).unwrap_or(0)));
    of_table.or_else(|| facts.described.get(name).map(|said| (said.offers, said.gpus)))
}

fn shape(name: &Text, facts: &Facts, tags: &Tags, ground: &Ground) -> Option<NodeShape> {
    let mut capacity = known(name, facts).map(nominal).unwrap_or_default();
    for (resource, quantity) in tags.resources.iter() {
        capacity.set(resource.clone(), quantity.clone());
    }
    if capacity.get(CPU).is_none() || capacity.get(MEMORY).is_none() {
        return None;
    }
    if capacity.get(PODS).is_none() {
        capacity.set(PODS, Quantity::from_units(PODS_DEFAULT, Format::DecimalSi));
    }
    let labels = [(Text::from(LABEL_INSTANCE_TYPE), name.clone())];
    Some(NodeShape {
        instance_type: name.clone(),
        weight: 1,
        labels: labels.into_iter().filter(|(_, name)| !name.is_empty()).collect(),
        allocatable: less_reserved(&capacity),
        capacity,
        csi_drivers: ground.drivers.get(name).cloned().unwrap_or_default(),
    })
}

/// What a machine of a type reports.
fn nominal((known, gpus): (InstanceType, i64)) -> Resources {
    let memory = (known.memory_mib << 20) / 1_000 * (1_000 - MEMORY_OVERHEAD_MILLI);
    let mut all = Resources::default();
    all.set(CPU, Quantity::from_units(known.vcpu, Format::DecimalSi));
    all.set(MEMORY, Quantity::from_units(memory, Format::BinarySi));
    all.set(PODS, Quantity::from_units(known.pods_max, Format::DecimalSi));
    if gpus > 0 {
        all.set("nvidia.com/gpu", Quantity::from_units(gpus, Format::DecimalSi));
    }
    all
}

/// Accelerators of the types that have some (EC2 user guide, "Accelerated computing").
fn gpus(name: &str) -> Option<i64> {
    match name {
        "g4dn.xlarge" | "g5.xlarge" | "g6.xlarge" => Some(1),
        "p4d.24xlarge" | "p5.48xlarge" => Some(8),
        _ => None,
    }
}

/// A capacity less what EKS's images keep for the node: the formula of [`InstanceType::allocatable`], with the cores and pods that
/// the capacity tells.
fn less_reserved(capacity: &Resources) -> Resources {
    let cores = capacity.get(CPU).map_or(0, Quantity::value);
    let pods = capacity.get(PODS).map_or(PODS_DEFAULT, Quantity::value);
    let like = InstanceType {
        name: "",
        arch: replank_facts::instance_types::Arch::Amd64,
        vcpu: cores,
        memory_mib: 0,
        pods_max: pods,
    };
    let mut all = capacity.clone();
    if cores > 0 {
        let left = like.allocatable(capacity);
        for name in [CPU, MEMORY] {
            if let Some(left) = left.get(name).filter(|left| left.signum() > 0) {
                all.set(name, left.clone());
            }
        }
    }
    all
}

/// What a group would add.
#[derive(Clone, Debug)]
pub struct Template {
    /// A node without a name, for each zone of the group.
    nodes: BTreeMap<Zone, Arc<Node>>,
    name_labels: Vec<Text>,
    group: GroupName,
    factories: Arc<DaemonFactories>,
    /// What it attaches.
    pub drivers: Vec<CsiNodeDriver>,
}

/// A node that would be added.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// The node.
    pub node: Arc<Node>,
    /// DaemonSet pods that start on it.
    pub daemons: Vec<Arc<Pod>>,
}

impl Template {
    /// What a group would add, of whichever of its instance types offers least.
    #[must_use]
    pub fn of(group: &Group, options: &Options, factories: &Arc<DaemonFactories>) -> Self {
        let profile = &group.template.profile;
        let shape = least(&profile.shapes);
        let nodes = group.zones.iter().map(|zone| {
            let mut node = profile.node(&NodeName::default(), zone, &shape);
            node.meta.labels = placed_in(&node.meta.labels, profile, zone);
            node.spec.taints.retain(|taint| !is_startup(taint, options));
            let ready =
                Condition { r#type: "Ready".into(), status: ConditionStatus::True, ..Condition::default() };
            node.status.conditions = vec![ready].into();
            (zone.clone(), Arc::new(node))
        });
        Self {
            nodes: nodes.collect(),
            name_labels: profile.name_labels.clone(),
            group: group.name.clone(),
            factories: factories.clone(),
            drivers: shape.csi_drivers,
        }
    }

    /// The new node of a number.
    #[must_use]
    pub fn fresh(&self, zone: &Zone, number: u32) -> Fresh {
        let name = NodeName::from(format!("{}+{number}", self.group));
        let mut node = Node::clone(self.model(zone));
        node.meta.name = (&name).into();
        for key in &self.name_labels {
            node.meta.labels = node.meta.labels.with(key.clone(), name.text().clone());
        }
        let daemons = self.factories.on(&node);
        Fresh { node: Arc::new(node), daemons }
    }

    /// A new node of a zone, without a name.
    #[must_use]
    pub fn model(&self, zone: &Zone) -> &Node {
        let any = || self.nodes.values().next().expect("a group has a zone");
        self.nodes.get(zone).unwrap_or_else(any)
    }

    /// Any of the new nodes.
    #[must_use]
    pub fn any(&self) -> &Node {
        self.nodes.values().next().expect("a group has a zone")
    }

    /// What the node of a name attaches, as the API has it.
    #[must_use]
    pub fn csi_node(&self, name: &NodeName) -> Option<CsiNode> {
        if self.drivers.is_empty() {
            return None;
        }
        let mut csi = CsiNode { spec: CsiNodeSpec { drivers: self.drivers.clone() }, ..CsiNode::default() };
        csi.meta.name = name.into();
        Some(csi)
    }
}

/// A group with nodes may get a zone in which it has none: its zone label is then the zone's name, as elsewhere.
fn placed_in(labels: &Labels, profile: &NodeProfile, zone: &Zone) -> Labels {
    if profile.zone_labels.contains_key(zone) || zone.is_empty() {
        return labels.clone();
    }
    let mut labels = labels.with(Text::from(LABEL_ZONE), zone.text().clone());
    for (other, pairs) in &profile.zone_labels {
        for (key, value) in pairs.pairs() {
            if **value == *other.as_str() {
                labels = labels.with(key.clone(), zone.text().clone());
            }
        }
    }
    labels
}

/// Whether a taint goes before pods come.
pub(super) fn is_startup(taint: &Taint, options: &Options) -> bool {
    &*taint.key == EBS_STARTUP
        || STARTUP.iter().any(|start| taint.key.starts_with(start))
        || options.startup_taints.contains(&taint.key)
}

/// The least of each resource over all instance types: whichever comes, it has that much.
fn least(shapes: &[NodeShape]) -> NodeShape {
    let mut least = shapes.first().cloned().unwrap_or_default();
    for other in shapes.iter().skip(1) {
        least.capacity = lesser(&least.capacity, &other.capacity);
        least.allocatable = lesser(&least.allocatable, &other.allocatable);
        let same = |(key, value): &(&str, &str)| other.labels.value(key) == Some(value);
        let shared: Vec<(Text, Text)> =
            least.labels.iter().filter(same).map(|(key, value)| (key.into(), value.into())).collect();
        least.labels = shared.into_iter().collect();
    }
    least
}

fn lesser(one: &Resources, other: &Resources) -> Resources {
    let both = one.iter().filter_map(|(name, quantity)| Some((name, quantity, other.get(name)?)));
    both.map(|(name, one, other)| (name.clone(), if one <= other { one.clone() } else { other.clone() }))
        .collect()
}
