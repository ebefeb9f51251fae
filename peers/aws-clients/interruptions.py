"""Many instances interrupted at once: the real termination handler and `replank handle`, side by side on the same cluster and cloud."""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import boto3

from cluster import Cluster, group_of_web, wait
from termination import IN_A_POD

PATTERNS = {
    "lifecycle": {"source": ["aws.autoscaling"], "detail-type": ["EC2 Instance-terminate Lifecycle Action"]},
    "spot": {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]},
    "rebalance": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance Rebalance Recommendation"]},
    "state": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance State-change Notification"], "detail": {"state": ["stopping", "stopped", "shutting-down", "terminated"]}},
    "health": {"source": ["aws.health"], "detail-type": ["AWS Health Event"]},
}
# Of an instance that has gone, or is on its way out with nobody to hold it.
GONE = (None, "Terminating", "Terminating:Proceed", "Terminated")
# For how many seconds no message comes once all is over.
QUIET = 15
# How many pods of the workload a budget lets be missing.
MISSING = "10%"


def run(replank, handler, folder, count, check):
    """Half of the instances are taken back by EC2, half terminated by their group under a hook; as many others have room for their pods."""
    table = []
    for name in ["aws-node-termination-handler", "replank handle"]:
        table.append((name, played(replank, handler, os.path.join(folder, name.split()[0]), count, name)))
    columns = ["drained in time", "lost", "p50", "max", "pods evicted twice", "instances launched twice", "messages left"]
    print(f"{count} instances at once, two pods each, a budget of {MISSING}")
    print("| | " + " | ".join(columns) + " |")
    for name, row in table:
        print(f"| {name} | " + " | ".join(str(row[column]) for column in columns) + " |")
    ours = table[1][1]
    check("Replank drains all of them in time", ours["lost"] == 0 and ours["drained in time"] == count, ours)
    check("Replank leaves no message", ours["messages left"] == 0, ours)
    check("Replank evicts no pod twice", ours["pods evicted twice"] == 0, ours)


def played(replank, handler, folder, count, name):
    # Time passes as outside; only boots and the like are quicker.
    with Cluster(replank, folder, "--nodes", "3", "--speed", "10") as cluster:
        asg, ec2, sqs, events = map(boto3.client, ["autoscaling", "ec2", "sqs", "events"])
        group_of_web(ec2, asg, size=(0, 3 * count, count), tags=[("aws-node-termination-handler/managed", "")])
        asg.put_lifecycle_hook(AutoScalingGroupName="web", LifecycleHookName="replank-drain", LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING", HeartbeatTimeout=300, DefaultResult="CONTINUE")
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        for rule, pattern in PATTERNS.items():
            events.put_rule(Name=rule, EventPattern=json.dumps(pattern))
            events.put_targets(Rule=rule, Targets=[{"Id": "1", "Arn": arn}])

        def members():
            pages = asg.get_paginator("describe_auto_scaling_groups").paginate(AutoScalingGroupNames=["web"])
            return {one["InstanceId"]: one["LifecycleState"] for page in pages for group in page["AutoScalingGroups"] for one in group["Instances"]}

        def of_web():
            nodes = cluster.nodes().items()
            return {name: node for name, node in nodes if node["metadata"]["labels"].get("role") == "web"}

        wait("all nodes are there", lambda: len(of_web()) == count, 600)
        # Two pods to each instance, one of which fits into half of it.
        cluster.deploy("web", 2 * count, "700m", {"role": "web"})
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": {"maxUnavailable": MISSING, "selector": {"matchLabels": {"app": "web"}}}}
        cluster.ask("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)

        def ready():
            status = cluster.ask("GET", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web").get("status", {})
            return status.get("currentHealthy") == 2 * count

        wait("all pods are Ready", ready, 600)
        taken = {name: node["spec"]["providerID"].split("/")[-1] for name, node in of_web().items()}
        # Room for their pods: as many others come.
        asg.set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=2 * count)
        wait("as many others are there", lambda: len(of_web()) == 2 * count, 600)
        wait("their nodes are Ready", lambda: sum(is_ready(node) for node in of_web().values()) == 2 * count, 600)
        sqs.purge_queue(QueueUrl=url)
        before = set(members())
        uids = {pod["metadata"]["uid"]: pod["spec"].get("nodeName") for pod in cluster.pods()}
        log = open(os.path.join(folder, "handler.log"), "w")
        process = subprocess.Popen(**command(name, replank, handler, cluster, url), stdout=log, stderr=log)
        try:
            time.sleep(5)
            names = sorted(taken)
            spot, held = names[: len(names) // 2], names[len(names) // 2 :]
            begun = time.monotonic()

            def interrupt(node):
                if node in held:
                    asg.terminate_instance_in_auto_scaling_group(InstanceId=taken[node], ShouldDecrementDesiredCapacity=False)
                else:
                    words = ["spot", "instance", node, "is", "taken", "back"]
                    faults = [replank, "cluster", "faults", "start", "--kubeconfig", cluster.kubeconfig, *words]
                    subprocess.run(faults, check=True, stdout=subprocess.DEVNULL)

            with ThreadPoolExecutor(8) as pool:
                list(pool.map(interrupt, [node for pair in zip(spot, held) for node in pair] + names[2 * len(spot) :]))
            print(f"{name}: {count} interruptions in {time.monotonic() - begun:.1f} s", flush=True)
            drained, lost = {}, set()
            while time.monotonic() - begun < 420 and len(drained) + len(lost) < count:
                states, left = members(), {}
                for pod in cluster.pods():
                    if pod["metadata"]["uid"] in uids:
                        left[pod["spec"].get("nodeName")] = True
                now = time.monotonic() - begun
                for node, instance in taken.items():
                    if node in drained or node in lost:
                        continue
                    if node not in left:
                        drained[node] = now
                    elif states.get(instance) in GONE:
                        lost.add(node)
                time.sleep(0.5)
            rest = time.monotonic()

            def messages():
                names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
                found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
                return sum(int(number) for number in found.values())

            # All is handled once nothing has come for a while: EC2 tells of an instance's end after the group has forgotten it.
            busy = rest
            while time.monotonic() - rest < 300 and time.monotonic() - busy < QUIET:
                if messages() or any(one in members() for one in taken.values()):
                    busy = time.monotonic()
                time.sleep(1)
            said = open(log.name).read()
            times = sorted(drained.values())
            return {
                "drained in time": len(drained),
                "lost": count - len(drained),
                "p50": f"{times[len(times) // 2]:.0f} s" if times else "–",
                "max": f"{times[-1]:.0f} s" if times else "–",
                "pods evicted twice": twice(said),
                "instances launched twice": max(0, len(set(members()) - before) - count),
                "messages left": messages(),
            }
        finally:
            process.terminate()
            process.wait(30)
            log.close()


def is_ready(node):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node.get("status", {}).get("conditions", []))


def twice(said):
    lines = [line.split(" ", 1)[1] for line in said.splitlines() if " evicting pod " in line]
    return len(lines) - len(set(lines))


def command(name, replank, handler, cluster, url):
    if name == "replank handle":
        return {"args": [replank, "handle", "--queue-url", url, "--kubeconfig", cluster.kubeconfig]}
    host, port = cluster.server.removeprefix("https://").split(":")
    environment = {**os.environ, "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "TOKEN": cluster.token, "AUTHORITY": cluster.authority}
    args = ["unshare", "--map-root-user", "--mount", "bash", "-c", IN_A_POD, "in-a-pod", handler]
    args += [
        "--enable-sqs-termination-draining=true",
        f"--queue-url={url}",
        f"--aws-endpoint={cluster.variables['AWS_ENDPOINT_URL']}",
        f"--aws-region={cluster.variables['AWS_REGION']}",
        "--node-name=none",
        "--enable-spot-interruption-draining=false",
        "--enable-scheduled-event-draining=false",
    ]
    return {"args": args, "env": environment}
