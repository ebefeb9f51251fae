//! EC2: instances, and what they lie in.

use std::sync::Arc;

use replank_model::object::cloud::{Instance, InstanceState, Lifecycle, Market};
use serde_json::{Value, json};

use super::members::{tags, zones};
use super::own::Account;
use super::unknown::unknown;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::service::Service;
use crate::text::{ec2_id, moment};

impl Account {
    pub(crate) fn ec2(&mut self, region: &mut dyn Region, action: &str, input: Input<'_>) -> Reply {
        if input.flag("DryRun")?.unwrap_or(false) {
            return Err(Fault::new(
                412,
                "DryRunOperation",
                "Request would have succeeded, but DryRun flag is set.",
            ));
        }
        match action {
            "DescribeInstances" => self.describe_instances(region, input),
            "DescribeInstanceStatus" => self.describe_instance_status(region, input),
            "TerminateInstances" => terminate(&self.seen_instances(region), region, input),
            "DescribeInstanceTypes" => super::types::describe(region, input),
            "DescribeInstanceTypeOfferings" => super::types::offerings(self, region, input),
            "GetInstanceTypesFromInstanceRequirements" => super::types::by_requirements(region, input),
            "DescribeImages" => self.describe_images(input),
            "CreateLaunchTemplate" => self.create_template(region, input),
            "CreateLaunchTemplateVersion" => self.create_version(region, input),
            "ModifyLaunchTemplate" => self.modify_template(region, input),
            "DeleteLaunchTemplate" => self.delete_template(region, input),
            "DescribeLaunchTemplates" => self.describe_templates(input),
            "DescribeLaunchTemplateVersions" => self.describe_versions(input),
            "DescribeRegions" => Ok(
                json!({"regionInfo": [{"regionName": self.names.region(), "regionEndpoint": format!("ec2.{}.amazonaws.com", self.names.region()), "optInStatus": "opt-in-not-required"}]}),
            ),
            "DescribeAvailabilityZones" => {
                let all = zones(self, region);
                let shown: Vec<Value> = all.iter().map(|zone| json!({"zoneName": zone.as_str(), "zoneState": "available", "regionName": self.names.region(),
                    "zoneId": zone_id(zone.as_str()), "zoneType": "availability-zone", "groupName": self.names.region(), "optInStatus": "opt-in-not-required", "messageSet": []})).collect();
                Ok(json!({"availabilityZoneInfo": shown}))
            }
            "DescribeSubnets" => {
                let asked = input.texts("SubnetId");
                let all = zones(self, region);
                let shown: Vec<Value> = all.iter().enumerate().map(|(at, zone)| json!({"subnetId": self.names.subnet(zone), "state": "available", "vpcId": self.names.vpc(),
                    "cidrBlock": format!("10.0.{}.0/19", at * 32), "availableIpAddressCount": 8000, "availabilityZone": zone.as_str(), "availabilityZoneId": zone_id(zone.as_str()),
                    "ownerId": self.names.account(), "mapPublicIpOnLaunch": false, "tagSet": [{"key": format!("kubernetes.io/cluster/{}", self.names.cluster()), "value": "shared"}]})).collect();
                let shown: Vec<Value> = shown
                    .into_iter()
                    .filter(|one| asked.is_empty() || asked.iter().any(|id| one["subnetId"] == **id))
                    .collect();
                if let Some(missing) =
                    asked.iter().find(|id| !shown.iter().any(|one| one["subnetId"] == ***id))
                {
                    return Err(Fault::bad(
                        "InvalidSubnetID.NotFound",
                        format!("The subnet ID '{missing}' does not exist"),
                    ));
                }
                Ok(json!({"subnetSet": shown}))
            }
            "DescribeVpcs" => Ok(
                json!({"vpcSet": [{"vpcId": self.names.vpc(), "state": "available", "cidrBlock": "10.0.0.0/16", "isDefault": false, "ownerId": self.names.account()}]}),
            ),
            "DescribeSecurityGroups" => Ok(
                json!({"securityGroupInfo": [{"groupId": self.names.security_group(), "groupName": format!("eks-cluster-sg-{}", self.names.cluster()),
                "vpcId": self.names.vpc(), "ownerId": self.names.account(), "groupDescription": "EKS created security group", "ipPermissions": [], "ipPermissionsEgress": []}]}),
            ),
            _ => Err(unknown(Service::Ec2, action)),
        }
    }

    /// Instances that EC2 shows: those that were launched a moment ago may not be among them yet.
    fn seen_instances(&self, region: &dyn Region) -> Vec<Arc<Instance>> {
        let (now, unseen) = (region.now(), self.troubles.unseen);
        let is_seen = |one: &Arc<Instance>| one.launched.is_none_or(|launched| launched + unseen <= now);
        region.instances().into_iter().filter(is_seen).collect()
    }

    fn describe_instances(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let ids = input.texts("InstanceId");
        let filters: Vec<Input<'_>> = input.inputs("Filter").collect();
        let all = self.seen_instances(region);
        if let Some(wrong) = ids.iter().find(|id| !all.iter().any(|one| one.id == ***id)) {
            return Err(missing(wrong));
        }
        let asked = all.iter().filter(|one| ids.is_empty() || ids.iter().any(|id| one.id == **id));
        let mut found = Vec::new();
        for instance in asked {
            let shown = self.shown_instance(region, instance);
            let mut passed = true;
            for filter in &filters {
                passed &= passes(*filter, &shown)?;
            }
            if passed {
                found.push((instance.id.to_string(), shown));
            }
        }
        let size = input.number("MaxResults")?.map_or(1000, |size| size.clamp(5, 1000));
        let size = usize::try_from(size).unwrap_or(1000);
        let (instances, next) = page(found, size, input.text("NextToken"), &super::types::bad_token())?;
        let reservations: Vec<Value> = instances
            .into_iter()
            .map(|instance| {
                let id = ec2_id("r", instance["instanceId"].as_str().unwrap_or_default());
                json!({"reservationId": id, "ownerId": self.names.account(), "groupSet": [], "instancesSet": [instance]})
            })
            .collect();
        Ok(json!({"reservationSet": reservations, "nextToken": next}))
    }

    fn shown_instance(&self, region: &dyn Region, instance: &Instance) -> Value {
        let machine = region.machine(instance);
        let group = region.groups().into_iter().find(|group| group.name == instance.group);
        let template = group.as_ref().and_then(|group| group.made_from(instance));
        let image = template.map(super::launch::image_of).unwrap_or_default();
        let is_arm = region
            .instance_types()
            .iter()
            .any(|one| one.name == machine.instance_type && one.arch == "arm64");
        let mut own: Vec<(String, String)> = Vec::new();
        if let Some(group) = group.as_ref().filter(|_| instance.lifecycle != Lifecycle::Detached) {
            own.push(("aws:autoscaling:groupName".to_owned(), group.auto_scaling_group.to_string()));
            let extra = self.groups.get(&*group.auto_scaling_group);
            let is_propagated = |key: &str| {
                extra.is_none_or(|extra| extra.propagated.iter().any(|known| known == key))
                    || key.starts_with("eks:")
            };
            own.extend(tags(self, group).into_iter().filter(|(key, _)| is_propagated(key)));
        }
        own.push(("aws:ec2launchtemplate:id".to_owned(), instance.template.id.to_string()));
        own.push(("aws:ec2launchtemplate:version".to_owned(), instance.template.version.to_string()));
        let shown_tags: Vec<Value> =
            own.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
        let is_up = instance.state.is_alive();
        // EKS names nodes by their instances' private names.
        let dns = instance.node.as_ref().map_or_else(
            || format!("{}.{}.compute.internal", instance.id, self.names.region()),
            ToString::to_string,
        );
        let mut shown = json!({
            "instanceId": instance.id.as_str(), "imageId": image, "instanceState": {"code": code_of(instance.state), "name": instance.state.as_str()},
            "privateDnsName": if is_up { dns } else { String::new() }, "dnsName": "", "reason": "", "amiLaunchIndex": 0, "productCodes": [],
            "instanceType": &*machine.instance_type, "launchTime": instance.launched.map(moment), "placement": {"availabilityZone": instance.zone.as_str(), "groupName": "", "tenancy": "default"},
            "monitoring": {"state": "disabled"}, "subnetId": self.names.subnet(&instance.zone), "vpcId": self.names.vpc(),
            "privateIpAddress": machine.address.as_deref().filter(|_| is_up), "groupSet": [{"groupId": self.names.security_group(), "groupName": format!("eks-cluster-sg-{}", self.names.cluster())}],
            "architecture": if is_arm { "arm64" } else { "x86_64" }, "rootDeviceType": "ebs", "rootDeviceName": "/dev/xvda", "blockDeviceMapping": [], "virtualizationType": "hvm",
            "clientToken": "", "tagSet": shown_tags, "hypervisor": "xen", "networkInterfaceSet": [], "ebsOptimized": false, "enaSupport": true,
            "iamInstanceProfile": {"arn": format!("arn:aws:iam::{}:instance-profile/rehearsal-node", self.names.account()), "id": "AIPAREHEARSALREHEARSA"},
            "metadataOptions": {"state": "applied", "httpTokens": "required", "httpPutResponseHopLimit": 1, "httpEndpoint": "enabled"},
        });
        if instance.market == Market::Spot {
            shown["instanceLifecycle"] = json!("spot");
        }
        shown
    }

    fn describe_instance_status(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let ids = input.texts("InstanceId");
        let all_states = input.flag("IncludeAllInstances")?.unwrap_or(false);
        let all = self.seen_instances(region);
        if let Some(wrong) = ids.iter().find(|id| !all.iter().any(|one| one.id == ***id)) {
            return Err(missing(wrong));
        }
        let asked = all.iter().filter(|one| {
            (ids.is_empty() || ids.iter().any(|id| one.id == **id))
                && (all_states || one.state == InstanceState::Running)
        });
        let shown = asked.map(|one| {
            let word = if region.machine(one).is_ready { "ok" } else { "initializing" };
            let status = json!({"status": word, "details": [{"name": "reachability", "status": if word == "ok" { "passed" } else { "initializing" }}]});
            (one.id.to_string(), json!({"instanceId": one.id.as_str(), "availabilityZone": one.zone.as_str(), "instanceState": {"code": code_of(one.state), "name": one.state.as_str()},
                "systemStatus": status, "instanceStatus": status}))
        });
        let size =
            usize::try_from(input.number("MaxResults")?.unwrap_or(1000).clamp(5, 1000)).unwrap_or(1000);
        let (found, next) = page(shown.collect(), size, input.text("NextToken"), &super::types::bad_token())?;
        Ok(json!({"instanceStatusSet": found, "nextToken": next}))
    }
}

fn missing(id: &str) -> Fault {
    let is_id = id.strip_prefix("i-").is_some_and(|rest| {
        [8, 17].contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    match is_id {
        true => Fault::bad("InvalidInstanceID.NotFound", format!("The instance ID '{id}' does not exist")),
        false => Fault::bad("InvalidInstanceID.Malformed", format!("Invalid id: \"{id}\"")),
    }
}

fn code_of(state: InstanceState) -> u32 {
    match state {
        InstanceState::Pending => 0,
        InstanceState::Running => 16,
        InstanceState::ShuttingDown => 32,
        InstanceState::Terminated => 48,
    }
}

fn zone_id(zone: &str) -> String {
    let letter = zone.bytes().last().map_or(1, |byte| i32::from(byte) - i32::from(b'a') + 1);
    let short: String = zone.split('-').map(|part| part.get(..1).unwrap_or_default()).collect();
    format!("{short}1-az{letter}")
}

/// Whether an instance is one that a filter asks for. Values may have stars.
fn passes(filter: Input<'_>, shown: &Value) -> Result<bool, Fault> {
    let name = filter.text("Name").unwrap_or_default();
    let values = filter.texts("Value");
    let is_one = |text: &str| values.iter().any(|value| super::pattern::is_like(text, value));
    let at = |pointer: &str| is_one(shown.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
    let of_tag = |key: &str| {
        shown["tagSet"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|tag| tag["key"] == *key)
            .and_then(|tag| tag["value"].as_str())
    };
    Ok(match name {
        "instance-id" => at("/instanceId"),
        "instance-state-name" => at("/instanceState/name"),
        "instance-state-code" => is_one(&shown["instanceState"]["code"].to_string()),
        "instance-type" => at("/instanceType"),
        "availability-zone" => at("/placement/availabilityZone"),
        "private-dns-name" => at("/privateDnsName"),
        "private-ip-address" => at("/privateIpAddress"),
        "image-id" => at("/imageId"),
        "subnet-id" => at("/subnetId"),
        "vpc-id" => at("/vpcId"),
        "instance-lifecycle" => at("/instanceLifecycle"),
        "architecture" => at("/architecture"),
        "tag-key" => shown["tagSet"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|tag| is_one(tag["key"].as_str().unwrap_or_default())),
        _ => match name.strip_prefix("tag:") {
            Some(key) => of_tag(key).is_some_and(is_one),
            None => {
                return Err(Fault::bad("InvalidParameterValue", format!("The filter '{name}' is invalid")));
            }
        },
    })
}

fn terminate(all: &[Arc<Instance>], region: &mut dyn Region, input: Input<'_>) -> Reply {
    let ids = input.texts("InstanceId");
    let found =
        ids.iter().map(|id| all.iter().find(|one| one.id == **id).cloned().ok_or_else(|| missing(id)));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let mut shown = Vec::new();
    for instance in found {
        let before = instance.state;
        if before.is_alive() {
            region.end(&instance.id);
        }
        let after = if before.is_alive() { InstanceState::ShuttingDown } else { before };
        let state = |state: InstanceState| json!({"code": code_of(state), "name": state.as_str()});
        shown.push(json!({"instanceId": instance.id.as_str(), "currentState": state(after), "previousState": state(before)}));
    }
    Ok(json!({"instancesSet": shown}))
}
