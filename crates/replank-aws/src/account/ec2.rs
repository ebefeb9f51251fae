//! EC2: instances, and what they lie in.

use std::sync::Arc;

use replank_model::object::cloud::{Instance, InstanceState, Lifecycle, Market};
use serde_json::{Value, json};

use super::filter::{Filters, Known, Pages, bad_token, listed};
use super::members::tags;
use super::network::zone_id;
use super::own::Account;
use super::unknown::unknown;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::service::Service;
use crate::text::{ec2_id, moment};

const INSTANCES: Known = &[
    ("architecture", "architecture"),
    ("availability-zone", "placement.availabilityZone"),
    ("availability-zone-id", "placement.availabilityZoneId"),
    ("client-token", "clientToken"),
    ("dns-name", "dnsName"),
    ("ebs-optimized", "ebsOptimized"),
    ("ena-support", "enaSupport"),
    ("hypervisor", "hypervisor"),
    ("iam-instance-profile.arn", "iamInstanceProfile.arn"),
    ("iam-instance-profile.id", "iamInstanceProfile.id"),
    ("image-id", "imageId"),
    ("instance-id", "instanceId"),
    ("instance-lifecycle", "instanceLifecycle"),
    ("instance-state-code", "instanceState.code"),
    ("instance-state-name", "instanceState.name"),
    ("instance-type", "instanceType"),
    ("instance.group-id", "groupSet.groupId"),
    ("instance.group-name", "groupSet.groupName"),
    ("launch-index", "amiLaunchIndex"),
    ("launch-time", "launchTime"),
    ("metadata-options.http-endpoint", "metadataOptions.httpEndpoint"),
    ("metadata-options.http-put-response-hop-limit", "metadataOptions.httpPutResponseHopLimit"),
    ("metadata-options.http-tokens", "metadataOptions.httpTokens"),
    ("metadata-options.state", "metadataOptions.state"),
    ("monitoring-state", "monitoring.state"),
    ("network-interface.addresses.primary", "networkInterfaceSet.privateIpAddressesSet.primary"),
    (
        "network-interface.addresses.private-ip-address",
        "networkInterfaceSet.privateIpAddressesSet.privateIpAddress",
    ),
    ("network-interface.attachment.attachment-id", "networkInterfaceSet.attachment.attachmentId"),
    ("network-interface.attachment.status", "networkInterfaceSet.attachment.status"),
    ("network-interface.group-id", "networkInterfaceSet.groupSet.groupId"),
    ("network-interface.group-name", "networkInterfaceSet.groupSet.groupName"),
    ("network-interface.mac-address", "networkInterfaceSet.macAddress"),
    ("network-interface.network-interface-id", "networkInterfaceSet.networkInterfaceId"),
    ("network-interface.owner-id", "networkInterfaceSet.ownerId"),
    ("network-interface.private-dns-name", "networkInterfaceSet.privateDnsName"),
    ("network-interface.status", "networkInterfaceSet.status"),
    ("network-interface.subnet-id", "networkInterfaceSet.subnetId"),
    ("network-interface.vpc-id", "networkInterfaceSet.vpcId"),
    ("private-dns-name", "privateDnsName"),
    ("private-ip-address", "privateIpAddress"),
    ("root-device-name", "rootDeviceName"),
    ("root-device-type", "rootDeviceType"),
    ("source-dest-check", "sourceDestCheck"),
    ("subnet-id", "subnetId"),
    ("tenancy", "placement.tenancy"),
    ("virtualization-type", "virtualizationType"),
    ("vpc-id", "vpcId"),
];
const STATUSES: Known = &[
    ("availability-zone", "availabilityZone"),
    ("availability-zone-id", "availabilityZoneId"),
    ("instance-state-code", "instanceState.code"),
    ("instance-state-name", "instanceState.name"),
    ("instance-status.reachability", "instanceStatus.details.status"),
    ("instance-status.status", "instanceStatus.status"),
    ("system-status.reachability", "systemStatus.details.status"),
    ("system-status.status", "systemStatus.status"),
];
/// What is served: a dry run of anything else is refused as the call is.
const SERVED: &[&str] = &[
    "CreateLaunchTemplate",
    "CreateLaunchTemplateVersion",
    "CreateTags",
    "DeleteLaunchTemplate",
    "DeleteLaunchTemplateVersions",
    "DeleteTags",
    "DescribeAccountAttributes",
    "DescribeAvailabilityZones",
    "DescribeImages",
    "DescribeInstanceAttribute",
    "DescribeInstanceStatus",
    "DescribeInstanceTypeOfferings",
    "DescribeInstanceTypes",
    "DescribeInstances",
    "DescribeLaunchTemplateVersions",
    "DescribeLaunchTemplates",
    "DescribeNetworkInterfaces",
    "DescribeRegions",
    "DescribeRouteTables",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "DescribeTags",
    "DescribeVpcAttribute",
    "DescribeVpcs",
    "GetInstanceTypesFromInstanceRequirements",
    "ModifyLaunchTemplate",
    "TerminateInstances",
];

impl Account {
    pub(crate) fn ec2(&mut self, region: &mut dyn Region, action: &str, input: Input<'_>) -> Reply {
        if input.flag("DryRun")?.unwrap_or(false) && action != "RunInstances" {
            return Err(if SERVED.contains(&action) { dry_run() } else { unknown(Service::Ec2, action) });
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
            "DeleteLaunchTemplateVersions" => self.delete_versions(region, input),
            "DescribeRegions" => self.describe_regions(input),
            "DescribeAvailabilityZones" => self.describe_zones(region, input),
            "DescribeAccountAttributes" => super::network::describe_account(input),
            "DescribeVpcs" => self.describe_vpcs(input),
            "DescribeVpcAttribute" => self.describe_vpc_attribute(input),
            "DescribeSubnets" => self.describe_subnets(region, input),
            "DescribeSecurityGroups" => self.describe_security_groups(input),
            "DescribeRouteTables" => self.describe_route_tables(region, input),
            "DescribeNetworkInterfaces" => self.describe_interfaces(region, input),
            "DescribeTags" => self.describe_resource_tags(region, input),
            "CreateTags" => self.create_resource_tags(region, input),
            "DeleteTags" => self.delete_resource_tags(region, input),
            "DescribeInstanceAttribute" => self.describe_instance_attribute(region, input),
            "RunInstances" => self.run_instances(region, input),
            _ => Err(unknown(Service::Ec2, action)),
        }
    }

    /// Instances that EC2 shows: those that were launched a moment ago may not be among them yet.
    pub(crate) fn seen_instances(&self, region: &dyn Region) -> Vec<Arc<Instance>> {
        let (now, unseen) = (region.now(), self.troubles.unseen);
        let is_seen = |one: &Arc<Instance>| one.launched.is_none_or(|launched| launched + unseen <= now);
        region.instances().into_iter().filter(is_seen).collect()
    }

    fn describe_instances(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let ids = input.texts("InstanceId");
        let filters = Filters::read(input, INSTANCES)?;
        let all = self.seen_instances(region);
        if let Some(wrong) = ids.iter().find(|id| !all.iter().any(|one| one.id == ***id)) {
            return Err(missing(wrong));
        }
        let asked = all.iter().filter(|one| ids.is_empty() || ids.iter().any(|id| one.id == **id));
        let mut found = Vec::new();
        for instance in asked {
            let shown = self.shown_instance(region, instance);
            if filters.pass(&shown) {
                found.push((instance.id.to_string(), shown));
            }
        }
        let size = Pages::MANY.size(input)?;
        let (instances, next) = page(found, size, input.text("NextToken"), &bad_token())?;
        let reservations: Vec<Value> = instances
            .into_iter()
            .map(|instance| {
                let id = ec2_id("r", instance["instanceId"].as_str().unwrap_or_default());
                json!({"reservationId": id, "ownerId": self.names.account(), "groupSet": [], "instancesSet": [instance]})
            })
            .collect();
        Ok(json!({"reservationSet": reservations, "nextToken": next}))
    }

    pub(crate) fn shown_instance(&self, region: &dyn Region, instance: &Instance) -> Value {
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
        let shown_tags = self.tagged(instance.id.as_str(), own);
        let is_up = instance.state.is_alive();
        // EKS names nodes by their instances' private names.
        let dns = instance.node.as_ref().map_or_else(
            || format!("{}.{}.compute.internal", instance.id, self.names.region()),
            ToString::to_string,
        );
        let interfaces: Vec<Value> =
            is_up.then(|| self.interface(instance, machine.address.as_deref())).into_iter().collect();
        let mut shown = json!({
            "instanceId": instance.id.as_str(), "imageId": image, "instanceState": {"code": code_of(instance.state), "name": instance.state.as_str()},
            "privateDnsName": if is_up { dns } else { String::new() }, "dnsName": "", "reason": "", "amiLaunchIndex": 0, "productCodes": [],
            "instanceType": &*machine.instance_type, "launchTime": instance.launched.map(moment), "placement": {"availabilityZone": instance.zone.as_str(), "availabilityZoneId": zone_id(instance.zone.as_str()), "groupName": "", "tenancy": "default"},
            "monitoring": {"state": "disabled"}, "subnetId": self.names.subnet(&instance.zone), "vpcId": self.names.vpc(),
            "privateIpAddress": machine.address.as_deref().filter(|_| is_up), "groupSet": [{"groupId": self.names.security_group(), "groupName": self.security_group_name()}],
            "architecture": if is_arm { "arm64" } else { "x86_64" }, "rootDeviceType": "ebs", "rootDeviceName": "/dev/xvda", "blockDeviceMapping": [], "virtualizationType": "hvm",
            "clientToken": "", "tagSet": shown_tags, "hypervisor": "xen", "networkInterfaceSet": interfaces, "sourceDestCheck": true, "ebsOptimized": false, "enaSupport": true,
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
            (one.id.to_string(), json!({"instanceId": one.id.as_str(), "availabilityZone": one.zone.as_str(), "availabilityZoneId": zone_id(one.zone.as_str()), "instanceState": {"code": code_of(one.state), "name": one.state.as_str()},
                "systemStatus": status, "instanceStatus": status}))
        });
        listed(input, "instanceStatusSet", shown.collect(), STATUSES, Pages::MANY)
    }
}

impl Account {
    fn describe_instance_attribute(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let id = input.text("InstanceId").unwrap_or_default();
        let instance =
            self.seen_instances(region).into_iter().find(|one| one.id == *id).ok_or_else(|| missing(id))?;
        let shown = self.shown_instance(region, &instance);
        let attribute = input.text("Attribute").unwrap_or_default();
        let value = match attribute {
            "instanceType" | "ebsOptimized" | "sourceDestCheck" | "rootDeviceName" | "enaSupport" => {
                json!({"value": shown[attribute]})
            }
            "disableApiTermination" | "disableApiStop" => json!({"value": false}),
            // Instances of groups are terminated when they shut themselves down: the group replaces them.
            "instanceInitiatedShutdownBehavior" => json!({"value": "terminate"}),
            "blockDeviceMapping" | "productCodes" | "groupSet" => shown[attribute].clone(),
            "kernel" | "ramdisk" | "sriovNetSupport" => json!({}),
            "userData" => {
                let data = self.templates.data(&instance.template);
                json!({"value": data.and_then(|data| data["UserData"].as_str())})
            }
            other => {
                return Err(Fault::bad(
                    "InvalidParameterValue",
                    format!("Value ({other}) for parameter attribute is invalid. Unknown attribute."),
                ));
            }
        };
        Ok(json!({"instanceId": id, attribute: value}))
    }

    /// Instances outside of groups: what is asked is read as EC2 reads it, and a dry run is answered. There is no room for them here, which is said.
    fn run_instances(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let missing = |what: &str| {
            Fault::bad("MissingParameter", format!("The request must contain the parameter {what}"))
        };
        let (min, max) = (input.number("MinCount")?, input.number("MaxCount")?);
        let (min, max) = (min.ok_or_else(|| missing("MinCount"))?, max.ok_or_else(|| missing("MaxCount"))?);
        if min < 1 || min > max {
            return Err(Fault::bad(
                "InvalidParameterValue",
                format!(
                    "Value ({min}) for parameter minCount is invalid. It is at least 1, and at most maxCount ({max})."
                ),
            ));
        }
        let spec = input.inner("LaunchTemplate");
        let named = if spec.0.is_null() { None } else { Some(self.templates.named(spec)?) };
        let data = named.and_then(|named| self.templates.data(&named.version)).cloned().unwrap_or_default();
        let of = |member: &str| input.text(member).or(data[member].as_str());
        let image = of("ImageId").ok_or_else(|| missing("ImageId"))?;
        if crate::image::image(image).is_none() {
            return Err(Fault::bad(
                "InvalidAMIID.NotFound",
                format!("The image id '[{image}]' does not exist"),
            ));
        }
        // EC2 launches its smallest type of old where none is named.
        let kind = of("InstanceType").unwrap_or("m1.small");
        if region.shape(kind).is_none() {
            return Err(Fault::bad(
                "InvalidParameterValue",
                format!("Invalid value '{kind}' for InstanceType."),
            ));
        }
        if let Some(subnet) = of("SubnetId")
            && !self.subnets(region).iter().any(|(id, _)| id == subnet)
        {
            return Err(Fault::bad(
                "InvalidSubnetID.NotFound",
                format!("The subnet ID '{subnet}' does not exist"),
            ));
        }
        if input.flag("DryRun")?.unwrap_or(false) {
            return Err(dry_run());
        }
        Err(Fault::bad(
            "UnsupportedOperation",
            "The simulated cloud launches instances for Auto Scaling groups and managed node groups only: raise the desired size of a group instead.",
        ))
    }
}

pub(crate) fn missing(id: &str) -> Fault {
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

fn dry_run() -> Fault {
    Fault::new(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
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
