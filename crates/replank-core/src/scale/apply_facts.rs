//! The groups of a snapshot as a simulated cloud is to have them: with the bounds, tags and zones that the cloud's own answers tell, and those that have
//! no node, which no dump of Kubernetes objects shows.

use replank_model::labels::TextMap;
use replank_model::object::cloud::{
    GroupKind, GroupSize, LaunchTemplateRef, NodeGroup, ScalingProcess, TargetGroup, VersionWord, Ways,
};
use replank_model::view::View;

use super::group::{Assumed, Bounds, Group, Groups, Origin};
use super::options::Options;
use super::tags::BadTag;
use replank_facts::group_facts::Facts;
use replank_facts::groups::{GroupBy, LearntGroup};

/// The maximum of a simulated group of which nobody told one: EKS's quota for nodes of a managed node group.
pub const SIMULATED_MAX: u32 = 450;

/// What groups were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactsApplied {
    /// What is said of groups, under the names by which nodes show them.
    pub facts: Vec<Facts>,
    /// What was assumed of groups that the autoscaler may change.
    pub assumed: Vec<Assumed>,
    /// Tags that cannot be read.
    pub bad_tags: Vec<BadTag>,
}

/// Gives groups what is said of them, and adds those without nodes. Where `grows` is set, groups of which nobody said how large they may be may grow
/// to [`SIMULATED_MAX`]; else they stay within what the snapshot shows.
pub fn apply_facts(
    groups: &mut Vec<LearntGroup>,
    view: &View,
    by: &GroupBy,
    facts: &[Facts],
    options: &Options,
    grows: bool,
) -> FactsApplied {
    let known = Groups::of(view, by, facts, options);
    let facts = Groups::names_of(view, by, facts);
    for learnt in groups.iter_mut() {
        let group = &mut learnt.group;
        let present = group.size.desired;
        let told = facts.iter().find(|facts| facts.name == group.name);
        if let Some(told) = told {
            group.tags = tags(told);
            group.ways = ways(told);
            group.zones.extend(told.zones.iter().cloned());
            group.zones.sort();
            group.zones.dedup();
            owned(group, told);
            numbered(learnt, view, told);
            learnt.register(told.target_groups.iter().cloned().map(TargetGroup::attached).collect(), view);
        }
        let group = &mut learnt.group;
        let size = known.get(&group.name).filter(|known| known.bounds != Bounds::Assumed);
        let size = size.map(|known| known.size).or(told.and_then(|told| told.size));
        match size {
            Some(size) => {
                group.size =
                    GroupSize { min: size.min.min(present), max: size.max.max(present), desired: present };
            }
            None if grows => {
                group.size = GroupSize { min: 0, max: present.max(SIMULATED_MAX), desired: present }
            }
            None => {}
        }
    }
    let empty = known.all.iter().filter(|group| group.origin == Origin::Computed);
    groups.extend(empty.map(|group| LearntGroup { group: made(group, &facts), instances: Vec::new() }));
    groups.sort_by(|a, b| a.group.name.cmp(&b.group.name));
    FactsApplied { facts, assumed: known.assumed, bad_tags: known.bad_tags }
}

fn tags(told: &Facts) -> TextMap {
    told.tags.iter().cloned().collect()
}

fn ways(told: &Facts) -> Ways {
    let mut ways =
        Ways { policies: told.policies.clone(), protects_new: told.protects_new, ..Ways::default() };
    if let Some(suspended) = &told.suspended {
        ways.suspended.clone_from(suspended);
    }
    match told.kind {
        GroupKind::SelfManaged => ways,
        // EKS suspends it when it has to.
        GroupKind::EksManaged => ways.without(ScalingProcess::AzRebalance),
    }
}

/// The launch template version as the cloud numbers it, and what it says of single instances.
fn numbered(learnt: &mut LearntGroup, view: &View, told: &Facts) {
    if !told.ami_type.is_empty() {
        for template in learnt.group.templates.values_mut() {
            template.ami_type = told.ami_type.clone();
        }
    }
    if let Some(version) = told.template.clone().or_else(|| followed(told)) {
        learnt.number_template(version);
    }
    learnt.group.follows = told.follows.as_ref().map(|(_, word)| *word);
    learnt.group.default_version = match learnt.group.follows {
        Some(VersionWord::Default) => Some(learnt.group.current.clone()),
        Some(VersionWord::Latest) | None => None,
    };
    for at in 0..learnt.instances.len() {
        let instance = &mut learnt.instances[at];
        let Some(told) = told.instances.get(&instance.id) else { continue };
        instance.is_protected = told.is_protected;
        instance.health = told.health;
        let node = instance.node.as_ref().and_then(|name| view.node(name));
        if let Some(version) = told.template.as_ref().filter(|version| **version != learnt.group.current) {
            learnt.set_version(at, version.clone(), node.map(|node| &**node));
        }
    }
}

/// The version that a word means: the last one that an instance was made from, where the answer names a word and no number.
fn followed(told: &Facts) -> Option<LaunchTemplateRef> {
    let (id, _) = told.follows.as_ref()?;
    let known = told.instances.values().filter_map(|one| one.template.as_ref());
    let last = known.filter(|version| version.id == *id).max().cloned();
    Some(last.unwrap_or_else(|| LaunchTemplateRef { id: id.clone(), version: LaunchTemplateRef::FIRST }))
}

/// A group without nodes.
fn made(group: &Group, facts: &[Facts]) -> NodeGroup {
    let told = facts.iter().find(|facts| facts.name == group.name);
    let size = GroupSize { max: group.size.max.min(SIMULATED_MAX.max(group.size.desired)), ..group.size };
    let mut made = NodeGroup {
        tags: told.map(tags).unwrap_or_default(),
        ways: told.map(ways).unwrap_or_default(),
        ..NodeGroup::new(group.name.clone(), size, group.zones.clone(), group.template.clone())
    };
    if let Some(told) = told {
        made.target_groups = told.target_groups.iter().cloned().map(TargetGroup::attached).collect();
        owned(&mut made, told);
    }
    made
}

/// Who owns its Auto Scaling group, and how that is called.
fn owned(group: &mut NodeGroup, told: &Facts) {
    if let Some(name) = &told.auto_scaling {
        group.auto_scaling_group = name.clone();
    }
    group.update_at_once.clone_from(&told.update_at_once);
    group.update_strategy = told.update_strategy.unwrap_or_default();
    match told.kind {
        GroupKind::SelfManaged => {}
        GroupKind::EksManaged => *group = group.clone().managed_by_eks(),
    }
}

#[cfg(test)]
mod tests {
    use replank_facts::group_facts::{merged, read};
    use replank_facts::groups::from_nodes;
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use replank_model::object::cloud::{LaunchTemplate, TerminationPolicy};
    use serde_json::{Value, json};

    use super::*;

    /// Two nodes of `web`, and what becomes of the group with what the cloud says.
    fn web(answer: &Value) -> LearntGroup {
        let node = |name: &str, kubelet: &str| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "creationTimestamp": format!("2026-01-0{}T00:00:00Z", &name[1..]),
                    "labels": {"eks.amazonaws.com/nodegroup": "web", "topology.kubernetes.io/zone": "a"}},
                "spec": {"providerID": format!("aws:///a/i-{name}")}, "status": {"nodeInfo": {"kubeletVersion": kubelet}}})
        };
        let nodes = [node("n1", "v1.34.2"), node("n2", "v1.36.0")];
        let view: View =
            nodes.into_iter().map(|node| Delta::Put(Object::from_json(node).expect("valid"))).collect();
        let by = GroupBy::default();
        let mut groups = from_nodes(&view, &by);
        let facts = merged(read(answer).expect("an answer"));
        apply_facts(&mut groups, &view, &by, &facts, &Options::default(), false);
        groups.remove(0)
    }

    fn instance(id: &str, version: &str, is_protected: bool) -> Value {
        json!({"InstanceId": id, "AvailabilityZone": "a", "ProtectedFromScaleIn": is_protected,
            "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": version}})
    }

    fn answer(tags: &Value) -> Value {
        json!({"AutoScalingGroups": [{"AutoScalingGroupName": "web", "MinSize": 1, "MaxSize": 9, "DesiredCapacity": 2, "Tags": tags,
            "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "7"}, "SuspendedProcesses": [{"ProcessName": "Launch"}],
            "TerminationPolicies": ["OldestInstance"], "NewInstancesProtectedFromScaleIn": true,
            "Instances": [instance("i-n1", "5", true), instance("i-n2", "7", false)]}]})
    }

    #[test]
    fn a_group_is_as_the_cloud_says() {
        let LearntGroup { group, instances } = web(&answer(&json!([])));
        assert_eq!(group.current.to_string(), "lt-1 v7");
        assert_eq!(group.ways.suspended, [ScalingProcess::Launch].into(), "it balances its zones");
        assert_eq!(
            (group.ways.protects_new, &*group.ways.policies),
            (true, &[TerminationPolicy::OldestInstance][..])
        );
        let shown: Vec<String> = instances
            .iter()
            .map(|one| {
                let kubelet = &group.made_from(one).expect("known").profile.kubelet_version;
                format!("{} v{} {kubelet} {}", one.id, one.template.version, one.is_protected)
            })
            .collect();
        assert_eq!(shown, ["i-n1 v5 v1.34.2 true", "i-n2 v7 v1.36.0 false"]);
        assert_eq!(LaunchTemplate::contradiction(&group.templates), None);
    }

    #[test]
    fn a_word_means_the_last_version_that_is_known_of_the_launch_template() {
        for (word, default) in [("$Latest", None), ("$Default", Some("lt-1 v7"))] {
            let mut told = answer(&json!([]));
            told["AutoScalingGroups"][0]["LaunchTemplate"]["Version"] = json!(word);
            let group = web(&told).group;
            assert_eq!(group.current.to_string(), "lt-1 v7");
            assert_eq!(group.follows.map(VersionWord::as_str), Some(word));
            assert_eq!(group.default_version.map(|version| version.to_string()).as_deref(), default);
        }
        assert_eq!(web(&answer(&json!([]))).group.follows, None);
    }

    #[test]
    fn a_managed_group_is_not_taken_to_balance_its_zones() {
        let LearntGroup { group, .. } = web(&answer(&json!([{"Key": "eks:nodegroup-name", "Value": "web"}])));
        assert_eq!(group.kind, GroupKind::EksManaged);
        assert_eq!(group.ways.suspended, [ScalingProcess::Launch, ScalingProcess::AzRebalance].into());
    }

    #[test]
    fn without_a_word_on_processes_all_are_active_but_one() {
        let mut silent = answer(&json!([]));
        silent["AutoScalingGroups"][0].as_object_mut().expect("an object").remove("SuspendedProcesses");
        assert_eq!(web(&silent).group.ways.suspended, Ways::default().suspended);
    }
}
