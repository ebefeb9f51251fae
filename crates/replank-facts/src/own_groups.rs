//! Which Auto Scaling groups of an account are a cluster's: an account may have those of other clusters, too.
//!
//! A group with an instance that is a node here is the cluster's. Any other is known by the clusters that its tags name: this one's name is what the groups with
//! nodes here are tagged with, or what its nodes tell, unless that is Cluster API's own name for it. A group without instances that names no cluster is taken to be this one's.

use std::collections::BTreeSet;

use replank_model::view::View;

use crate::cluster_name::ClusterName;
use crate::groups::instance_id_of;

/// What is seen of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenGroup {
    /// Ids of its instances.
    pub instances: BTreeSet<String>,
    /// The clusters that its tags name.
    pub clusters: BTreeSet<String>,
}

/// Whose a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOwner {
    /// This cluster's.
    ThisCluster,
    /// That of another cluster, which its tags name.
    OtherCluster,
    /// That of somebody else: it has instances, and none is a node here.
    SomebodyElse,
}

/// By what a group that names another cluster is known to be none of this one's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldBy<'o> {
    /// This cluster has these names.
    Names(&'o BTreeSet<String>),
    /// The groups with nodes here name no cluster.
    UntaggedGroups,
    /// All instances of groups that name the same cluster are elsewhere.
    InstancesElsewhere,
}

/// By what a cluster's groups are known.
#[derive(Clone, Debug, Default)]
pub struct OwnGroups {
    nodes: BTreeSet<String>,
    /// The cluster's names, as far as anything tells them.
    names: BTreeSet<String>,
    /// Whether nodes here are in any of the groups: then a group that names a cluster is not tagged as this one's are, where these name none.
    is_any_here: bool,
    /// Names on groups that have all of their instances elsewhere.
    others: BTreeSet<String>,
}

impl OwnGroups {
    /// Reads it off the nodes of a cluster and all groups of an account.
    #[must_use]
    pub fn of<'g>(view: &View, groups: impl Iterator<Item = &'g SeenGroup>) -> Self {
        let nodes = view.nodes.unordered().map(|(_, node)| instance_id_of(node).to_string());
        let told = ClusterName::of(view).and_then(|name| name.in_eks().map(ToString::to_string));
        let mut own = Self { nodes: nodes.collect(), names: told.into_iter().collect(), ..Self::default() };
        let (here, elsewhere): (Vec<_>, Vec<_>) = groups.partition(|group| own.is_here(group));
        own.is_any_here = !here.is_empty();
        own.names.extend(here.iter().flat_map(|group| group.clusters.iter().cloned()));
        let others = elsewhere.iter().filter(|group| !group.instances.is_empty());
        own.others = others.flat_map(|group| group.clusters.difference(&own.names)).cloned().collect();
        own
    }

    fn is_here(&self, group: &SeenGroup) -> bool {
        !self.nodes.is_disjoint(&group.instances)
    }

    /// Whose a group is.
    #[must_use]
    pub fn owner(&self, group: &SeenGroup) -> GroupOwner {
        let SeenGroup { instances, clusters } = group;
        if self.is_here(group) || !self.names.is_disjoint(clusters) {
            return GroupOwner::ThisCluster;
        }
        let is_known = !self.names.is_empty();
        if !instances.is_empty() && (clusters.is_empty() || !is_known) {
            return GroupOwner::SomebodyElse;
        }
        let is_strange = is_known || self.is_any_here || !self.others.is_disjoint(clusters);
        if !clusters.is_empty() && is_strange { GroupOwner::OtherCluster } else { GroupOwner::ThisCluster }
    }

    /// By what groups of other clusters are known, where their tags name those.
    #[must_use]
    pub fn told_by(&self) -> ToldBy<'_> {
        match (self.names.is_empty(), self.is_any_here) {
            (false, _) => ToldBy::Names(&self.names),
            (true, true) => ToldBy::UntaggedGroups,
            (true, false) => ToldBy::InstancesElsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn group(instances: &[&str], clusters: &[&str]) -> SeenGroup {
        let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        SeenGroup { instances: set(instances), clusters: set(clusters) }
    }

    fn view(labels: &Value) -> View {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n", "labels": labels},
            "spec": {"providerID": "aws:///eu-west-1a/i-1"}, "status": {}});
        [Object::from_json(node).expect("a node")].into_iter().map(Delta::Put).collect()
    }

    /// What one of the groups is.
    fn owner(labels: &Value, all: &[SeenGroup], at: usize) -> GroupOwner {
        OwnGroups::of(&view(labels), all.iter()).owner(&all[at])
    }

    #[test]
    fn where_groups_with_nodes_here_name_the_cluster_tags_tell_all_others() {
        let all = [
            group(&["i-1"], &["shop"]),
            group(&[], &["shop"]),
            group(&["i-new"], &["shop"]),
            group(&[], &[]),
            group(&["i-9"], &["other"]),
            group(&[], &["other"]),
            group(&["i-8"], &[]),
        ];
        let found: Vec<GroupOwner> = (0..all.len()).map(|at| owner(&json!({}), &all, at)).collect();
        let own = [GroupOwner::ThisCluster; 4];
        assert_eq!(
            found,
            [&own[..], &[GroupOwner::OtherCluster, GroupOwner::OtherCluster, GroupOwner::SomebodyElse]]
                .concat()
        );
    }

    /// An empty group that names a cluster is another's, where those with nodes here name none.
    #[test]
    fn an_empty_group_is_known_by_its_tags_though_nothing_names_this_cluster() {
        let all =
            [group(&["i-1"], &[]), group(&[], &["other"]), group(&[], &[]), group(&["i-9"], &["other"])];
        let found: Vec<GroupOwner> = (0..all.len()).map(|at| owner(&json!({}), &all, at)).collect();
        assert_eq!(
            found,
            [
                GroupOwner::ThisCluster,
                GroupOwner::OtherCluster,
                GroupOwner::ThisCluster,
                GroupOwner::SomebodyElse
            ]
        );
        // Where no group has a node here, either, a name that goes with instances elsewhere is another's; of any other nobody knows.
        let all = [group(&["i-9"], &["other"]), group(&[], &["other"]), group(&[], &["shop"])];
        assert_eq!(
            (owner(&json!({}), &all, 1), owner(&json!({}), &all, 2)),
            (GroupOwner::OtherCluster, GroupOwner::ThisCluster)
        );
        // Nodes tell the name as well.
        let labels = json!({"alpha.eksctl.io/cluster-name": "shop"});
        let all = [group(&["i-1"], &[]), group(&[], &["shop"]), group(&[], &["other"])];
        assert_eq!(
            (owner(&labels, &all, 1), owner(&labels, &all, 2)),
            (GroupOwner::ThisCluster, GroupOwner::OtherCluster)
        );
    }

    /// It is in no tag of EKS, so that a group with another name may be this cluster's.
    #[test]
    fn the_name_of_cluster_api_makes_no_group_anothers() {
        let all = [group(&[], &["default_shop"])];
        assert_eq!(
            owner(&json!({"cluster.x-k8s.io/cluster-name": "shop"}), &all, 0),
            GroupOwner::ThisCluster
        );
        assert_eq!(
            owner(&json!({"alpha.eksctl.io/cluster-name": "shop"}), &all, 0),
            GroupOwner::OtherCluster
        );
    }
}
