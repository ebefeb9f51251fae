"""aws-node-termination-handler in queue mode as it is: it drains our node for a message of our queue, and completes its hook."""

import json
import os
import subprocess

import boto3

from cluster import Cluster, group_of_web, wait

# It takes its credentials for Kubernetes from where a pod has them, so it runs with a /run of its own.
IN_A_POD = """
set -e
mount -t tmpfs none /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
printf %s "$TOKEN" > /run/secrets/kubernetes.io/serviceaccount/token
printf %s "$AUTHORITY" > /run/secrets/kubernetes.io/serviceaccount/ca.crt
unset TOKEN AUTHORITY
exec "$@"
"""


def run(replank, program, folder, check):
    with Cluster(replank, folder, "--nodes", "3", "--speed", "20") as cluster:
        asg, ec2, sqs, events = map(boto3.client, ["autoscaling", "ec2", "sqs", "events"])
        group_of_web(ec2, asg, size=(0, 5, 2), tags=[("aws-node-termination-handler/managed", "")])
        asg.put_lifecycle_hook(
            AutoScalingGroupName="web",
            LifecycleHookName="nth",
            LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING",
            HeartbeatTimeout=300,
            DefaultResult="CONTINUE",
        )
        url = sqs.create_queue(QueueName="nth")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        patterns = {
            "lifecycle": {"source": ["aws.autoscaling"], "detail-type": ["EC2 Instance-terminate Lifecycle Action"]},
            "spot": {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]},
            "rebalance": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance Rebalance Recommendation"]},
            "state": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance State-change Notification"]},
            "health": {"source": ["aws.health"], "detail-type": ["AWS Health Event"]},
        }
        for name, pattern in patterns.items():
            events.put_rule(Name=name, EventPattern=json.dumps(pattern))
            events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": arn}])
        cluster.deploy("web", 2, "1", {"role": "web"})

        def where():
            pods = [pod for pod in cluster.pods() if not pod["metadata"].get("deletionTimestamp")]
            return {pod["spec"].get("nodeName") for pod in pods if pod["status"]["phase"] == "Running"}

        wait("two pods run on two nodes", lambda: len(where()) == 2)
        host, port = cluster.server.removeprefix("https://").split(":")
        environment = {
            **os.environ,
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
            "TOKEN": cluster.token,
            "AUTHORITY": cluster.authority,
        }
        command = ["unshare", "--map-root-user", "--mount", "bash", "-c", IN_A_POD, "in-a-pod", program]
        command += [
            "--enable-sqs-termination-draining=true",
            f"--queue-url={url}",
            f"--aws-endpoint={cluster.variables['AWS_ENDPOINT_URL']}",
            f"--aws-region={cluster.variables['AWS_REGION']}",
            "--node-name=none",
            "--enable-spot-interruption-draining=false",
            "--enable-scheduled-event-draining=false",
        ]
        with open(os.path.join(folder, "handler.log"), "w") as log:
            handler = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            try:

                def instances():
                    found = asg.describe_auto_scaling_groups(AutoScalingGroupNames=["web"])["AutoScalingGroups"][0]["Instances"]
                    return {one["InstanceId"]: one["LifecycleState"] for one in found}

                def node_of(instance):
                    nodes = cluster.nodes().items()
                    return next((name for name, node in nodes if node["spec"]["providerID"].endswith(instance)), None)

                gone = next(iter(instances()))
                name = node_of(gone)
                asg.terminate_instance_in_auto_scaling_group(InstanceId=gone, ShouldDecrementDesiredCapacity=False)
                wait("the hook of the instance is completed", lambda: gone not in instances())
                wait("its node is gone", lambda: name not in cluster.nodes())
                wait("the pods run elsewhere", lambda: len(where()) == 2 and name not in where())
                said = open(log.name).read()
                check("it drains the node and completes the hook", "Completed ASG Lifecycle Hook" in said and name in said, said[-2000:])

                taken = next(one for one, state in instances().items() if state == "InService")
                name = node_of(taken)
                words = ["spot", "instance", name, "is", "taken", "back"]
                faults = [replank, "cluster", "faults", "start", "--kubeconfig", cluster.kubeconfig, *words]
                subprocess.run(faults, check=True, stdout=subprocess.DEVNULL)
                wait("its node is cordoned", lambda: cluster.nodes()[name]["spec"].get("unschedulable"))
                wait("its pod has left", lambda: name not in where())
                check("it drains the node of a spot instance that is taken back", True, "")

                def left():
                    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
                    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
                    return sum(int(number) for number in found.values())

                wait("the queue is empty", lambda: left() == 0)
                check("no message is left", True, "")
                check("it goes on", handler.poll() is None, "it ended")
            finally:
                handler.terminate()
                handler.wait(30)
