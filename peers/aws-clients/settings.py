"""What a client sets is what it reads: the members that Terraform's provider sets on launch templates, groups, node groups, add-ons, queues and rules, with the calls that it makes; and what the models forbid is refused."""

import hashlib
import json
import struct
import time

import boto3
import botocore
from botocore.config import Config

ROLE = "arn:aws:iam::111122223333:role/some"


def differs(wanted, got, path=""):
    """Where an answer does not have what was set; what it has besides is its own."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return [found for name in wanted for found in differs(wanted[name], got.get(name), f"{path}.{name}")]
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        return [found for at in range(len(wanted)) for found in differs(wanted[at], got[at], f"{path}[{at}]")]
    return [] if wanted == got else [f"{path}: {got!r} is not {wanted!r}"]


def run(check):
    """Makes the calls; `check(name, right, why)` counts."""
    config = Config(retries={"max_attempts": 1}, parameter_validation=False)
    asg, ec2, eks, ev, sqs, ssm, sts = (boto3.client(name, config=config) for name in "autoscaling ec2 eks events sqs ssm sts".split())

    def same(name, wanted, got):
        check(name, not differs(wanted, got), "; ".join(differs(wanted, got)))

    def refused(name, code, call):
        try:
            answer = call()
        except botocore.exceptions.ClientError as error:
            check(f"{name}: {code}", error.response["Error"]["Code"] == code, str(error))
        else:
            check(f"{name}: {code}", False, f"it was answered: {answer}")

    cluster = eks.list_clusters()["clusters"][0]
    subnets = sorted(one["SubnetId"] for one in ec2.describe_subnets()["Subnets"])
    security = ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"]
    template = of_templates(ec2, same, subnets, security)
    of_groups(asg, same, refused, subnets, template)
    of_nodegroups(eks, same, refused, cluster, subnets, template)
    of_addons(eks, same, cluster)
    of_queues(sqs, same, check, refused)
    of_rules(ev, sqs, same, refused)
    of_models(asg, ec2, eks, ev, sqs, ssm, sts, refused, cluster)
    of_others(config, check)


def of_templates(ec2, same, subnets, security):
    data = {
        "InstanceType": "m6i.large",
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "VolumeSize": 30, "VolumeType": "gp3", "Throughput": 125}}],
        "NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [security], "SubnetId": subnets[0], "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": "10.0.0.4"}], "Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.0/28"}]}],
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "é", "Value": "☃ <&>\""}]}],
        "LicenseSpecifications": [{"LicenseConfigurationArn": "arn:l"}],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
        "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.1"}},
    }
    made = ec2.create_launch_template(LaunchTemplateName="settings", VersionDescription="first ☃", LaunchTemplateData=data)["LaunchTemplate"]["LaunchTemplateId"]

    def shown(version):
        return ec2.describe_launch_template_versions(LaunchTemplateId=made, Versions=[version])["LaunchTemplateVersions"][0]

    same("a launch template's data", {"LaunchTemplateData": data, "VersionDescription": "first ☃"}, shown("1"))
    needs = {"InstanceRequirements": {"VCpuCount": {"Min": 2, "Max": 4}, "MemoryMiB": {"Min": 4096}, "CpuManufacturers": ["intel"], "AllowedInstanceTypes": ["m*"], "LocalStorageTypes": ["ssd"]}}
    ec2.create_launch_template_version(LaunchTemplateId=made, LaunchTemplateData=needs)
    same("a launch template's requirements", {"LaunchTemplateData": needs}, shown("$Latest"))
    return ec2.create_launch_template(LaunchTemplateName="plain", LaunchTemplateData={"InstanceType": "m6i.large"})["LaunchTemplate"]["LaunchTemplateId"]


def of_groups(asg, same, refused, subnets, template):
    own = {"AutoScalingGroupName": "settings"}

    def shown():
        return asg.describe_auto_scaling_groups(AutoScalingGroupNames=["settings"])["AutoScalingGroups"][0]

    wanted = {
        "MinSize": 0, "MaxSize": 2, "DesiredCapacity": 0, "DefaultCooldown": 100, "HealthCheckGracePeriod": 15, "PlacementGroup": "p", "TerminationPolicies": ["OldestInstance", "Default"],
        "LaunchTemplate": {"LaunchTemplateId": template, "Version": "$Latest"}, "CapacityRebalance": True, "MaxInstanceLifetime": 86400, "Context": "c", "DesiredCapacityType": "units",
        "ServiceLinkedRoleARN": ROLE, "DefaultInstanceWarmup": 30, "InstanceMaintenancePolicy": {"MinHealthyPercentage": 90, "MaxHealthyPercentage": 120},
        "AvailabilityZoneDistribution": {"CapacityDistributionStrategy": "balanced-only"}, "CapacityReservationSpecification": {"CapacityReservationPreference": "default"},
    }  # fmt: skip
    asg.create_auto_scaling_group(**own, VPCZoneIdentifier=",".join(subnets), **wanted)
    same("a group's settings", wanted, shown())
    none = {"MinHealthyPercentage": -1, "MaxHealthyPercentage": -1}
    asg.update_auto_scaling_group(**own, PlacementGroup="", DefaultInstanceWarmup=-1, MaxInstanceLifetime=0, InstanceMaintenancePolicy=none)
    same("settings that are taken away", dict.fromkeys(["PlacementGroup", "DefaultInstanceWarmup", "InstanceMaintenancePolicy", "MaxInstanceLifetime"]), shown())
    asg.enable_metrics_collection(**own, Granularity="1Minute", Metrics=["GroupMinSize", "GroupMaxSize"])
    asg.disable_metrics_collection(**own, Metrics=["GroupMinSize"])
    same("metrics", [{"Metric": "GroupMaxSize", "Granularity": "1Minute"}], shown()["EnabledMetrics"])
    spec = {"LaunchTemplateId": template, "Version": "1"}
    overrides = [{"InstanceType": "m5.large", "WeightedCapacity": "1"}, {"InstanceType": "m6i.large"}]
    mixed = {"LaunchTemplate": {"LaunchTemplateSpecification": spec, "Overrides": overrides}, "InstancesDistribution": {"OnDemandBaseCapacity": 0, "SpotAllocationStrategy": "capacity-optimized"}}
    refused("a template and a policy", "ValidationError", lambda: asg.update_auto_scaling_group(**own, LaunchTemplate=spec, MixedInstancesPolicy=mixed))
    refused("a template by two names", "ValidationError", lambda: asg.update_auto_scaling_group(**own, LaunchTemplate={**spec, "LaunchTemplateName": "plain"}))
    asg.update_auto_scaling_group(**own, MixedInstancesPolicy=mixed)
    same("a mixed instances policy", mixed, shown()["MixedInstancesPolicy"])
    asg.update_auto_scaling_group(**own, MixedInstancesPolicy={"InstancesDistribution": {"OnDemandBaseCapacity": 1}})
    mixed["InstancesDistribution"]["OnDemandBaseCapacity"] = 1
    same("a changed distribution", mixed, shown()["MixedInstancesPolicy"])
    asg.update_auto_scaling_group(**own, LaunchTemplate=spec)
    same("a template in place of a policy", {"LaunchTemplate": spec, "MixedInstancesPolicy": None}, shown())
    for name, call in [("warm pool", asg.describe_warm_pool), ("instance refreshes", asg.describe_instance_refreshes)]:
        refused(f"{name} of no group", "ValidationError", lambda: call(AutoScalingGroupName="none"))
    asg.delete_auto_scaling_group(**own, ForceDelete=True)


def of_nodegroups(eks, same, refused, cluster, subnets, template):
    own = {"clusterName": cluster, "nodegroupName": "settings"}

    def shown():
        return eks.describe_nodegroup(**own)["nodegroup"]

    asked = {
        "nodeRole": ROLE, "subnets": subnets, "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 0}, "diskSize": 50, "instanceTypes": ["m6i.large", "m5.large"], "labels": {"a": "b"},
        "taints": [{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}], "tags": {"t": "☃"}, "updateConfig": {"maxUnavailablePercentage": 33}, "nodeRepairConfig": {"enabled": True},
        "remoteAccess": {"ec2SshKey": "key"},
    }  # fmt: skip
    eks.create_nodegroup(**own, **asked)
    same("a node group's settings", asked, {**shown(), "subnets": sorted(shown()["subnets"])})

    def updated(**change):
        update = eks.update_nodegroup_config(**own, **change)["update"]["id"]
        for _ in range(100):
            if eks.describe_update(name=cluster, nodegroupName="settings", updateId=update)["update"]["status"] != "InProgress":
                return shown()
            time.sleep(0.2)
        return shown()

    changed = updated(nodeRepairConfig={"enabled": False}, updateConfig={"updateStrategy": "MINIMAL"})
    same("node repair", {"nodeRepairConfig": {"enabled": False}}, changed)
    same("an update's strategy", {"maxUnavailablePercentage": 33, "updateStrategy": "MINIMAL"}, changed["updateConfig"])
    same("a node group that goes", {"status": "DELETING"}, eks.delete_nodegroup(**own)["nodegroup"])
    other = {"clusterName": cluster, "nodegroupName": "other", "nodeRole": ROLE, "subnets": subnets}
    spec = {"id": template, "version": "1"}
    for name, code, asked in [
        ("a template by two names", "InvalidParameterException", {"launchTemplate": {**spec, "name": "plain"}}),
        ("a disk beside a template", "InvalidParameterException", {"launchTemplate": spec, "diskSize": 20}),
        ("access beside a template", "InvalidParameterException", {"launchTemplate": spec, "remoteAccess": {"ec2SshKey": "k"}}),
        ("types beside a template's", "InvalidRequestException", {"launchTemplate": spec, "instanceTypes": ["m5.large"]}),
    ]:
        refused(f"node group: {name}", code, lambda: eks.create_nodegroup(**other, **asked))
    made = eks.create_nodegroup(**other, launchTemplate=spec, scalingConfig={"minSize": 0, "maxSize": 1, "desiredSize": 0})["nodegroup"]
    same("a node group of a template", {"launchTemplate": spec, "diskSize": None, "instanceTypes": None}, made)
    eks.delete_nodegroup(clusterName=cluster, nodegroupName="other")


def of_addons(eks, same, cluster):
    own = {"clusterName": cluster, "addonName": "metrics-server"}
    asked = {"configurationValues": '{"replicas":3}', "serviceAccountRoleArn": ROLE, "tags": {"a": "b"}}
    eks.create_addon(**own, **asked, podIdentityAssociations=[{"serviceAccount": "metrics", "roleArn": ROLE}])
    addon = eks.describe_addon(**own)["addon"]
    same("an add-on's settings", asked, addon)
    association = eks.describe_pod_identity_association(clusterName=cluster, associationId=addon["podIdentityAssociations"][0].split("/")[-1])["association"]
    same("an add-on's role", {"namespace": "kube-system", "serviceAccount": "metrics", "roleArn": ROLE, "ownerArn": addon["addonArn"]}, association)
    eks.get_waiter("addon_active").wait(**own, WaiterConfig={"Delay": 1})
    eks.update_addon(**own, serviceAccountRoleArn="", podIdentityAssociations=[])
    same("what is taken from an add-on", {"serviceAccountRoleArn": None, "podIdentityAssociations": []}, eks.describe_addon(**own)["addon"])
    eks.delete_addon(**own)


def digest(attributes):
    """The MD5 of attributes, as the developer guide computes it."""
    told = b""
    for name, (kind, value) in sorted(attributes.items()):
        for part in (name.encode(), kind.encode()):
            told += struct.pack(">I", len(part)) + part
        told += bytes([2 if kind == "Binary" else 1]) + struct.pack(">I", len(value)) + value
    return hashlib.md5(told).hexdigest()


def of_queues(sqs, same, check, refused):
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": "*"}]})
    asked = {"DelaySeconds": "0", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "300", "VisibilityTimeout": "30", "SqsManagedSseEnabled": "true", "Policy": policy}
    url = sqs.create_queue(QueueName="settings", Attributes=asked, tags={"a": "b"})["QueueUrl"]

    def shown():
        return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]

    same("a queue's attributes", asked, shown())
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": "", "RedrivePolicy": ""})
    same("attributes that are taken away", {"Policy": None, "RedrivePolicy": None}, shown())
    absent = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:111122223333:none", "maxReceiveCount": 3})
    for name, value, code in [("Policy", "no", "InvalidAttributeValue"), ("MessageRetentionPeriod", "1", "InvalidAttributeValue"), ("RedrivePolicy", absent, "InvalidParameterValue"), ("RedrivePolicy", '{"maxReceiveCount": 3}', "InvalidParameterValue"), ("RedrivePolicy", '{"maxReceiveCount": 0, "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:111122223333:none"}', "InvalidParameterValue")]:
        refused(f"attribute {name} {value:.24}", code, lambda: sqs.set_queue_attributes(QueueUrl=url, Attributes={name: value}))
    refused("an attribute that there is not", "InvalidAttributeName", lambda: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Nope"]))
    refused("a message that is too long", "InvalidParameterValue", lambda: sqs.send_message(QueueUrl=url, MessageBody="x" * 2049))
    own = {"b": ("Binary", b"\x01\x02\xff"), "n": ("Number", b"12.5"), "s": ("String", "☃ é".encode())}
    attributes = {name: {"DataType": kind, **({"BinaryValue": value} if kind == "Binary" else {"StringValue": value.decode()})} for name, (kind, value) in own.items()}
    sent = sqs.send_message(QueueUrl=url, MessageBody="☃", MessageAttributes=attributes)
    got = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"][0]
    check("digests of attributes", sent["MD5OfMessageAttributes"] == got["MD5OfMessageAttributes"] == digest(own), f"{sent} {got}")
    refused("an attribute of no type", "InvalidParameterValue", lambda: sqs.send_message(QueueUrl=url, MessageBody="x", MessageAttributes={"a": {"DataType": "", "StringValue": "x"}}))
    sqs.delete_queue(QueueUrl=url)
    refused("a queue's name, at once", "AWS.SimpleQueueService.QueueDeletedRecently", lambda: sqs.create_queue(QueueName="settings"))


def of_rules(ev, sqs, same, refused):
    url = sqs.create_queue(QueueName="targets")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    rule = {"Name": "settings", "EventPattern": '{"source":["settings"]}', "Description": "d ☃", "State": "ENABLED", "RoleArn": ROLE}
    ev.put_rule(**rule, EventBusName="default")
    same("a rule", rule, ev.describe_rule(Name="settings", EventBusName="default"))
    target = {"Id": "t1", "Arn": arn, "RetryPolicy": {"MaximumRetryAttempts": 1, "MaximumEventAgeInSeconds": 60}}
    ev.put_targets(Rule="settings", Targets=[target])
    same("a target", [target], ev.list_targets_by_rule(Rule="settings")["Targets"])
    ev.put_events(Entries=[{"Source": "settings", "DetailType": "☃", "Detail": "{}", "Time": 1_700_000_000}])
    event = json.loads(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"][0]["Body"])
    same("the time that an event has", {"time": "2023-11-14T22:13:20Z", "detail-type": "☃"}, event)
    refused("a rule with targets", "ValidationException", lambda: ev.delete_rule(Name="settings"))
    ev.remove_targets(Rule="settings", Ids=["t1"])
    ev.delete_rule(Name="settings")


def of_models(asg, ec2, eks, ev, sqs, ssm, sts, refused, cluster):
    for name, code, call in [
        ("no instances", "ValidationError", lambda: asg.set_instance_protection(AutoScalingGroupName="x", ProtectedFromScaleIn=True)),
        ("a long name", "ValidationError", lambda: asg.describe_lifecycle_hooks(AutoScalingGroupName="x" * 256)),
        ("a strategy that there is not", "ValidationError", lambda: asg.update_auto_scaling_group(AutoScalingGroupName="x", AvailabilityZoneDistribution={"CapacityDistributionStrategy": "x"})),
        ("a word for a number", "MalformedInput", lambda: asg.set_desired_capacity(AutoScalingGroupName="x", DesiredCapacity="many")),
        ("no instances to terminate", "MissingParameter", lambda: ec2.terminate_instances()),
        ("a capacity type that there is not", "InvalidParameterException", lambda: eks.create_nodegroup(clusterName=cluster, nodegroupName="m", nodeRole=ROLE, subnets=["s"], capacityType="CHEAP")),
        ("no role", "InvalidParameterException", lambda: eks.create_nodegroup(clusterName=cluster, nodegroupName="m", subnets=["s"])),
        ("pages of none", "InvalidParameterException", lambda: eks.list_nodegroups(clusterName=cluster, maxResults=0)),
        ("a text for a number", "SerializationException", lambda: eks.create_nodegroup(clusterName=cluster, nodegroupName="m", nodeRole=ROLE, subnets=["s"], diskSize="big")),
        ("a state that there is not", "ValidationException", lambda: ev.put_rule(Name="m", EventPattern="{}", State="ON")),
        ("no targets", "ValidationException", lambda: ev.put_targets(Rule="m", Targets=[])),
        ("no parameters", "ValidationException", lambda: ssm.get_parameters(Names=[])),
        ("no body", "MissingParameter", lambda: sqs.send_message(QueueUrl="q")),
        ("a short session", "ValidationError", lambda: sts.assume_role(RoleArn=ROLE, RoleSessionName="x")),
    ]:
        refused(name, code, call)


def of_others(config, check):
    """Services that are not served name those that are."""
    for service, code, call in [
        ("iam", "InvalidAction", lambda client: client.get_role(RoleName="x")),
        ("cloudformation", "InvalidAction", lambda client: client.describe_stacks()),
        ("kms", "UnknownOperationException", lambda client: client.list_keys()),
    ]:
        try:
            call(boto3.client(service, config=config))
        except botocore.exceptions.ClientError as error:
            told = error.response["Error"]
            check(f"{service} is not served: {code}", told["Code"] == code and f"the service {service}" in told["Message"], str(error))
        else:
            check(f"{service} is not served: {code}", False, "it was answered")
