//! The cluster's name in EKS, as its nodes and the tags of its Auto Scaling groups tell it: the API of Kubernetes has none.

use std::collections::BTreeSet;

use replank_model::text::Text;
use replank_model::view::View;

/// eksctl's label, whose value is the name.
const EKSCTL: &str = "alpha.eksctl.io/cluster-name";
/// The label of Cluster API, whose value is its own name for the cluster. EKS has it with a namespace before it, unless somebody chose another one
/// (cluster-api-provider-aws, `GenerateEKSName` and `eksClusterName`).
const CLUSTER_API: &str = "cluster.x-k8s.io/cluster-name";
/// The tag of AWS' cloud provider, which some launch templates also put on nodes as a label: the name is in the key.
const OWNED: &str = "kubernetes.io/cluster/";
/// Cluster Autoscaler's tag of a cluster's groups. Its other tags begin like it, and have words of their own there.
const SCALED: &str = "k8s.io/cluster-autoscaler/";
/// EKS's own tag of the groups behind its node groups.
pub const TAG_CLUSTER: &str = "eks:cluster-name";

/// A cluster's name, and who calls it that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterName {
    /// EKS.
    Eks(Text),
    /// Cluster API; EKS may have another one.
    ClusterApi(Text),
}

impl ClusterName {
    /// The name, where nodes tell one and no other.
    #[must_use]
    pub fn of(view: &View) -> Option<Self> {
        let (mut eks, mut cluster_api) = (BTreeSet::<&str>::new(), BTreeSet::<&str>::new());
        for (_, node) in view.nodes.unordered() {
            eks.extend(node.meta.labels.value(EKSCTL));
            eks.extend(node.meta.labels.iter().filter_map(|(key, _)| key.strip_prefix(OWNED)));
            cluster_api.extend(node.meta.labels.value(CLUSTER_API));
        }
        eks.remove("");
        cluster_api.remove("");
        match (eks.len(), cluster_api.len()) {
            (0, 1) => cluster_api.first().map(|name| Self::ClusterApi(Text::from(*name))),
            (1, _) => eks.first().map(|name| Self::Eks(Text::from(*name))),
            _ => None,
        }
    }

    /// The name, whoever calls the cluster that.
    #[must_use]
    pub fn text(&self) -> &Text {
        match self {
            Self::Eks(name) | Self::ClusterApi(name) => name,
        }
    }

    /// The name in EKS, where that is certain.
    #[must_use]
    pub fn in_eks(&self) -> Option<&Text> {
        match self {
            Self::Eks(name) => Some(name),
            Self::ClusterApi(_) => None,
        }
    }
}

/// The name, where nodes tell one and no other: what EKS calls the cluster, or else Cluster API.
#[must_use]
pub fn cluster_name(view: &View) -> Option<Text> {
    ClusterName::of(view).map(|name| name.text().clone())
}

/// The clusters that the tags of an Auto Scaling group name.
#[must_use]
pub fn named_by_tags<'t>(tags: impl Iterator<Item = (&'t str, &'t str)>) -> BTreeSet<String> {
    let named = |(key, value): (&'t str, &'t str)| {
        if key == TAG_CLUSTER {
            return Some(value);
        }
        let name = key.strip_prefix(OWNED).or_else(|| key.strip_prefix(SCALED))?;
        (name != "enabled" && !name.contains('/')).then_some(name)
    };
    tags.filter_map(named).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn named(labels: &[Value]) -> Option<ClusterName> {
        let node = |(at, labels): (usize, &Value)| {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at}"), "labels": labels}, "spec": {}});
            Delta::Put(Object::from_json(node).expect("a node"))
        };
        ClusterName::of(&labels.iter().enumerate().map(node).collect::<View>())
    }

    fn name(labels: &[Value]) -> Option<Text> {
        named(labels).map(|name| name.text().clone())
    }

    #[test]
    fn the_one_name_that_nodes_tell_is_the_clusters() {
        let eksctl = json!({"alpha.eksctl.io/cluster-name": "shop"});
        let owned = json!({"kubernetes.io/cluster/shop": "owned"});
        assert_eq!(name(&[eksctl.clone(), owned.clone(), json!({})]).as_deref(), Some("shop"));
        assert_eq!(name(&[json!({"a": "b"})]), None);
        assert_eq!(name(&[eksctl, json!({"kubernetes.io/cluster/other": "owned"})]), None);
    }

    /// One that EKS does not have would make it look as if all that is named in EKS were another cluster's.
    #[test]
    fn the_name_of_cluster_api_is_none_of_eks() {
        let own = json!({"cluster.x-k8s.io/cluster-name": "shop"});
        let found = named(std::slice::from_ref(&own)).expect("it is a name");
        assert_eq!((&**found.text(), found.in_eks()), ("shop", None));
        let owned = json!({"kubernetes.io/cluster/default_shop": "owned"});
        let found = named(&[own, owned]).expect("EKS's name counts");
        assert_eq!(found.in_eks().map(|name| &**name), Some("default_shop"));
    }

    #[test]
    fn tags_of_a_group_name_its_cluster() {
        let of = |key: &str, value: &str| named_by_tags([(key, value)].into_iter()).into_iter().next();
        for (key, value) in [
            ("kubernetes.io/cluster/shop", "owned"),
            ("k8s.io/cluster-autoscaler/shop", "owned"),
            ("eks:cluster-name", "shop"),
        ] {
            assert_eq!(of(key, value).as_deref(), Some("shop"), "{key}");
        }
        for key in
            ["k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/node-template/label/a", "Name"]
        {
            assert_eq!(of(key, "shop"), None, "{key}");
        }
    }
}
