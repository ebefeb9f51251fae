//! Elastic Load Balancing, version 2: the target groups of node groups, and the instances in them.
//!
//! A target group is there while a group has it: one that is attached to an Auto Scaling group, or one in which a controller of the cluster registers nodes. Each has a load
//! balancer of its own name. Shapes and codes are those of botocore's model of 2015-12-01.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cloud::{Instance, NodeGroup, TargetGroup, TargetHealth};
use replank_model::time::Span;
use serde_json::{Value, json};

use super::own::Account;
use super::unknown::unknown;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::service::Service;
use crate::text::hash;

/// Of a page.
const PAGE_MAX: i64 = 400;
/// Target groups and load balancers that a call names.
const NAMES_MAX: usize = 20;
/// How long a target drains.
const DELAY: &str = "deregistration_delay.timeout_seconds";
/// The longest.
const DELAY_MAX: i64 = 3_600;
/// The port of all targets.
const PORT: u16 = 80;

impl Account {
    pub(crate) fn elb(&mut self, region: &mut dyn Region, action: &str, input: Input<'_>) -> Reply {
        match action {
            "DescribeTargetGroups" => self.target_groups_shown(region, input),
            "DescribeTargetHealth" => self.target_health(region, input),
            "DescribeTargetGroupAttributes" => Ok(attributes(&self.target_group(region, input)?)),
            "ModifyTargetGroupAttributes" => self.modify_attributes(region, input),
            "DescribeLoadBalancers" => self.load_balancers(region, input),
            "RegisterTargets" => self.register_targets(region, input, true),
            "DeregisterTargets" => self.register_targets(region, input, false),
            _ => Err(unknown(Service::Elb, action)),
        }
    }

    /// All target groups, by their ARNs.
    fn balanced(&self, region: &dyn Region) -> BTreeMap<String, TargetGroup> {
        let groups = region.groups();
        let own = groups.iter().flat_map(|group| group.target_groups.clone());
        own.map(|one| (self.arn_of(&one), one)).collect()
    }

    /// A controller may name a target group without its ARN.
    fn arn_of(&self, one: &TargetGroup) -> String {
        if one.arn.starts_with("arn:") {
            return one.arn.to_string();
        }
        self.names.arn("elasticloadbalancing", &format!("targetgroup/{}/{:016x}", one.arn, hash(&one.arn)))
    }

    fn load_balancer_arn(&self, one: &TargetGroup) -> String {
        let name = TargetGroup::name_of(&one.arn);
        self.names.arn("elasticloadbalancing", &format!("loadbalancer/app/{name}/{:016x}", hash(name)))
    }

    /// The one that a call is about.
    fn target_group(&self, region: &dyn Region, input: Input<'_>) -> Result<TargetGroup, Fault> {
        let arn = input.required("TargetGroupArn")?;
        self.balanced(region).remove(arn).ok_or_else(not_found)
    }

    fn target_groups_shown(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let all = self.balanced(region);
        let (arns, names) = (input.texts("TargetGroupArns"), input.texts("Names"));
        at_most(arns.len().max(names.len()), "target groups")?;
        let name = |one: &TargetGroup| TargetGroup::name_of(&one.arn).to_owned();
        let is_known = |named: &String| all.values().any(|one| name(one) == *named);
        if !arns.iter().all(|arn| all.contains_key(arn)) || !names.iter().all(is_known) {
            return Err(not_found());
        }
        let behind = input.text("LoadBalancerArn");
        if behind.is_some_and(|behind| all.values().all(|one| self.load_balancer_arn(one) != *behind)) {
            return Err(no_load_balancer());
        }
        let is_asked = |arn: &String, one: &TargetGroup| {
            (arns.is_empty() || arns.contains(arn))
                && (names.is_empty() || names.contains(&name(one)))
                && behind.is_none_or(|behind| self.load_balancer_arn(one) == *behind)
        };
        let shown = all.iter().filter(|(arn, one)| is_asked(arn, one)).map(|(arn, one)| {
            let shown = json!({"TargetGroupArn": arn, "TargetGroupName": name(one), "Protocol": "HTTP", "Port": PORT,
                "VpcId": self.names.vpc(), "HealthCheckProtocol": "HTTP", "HealthCheckPort": "traffic-port", "HealthCheckEnabled": true,
                "HealthCheckIntervalSeconds": 30, "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5, "UnhealthyThresholdCount": 2,
                "HealthCheckPath": "/", "Matcher": {"HttpCode": "200"}, "LoadBalancerArns": [self.load_balancer_arn(one)],
                "TargetType": "instance", "ProtocolVersion": "HTTP1", "IpAddressType": "ipv4"});
            (arn.clone(), shown)
        });
        let (shown, next) = paged(shown.collect(), input)?;
        Ok(json!({"TargetGroups": shown, "NextMarker": next}))
    }

    fn load_balancers(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let all: BTreeMap<String, TargetGroup> =
            self.balanced(region).into_values().map(|one| (self.load_balancer_arn(&one), one)).collect();
        let (arns, names) = (input.texts("LoadBalancerArns"), input.texts("Names"));
        at_most(arns.len().max(names.len()), "load balancers")?;
        let name = |one: &TargetGroup| TargetGroup::name_of(&one.arn).to_owned();
        let is_known = |named: &String| all.values().any(|one| name(one) == *named);
        if !arns.iter().all(|arn| all.contains_key(arn)) || !names.iter().all(is_known) {
            return Err(no_load_balancer());
        }
        let is_asked = |arn: &String, one: &TargetGroup| {
            (arns.is_empty() || arns.contains(arn)) && (names.is_empty() || names.contains(&name(one)))
        };
        let zones: Vec<Value> = super::members::zones(self, region)
            .iter()
            .map(|zone| json!({"ZoneName": zone.as_str(), "SubnetId": self.names.subnet(zone)}))
            .collect();
        let shown = all.iter().filter(|(arn, one)| is_asked(arn, one)).map(|(arn, one)| {
            let host = format!("{}.{}.elb.amazonaws.com", name(one), self.names.region());
            let shown = json!({"LoadBalancerArn": arn, "DNSName": host, "LoadBalancerName": name(one), "Scheme": "internet-facing",
                "VpcId": self.names.vpc(), "State": {"Code": "active"}, "Type": "application", "AvailabilityZones": zones,
                "SecurityGroups": [self.names.security_group()], "IpAddressType": "ipv4"});
            (arn.clone(), shown)
        });
        let (shown, next) = paged(shown.collect(), input)?;
        Ok(json!({"LoadBalancers": shown, "NextMarker": next}))
    }

    /// Targets that are registered or drain; those that are named, whatever they are.
    fn target_health(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let one = self.target_group(region, input)?;
        let asked: Vec<&str> = input.inputs("Targets").filter_map(|target| target.text("Id")).collect();
        let all = region.instances();
        let of = |instance: &Instance| {
            instance.targets.iter().find(|target| target.group == one.arn).map(|target| target.health)
        };
        let listed = all.iter().filter_map(|instance| Some((instance.id.as_str(), of(instance)?)));
        let listed: Vec<(&str, TargetHealth)> = listed.collect();
        let shown: Vec<Value> = if asked.is_empty() {
            listed.iter().map(|(id, health)| described(id, Some(*health))).collect()
        } else {
            let of = |id: &str| listed.iter().find(|(known, _)| *known == id).map(|(_, health)| *health);
            asked.iter().map(|id| described(id, of(id))).collect()
        };
        Ok(json!({ "TargetHealthDescriptions": shown }))
    }

    fn modify_attributes(&self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let mut one = self.target_group(region, input)?;
        for attribute in input.inputs("Attributes") {
            let key = attribute.text("Key").unwrap_or_default();
            if key != DELAY {
                return Err(Fault::validation(format!(
                    "Target group attribute key '{key}' is not recognized"
                )));
            }
            let seconds = attribute.number("Value")?.filter(|seconds| (0..=DELAY_MAX).contains(seconds));
            let seconds = seconds.ok_or_else(|| {
                Fault::validation(format!("'{key}' must be a number of seconds from 0 to {DELAY_MAX}"))
            })?;
            one.deregistration_delay = Span::from_secs(seconds);
        }
        for group in region.groups() {
            let mut changed = NodeGroup::clone(&group);
            let own = changed.target_groups.iter_mut().filter(|known| known.arn == one.arn);
            own.for_each(|known| known.deregistration_delay = one.deregistration_delay);
            if changed != *group {
                region.put_group(changed);
            }
        }
        Ok(attributes(&one))
    }

    fn register_targets(&self, region: &mut dyn Region, input: Input<'_>, is_registered: bool) -> Reply {
        let one = self.target_group(region, input)?;
        let ids: Vec<&str> = input.inputs("Targets").filter_map(|target| target.text("Id")).collect();
        if ids.is_empty() {
            return Err(Fault::validation("At least one target must be specified"));
        }
        let all = region.instances();
        let own = |id: &str| -> Option<Arc<Instance>> { all.iter().find(|known| known.id == *id).cloned() };
        let known: Vec<Arc<Instance>> = ids.iter().filter_map(|id| own(id)).collect();
        let is_running = known.iter().all(|instance| instance.state.is_alive());
        if known.len() < ids.len() || (is_registered && !is_running) {
            let message = format!(
                "The following targets are not in a running state and cannot be registered: '{}'",
                ids.join(", ")
            );
            return Err(Fault::bad("InvalidTarget", message));
        }
        known.iter().for_each(|instance| region.put_target(&instance.id, &one, is_registered));
        Ok(json!({}))
    }
}

fn not_found() -> Fault {
    Fault::bad("TargetGroupNotFound", "One or more target groups not found")
}

fn no_load_balancer() -> Fault {
    Fault::bad("LoadBalancerNotFound", "One or more load balancers not found")
}

fn at_most(count: usize, of: &str) -> Result<(), Fault> {
    if count > NAMES_MAX {
        return Err(Fault::validation(format!("Up to {NAMES_MAX} {of} can be described in one call")));
    }
    Ok(())
}

fn paged(all: Vec<(String, Value)>, input: Input<'_>) -> Result<(Vec<Value>, Option<String>), Fault> {
    let asked = input.number("PageSize")?.unwrap_or(PAGE_MAX);
    let size = usize::try_from(asked).ok().filter(|_| (1..=PAGE_MAX).contains(&asked));
    let size = size.ok_or_else(|| Fault::validation(format!("PageSize must be from 1 to {PAGE_MAX}")))?;
    page(all, size, input.text("Marker"), &Fault::validation("The marker is not valid"))
}

fn attributes(one: &TargetGroup) -> Value {
    let seconds = one.deregistration_delay.as_millis() / 1_000;
    json!({"Attributes": [{"Key": "stickiness.enabled", "Value": "false"}, {"Key": DELAY, "Value": seconds.to_string()}]})
}

/// A target; `None` where it is not registered.
fn described(id: &str, health: Option<TargetHealth>) -> Value {
    let (reason, words) = match health {
        None => (Some("Target.NotRegistered"), "Target is not registered to the target group"),
        Some(TargetHealth::Healthy) => (None, ""),
        Some(TargetHealth::Initial) => {
            (Some("Elb.InitialHealthChecking"), "Initial health checks in progress")
        }
        Some(TargetHealth::Unhealthy) => (Some("Target.FailedHealthChecks"), "Health checks failed"),
        Some(TargetHealth::Draining) => {
            (Some("Target.DeregistrationInProgress"), "Target deregistration is in progress")
        }
        Some(TargetHealth::Unused) => (
            Some("Target.NotInUse"),
            "Target group is not configured to receive traffic from the load balancer",
        ),
        Some(TargetHealth::Unavailable) => {
            (Some("Target.HealthCheckDisabled"), "Health checks are disabled for this target group")
        }
    };
    let state = health.unwrap_or(TargetHealth::Unused).as_str();
    let words = Some(words).filter(|words| !words.is_empty());
    json!({"Target": {"Id": id, "Port": PORT}, "HealthCheckPort": PORT.to_string(),
        "TargetHealth": {"State": state, "Reason": reason, "Description": words}})
}
