//! Node groups as the nodes of a snapshot show them.
//!
//! A dump of Kubernetes objects says nothing of Auto Scaling groups. What it shows is nodes that carry their group's name in
//! a label. From these the group's size, zones and launch template are learnt: a label that all nodes share belongs to the
//! template; one whose value follows the zone, the instance type or the node's own name is a function of that; any other
//! is a property of the single node and not of the group.
//!
//! A label that kubelets refuse to set ([`crate::node_labels`]) and that all nodes of a group have nevertheless is set by somebody after each of them has joined. New
//! nodes are taken to get it in the same way: [`labels_by_hand`] names it, so that this is said.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::affinity::Taint;
use replank_model::object::cloud::{
    AmiType, GroupSize, HealthStatus, Instance, InstanceState, LaunchTemplate, LaunchTemplateRef, Lifecycle,
    Market, NodeGroup, NodeProfile, NodeShape, TargetGroup, instance_of,
};
use replank_model::object::meta::Key;
use replank_model::object::node::{self, Node};
use replank_model::selector::Selector;
use replank_model::text::{GroupName, InstanceId, Text, Zone};
use replank_model::view::View;

use crate::images::day_shown;
use crate::node_labels::is_by_hand;
use crate::plan::{ChosenBy, Plan};
use crate::target_groups;

/// The label by which eksctl names a node's group, beside EKS's own (eksctl, pkg/apis/eksctl.io `NodeGroupNameLabel`).
const LABEL_EKSCTL_NODEGROUP: &str = "alpha.eksctl.io/nodegroup-name";

/// What makes nodes a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Nodes with the same value of a label.
    Label(Text),
    /// Nodes that a selector matches, under a name of their own.
    Selector(GroupName, Selector),
}

impl Default for GroupBy {
    /// The label that EKS puts on managed nodes.
    fn default() -> Self {
        Self::Label(Text::from(node::LABEL_EKS_NODEGROUP))
    }
}

/// A group and its instances.
#[derive(Clone, Debug, PartialEq)]
pub struct LearntGroup {
    /// The group; its maximum is its present size, since a snapshot does not tell it.
    pub group: NodeGroup,
    /// Its instances, by name of their nodes.
    pub instances: Vec<Instance>,
}

impl LearntGroup {
    /// Gives the one version of the launch template that the nodes show the id and number that it has: versions before it were deleted.
    pub fn number_template(&mut self, version: LaunchTemplateRef) {
        let template = self.group.templates.remove(&self.group.current);
        self.group.templates.extend(template.map(|template| (version.clone(), template)));
        let of_present = self.instances.iter_mut().filter(|one| one.template == self.group.current);
        of_present.for_each(|one| one.template = version.clone());
        self.group.current = version;
    }

    /// Registers its instances in target groups, as their nodes are.
    pub fn register(&mut self, more: Vec<TargetGroup>, view: &View) {
        for target_group in more {
            for instance in &mut self.instances {
                let node = instance.node.as_ref().and_then(|name| view.node(name)).cloned();
                target_groups::begin(instance, node.as_deref(), &target_group);
            }
            let is_known = self.group.target_groups.iter().any(|known| known.arn == target_group.arn);
            if !is_known {
                self.group.target_groups.push(target_group);
            }
        }
        self.group.target_groups.sort_by(|a, b| a.arn.cmp(&b.arn));
    }

    /// Says of an instance from which version it was made. What that version makes its node shows.
    pub fn set_version(&mut self, at: usize, version: LaunchTemplateRef, node: Option<&Node>) {
        let from = self.group.template();
        let made = made_of(from, node, || Text::from(format!("<image of {version}>")));
        self.group.templates.entry(version.clone()).or_insert(made);
        self.instances[at].template = version;
    }
}

/// What a version makes of which a node is left: as the present one, but for the image and its kubelet.
fn made_of(from: &LaunchTemplate, node: Option<&Node>, unknown: impl FnOnce() -> Text) -> LaunchTemplate {
    let mut made = from.clone();
    let Some(node) = node else { return made };
    let kubelet = &node.status.node_info.kubelet_version;
    match node.meta.labels.get(node::LABEL_EKS_IMAGE) {
        Some(image) => made.image = image.clone(),
        None if *kubelet != from.profile.kubelet_version => made.image = unknown(),
        None => {}
    }
    made.profile.kubelet_version = kubelet.clone();
    made.released = day_shown(node).map_or_else(Text::default, Text::from);
    made
}

/// The groups of all nodes that belong to one, sorted by name.
#[must_use]
pub fn from_nodes(view: &View, by: &GroupBy) -> Vec<LearntGroup> {
    learnt(view, |node| group_of(node, by))
}

/// The groups of the nodes of some instances, as a cloud tells them: whatever the nodes are labelled with.
#[must_use]
pub fn from_instances(view: &View, groups: &BTreeMap<InstanceId, GroupName>) -> Vec<LearntGroup> {
    learnt(view, |node| groups.get(&instance_id_of(node)).cloned())
}

fn learnt(view: &View, group_of: impl Fn(&Node) -> Option<GroupName>) -> Vec<LearntGroup> {
    let mut members: BTreeMap<GroupName, Vec<&Arc<Node>>> = BTreeMap::new();
    for (_, node) in view.nodes.sorted() {
        if let Some(group) = group_of(node) {
            members.entry(group).or_default().push(node);
        }
    }
    let bound = target_groups::bound(view);
    let learnt = members.into_iter().map(|(name, nodes)| {
        let mut learnt = learn(view, name, &nodes);
        learnt.register(target_groups::of_nodes(&bound, &nodes), view);
        learnt
    });
    learnt.collect()
}

/// The group that a plan moves nodes into, where no node shows it: a dump says nothing of a group without nodes. It is taken
/// to have been made beforehand like the first of the groups that are left, but for its name, and empty, with a maximum that
/// holds all nodes that move and the surge.
///
/// `None` if the plan moves nothing, or the group is known.
#[must_use]
pub fn assumed_target(
    known: &[LearntGroup],
    plan: &Plan,
    moving: usize,
    by: &GroupBy,
) -> Option<LearntGroup> {
    let name = plan.target.group.as_ref()?;
    let ChosenBy::Groups(sources) = &plan.nodes.by else { return None };
    let of =
        |name: &GroupName| known.iter().find(|learnt| learnt.group.name == *name).map(|found| &found.group);
    if of(name).is_some() {
        return None;
    }
    let model = sources.iter().find_map(of)?;
    let wanted = sources.iter().filter_map(of).map(|group| group.size.desired).sum();
    let moving = u32::try_from(moving).expect("fewer than 2^32 nodes fit in memory");
    let max = moving + plan.budget.allowance(wanted, model.zones.len()).surge;
    let size = GroupSize { min: 0, max, desired: 0 };
    let template = renamed(model.template(), &model.name, name, by);
    let group = NodeGroup::new(name.clone(), size, model.zones.clone(), template);
    Some(LearntGroup { group, instances: Vec::new() })
}

/// A launch template whose nodes bear another group's name where they are known to bear their group's.
fn renamed(template: &LaunchTemplate, from: &GroupName, to: &GroupName, by: &GroupBy) -> LaunchTemplate {
    let mut template = template.clone();
    let own = match by {
        GroupBy::Label(key) => Some(&**key),
        GroupBy::Selector(..) => None,
    };
    for key in own.into_iter().chain([node::LABEL_EKS_NODEGROUP, LABEL_EKSCTL_NODEGROUP]) {
        let labels = &mut template.profile.labels;
        if labels.value(key) == Some(from.as_str()) {
            *labels = labels.with(Text::from(key), to.text().clone());
        }
    }
    template
}

/// The group of a node.
#[must_use]
pub fn group_of(node: &Node, by: &GroupBy) -> Option<GroupName> {
    match by {
        GroupBy::Label(key) => node.meta.labels.get(key).map(|value| GroupName::new(value.clone())),
        GroupBy::Selector(name, selector) => {
            selector.matches(|key| node.meta.labels.value(key)).then(|| name.clone())
        }
    }
}

/// The zone of a node; nodes without the label share one unnamed zone.
#[must_use]
pub fn zone_of(node: &Node) -> Zone {
    node.zone().map_or_else(Zone::default, |zone| Zone::new(zone.clone()))
}

/// The id of a node's instance: from its provider id, or the node's own name where it has none.
#[must_use]
pub fn instance_id_of(node: &Node) -> InstanceId {
    instance_of(&node.spec.provider_id).unwrap_or_else(|| InstanceId::new(node.meta.name.text().clone()))
}

fn learn(view: &View, name: GroupName, nodes: &[&Arc<Node>]) -> LearntGroup {
    let count = u32::try_from(nodes.len()).expect("fewer than 2^32 nodes fit in memory");
    let mut zones: Vec<Zone> = nodes.iter().map(|node| zone_of(node)).collect();
    zones.sort();
    zones.dedup();
    let instances = nodes
        .iter()
        .map(|node| Instance {
            id: instance_id_of(node),
            group: name.clone(),
            zone: zone_of(node),
            state: InstanceState::Running,
            template: LaunchTemplateRef::invented(&name),
            launched: node.meta.creation_timestamp,
            node: Some(node.name()),
            lifecycle: Lifecycle::InService,
            market: Market::of(&node.meta.labels),
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        })
        .collect();
    let size = GroupSize { min: 0, max: count, desired: count };
    let group = NodeGroup::new(name, size, zones, template(view, nodes));
    let mut learnt = LearntGroup { group, instances };
    number_by_image(&mut learnt, nodes);
    learnt
}

/// Nodes of several images were made from as many versions: the newest node's is the present one, and those before it have the numbers before it.
fn number_by_image(learnt: &mut LearntGroup, nodes: &[&Arc<Node>]) {
    let image = |node: &Node| node.meta.labels.get(node::LABEL_EKS_IMAGE).cloned();
    let mut by_image: BTreeMap<Text, Vec<&Arc<Node>>> = BTreeMap::new();
    for node in nodes {
        by_image.entry(image(node).unwrap_or_default()).or_default().push(node);
    }
    let mut newest_of: Vec<&Arc<Node>> = by_image.values().map(|nodes| newest(nodes)).collect();
    newest_of.sort_by_key(|node| (node.meta.creation_timestamp, &node.meta.name));
    let versions: BTreeMap<Text, LaunchTemplateRef> = (LaunchTemplateRef::FIRST..)
        .zip(&newest_of)
        .map(|(number, node)| (image(node).unwrap_or_default(), learnt.group.current.at(number)))
        .collect();
    let Some((_, earlier)) = newest_of.split_last().filter(|(_, earlier)| !earlier.is_empty()) else {
        return;
    };
    learnt.number_template(learnt.group.current.at(LaunchTemplateRef::FIRST + earlier.len() as u64));
    for (at, node) in nodes.iter().enumerate() {
        let version = versions[&image(node).unwrap_or_default()].clone();
        if version != learnt.group.current {
            let newest = newest(&by_image[&image(node).unwrap_or_default()]);
            learnt.set_version(at, version, Some(newest));
        }
    }
}

fn template(view: &View, nodes: &[&Arc<Node>]) -> LaunchTemplate {
    let newest = newest(nodes);
    let mut labels = SortedLabels::default();
    for key in shared_keys(nodes) {
        labels.file(&key, nodes);
    }
    let profile = NodeProfile {
        kubelet_version: newest.status.node_info.kubelet_version.clone(),
        zone_labels: labels
            .by_zone
            .into_iter()
            .map(|(zone, pairs)| (zone, pairs.into_iter().collect()))
            .collect(),
        name_labels: labels.by_name,
        taints: shared_taints(nodes),
        shapes: shapes(view, nodes, &labels.by_type),
        labels: labels.constant.into_iter().collect(),
    };
    LaunchTemplate {
        image: newest.meta.labels.get(node::LABEL_EKS_IMAGE).cloned().unwrap_or_default(),
        ami_type: kind_of_image(nodes),
        released: day_shown(newest).map_or_else(Text::default, Text::from),
        profile,
    }
}

/// What the newest node shows that shows anything: one that has just joined may not.
fn kind_of_image(nodes: &[&Arc<Node>]) -> AmiType {
    let mut kinds: Vec<_> = nodes
        .iter()
        .map(|node| ((node.meta.creation_timestamp, &node.meta.name), AmiType::of_node(node)))
        .filter(|(_, kind)| !kind.is_empty())
        .collect();
    kinds.sort_by(|one, other| one.0.cmp(&other.0));
    kinds.pop().map(|(_, kind)| kind).unwrap_or_default()
}

/// Labels that all nodes of a group have though no kubelet sets them, by group: somebody sets them when a node has joined.
#[must_use]
pub fn labels_by_hand(view: &View, by: &GroupBy) -> BTreeMap<GroupName, Vec<Text>> {
    let mut members: BTreeMap<GroupName, Vec<&Arc<Node>>> = BTreeMap::new();
    for (_, node) in view.nodes.sorted() {
        if let Some(group) = group_of(node, by) {
            members.entry(group).or_default().push(node);
        }
    }
    let of = |nodes: &[&Arc<Node>]| -> Vec<Text> {
        let newest = newest(nodes);
        shared_keys(nodes).into_iter().filter(|key| is_by_hand(newest, key)).collect()
    };
    let all = members.into_iter().map(|(group, nodes)| (group, of(&nodes)));
    all.filter(|(_, labels)| !labels.is_empty()).collect()
}

/// The node that was made last: its version and image are what the group makes at present.
fn newest<'a>(nodes: &[&'a Arc<Node>]) -> &'a Arc<Node> {
    let newest = nodes.iter().max_by_key(|node| (node.meta.creation_timestamp, &node.meta.name));
    newest.expect("a group is learnt from at least one node")
}

/// Label keys that every node has, sorted.
fn shared_keys(nodes: &[&Arc<Node>]) -> Vec<Text> {
    let keys = nodes[0].meta.labels.pairs().iter().map(|(key, _)| key.clone());
    keys.filter(|key| nodes.iter().all(|node| node.meta.labels.contains_key(key))).collect()
}

/// Taints that every node has. A cordon is not one of them: it belongs to the node.
fn shared_taints(nodes: &[&Arc<Node>]) -> Vec<Taint> {
    let own = |taint: &&Taint| !taint.key.starts_with("node.kubernetes.io/");
    let without_time = |taint: &Taint| Taint { time_added: None, ..taint.clone() };
    let has = |node: &Node, taint: &Taint| node.spec.taints.iter().any(|other| without_time(other) == *taint);
    let first = nodes[0].spec.taints.iter().filter(own).map(without_time);
    first.filter(|taint| nodes.iter().all(|node| has(node, taint))).collect()
}

/// Labels by what their value depends on.
#[derive(Default)]
struct SortedLabels {
    constant: Vec<(Text, Text)>,
    by_zone: BTreeMap<Zone, Vec<(Text, Text)>>,
    by_type: BTreeMap<Text, Vec<(Text, Text)>>,
    by_name: Vec<Text>,
}

impl SortedLabels {
    fn file(&mut self, key: &Text, nodes: &[&Arc<Node>]) {
        let value = |node: &Node| node.meta.labels.get(key).cloned().unwrap_or_default();
        if nodes.iter().all(|node| value(node) == *node.meta.name.text()) {
            self.by_name.push(key.clone());
        } else if &**key == node::LABEL_ZONE {
            self.file_under_zone(key, nodes);
        } else if &**key == node::LABEL_INSTANCE_TYPE {
            self.file_under_type(key, nodes);
        } else if nodes.iter().all(|node| value(node) == value(nodes[0])) {
            self.constant.push((key.clone(), value(nodes[0])));
        } else if follows(nodes, value, |node| zone_of(node).text().clone()) {
            self.file_under_zone(key, nodes);
        } else if follows(nodes, value, type_of) {
            self.file_under_type(key, nodes);
        }
    }

    fn file_under_zone(&mut self, key: &Text, nodes: &[&Arc<Node>]) {
        for node in nodes {
            push_once(self.by_zone.entry(zone_of(node)).or_default(), key, node);
        }
    }

    fn file_under_type(&mut self, key: &Text, nodes: &[&Arc<Node>]) {
        for node in nodes {
            push_once(self.by_type.entry(type_of(node)).or_default(), key, node);
        }
    }
}

fn push_once(pairs: &mut Vec<(Text, Text)>, key: &Text, node: &Node) {
    if pairs.iter().all(|(known, _)| known != key) {
        pairs.push((key.clone(), node.meta.labels.get(key).cloned().unwrap_or_default()));
    }
}

/// Whether equal causes go with equal values.
fn follows(nodes: &[&Arc<Node>], value: impl Fn(&Node) -> Text, cause: impl Fn(&Node) -> Text) -> bool {
    let mut seen: BTreeMap<Text, Text> = BTreeMap::new();
    nodes.iter().all(|node| *seen.entry(cause(node)).or_insert_with(|| value(node)) == value(node))
}

fn type_of(node: &Node) -> Text {
    node.meta.labels.get(node::LABEL_INSTANCE_TYPE).cloned().unwrap_or_default()
}

fn shapes(view: &View, nodes: &[&Arc<Node>], labels: &BTreeMap<Text, Vec<(Text, Text)>>) -> Vec<NodeShape> {
    let mut by_type: BTreeMap<Text, Vec<&Arc<Node>>> = BTreeMap::new();
    for node in nodes {
        by_type.entry(type_of(node)).or_default().push(node);
    }
    let mut shapes: Vec<NodeShape> = by_type
        .into_iter()
        .map(|(instance_type, nodes)| {
            let newest = newest(&nodes);
            let csi = view.csi_nodes.by_key(&Key::cluster(newest.meta.name.clone()));
            NodeShape {
                weight: u32::try_from(nodes.len()).expect("fewer than 2^32 nodes fit in memory"),
                labels: labels.get(&instance_type).cloned().unwrap_or_default().into_iter().collect(),
                capacity: newest.status.capacity.clone(),
                allocatable: newest.status.allocatable.clone(),
                csi_drivers: csi.map(|csi| csi.spec.drivers.clone()).unwrap_or_default(),
                instance_type,
            }
        })
        .collect();
    shapes.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.instance_type.cmp(&b.instance_type)));
    shapes
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;
    use crate::plan::Target;

    fn view() -> View {
        let node = |name: &str, zone: &str, kind: &str, group: &str| {
            json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {
                    "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "zone-id": format!("id-{zone}"),
                    "node.kubernetes.io/instance-type": kind, "eks.amazonaws.com/nodegroup": group,
                    "tier": "web", "rack": name.to_uppercase()}},
                "spec": {"providerID": format!("aws:///{zone}/i-{name}"),
                    "taints": [{"key": "dedicated", "value": "web", "effect": "NoSchedule"},
                        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]},
                "status": {"allocatable": {"cpu": "4"}, "nodeInfo": {"kubeletVersion": "v1.34.2"}}})
        };
        let mut view = View::default();
        for value in [
            node("a", "z1", "m5.large", "web"),
            node("b", "z2", "m5.large", "web"),
            node("c", "z2", "m6i.large", "web"),
            node("d", "z1", "m5.large", "batch"),
        ] {
            view.apply(Delta::Put(Object::from_json(value).expect("valid")));
        }
        view
    }

    #[test]
    fn a_group_that_no_node_shows_is_like_the_one_that_is_left() {
        let known = from_nodes(&view(), &GroupBy::default());
        let into = |name: &str| {
            let target = Target { group: Some(name.into()), ..Target::default() };
            let plan = Plan::of_groups("p", vec!["web".into()], target);
            assumed_target(&known, &plan, 3, &GroupBy::default())
        };
        assert_eq!(into("batch"), None, "its nodes show it");
        let LearntGroup { group, instances } = into("web-new").expect("no node shows it");
        assert_eq!((group.size, instances.len()), (GroupSize { min: 0, max: 5, desired: 0 }, 0));
        assert_eq!(group.zones, known[1].group.zones);
        let (new, old) = (group.profile(), known[1].group.profile());
        assert_eq!(new.labels.value("eks.amazonaws.com/nodegroup"), Some("web-new"));
        assert_eq!(
            new.labels.value("tier"),
            Some("web"),
            "a label that happens to have the group's name is kept"
        );
        assert_eq!((&new.shapes, &new.taints), (&old.shapes, &old.taints));
    }

    #[test]
    fn nodes_of_several_images_were_made_from_several_versions() {
        let mut view = view();
        for (name, image, kubelet, created) in [
            ("a", "ami-old", "v1.34.2", "2026-01-01T00:00:00Z"),
            ("b", "ami-new", "v1.36.0", "2026-01-02T00:00:00Z"),
            ("c", "ami-old", "v1.34.2", "2026-01-01T00:00:01Z"),
        ] {
            let mut node = Node::clone(view.node(&name.into()).expect("there"));
            node.meta.labels = node.meta.labels.with(node::LABEL_EKS_IMAGE, image);
            node.meta.creation_timestamp = created.parse().ok();
            node.status.node_info.kubelet_version = kubelet.into();
            view.apply(Delta::from(node));
        }
        let mut groups = from_nodes(&view, &GroupBy::default());
        let web = &mut groups[1];
        assert_eq!(LaunchTemplate::contradiction(&web.group.templates), None);
        let shown = |web: &LearntGroup| -> Vec<String> {
            let of = |one: &Instance| {
                let made = web.group.made_from(one).expect("known");
                format!(
                    "{} v{} {} {}",
                    one.id, one.template.version, made.image, made.profile.kubelet_version
                )
            };
            web.instances.iter().map(of).collect()
        };
        assert_eq!(
            shown(web),
            ["i-a v1 ami-old v1.34.2", "i-b v2 ami-new v1.36.0", "i-c v1 ami-old v1.34.2"]
        );
        assert_eq!(web.group.current.version, 2, "new nodes are as the newest");
        let told = LaunchTemplateRef { id: "lt-1".into(), version: 7 };
        web.number_template(told.clone());
        web.set_version(0, told.at(5), view.node(&"a".into()).map(|node| &**node));
        assert_eq!(shown(web)[..2], ["i-a v5 ami-old v1.34.2", "i-b v7 ami-new v1.36.0"]);
    }

    #[test]
    fn labels_are_sorted_by_what_they_depend_on() {
        let groups = from_nodes(&view(), &GroupBy::default());
        assert_eq!(groups.iter().map(|g| g.group.name.as_str()).collect::<Vec<_>>(), ["batch", "web"]);
        let web = &groups[1];
        assert_eq!(web.group.size, GroupSize { min: 0, max: 3, desired: 3 });
        assert_eq!(web.instances[0].id, "i-a");
        let template = web.group.profile();
        let constant: Vec<_> = template.labels.iter().collect();
        assert_eq!(constant, [("eks.amazonaws.com/nodegroup", "web"), ("tier", "web")]);
        assert_eq!(template.name_labels, [Text::from("kubernetes.io/hostname")]);
        assert_eq!(template.taints.len(), 1, "a cordon's taint is not the group's");
        assert_eq!(
            template.shapes.iter().map(|s| (&*s.instance_type, s.weight)).collect::<Vec<_>>(),
            [("m5.large", 2), ("m6i.large", 1)]
        );
        let node = template.node(&"new".into(), &"z2".into(), &template.shapes[1]);
        assert_eq!(node.meta.labels.value("zone-id"), Some("id-z2"));
        assert_eq!(node.meta.labels.value("kubernetes.io/hostname"), Some("new"));
        assert_eq!(node.meta.labels.value("node.kubernetes.io/instance-type"), Some("m6i.large"));
        assert_eq!(node.meta.labels.value("rack"), None, "a label of the single node is not inherited");
    }
}
