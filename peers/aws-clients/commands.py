"""The stories as AWS's command line plays them: each command is understood, and its answer is read."""

import json
import os
import subprocess
import sys

from cluster import wait


def run(cluster, check):
    program = os.path.join(os.path.dirname(sys.executable), "aws")

    def aws(*arguments, fails=None):
        # Version 1 of the command line does not read the variable for SQS, so the endpoint is named.
        command = [program, "--endpoint-url", cluster.variables["AWS_ENDPOINT_URL"], "--output", "json", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        name = " ".join(arguments[:2])
        if fails:
            check(f"aws {name}: {fails}", done.returncode != 0 and f"({fails})" in done.stderr, done.stdout + done.stderr)
            return None
        check(f"aws {name}", done.returncode == 0, done.stderr)
        return json.loads(done.stdout) if done.stdout.strip() else {}

    subnets = [subnet["SubnetId"] for subnet in aws("ec2", "describe-subnets")["Subnets"]]
    named = ["--cluster-name", "rehearsal", "--nodegroup-name", "blue"]
    sizes = ["--scaling-config", "minSize=1,maxSize=3,desiredSize=1"]
    role = ["--node-role", "arn:aws:iam::111122223333:role/node"]
    aws("eks", "create-nodegroup", *named, *sizes, *role, "--subnets", *subnets, "--kubernetes-version", "1.35")
    aws("eks", "wait", "nodegroup-active", *named)
    group = aws("eks", "describe-nodegroup", *named)["nodegroup"]
    check("a node group has the version that was asked for", group["version"] == "1.35", str(group))
    update = aws("eks", "update-nodegroup-version", *named, "--kubernetes-version", "1.36")["update"]

    def status():
        asked = ["--name", "rehearsal", "--nodegroup-name", "blue", "--update-id", update["id"]]
        return aws("eks", "describe-update", *asked)["update"]

    found = wait("the update is over", lambda: (now := status())["status"] != "InProgress" and now, 400)
    check("the update succeeds", found["status"] == "Successful", str(found))
    kubelets = [node["status"]["nodeInfo"]["kubeletVersion"] for node in cluster.nodes().values() if node["metadata"]["labels"].get("eks.amazonaws.com/nodegroup") == "blue"]
    check("its nodes are of the new version", bool(kubelets) and all(one.startswith("v1.36") for one in kubelets), str(kubelets))
    asg = ["--auto-scaling-group-name", group["resources"]["autoScalingGroups"][0]["name"]]
    aws("autoscaling", "suspend-processes", *asg, "--scaling-processes", "AZRebalance")
    transition = ["--lifecycle-transition", "autoscaling:EC2_INSTANCE_TERMINATING"]
    aws("autoscaling", "put-lifecycle-hook", *asg, "--lifecycle-hook-name", "drain", *transition, "--heartbeat-timeout", "60")
    hooks = aws("autoscaling", "describe-lifecycle-hooks", *asg)["LifecycleHooks"]
    check("the hook is there beside EKS's", {hook["LifecycleHookName"] for hook in hooks} == {"drain", "Terminate-LC-Hook"}, str(hooks))
    aws("autoscaling", "set-desired-capacity", *asg, "--desired-capacity", "9", fails="ValidationError")
    queue = aws("sqs", "create-queue", "--queue-name", "events")["QueueUrl"]
    arn = aws("sqs", "get-queue-attributes", "--queue-url", queue, "--attribute-names", "QueueArn")["Attributes"]["QueueArn"]
    aws("events", "put-rule", "--name", "all", "--event-pattern", json.dumps({"source": [{"prefix": "my."}]}))
    aws("events", "put-targets", "--rule", "all", "--targets", f"Id=1,Arn={arn}")
    aws("events", "put-events", "--entries", json.dumps([{"Source": "my.story", "DetailType": "told", "Detail": "{\"a\": 1}"}]))
    got = aws("sqs", "receive-message", "--queue-url", queue, "--wait-time-seconds", "5")["Messages"]
    check("an event comes to the queue", json.loads(got[0]["Body"])["detail"] == {"a": 1}, str(got))
    aws("ssm", "get-parameters-by-path", "--path", "/aws/service/eks/optimized-ami/1.36", "--recursive")
    aws("eks", "delete-nodegroup", *named)
    aws("eks", "wait", "nodegroup-deleted", *named)
    aws("eks", "describe-nodegroup", *named, fails="ResourceNotFoundException")
