//! What there is to be upgraded: the control plane, nodes by group, kube-proxy, add-ons.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::workload::{DaemonSet, Deployment};
use replank_model::text::{GroupName, Text};
use replank_model::view::View;

use super::addon_version::AddonVersion;
use super::addons::{Addon, CORE, Kept};
use super::controllers::split;
use super::facts::Facts;
use super::minor::{Hop, Minor};
use super::skew;
use replank_facts::drain;
use replank_facts::groups::{GroupBy, group_of};
use replank_protocol::provisioner::Provisioner;

/// Whose rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Amazon EKS.
    Eks,
    /// Another one: Kubernetes' own rules alone.
    Other,
}

/// How the version of the control plane is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// EKS says it.
    Eks,
    /// Its API servers say it (`/version`), or run as pods.
    Servers,
    /// Somebody has said it.
    Given,
    /// Nobody: it is at least what the newest kubelet runs.
    NewestKubelet,
}

/// The control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPlane {
    /// What it runs.
    pub version: Minor,
    /// How that is known.
    pub known_by: KnownBy,
}

/// Nodes that are upgraded together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The group's name, the node pool's, or what else there is to call them.
    pub name: Text,
    /// Who made them.
    pub provisioner: Provisioner,
    /// The oldest kubelet.
    pub oldest: Minor,
    /// The newest.
    pub newest: Minor,
    /// How many.
    pub nodes: usize,
    /// Pods that have to move when all of them are replaced.
    pub pods: usize,
    /// Machine image in words, as the nodes report it, where all agree.
    pub image: Option<Text>,
}

impl Nodes {
    /// Whether a run of Replank replaces them.
    #[must_use]
    pub fn is_rolled(&self) -> bool {
        !self.provisioner.keeps_its_nodes()
    }

    /// Whether the control plane can go to its next version while these nodes run a kubelet: by the version skew policy, and by what EKS asks of the nodes
    /// that it runs itself.
    #[must_use]
    pub fn can_stay(&self, kubelet: Minor, hop: Hop) -> bool {
        let fits = skew::kubelet(kubelet, hop.from, hop.to).fits();
        match self.provisioner {
            Provisioner::ManagedGroup | Provisioner::Fargate => {
                fits && skew::eks_upgrades_beside(kubelet, hop.from)
            }
            Provisioner::Karpenter(_)
            | Provisioner::AutoMode
            | Provisioner::Hybrid
            | Provisioner::SelfManaged => fits,
        }
    }
}

/// What there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Whose rules hold.
    pub platform: Platform,
    /// The control plane.
    pub control_plane: ControlPlane,
    /// Nodes, groups first, then what others look after; by name.
    pub nodes: Vec<Nodes>,
    /// Add-ons, by name.
    pub addons: Vec<Addon>,
    /// Nodes whose kubelets' versions cannot be read.
    pub unread: Vec<Text>,
}

/// Nothing tells the version of the control plane: there is no node, and it was not passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the version of the control plane is unknown")]
pub struct NoControlPlane;

/// Looks at everything.
///
/// # Errors
/// Where nothing tells the version of the control plane.
pub fn survey(
    view: &View,
    by: &GroupBy,
    facts: &Facts,
    given: Option<Minor>,
) -> Result<Survey, NoControlPlane> {
    let mut unread = Vec::new();
    let nodes = nodes(view, by, &mut unread);
    let control_plane = control_plane(view, facts, given, &nodes).ok_or(NoControlPlane)?;
    Ok(Survey { platform: platform(view, facts), control_plane, nodes, addons: addons(view, facts), unread })
}

fn platform(view: &View, facts: &Facts) -> Platform {
    let is_of_eks = |node: &Node| {
        node.meta.labels.iter().any(|(key, _)| key.starts_with("eks.amazonaws.com/"))
            || node.status.node_info.kubelet_version.contains("-eks-")
    };
    let is_eks = facts.cluster.is_some() || view.nodes.unordered().any(|(_, node)| is_of_eks(node));
    if is_eks { Platform::Eks } else { Platform::Other }
}

fn control_plane(view: &View, facts: &Facts, given: Option<Minor>, nodes: &[Nodes]) -> Option<ControlPlane> {
    let known = |version, known_by| ControlPlane { version, known_by };
    if let Some(version) = given {
        return Some(known(version, KnownBy::Given));
    }
    // Asked just before, where what EKS says is a file that may be older.
    if let Some(version) = facts.server {
        return Some(known(version, KnownBy::Servers));
    }
    if let Some(cluster) = &facts.cluster {
        return Some(known(cluster.version, KnownBy::Eks));
    }
    if let Some(version) = api_server(view) {
        return Some(known(version, KnownBy::Servers));
    }
    nodes.iter().map(|nodes| nodes.newest).max().map(|version| known(version, KnownBy::NewestKubelet))
}

/// The oldest API server, where they run as pods (kubeadm's label `component`).
fn api_server(view: &View) -> Option<Minor> {
    let pods = view.pods.unordered().map(|(_, pod)| pod);
    let servers = pods.filter(|pod| pod.meta.labels.value("component") == Some("kube-apiserver"));
    let images = servers.flat_map(|pod| {
        pod.spec.containers.iter().map(|container| container.image.to_string()).collect::<Vec<_>>()
    });
    images.filter_map(|image| Minor::of(split(&image)?.1)).min()
}

/// By group, or by who made them.
fn nodes(view: &View, by: &GroupBy, unread: &mut Vec<Text>) -> Vec<Nodes> {
    let mut found: BTreeMap<(bool, Text), Nodes> = BTreeMap::new();
    for (_, node) in view.nodes.sorted() {
        let Some(version) = Minor::of(&node.status.node_info.kubelet_version) else {
            unread.push(Text::from(node.meta.name.as_str()));
            continue;
        };
        let provisioner = Provisioner::of(node);
        let name = name(node, &provisioner, group_of(node, by));
        let pods = view.sorted_pods_on(&node.name()).into_iter().filter(|pod| moves(view, pod)).count();
        let image = &node.status.node_info.os_image;
        let entry = found.entry((provisioner.keeps_its_nodes(), name.clone())).or_insert_with(|| Nodes {
            name,
            provisioner,
            oldest: version,
            newest: version,
            nodes: 0,
            pods: 0,
            image: Some(image.clone()),
        });
        entry.oldest = entry.oldest.min(version);
        entry.newest = entry.newest.max(version);
        entry.nodes += 1;
        entry.pods += pods;
        if entry.image.as_ref() != Some(image) {
            entry.image = None;
        }
    }
    found.into_values().collect()
}

fn name(node: &Node, provisioner: &Provisioner, group: Option<GroupName>) -> Text {
    match (provisioner, group) {
        (Provisioner::Karpenter(Some(pool)), _) => pool.clone(),
        (Provisioner::Karpenter(None), _) => Text::from("Karpenter"),
        (Provisioner::AutoMode, _) => Text::from("Auto Mode"),
        (Provisioner::Fargate, _) => Text::from("Fargate"),
        (Provisioner::Hybrid, _) => Text::from("hybrid nodes"),
        (Provisioner::ManagedGroup | Provisioner::SelfManaged, Some(group)) => group.text().clone(),
        // A machine on its own, that no group makes again.
        (Provisioner::ManagedGroup | Provisioner::SelfManaged, None) => Text::from(node.meta.name.as_str()),
    }
}

/// Whether a pod goes somewhere else when its node goes.
fn moves(view: &View, pod: &Pod) -> bool {
    let stays = pod.is_mirror()
        || pod.is_terminal()
        || (drain::is_daemon(pod) && drain::daemon_set(view, pod).is_some());
    !stays && pod.meta.deletion_timestamp.is_none()
}

/// What EKS says, and what is seen in kube-system of what is in every cluster.
fn addons(view: &View, facts: &Facts) -> Vec<Addon> {
    let mut found: BTreeMap<Text, Addon> = BTreeMap::new();
    for (name, kind, workload) in CORE {
        let image = match *kind {
            "DaemonSet" => image_of(
                view.find::<DaemonSet>(&Key::new("kube-system", *workload))
                    .map(|set| &*set.spec.template.spec),
            ),
            _ => image_of(
                view.find::<Deployment>(&Key::new("kube-system", *workload))
                    .map(|one| &*one.spec.template.spec),
            ),
        };
        if let Some(version) = image {
            let name = Text::from(*name);
            found.insert(name.clone(), Addon { name, version: Some(version), kept: Kept::BySomebody });
        }
    }
    for (name, version) in &facts.addons {
        let seen = found.get(name).and_then(|addon| addon.version.clone());
        let addon = Addon { name: name.clone(), version: version.clone().or(seen), kept: Kept::ByEks };
        found.insert(name.clone(), addon);
    }
    found.into_values().collect()
}

fn image_of(spec: Option<&replank_model::object::pod::PodSpec>) -> Option<AddonVersion> {
    let image = &spec?.containers.first()?.image;
    AddonVersion::of(split(image)?.1)
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
