"""A served cluster with AWS beside it, and its Kubernetes API in as few words as the checks need."""

import base64
import json
import os
import ssl
import subprocess
import time
import urllib.request

import boto3


class Cluster:
    """`replank cluster up --aws`, for as long as it is needed."""

    def __init__(self, replank, folder, *arguments):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        self.log = open(os.path.join(folder, "cluster.log"), "w")
        command = [replank, "cluster", "up", "--aws", "--kubeconfig", self.kubeconfig, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.variables = {}
        for line in self.process.stdout:
            name, value = line.strip().removeprefix("export ").split("=", 1)
            self.variables[name] = value
            if name == "AWS_DEFAULT_REGION":
                break
        os.environ.update(self.variables)
        # Another cluster has another key.
        boto3.setup_default_session()
        config = json.load(open(self.kubeconfig))
        served = config["clusters"][0]["cluster"]
        self.server, self.token = served["server"], config["users"][0]["user"]["token"]
        self.authority = base64.b64decode(served["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=self.authority)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()

    def ask(self, method, path, body=None, kind="application/json"):
        """A request to the Kubernetes API."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=self.tls) as answer:
            return json.load(answer)

    def nodes(self):
        return {node["metadata"]["name"]: node for node in self.ask("GET", "/api/v1/nodes")["items"]}

    def pods(self):
        return self.ask("GET", "/api/v1/namespaces/default/pods")["items"]

    def deploy(self, name, replicas, cpu, selector):
        """A Deployment whose pods go to nodes with some labels."""
        template = {
            "metadata": {"labels": {"app": name}},
            "spec": {"nodeSelector": selector, "containers": [{"name": "c", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]},
        }
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
        self.ask("POST", "/apis/apps/v1/namespaces/default/deployments", body)

    def scale(self, name, replicas):
        path = f"/apis/apps/v1/namespaces/default/deployments/{name}/scale"
        self.ask("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")


def wait(what, look, patience=180):
    """Waits until something is so, and returns it; what it is said in is for whoever reads that it never came."""
    begun = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() - begun > patience:
            raise TimeoutError(f"waited {patience} s: {what}")
        time.sleep(0.5)


def group_of_web(ec2, asg, name="web", size=(0, 5, 1), tags=()):
    """A self-managed group whose nodes have the label role=NAME."""
    subnets = ",".join(subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"])
    data = base64.b64encode(f"kubelet --node-labels=role={name}".encode()).decode()
    ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData={"InstanceType": "m6i.large", "UserData": data})
    asg.create_auto_scaling_group(
        AutoScalingGroupName=name,
        MinSize=size[0],
        MaxSize=size[1],
        DesiredCapacity=size[2],
        VPCZoneIdentifier=subnets,
        LaunchTemplate={"LaunchTemplateName": name, "Version": "$Latest"},
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags],
    )
