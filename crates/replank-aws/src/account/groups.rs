//! Auto Scaling groups, as they are described.

use std::sync::Arc;

use replank_model::object::cloud::{
    GroupKind, Instance, NodeGroup, Registrar, ScalingProcess, TerminationPolicy,
};
use replank_model::text::Zone;
use serde_json::{Value, json};

use super::members::{known_group, members, shown_tag, tags};
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::region::Region;

/// Of a page of groups.
const GROUPS_MAX: i64 = 100;

pub(crate) fn bad_token() -> Fault {
    Fault::bad("InvalidNextToken", "The NextToken value is not valid.")
}

pub(crate) fn size_of(input: Input<'_>, default: i64, max: i64) -> Result<usize, Fault> {
    let asked = input.number("MaxRecords")?.unwrap_or(default);
    if !(1..=max).contains(&asked) {
        return Err(Fault::validation(format!(
            "The MaxRecords value {asked} is not valid: it must be from 1 to {max}."
        )));
    }
    Ok(usize::try_from(asked).unwrap_or(1))
}

pub(crate) fn policies() -> Vec<&'static str> {
    TerminationPolicy::ALL.map(TerminationPolicy::as_str).to_vec()
}

pub(crate) fn processes() -> Value {
    let all = ScalingProcess::ALL.map(|process| json!({"ProcessName": process.as_str()}));
    json!({"Processes": all})
}

/// Whether tags are those that filters ask for (`tag-key`, `tag-value`, `tag:KEY`).
fn passes(filters: &[Input<'_>], tags: &[(String, String)]) -> bool {
    filters.iter().all(|filter| {
        let values = filter.texts("Values");
        let is_one = |text: &str| values.iter().any(|value| value == text);
        match filter.text("Name").unwrap_or_default() {
            "tag-key" => tags.iter().any(|(key, _)| is_one(key)),
            "tag-value" => tags.iter().any(|(_, value)| is_one(value)),
            name => {
                let wanted = name.strip_prefix("tag:");
                wanted.is_some_and(|wanted| tags.iter().any(|(key, value)| key == wanted && is_one(value)))
            }
        }
    })
}

/// Refuses filters that there are not.
fn known_filters(filters: &[Input<'_>], known: &[&str]) -> Result<(), Fault> {
    let name = |filter: &Input<'_>| filter.text("Name").unwrap_or_default().to_owned();
    let is_known =
        |name: &String| known.iter().any(|one| one == name || (*one == "tag:" && name.starts_with(one)));
    match filters.iter().map(name).find(|name| !is_known(name)) {
        None => Ok(()),
        Some(other) => Err(Fault::validation(format!(
            "Filter type {other} is not correct. Allowed Filter types are: {}",
            known.join(" ")
        ))),
    }
}

impl Account {
    pub(crate) fn describe_groups(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let names = input.texts("AutoScalingGroupNames");
        let filters: Vec<Input<'_>> = input.inputs("Filters").collect();
        known_filters(&filters, &["tag-key", "tag-value", "tag:"])?;
        let size = size_of(input, 50, GROUPS_MAX)?;
        let all = region.groups().into_iter().filter(|group| {
            (names.is_empty() || names.iter().any(|name| **name == *group.auto_scaling_group))
                && passes(&filters, &tags(self, group))
        });
        let all: Vec<(String, Arc<NodeGroup>)> =
            all.map(|group| (group.auto_scaling_group.to_string(), group)).collect();
        let (groups, next) = page(all, size, input.text("NextToken"), &bad_token())?;
        let with_instances = input.flag("IncludeInstances")?.unwrap_or(true);
        let shown: Vec<Value> =
            groups.iter().map(|group| self.shown_group(region, group, with_instances)).collect();
        Ok(json!({"AutoScalingGroups": shown, "NextToken": next}))
    }

    fn shown_group(&self, region: &dyn Region, group: &NodeGroup, with_instances: bool) -> Value {
        let name = &*group.auto_scaling_group;
        let extra = self.groups.get(name);
        let zones: Vec<&str> = group.zones.iter().map(Zone::as_str).collect();
        let subnets: Vec<String> = group.zones.iter().map(|zone| self.names.subnet(zone)).collect();
        let instances = if with_instances { members(region, group) } else { Vec::new() };
        let instances: Vec<Value> = instances.iter().map(|one| self.shown_member(region, one)).collect();
        let tags: Vec<Value> =
            tags(self, group).iter().map(|(key, value)| shown_tag(self, group, key, value)).collect();
        let suspended =
            group.ways.suspended.iter().map(
                |process| json!({"ProcessName": process.as_str(), "SuspensionReason": "User suspended"}),
            );
        let suspended: Vec<Value> = suspended.collect();
        let policies: Vec<&str> = match group.ways.policies.as_slice() {
            [] => vec!["Default"],
            all => all.iter().map(|policy| policy.as_str()).collect(),
        };
        let target_groups: Vec<&str> = group
            .target_groups
            .iter()
            .filter(|one| one.registrar == Registrar::AutoScaling)
            .map(|one| &*one.arn)
            .collect();
        let (health, grace) = extra.and_then(|extra| extra.health.clone()).unwrap_or(("EC2".to_owned(), 300));
        let created = extra
            .and_then(|extra| extra.created)
            .or_else(|| self.created_of(group))
            .unwrap_or_else(|| region.now());
        let mut shown = json!({
            "AutoScalingGroupName": name,
            "AutoScalingGroupARN": self.names.group_arn(name),
            "MinSize": group.size.min, "MaxSize": group.size.max, "DesiredCapacity": group.size.desired,
            "DefaultCooldown": extra.and_then(|extra| extra.cooldown).unwrap_or(300),
            "AvailabilityZones": zones,
            "LoadBalancerNames": [], "TargetGroupARNs": target_groups,
            "HealthCheckType": health, "HealthCheckGracePeriod": grace,
            "Instances": instances,
            "CreatedTime": crate::text::moment(created),
            "SuspendedProcesses": suspended,
            "VPCZoneIdentifier": subnets.join(","),
            "Tags": tags,
            "TerminationPolicies": policies,
            "NewInstancesProtectedFromScaleIn": group.ways.protects_new,
            "ServiceLinkedRoleARN": format!("arn:aws:iam::{}:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling", self.names.account()),
            "CapacityRebalance": extra.is_some_and(|extra| extra.rebalances),
            "TrafficSources": self.traffic_sources(group),
        });
        super::settings::show(extra, &mut shown);
        if extra.is_some_and(|extra| extra.is_going) {
            shown["Status"] = json!("Delete in progress");
        }
        if let Some(lifetime) = extra.and_then(|extra| extra.lifetime) {
            shown["MaxInstanceLifetime"] = json!(lifetime);
        }
        let template = self.shown_spec(group);
        match extra.and_then(|extra| extra.mixed.clone()).or_else(|| mixed_of(group, &template)) {
            Some(mut mixed) => {
                mixed["LaunchTemplate"]["LaunchTemplateSpecification"] = template;
                shown["MixedInstancesPolicy"] = mixed;
            }
            None => shown["LaunchTemplate"] = template,
        }
        shown
    }

    /// The launch template as the group names it.
    fn shown_spec(&self, group: &NodeGroup) -> Value {
        let template = self.templates.by_id.get(&*group.current.id);
        let version =
            group.follows.map_or_else(|| group.current.version.to_string(), |word| word.as_str().to_owned());
        json!({"LaunchTemplateId": &*group.current.id, "LaunchTemplateName": template.map(|one| one.name.clone()), "Version": version})
    }

    pub(crate) fn shown_member(&self, region: &dyn Region, instance: &Instance) -> Value {
        let template = self.templates.by_id.get(&*instance.template.id);
        json!({
            "InstanceId": instance.id.as_str(),
            "InstanceType": &*region.machine(instance).instance_type,
            "AvailabilityZone": instance.zone.as_str(),
            "LifecycleState": instance.lifecycle.as_str(),
            "HealthStatus": instance.health.to_string(),
            "LaunchTemplate": {"LaunchTemplateId": &*instance.template.id, "LaunchTemplateName": template.map(|one| one.name.clone()), "Version": instance.template.version.to_string()},
            "ProtectedFromScaleIn": instance.is_protected,
        })
    }

    pub(crate) fn describe_group_instances(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let ids = input.texts("InstanceIds");
        let size = size_of(input, 50, 50)?;
        let groups = region.groups();
        let all = region.instances().into_iter().filter(|one| {
            super::members::is_listed(one) && (ids.is_empty() || ids.iter().any(|id| one.id == **id))
        });
        let all = all.filter_map(|one| {
            let group = groups.iter().find(|group| group.name == one.group)?;
            let mut shown = self.shown_member(region, &one);
            shown["AutoScalingGroupName"] = json!(&*group.auto_scaling_group);
            // Here it is in capitals.
            shown["HealthStatus"] = json!(one.health.to_string().to_uppercase());
            Some((one.id.to_string(), shown))
        });
        let (instances, next) = page(all.collect(), size, input.text("NextToken"), &bad_token())?;
        Ok(json!({"AutoScalingInstances": instances, "NextToken": next}))
    }

    pub(crate) fn describe_group_tags(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let filters: Vec<Input<'_>> = input.inputs("Filters").collect();
        known_filters(&filters, &["auto-scaling-group", "key", "value", "propagate-at-launch"])?;
        let size = size_of(input, 50, 100)?;
        let mut all = Vec::new();
        for group in region.groups() {
            for (key, value) in tags(self, &group) {
                let shown = shown_tag(self, &group, &key, &value);
                let is_asked = filters.iter().all(|filter| {
                    let values = filter.texts("Values");
                    let is_one = |text: &str| values.iter().any(|value| value == text);
                    match filter.text("Name").unwrap_or_default() {
                        "auto-scaling-group" => is_one(&group.auto_scaling_group),
                        "key" => is_one(&key),
                        "value" => is_one(&value),
                        "propagate-at-launch" => is_one(&shown["PropagateAtLaunch"].to_string()),
                        _ => false,
                    }
                });
                if is_asked {
                    all.push((format!("{}/{key}", group.auto_scaling_group), shown));
                }
            }
        }
        let (tags, next) = page(all, size, input.text("NextToken"), &bad_token())?;
        Ok(json!({"Tags": tags, "NextToken": next}))
    }

    pub(crate) fn describe_target_groups(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let group = known_group(region, input.required("AutoScalingGroupName")?)?;
        let own = group.target_groups.iter().filter(|one| one.registrar == Registrar::AutoScaling);
        let shown: Vec<Value> =
            own.map(|one| json!({"LoadBalancerTargetGroupARN": &*one.arn, "State": "InService"})).collect();
        Ok(json!({"LoadBalancerTargetGroups": shown}))
    }
}

/// A group of several types has a mixed instances policy, and so has one that EKS manages.
pub(crate) fn mixed_of(group: &NodeGroup, template: &Value) -> Option<Value> {
    let shapes = &group.profile().shapes;
    if group.kind == GroupKind::SelfManaged && shapes.len() < 2 {
        return None;
    }
    let overrides: Vec<Value> =
        shapes.iter().map(|shape| json!({"InstanceType": &*shape.instance_type})).collect();
    let is_spot = replank_model::object::cloud::Market::of(&group.profile().labels)
        == replank_model::object::cloud::Market::Spot;
    Some(json!({
        "LaunchTemplate": {"LaunchTemplateSpecification": template, "Overrides": overrides},
        "InstancesDistribution": {"OnDemandAllocationStrategy": "prioritized", "OnDemandBaseCapacity": 0,
            "OnDemandPercentageAboveBaseCapacity": if is_spot { 0 } else { 100 }, "SpotAllocationStrategy": "price-capacity-optimized"},
    }))
}
