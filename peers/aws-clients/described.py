"""What other clients ask beside the calls of `calls`: filters, ids and pages of EC2, tags, traffic sources, EKS's configuration and access; what is unknown is refused."""

import boto3
import botocore
from botocore.config import Config

from cluster import wait


def run(check):
    """Makes the calls; `check(name, right, why)` counts."""
    cfg = Config(retries={"max_attempts": 1}, parameter_validation=False)
    asg, ec2, eks, ev, ssm = (boto3.client(name, config=cfg) for name in "autoscaling ec2 eks events ssm".split())

    def refused(name, code, call):
        try:
            answer = call()
        except botocore.exceptions.ClientError as error:
            check(f"{name}: {code}", error.response["Error"]["Code"] == code, str(error))
        else:
            check(f"{name}: {code}", False, f"it was answered: {answer}")

    def is_so(name, found, wanted):
        check(name, found == wanted, f"{found} is not {wanted}")

    def by(name, *values):
        return dict(Filters=[dict(Name=name, Values=list(values))])

    of_network(ec2, refused, is_so, by)
    of_instances(ec2, refused, is_so, by)
    of_tags(ec2, refused, is_so, by)
    of_templates(ec2, refused, is_so, by)
    of_groups(asg, refused, is_so)
    of_launch_hooks(asg, ec2, is_so)
    of_eks(eks, refused, is_so)
    of_others(ev, ssm, refused, is_so)


def of_network(ec2, refused, is_so, by):
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    for name, call, member, id_name, code, absent in [
        ("vpcs", ec2.describe_vpcs, "Vpcs", "VpcId", "InvalidVpcID.NotFound", "vpc-0123456789abcdef0"),
        ("subnets", ec2.describe_subnets, "Subnets", "SubnetId", "InvalidSubnetID.NotFound", "subnet-0123456789abcdef0"),
        ("security groups", ec2.describe_security_groups, "SecurityGroups", "GroupId", "InvalidGroup.NotFound", "sg-0123456789abcdef0"),
        ("route tables", ec2.describe_route_tables, "RouteTables", "RouteTableId", "InvalidRouteTableID.NotFound", "rtb-0123456789abcdef0"),
        ("interfaces", ec2.describe_network_interfaces, "NetworkInterfaces", "NetworkInterfaceId", "InvalidNetworkInterfaceID.NotFound", "eni-0123456789abcdef0"),
    ]:
        all_ids = [one[id_name] for one in call()[member]]
        is_so(f"{name}: there are some", bool(all_ids), True)
        is_so(f"{name} by id", [one[id_name] for one in call(**{id_name + "s": all_ids[:1]})[member]], all_ids[:1])
        is_so(f"{name} by the VPC", [one[id_name] for one in call(**by("vpc-id", vpc))[member]], all_ids)
        is_so(f"{name} by another VPC", call(**by("vpc-id", "vpc-1"))[member], [])
        refused(f"{name} absent", code, lambda: call(**{id_name + "s": [absent]}))
        refused(f"{name} by an unknown filter", "InvalidParameterValue", lambda: call(**by("color", "red")))
        refused(f"{name} by small pages", "InvalidParameterValue", lambda: call(MaxResults=4))
    zones = [one["ZoneName"] for one in ec2.describe_availability_zones()["AvailabilityZones"]]
    found = ec2.describe_subnets(**by("availability-zone", zones[0]))["Subnets"]
    is_so("subnets of a zone", [one["AvailabilityZone"] for one in found], zones[:1])
    is_so("subnets by a tag", len(ec2.describe_subnets(**by("tag-key", "kubernetes.io/cluster/*"))["Subnets"]), len(zones))
    is_so("zones by name", [one["ZoneName"] for one in ec2.describe_availability_zones(ZoneNames=zones[:1])["AvailabilityZones"]], zones[:1])
    refused("a zone that is not there", "InvalidParameterValue", lambda: ec2.describe_availability_zones(ZoneNames=["xx-none-1a"]))
    region = ec2.meta.region_name
    is_so("regions", [one["RegionName"] for one in ec2.describe_regions(RegionNames=[region])["Regions"]], [region])
    is_so("VPC attribute", ec2.describe_vpc_attribute(VpcId=vpc, Attribute="enableDnsHostnames")["EnableDnsHostnames"]["Value"], True)
    refused("attribute of no VPC", "InvalidVpcID.NotFound", lambda: ec2.describe_vpc_attribute(VpcId="vpc-1", Attribute="enableDnsSupport"))
    platforms = ec2.describe_account_attributes(AttributeNames=["supported-platforms"])["AccountAttributes"]
    is_so("account attributes", platforms[0]["AttributeValues"][0]["AttributeValue"], "VPC")


def of_instances(ec2, refused, is_so, by):
    instances = [one for page in ec2.describe_instances()["Reservations"] for one in page["Instances"]]
    running = [one for one in instances if one["State"]["Name"] == "running"]
    first = running[0]
    own = first["NetworkInterfaces"][0]["NetworkInterfaceId"]
    found = ec2.describe_network_interfaces(**by("attachment.instance-id", first["InstanceId"]))["NetworkInterfaces"]
    is_so("the interface of an instance", [one["NetworkInterfaceId"] for one in found], [own])
    found = ec2.describe_instances(**by("network-interface.network-interface-id", own))["Reservations"]
    is_so("the instance of an interface", [one["InstanceId"] for page in found for one in page["Instances"]], [first["InstanceId"]])
    refused("instances by an unknown filter", "InvalidParameterValue", lambda: ec2.describe_instances(**by("color", "red")))
    refused("instances by small pages", "InvalidParameterValue", lambda: ec2.describe_instances(MaxResults=3))
    statuses = ec2.describe_instance_status(**by("availability-zone", first["Placement"]["AvailabilityZone"]))["InstanceStatuses"]
    is_so("statuses of a zone", {one["AvailabilityZone"] for one in statuses}, {first["Placement"]["AvailabilityZone"]})
    attribute = ec2.describe_instance_attribute(InstanceId=first["InstanceId"], Attribute="instanceType")
    is_so("attribute of an instance", attribute["InstanceType"]["Value"], first["InstanceType"])
    types = ec2.describe_instance_types(**by("processor-info.supported-architecture", "arm64"))["InstanceTypes"]
    is_so("types of an architecture", {one["ProcessorInfo"]["SupportedArchitectures"][0] for one in types}, {"arm64"})
    refused("types by an unknown filter", "InvalidParameterValue", lambda: ec2.describe_instance_types(**by("color", "red")))
    offered = ec2.describe_instance_type_offerings(LocationType="availability-zone", **by("instance-type", "m6i.*"))["InstanceTypeOfferings"]
    is_so("offerings of types", all(one["InstanceType"].startswith("m6i.") for one in offered) and len(offered) > 2, True)
    pages = list(ec2.get_paginator("describe_images").paginate(Owners=["amazon"], PaginationConfig=dict(PageSize=20), **by("architecture", "arm64")))
    images = [one for page in pages for one in page["Images"]]
    is_so("images by pages", len(pages) > 1 and len({one["ImageId"] for one in images}) == len(images) > 20, True)
    is_so("images of an architecture", {one["Architecture"] for one in images}, {"arm64"})
    is_so("images of one's own", ec2.describe_images(Owners=["self"])["Images"], [])
    refused("images by an unknown filter", "InvalidParameterValue", lambda: ec2.describe_images(**by("color", "red")))
    launch = dict(ImageId=images[0]["ImageId"], InstanceType="m6g.large", MinCount=1, MaxCount=1)
    refused("a dry run of instances", "DryRunOperation", lambda: ec2.run_instances(DryRun=True, **launch))
    refused("a dry run with an unknown image", "InvalidAMIID.NotFound", lambda: ec2.run_instances(DryRun=True, **{**launch, "ImageId": "ami-1"}))
    refused("instances outside of groups", "UnsupportedOperation", lambda: ec2.run_instances(**launch))
    refused("a dry run of what is not served", "InvalidAction", lambda: ec2.describe_volumes(DryRun=True))


def of_tags(ec2, refused, is_so, by):
    instance = ec2.describe_instances(**by("instance-state-name", "running"))["Reservations"][0]["Instances"][0]["InstanceId"]
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]

    def tags_of(one):
        return {tag["Key"]: tag["Value"] for tag in ec2.describe_tags(**by("resource-id", one))["Tags"]}

    before = tags_of(instance)
    ec2.create_tags(Resources=[instance, subnet], Tags=[dict(Key="team", Value="shop"), dict(Key="empty", Value="")])
    is_so("tags of an instance", tags_of(instance), {**before, "team": "shop", "empty": ""})
    found = ec2.describe_instances(**by("tag:team", "sh*"))["Reservations"]
    is_so("instances by a tag", [one["InstanceId"] for page in found for one in page["Instances"]], [instance])
    kinds = {(one["ResourceId"], one["ResourceType"]) for one in ec2.describe_tags(**by("key", "team"))["Tags"]}
    is_so("tags by their key", kinds, {(instance, "instance"), (subnet, "subnet")})
    ec2.delete_tags(Resources=[instance], Tags=[dict(Key="team", Value="other"), dict(Key="empty")])
    is_so("a tag with another value stays", tags_of(instance), {**before, "team": "shop"})
    ec2.delete_tags(Resources=[instance, subnet], Tags=[dict(Key="team"), dict(Key="empty")])
    is_so("tags that are deleted", tags_of(instance), before)
    refused("a tag of AWS's own", "InvalidParameterValue", lambda: ec2.create_tags(Resources=[subnet], Tags=[dict(Key="aws:x", Value="y")]))
    refused("tags of what is not there", "InvalidID", lambda: ec2.create_tags(Resources=["vol-1"], Tags=[dict(Key="x", Value="y")]))
    refused("tags by an unknown filter", "InvalidParameterValue", lambda: ec2.describe_tags(**by("color", "red")))


def of_templates(ec2, refused, is_so, by):
    made = dict(LaunchTemplateName="described")
    ec2.create_launch_template(LaunchTemplateData=dict(InstanceType="m6i.large"), **made)
    for kind in ["m6g.large", "m5.large"]:
        ec2.create_launch_template_version(LaunchTemplateData=dict(InstanceType=kind), **made)
    found = ec2.describe_launch_template_versions(**made, **by("instance-type", "m6g.*"))["LaunchTemplateVersions"]
    is_so("versions by their type", [one["VersionNumber"] for one in found], [2])
    found = ec2.describe_launch_template_versions(MinVersion="2", **made)["LaunchTemplateVersions"]
    is_so("versions from a number on", [one["VersionNumber"] for one in found], [3, 2])
    found = ec2.describe_launch_templates(**by("launch-template-name", "descri*"))["LaunchTemplates"]
    is_so("templates by their names", [one["LaunchTemplateName"] for one in found], ["described"])
    gone = ec2.delete_launch_template_versions(Versions=["1", "2", "9"], **made)
    is_so("versions that are deleted", [one["VersionNumber"] for one in gone["SuccessfullyDeletedLaunchTemplateVersions"]], [2])
    why = [one["ResponseError"]["Code"] for one in gone["UnsuccessfullyDeletedLaunchTemplateVersions"]]
    is_so("versions that are not", why, ["unexpectedError", "launchTemplateVersionDoesNotExist"])
    refused("templates by an unknown filter", "InvalidParameterValue", lambda: ec2.describe_launch_templates(**by("color", "red")))
    ec2.delete_launch_template(**made)


def of_groups(asg, refused, is_so):
    # One that is not being deleted.
    own = next(one for one in asg.describe_auto_scaling_groups()["AutoScalingGroups"] if not one.get("Status"))
    group = dict(AutoScalingGroupName=own["AutoScalingGroupName"])
    arn = f"arn:aws:elasticloadbalancing:{asg.meta.region_name}:111122223333:targetgroup/web/0123456789abcdef"
    source = dict(Identifier=arn, Type="elbv2")
    asg.attach_traffic_sources(TrafficSources=[source], **group)
    found = asg.describe_traffic_sources(**group)["TrafficSources"]
    is_so("traffic sources", [(one["Identifier"], one["Type"]) for one in found], [(arn, "elbv2")])
    shown = asg.describe_auto_scaling_groups(AutoScalingGroupNames=list(group.values()))["AutoScalingGroups"][0]
    is_so("a group shows its traffic sources", (shown["TrafficSources"], shown["TargetGroupARNs"]), ([source], [arn]))
    found = asg.describe_load_balancer_target_groups(**group)["LoadBalancerTargetGroups"]
    is_so("they are target groups too", [one["LoadBalancerTargetGroupARN"] for one in found], [arn])
    asg.detach_load_balancer_target_groups(TargetGroupARNs=[arn], **group)
    is_so("a target group that is detached", asg.describe_traffic_sources(**group)["TrafficSources"], [])
    refused("what is not attached", "ValidationError", lambda: asg.detach_traffic_sources(TrafficSources=[source], **group))
    refused("a classic load balancer", "ValidationError", lambda: asg.attach_load_balancers(LoadBalancerNames=["old"], **group))
    refused("launch configurations", "UnsupportedOperation", lambda: asg.create_launch_configuration(LaunchConfigurationName="c", ImageId="ami-1", InstanceType="m5.large"))
    refused("groups by an unknown filter", "ValidationError", lambda: asg.describe_auto_scaling_groups(Filters=[dict(Name="color", Values=["red"])]))
    is_so("adjustment types", len(asg.describe_adjustment_types()["AdjustmentTypes"]), 3)


def of_launch_hooks(asg, ec2, is_so):
    """Nobody completes a launch: its hook's default result says what becomes of the instance."""
    made = dict(LaunchTemplateName="hooked")
    ec2.create_launch_template(LaunchTemplateData=dict(InstanceType="m6i.large"), **made)
    subnets = ",".join(one["SubnetId"] for one in ec2.describe_subnets()["Subnets"])
    for result in ["CONTINUE", "ABANDON"]:
        hook = dict(LifecycleHookName="ready", LifecycleTransition="autoscaling:EC2_INSTANCE_LAUNCHING", HeartbeatTimeout=30, DefaultResult=result)
        asg.create_auto_scaling_group(AutoScalingGroupName=result, MinSize=1, MaxSize=1, VPCZoneIdentifier=subnets, LaunchTemplate=made, LifecycleHookSpecificationList=[hook])

    def members(result):
        return {one["InstanceId"]: one["LifecycleState"] for one in asg.describe_auto_scaling_groups(AutoScalingGroupNames=[result])["AutoScalingGroups"][0]["Instances"]}

    begun = {result: wait(f"{result} launches", lambda: members(result)) for result in ["CONTINUE", "ABANDON"]}
    is_so("a launch waits for its hook", [set(one.values()) for one in begun.values()], [{"Pending:Wait"}] * 2)
    goes_on, ends = (next(iter(one)) for one in begun.values())
    is_so("CONTINUE puts it into service", wait("it is in service", lambda: members("CONTINUE").get(goes_on) == "InService", 90), True)
    is_so("ABANDON ends it", wait("it is gone", lambda: ends not in members("ABANDON"), 90), True)
    for result in ["CONTINUE", "ABANDON"]:
        asg.delete_auto_scaling_group(AutoScalingGroupName=result, ForceDelete=True)


def of_eks(eks, refused, is_so):
    cluster = eks.list_clusters()["clusters"][0]
    update = eks.update_cluster_config(name=cluster, logging=dict(clusterLogging=[dict(types=["audit"], enabled=True)]))["update"]
    is_so("an update of the logs", update["type"], "LoggingUpdate")
    refused("another update meanwhile", "ResourceInUseException", lambda: eks.update_cluster_config(name=cluster, upgradePolicy=dict(supportType="STANDARD")))
    refused("an update that cannot be cancelled", "InvalidRequestException", lambda: eks.cancel_update(name=cluster, updateId=update["id"]))
    eks.get_waiter("cluster_active").wait(name=cluster, WaiterConfig=dict(Delay=1, MaxAttempts=60))
    logs = eks.describe_cluster(name=cluster)["cluster"]["logging"]["clusterLogging"]
    is_so("logs that are written", [one["types"] for one in logs if one["enabled"]], [["audit"]])
    refused("two updates at once", "InvalidParameterException", lambda: eks.update_cluster_config(name=cluster, upgradePolicy=dict(supportType="STANDARD"), deletionProtection=True))
    version = eks.describe_addon_versions(addonName="coredns")["addons"][0]["addonVersions"][0]["addonVersion"]
    shown = eks.describe_addon_configuration(addonName="coredns", addonVersion=version)
    is_so("an add-on's configuration", (shown["addonName"], shown["addonVersion"]), ("coredns", version))
    refused("configuration of no add-on", "ResourceNotFoundException", lambda: eks.describe_addon_configuration(addonName="x", addonVersion=version))
    of_access(eks, dict(clusterName=cluster), refused, is_so)
    refused("tags of what is not there", "NotFoundException", lambda: eks.list_tags_for_resource(resourceArn=f"arn:aws:eks:{eks.meta.region_name}:111122223333:cluster/none"))


def of_access(eks, cluster, refused, is_so):
    role = "arn:aws:iam::111122223333:role/team/ops"
    who = dict(principalArn=role, **cluster)
    entry = eks.create_access_entry(kubernetesGroups=["ops"], tags={"a": "b"}, **who)["accessEntry"]
    is_so("an access entry's name", entry["username"], "arn:aws:sts::111122223333:assumed-role/ops/{{SessionName}}")
    is_so("its tags", eks.list_tags_for_resource(resourceArn=entry["accessEntryArn"])["tags"], {"a": "b"})
    refused("an access entry twice", "ResourceInUseException", lambda: eks.create_access_entry(**who))
    policy = [one["arn"] for one in eks.list_access_policies()["accessPolicies"] if one["name"] == "AmazonEKSViewPolicy"][0]
    eks.associate_access_policy(policyArn=policy, accessScope=dict(type="namespace", namespaces=["shop"]), **who)
    found = eks.list_associated_access_policies(**who)["associatedAccessPolicies"]
    is_so("policies of an entry", [(one["policyArn"], one["accessScope"]["namespaces"]) for one in found], [(policy, ["shop"])])
    is_so("entries by policy", eks.list_access_entries(associatedPolicyArn=policy, **cluster)["accessEntries"], [role])
    is_so("all entries", sorted(eks.list_access_entries(**cluster)["accessEntries"]), [role, "arn:aws:iam::111122223333:user/rehearsal"])
    eks.disassociate_access_policy(policyArn=policy, **who)
    is_so("an entry that is changed", eks.update_access_entry(kubernetesGroups=["dev"], **who)["accessEntry"]["kubernetesGroups"], ["dev"])
    eks.delete_access_entry(**who)
    refused("an entry that is gone", "ResourceNotFoundException", lambda: eks.describe_access_entry(**who))
    pod = dict(namespace="shop", serviceAccount="web", **cluster)
    made = eks.create_pod_identity_association(roleArn=role, **pod)["association"]
    refused("an association twice", "ResourceInUseException", lambda: eks.create_pod_identity_association(roleArn=role, **pod))
    is_so("associations of a namespace", [one["associationId"] for one in eks.list_pod_identity_associations(namespace="shop", **cluster)["associations"]], [made["associationId"]])
    is_so("an association", eks.describe_pod_identity_association(associationId=made["associationId"], **cluster)["association"]["roleArn"], role)
    eks.delete_pod_identity_association(associationId=made["associationId"], **cluster)
    is_so("none is left", eks.list_pod_identity_associations(**cluster)["associations"], [])


def of_others(ev, ssm, refused, is_so):
    arn = ev.put_rule(Name="described", EventPattern='{"source": ["x"]}', Tags=[dict(Key="a", Value="b")])["RuleArn"]
    ev.tag_resource(ResourceARN=arn, Tags=[dict(Key="c", Value="d")])
    ev.untag_resource(ResourceARN=arn, TagKeys=["a"])
    is_so("tags of a rule", ev.list_tags_for_resource(ResourceARN=arn)["Tags"], [dict(Key="c", Value="d")])
    ev.delete_rule(Name="described")
    refused("tags of no rule", "ResourceNotFoundException", lambda: ev.list_tags_for_resource(ResourceARN=arn))
    is_so("parameters of one's own", ssm.describe_parameters()["Parameters"], [])
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path="/aws/service/eks/optimized-ami/1.36", Recursive=True)
    is_so("parameters by path", len([one for page in pages for one in page["Parameters"]]) > 2, True)
