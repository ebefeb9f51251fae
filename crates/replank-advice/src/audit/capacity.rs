//! What a node was bought as, and who may take it away: spot capacity and autoscaled groups.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::{Object, render};
use replank_model::text::{GroupName, Text};
use replank_model::view::View;
use serde_json::Value;

use replank_protocol::provisioner::LABEL_NODE_POOL;

/// Labels by which the provisioner itself says what it has bought, with the value for spot (EKS user guide "Managed node
/// groups"; Karpenter "Scheduling", well-known labels). Where one is there, no other label is asked.
const DECLARED: [(&str, &str); 2] =
    [("eks.amazonaws.com/capacityType", "SPOT"), ("karpenter.sh/capacity-type", "spot")];

/// Last segments of label and taint keys that people use for it, letters only: `node.kubernetes.io/lifecycle`, `lifecycle`,
/// `node-lifecycle`, `capacity-type`, `cloud.google.com/gke-spot`, `kubernetes.azure.com/scalesetpriority`, ….
const CUSTOMARY: [&str; 9] = [
    "lifecycle",
    "nodelifecycle",
    "instancelifecycle",
    "capacitytype",
    "spot",
    "gkespot",
    "gkepreemptible",
    "preemptible",
    "scalesetpriority",
];
/// Values that say spot, in lower case.
const SPOT_VALUES: [&str; 3] = ["spot", "ec2spot", "preemptible"];
/// Values that say spot where the key already does (`spot=true`).
const YES_VALUES: [&str; 2] = ["true", ""];

/// Whether a node is spot capacity: as its provisioner declares it, else as labels and taints customarily say.
#[must_use]
pub(crate) fn is_spot(node: &Node) -> bool {
    let labels = &node.meta.labels;
    let declared =
        DECLARED.iter().find_map(|(key, spot)| Some(labels.value(key)?.eq_ignore_ascii_case(spot)));
    declared.unwrap_or_else(|| {
        labels.iter().any(|(key, value)| says_spot(key, value))
            || node.spec.taints.iter().any(|taint| says_spot(&taint.key, &taint.value))
    })
}

/// Whether a label, or a requirement on one, says spot.
#[must_use]
pub(super) fn says_spot(key: &str, value: &str) -> bool {
    let segment = key.rsplit('/').next().unwrap_or(key);
    let letters =
        || segment.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    let Some(word) = CUSTOMARY.iter().find(|word| letters().eq(word.bytes())) else { return false };
    let is_one_of = |values: &[&str]| values.iter().any(|one| one.eq_ignore_ascii_case(value));
    is_one_of(&SPOT_VALUES)
        || (!word.contains("lifecycle") && !word.contains("type") && is_one_of(&YES_VALUES))
}

/// Who adds and takes away nodes of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scaler {
    /// Karpenter, or EKS Auto Mode, for a node pool.
    NodePool(Text),
    /// cluster-autoscaler, for a group it names so.
    ClusterAutoscaler(Text),
    /// Somebody, as the caller says.
    Said,
}

impl Scaler {
    /// `Karpenter's node pool general`.
    pub(super) fn told(&self) -> String {
        match self {
            Self::NodePool(pool) => format!("Karpenter (node pool {pool})"),
            Self::ClusterAutoscaler(group) => format!("cluster-autoscaler ({group})"),
            Self::Said => "an autoscaler".to_owned(),
        }
    }
}

/// What is known of cluster-autoscaler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterAutoscaler {
    /// Its pods' owner, where it runs.
    pub(super) pod: Option<Key>,
    /// Groups as it names them: Auto Scaling groups.
    pub(super) groups: Vec<Text>,
}

impl ClusterAutoscaler {
    /// From its pods' `--nodes=min:max:group` and from the ConfigMap `cluster-autoscaler-status`
    /// (cluster-autoscaler FAQ; `clusterstate/utils/status.go`).
    pub(super) fn of(view: &View) -> Self {
        let mut found = Self::default();
        let mut pods: Vec<&std::sync::Arc<Pod>> = view
            .pods
            .unordered()
            .map(|(_, pod)| pod)
            .filter(|pod| pod.is_active() && is_autoscaler(&pod.spec))
            .collect();
        pods.sort_by_key(|pod| pod.meta.key());
        for pod in pods {
            found.pod.get_or_insert_with(|| pod.meta.key());
            let rendered = render(&Object::Pod(pod.clone()));
            let mut words = Vec::new();
            for container in rendered["spec"]["containers"].as_array().into_iter().flatten() {
                for list in [&container["command"], &container["args"]] {
                    words.extend(list.as_array().into_iter().flatten().filter_map(Value::as_str));
                }
            }
            found.groups.extend(named_groups(&words).map(Text::from));
        }
        for other in view.others() {
            if &*other.kind == "ConfigMap" && other.meta.name == "cluster-autoscaler-status" {
                let rendered = render(&Object::Other(other.clone()));
                let status = rendered["data"]["status"].as_str().unwrap_or_default();
                found.groups.extend(status.lines().filter_map(group_of_status).map(Text::from));
            }
        }
        found.groups.sort();
        found.groups.dedup();
        found
    }

    /// The Auto Scaling group that belongs to a node group, if it is among them.
    pub(super) fn scales(&self, group: &GroupName) -> Option<&Text> {
        self.groups.iter().find(|asg| is_group_of(asg, group.as_str()))
    }
}

fn is_autoscaler(spec: &PodSpec) -> bool {
    spec.containers.iter().any(|container| image_name(&container.image) == "cluster-autoscaler")
}

/// The last segment of an image's name, without tag and digest.
pub(super) fn image_name(image: &str) -> &str {
    let path = image.split('@').next().unwrap_or(image);
    let last = path.rsplit('/').next().unwrap_or(path);
    last.split(':').next().unwrap_or(last)
}

/// Groups of `--nodes=1:10:name` and `--nodes 1:10:name`.
fn named_groups<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let of = |at: usize| match words[at].strip_prefix("--nodes") {
        Some("") => words.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    };
    (0..words.len()).filter_map(of).filter_map(|value| value.splitn(3, ':').nth(2))
}

/// A line `Name: <group>` (up to 1.29, as text) or `- name: <group>` (from 1.30, as YAML); `ClusterWide` names none.
fn group_of_status(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches("- ");
    let name = line.strip_prefix("Name:").or_else(|| line.strip_prefix("name:"))?.trim();
    (!name.is_empty()).then_some(name)
}

/// Whether an Auto Scaling group belongs to a node group: by its own name, as EKS names those of managed groups
/// (`eks-<group>-<uuid>`) or eksctl its stacks (`eksctl-<cluster>-nodegroup-<group>-NodeGroup-<id>`).
fn is_group_of(asg: &str, group: &str) -> bool {
    const UUID_LETTERS: usize = 36;
    let managed = asg.strip_prefix("eks-").and_then(|rest| rest.strip_prefix(group));
    let managed = managed.and_then(|rest| rest.strip_prefix('-'));
    asg == group
        || managed.is_some_and(|uuid| uuid.len() == UUID_LETTERS || !uuid.contains('-'))
        || (asg.starts_with("eksctl-") && asg.contains(&format!("-nodegroup-{group}-NodeGroup")))
}

/// Who scales the nodes of each group.
#[derive(Clone, Debug, Default)]
pub(super) struct Scalers {
    said: Vec<GroupName>,
    autoscaler: ClusterAutoscaler,
    known: BTreeMap<GroupName, Option<Scaler>>,
}

impl Scalers {
    pub(super) fn new(said: impl IntoIterator<Item = GroupName>, autoscaler: ClusterAutoscaler) -> Self {
        Self { said: said.into_iter().collect(), autoscaler, known: BTreeMap::new() }
    }

    /// Who scales a node's group.
    pub(super) fn of(&mut self, node: &Node, group: Option<&GroupName>) -> Option<Scaler> {
        if let Some(pool) = node.meta.labels.get(LABEL_NODE_POOL) {
            return Some(Scaler::NodePool(pool.clone()));
        }
        let group = group?;
        if let Some(known) = self.known.get(group) {
            return known.clone();
        }
        let by_autoscaler =
            || self.autoscaler.scales(group).map(|asg| Scaler::ClusterAutoscaler(asg.clone()));
        let scaler = if self.said.contains(group) { Some(Scaler::Said) } else { by_autoscaler() };
        self.known.insert(group.clone(), scaler.clone());
        scaler
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(labels: &[(&str, &str)]) -> Node {
        let mut node = Node::default();
        node.meta.labels = labels.iter().copied().collect();
        node
    }

    #[test]
    fn spot_is_known_by_what_the_provisioner_declares_or_by_custom() {
        for labels in [
            [("eks.amazonaws.com/capacityType", "SPOT")],
            [("karpenter.sh/capacity-type", "spot")],
            [("node.kubernetes.io/lifecycle", "spot")],
            [("lifecycle", "Ec2Spot")],
            [("node-lifecycle", "spot")],
            [("spot", "true")],
            [("cloud.google.com/gke-spot", "true")],
        ] {
            assert!(is_spot(&node(&labels)), "{labels:?}");
        }
        for labels in [
            [("eks.amazonaws.com/capacityType", "ON_DEMAND")],
            [("lifecycle", "on-demand")],
            [("lifecycle", "true")],
            [("app", "spot")],
            [("spot", "false")],
        ] {
            assert!(!is_spot(&node(&labels)), "{labels:?}");
        }
        let declared = node(&[("eks.amazonaws.com/capacityType", "ON_DEMAND"), ("spot", "true")]);
        assert!(!is_spot(&declared), "what EKS says counts");
    }

    #[test]
    fn groups_of_cluster_autoscaler_are_told_by_its_arguments_and_its_status() {
        let words =
            ["./cluster-autoscaler", "--nodes=1:10:eks-web-0a1b", "--nodes", "0:5:spot", "--nodes=bad"];
        assert_eq!(named_groups(&words).collect::<Vec<_>>(), ["eks-web-0a1b", "spot"]);
        assert_eq!(group_of_status("      Name:        eks-web-0a1b"), Some("eks-web-0a1b"));
        assert_eq!(group_of_status("- name: eks-web-0a1b"), Some("eks-web-0a1b"));
        assert_eq!(group_of_status("  status: Healthy"), None);
        assert!(is_group_of("eks-web-8ec7f4a1-1111-2222-3333-444455556666", "web"));
        assert!(is_group_of("eksctl-prod-nodegroup-web-NodeGroup-1ABC", "web"));
        assert!(is_group_of("web", "web"));
        assert!(!is_group_of("eks-web-api-8ec7f4a1-1111-2222-3333-444455556666", "web"));
        assert!(!is_group_of("eks-webshop-8ec7f4a1-1111-2222-3333-444455556666", "web"));
    }
}
