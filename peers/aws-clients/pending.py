"""Many pods without a node over many groups: the real Cluster Autoscaler and `replank autoscale`, each on a cluster and cloud of its own that begin alike."""

import base64
import http.client
import http.server
import os
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import boto3

from autoscaler import OVERRIDE
from cluster import Cluster, wait

GROUPS = 50
TAG = "k8s.io/cluster-autoscaler/enabled"
# Of 16 processors some are kept: 15 pods of one processor fit.
TYPE, ON_A_NODE = "m6i.4xlarge", 15


class Counting:
    """A way to AWS's address that counts calls."""

    def __init__(self, url):
        target = urllib.parse.urlsplit(url)
        self.calls = {}
        counting = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                form = urllib.parse.parse_qs(body.decode(errors="replace")).get("Action")
                name = form[0] if form else self.headers.get("X-Amz-Target", f"{self.command} {self.path.split('?')[0]}")
                counting.calls[name] = counting.calls.get(name, 0) + 1
                way = http.client.HTTPConnection(target.hostname, target.port, timeout=120)
                way.request(self.command, self.path, body, dict(self.headers))
                answer = way.getresponse()
                content = answer.read()
                self.send_response_only(answer.status)
                for key, value in answer.getheaders():
                    if key.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(key, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                try:
                    self.wfile.write(content)
                except BrokenPipeError:
                    # Whoever asked has ended.
                    pass
                way.close()

            do_GET = do_POST = do_PUT = do_DELETE = do

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def run(replank, program, folder, pods, check):
    columns = ["first raise", "last raise", "instances wanted", "calls to AWS", "requests to Kubernetes", "peak memory", "processor time"]
    table = []
    for name in ["cluster-autoscaler", "replank autoscale"]:
        table.append((name, played(replank, program, os.path.join(folder, name.split()[0]), pods, name)))
    print(f"{pods} pods of one processor over {GROUPS} groups of {TYPE}; both look every 10 s, time from the start of the process")
    print("| | " + " | ".join(columns) + " |")
    for name, row in table:
        print(f"| {name} | " + " | ".join(str(row[column]) for column in columns) + " |")
    theirs, ours = table[0][1], table[1][1]
    check("both want as many instances", theirs["instances wanted"] == ours["instances wanted"], table)


def played(replank, program, folder, pods, name):
    with Cluster(replank, folder, "--nodes", "3", "--speed", "10") as cluster:
        asg, ec2 = boto3.client("autoscaling"), boto3.client("ec2")
        subnets = ",".join(subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"])
        for number in range(GROUPS):
            role = f"g{number:02}"
            data = base64.b64encode(f"kubelet --node-labels=role={role}".encode()).decode()
            ec2.create_launch_template(LaunchTemplateName=role, LaunchTemplateData={"InstanceType": TYPE, "UserData": data})
            tags = {TAG: "true", "kubernetes.io/cluster/rehearsal": "owned", "k8s.io/cluster-autoscaler/node-template/label/role": role}
            asg.create_auto_scaling_group(
                AutoScalingGroupName=role,
                MinSize=0,
                MaxSize=pods,
                DesiredCapacity=0,
                VPCZoneIdentifier=subnets,
                LaunchTemplate={"LaunchTemplateName": role, "Version": "$Latest"},
                Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
            )
            cluster.deploy(role, pods // GROUPS, "1", {"role": role})

        def pending():
            found = cluster.pods()
            told = sum(any(one["type"] == "PodScheduled" and one["status"] == "False" for one in pod["status"].get("conditions", [])) for pod in found)
            return told == pods // GROUPS * GROUPS

        wait("all pods are pending", pending, 600)
        needed = GROUPS * -(-(pods // GROUPS) // ON_A_NODE)

        def wanted():
            pages = asg.get_paginator("describe_auto_scaling_groups").paginate()
            return sum(group["DesiredCapacity"] for page in pages for group in page["AutoScalingGroups"] if group["AutoScalingGroupName"].startswith("g"))

        way = Counting(cluster.variables["AWS_ENDPOINT_URL"])
        asked = requests(cluster)
        log = open(os.path.join(folder, "autoscaler.log"), "w")
        begun = time.monotonic()
        process = subprocess.Popen(command(name, replank, program, folder, cluster, way.url), stdout=log, stderr=log, env={**os.environ, "AWS_ENDPOINT_URL": way.url})
        first = last = None
        before, looks = 0, 0
        try:
            while time.monotonic() - begun < 600:
                now = wanted()
                if now != before:
                    last = time.monotonic() - begun
                    first = first or last
                    before = now
                if now >= needed and time.monotonic() - begun - last > 15:
                    break
                looks += 1
                if process.poll() is not None:
                    raise RuntimeError(f"{name} has ended: see {log.name}")
                time.sleep(0.25)
            status = open(f"/proc/{process.pid}/status").read()
            peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) // 1024
            stat = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
            took = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
            print(f"{name}: {dict(sorted(way.calls.items()))}", flush=True)
            return {
                "first raise": f"{first:.1f} s" if first else "–",
                "last raise": f"{last:.1f} s" if last else "–",
                "instances wanted": before,
                "calls to AWS": sum(way.calls.values()),
                # One of the two that are counted is the count itself.
                "requests to Kubernetes": requests(cluster) - asked - 1,
                "peak memory": f"{peak} MiB",
                "processor time": f"{took:.1f} s",
            }
        finally:
            process.terminate()
            process.wait(60)
            log.close()


def requests(cluster):
    """Requests that ordinary clients have sent: the simulated parts send none."""
    request = urllib.request.Request(cluster.server + "/metrics", headers={"Authorization": f"Bearer {cluster.token}"})
    with urllib.request.urlopen(request, context=cluster.tls) as answer:
        lines = answer.read().decode().splitlines()
    return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("apiserver_request_total")))


def command(name, replank, program, folder, cluster, url):
    discovery = f"--node-group-auto-discovery=asg:tag={TAG}"
    if name == "replank autoscale":
        return [replank, "autoscale", "--kubeconfig", cluster.kubeconfig, discovery]
    config = os.path.join(folder, "cloud.conf")
    region = cluster.variables["AWS_REGION"]
    with open(config, "w") as file:
        for number, service in enumerate(["autoscaling", "ec2", "eks"]):
            file.write(OVERRIDE.format(number=number, service=service, region=region, url=url))
    flags = ["--cloud-provider=aws", f"--kubeconfig={cluster.kubeconfig}", f"--cloud-config={config}", discovery]
    return [program, *flags, "--leader-elect=false", "--max-nodes-total=0", "--max-nodes-per-scaleup=100000", "--address=127.0.0.1:0"]
