"""Cluster Autoscaler 1.36 as it is: it raises a group for pods that wait, and takes nodes away by their instances' ids."""

import os
import subprocess

import boto3

from cluster import Cluster, group_of_web, wait

OVERRIDE = """[ServiceOverride "{number}"]
Service = "{service}"
Region = "{region}"
URL = "{url}"
SigningRegion = "{region}"
SigningName = "{service}"
"""


def run(replank, program, folder, check):
    with Cluster(replank, folder, "--nodes", "3", "--speed", "20") as cluster:
        asg, ec2 = boto3.client("autoscaling"), boto3.client("ec2")
        tags = [
            ("k8s.io/cluster-autoscaler/enabled", "true"),
            ("k8s.io/cluster-autoscaler/rehearsal", "owned"),
            ("k8s.io/cluster-autoscaler/node-template/label/role", "web"),
        ]
        group_of_web(ec2, asg, tags=tags)
        managed = boto3.client("eks").update_nodegroup_config
        managed(clusterName="rehearsal", nodegroupName="default", scalingConfig={"minSize": 3, "maxSize": 3, "desiredSize": 3})

        def ready():
            nodes = [node for node in cluster.nodes().values() if node["metadata"]["labels"].get("role") == "web"]
            return [one for node in nodes for one in node["status"]["conditions"] if one["type"] == "Ready" and one["status"] == "True"]

        # A node that is still coming would be counted beside those that the pods need.
        wait("the first node is Ready", ready)
        config = os.path.join(folder, "cloud.conf")
        region, url = cluster.variables["AWS_REGION"], cluster.variables["AWS_ENDPOINT_URL"]
        with open(config, "w") as file:
            for number, service in enumerate(["autoscaling", "ec2", "eks"]):
                file.write(OVERRIDE.format(number=number, service=service, region=region, url=url))
        command = [
            program,
            "--cloud-provider=aws",
            f"--kubeconfig={cluster.kubeconfig}",
            f"--cloud-config={config}",
            "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/rehearsal",
            "--leader-elect=false",
            "--scan-interval=2s",
            "--scale-down-delay-after-add=5s",
            "--scale-down-unneeded-time=5s",
            "--address=127.0.0.1:0",
        ]
        with open(os.path.join(folder, "autoscaler.log"), "w") as log:
            autoscaler = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                cluster.deploy("big", 4, "1", {"role": "web"})

                def group():
                    return asg.describe_auto_scaling_groups(AutoScalingGroupNames=["web"])["AutoScalingGroups"][0]

                def running():
                    return sum(pod["status"]["phase"] == "Running" for pod in cluster.pods()) == 4

                wait("four pods run", running)
                check("it raises the group for pods that wait", group()["DesiredCapacity"] == 4, str(group()["DesiredCapacity"]))
                before = {instance["InstanceId"] for instance in group()["Instances"]}
                cluster.scale("big", 1)
                wait("the group wants one", lambda: group()["DesiredCapacity"] == 1)
                wait("one instance is left", lambda: len(group()["Instances"]) == 1)
                left = {instance["InstanceId"] for instance in group()["Instances"]}
                check("nodes go by their ids, and none comes in their place", left < before, f"{before} {left}")
                busy = [pod["spec"]["nodeName"] for pod in cluster.pods() if not pod["metadata"].get("deletionTimestamp")]
                ids = {node["spec"]["providerID"].split("/")[-1] for name, node in cluster.nodes().items() if name in busy}
                check("the node with a pod stays", ids == left, f"{ids} {left}")
                check("it goes on", autoscaler.poll() is None, "it ended")
            finally:
                autoscaler.terminate()
                autoscaler.wait(30)
