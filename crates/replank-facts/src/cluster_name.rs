//! The cluster's name in EKS, as its nodes and the tags of its Auto Scaling groups tell it: the API of Kubernetes has none.

use std::collections::BTreeSet;

use replank_model::text::Text;
use replank_model::view::View;

/// Labels whose value is the name: eksctl's, and the one that Cluster API puts on nodes of EKS.
const NAMED_BY: [&str; 2] = ["alpha.eksctl.io/cluster-name", "cluster.x-k8s.io/cluster-name"];
/// The tag of AWS' cloud provider, which some launch templates also put on nodes as a label: the name is in the key.
const OWNED: &str = "kubernetes.io/cluster/";
/// Cluster Autoscaler's tag of a cluster's groups. Its other tags begin like it, and have words of their own there.
const SCALED: &str = "k8s.io/cluster-autoscaler/";
/// EKS's own tag of the groups behind its node groups.
pub const TAG_CLUSTER: &str = "eks:cluster-name";

/// The name, where nodes tell one and no other.
#[must_use]
pub fn cluster_name(view: &View) -> Option<Text> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (_, node) in view.nodes.unordered() {
        names.extend(NAMED_BY.iter().filter_map(|key| node.meta.labels.value(key)));
        names.extend(node.meta.labels.iter().filter_map(|(key, _)| key.strip_prefix(OWNED)));
    }
    names.remove("");
    match names.len() {
        1 => names.first().map(|name| Text::from(*name)),
        _ => None,
    }
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

    fn name(labels: &[Value]) -> Option<Text> {
        let node = |(at, labels): (usize, &Value)| {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at}"), "labels": labels}, "spec": {}});
            Delta::Put(Object::from_json(node).expect("a node"))
        };
        cluster_name(&labels.iter().enumerate().map(node).collect::<View>())
    }

    #[test]
    fn the_one_name_that_nodes_tell_is_the_clusters() {
        let eksctl = json!({"alpha.eksctl.io/cluster-name": "shop"});
        let owned = json!({"kubernetes.io/cluster/shop": "owned"});
        assert_eq!(name(&[eksctl.clone(), owned.clone(), json!({})]).as_deref(), Some("shop"));
        assert_eq!(name(&[json!({"a": "b"})]), None);
        assert_eq!(name(&[eksctl, json!({"kubernetes.io/cluster/other": "owned"})]), None);
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
