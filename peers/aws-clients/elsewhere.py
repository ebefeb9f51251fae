"""The driver on moto: an account is prepared with boto3, the driver's own test runs on it, and boto3 looks at what has become of it."""

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import boto3


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def prepare(endpoint):
    """Two groups, one of them behind a managed node group; a queue with a message; a parameter."""
    ec2, asg, eks = boto3.client("ec2"), boto3.client("autoscaling"), boto3.client("eks")
    sqs, ssm = boto3.client("sqs"), boto3.client("ssm")
    images = [image["ImageId"] for image in ec2.describe_images(Owners=["amazon"])["Images"][:2]]
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    zones = [zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"][:2]]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
        for number, zone in enumerate(zones)
    ]
    data = {"ImageId": images[0], "InstanceType": "m6i.large", "UserData": base64.b64encode(b"kubelet").decode()}
    template = ec2.create_launch_template(LaunchTemplateName="web", LaunchTemplateData=data)["LaunchTemplate"]["LaunchTemplateId"]

    def group(name, size, tags):
        asg.create_auto_scaling_group(
            AutoScalingGroupName=name,
            MinSize=size[0],
            MaxSize=size[1],
            DesiredCapacity=size[2],
            VPCZoneIdentifier=",".join(subnets),
            LaunchTemplate={"LaunchTemplateId": template, "Version": "1"},
            Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
        )

    group("web", (1, 4, 2), {"team": "shop"})
    group("eks-blue", (1, 2, 1), {"eks:cluster-name": "shop", "eks:nodegroup-name": "blue"})
    asg.put_lifecycle_hook(
        AutoScalingGroupName="web", LifecycleHookName="drain", LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING", HeartbeatTimeout=300
    )
    elb = boto3.client("elbv2")
    target_group = elb.create_target_group(Name="web", Protocol="HTTP", Port=80, VpcId=vpc, TargetType="instance")["TargetGroups"][0]["TargetGroupArn"]
    delay = {"Key": "deregistration_delay.timeout_seconds", "Value": "120"}
    elb.modify_target_group_attributes(TargetGroupArn=target_group, Attributes=[delay])
    asg.attach_load_balancer_target_groups(AutoScalingGroupName="web", TargetGroupARNs=[target_group])
    role = "arn:aws:iam::123456789012:role/eks"
    eks.create_cluster(name="shop", roleArn=role, version="1.35", resourcesVpcConfig={"subnetIds": subnets})
    eks.create_nodegroup(
        clusterName="shop", nodegroupName="blue", subnets=subnets, nodeRole=role, scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 1},
        tags={"replank.dev/old": "1"},
    )
    dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
    dead_arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 5})
    queue = sqs.create_queue(QueueName="replank", Attributes={"RedrivePolicy": redrive})["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody=json.dumps({"detail-type": "EC2 Spot Instance Interruption Warning"}))
    ssm.put_parameter(Name="/own/image", Value=images[1], Type="String")
    groups = asg.describe_auto_scaling_groups()["AutoScalingGroups"]
    return {
        "endpoint": endpoint,
        "image": images[0],
        "other image": images[1],
        "template": template,
        "target group": target_group,
        "cluster": "shop",
        "queue": queue,
        "subnets": subnets,
        "instances": [one["InstanceId"] for group in groups for one in group["Instances"]],
    }


def look(account, check):
    """What boto3 sees afterwards."""
    asg, ec2, sqs, eks = boto3.client("autoscaling"), boto3.client("ec2"), boto3.client("sqs"), boto3.client("eks")
    web = asg.describe_auto_scaling_groups(AutoScalingGroupNames=["web"])["AutoScalingGroups"][0]
    sizes = [web[key] for key in ("MinSize", "MaxSize", "DesiredCapacity")]
    check("moto: size of web", sizes == [1, 5, 2], sizes)
    counted = [one for one in web["Instances"] if one["LifecycleState"] == "InService"]
    check("moto: instances of web", len(counted) == 2, web["Instances"])
    left = set(account["instances"]) & {one["InstanceId"] for one in counted}
    check("moto: two were terminated by their ids", len(left) <= 1, left)
    suspended = [one["ProcessName"] for one in web["SuspendedProcesses"]]
    check("moto: suspended processes", suspended == ["AZRebalance"], suspended)
    tags = {tag["Key"]: tag["Value"] for tag in web["Tags"]}
    check("moto: tags", tags == {"team": "shop", "replank.dev/one": "a=1,b=2"}, tags)
    check("moto: launch template version", web["LaunchTemplate"]["Version"] == "2", web["LaunchTemplate"])
    versions = ec2.describe_launch_template_versions(LaunchTemplateId=account["template"])["LaunchTemplateVersions"]
    made = {one["VersionNumber"]: one["LaunchTemplateData"] for one in versions}
    check("moto: one version was made", sorted(made) == [1, 2], made)
    # That all else is as in the version before is for EC2 to see to: moto reads no SourceVersion.
    check("moto: with the other image", made.get(2, {}).get("ImageId") == account["other image"], made)
    attributes = sqs.get_queue_attributes(QueueUrl=account["queue"], AttributeNames=["All"])["Attributes"]
    messages = [attributes[f"ApproximateNumberOfMessages{kind}"] for kind in ("", "NotVisible")]
    check("moto: the queue is empty", messages == ["0", "0"], messages)
    blue = eks.describe_nodegroup(clusterName="shop", nodegroupName="blue")["nodegroup"]
    check("moto: size of blue", blue["scalingConfig"] == {"minSize": 1, "maxSize": 3, "desiredSize": 2}, blue["scalingConfig"])
    names = sorted(eks.list_nodegroups(clusterName="shop")["nodegroups"])
    check("moto: one group was made", names == ["blue", "green"], names)
    green = eks.describe_nodegroup(clusterName="shop", nodegroupName="green")["nodegroup"]
    is_like = all(green[key] == blue[key] for key in ("subnets", "nodeRole"))
    empty = {"minSize": 0, "maxSize": 3, "desiredSize": 0}
    check("moto: it is like the other, and empty", is_like and green["scalingConfig"] == empty and green["labels"] == {"tier": "web"}, green)


def run(folder, check):
    os.makedirs(folder, exist_ok=True)
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    os.environ.update(
        {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "eu-west-1"}
    )
    boto3.setup_default_session()
    with open(os.path.join(folder, "moto.log"), "w") as log:
        command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            begun = time.monotonic()
            while True:
                try:
                    urllib.request.urlopen(endpoint + "/moto-api/data.json", timeout=5).read()
                    break
                except OSError:
                    if time.monotonic() - begun > 60:
                        raise
                    time.sleep(0.2)
            account = prepare(endpoint)
            # The program beside it, so that what both stand on has the features of the whole workspace, and is not built again.
            packages = ["--package", "replank-live", "--package", "replank"]
            test = ["cargo", "test", "--locked", *packages, "--lib", "elsewhere", "--", "--nocapture"]
            done = subprocess.run(test, env={**os.environ, "REPLANK_MOTO": json.dumps(account)}, capture_output=True, text=True)
            print(done.stdout)
            check("moto: the driver's calls", done.returncode == 0 and "1 passed" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:])
            look(account, check)
        finally:
            server.terminate()
            server.wait(30)
