//! What instances lie in: the VPC, its subnets, its security group, its routes, and the interfaces of instances.

use replank_model::object::cloud::Instance;
use serde_json::{Value, json};

use super::filter::{Filters, Known, Pages, by_ids, listed};
use super::members::zones;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;
use crate::text::{ec2_id, hash, moment};

const VPCS: Known = &[
    ("cidr", "cidrBlock"),
    ("cidr-block-association.cidr-block", "cidrBlockAssociationSet.cidrBlock"),
    ("cidr-block-association.association-id", "cidrBlockAssociationSet.associationId"),
    ("cidr-block-association.state", "cidrBlockAssociationSet.cidrBlockState.state"),
    ("dhcp-options-id", "dhcpOptionsId"),
    ("is-default", "isDefault"),
    ("isDefault", "isDefault"),
    ("owner-id", "ownerId"),
    ("state", "state"),
    ("vpc-id", "vpcId"),
];
const SUBNETS: Known = &[
    ("availability-zone", "availabilityZone"),
    ("availabilityZone", "availabilityZone"),
    ("availability-zone-id", "availabilityZoneId"),
    ("available-ip-address-count", "availableIpAddressCount"),
    ("cidr-block", "cidrBlock"),
    ("cidr", "cidrBlock"),
    ("default-for-az", "defaultForAz"),
    ("ipv6-native", "ipv6Native"),
    ("map-public-ip-on-launch", "mapPublicIpOnLaunch"),
    ("owner-id", "ownerId"),
    ("state", "state"),
    ("subnet-arn", "subnetArn"),
    ("subnet-id", "subnetId"),
    ("vpc-id", "vpcId"),
];
const SECURITY_GROUPS: Known = &[
    ("description", "groupDescription"),
    ("egress.ip-permission.cidr", "ipPermissionsEgress.ipRanges.cidrIp"),
    ("egress.ip-permission.protocol", "ipPermissionsEgress.ipProtocol"),
    ("group-id", "groupId"),
    ("group-name", "groupName"),
    ("ip-permission.group-id", "ipPermissions.groups.groupId"),
    ("ip-permission.protocol", "ipPermissions.ipProtocol"),
    ("ip-permission.user-id", "ipPermissions.groups.userId"),
    ("owner-id", "ownerId"),
    ("vpc-id", "vpcId"),
];
const ROUTE_TABLES: Known = &[
    ("association.main", "associationSet.main"),
    ("association.route-table-association-id", "associationSet.routeTableAssociationId"),
    ("association.route-table-id", "associationSet.routeTableId"),
    ("association.subnet-id", "associationSet.subnetId"),
    ("owner-id", "ownerId"),
    ("route-table-id", "routeTableId"),
    ("route.destination-cidr-block", "routeSet.destinationCidrBlock"),
    ("route.gateway-id", "routeSet.gatewayId"),
    ("route.origin", "routeSet.origin"),
    ("route.state", "routeSet.state"),
    ("vpc-id", "vpcId"),
];
const INTERFACES: Known = &[
    ("addresses.primary", "privateIpAddressesSet.primary"),
    ("addresses.private-ip-address", "privateIpAddressesSet.privateIpAddress"),
    ("attachment.attachment-id", "attachment.attachmentId"),
    ("attachment.delete-on-termination", "attachment.deleteOnTermination"),
    ("attachment.device-index", "attachment.deviceIndex"),
    ("attachment.instance-id", "attachment.instanceId"),
    ("attachment.instance-owner-id", "attachment.instanceOwnerId"),
    ("attachment.status", "attachment.status"),
    ("availability-zone", "availabilityZone"),
    ("availability-zone-id", "availabilityZoneId"),
    ("description", "description"),
    ("group-id", "groupSet.groupId"),
    ("interface-type", "interfaceType"),
    ("mac-address", "macAddress"),
    ("network-interface-id", "networkInterfaceId"),
    ("owner-id", "ownerId"),
    ("private-dns-name", "privateDnsName"),
    ("private-ip-address", "privateIpAddress"),
    ("requester-managed", "requesterManaged"),
    ("source-dest-check", "sourceDestCheck"),
    ("status", "status"),
    ("subnet-id", "subnetId"),
    ("vpc-id", "vpcId"),
];
const ZONES: Known = &[
    ("group-name", "groupName"),
    ("message", "messageSet.message"),
    ("opt-in-status", "optInStatus"),
    ("region-name", "regionName"),
    ("state", "zoneState"),
    ("zone-id", "zoneId"),
    ("zone-name", "zoneName"),
    ("zone-type", "zoneType"),
];
const REGIONS: Known =
    &[("endpoint", "regionEndpoint"), ("opt-in-status", "optInStatus"), ("region-name", "regionName")];

/// What an account that begins is told of itself; the last two by "Amazon VPC quotas" and "Elastic IP addresses".
const ATTRIBUTES: &[(&str, &str)] = &[
    ("default-vpc", "none"),
    ("max-elastic-ips", "5"),
    ("max-instances", "20"),
    ("supported-platforms", "VPC"),
    ("vpc-max-elastic-ips", "5"),
    ("vpc-max-security-groups-per-interface", "5"),
];

pub(crate) fn zone_id(zone: &str) -> String {
    let letter = zone.bytes().last().map_or(1, |byte| i32::from(byte) - i32::from(b'a') + 1);
    let short: String = zone.split('-').map(|part| part.get(..1).unwrap_or_default()).collect();
    format!("{short}1-az{letter}")
}

fn not_found(code: &'static str, what: &'static str) -> impl Fn(&str) -> Fault {
    move |id| Fault::bad(code, format!("The {what} '{id}' does not exist"))
}

impl Account {
    pub(crate) fn describe_vpcs(&self, input: Input<'_>) -> Reply {
        let found = by_ids(self.vpcs(), &input.texts("VpcId"), not_found("InvalidVpcID.NotFound", "vpc ID"))?;
        listed(input, "vpcSet", found, VPCS, Pages::MANY)
    }

    fn vpcs(&self) -> Vec<(String, Value)> {
        let (id, cidr) = (self.names.vpc(), "10.0.0.0/16");
        let association = ec2_id("vpc-cidr-assoc", &id);
        let shown = json!({"vpcId": id, "state": "available", "cidrBlock": cidr, "isDefault": false, "ownerId": self.names.account(), "instanceTenancy": "default",
            "dhcpOptionsId": ec2_id("dopt", &id), "cidrBlockAssociationSet": [{"associationId": association, "cidrBlock": cidr, "cidrBlockState": {"state": "associated"}}],
            "tagSet": self.tagged(&id, Vec::new())});
        vec![(id, shown)]
    }

    pub(crate) fn describe_vpc_attribute(&self, input: Input<'_>) -> Reply {
        let id = input.text("VpcId").unwrap_or_default();
        if id != self.names.vpc() {
            return Err(not_found("InvalidVpcID.NotFound", "vpc ID")(id));
        }
        let attribute = input.text("Attribute").unwrap_or_default();
        // Nodes have private DNS names: a VPC of EKS has both of the first two.
        let value = match attribute {
            "enableDnsSupport" | "enableDnsHostnames" => true,
            "enableNetworkAddressUsageMetrics" => false,
            other => {
                return Err(Fault::bad(
                    "InvalidParameterValue",
                    format!("Value ({other}) for parameter attribute is invalid. Unknown attribute."),
                ));
            }
        };
        Ok(json!({"vpcId": id, attribute: {"value": value}}))
    }

    pub(crate) fn describe_subnets(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let all = self.subnets(region);
        let found =
            by_ids(all, &input.texts("SubnetId"), not_found("InvalidSubnetID.NotFound", "subnet ID"))?;
        listed(input, "subnetSet", found, SUBNETS, Pages::MANY)
    }

    pub(crate) fn subnets(&self, region: &dyn Region) -> Vec<(String, Value)> {
        let cluster = (format!("kubernetes.io/cluster/{}", self.names.cluster()), "shared".to_owned());
        let all = zones(self, region);
        let shown = all.iter().enumerate().map(|(at, zone)| {
            let id = self.names.subnet(zone);
            let shown = json!({"subnetId": id, "state": "available", "vpcId": self.names.vpc(), "subnetArn": self.names.arn("ec2", &format!("subnet/{id}")),
                "cidrBlock": format!("10.0.{}.0/19", at * 32), "availableIpAddressCount": 8000, "availabilityZone": zone.as_str(), "availabilityZoneId": zone_id(zone.as_str()),
                "ownerId": self.names.account(), "mapPublicIpOnLaunch": false, "defaultForAz": false, "assignIpv6AddressOnCreation": false, "ipv6Native": false,
                "tagSet": self.tagged(&id, vec![cluster.clone()])});
            (id, shown)
        });
        shown.collect()
    }

    pub(crate) fn describe_security_groups(&self, input: Input<'_>) -> Reply {
        let missing = not_found("InvalidGroup.NotFound", "security group");
        let found = by_ids(self.security_groups(), &input.texts("GroupId"), &missing)?;
        let names = input.texts("GroupName");
        let named = |shown: &Value, name: &str| shown["groupName"] == *name;
        if let Some(name) = names.iter().find(|name| !found.iter().any(|(_, shown)| named(shown, name))) {
            return Err(missing(name));
        }
        let is_named = |shown: &Value| names.is_empty() || names.iter().any(|name| named(shown, name));
        let found = found.into_iter().filter(|(_, shown)| is_named(shown)).collect();
        listed(input, "securityGroupInfo", found, SECURITY_GROUPS, Pages::MANY)
    }

    pub(crate) fn security_group_name(&self) -> String {
        format!("eks-cluster-sg-{}", self.names.cluster())
    }

    /// The group that EKS makes for a cluster: its members reach each other, and everything outside.
    fn security_groups(&self) -> Vec<(String, Value)> {
        let (id, name) = (self.names.security_group(), self.security_group_name());
        let tags = [
            ("Name".to_owned(), name.clone()),
            ("aws:eks:cluster-name".to_owned(), self.names.cluster().to_owned()),
            (format!("kubernetes.io/cluster/{}", self.names.cluster()), "owned".to_owned()),
        ];
        let shown = json!({"groupId": id, "groupName": name, "vpcId": self.names.vpc(), "ownerId": self.names.account(),
            "groupDescription": "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, as well as any managed workloads.",
            "securityGroupArn": self.names.arn("ec2", &format!("security-group/{id}")),
            "ipPermissions": [{"ipProtocol": "-1", "groups": [{"userId": self.names.account(), "groupId": id}], "ipRanges": [], "ipv6Ranges": [], "prefixListIds": []}],
            "ipPermissionsEgress": [{"ipProtocol": "-1", "groups": [], "ipRanges": [{"cidrIp": "0.0.0.0/0"}], "ipv6Ranges": [], "prefixListIds": []}],
            "tagSet": self.tagged(&id, tags.to_vec())});
        vec![(id, shown)]
    }

    pub(crate) fn describe_route_tables(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let missing = not_found("InvalidRouteTableID.NotFound", "routeTable ID");
        let found = by_ids(self.route_tables(region), &input.texts("RouteTableId"), missing)?;
        listed(input, "routeTableSet", found, ROUTE_TABLES, Pages { max: 100, default: 100, ..Pages::MANY })
    }

    /// The VPC's main table, with which every subnet is associated, and its way out through a NAT gateway.
    fn route_tables(&self, region: &dyn Region) -> Vec<(String, Value)> {
        let vpc = self.names.vpc();
        let id = ec2_id("rtb", &vpc);
        let state = json!({"state": "associated"});
        let mut associations = vec![
            json!({"routeTableAssociationId": ec2_id("rtbassoc", &vpc), "routeTableId": id, "main": true, "associationState": state}),
        ];
        associations.extend(self.subnets(region).into_iter().map(|(subnet, _)| {
            json!({"routeTableAssociationId": ec2_id("rtbassoc", &subnet), "routeTableId": id, "subnetId": subnet, "main": false, "associationState": state})
        }));
        let shown = json!({"routeTableId": id, "vpcId": vpc, "ownerId": self.names.account(), "associationSet": associations, "propagatingVgwSet": [],
            "routeSet": [
                {"destinationCidrBlock": "10.0.0.0/16", "gatewayId": "local", "origin": "CreateRouteTable", "state": "active"},
                {"destinationCidrBlock": "0.0.0.0/0", "natGatewayId": ec2_id("nat", &vpc), "origin": "CreateRoute", "state": "active"}],
            "tagSet": self.tagged(&id, Vec::new())});
        vec![(id, shown)]
    }

    pub(crate) fn describe_interfaces(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let instances = self.seen_instances(region);
        let alive = instances.iter().filter(|one| one.state.is_alive());
        let all: Vec<(String, Value)> = alive
            .map(|one| {
                let mut shown = self.interface(one, region.machine(one).address.as_deref());
                let id = shown["networkInterfaceId"].as_str().unwrap_or_default().to_owned();
                shown["attachment"]["instanceId"] = json!(one.id.as_str());
                shown["attachment"]["instanceOwnerId"] = json!(self.names.account());
                shown["availabilityZone"] = json!(one.zone.as_str());
                shown["availabilityZoneId"] = json!(zone_id(one.zone.as_str()));
                shown["requesterManaged"] = json!(false);
                shown["tagSet"] = self.tagged(&id, Vec::new());
                (id, shown)
            })
            .collect();
        let missing = not_found("InvalidNetworkInterfaceID.NotFound", "networkInterface ID");
        let found = by_ids(all, &input.texts("NetworkInterfaceId"), missing)?;
        listed(input, "networkInterfaceSet", found, INTERFACES, Pages::MANY)
    }

    /// The one interface of an instance, as the instance shows it.
    pub(crate) fn interface(&self, instance: &Instance, address: Option<&str>) -> Value {
        let id = interface_id(instance.id.as_str());
        let dns = instance.node.as_ref().map(ToString::to_string);
        let bytes = hash(&id).to_be_bytes();
        let mac = format!(
            "02:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}",
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]
        );
        let addresses = address
            .map(|address| json!([{"primary": true, "privateIpAddress": address, "privateDnsName": dns}]));
        json!({"networkInterfaceId": id, "subnetId": self.names.subnet(&instance.zone), "vpcId": self.names.vpc(), "ownerId": self.names.account(), "status": "in-use",
            "macAddress": mac, "privateIpAddress": address, "privateDnsName": dns, "sourceDestCheck": true, "interfaceType": "interface", "description": "",
            "groupSet": [{"groupId": self.names.security_group(), "groupName": self.security_group_name()}],
            "privateIpAddressesSet": addresses.unwrap_or_else(|| json!([])),
            "attachment": {"attachmentId": ec2_id("eni-attach", instance.id.as_str()), "deviceIndex": 0, "networkCardIndex": 0, "status": "attached", "deleteOnTermination": true,
                "attachTime": instance.launched.map(moment)}})
    }

    pub(crate) fn describe_zones(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let (names, ids) = (input.texts("ZoneName"), input.texts("ZoneId"));
        let all: Vec<Value> = zones(self, region).iter().map(|zone| json!({"zoneName": zone.as_str(), "zoneState": "available", "regionName": self.names.region(),
            "zoneId": zone_id(zone.as_str()), "zoneType": "availability-zone", "groupName": self.names.region(), "networkBorderGroup": self.names.region(),
            "optInStatus": "opt-in-not-required", "messageSet": []})).collect();
        for (asked, member) in [(&names, "zoneName"), (&ids, "zoneId")] {
            if let Some(wrong) = asked.iter().find(|name| !all.iter().any(|one| one[member] == ***name)) {
                return Err(Fault::bad(
                    "InvalidParameterValue",
                    format!("Invalid availability zone: [{wrong}]"),
                ));
            }
        }
        let filters = Filters::read(input, ZONES)?;
        let is_asked = |one: &Value| {
            let is_named = names.iter().any(|name| one["zoneName"] == **name)
                || ids.iter().any(|id| one["zoneId"] == **id);
            (is_named || (names.is_empty() && ids.is_empty())) && filters.pass(one)
        };
        Ok(json!({"availabilityZoneInfo": all.into_iter().filter(is_asked).collect::<Vec<_>>()}))
    }

    pub(crate) fn describe_regions(&self, input: Input<'_>) -> Reply {
        let name = self.names.region();
        let shown = json!({"regionName": name, "regionEndpoint": format!("ec2.{name}.amazonaws.com"), "optInStatus": "opt-in-not-required"});
        if let Some(wrong) = input.texts("RegionName").iter().find(|asked| **asked != name) {
            return Err(Fault::bad("InvalidParameterValue", format!("Invalid region provided: [{wrong}]")));
        }
        let is_asked = Filters::read(input, REGIONS)?.pass(&shown);
        Ok(json!({"regionInfo": if is_asked { vec![shown] } else { Vec::new() }}))
    }
}

pub(crate) fn interface_id(instance: &str) -> String {
    ec2_id("eni", instance)
}

pub(crate) fn describe_account(input: Input<'_>) -> Reply {
    let names = input.texts("AttributeName");
    let known = |name: &String| ATTRIBUTES.iter().any(|(known, _)| known == name);
    if let Some(wrong) = names.iter().find(|name| !known(name)) {
        return Err(Fault::bad("InvalidParameterValue", format!("Invalid attribute name: {wrong}")));
    }
    let found =
        ATTRIBUTES.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|asked| asked == name));
    let shown = found.map(
        |(name, value)| json!({"attributeName": name, "attributeValueSet": [{"attributeValue": value}]}),
    );
    Ok(json!({"accountAttributeSet": shown.collect::<Vec<Value>>()}))
}
