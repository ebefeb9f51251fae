//! Whether an Auto Scaling group is one of this cluster's. A tag such as `k8s.io/cluster-autoscaler/enabled` may be on the groups of several clusters in an account, two clusters may
//! have managed node groups of one name, and instances that are no nodes here would be taken for machines that never came up.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::cluster_name::named_by_tags;
use replank_facts::own_groups::{GroupOwner, OwnGroups, SeenGroup, ToldBy};
use replank_model::view::View;
use serde_json::Value;

use crate::failure::Failure;
use crate::report::words::count;

/// EKS's own tag of the groups behind its node groups.
const NODE_GROUP: &str = "eks:nodegroup-name";

/// Takes the groups of other clusters out of the answers of describe-auto-scaling-groups and describe-nodegroup, and says why each is none of this cluster's.
///
/// # Errors
/// Where two groups that are left have one name.
pub(super) fn keep_own(answers: &mut Value, view: &View) -> Result<Vec<String>, Failure> {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let groups: Vec<(&str, SeenGroup)> =
        all(answers).map(|group| (text(group, "AutoScalingGroupName"), seen(group))).collect();
    let own = OwnGroups::of(view, groups.iter().map(|(_, group)| group));
    let (mut others, mut strange) = (Vec::new(), BTreeSet::new());
    for (name, group) in &groups {
        let why = match own.owner(group) {
            GroupOwner::ThisCluster => continue,
            GroupOwner::OtherCluster => {
                format!(
                    "its tags name cluster {}, and {}",
                    list(&group.clusters),
                    told(&own.told_by(), &list)
                )
            }
            GroupOwner::SomebodyElse => format!(
                "it has {}, and none is a node of this cluster; if they have just been launched, start again once one is",
                count(group.instances.len(), "instance")
            ),
        };
        others.push(format!("group {name} is not scaled: {why}"));
        strange.insert((*name).to_owned());
    }
    for answer in answers.as_array_mut().into_iter().flatten() {
        if let Some(groups) = answer["AutoScalingGroups"].as_array_mut() {
            groups.retain(|group| !strange.contains(text(group, "AutoScalingGroupName")));
        }
    }
    if let Some(all) = answers.as_array_mut() {
        all.retain(|answer| {
            let behind = answer["nodegroup"]["resources"]["autoScalingGroups"].as_array();
            !behind.into_iter().flatten().any(|group| strange.contains(text(group, "name")))
        });
    }
    are_told_apart(answers)?;
    Ok(others)
}

/// Why that is another one than this.
fn told(by: &ToldBy<'_>, list: &dyn Fn(&BTreeSet<String>) -> String) -> String {
    match by {
        ToldBy::Names(names) => format!("this cluster is {}", list(names)),
        ToldBy::UntaggedGroups => "the tags of the groups of this cluster's nodes name no cluster".to_owned(),
        ToldBy::InstancesElsewhere => "no instance of that cluster's groups is a node here".to_owned(),
    }
}

/// A managed node group goes by its own name, and any other by that of its Auto Scaling group.
fn are_told_apart(answers: &Value) -> Result<(), Failure> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for group in all(answers) {
        let own = text(group, "AutoScalingGroupName");
        let name = tags(group).find(|(key, _)| *key == NODE_GROUP).map_or(own, |(_, value)| value);
        if let Some(other) = known.insert(name, own) {
            return Err(Failure::usage_message(format!(
                "two groups are named {name}: the Auto Scaling groups {other} and {own}"
            ))
            .next("name them by tags that only this cluster's groups have: --node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/CLUSTER"));
        }
    }
    Ok(())
}

fn all(answers: &Value) -> impl Iterator<Item = &Value> {
    let answers = answers.as_array().into_iter().flatten();
    answers.flat_map(|answer| answer["AutoScalingGroups"].as_array().into_iter().flatten())
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn tags(group: &Value) -> impl Iterator<Item = (&str, &str)> {
    let all = group["Tags"].as_array().into_iter().flatten();
    all.map(|tag| (text(tag, "Key"), text(tag, "Value")))
}

/// What is seen of a group.
fn seen(group: &Value) -> SeenGroup {
    let all = group["Instances"].as_array().into_iter().flatten();
    let ids = all.filter_map(|one| one["InstanceId"].as_str());
    SeenGroup { instances: ids.map(str::to_owned).collect(), clusters: named_by_tags(tags(group)) }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn group(name: &str, instances: &[&str], tags: &[(&str, &str)]) -> Value {
        let tags: Vec<_> = tags.iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect();
        let instances: Vec<_> = instances.iter().map(|id| json!({"InstanceId": id})).collect();
        json!({"AutoScalingGroupName": name, "Instances": instances, "Tags": tags})
    }

    fn view() -> View {
        labelled(&json!({}))
    }

    fn labelled(labels: &Value) -> View {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n", "labels": labels},
            "spec": {"providerID": "aws:///eu-west-1a/i-here"}, "status": {}});
        [Object::from_json(node).expect("a node")].into_iter().map(Delta::Put).collect()
    }

    const ENABLED: (&str, &str) = ("k8s.io/cluster-autoscaler/enabled", "true");
    const PROD: [(&str, &str); 2] = [ENABLED, ("kubernetes.io/cluster/prod", "owned")];
    const TEST: [(&str, &str); 2] = [ENABLED, ("k8s.io/cluster-autoscaler/test", "owned")];

    #[test]
    fn groups_of_other_clusters_are_left_alone() {
        let groups = [
            group("here", &["i-here"], &PROD),
            group("empty", &[], &PROD),
            group("coming", &["i-new"], &PROD),
            group("untold", &[], &[ENABLED]),
            group("other", &["i-other"], &TEST),
            group("other-empty", &[], &TEST),
            group("stranger", &["i-strange"], &[ENABLED]),
        ];
        let managed = json!({"nodegroup": {"nodegroupName": "o", "resources": {"autoScalingGroups": [{"name": "other"}]}}});
        let mut answers = json!([managed, {"AutoScalingGroups": groups}]);
        let others = keep_own(&mut answers, &view()).expect("they are told apart");
        let names: Vec<&str> = all(&answers).map(|one| text(one, "AutoScalingGroupName")).collect();
        assert_eq!(names, ["here", "empty", "coming", "untold"]);
        assert_eq!(
            answers.as_array().map(Vec::len),
            Some(1),
            "the node group goes with its Auto Scaling group"
        );
        assert_eq!(others.len(), 3, "{others:?}");
        assert_eq!(
            others[0],
            "group other is not scaled: its tags name cluster test, and this cluster is prod"
        );
        assert!(others[2].contains("has 1 instance, and none is a node of this cluster"), "{others:?}");
    }

    /// A group that is empty and tagged for another cluster is not this one's because nothing names this one.
    #[test]
    fn an_empty_group_of_another_cluster_is_left_alone_where_no_group_names_this_one() {
        let groups = [
            group("here", &["i-here"], &[ENABLED]),
            group("empty", &[], &[ENABLED]),
            group("other-empty", &[], &TEST),
        ];
        let mut answers = json!([{"AutoScalingGroups": groups}]);
        let others = keep_own(&mut answers, &view()).expect("they are told apart");
        let names: Vec<&str> = all(&answers).map(|one| text(one, "AutoScalingGroupName")).collect();
        assert_eq!(names, ["here", "empty"]);
        assert_eq!(
            others,
            [
                "group other-empty is not scaled: its tags name cluster test, and the tags of the groups of this cluster's nodes name no cluster"
            ]
        );
    }

    /// No group has a node here, so that nothing is said of the groups of this cluster's nodes.
    #[test]
    fn why_a_group_is_another_clusters_is_told_by_what_tells_it() {
        let why = |view: &View, groups: &[Value]| {
            keep_own(&mut json!([{"AutoScalingGroups": groups}]), view).expect("they are told apart")
        };
        let empty = group("other-empty", &[], &TEST);
        let by_label =
            why(&labelled(&json!({"alpha.eksctl.io/cluster-name": "prod"})), std::slice::from_ref(&empty));
        assert_eq!(
            by_label,
            ["group other-empty is not scaled: its tags name cluster test, and this cluster is prod"]
        );
        let by_instances = why(&view(), &[group("other", &["i-other"], &TEST), empty]);
        assert!(
            by_instances[1].ends_with(
                "its tags name cluster test, and no instance of that cluster's groups is a node here"
            ),
            "{by_instances:?}"
        );
    }

    #[test]
    fn of_two_groups_with_one_name_neither_is_scaled() {
        let managed = [ENABLED, ("eks:cluster-name", "prod"), (NODE_GROUP, "web")];
        let mut answers = json!([{"AutoScalingGroups": [group("eks-web-1", &["i-here"], &managed), group("web", &[], &[ENABLED])]}]);
        let failure = keep_own(&mut answers, &view()).expect_err("they cannot be told apart");
        assert!(failure.error.to_string().contains("eks-web-1 and web"), "{failure:?}");
    }
}
