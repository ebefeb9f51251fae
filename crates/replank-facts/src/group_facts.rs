//! What a cloud's API says of groups: the answers of `aws autoscaling describe-auto-scaling-groups` and `aws eks
//! describe-nodegroup`, as their JSON has them.
//!
//! Source: the API models of EC2 Auto Scaling and EKS (shapes `AutoScalingGroup` and `Nodegroup`).

use std::collections::{BTreeMap, BTreeSet};

use replank_model::int_or_string::IntOrString;
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::cloud::{
    AmiType, GroupKind, GroupSize, HealthStatus, LaunchTemplateRef, ScalingProcess, TerminationPolicy,
    UpdateError, UpdateStrategy, VersionWord,
};
use replank_model::text::{GroupName, InstanceId, Text, Zone};
use serde_json::Value;

use replank_protocol::scaling::Market;

use crate::instance_types::Described;

/// Tag that EKS puts on the Auto Scaling group behind a managed node group.
const TAG_NODEGROUP: &str = "eks:nodegroup-name";

/// What is said of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name of the EKS node group, or else of the Auto Scaling group.
    pub name: GroupName,
    /// Name of the Auto Scaling group, where that is another.
    pub auto_scaling: Option<Text>,
    /// Who owns that.
    pub kind: GroupKind,
    /// Bounds, and how many are wanted.
    pub size: Option<GroupSize>,
    /// Zones, sorted; EKS's own answer names subnets and no zones.
    pub zones: Vec<Zone>,
    /// Instance types, in the order of preference.
    pub types: Vec<Text>,
    /// How instances are bought.
    pub market: Option<Market>,
    /// Labels that EKS gives nodes.
    pub labels: Vec<(Text, Text)>,
    /// Taints that EKS gives nodes.
    pub taints: Vec<Taint>,
    /// Tags.
    pub tags: Vec<(Text, Text)>,
    /// Instances, by id.
    pub instances: BTreeMap<InstanceId, InstanceFacts>,
    /// Processes that are suspended; `None` where the answer says nothing of them.
    pub suspended: Option<BTreeSet<ScalingProcess>>,
    /// Whether new instances are protected from scale-in.
    pub protects_new: bool,
    /// Which instance goes first when it wants fewer, as far as the policies are known.
    pub policies: Vec<TerminationPolicy>,
    /// The launch template version that new instances get, where the answer has a number.
    pub template: Option<LaunchTemplateRef>,
    /// The word by which it names that version, and the launch template's id.
    pub follows: Option<(Text, VersionWord)>,
    /// The launch configuration that it makes instances from, where it has no launch template.
    pub launch_configuration: Option<Text>,
    /// Those of its mixed instances policy's overrides that have a launch template of their own, by their instance types.
    pub own_templates: Vec<Text>,
    /// What EKS says of a managed node group: `ACTIVE`, `DEGRADED`, …
    pub status: Option<Text>,
    /// What EKS says is wrong with it (`health.issues`).
    pub issues: Vec<UpdateError>,
    /// What EC2 says of its instance types, where it was asked.
    pub described: BTreeMap<Text, Described>,
    /// The kind of its machine image.
    pub ami_type: AmiType,
    /// ARNs of the target groups that are attached to it, sorted.
    pub target_groups: Vec<Text>,
    /// How many nodes EKS replaces at once in an update.
    pub update_at_once: Option<IntOrString>,
    /// In which order EKS replaces them.
    pub update_strategy: Option<UpdateStrategy>,
}

/// What is said of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceFacts {
    /// Its zone.
    pub zone: Zone,
    /// Whether it is protected from scale-in.
    pub is_protected: bool,
    /// The launch template version that it was made from, where the answer has a number.
    pub template: Option<LaunchTemplateRef>,
    /// What its group takes it for.
    pub health: HealthStatus,
}

/// A file of groups that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// It is neither of the two answers.
    #[error(
        "expected the JSON of `aws autoscaling describe-auto-scaling-groups` or `aws eks describe-nodegroup`, or a list of such outputs"
    )]
    Unknown,
    /// A group lacks something.
    #[error("group {group}: {member} is missing, or not {expected}")]
    Member {
        /// The group, or its place in the file.
        group: String,
        /// What is missing.
        member: &'static str,
        /// What it should be.
        expected: &'static str,
    },
}

/// Reads an answer, or a list of answers.
///
/// # Errors
/// Names the first group of which something cannot be read.
pub fn read(value: &Value) -> Result<Vec<Facts>, FactsError> {
    if let Some(all) = value.as_array() {
        let read: Result<Vec<Vec<Facts>>, FactsError> = all.iter().map(read).collect();
        return Ok(read?.into_iter().flatten().collect());
    }
    if let Some(groups) = value["AutoScalingGroups"].as_array() {
        return groups.iter().enumerate().map(|(at, group)| auto_scaling(at, group)).collect();
    }
    let group = &value["nodegroup"];
    if group.is_object() { Ok(vec![nodegroup(group)?]) } else { Err(FactsError::Unknown) }
}

/// Facts of one group from several answers: what EKS says, then what its Auto Scaling group adds.
#[must_use]
pub fn merged(all: Vec<Facts>) -> Vec<Facts> {
    let mut by_name: BTreeMap<GroupName, Facts> = BTreeMap::new();
    for facts in all {
        let aka = by_name.values().find(|known| {
            let own = facts.auto_scaling.as_deref().unwrap_or(facts.name.as_str());
            known.auto_scaling.as_deref() == Some(own)
        });
        let name = aka.map_or_else(|| facts.name.clone(), |known| known.name.clone());
        match by_name.get_mut(&name) {
            Some(known) => known.add(facts),
            None => {
                by_name.insert(name, facts);
            }
        }
    }
    by_name.into_values().collect()
}

/// What somebody says of groups where nobody else has said it: what `told` has counts, and what it lacks is taken from `beneath`, groups among it.
#[must_use]
pub fn completed(mut told: Vec<Facts>, beneath: &[Facts]) -> Vec<Facts> {
    for more in beneath {
        let own = more.name.text();
        let is_meant =
            |known: &&mut Facts| known.name == more.name || known.auto_scaling.as_ref() == Some(own);
        match told.iter_mut().find(is_meant) {
            Some(known) => known.complete(more),
            None => told.push(more.clone()),
        }
    }
    told.sort_by(|a, b| a.name.cmp(&b.name));
    told
}

impl Facts {
    fn complete(&mut self, beneath: &Facts) {
        let (size, auto_scaling) = (self.size, self.auto_scaling.clone());
        self.add(beneath.clone());
        self.size = size.or(beneath.size);
        self.auto_scaling = auto_scaling;
    }

    fn add(&mut self, more: Facts) {
        self.auto_scaling =
            self.auto_scaling.take().or(more.auto_scaling).or_else(|| Some(more.name.text().clone()));
        if more.kind == GroupKind::EksManaged {
            self.kind = more.kind;
        }
        self.size = more.size.or(self.size);
        self.market = self.market.or(more.market);
        let take = |own: &mut Vec<Zone>, other: Vec<Zone>| own.is_empty().then(|| *own = other);
        take(&mut self.zones, more.zones);
        if self.types.is_empty() {
            self.types = more.types;
        }
        let known = |tags: &[(Text, Text)], key: &Text| tags.iter().any(|(own, _)| own == key);
        let fresh: Vec<_> = more.tags.into_iter().filter(|(key, _)| !known(&self.tags, key)).collect();
        self.tags.extend(fresh);
        let fresh: Vec<_> = more.labels.into_iter().filter(|(key, _)| !known(&self.labels, key)).collect();
        self.labels.extend(fresh);
        if self.taints.is_empty() {
            self.taints = more.taints;
        }
        self.instances.extend(more.instances);
        match (&mut self.suspended, more.suspended) {
            (Some(own), Some(more)) => own.extend(more),
            (own @ None, more) => *own = more,
            (Some(_), None) => {}
        }
        self.protects_new |= more.protects_new;
        if self.policies.is_empty() {
            self.policies = more.policies;
        }
        self.template = self.template.take().or(more.template);
        self.follows = self.follows.take().or(more.follows);
        self.launch_configuration = self.launch_configuration.take().or(more.launch_configuration);
        if self.own_templates.is_empty() {
            self.own_templates = more.own_templates;
        }
        self.status = self.status.take().or(more.status);
        if self.issues.is_empty() {
            self.issues = more.issues;
        }
        self.described.extend(more.described);
        if self.ami_type.is_empty() {
            self.ami_type = more.ami_type;
        }
        self.update_at_once = self.update_at_once.take().or(more.update_at_once);
        self.update_strategy = self.update_strategy.or(more.update_strategy);
        if self.target_groups.is_empty() {
            self.target_groups = more.target_groups;
        }
    }

    /// The value of a tag.
    #[must_use]
    pub fn tag(&self, key: &str) -> Option<&Text> {
        self.tags.iter().find(|(own, _)| &**own == key).map(|(_, value)| value)
    }
}

fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value[member].as_str().filter(|text| !text.is_empty())
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn size(group: &str, from: &Value, members: [&'static str; 3]) -> Result<GroupSize, FactsError> {
    let number = |member: &'static str| {
        let read = from[member].as_u64().and_then(|number| u32::try_from(number).ok());
        read.ok_or_else(|| FactsError::Member {
            group: group.to_owned(),
            member,
            expected: "a number of instances",
        })
    };
    let [min, max, desired] = members;
    Ok(GroupSize { min: number(min)?, max: number(max)?, desired: number(desired)? })
}

fn auto_scaling(at: usize, group: &Value) -> Result<Facts, FactsError> {
    let own = text(group, "AutoScalingGroupName").ok_or_else(|| FactsError::Member {
        group: format!("number {}", at + 1),
        member: "AutoScalingGroupName",
        expected: "a name",
    })?;
    let tags: Vec<(Text, Text)> = group["Tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tag| {
            Some((Text::from(text(tag, "Key")?), Text::from(tag["Value"].as_str().unwrap_or(""))))
        })
        .collect();
    let managed = tags.iter().find(|(key, _)| &**key == TAG_NODEGROUP).map(|(_, name)| name.clone());
    let instances = group["Instances"].as_array().into_iter().flatten();
    let instances = instances.filter_map(|one| {
        let facts = InstanceFacts {
            zone: text(one, "AvailabilityZone")?.into(),
            is_protected: one["ProtectedFromScaleIn"].as_bool().unwrap_or(false),
            template: template_of(&one["LaunchTemplate"], "LaunchTemplateId", "Version"),
            health: match text(one, "HealthStatus") {
                Some("Unhealthy") => HealthStatus::Unhealthy,
                Some(_) | None => HealthStatus::Healthy,
            },
        };
        Some((text(one, "InstanceId")?.into(), facts))
    });
    let overrides = &group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"];
    let mut types: Vec<Text> = overrides
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| text(one, "InstanceType"))
        .map(Text::from)
        .collect();
    if types.is_empty() {
        let all = group["Instances"].as_array().into_iter().flatten();
        let first = all.filter_map(|one| text(one, "InstanceType")).next();
        types.extend(first.map(Text::from));
    }
    let mut zones: Vec<Zone> = texts(&group["AvailabilityZones"]).map(Zone::from).collect();
    zones.sort();
    let suspended = group["SuspendedProcesses"].as_array().map(|all| {
        all.iter().filter_map(|one| text(one, "ProcessName")).filter_map(ScalingProcess::of).collect()
    });
    let of_policy = &group["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"];
    let template = [&group["LaunchTemplate"], of_policy];
    Ok(Facts {
        name: managed.clone().map_or_else(|| GroupName::from(own), GroupName::new),
        kind: if managed.is_some() { GroupKind::EksManaged } else { GroupKind::SelfManaged },
        auto_scaling: managed.map(|_| Text::from(own)),
        size: Some(size(own, group, ["MinSize", "MaxSize", "DesiredCapacity"])?),
        zones,
        types,
        market: market_of(&group["MixedInstancesPolicy"]["InstancesDistribution"]),
        labels: Vec::new(),
        taints: Vec::new(),
        tags,
        instances: instances.collect(),
        suspended,
        protects_new: group["NewInstancesProtectedFromScaleIn"].as_bool().unwrap_or(false),
        policies: texts(&group["TerminationPolicies"]).filter_map(TerminationPolicy::of).collect(),
        follows: template.into_iter().find_map(followed),
        template: template.into_iter().find_map(|one| template_of(one, "LaunchTemplateId", "Version")),
        launch_configuration: text(group, "LaunchConfigurationName").map(Text::from),
        own_templates: own_templates(overrides),
        target_groups: target_groups_of(group),
        ..Facts::default()
    })
}

/// The overrides of a mixed instances policy that have a launch template of their own, by their types.
fn own_templates(overrides: &Value) -> Vec<Text> {
    let all = overrides.as_array().into_iter().flatten();
    let own = all.filter(|one| one["LaunchTemplateSpecification"].is_object());
    own.map(|one| Text::from(text(one, "InstanceType").unwrap_or("those of InstanceRequirements"))).collect()
}

/// What EKS says is wrong with a node group.
fn issues(group: &Value) -> Vec<UpdateError> {
    let all = group["health"]["issues"].as_array().into_iter().flatten();
    all.map(|one| UpdateError {
        code: text(one, "code").unwrap_or("Unknown").into(),
        message: text(one, "message").unwrap_or_default().into(),
        resources: texts(&one["resourceIds"]).map(Text::from).collect(),
    })
    .collect()
}

/// The target groups that are attached to a group: `TargetGroupARNs`, and `TrafficSources` of the type `elbv2`, which replaces it.
fn target_groups_of(group: &Value) -> Vec<Text> {
    let sources = group["TrafficSources"].as_array().into_iter().flatten();
    let sources = sources.filter(|source| text(source, "Type").is_none_or(|kind| kind == "elbv2"));
    let sources =
        sources.filter_map(|source| text(source, "Identifier")).filter(|arn| arn.contains(":targetgroup/"));
    let mut all: Vec<Text> = texts(&group["TargetGroupARNs"]).chain(sources).map(Text::from).collect();
    all.sort();
    all.dedup();
    all
}

/// A launch template's id and version. `$Latest` and `$Default` are no numbers: which version they are, the answer does not say.
fn template_of(value: &Value, id: &str, version: &str) -> Option<LaunchTemplateRef> {
    Some(LaunchTemplateRef { id: text(value, id)?.into(), version: text(value, version)?.parse().ok()? })
}

/// The launch template's id and the word by which its version is named.
fn followed(value: &Value) -> Option<(Text, VersionWord)> {
    Some((text(value, "LaunchTemplateId")?.into(), VersionWord::of(text(value, "Version")?)?))
}

/// A policy that buys everything above nothing on the spot market is one of spot instances.
fn market_of(distribution: &Value) -> Option<Market> {
    let number = |member: &str| distribution[member].as_i64();
    let above = number("OnDemandPercentageAboveBaseCapacity")?;
    let base = number("OnDemandBaseCapacity").unwrap_or(0);
    Some(if above == 0 && base == 0 { Market::Spot } else { Market::OnDemand })
}

fn nodegroup(group: &Value) -> Result<Facts, FactsError> {
    let name = text(group, "nodegroupName").ok_or(FactsError::Member {
        group: "of EKS".to_owned(),
        member: "nodegroupName",
        expected: "a name",
    })?;
    let pairs = |value: &Value| -> Vec<(Text, Text)> {
        let members = value.as_object().into_iter().flatten();
        members
            .map(|(key, value)| (Text::from(key.as_str()), Text::from(value.as_str().unwrap_or(""))))
            .collect()
    };
    let mut taints = Vec::new();
    for taint in group["taints"].as_array().into_iter().flatten() {
        let effect = match text(taint, "effect") {
            Some("NO_SCHEDULE") => TaintEffect::NoSchedule,
            Some("PREFER_NO_SCHEDULE") => TaintEffect::PreferNoSchedule,
            Some("NO_EXECUTE") => TaintEffect::NoExecute,
            Some(_) | None => {
                return Err(FactsError::Member {
                    group: name.to_owned(),
                    member: "taints.effect",
                    expected: "NO_SCHEDULE, PREFER_NO_SCHEDULE or NO_EXECUTE",
                });
            }
        };
        let key = text(taint, "key").unwrap_or_default().into();
        taints.push(Taint {
            key,
            value: text(taint, "value").unwrap_or_default().into(),
            effect,
            time_added: None,
        });
    }
    let behind = group["resources"]["autoScalingGroups"].as_array().into_iter().flatten();
    Ok(Facts {
        name: name.into(),
        auto_scaling: behind.filter_map(|one| text(one, "name")).next().map(Text::from),
        kind: GroupKind::EksManaged,
        size: Some(size(name, &group["scalingConfig"], ["minSize", "maxSize", "desiredSize"])?),
        zones: Vec::new(),
        types: texts(&group["instanceTypes"]).map(Text::from).collect(),
        market: text(group, "capacityType").map(Market::of_label),
        labels: pairs(&group["labels"]),
        taints,
        tags: pairs(&group["tags"]),
        instances: BTreeMap::new(),
        suspended: None,
        protects_new: false,
        policies: Vec::new(),
        template: template_of(&group["launchTemplate"], "id", "version"),
        status: text(group, "status").map(Text::from),
        issues: issues(group),
        ami_type: text(group, "amiType")
            .filter(|kind| *kind != "CUSTOM")
            .map(AmiType::new)
            .unwrap_or_default(),
        update_at_once: at_once(&group["updateConfig"]),
        update_strategy: strategy(&group["updateConfig"]),
        ..Facts::default()
    })
}

/// How many nodes an update replaces at once (`updateConfig`): a number, or a percentage.
#[must_use]
pub fn at_once(config: &Value) -> Option<IntOrString> {
    let number = |member: &str| config[member].as_i64().and_then(|number| i32::try_from(number).ok());
    let percent =
        number("maxUnavailablePercentage").map(|share| IntOrString::String(format!("{share}%").into()));
    number("maxUnavailable").map(IntOrString::Int).or(percent)
}

/// In which order an update replaces nodes (`updateConfig`), where that is said.
#[must_use]
pub fn strategy(config: &Value) -> Option<UpdateStrategy> {
    config["updateStrategy"].as_str().and_then(UpdateStrategy::of_word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_answers_are_read_and_joined() {
        let eks = json!({"nodegroup": {"nodegroupName": "web", "capacityType": "SPOT", "instanceTypes": ["m5.large", "m5a.large"], "amiType": "AL2023_x86_64_STANDARD",
            "scalingConfig": {"minSize": 1, "maxSize": 9, "desiredSize": 3}, "labels": {"role": "web"},
            "taints": [{"key": "role", "value": "web", "effect": "NO_SCHEDULE"}], "tags": {"team": "a"},
            "updateConfig": {"maxUnavailablePercentage": 33, "updateStrategy": "MINIMAL"}, "resources": {"autoScalingGroups": [{"name": "eks-web-1234"}]}}});
        let asg = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "eks-web-1234", "MinSize": 1, "MaxSize": 9, "DesiredCapacity": 3,
            "AvailabilityZones": ["b", "a"], "Instances": [{"InstanceId": "i-1", "AvailabilityZone": "a", "InstanceType": "m5.large", "ProtectedFromScaleIn": true, "HealthStatus": "Unhealthy",
                "LaunchTemplate": {"LaunchTemplateId": "lt-1", "LaunchTemplateName": "eks-1", "Version": "6"}}],
            "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "7"}, "NewInstancesProtectedFromScaleIn": true, "TerminationPolicies": ["OldestInstance", "arn:aws:lambda:x"],
            "Tags": [{"Key": "eks:nodegroup-name", "Value": "web"}, {"Key": "k8s.io/cluster-autoscaler/enabled", "Value": "true"}],
            "SuspendedProcesses": [{"ProcessName": "AZRebalance"}]}]});
        for both in [json!([eks, asg]), json!([asg, eks])] {
            let all = merged(read(&both).unwrap());
            assert_eq!(all.len(), 1, "{both}");
            let web = &all[0];
            assert_eq!((web.name.as_str(), web.auto_scaling.as_deref()), ("web", Some("eks-web-1234")));
            assert_eq!(web.kind, GroupKind::EksManaged);
            assert_eq!(web.update_at_once, Some(IntOrString::String("33%".into())));
            assert_eq!(web.update_strategy, Some(UpdateStrategy::Minimal));
            assert_eq!(web.size, Some(GroupSize { min: 1, max: 9, desired: 3 }));
            assert_eq!((web.market, web.zones.len(), web.taints.len()), (Some(Market::Spot), 2, 1));
            assert_eq!(web.tag("k8s.io/cluster-autoscaler/enabled").map(|value| &**value), Some("true"));
            assert_eq!(web.suspended, Some([ScalingProcess::AzRebalance].into()));
            let version = |version| LaunchTemplateRef { id: "lt-1".into(), version };
            assert_eq!((&web.template, web.ami_type.as_str()), (&Some(version(7)), "AL2023_x86_64_STANDARD"));
            let one = &web.instances[&InstanceId::from("i-1")];
            assert_eq!((one.zone.as_str(), one.is_protected, &one.template), ("a", true, &Some(version(6))));
            assert_eq!(one.health, HealthStatus::Unhealthy);
            assert_eq!((web.protects_new, &web.policies), (true, &vec![TerminationPolicy::OldestInstance]));
        }
    }

    #[test]
    fn what_an_answer_does_not_say_is_not_known() {
        let read = |more: Value| {
            let mut group =
                json!({"AutoScalingGroupName": "web", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 0});
            group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            super::read(&json!({"AutoScalingGroups": [group]})).unwrap().remove(0)
        };
        assert_eq!(read(json!({})).suspended, None);
        assert_eq!(read(json!({"SuspendedProcesses": []})).suspended, Some(BTreeSet::new()));
        let old = json!({"SuspendedProcesses": [{"ProcessName": "RemoveFromLoadBalancerLowPriority"}, {"ProcessName": "Launch"}]});
        assert_eq!(read(old).suspended, Some([ScalingProcess::Launch].into()));
        let latest = json!({"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "$Latest"}});
        let latest = read(latest);
        assert_eq!(latest.template, None, "it is some version, and nobody says which");
        assert_eq!(latest.follows, Some(("lt-1".into(), VersionWord::Latest)));
        let arn =
            |name: &str| format!("arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/{name}/1");
        let attached = json!({"TargetGroupARNs": [arn("b"), arn("a")], "TrafficSources": [{"Identifier": arn("a"), "Type": "elbv2"},
            {"Identifier": arn("c"), "Type": "elbv2"}, {"Identifier": "classic", "Type": "elb"}]});
        assert_eq!(read(attached).target_groups, ["a", "b", "c"].map(|name| Text::from(arn(name))));
        assert!(read(json!({})).target_groups.is_empty());
        let mixed = json!({"MixedInstancesPolicy": {"LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-1", "Version": "3"}}}});
        assert_eq!(read(mixed).template.map(|known| known.version), Some(3));
    }

    #[test]
    fn what_cannot_be_changed_and_what_is_wrong_is_read() {
        let group = |more: Value| {
            let mut group =
                json!({"AutoScalingGroupName": "web", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 0});
            group.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            super::read(&json!({"AutoScalingGroups": [group]})).unwrap().remove(0)
        };
        let old = group(json!({"LaunchConfigurationName": "web-lc"}));
        assert_eq!(old.launch_configuration.as_deref(), Some("web-lc"));
        let own = json!({"LaunchTemplateId": "lt-2", "Version": "1"});
        let mixed = group(
            json!({"MixedInstancesPolicy": {"LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-1", "Version": "3"},
            "Overrides": [{"InstanceType": "m6i.large"}, {"InstanceType": "m6g.large", "LaunchTemplateSpecification": own}]}}}),
        );
        assert_eq!((mixed.launch_configuration, mixed.own_templates), (None, vec![Text::from("m6g.large")]));
        let eks = json!({"nodegroup": {"nodegroupName": "web", "status": "DEGRADED", "scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 0},
            "resources": {"autoScalingGroups": [{"name": "eks-web"}]},
            "health": {"issues": [{"code": "AmiIdNotFound", "message": "m", "resourceIds": ["ami-1"]}]}}});
        let asg = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "eks-web", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 0,
            "Tags": [{"Key": "eks:nodegroup-name", "Value": "web"}]}]});
        let both = merged(read(&json!([asg, eks])).unwrap());
        assert_eq!((both.len(), both[0].status.as_deref()), (1, Some("DEGRADED")));
        assert_eq!(both[0].issues[0].to_string(), "AmiIdNotFound: m (ami-1)");
        assert!(both[0].issues[0].explained().is_some());
    }

    #[test]
    fn what_the_cloud_says_counts_more_than_what_a_plan_says() {
        let asg = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "eks-web-1234", "MinSize": 1, "MaxSize": 9, "DesiredCapacity": 3,
            "Tags": [{"Key": "eks:nodegroup-name", "Value": "web"}, {"Key": "team", "Value": "a"}]}]});
        let size = |max| Some(GroupSize { min: 0, max, desired: 0 });
        let tags = vec![("team".into(), "b".into()), ("cost".into(), "c".into())];
        let plan = [
            Facts {
                name: "web".into(),
                size: size(4),
                types: vec!["m5.large".into()],
                tags,
                ..Facts::default()
            },
            Facts { name: "batch".into(), size: size(2), ..Facts::default() },
        ];
        let all = completed(merged(read(&asg).unwrap()), &plan);
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["batch", "web"]);
        let web = &all[1];
        assert_eq!(web.size, Some(GroupSize { min: 1, max: 9, desired: 3 }));
        assert_eq!((web.types.len(), web.auto_scaling.as_deref()), (1, Some("eks-web-1234")));
        assert_eq!(
            [web.tag("team"), web.tag("cost")].map(|tag| tag.map(|tag| &**tag)),
            [Some("a"), Some("c")]
        );
        assert_eq!(all[0].size, size(2));
    }

    #[test]
    fn what_is_missing_is_named() {
        let wrong = |value: &Value| read(value).unwrap_err().to_string();
        assert!(wrong(&json!({"Reservations": []})).starts_with("expected the JSON of"));
        assert!(
            wrong(&json!(["web"])).starts_with("expected the JSON of"),
            "names alone say nothing of bounds"
        );
        assert_eq!(
            wrong(
                &json!({"AutoScalingGroups": [{"AutoScalingGroupName": "x", "MinSize": 1, "MaxSize": "many"}]})
            ),
            "group x: MaxSize is missing, or not a number of instances"
        );
        let taint = json!({"nodegroup": {"nodegroupName": "x", "scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 0},
            "taints": [{"key": "k", "effect": "NoSchedule"}]}});
        assert!(wrong(&taint).contains("NO_SCHEDULE, PREFER_NO_SCHEDULE or NO_EXECUTE"));
    }
}
