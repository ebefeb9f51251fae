//! Whether a group is one of this cluster's. A tag such as `k8s.io/cluster-autoscaler/enabled` may be on the groups of several clusters in an account, and whose instances are
//! no nodes here would be taken for machines that never came up.

use std::collections::BTreeSet;

use replank_facts::group_facts::Facts;
use replank_facts::groups::instance_id_of;
use replank_model::text::{InstanceId, Text};
use replank_model::view::View;

/// Tags whose keys end in a cluster's name.
const NAMED_BY: [&str; 2] = ["kubernetes.io/cluster/", "k8s.io/cluster-autoscaler/"];
/// EKS's own tag of the groups behind its node groups.
const EKS: &str = "eks:cluster-name";

/// The groups of this cluster, and why the others are none.
pub(super) fn own(facts: Vec<Facts>, view: &View) -> (Vec<Facts>, Vec<String>) {
    let nodes: BTreeSet<InstanceId> = view.nodes.unordered().map(|(_, node)| instance_id_of(node)).collect();
    let is_here = |one: &Facts| one.instances.keys().any(|id| nodes.contains(id));
    let ours: BTreeSet<String> = facts.iter().filter(|one| is_here(one)).flat_map(clusters).collect();
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for one in facts {
        let named = clusters(&one);
        let is_ours = named.iter().any(|name| ours.contains(name));
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        if is_here(&one) || is_ours {
            own.push(one);
        } else if !named.is_empty() && !ours.is_empty() {
            others.push(format!(
                "group {} is not scaled: its tags name cluster {}, and the nodes here are in groups of {}",
                one.name,
                list(&named),
                list(&ours)
            ));
        } else if !one.instances.is_empty() {
            others.push(format!(
                "group {} is not scaled: none of its {} is a node of this cluster; if they have just been launched, start again once one is",
                one.name,
                crate::report::words::count(one.instances.len(), "instance")
            ));
        } else {
            own.push(one);
        }
    }
    (own, others)
}

/// The clusters that a group's tags name.
fn clusters(facts: &Facts) -> BTreeSet<String> {
    let named = |(key, value): &(Text, Text)| {
        if **key == *EKS {
            return Some(value.to_string());
        }
        let name = NAMED_BY.iter().find_map(|prefix| key.strip_prefix(prefix))?;
        // The other tags of Cluster Autoscaler have their own words there.
        (name != "enabled" && !name.contains('/')).then(|| name.to_owned())
    };
    facts.tags.iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn group(name: &str, instances: &[&str], tags: &[(&str, &str)]) -> Facts {
        let tags: Vec<_> =
            tags.iter().map(|(key, value)| json!({"Key": key, "Value": value, "ResourceId": name})).collect();
        let instances: Vec<_> = instances
            .iter()
            .map(|id| json!({"InstanceId": id, "AvailabilityZone": "eu-west-1a", "LifecycleState": "InService", "HealthStatus": "Healthy"}))
            .collect();
        let answer = json!({"AutoScalingGroups": [{"AutoScalingGroupName": name, "MinSize": 0, "MaxSize": 9, "DesiredCapacity": 1,
            "AvailabilityZones": ["eu-west-1a"], "Instances": instances, "Tags": tags}]});
        replank_facts::group_facts::read(&answer).expect("an answer").remove(0)
    }

    #[test]
    fn groups_of_other_clusters_are_left_alone() {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"},
            "spec": {"providerID": "aws:///eu-west-1a/i-here"}, "status": {}});
        let view: View = [Object::from_json(node).expect("a node")].into_iter().map(Delta::Put).collect();
        let enabled = ("k8s.io/cluster-autoscaler/enabled", "true");
        let of = |name: &'static str| -> Vec<(&str, &str)> {
            match name {
                "prod" => vec![enabled, ("kubernetes.io/cluster/prod", "owned")],
                _ => vec![enabled, ("k8s.io/cluster-autoscaler/test", "owned")],
            }
        };
        let all = vec![
            group("here", &["i-here"], &of("prod")),
            group("empty", &[], &of("prod")),
            group("coming", &["i-new"], &of("prod")),
            group("untold", &[], &[enabled]),
            group("other", &["i-other"], &of("test")),
            group("other-empty", &[], &of("test")),
            group("stranger", &["i-strange"], &[enabled]),
        ];
        let (own, others) = own(all, &view);
        let names: Vec<&str> = own.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["here", "empty", "coming", "untold"]);
        assert_eq!(others.len(), 3, "{others:?}");
        assert!(others[0].contains("other is not scaled: its tags name cluster test"), "{others:?}");
        assert!(others[2].contains("none of its 1 instance is a node of this cluster"), "{others:?}");
    }
}
